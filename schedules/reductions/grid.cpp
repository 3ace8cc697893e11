#include "dsl/schedule/knobs.h"
#include "schedules/free_names.h"
#include "schedules/reductions/reductions.h"
#include "schedules/rows/stages.h"
#include "schedules/variant.h"

#include <algorithm>

namespace nestsmith::reductions {

namespace {

constexpr std::int64_t enough_blocks = 1024; ///< for the bandwidth of a large GPU
constexpr std::int64_t most_unrolled = 8;

/// How the threads of a block reduce its part.
struct Way {
  std::int64_t threads; ///< of a block
  std::int64_t steps;   ///< of a thread
  std::int64_t width;   ///< neighbouring elements of a step
};

/// A thread has as many steps as leave enough blocks, so that few results are left to combine.
Way choose(const Shape &shape, DType dtype, Knobs &knobs) {
  Way way = {.threads = knobs.choose("threads", {256, 128, 512, 1024}),
             .steps = 0,
             .width = rows::vector_width(shape, dtype, 0)};
  std::vector<std::int64_t> steps = {64, 32, 16, 8, 4, 2, 1};
  auto usual = std::ranges::find_if(steps, [&](std::int64_t count) {
    return shape.stated ? count == 8 : shape[0] >= enough_blocks * way.threads * count * way.width;
  });
  std::rotate(steps.begin(), usual == steps.end() ? usual - 1 : usual, steps.end());
  way.steps = knobs.choose("steps", steps);
  return way;
}

/// What combines the results of the blocks. By atomics, a block has its result in registers; otherwise, the
/// results are a buffer of their own.
enum class Finish : std::uint8_t { second_kernel, last_block, atomics };

Schedule over_blocks(const Program &program, const Target &target, Way way, Finish finish) {
  Schedule s(program, target);
  BlockRef y = rows::stages_of(s).front().block;
  auto [i, k] = s.loops<2>(y);
  auto [block, step, thread, element] = s.split<4>(k, {infer, way.steps, way.threads, way.width},
                                                   free_names(s, {"block", "step", "thread", "element"}));
  s.bind(i, Axis::block_y);
  if (finish == Finish::last_block) {
    s.reduce_across(block, Axis::block_x, free_names(s, {"results"}));
  } else {
    BlockRef results = s.rfactor(block, free_names(s, {"results"}));
    if (finish == Finish::atomics)
      s.set_scope(results, Scope::local);
    s.bind(block, Axis::block_x);
  }
  BlockRef own = s.reduce_across(thread, Axis::thread_x);
  rows::load_in_vectors(s, own, way.width);
  s.unroll(element);
  if (way.steps <= most_unrolled)
    s.unroll(step);
  else
    s.unroll_by(step, most_unrolled);

  if (finish == Finish::atomics) {
    BlockRef init = s.nondeterministic_atomics(y);
    s.bind(s.loops(init)[0], Axis::block_x);
    s.reverse_compute_at(y, block);
    s.bind(s.loops(y).back(), Axis::thread_x); // one thread of the block adds
    return s;
  }
  if (finish == Finish::second_kernel)
    s.bind(s.loops(y)[0], Axis::block_x);
  s.reduce_across(s.split<2>(s.loops(y).back(), {infer, way.threads})[1], Axis::thread_x);
  return s;
}

} // namespace

Schedule by_blocks(const Program &program, const Target &target) {
  return over_blocks(program, target, {.threads = 256, .steps = 8, .width = 1}, Finish::second_kernel);
}

Schedule in_vectors(const Program &program, const Shape &shape, const Target &target, Knobs &knobs) {
  return over_blocks(program, target, choose(shape, rows::input_of(program)->dtype, knobs),
                     Finish::second_kernel);
}

Schedule in_one_pass(const Program &program, const Shape &shape, const Target &target, Knobs &knobs) {
  return over_blocks(program, target, choose(shape, rows::input_of(program)->dtype, knobs), Finish::last_block);
}

Schedule by_atomics(const Program &program, const Shape &shape, const Target &target, Knobs &knobs) {
  return over_blocks(program, target, choose(shape, rows::input_of(program)->dtype, knobs), Finish::atomics);
}

std::optional<Variant> vector_variant(const Shape &shape, DType dtype) {
  std::int64_t fewest = std::max<std::int64_t>(2, 4 / byte_size(dtype));
  return scalar_unless_multiples(shape, {{"N", 0}}, fewest);
}

} // namespace nestsmith::reductions
