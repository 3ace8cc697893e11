#pragma once
/// Checks a schedule in the simulator.

#include "dsl/schedule/schedule.h"
#include "lowering/lower.h"
#include "runtime/check/check.h"
#include "runtime/check/sim_executor.h"

#include <gtest/gtest.h>

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

} // namespace nestsmith::test
