#include "tools/report/steps.h"

#include "dsl/trace.h"
#include "lowering/lower.h"
#include "tools/failure.h"

namespace nestsmith::cli::report {

namespace {

Step step_of(const Schedule &schedule) {
  const Program &program = schedule.program();
  Step step{schedule.trace().empty() ? "" : to_cpp(schedule.trace().back()),
            linked_program(program),
            schedule.obligations(),
            {},
            {}};
  if (!step.owed.empty())
    return step;
  Failure failure = failure_of([&] {
    kernel::Plan plan = lower(schedule);
    step.kernels = linked_kernels(program, plan);
    step.cuda = linked_cuda(program, plan);
  });
  step.refusal = failure.message;
  return step;
}

} // namespace

std::vector<Step> steps_of(const Schedule &schedule) {
  Schedule replayed(schedule.source(), schedule.target());
  std::vector<Step> steps = {step_of(replayed)};
  for (const Directive &directive : schedule.trace()) {
    apply(replayed, directive, "the report");
    steps.push_back(step_of(replayed));
  }
  return steps;
}

} // namespace nestsmith::cli::report
