#pragma once
/// A step of the pass `flatten`: the lanes of a warp combine their elements by a reducer of the program.

#include "lowering/kernel.h"

namespace nestsmith::kernel {

/// Replaces each call of a `lane_reduction` (dsl/hardware/lane_reductions.h) by shuffles and combinations:
///
///     warp_argmax(best_lane[0], best[0])
///  =>
///     best_own[0] = best_lane[0]
///     shuffle_xor_16(best_own[0], best_other[0])          // of a tuple, one for each part
///     best_own[0] = argmax(best_own[0], best_other[0])
///     …                                                   // 8, 4, 2 and 1
///     best[0] = argmax(best[0], best_own[0])
///
/// Two lanes combine their elements in opposite orders. If this may round in another way, all lanes take the
/// result of lane 0, so that every lane has the same bits.
void combine_lanes(Kernel &kernel);

} // namespace nestsmith::kernel
