#pragma once
/// Parts of the schedules of products, for schedules of your own.

#include "dsl/schedule/schedule.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace nestsmith::library {

/// Fuses the loops, each directly inside of the one before, to one.
Loop fuse_all(Schedule &s, const std::vector<Loop> &loops);

/// The loops of all lists, in this order.
std::vector<Loop> concatenated(const std::vector<std::vector<Loop>> &lists);

/// Unrolls the loops of more than one iteration, and vectorizes the last one if `vectors` is set.
void by_vectors(Schedule &s, std::vector<Loop> loops, bool vectors);

/// Splits the last of the loops, if it has more than `width` iterations, so that the last one has `width` of
/// them: for vectors. Its extent must be a multiple of `width`. Does nothing if `width` is 1.
std::vector<Loop> split_last(Schedule &s, std::vector<Loop> loops, std::int64_t width);

/// Binds the loops over tiles of a result, and over its batch, to the axes of the grid, and returns those over
/// the tiles. If `group` is more than 1, consecutive blocks compute a column of `group` tiles, so that they
/// share a tile of the second operand and few tiles of the first in the L2 cache. Loops with more iterations
/// than an axis of the grid has are fused with others and bound to blockIdx.x. `taken` axes are for the parts
/// of a sum: if it is 1, the batch is bound to blockIdx.x, too, and if it is 2, all loops are.
std::vector<Loop> bind_grid(Schedule &s, std::optional<Loop> batch, Loop i_block, Loop j_block,
                            std::int64_t group, std::int64_t taken = 0);

/// A loop of waves around whole tiles: in each wave, a thread block computes one tile.
struct Waves {
  Loop wave, block;
  bool partial; ///< the last wave has fewer tiles than blocks
};
/// Binds the same `blocks` blocks to all tiles, in the order of `bind_grid`. None, and nothing is done, if
/// there are no more tiles than blocks, if their number is known only at launch, or if the last wave would be
/// partial and `may_be_partial` is not set.
std::optional<Waves> bind_waves(Schedule &s, std::optional<Loop> batch, Loop i_block, Loop j_block,
                                std::int64_t group, std::int64_t blocks, bool may_be_partial);

/// The largest group of at most `most` tiles of `tile` rows that the number of tiles is a multiple of: blocks
/// of a group that is not whole compute, although they have no results. 1, if the number of rows is known only
/// at launch: the blocks of a group that begins in the last rows would need guards.
std::int64_t whole_group(const Schedule &s, Loop rows, std::int64_t tile, std::int64_t most);

/// The number of elements that one access to the result takes, if its rows allow `width`: no vector is shorter
/// than 4 bytes.
std::int64_t width_of_store(const Schedule &s, BlockRef result, std::int64_t width);

/// Each thread stores its elements of the result, which it has below `thread`, `width` at a time. Returns the
/// loops of a thread over them, outermost first: those over accesses, which are unrolled, and, for vectors, the
/// one over the elements of an access.
std::vector<Loop> store_result(Schedule &s, BlockRef result, Loop thread, std::int64_t width);

/// If the result updates its elements in place, such as alpha*AB + beta*C, each thread loads several of them
/// before it stores the first one, unless the schedule refuses this order. `loops` are those of a thread: over
/// accesses, and, last, if `vectors` is set, over the elements of one access. Returns the loops of the result,
/// in the same order.
std::vector<Loop> read_ahead(Schedule &s, BlockRef result, std::vector<Loop> loops, bool vectors);

/// A tile whose elements the threads of a block share: the loop over threads, and inside of it those over rows,
/// and over the neighbours of a row.
struct RowsOfThreads {
  Loop thread, row, element;
};
/// How they share it: consecutive threads have groups of `neighbours` of a row, and a thread has at most
/// `in_flight` elements at a time, in several rows, so that their accesses do not wait for each other.
struct RowShares {
  std::int64_t threads, columns, neighbours, in_flight;
};
/// `i` and `j` are the loops over the rows and columns of the tile, and `inside` those inside of them, which
/// become those directly inside of the loop over threads.
RowsOfThreads share_rows(Schedule &s, Loop i, Loop j, const std::vector<Loop> &inside, const RowShares &shares);

/// The extent of the loop; none if it is known only at launch.
std::optional<std::int64_t> known_extent(const Schedule &s, Loop loop);

/// The tiles at the edges of a result.
struct Edges {
  bool rows, columns;             ///< the last tile of rows, or of columns, is a partial one
  bool other_rows, other_columns; ///< and there are others, if the loops over the tiles are fused
  bool few = true;                ///< at most half of all tiles are partial, as far as this is known
};
/// Those of the loops over tiles, before `bind_grid`.
Edges edges_of(const Schedule &s, Loop i_block, Loop j_block, std::int64_t group, bool whole_rows,
               bool whole_columns);
/// Gives the tiles at the edges code of their own, if there are any: the others have no guards. `grid` is the
/// result of `bind_grid`.
void partition_edges(Schedule &s, const std::vector<Loop> &grid, const Edges &edges);

/// Whether the extent of the loop is a multiple of `n` for all sizes.
bool is_multiple(const Schedule &s, Loop loop, std::int64_t n);

} // namespace nestsmith::library
