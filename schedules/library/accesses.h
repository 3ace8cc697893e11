#pragma once
/// Support for the schedules of this folder: which axes of a block are neighbours in memory, and how many
/// elements an access can take at once.

#include "dsl/ir/region.h"
#include "dsl/schedule/schedule.h"

#include <cstdint>
#include <vector>

namespace nestsmith::library {

const Block &block_of(const Schedule &s, const BlockRef &handle);
/// The ranges of the axes.
Bounds bounds_of(const Block &block);

/// The axis whose consecutive values are neighbours in memory, for an access with these indices; null if there
/// is none.
const Var *neighbours(const std::vector<Expr> &indices, const std::vector<IterVar> &iters,
                      const Bounds &bounds);

inline constexpr std::int64_t line_bytes = 128; ///< of global memory

/// The largest power of two, at most `most`, of elements that are neighbours in memory for consecutive values
/// of the axis, from a multiple of their number on. 0: the access does not depend on the axis.
std::int64_t multiple_of(const Buffer &buffer, const std::vector<Expr> &indices, const Expr &mask,
                         const IterVar &axis, std::int64_t most, const Bounds &bounds);
/// The same, but the last of these groups may end past the end of the axis, as those of asynchronous copies
/// may.
std::int64_t multiple_of_starts(const Buffer &buffer, const std::vector<Expr> &indices, const Expr &mask,
                                const IterVar &axis, std::int64_t most, const Bounds &bounds);
/// How many elements from a multiple of their number on an access takes at once, for consecutive values of the
/// axis: at most `most`. 0: the access does not depend on the axis.
std::int64_t width_of(const Buffer &buffer, const std::vector<Expr> &indices, const Expr &mask,
                      const IterVar &axis, std::int64_t most, const Bounds &bounds);
/// The number of elements along the axis that the block can access at once in each of its accesses to global
/// memory.
std::int64_t width_of(const Block &block, const Var &axis);

} // namespace nestsmith::library
