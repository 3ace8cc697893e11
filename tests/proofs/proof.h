#pragma once
/// The claims that the prover is asked to prove, and its verdicts.

#include "tests/proofs/prover.h"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace nestsmith::proofs {

/// The first nine are claims about kernels (kernel_proof.h, channels.h), and the last three about programs
/// (tails.h, covered.h, skipped.h):
///
///     dimensions  each index of an access with one index per dimension is within its dimension, under the
///                 masks and guards around it
///     in_bounds   the offset of every load and store is within its array
///     aligned     a vector starts at a multiple of its lanes, in memory that is aligned to the vector; the
///                 launcher checks the alignment of the caller's memory, which the kernel lists
///     width       every value that is computed in 32 or 64 bits fits, and so do partial sums in the order of C
///     division    dividends are not negative and divisors are positive, so C's / and % are floor operations
///     arena       arrays in shared memory do not overlap, and are within the requested bytes
///     slots       the roles of a channel count the same fills, and each access is to the slot of its fill
///     bytes       the arrivals and the bytes of a fill are those that its phase needs
///     boxes       the boxes of a fill cover the tile in its slot, and none of its elements twice
///     tails       the iterations that run after the removal of a guard change no element that counts
///     covered     every element of a cache is written before it is read, in the same iteration
///     skipped     an iteration that a loop leaves out has no term
enum class Claim : std::uint8_t {
  dimensions,
  in_bounds,
  aligned,
  width,
  division,
  arena,
  slots,
  bytes,
  boxes,
  tails,
  covered,
  skipped
};
inline constexpr std::size_t claims = 12;
const char *name(Claim claim);

struct Proof {
  std::array<std::int64_t, claims> asked{}, proved{};
  std::array<double, claims> seconds{};
  std::vector<std::string> failures; ///< the claim, the statement, and the verdict of Z3
  /// Statements that are never executed, for which every claim can be proved. In a rung, this is an error.
  std::vector<std::string> unreached;

  void ask(Prover &prover, Claim claim, const Formula &formula, const std::string &where);
  struct Question {
    Formula formula;
    std::string where;
  };
  /// Proves several claims under the same facts: first all by one question, and then each one if the first
  /// question fails.
  void ask(Prover &prover, Claim claim, const std::vector<Question> &questions);
  void add(const Proof &other);
  std::int64_t proved_of(Claim claim) const { return proved[static_cast<std::size_t>(claim)]; }
};

} // namespace nestsmith::proofs
