#include "schedules/library/split_sum.h"

#include "dsl/expr/error.h"
#include "schedules/library/accesses.h"
#include "schedules/library/parts.h"

#include <fmt/format.h>
#include <numeric>

namespace nestsmith::library {

void check_parts(BlockRef sum, std::int64_t parts) {
  constexpr std::int64_t most = 65535; // of blockIdx.z
  if (parts < 1 || parts > most)
    throw UserError(ExitCode::illegal_schedule,
                    fmt::format("library::product: block {}: got split_k = {}, expected 1 to {} parts of a sum",
                                Schedule::name(sum), parts, most));
}

std::int64_t width_of_rows(const Schedule &s, BlockRef block) {
  return width_of(block_of(s, block), block_of(s, block).iters.back().var);
}

void add_parts(Schedule &s, const Contraction &c, Loop tile, Loop part, std::int64_t threads,
               std::int64_t columns, std::int64_t width, std::int64_t stored) {
  constexpr std::int64_t elements = 4;
  std::int64_t groups = std::gcd(columns / elements, threads);
  s.reverse_compute_at(c.sum, tile);
  s.bind(part, Axis::block_z);
  s.last_block(part);
  std::vector<Loop> below = s.loops_below(c.sum, tile);
  Loop k = below.back(), j = below[below.size() - 2], i = below[below.size() - 3];
  auto [i_step, i_thread] = s.split(i, {infer, threads / groups});
  auto [j_step, j_thread, element] = s.split(j, {infer, groups, elements});
  s.reorder({i_step, j_step, i_thread, j_thread, k, element});
  auto thread = s.fuse(i_thread, j_thread);
  for (const BlockRef &result : c.results)
    s.reverse_compute_at(result, thread);
  s.bind(thread, Axis::thread_x);
  s.unroll(k);
  by_vectors(s, split_last(s, {element}, width), width > 1);
  for (const BlockRef &result : c.results)
    store_result(s, result, thread, stored);
}

} // namespace nestsmith::library
