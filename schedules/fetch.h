#pragma once
/// Cooperative fetch: the threads of a block copy a tile together. Most rungs use these functions.

#include "dsl/schedule/schedule.h"

namespace nestsmith {

/// Copies a tile of `operand` into shared memory in each iteration of `at`, with `threads` threads on
/// threadIdx.x. Consecutive threads copy consecutive elements of a row. If the tile has more elements than
/// there are threads, each thread copies several elements, at a distance of `threads`. The number of elements
/// must be a multiple of `threads`. Returns the block that fills the tile.
BlockRef fetch_tile(Schedule &s, BlockRef reader, const std::string &operand, Loop at, std::int64_t threads);

/// The same for an existing cache block, from which another cache may have been made. `across`: consecutive
/// threads copy consecutive elements of a column. `groups`: as in TileFetch. Returns the loop over the threads.
Loop fetch_tile(Schedule &s, BlockRef tile, Loop at, std::int64_t threads, bool across = false,
                std::int64_t groups = 0);

/// The same with `width` consecutive elements of a row per thread and step. Returns the loop over them, for
/// vectorize or unroll. The row length must be a multiple of `width`, and the number of elements a multiple of
/// `width`*`threads`. `groups`: as in TileFetch.
Loop fetch_by_vectors(Schedule &s, BlockRef tile, Loop at, std::int64_t threads, bool across = false,
                      std::int64_t width = 4, std::int64_t groups = 0);

/// How the threads copy a tile of an operand of a product: rows and k, or k and columns.
struct TileFetch {
  bool by_k = false;      ///< k is the last index of the tile, and each row of it is stored with one k
  bool across = false;    ///< consecutive threads copy consecutive rows of the operand, not consecutive k
  std::int64_t width = 1; ///< elements of one access
  bool partial = false;   ///< with asynchronous copies: a row may end within an access
  /// With asynchronous copies: the copies of a thread are in at most this number of groups, so that `spread`
  /// starts those of a group together. 0: each is a group.
  std::int64_t groups = 0;
};

/// Copies a tile from `registers` to shared memory, so that `double_buffer` can load it into registers before
/// the computation, and store it after the computation. The tile reads what `registers` copies.
void fetch_through_registers(Schedule &s, BlockRef tile, BlockRef registers, Loop at, std::int64_t threads,
                             const TileFetch &fetch);
/// The same for the operand A, stored by k, or B. Returns the copy in registers.
BlockRef fetch_through_registers(Schedule &s, BlockRef tile, const std::string &operand, Loop at,
                                 std::int64_t threads, bool vectors);

/// Copies a tile with asynchronous copies: `width` elements at a time if the layout permits it. Elements of
/// less than 4 bytes are not stored by k. Returns false if an access has less than 4 bytes: then the copies are
/// not asynchronous.
bool fetch_async(Schedule &s, BlockRef tile, Loop at, std::int64_t threads, const TileFetch &fetch);
/// The same for the operand A, stored by k, or B.
bool fetch_async(Schedule &s, BlockRef tile, const std::string &operand, Loop at, std::int64_t threads,
                 bool vectors);

/// Whether bulk copies can bring a tile of `rows` rows, or columns, of a matrix whose rows allow accesses of
/// `width` elements.
bool may_copy_in_bulk(DType dtype, std::int64_t width, std::int64_t rows);
/// Copies a tile by bulk copies, in the order of its source. It needs a role.
void fetch_in_bulk(Schedule &s, BlockRef tile, Loop at);

} // namespace nestsmith
