#pragma once
/// The judge of a schedule: the schedule must be refused or give the exact result.

#include "tests/fuzz/computations.h"
#include "tests/fuzz/device.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>

namespace nestsmith::fuzz {

/// The first three kinds break no promise:
///     refused        the schedule has an obligation, and lowering refuses it
///     exact          the program and the kernel give the exact result without a diagnostic
///     too_much       the simulation would take too long
/// The others break a promise:
///     wrong_program  the scheduled program gives another result
///     wrong_kernel   the kernel gives another result, or the simulator reports a diagnostic
///     not_lowered    lowering refuses a schedule without obligations, or accepts one with obligations
///     not_compiled   NVRTC refuses the text
///     wrong_device   on the device, the kernel gives another result, or its launch fails
///     vacuous        a check passes wrong results
///     command        a command fails (tests/fuzz/commands.h)
///     threw          an exception that is not a refusal
///     crashed, hung  the process crashed or exceeded its limit of time
enum class Kind : std::uint8_t {
  refused,
  exact,
  too_much,
  wrong_program,
  wrong_kernel,
  not_lowered,
  not_compiled,
  wrong_device,
  vacuous,
  command,
  threw,
  crashed,
  hung
};
const char *name(Kind kind);
constexpr bool breaks_promise(Kind kind) { return kind > Kind::too_much; }

/// Traits of a schedule that only some GPUs execute, and those that go with them.
enum class Trait : std::uint8_t { roles, slots, bulk_copies, bulk_stores, units, clusters, counters, early };
inline constexpr std::size_t trait_count = 8;
const char *name(Trait trait); ///< "roles"
using Traits = std::array<bool, trait_count>;

struct Verdict {
  Kind kind = Kind::exact;
  std::string message;
  /// Features of the kernels of an exact schedule.
  bool shared = false, pipeline = false, vector = false, intrinsic = false;
  bool warps = false, fragment = false;    ///< loops bound to warps or lanes; buffers distributed over lanes
  bool call = false, warp_barrier = false; ///< calls of an intrinsic of a warp; __syncwarp
  bool narrow_vector = false;              ///< a vector of elements narrower than 4 bytes
  bool infinite = false;                   ///< the kernel was also checked with infinite inputs
  Traits traits = {};                      ///< by Trait
  bool stores_in_bulk = false;             ///< the program has a bulk store, whatever the kind
  bool executed = false;                   ///< by the device, with the right result
  std::size_t kernels = 0;
  std::size_t texts = 0;        ///< kernels that NVRTC compiled: all kernels of a plan, or 0
  std::size_t architecture = 0; ///< the architecture of this compilation, an index into Nvrtc::arches()
};

struct Thoroughness {
  bool random = false;   ///< also compare runs with random floating-point numbers within an error bound
  bool infinite = false; ///< also check floating-point elements with infinities
  bool compile = false;  ///< compile with NVRTC, if it is installed
  /// The index of the architecture to compile for, modulo their number; none: the schedule's own.
  std::optional<std::uint64_t> turn = {};
  Device *device = nullptr; ///< also executes each exact schedule; null: only the simulator does
  bool everything = false;  ///< judge a case by every oracle (tests/fuzz/judge_all.h)
  bool report = false;      ///< with `everything`: also call the command `report`, which takes long
  bool sample = false;      ///< with `everything`: call only half of the other commands
};

/// Whether the values are within the stated limits of the program's sizes, which a launch checks.
bool are_stated(const Program &source, const std::vector<std::int64_t> &sizes);

/// Judges a schedule. `shape` contains the sizes of the run, and the limits for which the schedule was made.
Verdict judge(const Schedule &schedule, const Shape &shape, const Thoroughness &thoroughness = {});

/// Replays a case and judges it. Refused directives are skipped. `accepted` receives the others.
Verdict judge(const Case &test_case, const Thoroughness &thoroughness = {},
              std::vector<Directive> *accepted = nullptr);

} // namespace nestsmith::fuzz
