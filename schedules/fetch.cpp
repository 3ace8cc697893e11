#include "schedules/fetch.h"

#include "dsl/hardware/bulk_copy.h"
#include <array>
#include <bit>

namespace nestsmith {

/// Fuses the loops over rows and columns. If the number of columns is an odd multiple of a power of two, the
/// odd factor becomes a loop around them, so that each thread copies the same columns of several rows.
static Loop fuse_tile(Schedule &s, Loop row, Loop column) {
  std::int64_t odd = s.extent(column) >> std::countr_zero(static_cast<std::uint64_t>(s.extent(column)));
  if (odd > 1) {
    auto [part, rest] = s.split(column, {odd, infer});
    s.reorder({part, row});
    s.unroll(part);
    column = rest;
  }
  return s.fuse(row, column);
}

BlockRef fetch_tile(Schedule &s, BlockRef reader, const std::string &operand, Loop at, std::int64_t threads) {
  BlockRef tile = s.cache_read(reader, operand, Scope::shared);
  fetch_tile(s, tile, at, threads);
  return tile;
}

/// The last two loops of a tile, in the order in which consecutive threads take elements.
static std::array<Loop, 2> loops_of_tile(Schedule &s, BlockRef tile, Loop at, bool across) {
  s.compute_at(tile, at);
  auto loops = s.loops(tile);
  Loop row = loops[loops.size() - 2], column = loops.back();
  if (!across)
    return {row, column};
  s.reorder({column, row});
  return {column, row};
}

/// Binds the elements of a tile to the threads, which copy several in rounds. The rounds are in at most this
/// number of groups of the same size; 0: each is a group. Returns the loop over the threads.
static Loop share_among_threads(Schedule &s, Loop element, std::int64_t threads, std::int64_t groups) {
  const std::int64_t rounds = s.extent(element) / threads;
  std::int64_t together = 1;
  while (groups > 0 && (rounds % together != 0 || rounds / together > groups))
    ++together;
  Loop own = element;
  if (together > 1) {
    auto [group, rest] = s.split(element, {infer, together * threads});
    s.unroll(group);
    own = rest;
  }
  auto [round, thread] = s.split(own, {infer, threads});
  s.bind(thread, Axis::thread_x);
  s.unroll(round);
  return thread;
}

Loop fetch_tile(Schedule &s, BlockRef tile, Loop at, std::int64_t threads, bool across, std::int64_t groups) {
  auto [row, column] = loops_of_tile(s, tile, at, across);
  Loop element = fuse_tile(s, row, column);
  if (s.extent(element) != threads)
    return share_among_threads(s, element, threads, groups);
  s.bind(element, Axis::thread_x);
  return element;
}

Loop fetch_by_vectors(Schedule &s, BlockRef tile, Loop at, std::int64_t threads, bool across,
                      std::int64_t width, std::int64_t groups) {
  auto [row, column] = loops_of_tile(s, tile, at, across);
  auto [vector, lane] = s.split(column, {infer, width});
  share_among_threads(s, fuse_tile(s, row, vector), threads, groups);
  return lane;
}

/// The block that fills the tile.
static const Block &filler(const Schedule &s, BlockRef tile) { return *find_block(s.program().body, tile.id); }

/// Each row of the tile gets one k. If threads store neighbouring k, the stride of these rows distributes the
/// stores of a warp over the banks.
static void store_by_k(Schedule &s, BlockRef tile, bool scattered) {
  bool batch = filler(s, tile).body.indices.size() == 3;
  s.transform_layout(tile, batch ? "b, i, k -> b, k, i" : "i, k -> k, i");
  if (scattered)
    s.storage_align(tile, batch ? 1 : 0, 32, 4);
}

void fetch_through_registers(Schedule &s, BlockRef tile, BlockRef registers, Loop at, std::int64_t threads,
                             const TileFetch &fetch) {
  if (fetch.width > 1) {
    Loop into = fetch_by_vectors(s, tile, at, threads, fetch.across, fetch.width),
         from = fetch_by_vectors(s, registers, at, threads, fetch.across, fetch.width);
    s.vectorize(from);
    fetch.by_k != fetch.across ? s.unroll(into) : s.vectorize(into);
  } else {
    fetch_tile(s, tile, at, threads, fetch.across);
    fetch_tile(s, registers, at, threads, fetch.across);
  }
  if (fetch.by_k)
    store_by_k(s, tile, !fetch.across);
}

BlockRef fetch_through_registers(Schedule &s, BlockRef tile, const std::string &operand, Loop at,
                                 std::int64_t threads, bool vectors) {
  BlockRef registers = s.cache_read(tile, operand, Scope::local);
  fetch_through_registers(s, tile, registers, at, threads, {.by_k = operand == "A", .width = vectors ? 4 : 1});
  return registers;
}

bool fetch_async(Schedule &s, BlockRef tile, Loop at, std::int64_t threads, const TileFetch &fetch) {
  std::int64_t bytes = byte_size(filler(s, tile).body.buffer->dtype);
  bool by_k = fetch.by_k && bytes >= 4, vectors = fetch.width > 1 && by_k == fetch.across,
       possible = bytes * (vectors ? fetch.width : 1) >= 4, first = possible && vectors && fetch.partial;
  if (first) // only the vectors of asynchronous copies may be partial
    s.async_copy(tile);
  if (vectors)
    s.vectorize(fetch_by_vectors(s, tile, at, threads, fetch.across, fetch.width, fetch.groups));
  else
    fetch_tile(s, tile, at, threads, fetch.across, fetch.groups);
  if (by_k)
    store_by_k(s, tile, !fetch.across);
  if (possible && !first)
    s.async_copy(tile);
  return possible;
}

bool may_copy_in_bulk(DType dtype, std::int64_t width, std::int64_t rows) {
  return width * byte_size(dtype) >= bulk_alignment && rows <= most_box_extent;
}

void fetch_in_bulk(Schedule &s, BlockRef tile, Loop at) {
  s.compute_at(tile, at);
  s.bulk_copy(tile);
}

bool fetch_async(Schedule &s, BlockRef tile, const std::string &operand, Loop at, std::int64_t threads,
                 bool vectors) {
  return fetch_async(s, tile, at, threads, {.by_k = operand == "A", .width = vectors ? 4 : 1});
}

} // namespace nestsmith
