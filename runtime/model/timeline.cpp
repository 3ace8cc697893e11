#include "runtime/model/timeline.h"

#include "codegen/cuda.h"
#include "dsl/expr/error.h"
#include "runtime/model/sm_observer.h"
#include "runtime/model/timeline_roles.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <tuple>

namespace nestsmith::model {

namespace {

std::string_view unit_name(Unit unit) {
  constexpr std::array<std::string_view, 14> names = {
      "fp32",       "matrix",       "shared load", "shared store", "ldmatrix", "global load", "global store",
      "async copy", "commit group", "wait group",  "barrier",      "branch",   "exit",        "other"};
  return names[static_cast<std::size_t>(unit)];
}

std::string_view stall_name(Stall reason) {
  constexpr std::array<std::string_view, 9> names = {
      "wait: barrier",  "wait: branch",      "wait: fixed latency",     "wait: result",
      "wait: copies",   "wait: matrix unit", "wait: instruction cache", "wait: queue of shared memory",
      "wait: scheduler"};
  return names[static_cast<std::size_t>(reason)];
}

/// The line without its indentation and its end.
std::string short_line(const std::string &line) {
  constexpr std::size_t most = 72;
  std::size_t begin = line.find_first_not_of(' ');
  std::string text = begin == std::string::npos ? "" : line.substr(begin);
  if (text.size() > most) {
    std::size_t end = most;
    while (end > 0 && (text[end] & 0xC0) == 0x80) // inside of a character of UTF-8
      --end;
    text = text.substr(0, end) + "…";
  }
  return text;
}

/// Records the events of the warps and units until there are too many.
class Recorder : public SmObserver {
public:
  Recorder(const kernel::Kernel &kernel, const ModelledCode &code, const std::vector<int> &numbers,
           const std::vector<std::string> &lines, int blocks, std::size_t max_events)
      : code_(code), numbers_(numbers), lines_(lines), max_events_(max_events) {
    int warps = code.work.warps;
    for (int n = 0; n < code.work.schedulers; ++n)
      schedulers_.push_back(add(0, fmt::format("scheduler {}", n)));
    for (int n = 0; n < code.work.schedulers; ++n)
      matrix_.push_back(add(0, fmt::format("matrix unit {}", n)));
    pipe_ = add(0, "shared memory and L1");
    l2_ = add(0, "share of L2");
    for (int n = 0; n < warps * blocks; ++n) {
      warps_.push_back(add(1 + n / warps, name_of_warp(kernel, n % warps)));
      last_.push_back(none);
      open_.emplace_back();
      flights_.emplace_back();
      main_iterations_.push_back(0);
    }
    main_ends_.resize(static_cast<std::size_t>(blocks));
    for (const CodeLoop &loop : code.counts.loops)
      loop_names_.push_back(head(loop));
  }

  void issue(int scheduler, int warp, std::size_t instruction, double from, double to) override {
    if (!fits(from))
      return;
    enter_loops(warp, instruction, from);
    auto w = static_cast<std::size_t>(warp);
    append(last_[w], event(TimelineKind::instruction, warps_[w], instruction, from, to));
    TimelineEvent slot =
        event(TimelineKind::unit, schedulers_[static_cast<std::size_t>(scheduler)], instruction, from, to);
    slot.name = "warp " + std::to_string(warp);
    slot.line = 0;
    slot.unit.clear();
    append(last_slot_[static_cast<std::size_t>(scheduler)], std::move(slot));
    leave_loops(warp, instruction, to);
    ended_[w] = to;
  }

  void stall(int warp, Stall reason, std::size_t instruction, double from, double to) override {
    if (!fits(to))
      return;
    auto w = static_cast<std::size_t>(warp);
    enter_loops(warp, instruction, from);
    TimelineEvent waits = event(TimelineKind::stall, warps_[w], instruction, from, to);
    waits.name = stall_name(reason);
    waits.instructions = 0;
    waits.unit.clear();
    if (reason == Stall::scoreboard)
      if (std::size_t source = awaited(w, to); source != none)
        waits.name = fmt::format("wait: {}", unit_name(code_.code[source].unit));
    append(last_[w], std::move(waits));
  }

  void busy(SmUnit unit, int index, int warp, std::size_t instruction, double from, double to) override {
    if (full_)
      return;
    std::size_t track = unit == SmUnit::matrix ? matrix_[static_cast<std::size_t>(index)]
                        : unit == SmUnit::pipe ? pipe_
                                               : l2_;
    TimelineEvent used = event(TimelineKind::unit, track, instruction, from, to);
    used.name = fmt::format("warp {}: {}", warp, used.name);
    events_.push_back(std::move(used));
  }

  void flight(int warp, std::size_t instruction, double from, double to) override {
    auto w = static_cast<std::size_t>(warp);
    auto &flights = flights_[w];
    std::erase_if(flights, [&](const auto &each) { return each.first < from; });
    flights.emplace_back(to, instruction);
    Unit unit = code_.code[instruction].unit;
    if (fits(from) && (unit == Unit::async_copy || unit == Unit::global_load))
      events_.push_back(event(TimelineKind::flight, warps_[w], instruction, from, to));
  }

  bool full() const { return full_; }

  Timeline result(double clocks) {
    for (std::size_t w = 0; w < open_.size(); ++w)
      while (!open_[w].empty())
        close(w, full_ ? std::min(ended_[w], until_) : ended_[w]);
    Timeline line;
    line.clocks = clocks;
    line.recorded = full_ ? std::min(until_, clocks) : clocks;
    std::erase_if(events_, [](const TimelineEvent &event) { return event.to <= event.from; });
    std::ranges::stable_sort(events_, {}, [](const TimelineEvent &event) {
      return std::tuple(event.track, event.from, event.kind != TimelineKind::iteration, -event.to);
    });
    line.tracks = std::move(tracks_);
    line.events = std::move(events_);
    return line;
  }
  const std::string &loop_name(std::size_t loop) const { return loop_names_[loop]; }
  /// For each block: the clock at which its last warp ends each iteration of the main loop.
  const std::vector<std::vector<double>> &main_ends() const { return main_ends_; }

private:
  static constexpr std::size_t none = std::numeric_limits<std::size_t>::max();

  std::size_t add(int group, const std::string &name) {
    int row = 0;
    for (const TimelineTrack &track : tracks_)
      row += track.group == group;
    tracks_.push_back({group, row, name});
    if (group == 0)
      last_slot_.push_back(none);
    else
      ended_.push_back(0);
    return tracks_.size() - 1;
  }

  /// Whether events are still recorded. The first one that is not ends the time line.
  bool fits(double clock) {
    if (!full_ && events_.size() >= max_events_) {
      full_ = true;
      until_ = clock;
    }
    return !full_;
  }

  int number(std::size_t instruction) const {
    return instruction < numbers_.size() ? numbers_[instruction] : 0;
  }
  std::string text(std::size_t instruction) const {
    int line = number(instruction);
    bool known = line > 0 && static_cast<std::size_t>(line) <= lines_.size();
    return known ? short_line(lines_[static_cast<std::size_t>(line) - 1])
                 : std::string(unit_name(code_.code[instruction].unit));
  }
  /// The head of a loop: the line of its branch. The compiler gives the branch of a loop that it has rotated
  /// the line of the loop.
  std::string head(const CodeLoop &loop) const {
    std::string line = text(loop.end);
    return line.starts_with("for") ? line.substr(0, line.rfind(')') + 1)
                                   : fmt::format("loop of {} instructions", loop.end - loop.begin + 1);
  }

  TimelineEvent event(TimelineKind kind, std::size_t track, std::size_t instruction, double from,
                      double to) const {
    return {kind,
            track,
            from,
            to,
            text(instruction),
            std::string(unit_name(code_.code[instruction].unit)),
            number(instruction),
            1};
  }

  /// Extends the last event of the track, or adds an event.
  void append(std::size_t &last, TimelineEvent added) {
    if (last != none) {
      TimelineEvent &before = events_[last];
      if (before.to == added.from && before.kind == added.kind && before.name == added.name &&
          before.unit == added.unit && before.line == added.line) {
        before.to = added.to;
        before.instructions += added.instructions;
        return;
      }
    }
    last = events_.size();
    events_.push_back(std::move(added));
  }

  struct OpenLoop {
    std::size_t loop = 0;
    std::int64_t iteration = 0;
    double from = 0;
  };

  void enter_loops(int warp, std::size_t instruction, double from) {
    auto w = static_cast<std::size_t>(warp);
    const std::vector<CodeLoop> &loops = code_.counts.loops; // an outer loop is before its inner loops
    while (!open_[w].empty()) {
      const CodeLoop &loop = loops[open_[w].back().loop];
      if (loop.begin <= instruction && instruction <= loop.end)
        break;
      close(w, from);
    }
    for (std::size_t n = 0; n < loops.size(); ++n)
      if (loops[n].begin == instruction && std::ranges::find(open_[w], n, &OpenLoop::loop) == open_[w].end()) {
        open_[w].push_back({n, 0, from});
        last_[w] = none; // an event does not extend over the begin of an iteration
      }
  }

  void leave_loops(int warp, std::size_t instruction, double to) {
    auto w = static_cast<std::size_t>(warp);
    if (open_[w].empty() || code_.counts.loops[open_[w].back().loop].end != instruction)
      return;
    OpenLoop next = open_[w].back();
    close(w, to);
    ++next.iteration;
    next.from = to;
    open_[w].push_back(next);
    last_[w] = none;
  }

  void close(std::size_t w, double to) {
    OpenLoop loop = open_[w].back();
    open_[w].pop_back();
    if (to <= loop.from)
      return;
    if (loop.loop == code_.counts.main) {
      std::vector<double> &ends = main_ends_[w / static_cast<std::size_t>(code_.work.warps)];
      const std::size_t iteration = main_iterations_[w]++;
      ends.resize(std::max(ends.size(), iteration + 1));
      ends[iteration] = std::max(ends[iteration], to);
    }
    TimelineEvent event{TimelineKind::iteration, warps_[w], loop.from, to, {}, {}, 0, 0};
    event.name = fmt::format("{}, iteration {}", loop_names_[loop.loop], loop.iteration);
    event.line = number(code_.counts.loops[loop.loop].end);
    events_.push_back(std::move(event));
    last_[w] = none;
  }

  /// The instruction whose result arrives at this clock.
  std::size_t awaited(std::size_t w, double clock) const {
    for (const auto &[end, instruction] : flights_[w])
      if (std::abs(end - clock) < 1)
        return instruction;
    return none;
  }

  const ModelledCode &code_;
  const std::vector<int> &numbers_;
  const std::vector<std::string> &lines_;
  std::size_t max_events_;
  std::vector<TimelineTrack> tracks_;
  std::vector<TimelineEvent> events_;
  std::vector<std::size_t> schedulers_, matrix_, warps_, last_, last_slot_;
  std::size_t pipe_ = 0, l2_ = 0;
  std::vector<std::vector<OpenLoop>> open_;
  std::vector<std::vector<std::pair<double, std::size_t>>> flights_;
  std::vector<double> ended_;
  std::vector<std::size_t> main_iterations_; ///< of each warp
  std::vector<std::vector<double>> main_ends_;
  std::vector<std::string> loop_names_;
  bool full_ = false;
  double until_ = 0;
};

} // namespace

std::string_view name(TimelineKind kind) {
  constexpr std::array<std::string_view, 5> names = {"instruction", "stall", "iteration", "unit", "flight"};
  return names[static_cast<std::size_t>(kind)];
}

Timeline timeline(const KernelAnalysis &analysis, const Gpu &gpu, const std::vector<std::string> &lines,
                  const TimelineOptions &options) {
  std::optional<ModelledCode> code = modelled_code(analysis, gpu);
  if (!code)
    throw UserError(
        ExitCode::no_device,
        fmt::format("a time line needs the machine code of {} for sm_80 or newer, compiled by NVRTC; "
                    "`nestsmith doctor` says how to get NVRTC",
                    analysis.kernel.name));
  std::vector<int> numbers = source_lines(analysis.compiled->cubin, entry_name(analysis.kernel));
  int blocks = static_cast<int>(wave_shapes(analysis.waves, analysis.occupancy.blocks, gpu.sms).front().blocks);
  bool has_main = code->counts.main < code->counts.loops.size();
  double wanted = has_main ? code->counts.iterations[code->counts.main] : 1;
  auto most =
      static_cast<std::int64_t>(std::min<double>(std::round(wanted), static_cast<double>(options.iterations)));
  for (std::int64_t executed = std::max<std::int64_t>(most, 1);; executed /= 2) {
    SmWork work = code->work;
    work.code = &code->code;
    work.blocks = blocks;
    work.iterations = code->counts.part(static_cast<double>(executed));
    Recorder recorder(analysis.kernel, *code, numbers, lines, blocks, options.max_events);
    work.observer = &recorder;
    double clocks = sm_clocks(work);
    if (recorder.full() && executed > 1)
      continue;
    Timeline line = recorder.result(clocks);
    line.iterations = has_main ? std::round(wanted) : 0;
    line.executed = has_main ? executed : 0;
    line.loop = has_main ? recorder.loop_name(code->counts.main) : "";
    line.blocks = blocks;
    line.warps = code->work.warps;
    MainLoop main{1, line.executed, line.iterations, recorder.main_ends()};
    for (std::size_t n = 0; has_main && n < code->counts.loops.size(); ++n)
      if (n != code->counts.main && code->counts.loops[n].contains(code->counts.loops[code->counts.main]))
        main.tiles *= std::max<std::int64_t>(1, work.iterations[n]);
    add_roles(line, analysis, main);
    return line;
  }
}

} // namespace nestsmith::model
