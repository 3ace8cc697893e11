#pragma once
/// The rungs and the shapes that the proofs are of.

#include "schedules/rung.h"
#include "tests/proofs/answers.h"
#include "tests/proofs/kernel_proof.h"

#include <optional>

namespace nestsmith::proofs {

/// A shape with sizes as they are stated: all of them unless the sizes are restricted.
struct Case {
  std::string name; ///< "1000x777x333", "any size", "multiples of 4 up to 32768"
  Shape shape;
  DType dtype = DType::f32;
};
/// Constant shapes: full tiles, ragged ones and more than 2^31 elements; then symbolic ones, of sizes that are
/// stated as they come, just small enough for offsets of 32 bits, and as multiples that make vectors, of 16
/// bits too. The cases are for the first dtype of the rung. A few follow for the first dtype of each other
/// width.
std::vector<Case> cases_of(const Rung &rung);
/// A schedule, lowered.
struct Lowered {
  explicit Lowered(const Schedule &schedule); ///< throws UserError where it cannot be
  Program before, after;                      ///< the pass fill_tails
  kernel::Plan ordered;                       ///< before `flatten`
  kernel::Plan plan;
  Proof prove() const; ///< all claims about it
};
/// The rung of this shape; none where it is refused, as some are whose sizes are not stated.
std::optional<Lowered> lowered(const Rung &rung, const Case &at);

} // namespace nestsmith::proofs
