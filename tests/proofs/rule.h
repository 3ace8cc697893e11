#pragma once
/// The rules that stand beside the code they are about, in comments, are read, tried and proved.
///
///   [rule.digit.whole] x % m = x where m > 0, 0 <= x, x < m
///
///   rule      := conditions ["where" conditions]     all names are integers, of any value
///   condition := term (= | != | < | <= | > | >=) term
///   term      := C's ^ & << >> + - * with C's precedence, // and % rounding down, min(x, y), max(x, y),
///                select(q, x, y) for "x where q is not 0, else y", whole numbers and names
///
/// Claims are proved in their order, each with the help of those before it.
///
/// A rule without ^ & << >> is proved for all integers, without bounds; one with them for all of 64 bits, in
/// two's complement. A rule whose name begins with rule.data is about integer data, which wrap around: it is
/// proved for all words of 8, 16, 32 and 64 bits.

#include "tests/proofs/prover.h"

#include <cstdint>
#include <string>
#include <vector>

namespace nestsmith::proofs {

struct Rule {
  std::string name, text;
  std::string where; ///< "dsl/expr/simplify.cpp:120"
};

/// All rules in the sources below `root` (a repository), in the rooms that rewrite: dsl and lowering.
/// Throws std::runtime_error for a name that stands twice.
std::vector<Rule> rules_in(const std::string &root);

/// A rule is refuted by numbers where it does not hold, proved by Z3, or neither. Throws std::runtime_error for
/// what is no rule, for a divisor that is not shown to be positive, and for a rule that nothing satisfies: it
/// must apply somewhere among small numbers.
Verdict prove(const Rule &rule);

} // namespace nestsmith::proofs
