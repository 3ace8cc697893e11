#pragma once
/// Is a schedule what it is promised to be: a refusal, or the exact result?

#include "tests/fuzz/computations.h"

#include <cstdint>
#include <optional>
#include <string>

namespace nestsmith::fuzz {

/// refused        it owes something, and lowering says so
/// exact          program and kernel give the exact result; no diagnostic
/// too_much       it would take the simulator too long
/// The rest breaks a promise:
/// wrong_program  the scheduled program computes something else
/// wrong_kernel   the kernel does, or the simulator found a fault in it
/// not_lowered    it owes nothing, and lowering refused it; or it owes something, and was lowered
/// not_compiled   NVRTC refused the text
/// vacuous        a check passes wrong results
/// command        a command failed (tests/fuzz/commands.h)
/// threw          an exception that is no refusal
/// crashed, hung  the process ended, or did not in the time it has
enum class Kind : std::uint8_t {
  refused,
  exact,
  too_much,
  wrong_program,
  wrong_kernel,
  not_lowered,
  not_compiled,
  vacuous,
  command,
  threw,
  crashed,
  hung
};
const char *name(Kind kind);
constexpr bool breaks_promise(Kind kind) { return kind > Kind::too_much; }

struct Verdict {
  Kind kind = Kind::exact;
  std::string message;
  /// What the kernels of an exact schedule have.
  bool shared = false, pipeline = false, vector = false, intrinsic = false;
  bool warps = false, fragment = false;    ///< loops bound to warps or lanes; buffers spread over lanes
  bool call = false, warp_barrier = false; ///< an intrinsic of a warp; __syncwarp
  bool narrow_vector = false;              ///< a vector of elements of less than 4 bytes
  bool infinite = false;                   ///< the runs with infinities were among those of the kernel
  std::size_t kernels = 0;
  std::size_t texts = 0;        ///< that NVRTC took: all kernels of a plan, or none
  std::size_t architecture = 0; ///< that it took them for, a place among Nvrtc::arches()
};

struct Thoroughness {
  bool random = false;   ///< floating point within the bound too
  bool infinite = false; ///< with infinities too, where the elements are floating-point numbers
  bool compile = false;  ///< by NVRTC, where it is found
  /// For which of NVRTC's architectures, counted round; without it for the schedule's own.
  std::optional<std::uint64_t> turn = {};
  bool everything = false; ///< a case by every oracle (tests/fuzz/judge_all.h)
  bool report = false;     ///< with everything: the command `report`, which takes long
  bool sample = false;     ///< with everything: only half of the other commands, which take most of the time
};

/// Whether the values are within the stated limits of the sizes of the program, which a launch checks.
bool are_stated(const Program &source, const std::vector<std::int64_t> &sizes);

/// `shape` is where it is run, and says what it was made for.
Verdict judge(const Schedule &schedule, const Shape &shape, const Thoroughness &thoroughness = {});

/// Replays a case and judges it. Directives that are refused are left out and named in `refused`.
Verdict judge(const Case &test_case, const Thoroughness &thoroughness = {},
              std::vector<Directive> *accepted = nullptr);

} // namespace nestsmith::fuzz
