#pragma once
/// Schedules of contractions: of any number of batch, row, column and reduction axes in any order, with
/// operands and results stored in any order. `contraction.h` says how they become products of matrices. All
/// schedules are made of directives, so `show --step` prints each of them.
///
///   library::product(s, s.block("S"));
///   library::product(s, s.block("S"), library::MatrixTiles{.warps = {2, 4}, …});
///
/// The first form chooses the tiles for the sizes, the dtype and the target.
///
/// The terms may read more than two elements, such as a weight for each k, or the sum of two products. Matrix
/// units multiply only terms that are products of two.
///
/// Each function throws UserError (illegal_schedule), and leaves the schedule unchanged, if it cannot schedule
/// the block: the message names the axis or the access, or is that of the directive that was refused.

#include "dsl/schedule/schedule.h"
#include "schedules/grids.h"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace nestsmith::library {

/// What a schedule made, for directives that follow.
struct Product {
  BlockRef sum;
  std::vector<BlockRef> results;
  std::vector<BlockRef> tiles; ///< of the operands in shared memory
  std::vector<Loop> blocks;    ///< over the tiles of the result, bound to blocks
  Loop threads;                ///< bound to threadIdx.x, or to warps
  Loop k_outer, k_inner;       ///< over the tiles along k, and inside of a tile
  /// One sentence if the tiles were chosen, the target has matrix units for the type of an operand, and the
  /// threads multiply in registers nevertheless: the reason, such as operands of two types, and what to do.
  /// Otherwise empty.
  std::string without_units = {};
  /// One sentence if the sum was scheduled by `library::reduction`, but would be a product of matrices with
  /// other axes: the accesses and the axis in the way, and the axes to declare. Otherwise empty.
  std::string without_tiles = {};
};

/// Warps of their own that fill the tiles in shared memory (`role`), and the registers of each of their
/// threads; 0: no such warps, or as many registers as all threads.
struct LoadWarps {
  std::int64_t warps = 0, registers = 0;
  /// Tiles that are stored as they are in memory are filled by bulk copies, but not those of gathered or masked
  /// operands.
  bool bulk = false;
  std::int64_t threads() const { return warps * 32; }
};

/// Results in the registers of threads. A thread has groups of 4 rows and groups of 4 columns: neighbours, if
/// accesses take all 4; otherwise the lanes of a row have neighbours (`width`). The tile of a
/// block has warps * lanes * results rows, and columns. The lanes of a warp are a grid.
struct RegisterTiles {
  Grid warps = {2, 2}, lanes = {4, 8};
  Grid results = {8, 8};  ///< of a thread: multiples of 4
  bool zigzag = true;     ///< the two lowest bits of a lane count rows and columns: fewer clocks for each read
  bool async = true;      ///< asynchronous copies, if elements have 4 bytes or more and the target has them
  bool prefetch = true;   ///< without `async`: loads the next tiles to registers before they are needed
  bool fragments = false; ///< loads the operands of the next k while this one is used
  bool joined = false;    ///< and those of the first k of the next tile; needs `async` and `fragments`
  bool spread = false;    ///< starts a part of the copies in each step of k; needs `joined`
  /// With `spread`: the copies of a thread start in at most this number of steps. Before copies that follow
  /// loads from shared memory, ptxas puts three instructions without an effect. 0: in as many as there are.
  std::int64_t copy_steps = 5;
  bool columns = false;    ///< a thread computes column by column
  bool snake = false;      ///< every second row or column in reverse
  bool last_k = false;     ///< the last tile of k gets code of its own, if that differs
  std::int64_t k = 16;     ///< extent of the tiles along k
  std::int64_t group = 1;  ///< consecutive blocks compute a column of this many tiles
  std::int64_t stages = 3; ///< tiles in flight, with `async`
  /// Blocks that share a tile, each with a part of k. If the extent of k is not a constant, they take its tiles
  /// in turns.
  std::int64_t split_k = 1;
  /// The size that is the number of terms of a part: the launch chooses how many blocks share a tile. The
  /// computation declares it (`Schedule::split_by`), as a multiple of `k`. Empty: `split_k` is the number.
  std::string part = {};
  /// With `split_k`: the tiles of k of each part but the last one, which has the rest. 0: the parts are equal.
  std::int64_t tiles_of_part = 0;
  bool two_kernels = false; ///< with parts: another kernel adds them, by many blocks, not the last block
  /// With `split_k`: the parts are in this number of groups. The last block of each group adds its parts, and
  /// the last one of these blocks adds the sums of the groups. 1: one block adds all parts.
  std::int64_t groups_of_parts = 1;
  std::int64_t blocks = 0; ///< resident blocks on a multiprocessor; 0: not stated
  /// Elements of one access, at most; 1: scalars. Where it, or the rows of the results, allow fewer than 4,
  /// lane l of a row of 1, 2, 4 or 8 lanes has `width` columns of each lanes * `width` ones, and the tile of
  /// the second operand is stored in this order.
  std::int64_t width = 4;
  /// The blocks of the grid, if there are more tiles: each computes tiles one after the other. It needs a whole
  /// sum in each block, so no parts. 0: one block for each tile.
  std::int64_t persistent = 0;
  /// The thread blocks that the GPU executes at one time. If the last wave of tiles would leave places empty,
  /// and it gains time, several blocks share each tile of the last rows: schedules/even_tail.h. 0: each tile
  /// has one block, or `split_k` blocks.
  std::int64_t even_places = 0;
  /// The same for a last wave that is more than half full: a few blocks help all tiles of the last rows
  /// (`HelpedTail`). They have a kernel of their own, beside which the other one executes; so all kernels start
  /// early. It needs a target with early launches. 0: no block helps.
  std::int64_t helped_places = 0;
  LoadWarps load = {}; ///< with `async`: they fill the tiles
  bool early = false;  ///< the kernels may start while those before them in the stream end (`launch_early`)
  bool apart = false;  ///< the sum is stored, and what reads it stays in kernels of its own
  /// With `load.bulk`: operands whose neighbours are along k are copied first, by a kernel of their own, to
  /// arrays that are stored along their rows or columns (packing.h). So bulk copies fill their tiles, too.
  /// Where the product with such copies is refused, they stay as they are.
  bool packed = false;
  /// Where accesses to the results take fewer than 4 elements, the sums go through shared memory, so that
  /// consecutive threads store whole rows (row_stores.h): for products without parts and load warps, whose sums
  /// fit in the shared memory of a block.
  bool staged = false;

  std::int64_t threads() const { return warps[0] * warps[1] * lanes[0] * lanes[1]; }
  std::int64_t tile(std::size_t side) const { return warps[side] * lanes[side] * results[side]; }
};
/// The usual `groups_of_parts`: 32 parts and more are added faster in groups.
inline std::int64_t usual_groups(std::int64_t split_k) { return split_k >= 32 ? 4 : 1; }
Product product(Schedule &s, BlockRef sum, const RegisterTiles &tiles);

/// The source of the operands of a warp.
enum class Source : std::uint8_t {
  global,   ///< loads of each lane from global memory
  shared,   ///< loads of each lane from tiles in shared memory
  ldmatrix, ///< tiles in shared memory, by `ldmatrix`, if the elements have 2 bytes or k is the last dimension
            ///< of the tile; otherwise loads
  /// Tiles in shared memory, which the matrix units read themselves, by `wgmma` of four warps: for f16 and
  /// bf16, if k is the last dimension of both operands. A warp has 16 rows and 64, 128, 192 or 256 columns of
  /// results, the rows of warps are a multiple of 4, and a tile has 64 elements along k (4 steps), swizzled.
  tiles
};

/// Results in the fragments of warps, by the matrix instructions of a warp (`mma.sync`): for operands of f16,
/// bf16, tf32, i8 and u8. Those of four warps (`wgmma`) are another source of the operands.
struct MatrixTiles {
  Grid warps = {1, 1};    ///< of a thread block
  Grid results = {16, 8}; ///< of a warp: multiples of 16 and of 8
  std::int64_t steps = 1; ///< instructions along k in one tile
  Source source = Source::ldmatrix;
  bool swizzled = true;    ///< the tiles in shared memory: no bank conflicts, if rows have a power of two bytes
  std::int64_t stages = 1; ///< copies of the tiles; more than 1: asynchronous copies are in flight
  /// With `Source::tiles`: the calls of this number of iterations run on while the next ones start. The
  /// asynchronous copies of stages - 1 - in_flight tiles are in flight.
  std::int64_t in_flight = 0;
  bool ahead = false;     ///< loads the operands of the next step while the matrix units use those of this step
  bool joined = false;    ///< and the operands of the first step of the next tile; needs `ahead` and stages
  bool late = false;      ///< starts the copies after the multiplications, or before those of the last step
  bool snake = false;     ///< every second row of instructions in reverse: it starts with the last operand of B
  bool edges = false;     ///< tiles at the edges of the result get code of their own: the others have no guards
  std::int64_t group = 1; ///< consecutive blocks compute a column of this many tiles
  std::int64_t split_k = 1;       ///< as in `RegisterTiles`
  std::string part = {};          ///< as in `RegisterTiles`
  bool two_kernels = false;       ///< with parts: another kernel adds them, by many blocks, not the last block
  std::int64_t blocks = 0;        ///< resident blocks on a multiprocessor; 0: not stated
  std::int64_t width = 16;        ///< elements of one access, at most; 1: scalars
  std::int64_t persistent = 0;    ///< as in `RegisterTiles`
  std::int64_t even_places = 0;   ///< as in `RegisterTiles`
  std::int64_t helped_places = 0; ///< as in `RegisterTiles`
  LoadWarps load = {};            ///< they fill the tiles
  /// The results of a warp go through shared memory, so that it writes whole rows of 32 columns (row_stores.h):
  /// for results of a multiple of 32 columns.
  bool staged = false;
  /// With `staged`: a unit of the multiprocessor stores the rows (`bulk_copy`), where the rows of the results
  /// and the target allow it, and the sums have no parts and no even or helped tail. Results of f16, bf16 and
  /// u16 go to shared memory by `stmatrix`, where the target has it and no tile extends past them.
  bool bulk_stores = false;
  bool early = false; ///< as in `RegisterTiles`
  bool apart = false; ///< as in `RegisterTiles`
  /// With `load.bulk` and `Source::tiles`: this number of blocks, one below the other, form a cluster. They
  /// have the same columns, and each copies a part of the tile of B for all of them. Blocks form no cluster if
  /// the number of tiles along the rows is no multiple of it, if B allows no bulk copies, if sums have parts,
  /// or with an even or helped tail.
  std::int64_t cluster = 1;

  std::int64_t threads() const { return warps[0] * warps[1] * 32; }
  std::int64_t tile(std::size_t side) const { return warps[side] * results[side]; }
};
Product product(Schedule &s, BlockRef sum, const MatrixTiles &tiles);

/// Chooses the tiles: matrix units, if the operands have a dtype that they multiply and the target has them. If
/// a kernel table serves the dtype and the target, the tiles are the first legal ones in its order for this
/// size
/// (`chosen_tiles.h`), as for `fast/best`; otherwise those of usual ones that give each multiprocessor work.
///
/// If what reads the sum overwrites an operand, the sum is stored, and its reader stays in a kernel of its own
/// (`apart`).
///
/// A sum that is no product of matrices, such as that of a matrix and a vector, is scheduled by
/// `library::reduction`. Then `blocks` are all loops that are bound to blocks, `threads` is the innermost loop
/// that is bound to threads, and `k_outer` and `k_inner` are the loop over the terms of a thread and the one
/// over the neighbours that it loads at once. Handles of what such a schedule has not are empty.
Product product(Schedule &s, BlockRef sum);

} // namespace nestsmith::library
