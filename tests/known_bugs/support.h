#pragma once
/// Bugs that other tools of this field have shipped, each a test by its name. What they share.

#include "lowering/lower.h"
#include "runtime/check/check.h"
#include "runtime/check/sim_executor.h"
#include "schedules/rung.h"
#include "tests/lowering/tiled_gemm.h"
#include "tests/schedules/rung.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace nestsmith::test {

using test::rung;

inline std::vector<std::string> findings(const Schedule &s, const kernel::Plan &plan) {
  SimExecutor simulator;
  return check(s, plan, simulator).messages();
}
/// Bit for bit where that can be, without races, reads of what nobody wrote and accesses out of bounds.
inline void expect_right(const Schedule &s) {
  kernel::Plan plan = lower(s);
  for (const std::string &message : findings(s, plan))
    ADD_FAILURE() << message << "\n" << kernel::print(plan);
}

/// Rebuilds every expression of a kernel's body.
inline kernel::Stmt map_all(const kernel::Stmt &stmt, const std::function<Expr(const Expr &)> &f) {
  kernel::Stmt changed = kernel::map_exprs(stmt, f);
  return kernel::map_children(changed, [&](const kernel::Stmt &child) { return map_all(child, f); });
}

} // namespace nestsmith::test
