#pragma once
/// Random computations for random schedules: what a user may write with the tensor language.

#include "dsl/ir/program.h"
#include "schedules/rung.h"

#include <cstdint>
#include <string>
#include <vector>

namespace nestsmith::fuzz {

/// The name of a generated program is this and its seed.
inline constexpr const char *generated_prefix = "generated_";

/// A stage that is the meaning of an intrinsic (tests/fuzz/user_intrinsics.h) in a loop of this extent.
struct Fit {
  std::string stage, intrinsic;
  std::int64_t width;
};

struct Generated {
  Program program;
  Shape shape; ///< its sizes for a run, and their limits; for a program without sizes only a description
  DType dtype; ///< of most of its arithmetic
  std::vector<Fit> fits = {};
  bool huge = false; ///< an extent that nothing can execute
};

/// The computation of this seed: the same on every host. It has one to six stages: elementwise stages, sums
/// over one or two axes, and updates of inout tensors. Stages read inputs, outputs, inout tensors and each
/// other, at indices that are shifted, strided, reversed, divided, masked, or gathered through an index array.
///
/// It is within what the language promises, and the judge sees all of it: every access is in bounds for any
/// data, no divisor is 0, all integers are exact, and sums of floating-point numbers are exact for the small
/// integers of integer mode.
Generated generated(std::uint64_t seed);

} // namespace nestsmith::fuzz
