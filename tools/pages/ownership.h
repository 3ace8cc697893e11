#pragma once
/// The thread that owns each element of a tile: that stores an element of C, that copies an element of a tile
/// in shared memory, or whose registers hold an element of a fragment.

#include "runtime/model/analysis.h"

#include <llvm/Support/JSON.h>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace nestsmith::cli::report {

/// A tile as rows and columns in memory, with padding. For a fragment, the rows and columns of its elements.
struct OwnerGrid {
  std::string name = {}; ///< of the buffer
  Scope scope = Scope::global;
  std::int64_t rows = 0, columns = 0; ///< that are drawn
  std::int64_t tile_rows = 0, tile_columns = 0;
  /// Of a parameter: its shape, and the position of the tile as a row and a column of it. `folded`: the tile is
  /// a part of one row, which the rows of the grid continue.
  std::vector<std::int64_t> extents = {};
  std::int64_t first_row = 0, first_column = 0;
  bool folded = false;
  /// In row-major order: the thread of the block, or for a fragment the lane of its warp, of which several can
  /// hold copies: the first one, and the lanes at the distances `replicas` from it; -1: nobody.
  std::vector<std::int64_t> owners = {};
  std::vector<std::int64_t> replicas = {};
  std::vector<std::int64_t> registers = {}; ///< of a fragment, in row-major order

  bool in_part() const { return rows < tile_rows || columns < tile_columns; } ///< not all elements are drawn
  std::int64_t owner(std::int64_t row, std::int64_t column) const {
    return owners[static_cast<std::size_t>(row * columns + column)];
  }
};

/// The first thread block of a kernel.
struct FirstBlock {
  std::int64_t threads = 0;
  std::array<std::int64_t, 3> shape = {1, 1, 1};
  /// For each access of the kernel: the first request of the first warp.
  std::vector<std::optional<model::WarpRequest>> requests;
  std::vector<OwnerGrid> grids;
};

/// Executes the first block. An element that several threads store belongs to the first of them. A tile with
/// several copies for a pipelined loop is shown as its first copy. `program` is the scheduled program.
FirstBlock first_block(const KernelAnalysis &kernel, const Program &program);

/// Row-major values as runs, each row once: `{"rows": [SHAPE, FIRST, …], "shapes": [[DIFFERENCE, COUNT, …],
/// …]}`. A row is its shape and the value of its first owned element, to which differences are relative; the
/// difference null is nobody.
llvm::json::Value packed(const std::vector<std::int64_t> &values, std::int64_t columns);

/// A rectangle of elements.
struct Rectangle {
  std::int64_t row, column, rows, columns;
};
/// Rectangles that cover exactly the elements of each group, by `group_of`. Elements without an owner are in no
/// group.
std::map<std::int64_t, std::vector<Rectangle>> groups(const OwnerGrid &grid,
                                                      FunctionRef<std::int64_t(std::int64_t owner)> group_of);

} // namespace nestsmith::cli::report
