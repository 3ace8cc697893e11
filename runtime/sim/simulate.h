#pragma once
/// The SIMT simulator: executes a lowered kernel on the host and checks it.
///
/// A value is a vector of 32 lanes, and a warp has a program counter and an active mask. Ordering is per
/// thread; lockstep execution does not order accesses. Two accesses of two threads to one element, one of them
/// a store, race unless a barrier is between them: `__syncthreads` for threads of one block, or also
/// `__syncwarp` for threads of one warp. Accesses of different blocks are never ordered. A block stops at an
/// invalid barrier.

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
/// out_of_bounds      an element offset outside of the buffer; the access is not performed, and a load gives 0
/// unwritten_read     a read of an element that the kernel has not written, in shared or local memory, in an
///                    output, or in an argument that is not initialised
/// misaligned         a vector whose address is not a multiple of its width; the access is performed
/// divergent_barrier  threads of one warp or one block wait at different barriers
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
  /// States the buffer, the element, the threads, the loop iterations and the statements.
  std::string message;
  /// For a race in one block: the violated order, in the form of a barrier's certificate.
  std::optional<kernel::Hazard> hazard = std::nullopt;
};

/// A parameter of the kernel. Two parameters must not share an array.
struct Argument {
  Array *array = nullptr;
  bool initialised = true;        ///< false (and for outputs): unwritten until the kernel stores them
  std::vector<bool> written = {}; ///< exceptions: elements that an earlier kernel stored; empty: none
};

/// Executed operations, counted per thread; `barriers` are counted per warp. A vector access is one load or
/// store. Local memory (registers) is not counted.
struct Stats {
  std::uint64_t multiply_adds = 0; ///< x + a*b in f32 or u32
  std::uint64_t loads_global = 0, stores_global = 0, loads_shared = 0, stores_shared = 0;
  std::uint64_t barriers = 0;
  double seconds = 0; ///< wall clock time on the host

  Stats &operator+=(const Stats &other);
};

struct Result {
  std::vector<Finding> findings; ///< one per kind and statement or pair of statements, in a fixed order
  Stats stats;
  /// For each argument and element: whether this kernel or an earlier one stored it.
  std::vector<std::vector<bool>> written;

  bool good() const { return findings.empty(); }
};

class RunObserver;

struct Options {
  unsigned host_threads = 0;       ///< 0: all cores; results and findings do not depend on it
  std::size_t max_findings = 8;    ///< at least 1
  bool explain = true;             ///< false: findings have a kind only, which is faster
  bool check = true;               ///< races and unwritten reads; bounds and barriers are always checked
  RunObserver *observer = nullptr; ///< measures the run; may be null
  /// Use only the compiler's default instruction set. The results have the same bits.
  bool baseline =
      false; ///< no instructions of the host beyond the compiler's default; the results are the same bits
};

/// Executes every block of the grid. `buffers` and `scalars` are in the order of the kernel's and must have its
/// sizes and dtypes; a mismatch is an internal error.
Result run(const kernel::Kernel &kernel, std::span<const Argument> buffers, std::span<const Scalar> scalars,
           const Options &options = {});

} // namespace nestsmith::sim
