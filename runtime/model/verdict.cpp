#include "runtime/model/verdict.h"

#include "dsl/expr/error.h"
#include "runtime/model/explain_factors.h"

#include <algorithm>

namespace nestsmith {

namespace {

/// An estimate is less exact than a count.
constexpr double noticed_of_estimate = 0.1, noticed_of_record = 0.02;

Verdict verdict_from(Source by, double before, double after, double least) {
  if (!differs(before, after, least))
    return {Outcome::same, by, before > 0 ? after / before : 1};
  return {after < before ? Outcome::better : Outcome::worse, by, after / before};
}

std::optional<Verdict> verdict_by_record(const PlanAnalysis &before, const PlanAnalysis &after) {
  const std::optional<MeasuredTime> &b = before.measured, &a = after.measured;
  if (!b || !a || b->conditions != a->conditions)
    return std::nullopt;
  Verdict verdict = verdict_from(Source::record, b->seconds, a->seconds, noticed_of_record);
  if (std::max(b->lower_quartile, a->lower_quartile) <= std::min(b->upper_quartile, a->upper_quartile))
    verdict.outcome = Outcome::same;
  return verdict;
}

/// Without compiled code, the estimate is the least time.
bool is_estimated(const PlanAnalysis &analysis) {
  return std::ranges::all_of(analysis.kernels, [](const KernelAnalysis &kernel) {
    return kernel.compiled || kernel.estimated_seconds > kernel.seconds();
  });
}

} // namespace

std::string_view name(Outcome outcome) {
  switch (outcome) {
  case Outcome::better:
    return "better";
  case Outcome::same:
    return "same";
  case Outcome::worse:
    return "worse";
  }
  internal_error("unknown outcome of a comparison");
}

std::string_view name(Source source) {
  switch (source) {
  case Source::record:
    return "record";
  case Source::estimate:
    return "estimate";
  case Source::bound:
    return "bound";
  }
  internal_error("unknown source of a verdict");
}

std::optional<Verdict> verdict_by(Source source, const PlanAnalysis &before, const PlanAnalysis &after) {
  switch (source) {
  case Source::record:
    return verdict_by_record(before, after);
  case Source::estimate:
    if (!is_estimated(before) || !is_estimated(after))
      return std::nullopt;
    return verdict_from(source, before.estimated_seconds(), after.estimated_seconds(), noticed_of_estimate);
  case Source::bound:
    return verdict_from(source, before.seconds(), after.seconds(), noticed);
  }
  internal_error("unknown source of a verdict");
}

Verdict verdict_of(const PlanAnalysis &before, const PlanAnalysis &after) {
  for (Source source : sources)
    if (auto verdict = verdict_by(source, before, after))
      return *verdict;
  internal_error("a bound has a time of each plan");
}

} // namespace nestsmith
