#include "schedules/grids.h"

namespace nestsmith {

Grid choose_grid(Knobs &knobs, const std::string &name, const std::vector<std::string> &candidates) {
  return grid_of(knobs.choose(name, candidates));
}

Grid grid_of(const std::string &candidate) {
  return {std::stoll(candidate), std::stoll(candidate.substr(candidate.find('x') + 1))};
}

std::int64_t multiprocessors(const Target &target) {
  constexpr std::int64_t of_an_h100 = 132;
  return target.sms > 0 ? target.sms : of_an_h100;
}

Loop fuse_tiles(Schedule &s, Loop i_block, Loop j_block, std::int64_t group) {
  if (group == 1)
    return s.fuse(i_block, j_block);
  auto [i_outer, i_inner] = s.split(i_block, {infer, group});
  s.reorder({i_outer, j_block, i_inner});
  return s.fuse(s.fuse(i_outer, j_block), i_inner);
}

std::vector<Loop> bind_tiles(Schedule &s, Loop i_block, Loop j_block, std::int64_t group) {
  if (group == 1) {
    s.bind(i_block, Axis::block_y);
    s.bind(j_block, Axis::block_x);
    return {i_block, j_block};
  }
  Loop block = fuse_tiles(s, i_block, j_block, group);
  s.bind(block, Axis::block_x);
  return {block};
}

} // namespace nestsmith
