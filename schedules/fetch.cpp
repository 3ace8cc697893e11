#include "schedules/fetch.h"

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

void fetch_tile(Schedule &s, BlockRef tile, Loop at, std::int64_t threads) {
  s.compute_at(tile, at);
  auto loops = s.loops(tile);
  Loop element = fuse_tile(s, loops[loops.size() - 2], loops.back());
  if (s.extent(element) == threads) {
    s.bind(element, Axis::thread_x);
    return;
  }
  auto [round, thread] = s.split(element, {infer, threads});
  s.bind(thread, Axis::thread_x);
  s.unroll(round);
}

Loop fetch_by_four(Schedule &s, BlockRef tile, Loop at, std::int64_t threads) {
  s.compute_at(tile, at);
  auto loops = s.loops(tile);
  auto [group, lane] = s.split(loops.back(), {infer, 4});
  Loop element = fuse_tile(s, loops[loops.size() - 2], group);
  auto [round, thread] = s.split(element, {infer, threads});
  s.bind(thread, Axis::thread_x);
  s.unroll(round);
  return lane;
}

/// Each row of a tile of A gets one k. The stride of these rows distributes the stores of a warp over the
/// banks.
static void transpose(Schedule &s, BlockRef tile) {
  s.transform_layout(tile, "i, k -> k, i");
  s.storage_align(tile, 0, 32, 4);
}

void fetch_through_registers(Schedule &s, BlockRef tile, const std::string &operand, Loop at,
                             std::int64_t threads, bool vectors) {
  bool transposed = operand == "A";
  auto registers = s.cache_read(tile, operand, Scope::local);
  if (vectors) {
    Loop into = fetch_by_four(s, tile, at, threads), from = fetch_by_four(s, registers, at, threads);
    s.vectorize(from);
    transposed ? s.unroll(into) : s.vectorize(into);
  } else {
    fetch_tile(s, tile, at, threads);
    fetch_tile(s, registers, at, threads);
  }
  if (transposed)
    transpose(s, tile);
}

bool fetch_async(Schedule &s, BlockRef tile, const std::string &operand, Loop at, std::int64_t threads,
                 DType dtype, bool vectors) {
  bool narrow = byte_size(dtype) < 4, transposed = operand == "A" && !narrow;
  bool by_four = vectors && !transposed;
  if (by_four)
    s.vectorize(fetch_by_four(s, tile, at, threads));
  else
    fetch_tile(s, tile, at, threads);
  if (transposed)
    transpose(s, tile);
  bool possible = by_four || !narrow;
  if (possible)
    s.async_copy(tile);
  return possible;
}

} // namespace nestsmith
