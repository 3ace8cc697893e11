#pragma once
/// The tiles that a loop of waves executes.

#include "dsl/expr/simplify.h"
#include "dsl/ir/program.h"

#include <cstdint>

namespace nestsmith {

/// A program in which the number of a tile, wave*blocks + block, is a variable, where a loop of waves skips the
/// tiles past the last one (skip_tiles.h). So the bounds of an index are those of the tiles that are executed:
///
///     for wave < 2 skipping:                          256 tiles
///       for block < 132 in blockIdx.x:
///         block A_shared(i = (wave*132 + block)//16*64 + ax, …) where i < 1024
///
/// Of the number of a tile, i = tile//16*64 + ax is known to be below 1024, and of the loops only below 1088.
/// The condition under which an iteration executes is made of the guards of the blocks whose results remain
/// after it (`GuardsOfResults`). The program is for analysis only.
struct ExecutedTiles {
  Program program;
  Bounds bounds; ///< of the loops and of the numbers of tiles
};
/// An analysis of guards leaves the bindings and guards of these blocks as they are. An analysis of accesses
/// may rewrite them, because they execute for the same tiles only.
enum class GuardsOfResults : std::uint8_t { stay, follow };
ExecutedTiles over_executed_tiles(const Program &program, GuardsOfResults guards = GuardsOfResults::stay);

/// The program with the bindings of the same blocks and axes in `original`.
Program with_bindings_of(const Program &program, const Program &original);

/// Whether the axis has values below its extent only, in all iterations that execute.
bool ends_inside(const ExecutedTiles &tiles, const Block &block, const IterVar &axis);

} // namespace nestsmith
