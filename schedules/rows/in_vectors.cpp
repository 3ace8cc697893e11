#include "dsl/schedule/knobs.h"
#include "schedules/rows/stages.h"

namespace nestsmith::rows {

namespace {

/// The threads of the block divide a reduction of the row. Each of them loads `width` neighbouring elements at
/// once.
void reduce_in_vectors(Schedule &s, BlockRef result, const Buffer &X, std::int64_t threads,
                       std::int64_t width) {
  Loop thread = s.split<3>(s.loops(result).back(), {infer, threads, width})[1];
  BlockRef own = s.reduce_across(thread, Axis::thread_x);
  if (width == 1)
    return;
  BlockRef elements = s.cache_read(own, X->name, Scope::local);
  std::vector<Loop> loops = s.loops(own);
  s.compute_at(elements, loops[loops.size() - 2]);
  s.vectorize(s.loops(elements).back());
}

} // namespace

Schedule in_vectors(const Program &program, const Shape &shape, const Target &target, Knobs &knobs) {
  bool is_long = !shape.stated && shape[1] > 8192;
  std::int64_t threads = knobs.choose("threads", is_long ? std::vector<std::int64_t>{1024, 512, 256, 128}
                                                         : std::vector<std::int64_t>{256, 128, 512, 1024});
  const Buffer X = input_of(program);
  std::int64_t width = vector_width(shape, X->dtype);
  Schedule s(program, target);
  std::vector<Stage> stages = inlined_stages(s);
  Loop row = s.loops(stages[0].block)[0];
  s.bind(row, Axis::block_x);
  for (std::size_t n = 0; n < stages.size(); ++n) {
    const Stage &stage = stages[n];
    if (n > 0)
      s.reverse_compute_at(stage.block, row);
    if (stage.temporary)
      s.set_scope(stage.block, Scope::local);
    if (stage.reduces)
      reduce_in_vectors(s, stage.block, X, threads, width);
    if (!stage.elements)
      continue;
    auto [step, thread, element] = s.split<3>(s.loops(stage.block).back(), {infer, threads, width});
    s.bind(thread, Axis::thread_x);
    if (width > 1)
      s.vectorize(element);
  }
  return s;
}

} // namespace nestsmith::rows
