#include "schedules/rows/stages.h"

namespace nestsmith::rows {

void divide(Schedule &s, Loop row, Axis axis, std::int64_t threads) {
  bool first = true;
  for (const Stage &stage : inlined_stages(s)) {
    if (!first)
      s.reverse_compute_at(stage.block, row);
    first = false;
    if (stage.temporary)
      s.set_scope(stage.block, Scope::local);
    if (!stage.reduces && !stage.elements)
      continue; // each thread computes it
    Loop thread = s.split<2>(s.loops(stage.block).back(), {infer, threads})[1];
    if (stage.reduces)
      s.reduce_across(thread, axis);
    else
      s.bind(thread, axis);
  }
}

Schedule by_thread(const Program &program, const Target &target) {
  Schedule s(program, target);
  std::vector<Stage> stages = inlined_stages(s);
  for (const Stage &stage : stages)
    if (stage.temporary)
      s.set_scope(stage.block, Scope::local);
  auto [blocks, row] = s.split(s.loops(stages[0].block)[0], {infer, 64});
  s.bind(blocks, Axis::block_x);
  s.bind(row, Axis::thread_x);
  for (std::size_t n = 1; n < stages.size(); ++n)
    s.reverse_compute_at(stages[n].block, row);
  return s;
}

Schedule by_warp(const Program &program, const Target &target) {
  Schedule s(program, target);
  auto [blocks, row] = s.split(s.loops(stages_of(s)[0].block)[0], {infer, 4});
  s.bind(blocks, Axis::block_x);
  s.bind(row, Axis::warp);
  divide(s, row, Axis::lane, 32);
  return s;
}

Schedule by_block(const Program &program, const Target &target) {
  Schedule s(program, target);
  Loop row = s.loops(stages_of(s)[0].block)[0];
  s.bind(row, Axis::block_x);
  divide(s, row, Axis::thread_x, 256);
  return s;
}

} // namespace nestsmith::rows
