#pragma once
/// The rungs and the shapes for which the proofs are made.

#include "schedules/rung.h"
#include "tests/proofs/answers.h"
#include "tests/proofs/kernel_proof.h"

#include <optional>

namespace nestsmith::proofs {

/// A shape. The symbolic ones have stated sizes.
struct Case {
  std::string name; ///< "1000x777x333", "any size", "multiples of 4 up to 32768"
  Shape shape;
  DType dtype = DType::f32;
  Target target = {};
  KnobValues knobs = {};
};
/// Returns the shapes: constant ones with full tiles, with partial tiles, and with more than 2^31 elements; and
/// symbolic ones with any sizes, with sizes small enough for 32-bit offsets, and with multiples that allow
/// vectors, also of 16 bits. These cases are for the first dtype of the rung. A few more are for the first
/// dtype of each other width. Rungs with roles also have cases on a GPU with matrix units that read tiles, bulk
/// copies and clusters.
std::vector<Case> cases_of(const Rung &rung);
/// A lowered schedule.
struct Lowered {
  explicit Lowered(const Schedule &schedule); ///< throws UserError if the schedule cannot be lowered
  Program before, after;                      ///< the program before and after the pass fill_tails
  kernel::Plan ordered;                       ///< before `flatten`
  kernel::Plan plan;
  Proof prove() const; ///< proves all claims
};
/// Lowers the rung for this shape. Returns none if the rung refuses it, as some refuse symbolic sizes.
std::optional<Lowered> lowered(const Rung &rung, const Case &at);

} // namespace nestsmith::proofs
