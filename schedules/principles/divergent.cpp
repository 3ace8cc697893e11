#include "schedules/principles/rungs.h"
#include "schedules/principles/vectors.h"
#include "schedules/workloads.h"

namespace nestsmith::principles {

namespace {

Schedule scheduled(const Program &program, const Target &target) {
  Schedule s(program, target);
  one_thread_an_element(s, "y");
  return s;
}

Expr even(Expr i) { return equal(floormod(std::move(i), 2), 0); }

} // namespace

/// The lanes of a warp take turns: first the even ones, then the odd ones, so that a warp runs both sides.
Schedule divergent(const Shape &shape, DType dtype, const Target &target) {
  return scheduled(alternate(shape, dtype, even, branch), target);
}

/// The same work, but the side depends on the warp: no warp runs both.
Schedule uniform(const Shape &shape, DType dtype, const Target &target) {
  auto even_warp = [](Expr i) { return even(floordiv(std::move(i), 32)); };
  return scheduled(alternate(shape, dtype, even_warp, branch), target);
}

/// Computes the result of `divergent` without a branch: every lane computes both values and keeps one.
Schedule branch_free(const Shape &shape, DType dtype, const Target &target) {
  return scheduled(alternate(shape, dtype, even, select), target);
}

} // namespace nestsmith::principles
