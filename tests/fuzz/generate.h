#pragma once
/// Random computations for random schedules, such as users write in the tensor language.

#include "dsl/ir/program.h"
#include "schedules/rung.h"

#include <cstdint>
#include <string>
#include <vector>

namespace nestsmith::fuzz {

/// The name of a generated program is this prefix followed by the seed.
inline constexpr const char *generated_prefix = "generated_";

/// A stage that has the meaning of an intrinsic (tests/fuzz/user_intrinsics.h) in a loop of extent `width`.
struct Fit {
  std::string stage, intrinsic;
  std::int64_t width;
};

struct Generated {
  Program program;
  Shape shape; ///< the values of its sizes in a run, and their limits; only a description if the program has no
               ///< sizes
  DType dtype; ///< of most of its arithmetic operations
  std::vector<Fit> fits = {};
  bool huge = false; ///< an extent is too large for the program to be executed
};

/// Returns the computation of a seed. It is the same on every host. It has one to six stages: elementwise
/// stages, sums over one or two axes, and updates of inout tensors. Stages read inputs, outputs, inout tensors
/// and each other, at indices that are shifted, strided, reversed, divided, masked, or gathered through an
/// index array.
///
/// The computation is valid, and the judge can check it: every access is in bounds for any data, no divisor is
/// 0, all integers are exact, and sums of floating-point numbers are exact for the small integers of integer
/// mode.
Generated generated(std::uint64_t seed);

} // namespace nestsmith::fuzz
