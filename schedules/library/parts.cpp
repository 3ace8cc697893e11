#include "schedules/library/parts.h"

#include "dsl/hardware/vector_access.h"
#include "schedules/grids.h"
#include "schedules/library/accesses.h"

#include <algorithm>
#include <numeric>

namespace nestsmith::library {

Loop fuse_all(Schedule &s, const std::vector<Loop> &loops) {
  Loop all = loops.front();
  for (std::size_t n = 1; n < loops.size(); ++n)
    all = s.fuse(all, loops[n]);
  return all;
}

std::vector<Loop> concatenated(const std::vector<std::vector<Loop>> &lists) {
  std::vector<Loop> all;
  for (const std::vector<Loop> &list : lists)
    all.insert(all.end(), list.begin(), list.end());
  return all;
}

void by_vectors(Schedule &s, std::vector<Loop> loops, bool vectors) {
  std::erase_if(loops, [&](const Loop &loop) { return s.extent(loop) == 1; });
  if (vectors && !loops.empty()) {
    s.vectorize(loops.back());
    loops.pop_back();
  }
  for (const Loop &loop : loops)
    s.unroll(loop);
}

/// The arrays in global memory that the result reads element by element: the one that it updates, and those
/// that other kernels have stored.
static std::vector<std::string> read_by_elements(const Block &result) {
  std::vector<std::string> names;
  if (result.body.buffer->role != Role::temporary && reads(result, result.body.buffer))
    names.push_back(result.body.buffer->name);
  for (const Load *access : loads_of(result))
    if (access->buffer->role == Role::temporary && access->buffer->scope == Scope::global &&
        access->indices.size() == result.body.indices.size() &&
        std::ranges::find(names, access->buffer->name) == names.end())
      names.push_back(access->buffer->name);
  return names;
}

/// The same; none if no array can be read ahead.
static std::optional<std::vector<Loop>> with_reads_ahead(Schedule &s, BlockRef result, std::vector<Loop> loops,
                                                         bool vectors) {
  constexpr std::int64_t most =
      32; // elements: their loads hide most of the latency, and they take few registers
  const std::vector<std::string> names = read_by_elements(block_of(s, result));
  std::int64_t elements = 1;
  std::size_t inside = loops.size();
  while (inside > 0 && elements * s.extent(loops[inside - 1]) <= most)
    elements *= s.extent(loops[--inside]);
  if (inside > 0) {
    std::int64_t more = most / elements;
    while (s.extent(loops[inside - 1]) % more != 0)
      --more;
    if (more > 1) {
      auto [outer, inner] = s.split(loops[inside - 1], {infer, more});
      loops[inside - 1] = outer;
      loops.insert(loops.begin() + static_cast<std::ptrdiff_t>(inside), inner);
      elements *= more;
    }
  }
  if (elements == (vectors ? s.extent(loops.back()) : 1)) // one access
    return std::nullopt;
  const std::vector<Loop> all = s.loops(result);
  const auto first = std::ranges::find(all, loops.front().var, &Loop::var);
  const Loop at = inside > 0 ? loops[inside - 1] : *(first - 1); // of a thread
  bool any = false;
  for (const std::string &name : names) {
    Schedule trial = s;
    try {
      const BlockRef copy = trial.cache_read(result, name, Scope::local);
      trial.compute_at(copy, at);
      by_vectors(trial, trial.loops_below(copy, at), vectors);
      s = std::move(trial);
      any = true;
    } catch (const ScheduleError &) { // the order of its loads and the stores is not proved
    }
  }
  return any ? std::optional(loops) : std::nullopt;
}

std::vector<Loop> read_ahead(Schedule &s, BlockRef result, std::vector<Loop> loops, bool vectors) {
  if (loops.empty() || read_by_elements(block_of(s, result)).empty())
    return loops;
  Schedule copy = s;
  const std::optional<std::vector<Loop>> made = with_reads_ahead(copy, result, loops, vectors);
  if (!made)
    return loops;
  // The obligations of a nearly complete schedule take a good part of its time.
  if (const std::size_t owed = copy.obligations().size(); owed > 0 && owed > s.obligations().size())
    return loops;
  s = std::move(copy);
  return *made;
}

std::vector<Loop> split_last(Schedule &s, std::vector<Loop> loops, std::int64_t width) {
  if (width == 1 || loops.empty() || s.extent(loops.back()) <= width)
    return loops;
  auto [outer, inner] = s.split(loops.back(), {infer, width});
  loops.back() = outer;
  loops.push_back(inner);
  return loops;
}

static const Expr &extent_of(const Schedule &s, Loop loop) {
  return find_loop(s.program().body, loop.var)->extent;
}

std::optional<std::int64_t> known_extent(const Schedule &s, Loop loop) { return as_int(extent_of(s, loop)); }

RowsOfThreads share_rows(Schedule &s, Loop i, Loop j, const std::vector<Loop> &inside,
                         const RowShares &shares) {
  const auto &[threads, columns, neighbours, in_flight] = shares;
  std::int64_t groups = std::gcd(columns / neighbours, threads); // of neighbours, in a row
  const std::int64_t of_row = known_extent(s, j).value_or(columns);
  while (groups % 2 == 0 && groups / 2 * neighbours >= of_row) // a row of results may be shorter than a tile
    groups /= 2;
  const std::int64_t at_once = threads / groups, height = *known_extent(s, i);
  const std::int64_t rows = std::gcd((height + at_once - 1) / at_once, in_flight / neighbours);
  auto [i_step, row, i_thread] = s.split(i, {infer, rows, at_once});
  auto [j_step, j_thread, element] = s.split(j, {infer, groups, neighbours});
  s.reorder(concatenated({{i_step, j_step, i_thread, j_thread}, inside, {row, element}}));
  return {s.fuse(i_thread, j_thread), row, element};
}

std::vector<Loop> bind_grid(Schedule &s, std::optional<Loop> batch, Loop i_block, Loop j_block,
                            std::int64_t group, std::int64_t taken) {
  auto fits = [&](const Loop &loop, std::size_t axis) {
    auto extent = as_int(extent_of(s, loop)); // the launcher checks the others
    return !extent || *extent <= s.target().grid_extent[axis];
  };
  bool own_axis = batch && taken == 0 && fits(*batch, 2);
  bool plain = group == 1 && taken < 2 && fits(i_block, 1) && (!batch || own_axis);
  if (own_axis) {
    s.bind(*batch, Axis::block_z);
    batch = std::nullopt;
  }
  if (plain)
    return bind_tiles(s, i_block, j_block, 1);
  Loop tiles = fuse_tiles(s, i_block, j_block, group);
  if (batch)
    tiles = s.fuse(*batch, tiles);
  s.bind(tiles, Axis::block_x);
  return {tiles};
}

std::int64_t width_of_store(const Schedule &s, BlockRef result, std::int64_t width) {
  return width * byte_size(block_of(s, result).body.buffer->dtype) < 4 ? 1 : width;
}

std::optional<Waves> bind_waves(Schedule &s, std::optional<Loop> batch, Loop i_block, Loop j_block,
                                std::int64_t group, std::int64_t blocks, bool may_be_partial) {
  std::int64_t tiles = 1;
  for (const std::optional<Loop> &loop : {batch, std::optional(i_block), std::optional(j_block)}) {
    auto extent = loop ? as_int(extent_of(s, *loop)) : std::int64_t{1};
    if (!extent || __builtin_mul_overflow(tiles, *extent, &tiles))
      return std::nullopt;
  }
  const bool partial = tiles % blocks != 0;
  if (tiles <= blocks || (partial && !may_be_partial))
    return std::nullopt;
  Loop tile = fuse_tiles(s, i_block, j_block, group);
  if (batch)
    tile = s.fuse(*batch, tile);
  auto [wave, block] = s.split<2>(tile, {infer, blocks});
  s.bind(block, Axis::block_x);
  return Waves{wave, block, partial};
}

std::vector<Loop> store_result(Schedule &s, BlockRef result, Loop thread, std::int64_t width) {
  width = width_of_store(s, result, width);
  const std::vector<Loop> loops =
      read_ahead(s, result, split_last(s, s.loops_below(result, thread), width), width > 1);
  by_vectors(s, loops, width > 1);
  return loops;
}

std::int64_t whole_group(const Schedule &s, Loop rows, std::int64_t tile, std::int64_t most) {
  const std::optional<std::int64_t> extent = known_extent(s, rows);
  if (!extent)
    return 1;
  std::int64_t tiles = (*extent + tile - 1) / tile, group = std::min(tiles, most);
  while (tiles % group != 0)
    --group;
  return group;
}

Edges edges_of(const Schedule &s, Loop i_block, Loop j_block, std::int64_t group, bool whole_rows,
               bool whole_columns) {
  const std::optional<std::int64_t> rows = known_extent(s, i_block), columns = known_extent(s, j_block);
  const bool few =
      !rows || !columns ||
      2 * (*rows - (whole_rows ? 0 : 1)) * (*columns - (whole_columns ? 0 : 1)) >= *rows * *columns;
  return {!whole_rows, !whole_columns, !whole_rows && (group > 1 || rows != 1), !whole_columns && columns != 1,
          few};
}

void partition_edges(Schedule &s, const std::vector<Loop> &grid, const Edges &edges) {
  bool one_loop = grid.size() == 1;
  if (one_loop ? edges.other_rows || edges.other_columns : edges.rows)
    s.partition(grid.front());
  if (!one_loop && edges.columns)
    s.partition(grid.back());
}

bool is_multiple(const Schedule &s, Loop loop, std::int64_t n) {
  return nestsmith::is_multiple(extent_of(s, loop), n, {});
}

} // namespace nestsmith::library
