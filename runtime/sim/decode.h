#pragma once
/// From a kernel to the simulator's flat code.

#include "runtime/sim/program.h"

namespace nestsmith::sim {

/// The values of the scalars are decoded into the code. `buffers` says how many elements each parameter
/// has and whether it starts written. Loops of constant extent are unrolled where that stays small.
Program decode(const kernel::Kernel &kernel, std::span<const Scalar> scalars,
               const std::vector<GlobalBuffer> &buffers, const Options &options);

} // namespace nestsmith::sim
