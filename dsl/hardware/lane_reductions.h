#pragma once
/// How the lanes of a warp combine their elements by a reducer that the program defines, and the moves between
/// lanes of which this is made.

#include "dsl/ir/intrinsic.h"

#include <vector>

namespace nestsmith {

/// for i < 32: r = combine(r, x[i]), where lane i holds x[i] and every lane gets the result. `tensorize` takes
/// it by the name "warp_NAME"; it is not in the table of intrinsics, because lowering/combine_lanes.h replaces
/// its calls by shuffles. Null for elements that no shuffle moves: booleans.
const Intrinsic *lane_reduction(const OwnReducer &reducer);

/// Each lane gets x of the lane whose number differs in the bit `distance`: 1, 2, 4, 8 or 16. Of each dtype of
/// a part of a tuple but boolean.
const Intrinsic &shuffle_xor(DType dtype, int distance);
/// Each lane gets x of lane 0.
const Intrinsic &shuffle_first(DType dtype);

/// All of these moves, for tests.
std::vector<const Intrinsic *> lane_shuffles();

} // namespace nestsmith
