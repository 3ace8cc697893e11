#pragma once
/// The time line of one SM: what the model of the estimated time executes (runtime/model/pipeline.h).

#include "runtime/model/estimate.h"

#include <string>
#include <vector>

namespace nestsmith::model {

/// A row of the time line. `group` 0 is the SM, with its schedulers and units; group n is the n-th block, with
/// its warps.
struct TimelineTrack {
  int group = 0, row = 0;
  std::string name;
};

enum class TimelineKind : std::uint8_t {
  instruction, ///< instructions of one line that a warp issues without a pause
  stall,       ///< a warp waits
  iteration,   ///< of a loop, around the instructions and stalls of a warp
  unit,        ///< a scheduler or a unit is busy
  flight       ///< a load or a copy from its issue to its result; flights of a warp overlap
};
std::string_view name(TimelineKind kind);

struct TimelineEvent {
  TimelineKind kind = TimelineKind::instruction;
  std::size_t track = 0;
  double from = 0, to = 0; ///< clocks
  std::string name;        ///< the line of the kernel, the loop or the reason of a stall
  std::string unit;        ///< the kind of the instruction, or empty
  int line = 0;            ///< of the kernel's text; 0: unknown
  int instructions = 0;
};

struct Timeline {
  std::vector<TimelineTrack> tracks;
  std::vector<TimelineEvent> events; ///< by track and begin; an outer event before the events inside of it
  std::string loop;                  ///< head of the main loop; empty if there is none
  double iterations = 0;             ///< of the main loop in the kernel
  std::int64_t executed = 0;         ///< iterations of the main loop that the time line contains
  int blocks = 0, warps = 0;         ///< resident blocks, and warps of each, of the main role
  int other_warps = 0;               ///< warps of each block that fill tiles for those of the main role
  double clocks = 0;                 ///< that the model takes for this part
  double recorded = 0;               ///< clock at which there were too many events; otherwise `clocks`
};

struct TimelineOptions {
  std::int64_t iterations = 4; ///< maximum number of iterations of the main loop
  /// Fewer iterations are executed if there are more events. If one iteration has more, the time line ends at
  /// this number.
  std::size_t max_events = 100'000;
};

/// The first wave of the kernel on one SM. Of a kernel with roles, the warps of the main role are executed,
/// which does not wait for its tiles; those of the other roles have their fills. `lines` has the lines of the
/// kernel's text, of which `source_lines` states the numbers. Throws UserError (no_device) without machine code
/// that the model can read.
Timeline timeline(const KernelAnalysis &analysis, const Gpu &gpu, const std::vector<std::string> &lines,
                  const TimelineOptions &options = {});

} // namespace nestsmith::model
