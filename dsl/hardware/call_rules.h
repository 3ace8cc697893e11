#pragma once
/// The conditions that lowering requires of a nest that a whole warp executes as one call.

#include "dsl/hardware/vector_access.h"

namespace nestsmith {

/// Returns the first violated requirement of a loop that is tensorized with an intrinsic of a warp; none if all
/// hold:
///
/// - No loop around it is bound to a lane or to threadIdx.x, and the nest is still the meaning.
/// - Its block has no init, or all lanes hold the result. A guard has one value for the whole call, and is not
///   on a reduction axis.
/// - Each operand is where the intrinsic expects it: a fragment with the lanes and registers of the intrinsic,
///   whose first register has the alignment of the operand, or rows in shared memory whose elements are
///   contiguous and aligned.
/// - The result shares no buffer with another operand.
///
/// The program must be the result of `with_filled_tails`. If `lasting` is true, checks only the requirements
/// that no later directive can correct.
std::optional<VectorBreach> call_breach(Placements &filled, const For &loop, const Intrinsic &intrinsic,
                                        bool lasting);

} // namespace nestsmith
