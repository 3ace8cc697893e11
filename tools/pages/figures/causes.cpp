#include "tools/pages/figures/causes.h"

#include "runtime/model/estimate.h"
#include "runtime/model/explain.h"
#include "runtime/model/explain_factors.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace nestsmith::figure {

namespace {

double multiply_adds(const KernelAnalysis &analysis) {
  return static_cast<double>(analysis.counters.multiply_adds.warps);
}

/// The loads of global memory that the text of the kernel states, for each multiply-add.
double stated_global_loads(const KernelAnalysis &analysis) {
  return static_cast<double>(analysis.counters.total(Scope::global, false).requests) / multiply_adds(analysis);
}

/// A kernel that is faster than its least time: the least time counts work that the compiled code does not do.
std::string below_least_time(const PublishedTime &rung) {
  const KernelAnalysis &slowest = rung.analysis.slowest();
  double least = rung.analysis.seconds();
  if (rung.seconds >= least || multiply_adds(slowest) == 0)
    return "";
  std::string text =
      fmt::format("{} takes {} in the post, less than its least time of {} by {}", rung.name,
                  seconds_text(rung.seconds), seconds_text(least), nestsmith::name(slowest.limiter()));
  double stated = stated_global_loads(slowest), done = executed(slowest).global_loads;
  bool fewer = done > 0 && differs(stated, done) && done < stated;
  bool loads = slowest.limiter() == Resource::l1 || slowest.limiter() == Resource::issue;
  return text + (fewer && loads ? fmt::format(": the least time counts {} loads of global memory for each "
                                              "multiply-add, and the compiled code executes {}",
                                              number_text(stated), number_text(done))
                                : "; the cause is not known");
}

/// The figures that change between the kernels, and the resident warps even if they do not.
std::string changes(const KernelAnalysis &before, const KernelAnalysis &after) {
  Executed b = executed(before), a = executed(after);
  std::vector<std::string> parts;
  auto add = [&](const char *what, double was, double is) {
    if (was > 0 && is > 0 && differs(was, is))
      parts.push_back(fmt::format("{} {} instead of {}", number_text(is), what, number_text(was)));
  };
  add("instructions for each multiply-add", b.instructions, a.instructions);
  add("loads of global memory for each multiply-add", b.global_loads, a.global_loads);
  add("loads of shared memory for each multiply-add", b.shared_loads, a.shared_loads);
  add("barriers for each warp", before.barriers_of_warp(), after.barriers_of_warp());
  if (before.occupancy.warps == after.occupancy.warps)
    parts.push_back(fmt::format("as many resident warps, {}", before.occupancy.warps));
  else
    add("resident warps", before.occupancy.warps, after.occupancy.warps);
  return fmt::format("{}", fmt::join(parts, ", "));
}

} // namespace

Executed executed(const KernelAnalysis &analysis) {
  double work = multiply_adds(analysis) / std::max(1.0, static_cast<double>(analysis.warps()));
  std::optional<model::CountedCode> counted = model::counted_code(analysis);
  if (!counted || work == 0)
    return {};
  Executed sum;
  for (std::size_t n = 0; n < counted->code.size(); ++n) {
    double times = counted->times(n) / work;
    sum.instructions += times;
    if (counted->code[n].unit == model::Unit::global_load)
      sum.global_loads += times;
    if (counted->code[n].unit == model::Unit::shared_load)
      sum.shared_loads += times;
  }
  return sum;
}

std::string cause(const PublishedTime &before, const PublishedTime &after, bool agrees) {
  std::vector<std::string> parts;
  for (const PublishedTime *each : {&before, &after})
    if (std::string text = below_least_time(*each); !text.empty())
      parts.push_back(text);
  double published = after.seconds / before.seconds,
         least = after.analysis.seconds() / before.analysis.seconds();
  bool bound_agrees = differs(published, 1, 0.05) == differs(least, 1, 0.05) && (published < 1) == (least < 1);
  std::string facts = changes(before.analysis.slowest(), after.analysis.slowest());
  if (!agrees)
    parts.push_back("the cause of the difference is not known; the compiled code has " + facts);
  else if (!bound_agrees)
    parts.push_back(
        fmt::format("the least times alone give {}; the compiled code has {}", number_text(least), facts));
  return fmt::format("{}", fmt::join(parts, ". Also, "));
}

} // namespace nestsmith::figure
