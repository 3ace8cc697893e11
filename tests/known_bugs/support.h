#pragma once
/// Helpers of the tests of known bugs. Other tools of this field have shipped these bugs, and each test is
/// named after one.

#include "schedules/rung.h"
#include "tests/lowering/tiled_gemm.h"
#include "tests/runtime/check/right.h"
#include "tests/schedules/rung.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace nestsmith::test {

using test::rung;

/// Rebuilds every expression of a kernel's body.
inline kernel::Stmt map_all(const kernel::Stmt &stmt, const std::function<Expr(const Expr &)> &f) {
  kernel::Stmt changed = kernel::map_exprs(stmt, f);
  return kernel::map_children(changed, [&](const kernel::Stmt &child) { return map_all(child, f); });
}

} // namespace nestsmith::test
