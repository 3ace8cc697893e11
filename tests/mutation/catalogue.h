#pragma once
/// The catalogue of seeded bugs.

#include "runtime/sim/arrivals.h"
#include "runtime/sim/diagnostic.h"
#include "tests/mutation/seed.h"

#include <set>
#include <string>
#include <variant>
#include <vector>

namespace nestsmith::mutation {

/// The errors of the checks before a kernel runs:
///     obligation   the schedule has an obligation that excludes the bug
///     breach       a verifier reports a violated invariant
///     refused      a pass or the simulator stops at the bug
enum class Refusal : std::uint8_t { obligation, breach, refused };
/// The errors of a run beside the diagnostics of the simulator:
///     wrong_value  an element differs from the reference
///     crash        the process crashes or hangs, which is always an error of the checks
enum class BadRun : std::uint8_t { wrong_value, crash };

/// The error that a check reports about a kernel.
using Error = std::variant<Refusal, sim::ErrorKind, BadRun>;
namespace errors {
using enum Refusal;
using enum sim::ErrorKind;
using enum BadRun;
} // namespace errors
const char *name(Error error);
using Errors = std::set<Error>;
/// The errors as a number, from one process to another.
std::uint64_t bits_of(const Errors &errors);
Errors errors_of(std::uint64_t bits);

/// Where a bug is seeded:
///     final      in the kernels of the plan, or in the machine that executes them
///     extracted  in the result of `extract`; later passes insert barriers, merge guards and place buffers
///     scheduled  in the program after the last directive, as a primitive without its checks would do
enum class Stage : std::uint8_t { final, extracted, scheduled };

struct Kind {
  std::string group, name;
  std::string what; ///< "the barrier is dropped"
  Errors right;     ///< one of these must be reported
  std::function<void(kernel::Kernel &, Chooser &)> apply;
  Stage stage = Stage::final;
  std::function<void(kernel::Plan &, Chooser &)> apply_plan = nullptr; ///< used instead of `apply`, if not null
  std::function<void(Program &, Chooser &)> apply_program = nullptr;   ///< used for the stage `scheduled`
  /// Used instead of `apply`, if not null: the arrivals that the machine executes wrongly.
  std::function<void(const kernel::Kernel &, Chooser &, sim::WeakArrivals &)> apply_order = nullptr;
};

const std::vector<Kind> &catalogue();

// One function per group, in the file of the group.
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
std::vector<Kind> atomic_kinds();
std::vector<Kind> copy_kinds();
std::vector<Kind> fragment_kinds();

} // namespace nestsmith::mutation
