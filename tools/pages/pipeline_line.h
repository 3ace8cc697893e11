#pragma once
/// The order in which a thread executes the nests of a loop, with the barriers and the waits between them. The
/// warps of several roles have no common order: a role that fills tiles runs as far ahead as free slots let it.

#include "dsl/ir/program.h"
#include "lowering/kernel.h"
#include "tools/pages/pipeline_rows.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace nestsmith::cli::report {

/// A barrier, a wait for copies or an await of an event in the text of the kernel.
struct LineSync {
  std::string name = {}; ///< "B1", "W1"
  bool wait = false;
  std::vector<std::string> hazards = {}; ///< its certificate, as text
  std::set<std::size_t> rows = {};       ///< whose buffers the hazards are about
};

/// One execution of a nest, a barrier or a wait.
struct LineEvent {
  std::size_t row = 0; ///< if it is a nest
  std::optional<std::size_t> sync =
      std::nullopt; ///< if it is a barrier or a wait: its index in `PipelineLine::syncs`
  /// Of the nest: "3", or "3.1" for iteration 1 of a joined loop, or "3[0]" for part 0 of a spread loop.
  std::string iteration = {};
  std::int64_t first_part = 0, last_part = -1;       ///< of a spread loop
  bool async = false;                                ///< the nest issues asynchronous copies
  std::optional<std::size_t> arrives = std::nullopt; ///< the event after which these copies are complete
};

/// A step: the prologue, or an iteration of the loop.
struct LineStep {
  enum class Phase : std::uint8_t { prologue, steady, drain, skipped };
  Phase phase = Phase::steady;
  std::int64_t iteration = 0;
  std::size_t begin = 0, end = 0; ///< its events
};

struct PipelineLine {
  std::string loop;
  std::int64_t extent = 0;
  bool pipelined = false;
  std::vector<LineRow> rows;
  std::vector<LineSync> syncs;
  std::vector<LineEvent> events; ///< in the order of execution
  std::vector<LineStep> steps;   ///< of the main role: the first and the last ones; those between are skipped

  bool has_roles() const {
    return std::ranges::any_of(rows, [](const LineRow &row) { return row.role > 0; });
  }
};

/// The time lines of the loops of a kernel that are pipelined, or that contain barriers. `program` is the
/// scheduled program of the kernel, which has no sizes.
std::vector<PipelineLine> pipeline_lines(const kernel::Kernel &kernel, const Program &program);

} // namespace nestsmith::cli::report
