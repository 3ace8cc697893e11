#include "tools/pages/labels.h"

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
    Words{Label::teaches, "Teaches", "배울 내용"},
    Words{Label::continues, "Continues with", "이어지는 튜토리얼"},
    Words{Label::machine, "Predictions for", "예측 대상 GPU"},
    Words{Label::contents, "Contents", "목차"},
    Words{Label::climb, "The climb", "rung별 성능"},
    Words{Label::climb_measured, "measured {}", "측정값: {}"},
    Words{Label::climb_modelled,
          "not measured: an upper bound, from the least time of the model for {}; latency is ignored",
          "측정값이 아님: 모델이 {}에서 예측한 최소 시간으로 구한 상한(지연 시간은 무시)"},
    Words{Label::at_most, "at most {}", "최대 {}"},
    Words{Label::estimated, "estimated {}", "추정 {}"},
    Words{Label::estimate, "estimated by the model, with latency, barriers and waves",
          "모델의 추정값: 지연 시간, 배리어, 웨이브를 고려"},
    Words{Label::rung, "Rung", "rung"},
    Words{Label::rate, "Rate", "성능"},
    Words{Label::published_mark, "published: {}", "공개된 측정값: {}"},
    Words{Label::published_cublas, "published for cuBLAS: {}", "공개된 cuBLAS 측정값: {}"},
    Words{Label::roofline, "Roofline", "루프라인"},
    Words{Label::roofline_text,
          "A number marks each rung at its traffic with DRAM. Both axes are logarithmic. The requests of the "
          "lanes, "
          "which caches and merged accesses serve, are in the table only.",
          "번호는 각 rung의 DRAM 트래픽 기준 위치입니다. 두 축은 모두 로그 눈금입니다. 캐시와 접근 병합이 "
          "처리하는 "
          "레인의 요청은 표에만 있습니다."},
    Words{Label::intensity, "FLOP/byte", "FLOP/byte"},
    Words{Label::at_dram, "FLOP per byte of DRAM traffic", "FLOP/byte (DRAM 트래픽)"},
    Words{Label::at_requests, "FLOP per requested byte", "FLOP/byte (요청)"},
    Words{Label::run_table, "Results of run", "run의 결과"},
    Words{Label::why_better, "Why it helps, compared with {}", "{}보다 나은 이유"},
    Words{Label::why_same, "Why it gains nothing, compared with {}", "{}보다 나아지지 않는 이유"},
    Words{Label::why_worse, "Why it is worse than {}", "{}보다 못한 이유"},
    Words{Label::limits, "What limits it", "성능을 제한하는 요인"},
    Words{Label::figure, "Figure", "지표"},
    Words{Label::change, "Change", "변화"},
    Words{Label::all_figures, "All figures", "모든 지표"},
    Words{Label::differences, "Differences from {}", "{} 대비 차이"},
    Words{Label::steps, "Step by step", "단계별로 보기"},
    Words{Label::directives, "Directives", "지시문"},
    Words{Label::computation, "the computation, without directives", "계산(지시문 없음)"},
    Words{Label::step, "Step", "단계"},
    Words{Label::previous, "Previous", "이전"},
    Words{Label::next, "Next", "다음"},
    Words{Label::program, "Program", "프로그램"},
    Words{Label::kernel, "Kernel", "커널"},
    Words{Label::cuda, "CUDA C", "CUDA C"},
    Words{Label::show_kernel, "show the kernel before CUDA C", "CUDA C로 바꾸기 전의 커널 보기"},
    Words{Label::owed, "Open obligations", "아직 충족되지 않은 조건"},
    Words{Label::not_lowered, "The next kernel exists when no obligation is open.",
          "조건이 모두 충족되면 다음 커널이 생깁니다."},
    Words{Label::no_links, "This line has no counterpart.", "이 줄에 대응하는 줄이 없습니다."},
    Words{Label::links, "Lines that belong together: {}", "서로 대응하는 줄: {}"},
    Words{Label::refused, "Refused", "거부됨"},
    Words{Label::wrong, "Wrong result", "잘못된 결과"},
    Words{Label::not_compared, "Result not compared in full", "전부 비교하지 못한 결과"},
    Words{Label::made_by, "Made by nestsmith report.", "nestsmith report로 만든 문서입니다."},
    Words{Label::site_title, "The tutorials", "튜토리얼"},
    Words{Label::rungs_from_to, "Rungs: {}", "rung: {}"},
    Words{Label::skip_to_rungs, "Skip to the rungs", "rung으로 건너뛰기"},
    Words{Label::pictures, "Pictures of data", "데이터 그림"},
    Words{Label::owners, "Which thread owns which element", "각 원소를 담당하는 스레드"},
    Words{Label::owners_text,
          "The first thread block. Point at a thread to see its elements, or at an element to see its thread. "
          "With the keyboard, move the focus to a grid with Tab, and use the arrow keys. A number in a grid is "
          "a warp. In the grid of a fragment, 5:2 is register 2 of lane 5.",
          "첫 번째 스레드 블록입니다. 스레드를 가리키면 그 스레드의 원소가, 원소를 가리키면 그 원소의 스레드가 "
          "표시됩니다. 키보드로는 Tab 키로 격자에 초점을 옮긴 뒤 화살표 키를 사용합니다. 격자 안의 번호는 워프 "
          "번호입니다. fragment의 격자에서 5:2는 레인 5의 레지스터 2입니다."},
    Words{Label::stored_by, "{}, by the thread that stores it", "{}: 각 원소를 저장하는 스레드"},
    Words{Label::copied_by, "{} in shared memory, by the thread that copies it",
          "공유 메모리의 {}: 각 원소를 복사하는 스레드"},
    Words{Label::held_by, "{}, by the lane and the register that hold it", "{}: 각 원소가 있는 레인:레지스터"},
    Words{Label::first_part, "the first {} are drawn", "앞의 {}만 표시"},
    Words{Label::threads, "Threads: a row is a warp", "스레드: 한 행이 한 워프"},
    Words{Label::thread, "thread", "스레드"},
    Words{Label::warp, "warp", "워프"},
    Words{Label::lane, "lane", "레인"},
    Words{Label::lanes, "lanes", "레인"},
    Words{Label::also_lanes, "also lanes {}", "같은 원소를 가진 다른 레인: {}"},
    Words{Label::copies, "{} lanes hold each element, and a cell shows the first of them",
          "레인 {}개가 같은 원소를 가지며, 칸에는 첫 번째 레인만 표시"},
    Words{Label::register_number, "register", "레지스터"},
    Words{Label::elements, "elements", "원소 수"},
    Words{Label::nobody, "padding, or not written", "패딩이거나 값을 쓰지 않은 곳"},
    Words{Label::accesses, "Memory accesses of a warp", "워프의 메모리 접근"},
    Words{
        Label::accesses_text,
        "Select an access to see the first request of the first warp, or its line to see it in the CUDA text.",
        "접근을 선택하면 첫 번째 워프의 첫 요청이, 코드를 선택하면 CUDA C의 해당 줄이 표시됩니다."},
    Words{Label::access_number, "accesses {}", "접근 {}"},
    Words{Label::bank, "bank", "뱅크"},
    Words{Label::banks_text,
          "A column is a bank of shared memory. A number is the lane that the bank serves, with + if the word "
          "serves several lanes, which is free. ✗ marks a wavefront that a bank conflict adds.",
          "한 열이 공유 메모리의 뱅크 하나입니다. 번호는 그 뱅크가 처리하는 레인이고, +는 여러 레인이 같은 "
          "워드를 요청한다는 뜻이며 추가 비용은 없습니다. ✗는 뱅크 충돌 때문에 추가된 웨이브프런트입니다."},
    Words{Label::wavefront, "wavefront", "웨이브프런트"},
    Words{Label::conflict, "bank conflict", "뱅크 충돌"},
    Words{Label::byte, "byte", "바이트"},
    Words{
        Label::sectors_text,
        "A row is a line of 128 bytes with four sectors, a column is a word of 4 bytes. A number is the lane "
        "that requests the word, with + if several do. A dot is a word that is moved but not requested.",
        "한 행은 섹터 네 개로 이루어진 128바이트 라인이고, 한 열은 4바이트 워드입니다. 번호는 워드를 요청하는 "
        "레인이고, +는 여러 레인이 요청한다는 뜻입니다. 점은 요청하지 않았지만 전송되는 워드입니다."},
    Words{Label::unused_word, "moved, but not requested", "요청하지 않았지만 전송됨"},
    Words{Label::not_executed, "not executed by the first warp", "첫 번째 워프는 실행하지 않음"},
    Words{Label::occupancy, "Occupancy: the blocks on an SM", "점유율: SM 하나에 상주하는 블록"},
    Words{Label::occupancy_text, "Resident warps: {}", "상주 워프: {}"},
    Words{Label::registers, "Registers", "레지스터"},
    Words{Label::shared_memory, "Shared memory", "공유 메모리"},
    Words{Label::warps, "Warps", "워프"},
    Words{Label::blocks, "Blocks", "블록"},
    Words{Label::of_most, "room for blocks: {}", "수용할 수 있는 블록: {}"},
    Words{Label::is_limit, "limit", "제한 요인"},
    Words{Label::waves, "Waves over the SMs: {}", "모든 SM에 걸친 웨이브: {}"},
    Words{Label::full_waves, "full waves: {}", "가득 찬 웨이브: {}"},
    Words{Label::last_wave, "last wave: {}", "마지막 웨이브: {}"},
    Words{Label::waves_text, "A column is an SM, and its height is the number of its blocks.",
          "한 열이 SM 하나이고, 높이는 그 SM의 블록 수입니다."},
    Words{Label::time_line, "Time line of {}", "{} 루프의 타임라인"},
    Words{Label::time_line_text,
          "Each row is a nest of the loop, and its numbers are the iterations that it executes. Time goes to "
          "the right. Point at a barrier or a wait to see its hazards.",
          "각 행은 루프 안의 중첩(nest) 하나이고, 번호는 그 중첩이 실행하는 반복입니다. 시간은 오른쪽으로 "
          "흐릅니다. 배리어나 대기를 가리키면 그것이 막는 해저드가 표시됩니다."},
    Words{Label::time_line_joined,
          "The nests in one column belong to one step of the joined loop, and execute from top to bottom.",
          "한 열의 중첩들은 합쳐진(joined) 루프의 한 단계에 속하며, 위에서 아래로 실행됩니다."},
    Words{Label::time_line_parts, "3[0] is part 0 of iteration 3 of a spread loop.",
          "3[0]은 분산된(spread) 루프의 반복 3 가운데 0번 부분입니다."},
    Words{Label::stage, "stage {}", "스테이지 {}"},
    Words{Label::role, "role {}", "역할 {}"},
    Words{Label::main_role, "main role", "주 역할"},
    Words{Label::prologue, "prologue", "프롤로그"},
    Words{Label::steady, "steady state", "정상 상태"},
    Words{Label::drain, "drain", "드레인"},
    Words{Label::skipped, "iterations like these are left out", "비슷한 반복은 생략"},
    Words{Label::barrier, "barrier", "배리어"},
    Words{Label::wait, "wait for copies", "복사 완료 대기"},
    Words{Label::in_flight, "asynchronous copies are in flight", "비동기 복사 진행 중"},
    Words{Label::published_all, "All published figures: {}", "공개된 모든 측정값: {}"},
    Words{Label::published_apart, "Published for another GPU, and so not drawn above: {}",
          "다른 GPU에서 공개되어 위 그림에 그리지 않은 측정값: {}"},
    Words{Label::kernel_of, "after step {}, the last one with a kernel",
          "커널이 있는 마지막 단계인 {}단계의 결과"},
    Words{Label::no_kernel_yet, "No step so far has a kernel.", "아직 커널이 있는 단계가 없습니다."},
    Words{Label::helpers, "helper functions: {} lines", "보조 함수: {}줄"},
    Words{Label::costs_text,
          "Beside a line: requests of warps × wavefronts (wf) of shared memory or sectors (sec) of global "
          "memory for "
          "each, and the share of the estimated time in which shared memory or L1 serves them.",
          "줄 옆: 워프의 요청 수 × 요청당 공유 메모리 웨이브프런트(wf) 또는 전역 메모리 섹터(sec) 수와, 공유 "
          "메모리나 L1이 이를 처리하는 시간이 추정 시간에서 차지하는 비율."},
    Words{Label::scrolls, "This table scrolls sideways.", "이 표는 옆으로 스크롤됩니다."},
    Words{Label::address_of_step, "Address of this step", "이 단계의 주소"},
    Words{Label::merged_access, "all its requests, as the compiler merges them: {}",
          "컴파일러가 합친 전체 요청: {}"},
    Words{
        Label::site_what,
        "nestsmith is a language and a compiler for schedules of GPU loop nests. A schedule is a list of "
        "directives. Each directive is checked, and refused with the reason if it could change the result; "
        "each "
        "step can be seen; and a CUDA kernel comes out. No GPU is needed to read, check or predict.",
        "nestsmith는 GPU 루프 중첩의 스케줄을 위한 언어이자 컴파일러입니다. 스케줄은 지시문의 목록입니다. 모든 "
        "지시문을 검사하여 결과를 바꿀 수 있으면 이유와 함께 거부하고, 모든 단계를 볼 수 있으며, 마지막에 CUDA "
        "커널이 나옵니다. 읽고 검사하고 예측하는 데 GPU가 필요하지 않습니다."},
    Words{Label::site_try, "Try it", "실행해 보기"},
    Words{Label::site_climb, "The climb: {}", "rung별 성능: {}"},
    Words{Label::site_climb_text, "Each bar is a rung, and leads to its page.",
          "막대 하나가 rung 하나이며, 그 문서로 이어집니다."},
    Words{Label::site_mistakes, "Mistakes that lint catches", "lint가 찾아내는 실수"},
    Words{
        Label::site_mistakes_text,
        "Errors that the posts made in print. Each schedule was built again, and this is what nestsmith said.",
        "게시물에 실제로 실린 오류입니다. 각 스케줄을 다시 만들었을 때 nestsmith가 낸 메시지입니다."},
    Words{Label::site_figures, "Figures that we correct", "바로잡은 수치"},
    Words{Label::site_figures_text,
          "Counts and ratios that the posts published, and what the kernels really do. Published times are "
          "not among them.",
          "게시물에 실린 개수와 비율, 그리고 커널의 실제 값입니다. 공개된 실행 시간은 포함하지 않습니다."},
    Words{Label::site_published, "published", "게시물의 값"},
    Words{Label::site_ours, "nestsmith", "nestsmith의 값"},
    Words{Label::site_mended, "Without the mistake:", "실수가 없는 rung:"},
    Words{Label::recorded_on, "measured on {}", "{}에서 측정"},
    Words{Label::recorded_by, "Measured on {}, by", "{}에서 측정. 명령:"},
    Words{Label::recorded_older, "measured {} (older text)", "측정값: {}(이전 커널)"},
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
