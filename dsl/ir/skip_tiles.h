#pragma once
/// Loops that skip tiles: iterations in which no block has a term (dsl/schedule/primitives/skip_tiles.h).
///
///     for i_outer < 4 in blockIdx.y:
///       for k_outer < 16 skipping:
///         A_shared: …                                        (the tile of A of k_outer)
///         for i_inner < 32 in threadIdx.y: for k_inner < 8:
///           block C(i = i_outer*32 + i_inner, sum k = k_outer*8 + k_inner):
///             C[i] = C[i] + (k <= i ? A_shared[i, k] : 0)
///
/// An instance of C *has a term* unless its guard is false, or its term is the identity of the reducer for all
/// values that memory may have, infinities and NaN included. Here it has one where k <= i. An iteration of
/// k_outer has terms for some i_inner and k_inner only if
///
///     k_outer*8 <= i_outer*32 + 31
///
/// This *condition* of an iteration follows from the lowest k and the highest i of the tile. It uses no loop
/// inside of the tile and no thread, so all threads of a block agree on it. It may hold for an iteration
/// without terms, but is never false for one with terms.
///
/// A block that stores what is no term, such as C below a loop of waves of tiles, does nothing where its guards
/// are false: then they are its part of the condition.
///
/// If the term is the identity, the block may store the element as it is (`term_of`): that is what a skipped
/// iteration does.

#include "dsl/expr/function_ref.h"
#include "dsl/expr/simplify.h"
#include "dsl/ir/program.h"

#include <optional>
#include <string>
#include <vector>

namespace nestsmith {

/// The condition, over the axes of a block, without which `term` is the identity of the reducer: an expression
/// of masks, choices and constants, or true. `value_of` returns what a load without a mask reads, in terms of
/// the same axes, or null if this is unknown.
///
/// The term is absent where it is the identity itself. A product of floating-point numbers with one masked
/// factor is not absent, because 0 times infinity is NaN; with integers it is.
Expr has_term(Reducer reducer, const Expr &term, FunctionRef<Expr(const Load &)> value_of);

/// A condition over loops that holds wherever `condition` holds for some values of the loops for which `varies`
/// is true: these take all values of their ranges, and do not occur in the result.
Expr holds_somewhere(const Expr &condition, FunctionRef<bool(const Var &)> varies, const Bounds &bounds);

/// The blocks below the loop whose results remain after an iteration.
std::vector<const Block *> lasting_blocks(const Program &program, const For &loop);

/// The condition, over the loops around the loop that are not bound to threads, the loop itself and the loops
/// over blocks directly inside of it, without which no block in an iteration of the skipping loop has a term.
/// True if there is none.
Expr condition_of_iteration(const Program &program, const For &loop);

/// The tiles of a loop of waves, each of which has one tile for each block: tile = wave*blocks + block. The
/// condition of an iteration is tile < tiles.
struct SkippedTail {
  const For *block;           ///< the loop over the blocks, directly inside of the loop of waves
  std::int64_t blocks, tiles; ///< its extent, and the number of tiles
};
/// None if the condition of the iteration has another form, or if this is not proved. The extents of both loops
/// must be known.
std::optional<SkippedTail> skipped_tail(const Program &program, const For &loop, const Expr &condition);

/// A loop in which thread blocks leave out the last iterations only, and how many depends on a loop over thread
/// blocks, such as that over the parts of a sum of which the last one is shorter:
///
///     for part < 2 in blockIdx.z:                             part 0 executes 232 iterations
///       for k_outer < 232 skipping: …                         part 1 executes 24
///         block C(…, sum k = part*3712 + k_outer*16 + …) where k < 4096
///
/// Lowering makes the code of each value of this loop on its own, with its number of iterations as the extent,
/// if the loop is pipelined with an inner loop (`join_pipelines`) or its tiles pass between roles.
struct ShortenedLoop {
  const For *loop, *by;              ///< the skipping loop, and the loop over thread blocks
  std::vector<std::int64_t> extents; ///< iterations for each value of `by`, at least one
};
/// None if the loop is not of this kind, or if this is not proved. The extents of the loop and of all loops
/// over thread blocks must be known, and the blocks form no clusters.
std::optional<ShortenedLoop> shortened(const Program &program, const For &loop);
/// The loops of a nest that lowering shortens, all by one loop over thread blocks.
std::vector<ShortenedLoop> shortened_loops(const Program &program, const Stmt &nest);
inline constexpr std::int64_t most_shortened = 16; ///< values of `ShortenedLoop::by`

/// A violated requirement of a loop that skips tiles.
struct SkipBreach {
  const char *requirement; ///< tag of a `Requires` line of dsl/schedule/primitives/skip_tiles.h
  std::string message;
  std::vector<std::string> culprits; ///< names of the loops and blocks to underline
};

/// Checks all loops that skip tiles, and returns the first breach: skipping would change the result.
std::optional<SkipBreach> find_skip_breach(const Program &program);
/// The first block that may have a term in every iteration of a loop that skips tiles, so that the loop skips
/// none.
std::optional<SkipBreach> find_idle_skip(const Program &program);

} // namespace nestsmith
