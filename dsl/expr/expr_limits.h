#pragma once
/// How large an expression and its values may be.

#include "dsl/expr/simplify.h"

#include <optional>
#include <string>

namespace nestsmith {

/// Recursions over an expression use the stack. At this depth a release build needs less than 1 MiB of it, and
/// code without optimization and with AddressSanitizer less than 4 MiB; 8 MiB are usual.
inline constexpr std::uint32_t max_depth = 1000;
/// Nodes, a shared one once: the emitted text has a few characters for each.
inline constexpr std::size_t max_nodes = 20000;

/// "is 20001 operations deep, expected at most 1000; …" where it is too large.
std::optional<std::string> too_large(const Expr &e);

/// An operand of `e`, or `e`, that is index arithmetic and does not fit in 64 bits for some values of its
/// variables in `bounds`; null if there is none. Each operation is judged alone, with the smallest value of
/// each size: a larger shape may still overflow.
Expr index_out_of_range(const Expr &e, const Bounds &bounds);

} // namespace nestsmith
