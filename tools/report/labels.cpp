#include "tools/report/labels.h"

#include <array>
#include <fmt/format.h>

namespace nestsmith::cli::report {

namespace {

struct Words {
  Label label;
  std::string_view en, ko;
};

constexpr std::array labels = {
    Words{Label::source, "Source", "출처"},
    Words{Label::teaches, "Teaches", "배우는 것"},
    Words{Label::continues, "Continues with", "다음 주제"},
    Words{Label::machine, "Predictions for", "예측 대상 GPU"},
    Words{Label::contents, "Contents", "차례"},
    Words{Label::climb, "The climb", "단계별 성능"},
    Words{Label::climb_measured, "measured {}", "측정값: {}"},
    Words{Label::climb_modelled,
          "not measured: an upper bound, from the least time of the model for {}; latency is ignored",
          "측정값이 아님: {} 모델의 최소 시간에서 구한 상한이며, 지연 시간은 고려하지 않음"},
    Words{Label::at_most, "at most {}", "최대 {}"},
    Words{Label::estimated, "estimated {}", "추정 {}"},
    Words{Label::estimate, "estimated by the model, with latency, barriers and waves",
          "지연 시간, 배리어, 웨이브를 고려한 모델의 추정값"},
    Words{Label::rung, "Rung", "단계"},
    Words{Label::rate, "Rate", "속도"},
    Words{Label::published_mark, "published: {}", "공개된 값: {}"},
    Words{Label::published_cublas, "published for cuBLAS: {}", "공개된 cuBLAS 값: {}"},
    Words{Label::roofline, "Roofline", "루프라인"},
    Words{Label::roofline_text,
          "A number marks each rung at its traffic with DRAM; a small circle marks it at its requests. Both "
          "axes are "
          "logarithmic.",
          "번호는 DRAM 트래픽 기준의 위치를, 작은 원은 요청 기준의 위치를 나타낸다. 두 축 모두 로그 눈금이다."},
    Words{Label::intensity, "FLOP/byte", "FLOP/byte"},
    Words{Label::at_dram, "FLOP per byte of DRAM traffic", "FLOP/byte (DRAM 트래픽)"},
    Words{Label::at_requests, "FLOP per requested byte", "FLOP/byte (요청)"},
    Words{Label::run_table, "Results of run", "run 결과"},
    Words{Label::why_better, "Why it helps, compared with {}", "{}보다 나은 이유"},
    Words{Label::why_same, "Why it gains nothing, compared with {}", "{}보다 나아지지 않는 이유"},
    Words{Label::why_worse, "Why it is worse than {}", "{}보다 나쁜 이유"},
    Words{Label::limits, "What limits it", "성능을 제한하는 것"},
    Words{Label::figure, "Figure", "지표"},
    Words{Label::change, "Change", "변화"},
    Words{Label::all_figures, "All figures", "모든 지표"},
    Words{Label::differences, "Differences from {}", "{}와(과) 다른 점"},
    Words{Label::steps, "Step by step", "한 단계씩"},
    Words{Label::directives, "Directives", "지시문"},
    Words{Label::computation, "the computation, without directives", "계산 (지시문 없음)"},
    Words{Label::step, "Step", "단계"},
    Words{Label::previous, "Previous", "이전"},
    Words{Label::next, "Next", "다음"},
    Words{Label::program, "Program", "프로그램"},
    Words{Label::kernel, "Kernel", "커널"},
    Words{Label::cuda, "CUDA C", "CUDA C"},
    Words{Label::show_kernel, "show the kernel before CUDA C", "CUDA C 이전의 커널 보기"},
    Words{Label::owed, "Open obligations", "남은 의무"},
    Words{Label::not_lowered, "There is no kernel while obligations are open.",
          "의무가 남아 있는 동안에는 커널이 없다."},
    Words{Label::no_links, "This line has no counterpart.", "이 줄에 대응하는 줄이 없다."},
    Words{Label::links, "Lines that belong together: {}", "서로 대응하는 줄: {}"},
    Words{Label::refused, "Refused", "거부됨"},
    Words{Label::wrong, "Wrong result", "잘못된 결과"},
    Words{Label::made_by, "Made by nestsmith report.", "nestsmith report로 만든 문서."},
    Words{Label::site_title, "The tutorials", "튜토리얼"},
    Words{Label::rungs_from_to, "Rungs: {}", "단계: {}"},
    Words{Label::skip_to_rungs, "Skip to the rungs", "단계로 건너뛰기"},
};

/// A label without words in a language does not compile.
constexpr bool complete() {
  if (labels.size() != static_cast<std::size_t>(Label::last_))
    return false;
  for (std::size_t n = 0; n < labels.size(); ++n)
    if (labels[n].label != static_cast<Label>(n) || labels[n].en.empty() || labels[n].ko.empty())
      return false;
  return true;
}
static_assert(complete(), "every label has words in every language, in the order of the enumerators");

} // namespace

std::string_view say(Label label, Language language) {
  const Words &words = labels[static_cast<std::size_t>(label)];
  return language == Language::en ? words.en : words.ko;
}

std::string say(Label label, Language language, const std::string &value) {
  return fmt::format(fmt::runtime(say(label, language)), value);
}

std::string_view code(Language language) { return language_codes[static_cast<std::size_t>(language)]; }

} // namespace nestsmith::cli::report
