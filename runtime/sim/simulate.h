#pragma once
/// The SIMT simulator: executes a lowered kernel on the host and checks it.
///
/// The simulator executes one warp at a time: a value has 32 lanes, and a warp has a program counter and a mask
/// of active lanes. This lockstep execution does not order the accesses of different threads. Two accesses of
/// different threads to the same element, at least one of them a store, are a race unless a barrier orders
/// them. `__syncthreads` orders the accesses of all threads of a block. `__syncwarp` orders the accesses of the
/// threads of a warp. An arrival at a counter (lowering/kernel.h) orders all accesses of its block, and what
/// earlier arrivals have ordered before them, before the accesses that the last block makes after its own
/// arrival. Other accesses of different blocks are never ordered. All lanes that receive elements of a row
/// that a call reads, and the lane that supplies its address, read these elements. At an invalid barrier, the
/// simulator stops the block.
///
/// A kernel without arrivals and without races computes the same for each order of its blocks, because no
/// block reads what another one writes. A kernel with arrivals also runs in other orders, without the checks,
/// and all results must have the same bits. So a result that depends on which block is the last is found.
///
/// Atomic operations on one element are ordered with each other, but not with other accesses of other threads.
/// They execute in the order in which the blocks start. A kernel whose atomic operations round is not run in
/// other orders.
///
/// The files of this room, in which each includes only those before it:
///   diagnostic, shadow, arrivals     kinds of errors; what earlier accesses leave behind
///   decoded_kernel                   the code: instructions, accesses, sites
///   warp, global_buffer, flights     the state of execution; event, executions: what a run records
///   trace, report                    pairs of racing accesses; diagnostics as text
///   machine, access_checks           blocks, barriers and arrivals; the checks of one access
///   memory, copies, handlers_*       the instructions; handlers: the table of those of an instruction set
///   values, observer                 the numbering of values; what measures a kernel
///   decoder, decode_*                a kernel becomes code
///   cluster, orders, simulate        the blocks of a cluster, and of the grid, on the cores of the host

#include "dsl/ir/array.h"
#include "dsl/ir/residues.h"
#include "lowering/kernel.h"
#include "runtime/sim/arrivals.h"
#include "runtime/sim/diagnostic.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace nestsmith::sim {

/// A parameter of the kernel. Two parameters must not share an array.
struct Argument {
  Array *array = nullptr;
  /// False: an element counts as unwritten until a kernel stores it; the same holds for outputs.
  bool initialised = true;
  std::vector<bool> written = {}; ///< for each element: whether an earlier kernel stored it; empty: no element
};

/// Executed operations, counted per thread; `barriers` are those of the block, counted per warp. A vector
/// access is one load or store. Local memory (registers) is not counted.
struct Stats {
  std::uint64_t multiply_adds = 0; ///< x + a*b in f32 or u32
  std::uint64_t loads_global = 0, stores_global = 0, loads_shared = 0, stores_shared = 0;
  std::uint64_t barriers = 0;
  double seconds = 0; ///< wall clock time on the host

  Stats &operator+=(const Stats &other);
};

struct Result {
  std::vector<Diagnostic> diagnostics; ///< one per kind and statement or pair of statements, in a fixed order
  Stats stats;
  /// For each argument and element: whether this kernel or an earlier one stored it.
  std::vector<std::vector<bool>> written;

  bool good() const { return diagnostics.empty(); }
};

class RunObserver;

struct Options {
  /// 0: all cores. Results and diagnostics do not depend on it. A kernel with arrivals or atomic
  /// operations runs on one.
  unsigned host_threads = 0;
  std::size_t max_diagnostics = 8; ///< at least 1
  bool explain = true;             ///< false: diagnostics have a kind but no message, which is faster
  bool check = true; ///< check for races and reads of unwritten memory; bounds and barriers are always checked
  /// In a kernel with arrivals or atomic operations, the blocks start in a pseudo-random order of this number;
  /// 0: in ascending order. If `check` is true, a kernel with arrivals also runs in other orders.
  std::uint64_t order = 1;
  RunObserver *observer = nullptr; ///< measures the run; may be null
  /// Use only the compiler's default instruction set for the host. The results have the same bits.
  bool baseline = false;
  /// The arithmetic of floating-point elements. If it is not `floating`, arrays and scalars contain residues.
  Arithmetic arithmetic = Arithmetic::floating;
  WeakArrivals weak = {}; ///< for tests of these checks
};

/// Executes every block of the grid. `buffers` and `scalars` are in the order of the kernel's parameters.
/// Each array must have the number of elements of its parameter, and all dtypes must match. A mismatch is an
/// internal error.
Result run(const kernel::Kernel &kernel, std::span<const Argument> buffers, std::span<const Scalar> scalars,
           const Options &options = {});

} // namespace nestsmith::sim
