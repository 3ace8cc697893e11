#include "tools/pages/ownership.h"

#include "dsl/ir/allocation.h"
#include "lowering/plan.h"
#include "runtime/model/analyse.h"
#include "runtime/model/count.h"
#include "tools/tables/fragment_picture.h"

#include <algorithm>
#include <unordered_map>

namespace nestsmith::cli::report {

namespace {

/// A larger tile is drawn in part.
constexpr std::int64_t most_drawn = 256, most_of_fragment = 16;
/// Elements of one row are drawn in rows of this number of elements.
constexpr std::int64_t folded_columns = 32;

/// The thread that stores each element.
using Owners = std::unordered_map<std::int64_t, std::int64_t>;

/// The part of the grid that is drawn.
void fill(OwnerGrid &grid, FunctionRef<std::int64_t(std::int64_t row, std::int64_t column)> owner) {
  std::int64_t most = grid.scope == Scope::warp ? most_of_fragment : most_drawn;
  grid.rows = std::min(grid.tile_rows, most);
  grid.columns = std::min(grid.tile_columns, most);
  for (std::int64_t row = 0; row < grid.rows; ++row)
    for (std::int64_t column = 0; column < grid.columns; ++column)
      grid.owners.push_back(owner(row, column));
}

/// The box of the stored elements of a parameter.
OwnerGrid parameter_grid(const Buffer &buffer, const Owners &owners) {
  OwnerGrid grid{.name = buffer->name};
  for (const Expr &extent : buffer->shape)
    grid.extents.push_back(as_int(extent).value());
  std::int64_t width = grid.extents.empty() ? 1 : grid.extents.back();
  std::int64_t low_row = INT64_MAX, low_column = INT64_MAX, high_row = 0, high_column = 0;
  for (const auto &[element, thread] : owners) {
    low_row = std::min(low_row, element / width), high_row = std::max(high_row, element / width);
    low_column = std::min(low_column, element % width);
    high_column = std::max(high_column, element % width);
  }
  grid.folded = low_row == high_row && high_column - low_column >= 2 * folded_columns;
  grid.first_row = low_row;
  grid.first_column = low_column;
  grid.tile_rows = high_row - low_row + 1;
  grid.tile_columns = high_column - low_column + 1;
  if (grid.folded) {
    grid.tile_rows = (grid.tile_columns + folded_columns - 1) / folded_columns;
    grid.tile_columns = folded_columns;
  }
  fill(grid, [&](std::int64_t row, std::int64_t column) {
    std::int64_t at = grid.folded ? low_row * width + low_column + row * folded_columns + column
                                  : (low_row + row) * width + low_column + column;
    auto found = owners.find(at);
    return found == owners.end() ? -1 : found->second;
  });
  return grid;
}

/// The first copy of a tile. A row has the last extents of the array in memory, as many as make 32 elements.
OwnerGrid shared_grid(const kernel::Allocation &tile, const Owners &owners) {
  std::int64_t elements = kernel::element_count(tile.buffer) / tile.slots, columns = 1;
  for (std::size_t d = tile.tile.size(); d-- > 0 && columns < folded_columns;)
    if (d + 1 == tile.tile.size() || columns * tile.tile[d] <= most_drawn)
      columns *= tile.tile[d];
    else
      break;
  columns = std::clamp<std::int64_t>(columns, 1, elements);
  OwnerGrid grid{.name = tile.buffer->name, .scope = Scope::shared};
  grid.tile_rows = (elements + columns - 1) / columns;
  grid.tile_columns = columns;
  fill(grid, [&](std::int64_t row, std::int64_t column) {
    auto found = owners.find(row * columns + column);
    return found == owners.end() || row * columns + column >= elements ? -1 : found->second;
  });
  return grid;
}

OwnerGrid fragment_grid(const Placement &placement) {
  Spots spots(placement);
  std::vector<std::int64_t> element(spots.box().size(), 0);
  std::size_t rank = element.size();
  OwnerGrid grid{.name = placement.buffer->name, .scope = Scope::warp};
  grid.tile_rows = rank > 1 ? spots.box()[rank - 2] : 1;
  grid.tile_columns = rank > 0 ? spots.box()[rank - 1] : 1;
  for (std::int64_t replica = 1; replica < spots.replicas(); ++replica)
    grid.replicas.push_back(replica * spots.replica_step());
  fill(grid, [&](std::int64_t row, std::int64_t column) {
    if (rank > 1)
      element[rank - 2] = row;
    if (rank > 0)
      element[rank - 1] = column;
    grid.registers.push_back(spots.at(element));
    return spots.lane(element);
  });
  return grid;
}

} // namespace

FirstBlock first_block(const KernelAnalysis &kernel, const Program &program) {
  const std::vector<model::AccessCounts> &accesses = kernel.counters.accesses;
  FirstBlock block;
  block.threads = kernel.kernel.threads();
  block.shape = kernel.kernel.block();
  block.requests.resize(accesses.size());
  std::map<Buffer, std::int64_t> starts; // in bytes, in the memory of the block
  for (const kernel::Allocation &tile : kernel.kernel.shared)
    starts[tile.buffer] = tile.byte_offset;
  std::map<Buffer, Owners> owners;
  model::each_request(kernel.kernel, ones(kernel.kernel), 0, [&](const model::VisitedRequest &visited) {
    const model::AccessCounts &access = accesses[visited.access];
    auto &first = block.requests[visited.access];
    bool wanted = !first && visited.warp == 0;
    if (!wanted && !access.is_store())
      return true;
    model::WarpRequest request = visited.lanes();
    if (wanted)
      first = request;
    if (!access.is_store())
      return true;
    Owners &of = owners[access.buffer];
    std::int64_t size = byte_size(access.buffer->dtype);
    for (std::int64_t lane = 0; lane < lanes_per_warp; ++lane)
      if (request.mask >> lane & 1)
        for (std::int64_t byte = 0; byte < access.bytes; byte += size)
          of.try_emplace((request.address[static_cast<std::size_t>(lane)] - starts[access.buffer] + byte) /
                             size,
                         visited.warp * lanes_per_warp + lane);
    return true;
  });
  for (const Buffer &param : kernel.kernel.params)
    if (owners.contains(param))
      block.grids.push_back(parameter_grid(param, owners[param]));
  for (const kernel::Allocation &tile : kernel.kernel.shared)
    if (owners.contains(tile.buffer))
      block.grids.push_back(shared_grid(tile, owners[tile.buffer]));
  for (const Buffer &buffer : temporaries(program))
    if (is_fragment(*buffer) && std::ranges::any_of(kernel.kernel.local, [&](const kernel::Allocation &local) {
          return local.buffer->name == buffer->name;
        }))
      block.grids.push_back(fragment_grid(place(program, buffer)));
  return block;
}

llvm::json::Value packed(const std::vector<std::int64_t> &values, std::int64_t columns) {
  constexpr std::int64_t nobody = INT64_MIN; // is no difference
  std::map<std::vector<std::pair<std::int64_t, std::int64_t>>, std::int64_t> known;
  llvm::json::Array rows, shapes;
  auto width = static_cast<std::size_t>(columns);
  for (std::size_t begin = 0; begin < values.size(); begin += width) {
    std::int64_t first = -1;
    std::vector<std::pair<std::int64_t, std::int64_t>> runs; // difference to `first`, and count
    for (std::size_t n = begin; n < begin + width; ++n) {
      if (first < 0)
        first = values[n];
      std::int64_t value = values[n] < 0 ? nobody : values[n] - first;
      if (!runs.empty() && runs.back().first == value)
        ++runs.back().second;
      else
        runs.emplace_back(value, 1);
    }
    auto [shape, added] = known.try_emplace(runs, static_cast<std::int64_t>(known.size()));
    if (added) {
      llvm::json::Array flat;
      for (const auto &[value, count] : runs) {
        flat.push_back(value == nobody ? llvm::json::Value(nullptr) : llvm::json::Value(value));
        flat.push_back(count);
      }
      shapes.push_back(std::move(flat));
    }
    rows.push_back(shape->second);
    rows.push_back(first);
  }
  return llvm::json::Object{{"rows", std::move(rows)}, {"shapes", std::move(shapes)}};
}

std::map<std::int64_t, std::vector<Rectangle>> groups(const OwnerGrid &grid,
                                                      FunctionRef<std::int64_t(std::int64_t owner)> group_of) {
  std::map<std::int64_t, std::vector<Rectangle>> found;
  std::map<std::pair<std::int64_t, std::int64_t>, std::pair<std::int64_t, std::size_t>> above, current;
  for (std::int64_t row = 0; row < grid.rows; ++row, above = std::move(current), current.clear())
    for (std::int64_t column = 0; column < grid.columns;) {
      auto group = [&](std::int64_t at) {
        std::int64_t owner = grid.owner(row, at);
        return owner < 0 ? -1 : group_of(owner);
      };
      std::int64_t mine = group(column), end = column + 1;
      while (end < grid.columns && group(end) == mine)
        ++end;
      std::pair<std::int64_t, std::int64_t> run{column, end};
      column = end;
      if (mine < 0)
        continue;
      std::vector<Rectangle> &rectangles = found[mine];
      if (auto over = above.find(run); over != above.end() && over->second.first == mine) {
        ++rectangles[over->second.second].rows;
        current[run] = over->second;
      } else {
        current[run] = {mine, rectangles.size()};
        rectangles.push_back({row, run.first, 1, run.second - run.first});
      }
    }
  return found;
}

} // namespace nestsmith::cli::report
