#pragma once
/// The catalogue of seeded bugs.

#include "tests/mutation/seed.h"

#include <set>
#include <string>
#include <vector>

namespace nestsmith::mutation {

/// The message of the net about a kernel that it rejects.
///   obligation  the schedule owes a condition that excludes the bug
///   breach   a verifier names what is broken                     refused  a pass or the simulator stops at it
///   others   a diagnostic of the simulator                          wrong_value  an element differs from the
///                                                                reference
///   crash    the process ended otherwise, or hung: always a failure of the net
enum class Error : std::uint8_t {
  obligation,
  breach,
  refused,
  race,
  out_of_bounds,
  unwritten_read,
  in_flight,
  misaligned,
  divergent_barrier,
  deadlock,
  counter_left,
  wrong_value,
  crash
};
const char *name(Error error);
using Errors = std::set<Error>;

/// Where a bug is seeded.
///   final      in the kernels of the plan
///   extracted  in what `extract` made: later passes find places for barriers, join guards, place buffers and
///              make vectors of it
///   scheduled  in the program after the last directive, as a primitive without one of its checks would change
///   it
enum class Stage : std::uint8_t { final, extracted, scheduled };

struct Kind {
  std::string group, name;
  std::string what; ///< "the barrier is dropped"
  Errors right;     ///< one of these must be among what is reported
  std::function<void(kernel::Kernel &, Chooser &)> apply;
  Stage stage = Stage::final;
  std::function<void(kernel::Plan &, Chooser &)> apply_plan = nullptr; ///< instead of `apply`
  std::function<void(Program &, Chooser &)> apply_program = nullptr;   ///< for `scheduled`
};

const std::vector<Kind> &catalogue();

// By group, in files of their names.
std::vector<Kind> barrier_kinds();
std::vector<Kind> guard_kinds();
std::vector<Kind> index_kinds();
std::vector<Kind> storage_kinds();
std::vector<Kind> loop_kinds();
std::vector<Kind> value_kinds();
std::vector<Kind> vector_kinds();
std::vector<Kind> launch_kinds();
std::vector<Kind> dependence_kinds();
std::vector<Kind> wrapping_kinds();
std::vector<Kind> arrival_kinds();
std::vector<Kind> copy_kinds();
std::vector<Kind> fragment_kinds();

} // namespace nestsmith::mutation
