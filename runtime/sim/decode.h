#pragma once
/// Decodes a kernel into the simulator's flat code.

#include "runtime/sim/program.h"

namespace nestsmith::sim {

class Observer;

struct DecodeOptions {
  bool check = true;            ///< races and unwritten reads
  bool baseline = false;        ///< as in `Options`
  bool values = true;           ///< false: compute only addresses and conditions, and check nothing
  bool barriers = true;         ///< false: warps do not wait for each other
  std::int64_t unroll = 128;    ///< unroll a loop of constant extent into at most this many statements
  std::int64_t iterations = 8;  ///< of other loops, decode at most this many iterations together
  Observer *observer = nullptr; ///< receives the accesses to global and shared memory; may be null
};

/// Decodes a kernel. The values of scalars become constants of the code. `buffers` gives the number of elements
/// of each parameter and whether it is initialised.
Program decode(const kernel::Kernel &kernel, std::span<const Scalar> scalars,
               const std::vector<GlobalBuffer> &buffers, const DecodeOptions &options);

} // namespace nestsmith::sim
