#include "schedules/worklog/tiles.h"

#include "schedules/fetch.h"

#include <algorithm>
#include <utility>

namespace nestsmith::worklog {

namespace {

/// Unrolls the loops, and vectorizes the last one.
void four_at_a_time(Schedule &s, std::vector<Loop> loops, bool vectors) {
  std::erase_if(loops, [&](const Loop &loop) { return s.extent(loop) == 1; });
  auto [group, element] = s.split(loops.back(), {infer, 4});
  loops.back() = group;
  for (const Loop &loop : loops)
    if (s.extent(loop) > 1)
      s.unroll(loop);
  vectors ? s.vectorize(element) : s.unroll(element);
}

} // namespace

void use_tiles(Schedule &s, const TileLoops &loops, TileUse use) {
  auto AB = s.block("AB"), C = s.block("C");
  s.reverse_compute_at(C, loops.thread);
  s.bind(loops.i_block, Axis::block_y);
  s.bind(loops.j_block, Axis::block_x);
  s.bind(loops.thread, Axis::thread_x);
  for (const auto &[operand, layout] : {std::pair{"A", "i, k -> k, i"}, {"B", use.b_layout}}) {
    auto tile = s.cache_read(AB, operand, Scope::shared);
    auto fragment = s.cache_read(AB, s.name(tile), Scope::local);
    s.compute_at(fragment, loops.k_inner);
    if (use.vectors)
      s.vectorize(fetch_by_vectors(s, tile, loops.k_outer, use.threads));
    else
      fetch_tile(s, tile, loops.k_outer, use.threads);
    s.transform_layout(tile, layout);
    four_at_a_time(s, s.loops_below(fragment, loops.k_inner), use.vectors);
  }
  if (std::int64_t steps = std::min(use.unrolled, s.extent(loops.k_inner)); steps < s.extent(loops.k_inner))
    s.unroll_by(loops.k_inner, steps);
  else
    s.unroll(loops.k_inner);
  for (const Loop &loop : loops.results)
    s.unroll(loop);
  four_at_a_time(s, s.loops_below(C, loops.thread), use.vectors);
}

} // namespace nestsmith::worklog
