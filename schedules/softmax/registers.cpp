#include "schedules/softmax/across.h"
#include "schedules/softmax/rungs.h"
#include "schedules/workloads.h"

#include <algorithm>
#include <fmt/format.h>

namespace nestsmith::softmax_rows {

namespace {

constexpr std::int64_t warp_size = 32, most_warps = 32;
constexpr std::int64_t most_elements = 32;  ///< of a thread, so that 1024 threads have enough registers
constexpr std::int64_t enough_warps = 1024; ///< for the bandwidth of a large GPU

/// How the threads of a block keep rows in registers.
struct InRegisters {
  std::int64_t warps; ///< of a row
  std::int64_t rows;  ///< of a block; 1 unless a row has one warp
  std::int64_t width; ///< neighbouring elements that a thread loads and stores at once
};

/// Each thread has the elements `thread`*width + e of each step of the row. Returns the loop over e.
Loop share_out(Schedule &s, BlockRef block, InRegisters way) {
  auto [step, warp, lane, element] =
      s.split<4>(s.loops(block).back(), {infer, way.warps, warp_size, way.width});
  if (way.warps > 1)
    s.bind(warp, Axis::warp);
  s.bind(lane, Axis::lane);
  s.unroll(step);
  return element;
}

/// The threads of a row combine their elements. Each of them gets the result.
void combine(Schedule &s, BlockRef result, InRegisters way) {
  s.set_scope(result, Scope::local);
  auto [step, thread, element] = s.split<3>(s.loops(result).back(), {infer, way.warps * warp_size, way.width});
  s.unroll(step);
  s.unroll(element);
  s.reduce_across(thread, way.warps > 1 ? Axis::thread_x : Axis::lane);
}

Schedule in_registers(const Shape &shape, DType dtype, const Target &target, InRegisters way) {
  Schedule s(softmax(shape, dtype), target);
  BlockRef largest = s.block("largest"), power = s.block("power"), total = s.block("total"), Y = s.block("Y");
  BlockRef X = s.cache_read(largest, "X", Scope::local);
  s.share_cache(power, X);
  s.set_scope(power, Scope::local);
  auto [block, row] = s.split<2>(s.loops(X)[0], {infer, way.rows});
  s.bind(block, Axis::block_x);
  if (way.warps == 1)
    s.bind(row, Axis::warp);
  Loop loaded = share_out(s, X, way);
  s.reverse_compute_at(largest, row);
  combine(s, largest, way);
  s.reverse_compute_at(power, row);
  s.unroll(share_out(s, power, way));
  s.reverse_compute_at(total, row);
  combine(s, total, way);
  s.reverse_compute_at(Y, row);
  for (Loop elements : {loaded, share_out(s, Y, way)})
    if (way.width > 1)
      s.vectorize(elements);
  return s;
}

} // namespace

/// Rows that are too long for registers are read as in `vectors`.
std::optional<Variant> registers_variant(const Shape &shape, DType) {
  if (shape.stated)
    return Variant{"reread", "the length of a row is not a constant"};
  if (shape[1] > most_elements * most_warps * warp_size)
    return Variant{"reread", fmt::format("N > {}", most_elements * most_warps * warp_size)};
  return std::nullopt;
}

/// Each thread keeps its elements of the row in registers, so a row is read once, and exp is computed once for
/// each element. A short row has one warp, and a longer one as many as hold it.
Schedule registers(const Shape &shape, DType dtype, const Target &target, Knobs &knobs) {
  if (registers_variant(shape, dtype))
    return vectors(shape, dtype, target, knobs);
  std::int64_t width = vector_width(shape, dtype);
  while (width * byte_size(dtype) > 4 && width * warp_size > shape[1]) // a short row would leave lanes idle
    width /= 2;
  std::vector<std::int64_t> candidates;
  for (std::int64_t warps = most_warps; warps * warp_size * most_elements >= shape[1]; warps /= 2)
    candidates.insert(candidates.begin(), warps);
  // Few rows leave most of the GPU idle, so they have more warps, each with fewer elements for a thread.
  auto usual = std::ranges::find_if(candidates, [&](std::int64_t warps) {
    return shape[0] * warps >= enough_warps || 2 * warps * warp_size * width >= shape[1];
  });
  std::rotate(candidates.begin(), usual == candidates.end() ? usual - 1 : usual, candidates.end());
  std::int64_t warps = knobs.choose("warps", candidates);
  std::int64_t rows = warps > 1 ? 1 : knobs.choose("rows", {4, 1, 2, 8});
  return in_registers(shape, dtype, target, {.warps = warps, .rows = rows, .width = width});
}

} // namespace nestsmith::softmax_rows
