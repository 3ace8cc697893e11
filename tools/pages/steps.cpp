#include "tools/pages/steps.h"

#include "dsl/schedule/trace.h"
#include "lowering/lower.h"
#include "tools/output/text_diff.h"

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
    step.kernels = linked_kernels(plan);
    step.cuda = linked_cuda(plan);
  });
  step.refusal = failure.message;
  return step;
}

/// The links of the program in the text `marked`, which has more lines: the marks.
LinkedText with_marks(const LinkedText &program, const std::string &marked) {
  LinkedText lines;
  auto next = program.begin();
  for (std::string &line : split_lines(marked))
    if (next != program.end() && next->text == line)
      lines.push_back(*next++);
    else
      lines.push_back({std::move(line), {}});
  return lines;
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

std::vector<Step> steps_of(const Failure &failure) {
  if (!failure.schedule)
    return {};
  std::vector<Step> steps = steps_of(*failure.schedule);
  Step refused;
  refused.program = steps.back().program;
  refused.refusal = failure.message;
  refused.refused = true;
  if (!failure.details.empty())
    refused.program = with_marks(refused.program, failure.details);
  if (!failure.directive.empty()) {
    refused.directive = failure.directive + ";";
    refused.refusal = failure.message.substr(failure.directive.size() + 2);
  }
  steps.push_back(std::move(refused));
  return steps;
}

} // namespace nestsmith::cli::report
