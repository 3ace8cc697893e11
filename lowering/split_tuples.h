#pragma once
/// A step of the pass `flatten`: arrays of tuples become an array for each part.

#include "lowering/kernel.h"

namespace nestsmith::kernel {

/// Replaces each buffer of tuples by a buffer for each part, and each store of a tuple by a store for each
/// part. All values are computed from the old parts:
///
///     best[0] = argmax(best[0], (value: X[k], index: k))
///  =>
///     const float x = X[k];
///     const bool chosen = best_value[0] < x || …;
///     best_value[0] = chosen ? x : best_value[0];
///     best_index[0] = chosen ? k : best_index[0];
///
/// Each access has one index, an offset. The arrays of the parts of a shared array lie in its memory.
void split_tuples(Kernel &kernel);

} // namespace nestsmith::kernel
