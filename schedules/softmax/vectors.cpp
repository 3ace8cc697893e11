#include "schedules/softmax/across.h"
#include "schedules/softmax/rungs.h"
#include "schedules/workloads.h"

namespace nestsmith::softmax_rows {

namespace {

/// The threads of the block divide a reduction of the row. Each of them loads `width` neighbouring elements at
/// once.
void reduce_in_vectors(Schedule &s, BlockRef result, std::int64_t threads, std::int64_t width) {
  s.set_scope(result, Scope::local);
  Loop thread = s.split<3>(s.loops(result).back(), {infer, threads, width})[1];
  BlockRef own = s.reduce_across(thread, Axis::thread_x);
  if (width == 1)
    return;
  BlockRef elements = s.cache_read(own, "X", Scope::local);
  std::vector<Loop> loops = s.loops(own);
  s.compute_at(elements, loops[loops.size() - 2]);
  s.vectorize(s.loops(elements).back());
}

} // namespace

std::int64_t vector_width(const Shape &shape, DType dtype) {
  const std::int64_t bytes = byte_size(dtype);
  for (std::int64_t width = 16 / bytes; width > 1 && width * bytes >= 4; width /= 2)
    if (shape.is_multiple(1, width))
      return width;
  return 1;
}

/// As `block`, but each thread loads and stores 16 bytes at a time.
Schedule vectors(const Shape &shape, DType dtype, const Target &target, Knobs &knobs) {
  bool is_long = !shape.stated && shape[1] > 8192;
  std::int64_t threads = knobs.choose("threads", is_long ? std::vector<std::int64_t>{1024, 512, 256, 128}
                                                         : std::vector<std::int64_t>{256, 128, 512, 1024});
  std::int64_t width = vector_width(shape, dtype);
  Schedule s(softmax(shape, dtype), target);
  BlockRef largest = s.block("largest"), total = s.block("total"), Y = s.block("Y");
  s.compute_inline(s.block("power"));
  Loop row = s.loops(largest)[0];
  s.bind(row, Axis::block_x);
  reduce_in_vectors(s, largest, threads, width);
  s.reverse_compute_at(total, row);
  reduce_in_vectors(s, total, threads, width);
  s.reverse_compute_at(Y, row);
  auto [step, thread, element] = s.split<3>(s.loops(Y).back(), {infer, threads, width});
  s.bind(thread, Axis::thread_x);
  if (width > 1)
    s.vectorize(element);
  return s;
}

} // namespace nestsmith::softmax_rows
