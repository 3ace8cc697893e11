#include "schedules/matvecs/matvecs.h"

#include "dsl/schedule/knobs.h"
#include "schedules/free_names.h"
#include "schedules/rows/stages.h"
#include "schedules/variant.h"

#include <algorithm>
#include <fmt/format.h>

namespace nestsmith::matvecs {

namespace {

constexpr std::int64_t warp_size = 32;
constexpr std::int64_t enough_warps = 2048; ///< for the bandwidth of a large GPU
constexpr std::int64_t threads_of_part = 256, enough_blocks = 512;
constexpr std::int64_t loads_in_flight = 4;

/// How the threads of a block divide its rows.
struct Way {
  std::int64_t rows = 1;  ///< that a thread has a share of
  std::int64_t width = 1; ///< neighbouring elements that a thread loads at once
  std::int64_t warps = 4; ///< of a block
  std::int64_t ahead = 1; ///< steps whose loads are in flight together
};

/// Copies what the block reads into registers: elements of a vector once for the rows of the thread, and
/// elements of a matrix for each row. `row` and `element` are the innermost loops of the block.
void load_in_registers(Schedule &s, BlockRef block, Loop element, std::int64_t width) {
  std::vector<Loop> loops = s.loops(block);
  for (const Buffer &input : rows::inputs_of(s, block)) {
    BlockRef copy = s.cache_read(block, input->name, Scope::local);
    s.compute_at(copy, loops[loops.size() - (input->shape.size() == 1 ? 3 : 2)]);
    if (width > 1)
      s.vectorize(s.loops(copy).back());
  }
  s.unroll(element);
}

/// Each warp has `rows` rows.
Schedule by_warps(const Program &program, const Target &target, Way way) {
  Schedule s(program, target);
  BlockRef y = rows::stages_of(s).front().block;
  auto [i, k] = s.loops<2>(y);
  auto [block, warp, row] =
      s.split<3>(i, {infer, way.warps, way.rows}, free_names(s, {"block", "warp", "row"}));
  auto [step, lane, element] =
      s.split<3>(k, {infer, warp_size, way.width}, free_names(s, {"step", "lane", "element"}));
  s.reorder({step, lane, row, element});
  s.bind(block, Axis::block_x);
  s.bind(warp, Axis::warp);
  BlockRef own = s.reduce_across(lane, Axis::lane);
  load_in_registers(s, own, element, way.width);
  s.unroll(row);
  if (way.ahead > 1)
    s.unroll_by(step, way.ahead);
  return s;
}

/// The number of rows of a warp that leaves enough warps.
std::int64_t choose_rows(const Shape &shape, Knobs &knobs) {
  std::vector<std::int64_t> candidates = {4, 2, 1, 8};
  auto usual = std::find_if(candidates.begin(), candidates.begin() + 2,
                            [&](std::int64_t rows) { return shape.stated || shape[0] >= rows * enough_warps; });
  std::rotate(candidates.begin(), usual, candidates.end());
  return knobs.choose("rows", candidates);
}

/// Whether one warp for each row uses the whole GPU.
bool has_many_rows(const Shape &shape) { return !shape.stated && shape[0] >= enough_warps; }

DType type_of(const Program &program) { return rows::input_of(program)->dtype; }

/// How the blocks of a row divide it.
struct PartWay {
  std::int64_t rows;  ///< of a block
  std::int64_t steps; ///< of a thread
  std::int64_t width; ///< neighbouring elements that a thread loads at once
};

/// As many rows, and then as many steps, as leave enough blocks.
PartWay choose_parts(const Shape &shape, DType dtype, Knobs &knobs) {
  const std::int64_t width = rows::vector_width(shape, dtype);
  auto choose = [&](const char *name, std::vector<std::int64_t> candidates, std::int64_t known_at_launch,
                    std::int64_t others) {
    auto usual = std::ranges::find_if(candidates, [&](std::int64_t n) {
      return n == 1 ||
             (shape.stated ? n == known_at_launch
                           : shape[0] * shape[1] >= enough_blocks * n * others * threads_of_part * width);
    });
    std::rotate(candidates.begin(), usual, candidates.end());
    return knobs.choose(name, candidates);
  };
  const std::int64_t rows = choose("rows", {4, 2, 1}, 4, 1);
  return {.rows = rows, .steps = choose("steps", {64, 32, 16, 8, 4, 2, 1}, 4, rows), .width = width};
}

} // namespace

Schedule by_thread(const Program &program, const Target &target) {
  Schedule s(program, target);
  BlockRef y = rows::stages_of(s).front().block;
  auto [block, row] = s.split<2>(s.loops(y)[0], {infer, 64}, free_names(s, {"block", "row"}));
  s.reverse_compute_at(s.cache_write(y, Scope::local), row);
  s.bind(block, Axis::block_x);
  s.bind(row, Axis::thread_x);
  return s;
}

Schedule by_warp(const Program &program, const Target &target) { return rows::by_warp(program, target); }

Schedule in_vectors(const Program &program, const Shape &shape, const Target &target) {
  return by_warps(program, target, {.width = rows::vector_width(shape, type_of(program))});
}

std::optional<Variant> vector_variant(const Shape &shape, DType dtype) {
  return scalar_unless_multiples(shape, {{"N", 1}}, std::max<std::int64_t>(2, 4 / byte_size(dtype)));
}

Schedule in_registers(const Program &program, const Shape &shape, const Target &target, Knobs &knobs) {
  std::int64_t rows = choose_rows(shape, knobs);
  return by_warps(program, target,
                  {.rows = rows,
                   .width = rows::vector_width(shape, type_of(program)),
                   .ahead = std::max<std::int64_t>(1, loads_in_flight / rows)});
}

Schedule in_parts(const Program &program, const Shape &shape, const Target &target, Knobs &knobs) {
  if (has_many_rows(shape))
    return in_registers(program, shape, target, knobs);
  const PartWay way = choose_parts(shape, type_of(program), knobs);
  Schedule s(program, target);
  BlockRef y = rows::stages_of(s).front().block;
  auto [i, k] = s.loops<2>(y);
  auto [block, row] = s.split<2>(i, {infer, way.rows}, free_names(s, {"block", "row"}));
  auto [part, step, thread, element] = s.split<4>(k, {infer, way.steps, threads_of_part, way.width},
                                                  free_names(s, {"part", "step", "thread", "element"}));
  s.reorder({part, step, thread, row, element});
  s.bind(block, Axis::block_x);
  s.reduce_across(part, Axis::block_y, free_names(s, {"results"})); // the last block adds the results
  BlockRef own = s.reduce_across(thread, Axis::thread_x);
  load_in_registers(s, own, element, way.width);
  s.unroll(row);
  if (way.steps > 1)
    s.unroll_by(step, std::min(way.steps, loads_in_flight));

  s.reduce_across(s.split<2>(s.loops(y).back(), {infer, threads_of_part})[1], Axis::thread_x);
  return s;
}

std::optional<Variant> parts_variant(const Shape &shape, DType dtype) {
  if (has_many_rows(shape))
    return Variant{"whole", fmt::format("M >= {}", enough_warps)};
  return vector_variant(shape, dtype);
}

} // namespace nestsmith::matvecs
