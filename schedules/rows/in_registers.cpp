#include "dsl/schedule/knobs.h"
#include "dsl/schedule/trace.h"
#include "schedules/rows/stages.h"

#include <algorithm>
#include <fmt/format.h>

namespace nestsmith::rows {

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

InRegisters choose(const Shape &shape, DType dtype, Knobs &knobs) {
  std::int64_t width = vector_width(shape, dtype);
  while (width > 1 && width * byte_size(dtype) > 4 &&
         width * warp_size > shape[1]) // a short row would leave lanes idle
    width /= 2;
  std::vector<std::int64_t> candidates;
  for (std::int64_t warps = most_warps; warps > 0 && warps * warp_size * most_elements >= shape[1]; warps /= 2)
    candidates.insert(candidates.begin(), warps);
  // Few rows leave most of the GPU idle, so they have more warps, each with fewer elements for a thread.
  auto usual = std::ranges::find_if(candidates, [&](std::int64_t warps) {
    return shape[0] * warps >= enough_warps || 2 * warps * warp_size * width >= shape[1];
  });
  std::rotate(candidates.begin(), usual == candidates.end() ? usual - 1 : usual, candidates.end());
  std::int64_t warps = knobs.choose("warps", candidates);
  return {.warps = warps, .rows = warps > 1 ? 1 : knobs.choose("rows", {4, 1, 2, 8}), .width = width};
}

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
  auto [step, thread, element] = s.split<3>(s.loops(result).back(), {infer, way.warps * warp_size, way.width});
  s.unroll(step);
  s.unroll(element);
  s.reduce_across(thread, way.warps > 1 ? Axis::thread_x : Axis::lane);
}

/// Copies X into registers, for all blocks that read it.
BlockRef copy_of(Schedule &s, const Buffer &X, const std::vector<Stage> &stages) {
  BlockRef copy = s.cache_read(stages[0].block, X->name, Scope::local);
  for (const Stage &stage : stages)
    if (reads(*find_block(s.program().body, stage.block.id), X))
      s.share_cache(stage.block, copy);
  return copy;
}

} // namespace

std::optional<Variant> in_registers_variant(const Shape &shape, DType) {
  if (shape.stated)
    return Variant{"reread", "the length of a row is not a constant"};
  if (shape[1] > most_elements * most_warps * warp_size)
    return Variant{"reread", fmt::format("N > {}", most_elements * most_warps * warp_size)};
  return std::nullopt;
}

Schedule in_registers(const Program &program, const Shape &shape, const Target &target, Knobs &knobs) {
  const Buffer input = input_of(program);
  if (in_registers_variant(shape, input->dtype))
    return in_vectors(program, shape, target, knobs);
  InRegisters way = choose(shape, input->dtype, knobs);
  Schedule s(program, target);
  const std::vector<Stage> stages = stages_of(s);
  BlockRef X = copy_of(s, input, stages);
  for (const Stage &stage : stages)
    if (stage.temporary)
      s.set_scope(stage.block, Scope::local);
  auto [block, row] = s.split<2>(s.loops(X)[0], {infer, way.rows});
  s.bind(block, Axis::block_x);
  if (way.warps == 1)
    s.bind(row, Axis::warp);
  std::vector<Loop> accesses = {share_out(s, X, way)};
  for (const Stage &stage : stages) {
    s.reverse_compute_at(stage.block, row);
    if (stage.reduces)
      combine(s, stage.block, way);
    else if (stage.elements && stage.temporary)
      s.unroll(share_out(s, stage.block, way));
    else if (stage.elements)
      accesses.push_back(share_out(s, stage.block, way));
  }
  for (const Loop &elements : accesses)
    if (way.width > 1)
      s.vectorize(elements);
  if (const std::vector<Obligation> owed = s.obligations(); !owed.empty())
    throw to_error(s, owed.front());
  return s;
}

} // namespace nestsmith::rows
