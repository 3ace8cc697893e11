#include "tools/results/timeline_file.h"

#include "codegen/cuda.h"
#include "runtime/cuda/nvrtc.h"
#include "runtime/model/machine_code.h"
#include "tools/output/json.h"
#include "tools/output/terminal.h"
#include "tools/output/text_diff.h"

#include <algorithm>
#include <fmt/format.h>
#include <tuple>

namespace nestsmith::cli {

namespace {

/// Adds the line table to the machine code of the analysis if the compiler generates the same code with it.
void add_line_table(KernelAnalysis &analysis, const std::string &text, Arch arch) {
  if (!analysis.compiled)
    return;
  std::string name = entry_name(analysis.kernel);
  try {
    cuda::Compiled with_lines = cuda::Nvrtc::get().compile(text, name, to_string(arch), &DiskCache::standard(),
                                                           {"--generate-line-info"});
    if (model::machine_code(with_lines.cubin, name) == model::machine_code(analysis.compiled->cubin, name))
      analysis.compiled->cubin = std::move(with_lines.cubin);
  } catch (const UserError &) { // the events have no lines
  }
}

/// An event of the file: the begin or the end of a flight, or a whole event.
struct TraceEvent {
  double clock = 0;
  char phase = 'X';
  std::size_t event = 0;
};

/// In the order of their clocks. At one clock, flights end before others begin, and an outer event is before
/// the events inside of it.
std::vector<TraceEvent> in_order(const model::Timeline &timeline) {
  std::vector<TraceEvent> result;
  for (std::size_t n = 0; n < timeline.events.size(); ++n) {
    const model::TimelineEvent &event = timeline.events[n];
    bool flight = event.kind == model::TimelineKind::flight;
    result.push_back({event.from, flight ? 'b' : 'X', n});
    if (flight)
      result.push_back({event.to, 'e', n});
  }
  std::ranges::stable_sort(result, {}, [](const TraceEvent &event) {
    return std::tuple(event.clock, event.phase != 'e', event.event);
  });
  return result;
}

int thread_of(const model::TimelineTrack &track) { return track.row + 1; }
int process_of(const model::TimelineTrack &track) { return track.group + 1; }

std::string metadata(const std::string &what, int process, int thread, const std::string &name) {
  return json_line([&](llvm::json::OStream &json) {
    json.object([&] {
      json.attribute("ph", "M");
      json.attribute("name", what);
      json.attribute("pid", process);
      if (thread > 0)
        json.attribute("tid", thread);
      json.attributeObject("args", [&] { json.attribute("name", name); });
    });
  });
}

std::string event_text(const model::Timeline &timeline, const TraceEvent &at) {
  const model::TimelineEvent &event = timeline.events[at.event];
  const model::TimelineTrack &track = timeline.tracks[event.track];
  return json_line([&](llvm::json::OStream &json) {
    json.object([&] {
      json.attribute("ph", std::string(1, at.phase));
      json.attribute("name", event.name);
      json.attribute("cat", std::string(name(event.kind)));
      json.attribute("ts", at.clock);
      if (at.phase == 'X')
        json.attribute("dur", event.to - event.from);
      else
        json.attribute("id", static_cast<std::int64_t>(at.event));
      json.attribute("pid", process_of(track));
      json.attribute("tid", thread_of(track));
      if (at.phase != 'e')
        json.attributeObject("args", [&] {
          if (event.line > 0)
            json.attribute("line", event.line);
          if (!event.unit.empty())
            json.attribute("unit", event.unit);
          if (event.instructions > 0)
            json.attribute("instructions", event.instructions);
        });
    });
  });
}

std::string other_data(const model::Timeline &timeline, const PlanAnalysis &analysis,
                       const std::string &title) {
  return json_line([&](llvm::json::OStream &json) {
    json.object([&] {
      json.attribute("title", title);
      json.attribute("kernel", analysis.slowest().kernel.name);
      json.attribute("gpu", analysis.gpu.product);
      json.attribute("time_unit", "1 us is 1 clock of the SM");
      json.attribute("contents", summary(timeline));
      json.attribute("clocks", timeline.clocks);
      json.attribute("recorded_clocks", timeline.recorded);
      json.attribute("blocks", timeline.blocks);
      json.attribute("warps_per_block", timeline.warps + timeline.other_warps);
      json.attribute("warps_of_main_role", timeline.warps);
      json.attribute("main_loop", timeline.loop);
      json.attribute("iterations", timeline.iterations);
      json.attribute("executed_iterations", timeline.executed);
      json.attribute("max_events", static_cast<std::int64_t>(model::TimelineOptions{}.max_events));
      json.attribute("estimated_seconds", analysis.slowest().estimated_seconds);
    });
  });
}

} // namespace

model::Timeline timeline_of(const PlanAnalysis &analysis, const kernel::Plan &plan) {
  auto index = static_cast<std::size_t>(&analysis.slowest() - analysis.kernels.data());
  KernelAnalysis kernel = analysis.kernels[index];
  std::string text = cuda_kernel(plan.kernels[index]);
  add_line_table(kernel, text, analysis.gpu.arch);
  return model::timeline(kernel, analysis.gpu, split_lines(text));
}

std::string chrome_trace(const model::Timeline &timeline, const PlanAnalysis &analysis,
                         const std::string &title) {
  std::vector<std::string> events;
  for (int group = 0; group <= timeline.blocks; ++group)
    events.push_back(
        metadata("process_name", group + 1, 0,
                 group == 0 ? "SM of " + analysis.gpu.product : fmt::format("block {}", group - 1)));
  for (const model::TimelineTrack &track : timeline.tracks)
    events.push_back(metadata("thread_name", process_of(track), thread_of(track), track.name));
  for (const TraceEvent &event : in_order(timeline))
    events.push_back(event_text(timeline, event));
  std::string text = "{\"displayTimeUnit\": \"ns\",\n\"otherData\": " + other_data(timeline, analysis, title) +
                     ",\n\"traceEvents\": [\n";
  for (std::size_t n = 0; n < events.size(); ++n)
    text += events[n] + (n + 1 < events.size() ? ",\n" : "\n");
  return text + "]}\n";
}

std::string summary(const model::Timeline &timeline) {
  const std::string roles = timeline.other_warps > 0
                                ? fmt::format(" of the main role and {} that fill tiles", timeline.other_warps)
                                : "";
  std::string text = fmt::format("{} block{} of {} warp{}{} on one SM, in {:.0f} clocks", timeline.blocks,
                                 timeline.blocks == 1 ? "" : "s", timeline.warps,
                                 timeline.warps == 1 ? "" : "s", roles, timeline.clocks);
  if (!timeline.loop.empty())
    text +=
        fmt::format("; {} of {:.0f} iterations of '{}'", timeline.executed, timeline.iterations, timeline.loop);
  if (timeline.recorded < timeline.clocks)
    text +=
        fmt::format("; ends after {:.0f} clocks, with {} events", timeline.recorded, timeline.events.size());
  return text;
}

} // namespace nestsmith::cli
