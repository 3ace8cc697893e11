#include "schedules/principles/vectors.h"

namespace nestsmith::principles {

void one_thread_an_element(Schedule &s, const std::string &stage, std::int64_t threads) {
  auto [i] = s.loops<1>(s.block(stage));
  auto [block, thread] = s.split(i, {infer, threads});
  s.bind(block, Axis::block_x);
  s.bind(thread, Axis::thread_x);
}

} // namespace nestsmith::principles
