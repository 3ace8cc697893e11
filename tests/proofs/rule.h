#pragma once
/// Reads, tries and proves the rules in the comments beside the code that applies them.
///
///   [rule.digit.whole] x % m = x where m > 0, 0 <= x, x < m
///
///   rule      := conditions ["where" conditions]     all names are integers, of any value
///   condition := term (= | != | < | <= | > | >=) term
///   term      := C's ^ & << >> + - * with C's precedence, // and % rounding down, min(x, y), max(x, y),
///                select(q, x, y) for "x where q is not 0, else y", whole numbers and names
///
/// The claims of a rule are proved in their order. Each proof may use the preceding claims.
///
/// A rule without ^ & << >> is proved for all integers, without bounds. A rule with these operators is proved
/// for all words of 64 bits, in two's complement. A rule whose name begins with rule.data is about integer
/// data, which wraps around. It is proved for all words of 8, 16, 32 and 64 bits.

#include "tests/proofs/prover.h"

#include <cstdint>
#include <string>
#include <vector>

namespace nestsmith::proofs {

struct Rule {
  std::string name, text;
  std::string where; ///< "dsl/expr/simplify.cpp:120"
};

/// Returns all rules in the sources of dsl and lowering below `root`, the root of the repository. Throws
/// std::runtime_error if two rules have the same name.
std::vector<Rule> rules_in(const std::string &root);

/// Tries the rule with small numbers, and then proves it by Z3. Throws std::runtime_error if the text is not a
/// rule, if a divisor is not proved to be positive, or if no small numbers satisfy the conditions.
Verdict prove(const Rule &rule);

} // namespace nestsmith::proofs
