#include "schedules/rows/stages.h"
#include "schedules/transposes/transposes.h"
#include "schedules/variant.h"

#include <algorithm>
#include <bit>

namespace nestsmith::transposes {

namespace {

constexpr std::int64_t most_threads = 256;
constexpr std::int64_t row_bytes = 128; ///< one word in each bank

/// A tile of `side` x `side` elements. A thread accesses `width` neighbouring elements of a row at once.
struct Tile {
  std::int64_t side = 32, width = 1;
  std::int64_t threads() const { return std::min(most_threads, side * side / width); }
};

/// The threads of a block share the loops of the block over a tile. Returns the loop over the elements of a
/// thread.
Loop share_out(Schedule &s, BlockRef block, Tile size) {
  std::vector<Loop> loops = s.loops(block);
  const Loop &row = loops[loops.size() - 2];
  Loop column = loops.back(), element = column;
  if (size.width > 1) {
    auto [group, lane] = s.split(column, {infer, size.width});
    column = group, element = lane;
  }
  auto [step, thread] = s.split<2>(s.fuse(row, column), {infer, size.threads()});
  s.bind(thread, Axis::thread_x);
  s.unroll(step);
  return element;
}

/// Returns the loop over the columns of tiles.
Loop bind_tiles(Schedule &s, BlockRef Y, Tile size) {
  auto [j, i] = s.loops<2>(Y);
  auto [row_block, column_block, row, column] = s.tile(j, i, {size.side, size.side});
  s.bind(row_block, Axis::block_x);
  s.bind(column_block, Axis::block_y);
  return column_block;
}

/// Returns the block that fills the tile of X in shared memory.
BlockRef fetch(Schedule &s, const Buffer &X, BlockRef Y, Tile size) {
  Loop tiles = bind_tiles(s, Y, size);
  BlockRef tile = s.cache_read(Y, X->name, Scope::shared);
  s.compute_at(tile, tiles);
  return tile;
}

/// Returns the block that fills the tile.
BlockRef transpose_tiles(Schedule &s) {
  BlockRef Y = rows::stages_of(s).front().block;
  BlockRef tile = fetch(s, rows::input_of(s.program()), Y, {});
  share_out(s, tile, {});
  share_out(s, Y, {});
  return tile;
}

std::int64_t log2(std::int64_t power) { return std::countr_zero(static_cast<std::uint64_t>(power)); }

/// Permutes groups of `width` elements of each row by the number of the row, divided by `width`. So the
/// elements of a column that a warp reads are in different banks.
void permute(Schedule &s, BlockRef tile, Tile size) {
  s.swizzle(tile, log2(size.side / size.width), log2(size.width), log2(size.side));
}

/// As many elements as 16 bytes hold, and as rows of both X and Y are a multiple of.
std::int64_t width_of(const Shape &shape, DType dtype) {
  return std::min(rows::vector_width(shape, dtype, 0), rows::vector_width(shape, dtype, 1));
}

} // namespace

Schedule by_element(const Program &program, const Target &target) {
  Schedule s(program, target);
  BlockRef Y = rows::stages_of(s).front().block;
  bind_tiles(s, Y, {});
  share_out(s, Y, {});
  return s;
}

Schedule in_tiles(const Program &program, const Target &target) {
  Schedule s(program, target);
  transpose_tiles(s);
  return s;
}

Schedule in_padded_tiles(const Program &program, const Target &target) {
  Schedule s(program, target);
  BlockRef tile = transpose_tiles(s);
  const Buffer words = find_block(s.program().body, tile.id)->body.buffer;
  s.storage_align(tile, 0, Tile().side, std::max(1, 4 / byte_size(words->dtype)));
  return s;
}

Schedule in_swizzled_tiles(const Program &program, const Target &target) {
  Schedule s(program, target);
  permute(s, transpose_tiles(s), {});
  return s;
}

Schedule in_vectors(const Program &program, const Shape &shape, const Target &target) {
  Schedule s(program, target);
  const Buffer X = rows::input_of(program);
  BlockRef Y = rows::stages_of(s).front().block;
  DType result = find_block(s.program().body, Y.id)->body.buffer->dtype;
  DType wider = byte_size(result) > byte_size(X->dtype) ? result : X->dtype;
  Tile size = {.side = row_bytes / byte_size(wider), .width = width_of(shape, wider)};
  if (size.width == 1)
    return in_swizzled_tiles(program, target);
  BlockRef tile = fetch(s, X, Y, size);
  s.vectorize(share_out(s, tile, size));
  s.vectorize(share_out(s, Y, size));
  permute(s, tile, size);
  return s;
}

std::optional<Variant> vector_variant(const Shape &shape, DType dtype) {
  if (width_of(shape, dtype) > 1)
    return std::nullopt;
  return scalar_unless_multiples(shape, {{"M", 0}, {"N", 1}}, std::max<std::int64_t>(2, 4 / byte_size(dtype)));
}

} // namespace nestsmith::transposes
