#include "tools/advice/causes.h"

#include "runtime/model/explain.h"
#include "runtime/model/explain_factors.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <vector>

namespace nestsmith::cli {

namespace {

/// The way in which a directive saves time.
struct Effect {
  const char *directive;
  Words words;
};
constexpr Effect effects[] = {
    {"join_pipelines",
     {"the loads of the first operands of a tile are executed while the last ones of the tile before "
      "are used, so that the pipeline does not drain between tiles",
      "앞 타일의 마지막 피연산자를 쓰는 동안 다음 타일의 첫 피연산자를 읽으므로, 타일 사이에서 파이프라인이 "
      "비지 않습니다"}},
    {"skip_tiles",
     {"tiles in which a mask excludes every term are neither copied nor multiplied",
      "마스크가 모든 항을 제외하는 타일은 복사하지도 곱하지도 않습니다"}},
    {"snake",
     {"every second row of products runs backwards, so that its first operands are those that were used last",
      "곱의 행을 하나 걸러 거꾸로 계산하므로, 마지막에 쓴 피연산자를 바로 다시 씁니다"}},
    {"swizzle",
     {"the words of the tiles are permuted over the banks", "타일의 워드를 뱅크 사이에서 순열로 재배치합니다"}},
    {"storage_align",
     {"the rows of the tiles are padded, which moves their columns to other banks",
      "타일의 행에 패딩을 넣어 같은 열을 서로 다른 뱅크로 옮깁니다"}},
    {"async_copy",
     {"copies to shared memory need no registers, and are in flight while the warps compute",
      "공유 메모리로의 복사가 레지스터를 쓰지 않으며, 워프가 계산하는 동안 진행됩니다"}},
    {"double_buffer",
     {"the next tiles are fetched while these are used", "현재 타일을 쓰는 동안 다음 타일을 가져옵니다"}},
    {"pipeline",
     {"the next iteration is fetched while this one is computed",
      "현재 반복을 계산하는 동안 다음 반복의 데이터를 가져옵니다"}},
    {"vectorize", {"one access moves several elements", "접근 한 번에 원소 여러 개를 옮깁니다"}},
    {"launch_bounds",
     {"the compiler limits the registers, so that more blocks are resident",
      "컴파일러가 레지스터 수를 제한하여 더 많은 블록이 상주합니다"}},
    {"last_block", {"the last block adds the partial sums", "마지막 블록이 부분합을 더합니다"}},
    {"nondeterministic_atomics",
     {"blocks add their results by atomic operations", "블록들이 원자 연산으로 결과를 더합니다"}},
    {"rfactor", {"several blocks share a sum", "여러 블록이 합 하나를 나누어 계산합니다"}},
};

/// reduce_across over thread blocks is a sequence of rfactor, last_block and others.
bool is_used_by(const Directive &made, std::string_view directive) {
  const Word *axis = made.op == "reduce_across" ? std::get_if<Word>(&made.arguments.back()) : nullptr;
  bool over_blocks = axis && axis->text.starts_with("blockIdx");
  return made.op == directive || (over_blocks && (directive == "rfactor" || directive == "last_block"));
}

std::size_t uses(const Schedule &schedule, const char *directive) {
  return static_cast<std::size_t>(std::ranges::count_if(
      schedule.trace(), [&](const Directive &made) { return is_used_by(made, directive); }));
}

/// Per warp and multiply-add, so that kernels with different tiles can be compared.
double barriers(const KernelAnalysis &kernel) {
  double work = static_cast<double>(kernel.counters.multiply_adds.warps) +
                static_cast<double>(kernel.counters.matrix_multiply_adds()) / lanes_per_warp;
  return work == 0 ? 0 : static_cast<double>(kernel.counters.barriers.warps) / work;
}

/// Bytes of shared memory that the warps load and store.
double shared_bytes(const KernelAnalysis &kernel) {
  return static_cast<double>(kernel.counters.merged(Scope::shared, false).asked +
                             kernel.counters.merged(Scope::shared, true).asked);
}

double requests_to_global(const KernelAnalysis &kernel) {
  return static_cast<double>(kernel.counters.merged(Scope::global, false).requests +
                             kernel.counters.merged(Scope::global, true).requests);
}

/// An amount of which less is faster, with its effect.
struct Amount {
  double before, after;
  std::string text;

  bool helps(bool faster) const {
    return before > 0 && after > 0 && differs(before, after) && (after < before) == faster;
  }
};

std::vector<Amount> amounts_of(const PlanAnalysis &b, const PlanAnalysis &a, Language l) {
  const KernelAnalysis &was = b.slowest(), &is = a.slowest();
  auto times = [l](double before, double after) {
    return after < before ? say(l, "{} times fewer", "이전의 1/{}", number_text(before / after))
                          : say(l, "{} times more", "이전의 {}배", number_text(after / before));
  };
  double blocks_was = static_cast<double>(was.waves.blocks), blocks_is = static_cast<double>(is.waves.blocks);
  double idle_was = 1.0 / std::max(1, was.occupancy.warps), idle_is = 1.0 / std::max(1, is.occupancy.warps);
  return {
      {requests_to_global(was), requests_to_global(is),
       say(l, "{} requests to global memory", "전역 메모리 요청 수가 {}",
           times(requests_to_global(was), requests_to_global(is)))},
      {shared_bytes(was), shared_bytes(is),
       say(l, "{} bytes between shared memory and registers", "공유 메모리와 레지스터 사이의 전송량이 {}",
           times(shared_bytes(was), shared_bytes(is)))},
      {barriers(was), barriers(is),
       say(l, "{} barriers for the same work", "같은 작업에 필요한 배리어 수가 {}",
           times(barriers(was), barriers(is)))},
      {was.imbalance(b.gpu), is.imbalance(a.gpu),
       say(l, "the busiest SM has {} instead of {} times the mean work",
           "가장 바쁜 SM의 작업량이 평균의 {}배(이전 {}배)", number_text(is.imbalance(a.gpu)),
           number_text(was.imbalance(b.gpu)))},
      {idle_was, idle_is,
       say(l, "{} instead of {} warps are resident on an SM", "SM에 상주하는 워프가 {}개(이전 {}개)",
           is.occupancy.warps, was.occupancy.warps)},
      {blocks_was, blocks_is,
       blocks_is < blocks_was
           ? say(l, "a block computes {} times more results", "블록당 계산하는 결과 수가 이전의 {}배",
                 number_text(blocks_was / blocks_is))
           : say(l, "a block computes {} times fewer results", "블록당 계산하는 결과 수가 이전의 1/{}",
                 number_text(blocks_is / blocks_was))},
  };
}

} // namespace

std::string causes(const Analysed &before, const Analysed &after, Language l) {
  const PlanAnalysis &b = before.analysis, &a = after.analysis;
  if (!differs(b.estimated_seconds(), a.estimated_seconds()))
    return "";
  bool faster = a.estimated_seconds() < b.estimated_seconds();
  std::vector<std::string> parts;
  const Schedule &was = before.scheduled.schedule, &is = after.scheduled.schedule;
  for (const Effect &effect : effects)
    if (faster && uses(was, effect.directive) == 0 && uses(is, effect.directive) > 0)
      parts.push_back(say(l, "{} ({})", "{}({})", effect.words.in(l), effect.directive));
  if (same_computation(before.scheduled, after.scheduled))
    for (const Amount &amount : amounts_of(b, a, l))
      if (amount.helps(faster))
        parts.push_back(amount.text);
  return parts.empty() ? ""
                       : say(l, " In the schedule and the kernel: {}.", " 스케줄과 커널에서: {}.",
                             fmt::join(parts, "; "));
}

} // namespace nestsmith::cli
