#pragma once
/// Checks a schedule in the simulator.

#include "dsl/ir/tensor.h"
#include "dsl/schedule/schedule.h"
#include "lowering/lower.h"
#include "runtime/check/check.h"
#include "runtime/check/sim_executor.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

namespace nestsmith::test {

/// Returns the messages of a check, one per line.
inline std::string all_messages(const CheckResult &result) {
  std::string text;
  for (const std::string &message : result.messages())
    text += message + "\n";
  return text;
}

inline std::vector<std::string> diagnostics(const Schedule &s, const kernel::Plan &plan) {
  SimExecutor simulator;
  return check(s, plan, simulator).messages();
}

/// Expects that the lowered schedule gives the right result, bit for bit where it is defined, and that the
/// simulator reports no diagnostic.
inline void expect_right(const Schedule &s) {
  SimExecutor simulator;
  kernel::Plan plan = lower(s);
  CheckResult result = check(s, plan, simulator);
  EXPECT_TRUE(result.passed) << kernel::print(plan);
  EXPECT_EQ(all_messages(result), "") << kernel::print(plan);
}

/// Y[i] = element(X[i]).
inline Program map(DType from, DType to, const std::function<Expr(Expr)> &element, std::int64_t length = 1000) {
  Workload w("map");
  Tensor x = w.placeholder("X", {length}, from);
  return w.output(
      {w.compute("Y", {length}, {"i"}, [&](Expr i) -> Definition { return cast(to, element(x(i))); })});
}

/// Y[i] = X[i], for 100 elements.
inline Program copy(DType dtype) {
  Workload w("copy");
  Tensor x = w.placeholder("X", {100}, dtype);
  return w.output({w.compute("Y", {100}, {"i"}, [&](Expr i) -> Definition { return x(i); })});
}

} // namespace nestsmith::test
