#pragma once
/// Sums whose parts are computed by several thread blocks, one after the other on blockIdx.z. The last of the
/// blocks that share a tile adds them, or a kernel of its own.

#include "schedules/library/contraction.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace nestsmith::library {

/// The parts of a sum: a number of them, or, if `size` is not empty, parts of as many terms as this size of the
/// computation says at launch.
struct PartsOfSum {
  std::int64_t number = 1;
  std::string size = {};
  std::int64_t groups = 1; ///< of parts; divides the number
  std::int64_t tiles = 0;  ///< of k, of each part but the last, which has the rest; 0: the parts are equal
  bool several() const { return number > 1 || !size.empty(); }
};

/// Throws UserError (illegal_schedule) if a sum cannot have these parts.
void check_parts(BlockRef sum, const PartsOfSum &parts);

/// The loops of a sum with parts.
struct LoopsOfSum {
  std::optional<Loop> group, part; ///< over the groups, and over the parts of one; none if there is only one
  std::vector<Loop> inside;        ///< of one part: those of the tiles
  bool shorter = false;            ///< the last part has fewer tiles than each other
};

/// Splits the loop over the terms. `tile` has the extents of the loops of a tile of k.
///
/// Each part has tiles that follow each other. Only if the number of parts is known, and that of the terms is
/// not, the parts take the tiles by turns: part p has those of the numbers p, p + parts, p + 2 * parts and so
/// on. So all of them have as many, however long the loop is.
LoopsOfSum split_sum(Schedule &s, Loop k, const PartsOfSum &parts, const std::vector<std::int64_t> &tile);

/// The number of elements of a row that the block can access at once in each of its accesses to global memory.
std::int64_t width_of_rows(const Schedule &s, BlockRef block);

/// Binds the loop over the parts. The last of the blocks that share `tile` adds their parts of the sum in the
/// order of k, and computes the results from it. A thread takes `width` neighbours of the parts and `stored`
/// neighbours of the results at a time, of the `columns` of a tile. Consecutive threads take consecutive
/// neighbours of a row. Returns the loop over these threads.
Loop add_parts(Schedule &s, const Contraction &c, Loop tile, Loop part, std::int64_t threads,
               std::int64_t columns, std::int64_t width, std::int64_t stored);

/// The same for the parts of each group, in two levels: `c` has the sums of the groups and their copy to global
/// memory, `group` is the loop over the groups on blockIdx.y, and `part` that over the parts of a group. Then
/// `add_parts` adds the sums of the groups. Returns the loop over the threads that add a group.
Loop add_groups(Schedule &s, const Contraction &c, Loop group, Loop part, std::int64_t threads,
                std::int64_t columns, std::int64_t width);

/// The same in a kernel of its own, in which each thread adds the parts of `width` columns: a block of 64
/// threads has a small piece of the result, so that all multiprocessors read parts. Returns its loops over
/// blocks and over threads.
std::array<Loop, 2> add_parts_apart(Schedule &s, const Contraction &c, Loop part, std::int64_t width,
                                    std::int64_t stored);

} // namespace nestsmith::library
