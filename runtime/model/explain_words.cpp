#include "runtime/model/explain.h"

#include "dsl/expr/error.h"
#include "runtime/model/explain_factors.h"
#include "runtime/model/host.h"
#include "runtime/model/words.h"

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
std::string limiter_text(const PlanAnalysis &before, const PlanAnalysis &after, Language l) {
  const KernelAnalysis &slowest = after.slowest();
  const Bound &next = slowest.bounds[1];
  std::string text =
      before.limiter() == after.limiter()
          ? say(l, "The limiter is still {}", "제한 요인은 그대로입니다({}", name(after.limiter(), l))
          : say(l, "The limiter moves from {} to {}", "제한 요인이 바뀝니다({} → {}", name(before.limiter(), l),
                name(after.limiter(), l));
  return text + say(l, "; the next resource is {}, with {} of its time.", "; 다음 자원: {}, 그 시간의 {}).",
                    name(next.resource, l), percent_text(next.seconds / slowest.seconds()));
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

std::string reuse_text(const PlanAnalysis &before, const PlanAnalysis &after, Language l) {
  double b = reuse(before), a = reuse(after);
  if (b == 0 || a == 0 || !differs(b, a))
    return "";
  return say(
      l,
      " Each 4-byte word loaded from global memory is used in {} multiply-adds instead of {}. The "
      "requested intensity is {} instead of {} FLOP/byte.",
      " 전역 메모리에서 읽은 4바이트 워드 하나를 곱셈-덧셈 {}번에 사용합니다(이전 {}번). 요청 기준 연산 강도는 "
      "{} FLOP/byte입니다(이전 {}).",
      number_text(a), number_text(b), number_text(after.asked_intensity()),
      number_text(before.asked_intensity()));
}

/// Names the units that only the second plan uses.
std::string units_text(const PlanAnalysis &before, const PlanAnalysis &after, Language l) {
  auto counts = [](const PlanAnalysis &analysis) -> const model::Counters & {
    return analysis.slowest().counters;
  };
  auto only_after = [&](auto used) { return used(counts(after)) && !used(counts(before)); };
  std::string text;
  if (only_after([](const model::Counters &c) { return !c.matrix.empty(); }))
    text += say(l, " The matrix units compute the products instead of the FP32 pipe.",
                " FP32 파이프 대신 행렬 유닛이 곱을 계산합니다.");
  if (only_after([](const model::Counters &c) { return c.ldmatrix().requests > 0; }))
    text += say(l, " A warp loads its operands by ldmatrix, up to four 8 x 8 matrices with one instruction.",
                " 워프가 피연산자를 ldmatrix로 읽습니다. 명령어 하나로 8 x 8 행렬을 네 개까지 읽습니다.");
  if (only_after([](const model::Counters &c) { return c.copied(Scope::shared).requests > 0; }))
    text +=
        say(l, " Asynchronous copies (cp.async) fill shared memory without registers, while the warps compute.",
            " 워프가 계산하는 동안 비동기 복사(cp.async)가 레지스터 없이 공유 메모리를 채웁니다.");
  return text;
}

std::string dram_text(const PlanAnalysis &before, const PlanAnalysis &after, Language l) {
  double b = before.dram_bytes(), a = after.dram_bytes();
  if (before.limiter() == Resource::dram || after.limiter() == Resource::dram)
    return "";
  if (differs(b, a))
    return say(l, " DRAM moves {} instead of {}, which limits neither kernel.",
               " DRAM 이동량은 {}입니다(이전 {}). 두 커널 모두 제한 요인이 DRAM은 아닙니다.", bytes_text(a),
               bytes_text(b));
  return differs(before.seconds(), after.seconds())
             ? say(l, " DRAM moves as many bytes as before, {}: it is not the reason.",
                   " DRAM 이동량은 이전과 같으므로({}) 원인이 아닙니다.", bytes_text(a))
             : "";
}

std::string limits_text(const Occupancy &o, Language l) {
  std::vector<std::string_view> limits;
  for (OccupancyLimit limit : o.limits)
    limits.push_back(name(limit, l));
  return fmt::format("{}", fmt::join(limits, l == Language::en ? " and " : ", "));
}

std::string occupancy_text(const PlanAnalysis &before, const PlanAnalysis &after, Language l) {
  const KernelAnalysis &b = before.slowest(), &a = after.slowest();
  if (!differs(b.occupancy.ratio(), a.occupancy.ratio()))
    return "";
  bool falls = a.occupancy.ratio() < b.occupancy.ratio();
  std::string was = percent_text(b.occupancy.ratio()), is = percent_text(a.occupancy.ratio());
  std::string limits = limits_text(a.occupancy, l);
  return falls
             ? say(l,
                   " Occupancy falls from {} to {}, limited by {}: fewer warps are resident to hide latency.",
                   " 점유율이 {}에서 {}로 떨어져(제한 요인: {}) 지연 시간을 숨길 상주 워프가 줄어듭니다.", was,
                   is, limits)
             : say(l, " Occupancy rises from {} to {}, limited by {}: more warps are resident to hide latency.",
                   " 점유율이 {}에서 {}로 올라(제한 요인: {}) 지연 시간을 숨길 상주 워프가 늘어납니다.", was,
                   is, limits);
}

std::string lanes_text(const PlanAnalysis &before, const PlanAnalysis &after, Language l) {
  double b = before.slowest().active_lanes(), a = after.slowest().active_lanes();
  if (!differs(b, a))
    return "";
  return say(l, " An instruction has {} of 32 lanes active on average instead of {}.",
             " 명령어당 레인 32개 가운데 평균 {}개가 활성입니다(이전 {}개).", number_text(a), number_text(b));
}

/// The largest number of groups of asynchronous copies in flight while a tile is used; 0 without copies.
double groups_in_flight(const KernelAnalysis &analysis) {
  std::int64_t most = 0;
  kernel::walk(analysis.kernel.body, [&](const kernel::Stmt &stmt) {
    const auto *sync = kernel::as<kernel::Sync>(stmt);
    if (auto pending = sync ? sync->completes(kernel::Queue::copies) : std::nullopt)
      most = std::max(most, *pending + 1);
  });
  return static_cast<double>(most);
}

/// Figures that no bound contains.
std::string other_figures(const KernelAnalysis &before, const KernelAnalysis &after, Language l) {
  std::vector<std::string> parts;
  auto add = [&](Words figure, double b, double a) {
    if (a != b)
      parts.push_back(
          say(l, "{} {} instead of {}", "{} {}(이전 {})", figure.in(l), count_text(a), count_text(b)));
  };
  add({"barriers for each warp", "워프당 배리어"}, before.barriers_of_warp(), after.barriers_of_warp());
  add({"groups of copies in flight", "진행 중인 복사 그룹"}, groups_in_flight(before), groups_in_flight(after));
  add({"bytes of shared memory for each block", "블록당 공유 메모리 바이트"},
      static_cast<double>(before.kernel.shared_bytes), static_cast<double>(after.kernel.shared_bytes));
  if (before.compiled && after.compiled)
    add({"registers for each thread", "스레드당 레지스터"}, before.compiled->registers,
        after.compiled->registers);
  return parts.empty() ? ""
                       : say(l, " Other figures change: {}.", " 다른 지표의 변화: {}.", fmt::join(parts, ", "));
}

/// Names the resources whose time changed although the total time did not.
std::string without_effect(const PlanAnalysis &before, const PlanAnalysis &after, Language l) {
  std::vector<std::string> parts;
  for (Resource resource : resources)
    if (resource != after.limiter() && differs(before.seconds(resource), after.seconds(resource)))
      parts.push_back(say(l, "{0} {1} {2} instead of {3}", "{0} {2}(이전 {3})", name(resource, l),
                          verb(resource, "takes", "take"), seconds_text(after.seconds(resource)),
                          seconds_text(before.seconds(resource))));
  std::string others = other_figures(before.slowest(), after.slowest(), l);
  if (!parts.empty())
    return say(l, " Other resources change but limit neither kernel: {}.{}",
               " 다른 자원의 시간도 바뀌지만 두 커널 모두 제한 요인은 아닙니다: {}.{}", fmt::join(parts, ", "),
               others);
  return others.empty() ? say(l, " The counted figures are the same.", " 집계한 지표는 모두 같습니다.")
                        : others;
}

/// "than NAME" or "over NAME", with the outcome.
std::string outcome_text(Outcome outcome, const std::string &name, Language l) {
  switch (outcome) {
  case Outcome::same:
    return say(l, "No gain over {}", "{}보다 나아지지 않음", name);
  case Outcome::better:
    return say(l, "Better than {}", "{}보다 나음", name);
  case Outcome::worse:
    return say(l, "Worse than {}", "{}보다 못함", name);
  }
  internal_error("unknown outcome of a comparison");
}

/// "shared memory, which limited it, takes 2 ms instead of 1 ms" with the factors, and the change of the least
/// time.
std::string least_time_text(const PlanAnalysis &before, const PlanAnalysis &after, Language l) {
  double b = before.seconds(), a = after.seconds();
  bool falls = a < b;
  Resource reason = falls ? before.limiter() : after.limiter();
  std::string change = number_text(falls ? b / a : a / b);
  return say(l, "{0}, which {1} it, {2} {3} instead of {4}{5} ",
             "{6} 제한 요인인 {0}의 시간이 {3}입니다(이전 {4}){5} ", name(reason, l),
             falls ? "limited" : verb(reason, "limits", "limit"), verb(reason, "takes", "take"),
             seconds_text(after.seconds(reason)), seconds_text(before.seconds(reason)),
             because(reason, before, after, !falls, l), falls ? "이전의" : "지금의") +
         (falls
              ? say(l, "The least time falls from {} to {}, {} times less. ",
                    "최소 시간은 {}에서 {}로 줄어듭니다({}배 단축). ", seconds_text(b), seconds_text(a), change)
              : say(l, "The least time rises from {} to {}, {} times more. ",
                    "최소 시간은 {}에서 {}로 늘어납니다({}배). ", seconds_text(b), seconds_text(a), change));
}

/// "falls from 3 ms to 2 ms", "is about the same, 2 ms"
std::string change_text(double before, double after, Outcome outcome, Language l) {
  std::string was = seconds_text(before), is = seconds_text(after);
  switch (outcome) {
  case Outcome::same:
    return say(l, "is about the same, {} instead of {}", "거의 같습니다({}, 이전 {})", is, was);
  case Outcome::better:
    return say(l, "falls from {} to {}", "{}에서 {}로 줄어듭니다", was, is);
  case Outcome::worse:
    return say(l, "rises from {} to {}", "{}에서 {}로 늘어납니다", was, is);
  }
  internal_error("unknown outcome of a comparison");
}

/// "the estimated time, with latency, barriers and waves, falls from 3 ms to 2 ms"
std::string estimates_text(const PlanAnalysis &before, const PlanAnalysis &after, Outcome outcome, Language l) {
  return say(l, "the estimated time, with latency, barriers and waves, {}",
             "지연 시간, 배리어, 웨이브를 고려한 추정 시간이 {}",
             change_text(before.estimated_seconds(), after.estimated_seconds(), outcome, l));
}

/// The records, and whether the estimate agrees with them.
std::string record_text(const PlanAnalysis &before, const PlanAnalysis &after, const Verdict &verdict,
                        Language l) {
  double b = before.measured->seconds, a = after.measured->seconds;
  std::string ratio = number_text(a < b ? b / a : a / b);
  std::string text = say(l, "measured on {}, {} instead of {}, {}. ", "{}에서 측정한 시간은 {}(이전 {}), {}. ",
                         before.gpu.product, seconds_text(a), seconds_text(b),
                         verdict.outcome == Outcome::same ? say(l, "about the same", "거의 같음")
                         : a < b                          ? say(l, "{} times faster", "{}배 빠름", ratio)
                                                          : say(l, "{} times slower", "{}배 느림", ratio));
  auto estimated = verdict_by(Source::estimate, before, after);
  if (!estimated)
    return text;
  constexpr Words agrees = {"agrees", "추정도 같은 방향입니다"},
                  silent = {"does not show it", "추정에는 나타나지 않습니다"},
                  disagrees = {"disagrees", "추정은 측정과 다릅니다"};
  const Words &stance = estimated->outcome == verdict.outcome ? agrees
                        : estimated->outcome == Outcome::same ? silent
                                                              : disagrees;
  return text + say(l, "The estimate {}: it {}. ", "{}: 추정 시간이 {}. ", stance.in(l),
                    change_text(before.estimated_seconds(), after.estimated_seconds(), estimated->outcome, l));
}

/// The least times of plans about which a stronger source speaks.
std::string bound_beside(const PlanAnalysis &before, const PlanAnalysis &after, Outcome outcome, Language l) {
  auto bound = verdict_by(Source::bound, before, after);
  if (bound->outcome == Outcome::same)
    return say(l, "The least time is the same, {}.", "최소 시간은 같습니다({}).",
               seconds_text(after.seconds()));
  std::string least = least_time_text(before, after, l);
  return bound->outcome == outcome ? say(l, "A reason: {}", "한 가지 이유는 다음과 같습니다. {}", least)
                                   : say(l, "The least time alone does not show it: {}",
                                         "최소 시간만 보면 그렇지 않습니다. {}", least);
}

/// For plans with about the same time of each source.
std::string same_text(const PlanAnalysis &before, const std::string &name_before, const PlanAnalysis &after,
                      Language l) {
  Resource was = before.limiter(), is = after.limiter();
  std::string least = seconds_text(after.seconds());
  double b = before.estimated_seconds(), a = after.estimated_seconds();
  if (std::max(a, b) > near_bound * after.seconds())
    return say(l,
               "No gain over {}: {}. The least time is the same, {} for {}; latency, barriers and waves "
               "take the rest.",
               "{}보다 나아지지 않음: {}. 최소 시간은 같습니다({}, {}). 나머지는 지연 시간, 배리어, 웨이브가 "
               "차지합니다.",
               name_before, estimates_text(before, after, Outcome::same, l), least, name(is, l));
  return was == is ? say(l, "No gain over {0}, because {1} {2} both, with {3}.",
                         "{0}보다 나아지지 않음: 두 스케줄의 제한 요인이 같습니다({1}, {3}).", name_before,
                         name(is, l), verb(is, "limits", "limit"), least)
                   : say(l, "No gain over {0}, because {1}, which {2} it now, {3} as long as {4} did, {5}.",
                         "{0}보다 나아지지 않음: 지금의 제한 요인({1})에 걸리는 시간이 이전의 제한 요인({4})에 "
                         "걸리던 시간과 "
                         "같습니다({5}).",
                         name_before, name(is, l), verb(is, "limits", "limit"), verb(is, "takes", "take"),
                         name(was, l), least);
}

/// The verdict, what speaks for it, and what the least times say.
std::string verdict_text(const PlanAnalysis &before, const std::string &name_before, const PlanAnalysis &after,
                         Language l) {
  Verdict verdict = verdict_of(before, after);
  std::string outcome = outcome_text(verdict.outcome, name_before, l);
  bool bounds_same = !differs(before.seconds(), after.seconds());
  switch (verdict.by) {
  case Source::record:
    return fmt::format("{}: {}{}", outcome, record_text(before, after, verdict, l),
                       bound_beside(before, after, verdict.outcome, l));
  case Source::estimate:
    if (verdict.outcome == Outcome::same && bounds_same)
      return same_text(before, name_before, after, l);
    if (verdict_by(Source::bound, before, after)->outcome == verdict.outcome)
      return say(l, "{}, because {}By the estimate, with latency, barriers and waves, the time {}. ",
                 "{}. {}지연 시간, 배리어, 웨이브를 고려한 추정 시간이 {}. ", outcome,
                 least_time_text(before, after, l),
                 change_text(before.estimated_seconds(), after.estimated_seconds(), verdict.outcome, l));
    return fmt::format("{}: {}. {}", outcome, estimates_text(before, after, verdict.outcome, l),
                       bound_beside(before, after, verdict.outcome, l));
  case Source::bound:
    return bounds_same ? same_text(before, name_before, after, l)
                       : say(l, "{}, because {}", "{}. {}", outcome, least_time_text(before, after, l));
  }
  internal_error("unknown source of a verdict");
}

} // namespace

std::string in_words(const PlanAnalysis &analysis) { return in_words(analysis, Language::en); }

std::string in_words(const PlanAnalysis &analysis, Language l) {
  const KernelAnalysis &slowest = analysis.slowest();
  const Bound &next = slowest.bounds[1];
  std::string text = say(
      l,
      "The schedule takes at least {0} on {1}, bound by {2}; the next resource is {3}, with {4} of that time.",
      "이 스케줄은 {1}에서 적어도 {0}가 걸립니다(제한 요인: {2}; 다음 자원: {3}, 그 시간의 {4}).",
      seconds_text(analysis.seconds()), analysis.gpu.name, name(analysis.limiter(), l), name(next.resource, l),
      percent_text(next.seconds / slowest.seconds()));
  if (slowest.compiled && slowest.counters.in_f64.warps == 0)
    text += say(l, " The estimated time is {}, limited by {}.", " 추정 시간은 {}입니다(제한 요인: {}).",
                seconds_text(analysis.estimated_seconds()), limit_text(slowest, l));
  if (analysis.kernels.size() > 1)
    text += say(l, " Of its {} kernels, {} takes the longest.", " 커널 {}개 가운데 {}의 시간이 가장 깁니다.",
                analysis.kernels.size(), slowest.kernel.name);
  text += say(
      l, " The requested intensity is {} FLOP/byte; the algorithm has {}, and the ridge point of {} is {}.",
      " 요청 기준 연산 강도는 {} FLOP/byte, 알고리즘의 연산 강도는 {}, {}의 능선점(ridge point)은 {}입니다.",
      number_text(analysis.asked_intensity()), number_text(analysis.algorithm_intensity()), analysis.gpu.name,
      number_text(analysis.ridge()));
  if (slowest.counters.largest_block > 1 + noticed && slowest.imbalance(analysis.gpu) > 1 + noticed)
    text += say(l, " The {} blocks differ: the largest one has {} times the mean work.",
                " 블록 {}개의 작업량이 서로 다릅니다: 가장 큰 블록의 작업량이 평균의 {}배입니다.",
                slowest.waves.blocks, number_text(slowest.counters.largest_block));
  else if (slowest.imbalance(analysis.gpu) > 1 + noticed)
    text += say(
        l, " The grid of {0} block{1} does not fill {2} SMs evenly: the busiest has {3} times the mean.",
        " 블록 {0}개의 그리드가 SM {2}개를 고르게 채우지 못합니다: 가장 바쁜 SM의 작업량이 평균의 {3}배입니다.",
        slowest.waves.blocks, slowest.waves.blocks == 1 ? "" : "s", analysis.gpu.sms,
        number_text(slowest.imbalance(analysis.gpu)));
  return text + host_in_words(analysis, l);
}

std::string in_words(const PlanAnalysis &before, const std::string &name_before, const PlanAnalysis &after) {
  return in_words(before, name_before, after, Language::en);
}

std::string in_words(const PlanAnalysis &before, const std::string &name_before, const PlanAnalysis &after,
                     Language l) {
  std::string text = verdict_text(before, name_before, after, l);
  if (!differs(before.seconds(), after.seconds()))
    text += without_effect(before, after, l) + " ";
  text += limiter_text(before, after, l);
  return text + units_text(before, after, l) + reuse_text(before, after, l) + dram_text(before, after, l) +
         lanes_text(before, after, l) + occupancy_text(before, after, l) + host_in_words(before, after, l);
}

} // namespace nestsmith
