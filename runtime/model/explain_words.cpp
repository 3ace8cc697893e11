#include "runtime/model/explain.h"

#include "dsl/error.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <numeric>

namespace nestsmith {

namespace {

/// A smaller relative change is not mentioned.
constexpr double noticed = 0.03;
/// The same for the estimated time, which is less exact than the counts.
constexpr double noticed_of_estimate = 0.1;

bool differs(double before, double after, double least = noticed) {
  return std::fabs(after - before) > least * std::max(std::fabs(before), std::fabs(after));
}

/// The requests after the compiler merges loads, as the bounds count them.
model::RequestSums merged(const PlanAnalysis &analysis, Scope scope) {
  model::RequestSums sum;
  for (const KernelAnalysis &kernel : analysis.kernels)
    for (bool stores : {false, true})
      sum += kernel.counters.merged(scope, stores);
  return sum;
}

double requests(const PlanAnalysis &analysis, Scope scope) {
  return static_cast<double>(merged(analysis, scope).requests);
}

/// The sum over all loads of one buffer, or over all stores to it. It includes the copies of an access that
/// unrolling and loop splitting make.
struct BufferTraffic {
  model::RequestSums merged; ///< as the bounds count them
  double bytes = 0;          ///< that lanes request
};
using Key = std::pair<bool, std::string>; ///< whether it stores, and the buffer; loads by ldmatrix are separate
std::map<Key, BufferTraffic> by_buffer(const PlanAnalysis &analysis, Scope scope) {
  std::map<Key, BufferTraffic> result;
  for (const KernelAnalysis &kernel : analysis.kernels)
    for (const model::AccessCounts &access : kernel.counters.accesses)
      if (access.buffer->scope == scope && access.requests > 0) {
        BufferTraffic &sum =
            result[{access.is_store(), access.buffer->name + (access.is_ldmatrix() ? " by ldmatrix" : "")}];
        sum.merged += access.merged;
        sum.bytes += static_cast<double>(access.asked);
      }
  return result;
}

std::string doing(const Key &key) { return (key.first ? "storing " : "reading ") + key.second; }

/// The cost of a request for a resource.
struct RequestUnit {
  const char *name; ///< "sector"
  std::uint64_t model::RequestSums::*count;

  explicit RequestUnit(Resource resource)
      : name(resource == Resource::shared ? "wavefront"
             : resource == Resource::l1   ? "line"
                                          : "sector"),
        count(resource == Resource::shared ? &model::RequestSums::wavefronts
              : resource == Resource::l1   ? &model::RequestSums::lines
                                           : &model::RequestSums::sectors) {}
  double each(const model::RequestSums &sum) const {
    return sum.requests == 0 ? 0 : static_cast<double>(sum.*count) / static_cast<double>(sum.requests);
  }
};

/// "reading A: 1 instead of 32, reading B: 4 instead of 1": the cost of a request, for each buffer where it
/// changed.
std::string details(const PlanAnalysis &before, const PlanAnalysis &after, Scope scope,
                    const RequestUnit &unit) {
  auto old = by_buffer(before, scope), now = by_buffer(after, scope);
  std::vector<std::string> parts;
  for (const auto &[key, sum] : now) {
    auto was = old.find(key);
    double b = was == old.end() ? 0 : unit.each(was->second.merged), a = unit.each(sum.merged);
    if (was != old.end() && differs(b, a))
      parts.push_back(fmt::format("{}: {} instead of {}", doing(key), number_text(a), number_text(b)));
  }
  return parts.empty() ? "" : fmt::format(" ({})", fmt::join(parts, ", "));
}

/// One factor of a product that gives the amount of a resource.
struct Factor {
  double before, after;
  std::string said;

  double weight() const { return before == 0 || after == 0 ? 0 : std::log(after / before); }
};

/// The count for each multiply-add of a warp, or the total count if there are no multiply-adds.
std::string how_often(const PlanAnalysis &analysis, double count) {
  return analysis.needed_multiply_adds > 0
             ? fmt::format("{} times per multiply-add", number_text(count * 32 / analysis.needed_multiply_adds))
             : count_text(count) + " times";
}

/// The same for the count before the change, without the unit.
std::string how_often_before(const PlanAnalysis &analysis, double count) {
  return analysis.needed_multiply_adds > 0 ? number_text(count * 32 / analysis.needed_multiply_adds)
                                           : count_text(count);
}

double arithmetic(const PlanAnalysis &analysis) {
  double sum = 0;
  for (const KernelAnalysis &kernel : analysis.kernels)
    sum += static_cast<double>(kernel.counters.multiply_adds.warps + kernel.counters.floating.warps);
  return sum;
}

double matrix_calls(const PlanAnalysis &analysis) {
  double sum = 0;
  for (const KernelAnalysis &kernel : analysis.kernels)
    sum += static_cast<double>(kernel.counters.matrix_calls().warps);
  return sum;
}

/// The work of the busiest SM divided by an even share of the work.
double imbalance(const PlanAnalysis &analysis, Resource resource) {
  double busiest = 0, even = 0;
  for (const KernelAnalysis &kernel : analysis.kernels) {
    double amount = kernel.bound(resource).amount;
    busiest += amount;
    even += amount / kernel.imbalance(analysis.gpu);
  }
  return even == 0 ? analysis.slowest().imbalance(analysis.gpu) : busiest / even;
}

Factor asked_factor(const PlanAnalysis &before, const PlanAnalysis &after, Scope scope) {
  double b = requests(before, scope), a = requests(after, scope);
  std::string memory = scope == Scope::global ? "global memory" : "shared memory";
  if (b == 0)
    return {b, a, fmt::format("{}, unused before, is accessed {}", memory, how_often(after, a))};
  return {
      b, a,
      fmt::format("{} is accessed {} instead of {}", memory, how_often(after, a), how_often_before(before, b))};
}

Factor cost_factor(const PlanAnalysis &before, const PlanAnalysis &after, Resource resource) {
  Scope scope = resource == Resource::shared ? Scope::shared : Scope::global;
  RequestUnit unit(resource);
  double b = unit.each(merged(before, scope)), a = unit.each(merged(after, scope));
  if (b == 0 || a == 0) // there is nothing to compare
    return {1, 1, ""};
  return {b, a,
          fmt::format("a request takes {} {}{} instead of {}{}", number_text(a), unit.name,
                      number_text(a) == "1" ? "" : "s", number_text(b), details(before, after, scope, unit))};
}

std::vector<Factor> memory_factors(Resource resource, const PlanAnalysis &before, const PlanAnalysis &after) {
  auto sum = [&](const PlanAnalysis &analysis, auto figure) {
    return std::accumulate(analysis.kernels.begin(), analysis.kernels.end(), 0.0,
                           [&](double total, const KernelAnalysis &kernel) {
                             return total + static_cast<double>(figure(kernel.memory.traffic));
                           });
  };
  auto l1 = [](const model::Traffic &t) { return t.l1_sectors + t.l2_writes; };
  auto l2 = [](const model::Traffic &t) { return t.l2_reads + t.l2_writes; };
  auto dram = [](const model::Traffic &t) { return t.dram_reads + t.dram_writes; };
  std::vector<Factor> factors;
  auto add = [&](auto from, auto to, const char *what, const char *which) {
    double b = sum(before, from) == 0 ? 0 : sum(before, to) / sum(before, from);
    double a = sum(after, from) == 0 ? 0 : sum(after, to) / sum(after, from);
    factors.push_back(
        {sum(before, from), sum(after, from),
         fmt::format("{} {} instead of {}", what, bytes_text(sum(after, from) * model::sector_bytes),
                     bytes_text(sum(before, from) * model::sector_bytes))});
    factors.push_back(
        {b, a, fmt::format("{} instead of {} of the traffic of {}", percent_text(a), percent_text(b), which)});
  };
  if (resource == Resource::dram) {
    add(l2, dram, "L2 moves", "L2 goes to DRAM");
    return factors;
  }
  add(l1, l2, "", "L1 goes to L2");
  factors.front() = asked_factor(before, after, Scope::global);
  factors.push_back(cost_factor(before, after, resource));
  return factors;
}

/// The factors that explain the change of a resource's time.
std::vector<Factor> factors(Resource resource, const PlanAnalysis &before, const PlanAnalysis &after) {
  if (!of_sm(resource))
    return memory_factors(resource, before, after);
  std::vector<Factor> result;
  Scope scope = resource == Resource::shared ? Scope::shared : Scope::global;
  if (resource == Resource::shared || resource == Resource::l1) {
    result.push_back(asked_factor(before, after, scope));
    result.push_back(cost_factor(before, after, resource));
  } else {
    if (resource == Resource::issue)
      for (Scope each : {Scope::global, Scope::shared})
        result.push_back(asked_factor(before, after, each));
    auto instructions = [&](double b, double a, const char *kind) {
      result.push_back(
          {b, a,
           fmt::format("there are {} {} instructions instead of {}", count_text(a), kind, count_text(b))});
    };
    if (resource != Resource::matrix)
      instructions(arithmetic(before), arithmetic(after), "arithmetic warp");
    if (resource != Resource::fp32)
      instructions(matrix_calls(before), matrix_calls(after), "matrix");
  }
  double b = imbalance(before, resource), a = imbalance(after, resource);
  result.push_back(
      {b, a,
       fmt::format("the busiest SM has {} times the mean work instead of {}", number_text(a), number_text(b))});
  return result;
}

/// The reasons for a change of the time: the factors that change in the same direction, the strongest first.
/// The factors that change in the other direction follow in a sentence with "However". The text starts with the
/// punctuation that joins it to the previous sentence.
std::string because(Resource resource, const PlanAnalysis &before, const PlanAnalysis &after, bool rises) {
  std::vector<Factor> list = factors(resource, before, after);
  std::ranges::stable_sort(list, std::greater<>{}, [](const Factor &f) { return std::fabs(f.weight()); });
  std::vector<std::string> with, against;
  for (const Factor &factor : list) {
    bool up = factor.after > factor.before;
    if (differs(factor.before, factor.after))
      (up == rises ? with : against).push_back(factor.said);
  }
  std::string text = with.empty() ? "" : fmt::format(": {}", fmt::join(with, ". Also, "));
  if (!against.empty())
    text += fmt::format(". However, {}", fmt::join(against, ", and "));
  return text + ".";
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
  for (const auto &[key, sum] : by_buffer(analysis, Scope::global))
    if (!key.first)
      bytes += sum.bytes;
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
    text += " Asynchronous copies (cp.async) fill shared memory without registers. This hides latency, which "
            "the bound does "
            "not model.";
  return text;
}

std::string dram_text(const PlanAnalysis &before, const PlanAnalysis &after) {
  double b = before.dram_bytes(), a = after.dram_bytes();
  if (before.limiter() == Resource::dram || after.limiter() == Resource::dram)
    return "";
  if (!differs(b, a))
    return fmt::format(" DRAM moves as many bytes as before, {}: it is not the reason.", bytes_text(a));
  return fmt::format(" DRAM moves {} instead of {}, which limits neither kernel.", bytes_text(a),
                     bytes_text(b));
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
  return fmt::format(
      " Occupancy {} from {} to {}, limited by {}: {} warps can hide latency, which the bound does not model.",
      falls ? "falls" : "rises", percent_text(b.occupancy.ratio()), percent_text(a.occupancy.ratio()),
      limits_text(a.occupancy), falls ? "fewer" : "more");
}

std::string lanes_text(const PlanAnalysis &before, const PlanAnalysis &after) {
  double b = before.slowest().active_lanes(), a = after.slowest().active_lanes();
  if (!differs(b, a))
    return "";
  return fmt::format(" An instruction has {} of 32 lanes active on average instead of {}.", number_text(a),
                     number_text(b));
}

/// Names the resources whose time changed although the total time did not.
std::string without_effect(const PlanAnalysis &before, const PlanAnalysis &after) {
  std::vector<std::string> parts;
  for (Resource resource : resources)
    if (resource != after.limiter() && differs(before.seconds(resource), after.seconds(resource)))
      parts.push_back(fmt::format("{} takes {} instead of {}", name(resource),
                                  seconds_text(after.seconds(resource)),
                                  seconds_text(before.seconds(resource))));
  return parts.empty()
             ? " Nothing else changes."
             : fmt::format(" Other resources change but limit neither kernel: {}.", fmt::join(parts, ", "));
}

/// A change that can reduce the time of the limiter.
std::string advice(const PlanAnalysis &analysis) {
  const KernelAnalysis &slowest = analysis.slowest();
  model::RequestSums loads = slowest.counters.total(Scope::global, false);
  model::RequestSums shared = slowest.counters.total(Scope::shared, false),
                     stored = slowest.counters.total(Scope::shared, true);
  switch (analysis.limiter()) {
  case Resource::issue:
    return "compute more results per thread, or use wider accesses, so that more of the instructions are "
           "arithmetic";
  case Resource::fp32:
    return "use fewer operations, or other units, because the arithmetic itself is the limit";
  case Resource::matrix:
    return "use operands of a narrower type, because the products themselves are the limit";
  case Resource::shared:
    return 10 * (shared.conflicts + stored.conflicts) > shared.wavefronts + stored.wavefronts
               ? "pad or swizzle the buffer, so that its words are in different banks"
               : "compute more results per thread, so that each loaded word is used more often";
  case Resource::l1:
    return static_cast<double>(loads.bytes_moved()) > 1.5 * static_cast<double>(slowest.asked_bytes())
               ? "let neighbouring lanes read neighbouring elements"
               : "keep reused data in shared memory or registers";
  case Resource::l2:
    return "use larger tiles, so that fewer blocks load each element";
  case Resource::dram:
    return analysis.dram_bytes() > 1.5 * analysis.needed_bytes
               ? "use larger tiles, or another order of the blocks, so that the operands are moved fewer times"
               : "fuse kernels or use smaller types, because each operand is already moved only about once";
  }
  internal_error("unknown resource");
}

/// "L1 takes", "matrix units take"
std::string_view verb(Resource resource, std::string_view of_one, std::string_view of_several) {
  return resource == Resource::issue || resource == Resource::matrix ? of_several : of_one;
}

/// For plans whose least times differ.
std::string bound_text(const PlanAnalysis &before, const std::string &name_before, const PlanAnalysis &after) {
  double b = before.seconds(), a = after.seconds();
  bool better = a < b;
  Resource reason = better ? before.limiter() : after.limiter();
  return fmt::format("{} than {}, because {}, which {} it, {} {} instead of {}{} The least time {} from {} to "
                     "{}, {} times {}. ",
                     better ? "Better" : "Worse", name_before, name(reason),
                     better ? "limited" : verb(reason, "limits", "limit"), verb(reason, "takes", "take"),
                     seconds_text(after.seconds(reason)), seconds_text(before.seconds(reason)),
                     because(reason, before, after, !better), better ? "falls" : "rises", seconds_text(b),
                     seconds_text(a), number_text(better ? b / a : a / b), better ? "less" : "more");
}

/// For plans with about the same least time.
std::string estimate_text(const PlanAnalysis &before, const std::string &name_before,
                          const PlanAnalysis &after) {
  Resource was = before.limiter(), is = after.limiter();
  std::string least = seconds_text(after.seconds());
  double b = before.estimated_seconds(), a = after.estimated_seconds();
  if (differs(b, a, noticed_of_estimate))
    return fmt::format(
        "{} than {}: the estimated time, with latency, barriers and waves, {} from {} to {}. The "
        "least time is the same, {}.",
        a < b ? "Better" : "Worse", name_before, a < b ? "falls" : "rises", seconds_text(b), seconds_text(a),
        least);
  return was == is ? fmt::format("No gain over {}, because {} {} both, with {}.", name_before, name(is),
                                 verb(is, "limits", "limit"), least)
                   : fmt::format("No gain over {}, because {}, which {} it now, {} as long as {} did, {}.",
                                 name_before, name(is), verb(is, "limits", "limit"), verb(is, "takes", "take"),
                                 name(was), least);
}

} // namespace

Outcome outcome(const PlanAnalysis &before, const PlanAnalysis &after) {
  double b = before.seconds(), a = after.seconds();
  if (differs(b, a))
    return a < b ? Outcome::better : Outcome::worse;
  b = before.estimated_seconds();
  a = after.estimated_seconds();
  return !differs(b, a, noticed_of_estimate) ? Outcome::same : a < b ? Outcome::better : Outcome::worse;
}

std::string in_words(const PlanAnalysis &analysis) {
  const KernelAnalysis &slowest = analysis.slowest();
  const Bound &next = slowest.bounds[1];
  std::string text = fmt::format(
      "The schedule takes at least {} on {}, bound by {}; the next resource is {}, with {} of that time.",
      seconds_text(analysis.seconds()), analysis.gpu.name, name(analysis.limiter()), name(next.resource),
      percent_text(next.seconds / slowest.seconds()));
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
  std::string hint = advice(analysis);
  return text + fmt::format(" To improve: {}.", hint);
}

std::string in_words(const PlanAnalysis &before, const std::string &name_before, const PlanAnalysis &after) {
  std::string text = differs(before.seconds(), after.seconds())
                         ? bound_text(before, name_before, after)
                         : estimate_text(before, name_before, after) + without_effect(before, after) + " ";
  text += limiter_text(before, after);
  return text + units_text(before, after) + reuse_text(before, after) + dram_text(before, after) +
         lanes_text(before, after) + occupancy_text(before, after);
}

} // namespace nestsmith
