#include "schedules/fetch.h"

namespace nestsmith {

BlockRef fetch_tile(Schedule &s, BlockRef reader, const std::string &operand, Loop at, std::int64_t threads) {
  BlockRef tile = s.cache_read(reader, operand, Scope::shared);
  fetch_tile(s, tile, at, threads);
  return tile;
}

void fetch_tile(Schedule &s, BlockRef tile, Loop at, std::int64_t threads) {
  s.compute_at(tile, at);
  auto loops = s.loops(tile);
  Loop element = s.fuse(loops[loops.size() - 2], loops.back());
  if (s.extent(element) == threads) {
    s.bind(element, Axis::thread_x);
    return;
  }
  auto [round, thread] = s.split(element, {infer, threads});
  s.bind(thread, Axis::thread_x);
  s.unroll(round);
}

Loop fetch_by_four(Schedule &s, BlockRef tile, Loop at, std::int64_t threads) {
  s.compute_at(tile, at);
  auto loops = s.loops(tile);
  auto [group, lane] = s.split(loops.back(), {infer, 4});
  Loop element = s.fuse(loops[loops.size() - 2], group);
  auto [round, thread] = s.split(element, {infer, threads});
  s.bind(thread, Axis::thread_x);
  s.unroll(round);
  return lane;
}

} // namespace nestsmith
