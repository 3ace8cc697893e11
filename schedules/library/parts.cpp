#include "schedules/library/parts.h"

#include "dsl/hardware/vector_access.h"
#include "schedules/grids.h"

#include <algorithm>

namespace nestsmith::library {

Loop fuse_all(Schedule &s, const std::vector<Loop> &loops) {
  Loop all = loops.front();
  for (std::size_t n = 1; n < loops.size(); ++n)
    all = s.fuse(all, loops[n]);
  return all;
}

void by_vectors(Schedule &s, std::vector<Loop> loops, bool vectors) {
  std::erase_if(loops, [&](const Loop &loop) { return s.extent(loop) == 1; });
  if (vectors && !loops.empty()) {
    s.vectorize(loops.back());
    loops.pop_back();
  }
  for (const Loop &loop : loops)
    s.unroll(loop);
}

void by_vectors_of(Schedule &s, std::vector<Loop> loops, std::int64_t width) {
  if (width > 1 && s.extent(loops.back()) > width) {
    auto [group, element] = s.split(loops.back(), {infer, width});
    loops.back() = group;
    loops.push_back(element);
  }
  by_vectors(s, loops, width > 1);
}

static const Expr &extent_of(const Schedule &s, Loop loop) {
  return find_loop(s.program().body, loop.var)->extent;
}

std::vector<Loop> bind_grid(Schedule &s, std::optional<Loop> batch, Loop i_block, Loop j_block,
                            std::int64_t group) {
  auto fits = [&](const Loop &loop, std::size_t axis) {
    auto extent = as_int(extent_of(s, loop)); // the launcher checks the others
    return !extent || *extent <= s.target().grid_extent[axis];
  };
  if (group == 1 && fits(i_block, 1) && (!batch || fits(*batch, 2))) {
    if (batch)
      s.bind(*batch, Axis::block_z);
    return bind_tiles(s, i_block, j_block, 1);
  }
  if (batch && fits(*batch, 2)) {
    s.bind(*batch, Axis::block_z);
    batch = std::nullopt;
  }
  Loop tiles = i_block;
  if (group > 1) {
    auto [i_outer, i_inner] = s.split(i_block, {infer, group});
    s.reorder({i_outer, j_block, i_inner});
    tiles = s.fuse(s.fuse(i_outer, j_block), i_inner);
  } else {
    tiles = s.fuse(i_block, j_block);
  }
  if (batch)
    tiles = s.fuse(*batch, tiles);
  s.bind(tiles, Axis::block_x);
  return {tiles};
}

bool is_multiple(const Schedule &s, Loop loop, std::int64_t n) {
  return nestsmith::is_multiple(extent_of(s, loop), n, {});
}

} // namespace nestsmith::library
