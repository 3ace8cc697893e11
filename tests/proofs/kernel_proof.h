#pragma once
/// What a lowered kernel must be at every launch that it serves, proved from what stands in it: sizes as stated
/// and assumed, indices below their extents, the guards around a statement.

#include "lowering/plan.h"
#include "tests/proofs/prover.h"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace nestsmith::proofs {

/// in_bounds   every element that is loaded or stored exists; masks and guards are known where they hold
/// aligned     a vector starts at a multiple of its lanes, in memory that is aligned to the vector; what the
///             caller must align is in the kernel's list, which the launcher checks
/// width       every value that is computed in 32 or 64 bits fits, as do partial sums in the order in which C
/// adds division    dividends are not negative and divisors positive, so that C's / and % are those of the IR
/// arena       arrays in shared memory do not overlap and lie within what the launch asks for
enum class Claim : std::uint8_t { in_bounds, aligned, width, division, arena };
inline constexpr std::size_t claims = 5;
const char *name(Claim claim);

struct KernelProof {
  std::array<std::int64_t, claims> asked{}, proved{};
  std::array<double, claims> seconds{};
  std::vector<std::string> failures; ///< with the claim, the statement and what Z3 said
  void add(const KernelProof &other);
};

KernelProof prove(const kernel::Kernel &kernel);
KernelProof prove(const kernel::Plan &plan); ///< all of its kernels

} // namespace nestsmith::proofs
