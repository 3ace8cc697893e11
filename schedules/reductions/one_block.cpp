#include "schedules/free_names.h"
#include "schedules/reductions/reductions.h"
#include "schedules/rows/stages.h"

#include <fmt/format.h>

namespace nestsmith::reductions {

constexpr std::int64_t threads_of_one_block = 256;

Schedule by_thread(const Program &program, const Target &target) {
  Schedule s(program, target);
  BlockRef y = rows::stages_of(s).front().block;
  auto [block, thread] = s.split<2>(s.loops(y)[0], {1, 32}, free_names(s, {"block", "thread"}));
  s.reverse_compute_at(s.cache_write(y, Scope::local), thread);
  s.bind(block, Axis::block_x);
  s.bind(thread, Axis::thread_x);
  return s;
}

/// The first `half` threads combine two neighbouring results each of the `2*half` that y reads. Half of 2 is y.
static void halve(Schedule &s, BlockRef y, Loop i, std::int64_t half) {
  auto name = [&](const char *what) { return fmt::format("{}_{}", what, half); };
  Loop thread = s.split<2>(s.loops(y).back(), {half, 2}, free_names(s, {name("part"), name("pair")}))[0];
  BlockRef results = half > 1 ? s.rfactor(thread, free_names(s, {name("results")})) : y;
  s.reverse_compute_at(results, i);
  s.unroll(s.loops(results).back());
  thread = s.loops_below(results, i)[0];
  if (half > 1) {
    s.set_scope(results, Scope::shared);
    thread = s.split<2>(thread, {1, threads_of_one_block})[1];
  }
  s.bind(thread, Axis::thread_x);
}

Schedule by_tree(const Program &program, const Target &target) {
  Schedule s(program, target);
  BlockRef y = rows::stages_of(s).front().block;
  auto [i, k] = s.loops<2>(y);
  auto [step, thread] = s.split<2>(k, {infer, threads_of_one_block}, free_names(s, {"step", "thread"}));
  BlockRef results = s.rfactor(thread, free_names(s, {"results"}));
  s.reorder({thread, step});
  BlockRef copy = s.cache_write(results, Scope::local);
  s.reverse_compute_at(copy, thread);
  s.set_scope(copy, Scope::shared);
  s.bind(i, Axis::block_x);
  s.bind(thread, Axis::thread_x);
  for (std::int64_t half = threads_of_one_block / 2; half > 0; half /= 2)
    halve(s, y, i, half);
  return s;
}

Schedule by_shuffles(const Program &program, const Target &target) {
  Schedule s(program, target);
  auto [i, k] = s.loops<2>(rows::stages_of(s).front().block);
  s.bind(i, Axis::block_x);
  s.reduce_across(s.split<2>(k, {infer, threads_of_one_block}, free_names(s, {"step", "thread"}))[1],
                  Axis::thread_x);
  return s;
}

} // namespace nestsmith::reductions
