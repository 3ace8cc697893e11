#pragma once
/// Results of warps, and of thread blocks, that are written to memory by whole rows.

#include "dsl/schedule/schedule.h"
#include "schedules/library/contraction.h"
#include "schedules/library/parts.h"

#include <cstdint>
#include <optional>

namespace nestsmith::library {

inline constexpr std::int64_t staged_columns = 32; ///< 128 bytes of a sum

/// The results of a warp are spread over its lanes in the layout of the matrix units, in which 4 lanes hold 8
/// neighbours of a row. Moves 32 columns at a time through shared memory, so that 32 / `width` lanes write
/// neighbours of a row, `width` elements each: whole lines of 128 bytes. `staged` copies the sums to shared
/// memory, and `result` reads them there; both are below `warp`, the loop that is bound to warps.
void write_rows(Schedule &s, BlockRef result, BlockRef staged, Loop warp, std::int64_t width);

/// The same by bulk stores: a unit of the multiprocessor copies the rows of 128 bytes from shared memory.
/// `copy` copies to global memory what `result` has written to shared memory (`cache_write`). With `moved`,
/// `result` writes results of 2 bytes to registers, and `moved` copies them from there to shared memory by
/// `stmatrix`, 16 x 16 at a time. Then no tile may extend past the results.
void store_rows_in_bulk(Schedule &s, BlockRef result, std::optional<BlockRef> moved, BlockRef copy, Loop warp);

/// Whether consecutive columns of the sum are neighbours in memory in each of the results.
bool has_rows(const Schedule &s, const Contraction &c);

/// The sums of a tile are in the registers of the threads of a block. `staged` copies them to shared memory,
/// below `thread`, 4 neighbours at a time. From there, the threads share the rows, and compute the results.
/// `tile` is the loop over tiles, around `thread`. Returns the loop over the threads that share the rows.
Loop store_rows(Schedule &s, const Contraction &c, BlockRef staged, Loop tile, Loop thread,
                const RowShares &shares);

} // namespace nestsmith::library
