#include "schedules/library/split_sum.h"

#include "dsl/expr/error.h"
#include "dsl/ir/skip_tiles.h"
#include "schedules/grids.h"
#include "schedules/library/accesses.h"
#include "schedules/library/parts.h"

#include <array>
#include <fmt/format.h>
#include <functional>
#include <map>
#include <numeric>

namespace nestsmith::library {

void check_parts(BlockRef sum, const PartsOfSum &parts) {
  constexpr std::int64_t most = 65535; // of blockIdx.z
  auto refuse = [&](const std::string &why) {
    throw UserError(ExitCode::illegal_schedule,
                    fmt::format("library::product: block {}: {}", Schedule::name(sum), why));
  };
  if (parts.number < 1 || parts.number > most)
    refuse(fmt::format("got split_k = {}, expected 1 to {} parts of a sum", parts.number, most));
  if (parts.groups < 1 || parts.number % parts.groups != 0)
    refuse(fmt::format("got groups_of_parts = {} and split_k = {}, expected a divisor of split_k", parts.groups,
                       parts.number));
  if (parts.tiles > 0 && (parts.number < 2 || parts.number > most_shortened || parts.groups > 1))
    refuse(
        fmt::format("got tiles_of_part = {} with split_k = {} and groups_of_parts = {}, expected 2 to {} parts "
                    "in one group; leave tiles_of_part out",
                    parts.tiles, parts.number, parts.groups, most_shortened));
  if (!parts.size.empty() && parts.number > 1)
    refuse(fmt::format(
        "got split_k = {} and part = {}, but the launch chooses the number of parts by the size {}; "
        "leave one of them out",
        parts.number, parts.size, parts.size));
}

/// Parts of `parts.tiles` tiles, of which the last one has the rest. Each has a tile, and together they have
/// all.
static LoopsOfSum split_in_tiles(Schedule &s, Loop k, const PartsOfSum &parts,
                                 const std::vector<std::int64_t> &tile) {
  const auto terms = known_extent(s, k);
  if (!terms)
    throw UserError(
        ExitCode::illegal_schedule,
        fmt::format("library::product: got tiles_of_part = {}, but the number of iterations of {} is "
                    "known at launch only; leave tiles_of_part out",
                    parts.tiles, Schedule::name(k)));
  const std::int64_t of_tile = std::accumulate(tile.begin(), tile.end(), std::int64_t{1}, std::multiplies<>()),
                     tiles = (*terms + of_tile - 1) / of_tile;
  const std::int64_t least = (tiles + parts.number - 1) / parts.number, most = (tiles - 1) / (parts.number - 1);
  if (parts.tiles < least || parts.tiles > most)
    throw UserError(
        ExitCode::illegal_schedule,
        fmt::format("library::product: got tiles_of_part = {} and split_k = {}, but {} has {} tiles, "
                    "expected {}, so that the last part has the rest",
                    parts.tiles, parts.number, Schedule::name(k), tiles,
                    least > most ? "fewer parts" : fmt::format("{} to {} tiles of a part", least, most)));
  std::vector<std::int64_t> depths = {parts.number, parts.tiles};
  depths.insert(depths.end(), tile.begin(), tile.end());
  LoopsOfSum loops;
  loops.inside = s.split(k, depths);
  loops.part = loops.inside.front();
  loops.inside.erase(loops.inside.begin());
  loops.shorter = tiles < parts.tiles * parts.number;
  return loops;
}

LoopsOfSum split_sum(Schedule &s, Loop k, const PartsOfSum &parts, const std::vector<std::int64_t> &tile) {
  if (parts.tiles > 0)
    return split_in_tiles(s, k, parts, tile);
  LoopsOfSum loops;
  std::vector<std::int64_t> depths = {infer};
  depths.insert(depths.end(), tile.begin(), tile.end());
  if (!parts.size.empty()) {
    const std::vector<Loop> by_size = s.split_by(k, parts.size);
    loops.part = by_size[0];
    loops.inside = s.split(by_size[1], depths);
    return loops;
  }
  std::vector<std::int64_t> of_parts;
  if (parts.groups > 1)
    of_parts.push_back(parts.groups);
  if (parts.number > 1)
    of_parts.push_back(parts.number / parts.groups);
  const std::size_t turns = known_extent(s, k) ? 0 : 1;
  depths.insert(depths.begin() + static_cast<std::ptrdiff_t>(turns), of_parts.begin(), of_parts.end());
  loops.inside = s.split(k, depths);
  if (parts.groups > 1)
    loops.group = loops.inside[turns];
  if (parts.number > 1)
    loops.part = loops.inside[turns + of_parts.size() - 1];
  const auto first = loops.inside.begin() + static_cast<std::ptrdiff_t>(turns);
  loops.inside.erase(first, first + static_cast<std::ptrdiff_t>(of_parts.size()));
  return loops;
}

std::int64_t width_of_rows(const Schedule &s, BlockRef block) {
  return width_of(block_of(s, block), block_of(s, block).iters.back().var);
}

/// A thread adds at most this number of elements of a part at a time, so that their loads do not wait for each
/// other.
constexpr std::int64_t elements_in_flight = 32;

static void place_results(Schedule &s, const Contraction &c, Loop at) {
  for (const BlockRef &result : c.results)
    s.reverse_compute_at(result, at);
}

constexpr std::int64_t few_loads = 16, many_loads = 64;

/// Whether each thread block of the kernel of this loop has a multiprocessor for itself.
static bool has_few_blocks(const Schedule &s, Loop part) {
  std::map<Axis, std::int64_t> extents; // loops of one axis have one extent
  bool known = true;
  const Path path = path_to(s.program().body, part.var);
  walk(*std::ranges::find_if(path, as<For>), [&](const Stmt &stmt) {
    const auto *loop = as<For>(stmt);
    if (loop && loop->axis() && is_block(*loop->axis())) {
      const std::optional<std::int64_t> extent = as_int(loop->extent);
      known = known && extent.has_value();
      extents[*loop->axis()] = extent.value_or(1);
    }
    return true;
  });
  std::int64_t blocks = 1;
  for (const auto &[axis, extent] : extents)
    known = known && !__builtin_mul_overflow(blocks, extent, &blocks);
  return known && blocks <= multiprocessors(s.target());
}

/// Binds the loop over the elements of the sum, in which the sum has the loops `k` and `element`. A thread has
/// 4 * `loads` elements of each part. All parts are in flight if these are at most 4 * `most` elements;
/// otherwise as many parts as have 4 * `few_loads` elements, or one.
static void add_in_thread(Schedule &s, const Contraction &c, Loop thread, Loop k, Loop element,
                          std::int64_t width, std::int64_t stored, std::int64_t loads, std::int64_t most) {
  s.bind(thread, Axis::thread_x);
  const std::int64_t at_once = few_loads / loads;
  auto parts = as_int(find_loop(s.program().body, k.var)->extent);
  if (parts && *parts * loads <= most)
    s.unroll(k);
  else if (at_once > 1)
    s.unroll_by(k, at_once);
  by_vectors(s, split_last(s, {element}, width), width > 1);
  for (const BlockRef &result : c.results)
    store_result(s, result, thread, stored);
}

/// `part` is bound to a block axis. A thread has as many neighbours of a row as one access takes, so that
/// consecutive threads access neighbours, and more rows if these are few. With many loads in flight, a thread
/// takes so many registers that fewer blocks are resident, and it fetches code that it executes once. That only
/// pays in a block that has a multiprocessor for itself.
static Loop add_in_last_block(Schedule &s, const Contraction &c, Loop tile, Loop part, std::int64_t threads,
                              std::int64_t columns, std::int64_t width, std::int64_t stored) {
  // Where the distance of rows is a size, each row takes a product of 64 bits, so that 16 parts of single
  // elements take up to 1.6 of the time (one H200). Four neighbours share the address.
  const std::int64_t together = as_int(block_of(s, c.sum).body.buffer->shape.back()) ? 1 : 4,
                     neighbours = std::max({width, stored, std::min(together, columns)});
  const bool few = has_few_blocks(s, part);
  s.reverse_compute_at(c.sum, tile);
  s.last_block(part);
  std::vector<Loop> below = s.loops_below(c.sum, tile);
  Loop k = below.back(), j = below[below.size() - 2], i = below[below.size() - 3];
  const RowsOfThreads rows = share_rows(s, i, j, {k}, {threads, columns, neighbours, elements_in_flight});
  place_results(s, c, rows.thread);
  s.unroll(rows.row);
  const std::int64_t loads = std::max<std::int64_t>(1, s.extent(rows.row) * neighbours / 4);
  add_in_thread(s, c, rows.thread, k, rows.element, width, stored, loads, few ? many_loads : few_loads);
  return rows.thread;
}

Loop add_parts(Schedule &s, const Contraction &c, Loop tile, Loop part, std::int64_t threads,
               std::int64_t columns, std::int64_t width, std::int64_t stored) {
  if (!find_loop(s.program().body, part.var)->axis()) // groups of parts have an axis already
    s.bind(part, Axis::block_z);
  return add_in_last_block(s, c, tile, part, threads, columns, width, stored);
}

Loop add_groups(Schedule &s, const Contraction &c, Loop group, Loop part, std::int64_t threads,
                std::int64_t columns, std::int64_t width) {
  s.bind(group, Axis::block_y);
  s.bind(part, Axis::block_z);
  return add_in_last_block(s, c, group, part, threads, columns, width, width);
}

/// Shares the iterations of the loops among the threads of blocks: those of all loops or, if threads past the
/// end would have no guard, as for several axes with sizes, those of the last one.
static std::array<Loop, 2> share(Schedule &s, std::vector<Loop> loops, std::int64_t threads) {
  Schedule trial = s;
  try {
    const auto [block, thread] = trial.split<2>(fuse_all(trial, loops), {infer, threads});
    s = std::move(trial);
    return {block, thread};
  } catch (const ScheduleError &) {
    const auto [outer, thread] = s.split<2>(loops.back(), {infer, threads});
    loops.back() = outer;
    return {fuse_all(s, loops), thread};
  }
}

std::array<Loop, 2> add_parts_apart(Schedule &s, const Contraction &c, Loop part, std::int64_t width,
                                    std::int64_t stored) {
  constexpr std::int64_t threads = 64;
  s.bind(part, Axis::block_z);
  std::vector<Loop> rows = s.loops(c.sum);
  Loop k = rows.back(), j = rows[rows.size() - 2];
  auto [group, element] = s.split(j, {infer, width}); // exactly, so that the loops can be fused
  s.reorder({group, k, element});
  place_results(s, c, group);
  rows.pop_back();
  rows.back() = group;
  const auto [block, thread] = share(s, rows, threads);
  s.bind(block, Axis::block_x);
  add_in_thread(s, c, thread, k, element, width, stored, 1, many_loads);
  return {block, thread};
}

} // namespace nestsmith::library
