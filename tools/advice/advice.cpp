#include "tools/advice/advice.h"

#include "dsl/expr/outside.h"
#include "runtime/model/analyse.h"
#include "runtime/sim/workers.h"
#include "tools/advice/changes.h"
#include "tools/output/json.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <limits>

namespace nestsmith::cli {

// LLVM finds these two by their name and the types of their arguments.
// NOLINTBEGIN(readability-identifier-naming)
static bool fromJSON(const llvm::json::Value &value, Tried &tried, llvm::json::Path path) {
  llvm::json::ObjectMapper object(value, path);
  return object && object.map("en", tried.what.en) && object.map("ko", tried.what.ko) &&
         object.map("seconds", tried.seconds);
}
static bool fromJSON(const llvm::json::Value &value, Advice &advice, llvm::json::Path path) {
  llvm::json::ObjectMapper object(value, path);
  return object && object.map("seconds", advice.seconds) && object.map("estimated", advice.estimated) &&
         object.map("tried", advice.tried);
}
// NOLINTEND(readability-identifier-naming)

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
  Texts what;
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
std::optional<double> time_of(const Applied &change, const PlanAnalysis &before) {
  try {
    std::string note;
    std::vector<KernelResources> resources = resources_if_possible(change.plan, before.gpu, note);
    PlanAnalysis after = analyse(change.scheduled.source(), change.plan, before.gpu, resources);
    if (spilled(after) > spilled(before) || compiled(after) != compiled(before))
      return std::nullopt;
    return after.estimated_seconds();
  } catch (const UserError &) {
    return std::nullopt;
  }
}

Advice advised(const Analysed &analysed) {
  Subject subject{analysed.scheduled, analysed.analysis};
  Advice advice{analysed.analysis.estimated_seconds(), compiled(analysed.analysis), {}};
  std::vector<Applied> changes = promising(subject);
  std::vector<std::optional<double>> times(changes.size());
  sim::for_each_index(0, changes.size(),
                      [&](std::size_t n) { times[n] = time_of(changes[n], analysed.analysis); });
  for (std::size_t n = 0; n < changes.size(); ++n)
    if (times[n])
      advice.tried.push_back({changes[n].what, *times[n]});
  std::ranges::stable_sort(advice.tried, {}, &Tried::seconds);
  return advice;
}

/// For the cache of results.
std::string written(const Advice &advice) {
  return json_line([&](llvm::json::OStream &json) {
    json.object([&] {
      json.attribute("seconds", advice.seconds);
      json.attribute("estimated", advice.estimated);
      json.attributeArray("tried", [&] {
        for (const Tried &each : advice.tried)
          json.object([&] {
            json.attribute("en", each.what.en);
            json.attribute("ko", each.what.ko);
            json.attribute("seconds", each.seconds);
          });
      });
    });
  });
}

/// None if `text` is not what `written` makes.
std::optional<Advice> read(const std::string &text) {
  std::string why;
  std::optional<llvm::json::Value> parsed = parse_outside(text, {.bytes = 1 << 20}, why);
  llvm::json::Path::Root root;
  Advice advice;
  return parsed && fromJSON(*parsed, advice, root) ? std::optional(std::move(advice)) : std::nullopt;
}

} // namespace

const Tried *Advice::best() const {
  return !tried.empty() && tried.front().seconds * least_gain <= seconds ? &tried.front() : nullptr;
}

Advice advise(const Analysed &analysed, ResultCache *results) {
  if (!results)
    return advised(analysed);
  std::vector<KernelResources> compiled;
  for (const KernelAnalysis &kernel : analysed.analysis.kernels)
    if (kernel.compiled)
      compiled.push_back(*kernel.compiled);
  return *read(results->text(
      "advice", analysed.scheduled, analysed.scheduled.plan(), analysed.analysis.gpu, compiled,
      [](const std::string &text) { return read(text).has_value(); },
      [&] { return written(advised(analysed)); }));
}

std::string to_text(const Advice &advice, Language l) {
  constexpr Words estimated = {"estimated", "추정 시간이"}, least_time = {"least time", "최소 시간이"};
  if (const Tried *best = advice.best())
    return say(l, "To improve: {0}: {1} {2} instead of {3}, {4} times less.",
               "개선 방법: {0}. {1} {3}에서 {2}로 {4}배 줄어듭니다.", best->what.in(l),
               (advice.estimated ? estimated : least_time).in(l), seconds_text(best->seconds),
               seconds_text(advice.seconds), number_text(advice.seconds / best->seconds));
  if (advice.tried.empty())
    return "";
  std::vector<std::string> changes;
  for (const Tried &each : advice.tried)
    changes.push_back(fmt::format("{} ({})", each.what.in(l), seconds_text(each.seconds)));
  constexpr Words estimated_time = {"estimated time", "추정 시간"}, least = {"least time", "최소 시간"};
  return say(l, "No change that was tried gains {0} % in the {1} of {2}: {3}.",
             "시도한 변경 가운데 {1}({2})을 {0} % 이상 줄이는 것은 없습니다: {3}.",
             number_text(100 * (Advice::least_gain - 1)), (advice.estimated ? estimated_time : least).in(l),
             seconds_text(advice.seconds), fmt::format("{}", fmt::join(changes, "; ")));
}

void write_advice(llvm::json::OStream &json, const Advice &advice) {
  json.attributeObject("advice", [&] {
    json.attribute("by", advice.estimated ? "estimate" : "bound");
    json.attribute("seconds", advice.seconds);
    if (const Tried *best = advice.best()) {
      json.attribute("change", best->what.en);
      json.attribute("changed_seconds", best->seconds);
      json.attribute("gain", advice.seconds / best->seconds);
    }
    json.attributeArray("tried", [&] {
      for (const Tried &each : advice.tried)
        json.object([&] {
          json.attribute("change", each.what.en);
          json.attribute("seconds", each.seconds);
        });
    });
  });
}

} // namespace nestsmith::cli
