#pragma once
/// Computations in several stages through shared memory.

#include "dsl/ir/tensor.h"
#include "dsl/schedule/schedule.h"

#include <string>
#include <vector>

namespace nestsmith::test {

/// The value of an element of a stage, computed from the preceding stage.
using Step = Definition (*)(const Tensor &before, const Expr &row, const Expr &column, std::int64_t distance);

/// The sum of an element and of the element `distance` before it.
inline Definition scan_step(const Tensor &before, const Expr &row, const Expr &column, std::int64_t distance) {
  return before(row, column) + before.where(distance <= column, row, column - distance);
}

/// The extents and the threads of a scan.
struct ScanForm {
  std::int64_t rows = 3, columns = 64;
  std::int64_t each = 1; ///< rows that a thread block computes one after the other
  std::int64_t threads = 64;
  DType dtype = DType::u32;
};

/// The inclusive prefix sums of each row (Hillis and Steele): the stages T0, T1, … and Y. T0 is a copy of X.
inline Program scan_program(const ScanForm &form) {
  Workload w("scan");
  Tensor x = w.placeholder("X", {form.rows, form.columns}, form.dtype);
  std::vector<Expr> shape = {form.rows, form.columns};
  Tensor last = w.compute("T0", shape, {"r", "j"}, [&](Expr r, Expr j) -> Definition { return x(r, j); });
  int stage = 0;
  for (std::int64_t distance = 1; distance < form.columns; distance *= 2) {
    std::string name = 2 * distance >= form.columns ? "Y" : "T" + std::to_string(++stage);
    last = w.compute(name, shape, {"r", "j"}, [&](Expr r, Expr j) { return scan_step(last, r, j, distance); });
  }
  return w.output({last});
}

/// Places the stages before `last` in shared memory below `loop`, and distributes the last loop over the
/// threads.
inline void stages_below(Schedule &s, Loop loop, int stages, std::int64_t threads) {
  for (int n = stages - 1; n >= 0; --n) {
    BlockRef stage = s.block("T" + std::to_string(n));
    s.compute_at(stage, loop);
    s.set_scope(stage, Scope::shared);
    s.bind(s.split<2>(s.loops(stage).back(), {infer, threads})[1], Axis::thread_x);
  }
}

inline int stages_of(const ScanForm &form) {
  int stages = 0;
  for (std::int64_t distance = 1; distance < form.columns; distance *= 2)
    ++stages;
  return stages;
}

/// Schedules the scan. A thread block computes `each` rows.
inline Schedule scan(const ScanForm &form, const Target &target = {}) {
  Schedule s(scan_program(form), target);
  auto loops = s.loops(s.block("Y"));
  auto [block, row] = s.split<2>(loops[0], {infer, form.each});
  s.bind(block, Axis::block_x);
  s.bind(s.split<2>(loops[1], {infer, form.threads})[1], Axis::thread_x);
  stages_below(s, row, stages_of(form), form.threads);
  return s;
}

} // namespace nestsmith::test
