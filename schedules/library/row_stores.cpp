#include "schedules/library/row_stores.h"

#include "schedules/library/accesses.h"
#include "schedules/library/fragments.h"
#include "schedules/library/parts.h"

#include "dsl/ir/intrinsic.h"

#include <fmt/format.h>

namespace nestsmith::library {

void write_rows(Schedule &s, BlockRef result, BlockRef staged, Loop warp, std::int64_t width) {
  auto out = s.loops_below(result, warp);
  const Loop &row = out[out.size() - 2];
  auto [part, column] = s.split(out.back(), {infer, staged_columns});
  s.reorder({part, row, column});
  s.compute_at(staged, part);
  auto moved = s.loops_below(staged, part);
  by_vectors(s, to_lanes(s, moved[moved.size() - 2], moved.back(), 2), true);
  auto [group, element] = s.split(column, {infer, width});
  auto [step, lane] = s.split(s.fuse(row, group), {infer, 32});
  s.bind(lane, Axis::lane);
  // 4 rows of 8 bytes fill all banks.
  s.swizzle(staged, 2, 3, 2);
  by_vectors(s, read_ahead(s, result, {step, element}, width > 1), width > 1);
  by_vectors(s, {part}, false);
}

void store_rows_in_bulk(Schedule &s, BlockRef result, BlockRef copy, Loop warp) {
  const BufferNode &array = *block_of(s, copy).body.buffer;
  const DType dtype = array.dtype;
  const std::int64_t columns = 128 / byte_size(dtype);
  auto out = s.loops_below(copy, warp);
  const Loop &row = out[out.size() - 2];
  auto [part, column] = s.split(out.back(), {infer, columns});
  s.reorder({part, row, column});
  s.compute_at(result, part);
  auto computed = s.loops_below(result, part);
  const std::vector<Loop> of_thread = to_lanes(s, computed[computed.size() - 2], computed.back(), 2);
  by_vectors(s, read_ahead(s, result, of_thread, true), true);
  // The rows of warps side by side are those of boxes one after the other.
  std::string outer; // dimensions
  for (std::size_t d = 2; d < array.shape.size(); ++d)
    outer += fmt::format("b{}, ", d);
  s.transform_layout(result, fmt::format("{0}i, j -> {0}j//{1}, i, j%{1}", outer, columns));
  Swizzle swizzle = swizzle_of_tiles(dtype);
  s.swizzle(result, swizzle.bits, swizzle.base, swizzle.shift);
  s.bulk_copy(copy);
  by_vectors(s, {part}, false);
}

} // namespace nestsmith::library
