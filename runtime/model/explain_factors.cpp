#include "runtime/model/explain_factors.h"

#include "runtime/model/explain.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <functional>
#include <map>
#include <numeric>
#include <vector>

namespace nestsmith {

bool differs(double before, double after, double least) {
  return std::fabs(after - before) > least * std::max(std::fabs(before), std::fabs(after));
}

namespace {

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
std::map<Key, BufferTraffic> by_buffer(const PlanAnalysis &analysis, Scope scope, Language l) {
  constexpr Words by_ldmatrix = {" by ldmatrix", "(ldmatrix)"};
  std::map<Key, BufferTraffic> result;
  for (const KernelAnalysis &kernel : analysis.kernels)
    for (const model::AccessCounts &access : kernel.counters.accesses)
      if (access.buffer->scope == scope && access.requests > 0) {
        BufferTraffic &sum =
            result[{access.is_store(),
                    access.buffer->name + std::string(access.is_ldmatrix() ? by_ldmatrix.in(l) : "")}];
        sum.merged += access.merged;
        sum.bytes += static_cast<double>(access.asked);
      }
  return result;
}

std::string doing(const Key &key, Language l) {
  return key.first ? say(l, "storing {}", "{} 쓰기", key.second) : say(l, "reading {}", "{} 읽기", key.second);
}

/// The cost of a request for a resource.
struct RequestUnit {
  Words name; ///< "sector"
  std::uint64_t model::RequestSums::*count;

  explicit RequestUnit(Resource resource)
      : name(resource == Resource::shared ? Words{"wavefront", "웨이브프런트"}
             : resource == Resource::l1   ? Words{"line", "라인"}
                                          : Words{"sector", "섹터"}),
        count(resource == Resource::shared ? &model::RequestSums::wavefronts
              : resource == Resource::l1   ? &model::RequestSums::lines
                                           : &model::RequestSums::sectors) {}
  double each(const model::RequestSums &sum) const {
    return sum.requests == 0 ? 0 : static_cast<double>(sum.*count) / static_cast<double>(sum.requests);
  }
};

/// "reading A: 1 instead of 32, reading B: 4 instead of 1": the cost of a request, for each buffer where it
/// changed.
std::string details(const PlanAnalysis &before, const PlanAnalysis &after, Scope scope, const RequestUnit &unit,
                    Language l) {
  auto old = by_buffer(before, scope, l), now = by_buffer(after, scope, l);
  std::vector<std::string> parts;
  for (const auto &[key, sum] : now) {
    auto was = old.find(key);
    double b = was == old.end() ? 0 : unit.each(was->second.merged), a = unit.each(sum.merged);
    if (was != old.end() && differs(b, a))
      parts.push_back(
          say(l, "{}: {} instead of {}", "{}: {}(이전 {})", doing(key, l), number_text(a), number_text(b)));
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
std::string how_often(const PlanAnalysis &analysis, double count, Language l) {
  return analysis.needed_multiply_adds > 0 ? say(l, "{} times per multiply-add", "곱셈-덧셈당 {}회",
                                                 number_text(count * 32 / analysis.needed_multiply_adds))
                                           : say(l, "{} times", "{}회", count_text(count));
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

Factor asked_factor(const PlanAnalysis &before, const PlanAnalysis &after, Scope scope, Language l) {
  double b = requests(before, scope), a = requests(after, scope);
  constexpr Words global = {"global memory", "전역 메모리"}, shared = {"shared memory", "공유 메모리"};
  std::string_view memory = (scope == Scope::global ? global : shared).in(l);
  if (b == 0)
    return {b, a,
            say(l, "{}, unused before, is accessed {}", "이전에는 쓰지 않던 {} 접근이 {}", memory,
                how_often(after, a, l))};
  return {b, a,
          say(l, "{} is accessed {} instead of {}", "{} 접근이 {}(이전 {})", memory, how_often(after, a, l),
              how_often_before(before, b))};
}

Factor cost_factor(const PlanAnalysis &before, const PlanAnalysis &after, Resource resource, Language l) {
  Scope scope = resource == Resource::shared ? Scope::shared : Scope::global;
  RequestUnit unit(resource);
  model::RequestSums old = merged(before, scope), now = merged(after, scope);
  double b = unit.each(old), a = unit.each(now);
  if (b == 0 || a == 0) // there is nothing to compare
    return {1, 1, ""};
  bool by_words = resource == Resource::shared && old.conflicts == 0 && now.conflicts == 0;
  std::string reason = !by_words ? details(before, after, scope, unit, l)
                       : a > b   ? say(l, ", because it accesses more words without a bank conflict",
                                       ", 뱅크 충돌 없이 더 많은 워드에 접근하기 때문")
                                 : say(l, ", because it accesses fewer words without a bank conflict",
                                       ", 뱅크 충돌 없이 더 적은 워드에 접근하기 때문");
  return {b, a,
          say(l, "a request takes {0} {1}{2} instead of {3}{4}", "요청당 {1} {0}개(이전 {3}개){4}",
              number_text(a), unit.name.in(l), number_text(a) == "1" ? "" : "s", number_text(b), reason)};
}

std::vector<Factor> memory_factors(Resource resource, const PlanAnalysis &before, const PlanAnalysis &after,
                                   Language l) {
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
  auto add = [&](auto from, auto to, Words what, Words which) {
    double b = sum(before, from) == 0 ? 0 : sum(before, to) / sum(before, from);
    double a = sum(after, from) == 0 ? 0 : sum(after, to) / sum(after, from);
    factors.push_back({sum(before, from), sum(after, from),
                       say(l, "{} {} instead of {}", "{} {}(이전 {})", what.in(l),
                           bytes_text(sum(after, from) * model::sector_bytes),
                           bytes_text(sum(before, from) * model::sector_bytes))});
    factors.push_back({b, a,
                       say(l, "{0} instead of {1} of the traffic of {2}", "{2} 비율 {0}(이전 {1})",
                           percent_text(a), percent_text(b), which.in(l))});
  };
  if (resource == Resource::dram) {
    add(l2, dram, {"L2 moves", "L2 이동량"}, {"L2 goes to DRAM", "L2 트래픽 가운데 DRAM으로 가는"});
    return factors;
  }
  add(l1, l2, {"", ""}, {"L1 goes to L2", "L1 트래픽 가운데 L2로 가는"});
  factors.front() = asked_factor(before, after, Scope::global, l);
  factors.push_back(cost_factor(before, after, resource, l));
  return factors;
}

/// The factors that explain the change of a resource's time.
std::vector<Factor> factors(Resource resource, const PlanAnalysis &before, const PlanAnalysis &after,
                            Language l) {
  if (!of_sm(resource))
    return memory_factors(resource, before, after, l);
  std::vector<Factor> result;
  Scope scope = resource == Resource::shared ? Scope::shared : Scope::global;
  if (resource == Resource::shared || resource == Resource::l1) {
    result.push_back(asked_factor(before, after, scope, l));
    result.push_back(cost_factor(before, after, resource, l));
  } else {
    if (resource == Resource::issue)
      for (Scope each : {Scope::global, Scope::shared})
        result.push_back(asked_factor(before, after, each, l));
    auto instructions = [&](double b, double a, Words kind) {
      result.push_back({b, a,
                        say(l, "there are {0} {1} instructions instead of {2}", "{1} 명령어 {0}개(이전 {2}개)",
                            count_text(a), kind.in(l), count_text(b))});
    };
    if (resource != Resource::matrix)
      instructions(arithmetic(before), arithmetic(after), {"arithmetic warp", "워프 산술"});
    if (resource != Resource::fp32 && resource != Resource::fp64)
      instructions(matrix_calls(before), matrix_calls(after), {"matrix", "행렬"});
  }
  double b = imbalance(before, resource), a = imbalance(after, resource);
  result.push_back({b, a,
                    say(l, "the busiest SM has {} times the mean work instead of {}",
                        "가장 바쁜 SM의 작업량이 평균의 {}배(이전 {}배)", number_text(a), number_text(b))});
  return result;
}

} // namespace

std::string because(Resource resource, const PlanAnalysis &before, const PlanAnalysis &after, bool rises,
                    Language l) {
  std::vector<Factor> list = factors(resource, before, after, l);
  std::ranges::stable_sort(list, std::greater<>{}, [](const Factor &f) { return std::fabs(f.weight()); });
  std::vector<std::string> with, against;
  for (const Factor &factor : list) {
    bool up = factor.after > factor.before;
    if (differs(factor.before, factor.after))
      (up == rises ? with : against).push_back(factor.said);
  }
  std::string text =
      with.empty() ? "" : fmt::format(": {}", fmt::join(with, l == Language::en ? ". Also, " : ". 또한 "));
  if (!against.empty())
    text +=
        say(l, ". However, {}", ". 다만 {}", fmt::join(against, l == Language::en ? ", and " : ", 그리고 "));
  return text + ".";
}

} // namespace nestsmith
