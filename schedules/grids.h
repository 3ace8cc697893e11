#pragma once
/// Grids of two dimensions: of the warps of a block, and of the tiles of a matrix.

#include "dsl/schedule/knobs.h"
#include "dsl/schedule/schedule.h"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace nestsmith {

/// One number for the rows, and one for the columns.
using Grid = std::array<std::int64_t, 2>;

/// M, N and K of a product of an M x K and a K x N matrix; or rows, columns and depth of a tile.
using Extents = std::array<std::int64_t, 3>;

/// A knob with candidates such as "2x4".
Grid choose_grid(Knobs &knobs, const std::string &name, const std::vector<std::string> &candidates);

/// The grid that a candidate of such a knob means.
Grid grid_of(const std::string &candidate);

/// The multiprocessors of the target's GPU. Those of an H100 if only the architecture is known.
std::int64_t multiprocessors(const Target &target);

/// Fuses the loops over tiles to one, in which `group` tiles of a column are consecutive.
Loop fuse_tiles(Schedule &s, Loop i_block, Loop j_block, std::int64_t group);

/// Binds the loops over tiles to blocks, and returns the bound loops. If `group` is more than 1, consecutive
/// blocks compute a column of `group` tiles, so that they share a tile of B and few tiles of A in the L2 cache.
std::vector<Loop> bind_tiles(Schedule &s, Loop i_block, Loop j_block, std::int64_t group);

} // namespace nestsmith
