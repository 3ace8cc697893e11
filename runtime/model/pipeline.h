#pragma once
/// The clocks that one SM needs to execute the machine code of some blocks.
///
/// The model executes the instructions of all warps in order, without values. In each clock, each scheduler
/// issues one instruction of a warp that is ready: it prefers the warp of the last instruction. It models:
///   dependences   the stall count and the scoreboards of each instruction
///   registers     an FFMA reads its operands from two banks, one operand per bank and clock, except for those
///                 that the register cache has kept (Huerta et al., "Analyzing Modern NVIDIA GPU cores", 2025)
///   matrix units  each scheduler has one, which an instruction occupies at the rate of mma.sync
///   shared memory all schedulers share one pipe, which a request occupies for its wavefronts
///   global memory a fixed latency, and the share of this SM in the throughput of L2
///   copies        asynchronous copies complete in groups, for which a warp waits
///   barriers      a warp waits for all warps of its block
///   code          a scheduler fetches lines of code ahead; loops that exceed its cache are fetched again

#include "runtime/model/machine_code.h"
#include "runtime/model/sm_observer.h"

#include <cstdint>
#include <map>
#include <vector>

namespace nestsmith::model {

/// The mean costs of the memory accesses.
struct AccessClocks {
  /// By the access size of one lane in bytes: clocks in which a request occupies the pipe of shared memory. If
  /// a size is missing, a request takes the minimum for 32 lanes with different addresses.
  std::map<int, double> shared_load = {}, shared_store = {};
  std::map<int, double> ldmatrix = {}; ///< the same, by the bytes that a lane receives
  /// Clocks in which a request to global memory occupies L1, and the connection of the SM to L2.
  double l1 = 1, l2 = 1;
  double global_latency = 0; ///< clocks
};

/// Costs that the model leaves out, so that their part in the time is known.
struct LeftOut {
  bool latency = false;  ///< results are available in the next clock
  bool barriers = false; ///< no warp waits at a barrier
  bool fetch = false;    ///< all code is in the cache
  bool banks = false;    ///< an FFMA reads all its operands in one clock
};

struct SmWork {
  const std::vector<Instruction> *code = nullptr;
  /// Loops that are executed, and their numbers of iterations. All other backward branches are not taken. A
  /// forward branch is taken if it has no predicate.
  std::vector<CodeLoop> loops;
  std::vector<std::int64_t> iterations;
  SmObserver *observer = nullptr; ///< null: none
  int warps = 1;                  ///< of a block
  int blocks = 1;                 ///< that start together
  int schedulers = 4;
  double matrix_clocks = 1; ///< for which an instruction occupies the matrix unit of a scheduler
  AccessClocks access;
  LeftOut left_out = {};
};

double sm_clocks(const SmWork &work);

} // namespace nestsmith::model
