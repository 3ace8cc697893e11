#pragma once
/// Expressions as text. Operators have Python's spelling, precedence and meaning: // and % round towards minus
/// infinity, and & binds more strongly than ^, | and comparisons.

#include "dsl/expr/expr.h"

#include <string>
#include <vector>

namespace nestsmith {

/// "i*32 + j". Operands that a large expression repeats are printed once, as in "let %1 = x*x in %1*%1".
std::string to_string(const Expr &e);
/// The precedence of + and -.
inline constexpr int sum_precedence = 8;
/// The text as an operand of an operator of this precedence: in parentheses where they are needed. 0: on its
/// own.
std::string text_within(const Expr &e, int precedence);
/// "i, j + 1".
std::string list_text(const std::vector<Expr> &exprs);

} // namespace nestsmith
