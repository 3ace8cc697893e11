#include "codegen/cuda.h"
#include "dsl/expr/error.h"
#include "dsl/schedule/trace.h"
#include "lowering/lower.h"
#include "runtime/check/check.h"
#include "runtime/check/sim_executor.h"
#include "schedules/workloads.h"
#include "tools/exercises/directive_text.h"
#include "tools/exercises/exercise.h"

#include <algorithm>
#include <fmt/format.h>

namespace nestsmith {

bool ExerciseResult::solved() const {
  return refused.empty() && wrong.empty() && std::ranges::all_of(measured, &Measured::reached);
}

namespace exercise {

namespace {

/// For sm_80, which has asynchronous copies.
Schedule scheduled_product(const std::vector<Directive> &directives, const std::vector<std::int64_t> &shape) {
  Schedule schedule(gemm(shape, DType::f32), Target{.arch = {80}});
  for (const Directive &directive : directives)
    apply(schedule, directive, "the answer");
  return schedule;
}

std::vector<Directive> directives_of(const std::vector<std::string> &lines) {
  std::vector<Directive> all;
  for (const std::string &line : lines)
    std::ranges::move(parse_directives(line), std::back_inserter(all));
  return all;
}

std::string replaced(std::string line, const std::string &answer) {
  std::size_t at = line.find(blank);
  return at == std::string::npos ? line : line.replace(at, std::string(blank).size(), answer);
}

} // namespace

ProductPlan product_plan(const std::vector<std::string> &lines, const std::vector<std::int64_t> &shape) {
  Schedule schedule = scheduled_product(directives_of(lines), shape);
  return {schedule.source(), lower(schedule)};
}

ExerciseResult checked(const Program &source, const kernel::Plan &plan) {
  SimExecutor simulator;
  CheckResult check = Checker().check(source, plan, simulator, {.to_first = true});
  ExerciseResult result;
  if (!check.passed)
    result.wrong = check.messages();
  result.kernel = cuda_kernels(plan);
  return result;
}

std::string BlankSchedule::text() const {
  std::string text;
  for (const std::string &line : lines)
    text += line + "\n";
  return text;
}

ExerciseResult BlankSchedule::judge(const std::string &answer) const {
  std::vector<std::string> filled;
  for (const std::string &line : lines)
    filled.push_back(replaced(line, answer));
  std::vector<Directive> directives = directives_of(filled);
  try {
    Schedule schedule = scheduled_product(directives, {size, size, size});
    kernel::Plan plan = lower(schedule);
    ExerciseResult result = checked(schedule.source(), plan);
    if (result.wrong.empty())
      result.measured = measure(schedule.source(), plan);
    return result;
  } catch (const ScheduleError &error) {
    ExerciseResult result;
    result.refused = error.directive() + ": " + error.message();
    return result;
  }
}

} // namespace exercise

} // namespace nestsmith
