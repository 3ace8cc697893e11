#include "schedules/softmax/across.h"

namespace nestsmith::softmax_rows {

void by_threads(Schedule &s, Loop row, Axis axis, std::int64_t threads) {
  BlockRef largest = s.block("largest"), total = s.block("total"), Y = s.block("Y");
  s.compute_inline(s.block("power"));
  s.set_scope(largest, Scope::local);
  s.reduce_across(s.split<2>(s.loops(largest).back(), {infer, threads})[1], axis);
  s.reverse_compute_at(total, row);
  s.set_scope(total, Scope::local);
  s.reduce_across(s.split<2>(s.loops(total).back(), {infer, threads})[1], axis);
  s.reverse_compute_at(Y, row);
  s.bind(s.split<2>(s.loops(Y).back(), {infer, threads})[1], axis);
}

} // namespace nestsmith::softmax_rows
