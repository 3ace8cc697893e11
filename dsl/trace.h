#pragma once
/// A schedule's trace: as C++ that compiles, and as JSON that can be saved and replayed.

#include "dsl/schedule.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace nestsmith {

/// The statements that turn `Schedule s(program)` into this schedule: handles are declared where they are
/// first used.
std::string trace_to_cpp(const Schedule &schedule);

/// What a trace file holds.
struct TraceFile {
  std::string workload; ///< the program's name
  std::vector<std::int64_t> shape;
  DType dtype = DType::f32;
  std::string arch; ///< of the target
  std::vector<Directive> directives;
  std::vector<std::pair<std::string, Size>> sizes =
      {}; ///< by name, as stated; then `shape` says where it is run
};

std::string to_json(const TraceFile &trace);
TraceFile trace_file(const Schedule &schedule, std::vector<std::int64_t> shape, DType dtype);

/// Throws UserError(usage) on what is no trace: where, got and expected. `where` names the file in messages.
TraceFile parse_trace(const std::string &json, const std::string &where);

/// The primitives that a trace may name, in alphabetical order.
std::vector<std::string> directive_names();

/// Applies one directive to the schedule, under whatever names it gives to what it makes: `results` is not
/// read. Throws as `replay` does.
void apply(Schedule &schedule, const Directive &directive, const std::string &where);

/// Applies the directives to the program. Throws ScheduleError as the directives do, and UserError(usage)
/// where a directive is unknown, has other arguments, or made something else than the trace says.
Schedule replay(const TraceFile &trace, Program program, Target target, const std::string &where);

} // namespace nestsmith
