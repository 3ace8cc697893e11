#pragma once
/// Claims that were put to the prover, and what came of them.

#include "tests/proofs/prover.h"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace nestsmith::proofs {

/// Of kernels (kernel_proof.h) the first six, of programs (tails.h, covered.h) the last two.
///
/// dimensions  each index of an element lies within its dimension, while elements are named by an index for
///             each; masks and guards are known where they hold
/// in_bounds   every offset that is loaded or stored lies within its array
/// aligned     a vector starts at a multiple of its lanes, in memory that is aligned to the vector; what the
///             caller must align is in the kernel's list, which the launcher checks
/// width       every value that is computed in 32 or 64 bits fits, as do partial sums in the order in which C
///             adds
/// division    dividends are not negative and divisors positive, so that C's / and % are those of the IR
/// arena       arrays in shared memory do not overlap and lie within what the launch asks for
/// tails       what runs since a guard went changes no element that counts
/// covered     every element of a cache that is read was written before, in the same iteration
enum class Claim : std::uint8_t { dimensions, in_bounds, aligned, width, division, arena, tails, covered };
inline constexpr std::size_t claims = 8;
const char *name(Claim claim);

struct Proof {
  std::array<std::int64_t, claims> asked{}, proved{};
  std::array<double, claims> seconds{};
  std::vector<std::string> failures; ///< with the claim, the statement and what Z3 said
  /// What never happens, of which anything can be proved: where it is in a rung, something is wrong.
  std::vector<std::string> unreached;

  void ask(Prover &prover, Claim claim, const Formula &formula, const std::string &where);
  struct Question {
    Formula formula;
    std::string where;
  };
  /// The same, for questions under the same facts: all at once, and one by one where that does not prove them.
  void ask(Prover &prover, Claim claim, const std::vector<Question> &questions);
  void add(const Proof &other);
  std::int64_t proved_of(Claim claim) const { return proved[static_cast<std::size_t>(claim)]; }
};

} // namespace nestsmith::proofs
