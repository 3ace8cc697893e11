#pragma once
/// From a kernel to the simulator's flat code.

#include "runtime/sim/program.h"

#include <functional>

namespace nestsmith::sim {

class Observer;

struct DecodeOptions {
  bool check = true;            ///< races and unwritten reads
  bool baseline = false;        ///< as in `Options`
  bool values = true;           ///< false: only addresses and conditions are computed, and nothing is checked
  bool barriers = true;         ///< false: warps do not wait for each other
  std::int64_t unroll = 128;    ///< loops of constant extent become at most this many statements
  std::int64_t iterations = 8;  ///< of a loop that is not unrolled: at most this many are decoded together
  Observer *observer = nullptr; ///< is told of the accesses to global and shared memory; may be null
};

/// Decodes a kernel. The values of the scalars become constants of the code. `buffers` gives the elements of
/// each parameter and whether they start written.
Program decode(const kernel::Kernel &kernel, std::span<const Scalar> scalars,
               const std::vector<GlobalBuffer> &buffers, const DecodeOptions &options);

/// Every expression of the statements of a body, and what it is made of.
void walk_exprs(const kernel::Stmt &body, const std::function<void(const Expr &)> &f);

} // namespace nestsmith::sim
