#include "runtime/model/explain.h"

#include "dsl/expr/error.h"
#include "runtime/model/explain_factors.h"
#include "runtime/model/host.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace nestsmith {

namespace {

/// Up to `near_bound` times its least time, the limiter limits a kernel.
constexpr double near_bound = 1.15;

/// "L1 takes", "matrix units take"
std::string_view verb(Resource resource, std::string_view of_one, std::string_view of_several) {
  return resource == Resource::issue || resource == Resource::matrix ? of_several : of_one;
}

/// "The limiter moves from L1 to issue slots; the next resource is DRAM, with 61 % of its time."
std::string limiter_text(const PlanAnalysis &before, const PlanAnalysis &after) {
  const KernelAnalysis &slowest = after.slowest();
  const Bound &next = slowest.bounds[1];
  std::string text =
      before.limiter() == after.limiter()
          ? fmt::format("The limiter is still {}", name(after.limiter()))
          : fmt::format("The limiter moves from {} to {}", name(before.limiter()), name(after.limiter()));
  return text + fmt::format("; the next resource is {}, with {} of its time.", name(next.resource),
                            percent_text(next.seconds / slowest.seconds()));
}

/// The number of multiply-adds for each element fetched from global memory; 0 if there are none.
double reuse(const PlanAnalysis &analysis) {
  double bytes = 0;
  for (const KernelAnalysis &kernel : analysis.kernels)
    for (const model::AccessCounts &access : kernel.counters.accesses)
      if (access.buffer->scope == Scope::global && !access.is_store() && access.requests > 0)
        bytes += static_cast<double>(access.asked);
  return bytes == 0 ? 0 : analysis.multiply_adds() / (bytes / 4);
}

std::string reuse_text(const PlanAnalysis &before, const PlanAnalysis &after) {
  double b = reuse(before), a = reuse(after);
  if (b == 0 || a == 0 || !differs(b, a))
    return "";
  return fmt::format(
      " Each 4-byte word loaded from global memory is used in {} multiply-adds instead of {}. The "
      "requested intensity is {} instead of {} FLOP/byte.",
      number_text(a), number_text(b), number_text(after.asked_intensity()),
      number_text(before.asked_intensity()));
}

/// Names the units that only the second plan uses.
std::string units_text(const PlanAnalysis &before, const PlanAnalysis &after) {
  auto counts = [](const PlanAnalysis &analysis) -> const model::Counters & {
    return analysis.slowest().counters;
  };
  auto only_after = [&](auto used) { return used(counts(after)) && !used(counts(before)); };
  std::string text;
  if (only_after([](const model::Counters &c) { return !c.matrix.empty(); }))
    text += " The matrix units compute the products instead of the FP32 pipe.";
  if (only_after([](const model::Counters &c) { return c.ldmatrix().requests > 0; }))
    text += " A warp loads its operands by ldmatrix, up to four 8 x 8 matrices with one instruction.";
  if (only_after([](const model::Counters &c) { return c.copied(Scope::shared).requests > 0; }))
    text += " Asynchronous copies (cp.async) fill shared memory without registers, while the warps compute.";
  return text;
}

std::string dram_text(const PlanAnalysis &before, const PlanAnalysis &after) {
  double b = before.dram_bytes(), a = after.dram_bytes();
  if (before.limiter() == Resource::dram || after.limiter() == Resource::dram)
    return "";
  if (differs(b, a))
    return fmt::format(" DRAM moves {} instead of {}, which limits neither kernel.", bytes_text(a),
                       bytes_text(b));
  return differs(before.seconds(), after.seconds())
             ? fmt::format(" DRAM moves as many bytes as before, {}: it is not the reason.", bytes_text(a))
             : "";
}

std::string limits_text(const Occupancy &o) {
  std::vector<std::string_view> limits;
  for (OccupancyLimit limit : o.limits)
    limits.push_back(name(limit));
  return fmt::format("{}", fmt::join(limits, " and "));
}

std::string occupancy_text(const PlanAnalysis &before, const PlanAnalysis &after) {
  const KernelAnalysis &b = before.slowest(), &a = after.slowest();
  if (!differs(b.occupancy.ratio(), a.occupancy.ratio()))
    return "";
  bool falls = a.occupancy.ratio() < b.occupancy.ratio();
  return fmt::format(" Occupancy {} from {} to {}, limited by {}: {} warps are resident to hide latency.",
                     falls ? "falls" : "rises", percent_text(b.occupancy.ratio()),
                     percent_text(a.occupancy.ratio()), limits_text(a.occupancy), falls ? "fewer" : "more");
}

std::string lanes_text(const PlanAnalysis &before, const PlanAnalysis &after) {
  double b = before.slowest().active_lanes(), a = after.slowest().active_lanes();
  if (!differs(b, a))
    return "";
  return fmt::format(" An instruction has {} of 32 lanes active on average instead of {}.", number_text(a),
                     number_text(b));
}

/// The largest number of groups of asynchronous copies in flight while a tile is used; 0 without copies.
double groups_in_flight(const KernelAnalysis &analysis) {
  std::int64_t most = 0;
  kernel::walk(analysis.kernel.body, [&](const kernel::Stmt &stmt) {
    if (const auto *wait = kernel::as<kernel::Wait>(stmt))
      most = std::max(most, wait->pending + 1);
  });
  return static_cast<double>(most);
}

/// Figures that no bound contains.
std::string other_figures(const KernelAnalysis &before, const KernelAnalysis &after) {
  std::vector<std::string> parts;
  auto add = [&](const char *name, double b, double a) {
    if (a != b)
      parts.push_back(fmt::format("{} {} instead of {}", name, count_text(a), count_text(b)));
  };
  add("barriers for each warp", before.barriers_of_warp(), after.barriers_of_warp());
  add("groups of copies in flight", groups_in_flight(before), groups_in_flight(after));
  add("bytes of shared memory for each block", static_cast<double>(before.kernel.shared_bytes),
      static_cast<double>(after.kernel.shared_bytes));
  if (before.compiled && after.compiled)
    add("registers for each thread", before.compiled->registers, after.compiled->registers);
  return parts.empty() ? "" : fmt::format(" Other figures change: {}.", fmt::join(parts, ", "));
}

/// Names the resources whose time changed although the total time did not.
std::string without_effect(const PlanAnalysis &before, const PlanAnalysis &after) {
  std::vector<std::string> parts;
  for (Resource resource : resources)
    if (resource != after.limiter() && differs(before.seconds(resource), after.seconds(resource)))
      parts.push_back(fmt::format("{} {} {} instead of {}", name(resource), verb(resource, "takes", "take"),
                                  seconds_text(after.seconds(resource)),
                                  seconds_text(before.seconds(resource))));
  std::string others = other_figures(before.slowest(), after.slowest());
  if (!parts.empty())
    return fmt::format(" Other resources change but limit neither kernel: {}.{}", fmt::join(parts, ", "),
                       others);
  return others.empty() ? " The counted figures are the same." : others;
}

/// "than NAME" or "over NAME", with the outcome.
std::string outcome_text(Outcome outcome, const std::string &name) {
  return outcome == Outcome::same
             ? "No gain over " + name
             : fmt::format("{} than {}", outcome == Outcome::better ? "Better" : "Worse", name);
}

/// "shared memory, which limited it, takes 2 ms instead of 1 ms" with the factors, and the change of the least
/// time.
std::string least_time_text(const PlanAnalysis &before, const PlanAnalysis &after) {
  double b = before.seconds(), a = after.seconds();
  bool falls = a < b;
  Resource reason = falls ? before.limiter() : after.limiter();
  return fmt::format("{}, which {} it, {} {} instead of {}{} The least time {} from {} to {}, {} times {}. ",
                     name(reason), falls ? "limited" : verb(reason, "limits", "limit"),
                     verb(reason, "takes", "take"), seconds_text(after.seconds(reason)),
                     seconds_text(before.seconds(reason)), because(reason, before, after, !falls),
                     falls ? "falls" : "rises", seconds_text(b), seconds_text(a),
                     number_text(falls ? b / a : a / b), falls ? "less" : "more");
}

/// "falls from 3 ms to 2 ms", "is about the same, 2 ms"
std::string change_text(double before, double after, Outcome outcome) {
  return outcome == Outcome::same
             ? fmt::format("is about the same, {} instead of {}", seconds_text(after), seconds_text(before))
             : fmt::format("{} from {} to {}", outcome == Outcome::better ? "falls" : "rises",
                           seconds_text(before), seconds_text(after));
}

/// "the estimated time, with latency, barriers and waves, falls from 3 ms to 2 ms"
std::string estimates_text(const PlanAnalysis &before, const PlanAnalysis &after, Outcome outcome) {
  return "the estimated time, with latency, barriers and waves, " +
         change_text(before.estimated_seconds(), after.estimated_seconds(), outcome);
}

/// The records, and whether the estimate agrees with them.
std::string record_text(const PlanAnalysis &before, const PlanAnalysis &after, const Verdict &verdict) {
  double b = before.measured->seconds, a = after.measured->seconds;
  std::string text = fmt::format(
      "measured on {}, {} instead of {}, {}. ", before.gpu.product, seconds_text(a), seconds_text(b),
      verdict.outcome == Outcome::same
          ? std::string("about the same")
          : fmt::format("{} times {}", number_text(a < b ? b / a : a / b), a < b ? "faster" : "slower"));
  auto estimated = verdict_by(Source::estimate, before, after);
  if (!estimated)
    return text;
  const char *stance = estimated->outcome == verdict.outcome ? "agrees"
                       : estimated->outcome == Outcome::same ? "does not show it"
                                                             : "disagrees";
  return text +
         fmt::format("The estimate {}: it {}. ", stance,
                     change_text(before.estimated_seconds(), after.estimated_seconds(), estimated->outcome));
}

/// The least times of plans about which a stronger source speaks.
std::string bound_beside(const PlanAnalysis &before, const PlanAnalysis &after, Outcome outcome) {
  auto bound = verdict_by(Source::bound, before, after);
  if (bound->outcome == Outcome::same)
    return fmt::format("The least time is the same, {}.", seconds_text(after.seconds()));
  if (bound->outcome == outcome)
    return "A reason: " + least_time_text(before, after);
  return "The least time alone does not show it: " + least_time_text(before, after);
}

/// For plans with about the same time of each source.
std::string same_text(const PlanAnalysis &before, const std::string &name_before, const PlanAnalysis &after) {
  Resource was = before.limiter(), is = after.limiter();
  std::string least = seconds_text(after.seconds());
  double b = before.estimated_seconds(), a = after.estimated_seconds();
  if (std::max(a, b) > near_bound * after.seconds())
    return fmt::format(
        "No gain over {}: {}. The least time is the same, {} for {}; latency, barriers and waves "
        "take the rest.",
        name_before, estimates_text(before, after, Outcome::same), least, name(is));
  return was == is ? fmt::format("No gain over {}, because {} {} both, with {}.", name_before, name(is),
                                 verb(is, "limits", "limit"), least)
                   : fmt::format("No gain over {}, because {}, which {} it now, {} as long as {} did, {}.",
                                 name_before, name(is), verb(is, "limits", "limit"), verb(is, "takes", "take"),
                                 name(was), least);
}

/// The verdict, what speaks for it, and what the least times say.
std::string verdict_text(const PlanAnalysis &before, const std::string &name_before,
                         const PlanAnalysis &after) {
  Verdict verdict = verdict_of(before, after);
  std::string outcome = outcome_text(verdict.outcome, name_before);
  bool bounds_same = !differs(before.seconds(), after.seconds());
  switch (verdict.by) {
  case Source::record:
    return fmt::format("{}: {}{}", outcome, record_text(before, after, verdict),
                       bound_beside(before, after, verdict.outcome));
  case Source::estimate:
    if (verdict.outcome == Outcome::same && bounds_same)
      return same_text(before, name_before, after);
    if (verdict_by(Source::bound, before, after)->outcome == verdict.outcome)
      return fmt::format("{}, because {}By the estimate, with latency, barriers and waves, the time {}. ",
                         outcome, least_time_text(before, after),
                         change_text(before.estimated_seconds(), after.estimated_seconds(), verdict.outcome));
    return fmt::format("{}: {}. {}", outcome, estimates_text(before, after, verdict.outcome),
                       bound_beside(before, after, verdict.outcome));
  case Source::bound:
    return bounds_same ? same_text(before, name_before, after)
                       : fmt::format("{}, because {}", outcome, least_time_text(before, after));
  }
  internal_error("unknown source of a verdict");
}

} // namespace

std::string in_words(const PlanAnalysis &analysis) {
  const KernelAnalysis &slowest = analysis.slowest();
  const Bound &next = slowest.bounds[1];
  std::string text = fmt::format(
      "The schedule takes at least {} on {}, bound by {}; the next resource is {}, with {} of that time.",
      seconds_text(analysis.seconds()), analysis.gpu.name, name(analysis.limiter()), name(next.resource),
      percent_text(next.seconds / slowest.seconds()));
  if (slowest.compiled)
    text += fmt::format(" The estimated time is {}, limited by {}.", seconds_text(slowest.estimated_seconds),
                        limit_text(slowest));
  if (analysis.kernels.size() > 1)
    text +=
        fmt::format(" Of its {} kernels, {} takes the longest.", analysis.kernels.size(), slowest.kernel.name);
  text += fmt::format(
      " The requested intensity is {} FLOP/byte; the algorithm has {}, and the ridge point of {} is {}.",
      number_text(analysis.asked_intensity()), number_text(analysis.algorithm_intensity()), analysis.gpu.name,
      number_text(analysis.ridge()));
  if (slowest.imbalance(analysis.gpu) > 1 + noticed)
    text +=
        fmt::format(" The grid of {} block{} does not fill {} SMs evenly: the busiest has {} times the mean.",
                    slowest.waves.blocks, slowest.waves.blocks == 1 ? "" : "s", analysis.gpu.sms,
                    number_text(slowest.imbalance(analysis.gpu)));
  return text + host_in_words(analysis);
}

std::string in_words(const PlanAnalysis &before, const std::string &name_before, const PlanAnalysis &after) {
  std::string text = verdict_text(before, name_before, after);
  if (!differs(before.seconds(), after.seconds()))
    text += without_effect(before, after) + " ";
  text += limiter_text(before, after);
  return text + units_text(before, after) + reuse_text(before, after) + dram_text(before, after) +
         lanes_text(before, after) + occupancy_text(before, after) + host_in_words(before, after);
}

} // namespace nestsmith
