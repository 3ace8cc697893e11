#pragma once
/// Traces of schedules: as C++ text that compiles, and as JSON text that can be saved and replayed.

#include "dsl/expr/error.h"
#include "dsl/schedule/knobs.h"
#include "dsl/schedule/schedule.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace nestsmith {

/// One line of C++: `auto [i_outer, i_inner] = s.split(i, {infer, 32});`, with `end` after the call.
std::string to_cpp(const Directive &directive, const char *end = ";");

/// The error for an obligation that the schedule leaves open.
ScheduleError to_error(const Schedule &schedule, const Obligation &owed);

/// The statements that turn `Schedule s(program)` into this schedule. Handles are declared at their first use.
std::string trace_to_cpp(const Schedule &schedule);

/// The content of a trace file. Versions 2 and 3 contain the computation, so that any nestsmith program can
/// replay the trace. Version 1 names the computation only.
struct TraceFile {
  std::string workload; ///< the program's name
  std::vector<std::int64_t> shape;
  DType dtype = DType::f32;
  std::string arch; ///< architecture of the target
  std::vector<Directive> directives;
  /// The stated limits of each size, by name. If the trace has sizes, `shape` gives their values for a run.
  std::vector<std::pair<std::string, Size>> sizes = {};
  std::optional<Program> computation = {}; ///< for `shape` and `dtype`, or for all sizes; none in version 1
  KnobValues knobs = {};                   ///< for information: the directives contain the chosen values
};

/// Writes version 2, version 3 if a stage reduces by another reducer than a sum, version 4 if a program defines
/// the reducer or a stage computes tuples, or version 1 without the
/// computation if there is none, or if the tensor language (dsl/ir/tensor.h) cannot state it.
std::string to_json(const TraceFile &trace);
TraceFile trace_file(const Schedule &schedule, std::vector<std::int64_t> shape, DType dtype,
                     KnobValues knobs = {});

/// The bytes that a trace may have.
inline constexpr std::size_t most_trace_bytes = 4 << 20;

/// Throws UserError (usage) for malformed input, with the position, the actual and the expected value. A trace
/// has at most `most_trace_bytes`, 5000 directives, and brackets that nest at most 64 deep
/// (dsl/expr/outside.h). `where` names the file in messages.
TraceFile parse_trace(const std::string &json, const std::string &where);

/// Applies one directive. Its `results` are ignored: new loops and blocks get the names that the schedule
/// chooses. Throws the errors of `replay`.
void apply(Schedule &schedule, const Directive &directive, const std::string &where);

/// Applies the directives to the program. Throws ScheduleError as the primitives do, and UserError (usage) if a
/// directive is unknown, if it has unexpected arguments, or if the names of its results differ from the names
/// in the trace.
Schedule replay(const TraceFile &trace, Program program, Target target, const std::string &where);

} // namespace nestsmith
