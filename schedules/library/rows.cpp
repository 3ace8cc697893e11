#include "schedules/library/rows.h"

#include "dsl/expr/error.h"
#include "schedules/library/accesses.h"

#include <fmt/format.h>

namespace nestsmith::library {

std::array<BlockRef, 2> cut_rows(Schedule &schedule, BlockRef sum, std::int64_t row) {
  Schedule s = schedule;
  const Contraction c = contraction(s, sum, Scope::global);
  if (c.batch)
    throw UserError(ExitCode::illegal_schedule,
                    fmt::format("library::cut_rows: block {} has a batch, {}, outside of its rows, expected a "
                                "product of two matrices; fuse the batch with the rows, or bind it",
                                Schedule::name(sum), Schedule::name(*c.batch)));
  for (const BlockRef &result : c.results)
    s.reverse_compute_at(result, c.i);
  std::array<BlockRef, 2> sums;
  auto parts = s.cut(c.i, {row});
  for (std::size_t n = 0; n < 2; ++n) {
    sums[n] = s.blocks_below(parts[n]).front();
    for (const Loop &loop : s.fission(parts[n]))
      s.axes_from_loops(s.blocks_below(loop).front());
  }
  schedule = std::move(s);
  return sums;
}

} // namespace nestsmith::library
