/// Results that reach global memory in boxes: through a tile in shared memory, which one lane of a warp stores.

#include "dsl/hardware/bulk_copy.h"
#include "tests/fuzz/author_steps.h"

#include <algorithm>
#include <fmt/format.h>

namespace nestsmith::fuzz {

bool has_map(const BufferNode &array) {
  const auto row = array.shape.size() >= 2 ? as_int(strides_of(array)[array.shape.size() - 2]) : std::nullopt;
  return row && *row * byte_size(array.dtype) % bulk_alignment == 0;
}

std::string Author::tile_of_results(const std::string &out, std::size_t percent) {
  if (!s_.target().arch.has(Feature::tma) || !stores_.chance(has_map(*block(out).body.buffer) ? percent : 3) ||
      !go("cache_write", {BlockName{out}, Word{"shared"}}))
    return "";
  return results().front();
}

std::string Author::store_in_boxes(const std::string &store, const std::string &out, const std::string &warp) {
  if (store.empty() || !go("reverse_compute_at", {BlockName{store}, LoopName{warp}}))
    return warp;
  const Names own = loops_inside(store, warp);
  if (own.size() < 2)
    return warp;
  const BufferNode &array = *block(store).body.buffer;
  const std::int64_t bytes = byte_size(array.dtype), columns = as_int(array.shape.back()).value_or(0),
                     width = as_int(loops(store).back()->extent).value_or(0);
  std::vector<std::int64_t> fitting = {16, 32, 64, 128}; // bytes in a row of a box
  const bool any = stores_.chance(3);                    // wrong on purpose
  const bool divides = stores_.chance(85);               // also the extent of the array
  const bool lanes = stores_.chance(92);                 // hold 8 columns of a fragment
  std::erase_if(fitting, [&](std::int64_t row) {
    return !any &&
           (width * bytes % row != 0 || (divides && columns * bytes % row != 0) || (lanes && row < 8 * bytes));
  });
  std::string around = warp, column = own.back(), row = own[own.size() - 2];
  std::int64_t box = width;
  std::vector<LoopName> order;
  if (!fitting.empty() && (width * bytes > 1024 || stores_.chance(85))) {
    box = stores_.pick(fitting) / bytes;
    if (Names parts = split(column, {infer, box}); !parts.empty()) {
      order.push_back({parts[0]});
      column = parts[1];
    }
  }
  const bool wide = !order.empty();
  if (stores_.chance(15)) // boxes of a few rows
    if (Names parts = split(row, {infer, stores_.pick({8, 8, 4, 1})}); !parts.empty()) {
      order.push_back({parts[0]});
      row = parts[1];
    }
  if (!order.empty()) {
    order.insert(order.end(), {LoopName{row}, LoopName{column}});
    if (!go("reorder", {order}))
      return warp;
  }
  // The tile has one box at a time, or all boxes of the warp one after the other.
  if (wide && stores_.chance(columns % width == 0 ? 55 : 85)) {
    if (go("compute_at", {BlockName{out}, order.front()}))
      around = order.front().name;
  } else if (wide && stores_.chance(95)) {
    const char *batch = block(out).body.buffer->shape.size() > 2 ? "b, " : "";
    const std::string text = fmt::format("{0}i, j -> {0}j//{1}, i, j%{1}", batch, box);
    go("transform_layout", {BlockName{out}, Word{to_string(IndexMap(text))}});
  }
  std::int64_t bits = 0, base = 0;
  while (box * bytes > bulk_alignment << bits)
    ++bits;
  while (bytes << base < bulk_alignment)
    ++base;
  if (bits > 0 && bits <= 3 && stores_.chance(75))
    go("swizzle", {BlockName{out}, stores_.chance(97) ? bits : 4 - bits, base, std::int64_t{3}});
  go("bulk_copy", {BlockName{store}});
  return around;
}

} // namespace nestsmith::fuzz
