#pragma once
/// The SIMT simulator: runs a lowered kernel on the host and checks it.
///
/// A value is a vector of 32 lanes, a warp has a program counter and an active mask, and order is per
/// thread: lockstep orders nothing. Two accesses of two threads to one element, one of them a store,
/// race unless a barrier lies between them: `__syncthreads` for threads of one block, `__syncwarp` too
/// for threads of one warp. Between blocks nothing orders. A block that fails at a barrier stops there.

#include "dsl/array.h"
#include "lowering/kernel.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace nestsmith::sim {

/// race               two unordered accesses to one element, one of them a store
/// out_of_bounds      an element offset below 0 or at least the buffer's elements; the access is not
///                    performed, and a load gives 0
/// unwritten_read     an element of shared or local memory, of an output, or of an argument that is not
///                    initialised, read before the kernel wrote it
/// misaligned         a vector whose address is not a multiple of its width; it is performed all the same
/// divergent_barrier  threads of one warp, or of one block, at different places at a barrier
/// deadlock           warps wait for threads that have finished
enum class ErrorKind : std::uint8_t {
  race,
  out_of_bounds,
  unwritten_read,
  misaligned,
  divergent_barrier,
  deadlock
};
const char *name(ErrorKind kind);

struct Finding {
  ErrorKind kind;
  /// Names the buffer, the element, the threads, the loop iterations and the statements.
  std::string message;
  /// Of a race in one block: which order is not kept. As a barrier's certificate says it.
  std::optional<kernel::Hazard> hazard = std::nullopt;
};

/// One parameter of the kernel. Two parameters must not share an array.
struct Argument {
  Array *array = nullptr;
  bool initialised = true; ///< false: an element is unwritten until the kernel stores it (outputs always are)
  std::vector<bool> written = {}; ///< but for these, which a kernel before it stored; empty: none
};

/// What was executed. Every figure counts one for each thread that executed the operation, but
/// `barriers`, which counts one for each warp. A vector is one load or store. Local memory (registers) is
/// not counted.
struct Stats {
  std::uint64_t multiply_adds = 0; ///< x + a*b in f32 or u32
  std::uint64_t loads_global = 0, stores_global = 0, loads_shared = 0, stores_shared = 0;
  std::uint64_t barriers = 0;
  double seconds = 0; ///< wall clock of the host

  Stats &operator+=(const Stats &other);
};

struct Result {
  std::vector<Finding> findings; ///< one for each kind and statement or pair of statements, in a fixed order
  Stats stats;
  std::vector<std::vector<bool>>
      written; ///< for each argument and element: this kernel or one before stored it

  bool good() const { return findings.empty(); }
};

class RunObserver;

struct Options {
  unsigned host_threads = 0;       ///< 0: all cores; results and findings do not depend on it
  std::size_t max_findings = 8;    ///< at least 1
  bool explain = true;             ///< false: a finding is its kind alone, which costs less
  bool check = true;               ///< races and unwritten reads; bounds and barriers are always checked
  RunObserver *observer = nullptr; ///< measures the run; null: none
  bool baseline =
      false; ///< no instructions of the host beyond the compiler's default; the results are the same bits
};

/// Runs every block of the grid. `buffers` and `scalars` stand in the order of the kernel's. Sizes and
/// dtypes must match the kernel's; anything else is a bug of the caller.
Result run(const kernel::Kernel &kernel, std::span<const Argument> buffers, std::span<const Scalar> scalars,
           const Options &options = {});

} // namespace nestsmith::sim
