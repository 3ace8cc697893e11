#pragma once
/// Decodes a kernel into the simulator's flat code.

#include "dsl/ir/array.h"
#include "dsl/ir/residues.h"
#include "runtime/sim/decoded_kernel.h"
#include "runtime/sim/global_buffer.h"

#include <span>

namespace nestsmith::sim {

class Observer;

struct DecodeOptions {
  bool check = true;     ///< check for races and reads of unwritten memory
  bool baseline = false; ///< the same as in `Options` (simulate.h)
  Arithmetic arithmetic = Arithmetic::floating;
  bool values = true;          ///< false: compute only addresses and conditions, and check nothing
  bool barriers = true;        ///< false: warps do not wait for each other
  std::int64_t unroll = 128;   ///< unroll a loop of constant extent into at most this many statements
  std::int64_t iterations = 8; ///< decode at most this many iterations of other loops into one loop body
  /// True: blocks count their arrivals. False: of the blocks that share a counter, the one with the highest
  /// index is the last, so that each block can be executed by itself.
  bool arrivals = false;
  WeakArrivals weak = {}; ///< the same as in `Options`
  Observer *observer =
      nullptr; ///< receives the accesses to global and shared memory, and the statements; may be null
};

/// Decodes a kernel. The values of scalars become constants in the code. For each parameter, `buffers` states
/// the number of elements, and whether the elements are initialised.
DecodedKernel decode(const kernel::Kernel &kernel, std::span<const Scalar> scalars,
                     const std::vector<GlobalBuffer> &buffers, const DecodeOptions &options);

} // namespace nestsmith::sim
