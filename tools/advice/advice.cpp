#include "tools/advice/advice.h"

#include "runtime/model/analyse.h"
#include "runtime/sim/workers.h"
#include "tools/advice/changes.h"
#include "tools/output/json.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <limits>

namespace nestsmith::cli {

namespace {

/// The rules in the order in which their best changes are tried.
constexpr std::vector<Change> (*rules[])(const Subject &) = {pad_rows,     swizzle_words,  swap_lanes,
                                                             turn_knobs,   widen_accesses, overlap_copies,
                                                             resize_tiles, reorder_blocks, limit_registers};
/// The changes of a rule that are looked at, and the changes of all rules that are compiled and estimated.
constexpr std::size_t most_looked_at = 12, most_estimated = 6;
/// A look counts few blocks and models few requests. It ranks the changes of a rule by their least time.
constexpr AnalysisOptions look_options{.max_blocks = 2, .max_requests = 100'000, .host_threads = 1};
/// A look at a change with a least time that is larger by this factor excludes it.
constexpr double not_promising = 1.1;

/// A legal change, lowered.
struct Applied {
  std::string what;
  Scheduled scheduled;
  kernel::Plan plan;
  double least = 0; ///< by a look
};

double look(const Scheduled &scheduled, const kernel::Plan &plan, const Gpu &gpu) {
  return analyse(scheduled.source(), plan, gpu, {}, look_options).seconds();
}

/// None if the change is illegal for this schedule, this GPU or this shape.
std::optional<Applied> applied(const Change &change, const Scheduled &from, const Gpu &gpu) {
  try {
    Scheduled scheduled = from;
    scheduled.schedule = change.schedule();
    if (!scheduled.schedule.obligations().empty())
      return std::nullopt;
    kernel::Plan plan = scheduled.plan();
    double least = look(scheduled, plan, gpu);
    return Applied{change.what, std::move(scheduled), std::move(plan), least};
  } catch (const UserError &) {
    return std::nullopt;
  }
}

/// The legal and promising changes of a rule, the most promising first.
std::vector<Applied> look_at(std::vector<Change> changes, const Subject &subject, double least) {
  changes.resize(std::min(changes.size(), most_looked_at));
  std::vector<std::optional<Applied>> results(changes.size());
  sim::for_each_index(0, changes.size(), [&](std::size_t n) {
    results[n] = applied(changes[n], subject.scheduled, subject.analysis.gpu);
  });
  std::vector<Applied> legal;
  for (std::optional<Applied> &each : results)
    if (each && each->least < least * not_promising)
      legal.push_back(*std::move(each));
  std::ranges::stable_sort(legal, {}, &Applied::least);
  return legal;
}

std::vector<Applied> promising(const Subject &subject) {
  const Scheduled &scheduled = subject.scheduled;
  double least = look(scheduled, scheduled.plan(), subject.analysis.gpu);
  std::vector<std::vector<Applied>> of_rules;
  for (auto rule : rules)
    of_rules.push_back(look_at(rule(subject), subject, least));
  std::vector<Applied> chosen;
  for (std::size_t rank = 0; rank < most_looked_at; ++rank)
    for (std::vector<Applied> &changes : of_rules)
      if (rank < changes.size() && chosen.size() < most_estimated)
        chosen.push_back(std::move(changes[rank]));
  return chosen;
}

std::int64_t spilled(const PlanAnalysis &analysis) {
  std::int64_t bytes = 0;
  for (const KernelAnalysis &kernel : analysis.kernels)
    if (kernel.compiled)
      bytes += kernel.compiled->spill_loads + kernel.compiled->spill_stores;
  return bytes;
}

bool compiled(const PlanAnalysis &analysis) {
  return std::ranges::all_of(analysis.kernels,
                             [](const KernelAnalysis &kernel) { return kernel.compiled.has_value(); });
}

/// The time of a change in the model; none if it spills more registers, which the model does not know exactly.
std::optional<double> time_of(const Applied &change, const PlanAnalysis &before, ResultCache *results) {
  try {
    std::string note;
    std::vector<KernelResources> resources = resources_if_possible(change.plan, before.gpu, note);
    PlanAnalysis after = results ? results->analyse(change.scheduled, change.plan, before.gpu, resources)
                                 : analyse(change.scheduled.source(), change.plan, before.gpu, resources);
    if (spilled(after) > spilled(before) || compiled(after) != compiled(before))
      return std::nullopt;
    return after.estimated_seconds();
  } catch (const UserError &) {
    return std::nullopt;
  }
}

} // namespace

const Tried *Advice::best() const {
  return !tried.empty() && tried.front().seconds * least_gain <= seconds ? &tried.front() : nullptr;
}

Advice advise(const Analysed &analysed, ResultCache *results) {
  Subject subject{analysed.scheduled, analysed.analysis};
  Advice advice{analysed.analysis.estimated_seconds(), compiled(analysed.analysis), {}};
  std::vector<Applied> changes = promising(subject);
  std::vector<std::optional<double>> times(changes.size());
  auto estimate = [&](std::size_t n) { times[n] = time_of(changes[n], analysed.analysis, results); };
  if (results) // it is not for several threads
    for (std::size_t n = 0; n < changes.size(); ++n)
      estimate(n);
  else
    sim::for_each_index(0, changes.size(), estimate);
  for (std::size_t n = 0; n < changes.size(); ++n)
    if (times[n])
      advice.tried.push_back({changes[n].what, *times[n]});
  std::ranges::stable_sort(advice.tried, {}, &Tried::seconds);
  return advice;
}

std::string to_text(const Advice &advice) {
  const char *time = advice.estimated ? "estimated" : "least time";
  if (const Tried *best = advice.best())
    return fmt::format("To improve: {}: {} {} instead of {}, {} times less.", best->what, time,
                       seconds_text(best->seconds), seconds_text(advice.seconds),
                       number_text(advice.seconds / best->seconds));
  if (advice.tried.empty())
    return "";
  std::vector<std::string> changes;
  for (const Tried &each : advice.tried)
    changes.push_back(fmt::format("{} ({})", each.what, seconds_text(each.seconds)));
  return fmt::format("No change that was tried gains {} % in the {} of {}: {}.",
                     number_text(100 * (Advice::least_gain - 1)),
                     advice.estimated ? "estimated time" : "least time", seconds_text(advice.seconds),
                     fmt::join(changes, "; "));
}

void write_advice(llvm::json::OStream &json, const Advice &advice) {
  json.attributeObject("advice", [&] {
    json.attribute("by", advice.estimated ? "estimate" : "bound");
    json.attribute("seconds", advice.seconds);
    if (const Tried *best = advice.best()) {
      json.attribute("change", best->what);
      json.attribute("changed_seconds", best->seconds);
      json.attribute("gain", advice.seconds / best->seconds);
    }
    json.attributeArray("tried", [&] {
      for (const Tried &each : advice.tried)
        json.object([&] {
          json.attribute("change", each.what);
          json.attribute("seconds", each.seconds);
        });
    });
  });
}

} // namespace nestsmith::cli
