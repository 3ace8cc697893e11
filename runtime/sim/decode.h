#pragma once
/// From a kernel to the simulator's flat code.

#include "runtime/sim/program.h"

#include <functional>

namespace nestsmith::sim {

/// The values of the scalars are decoded into the code. `buffers` says how many elements each parameter
/// has and whether it starts written. Loops of constant extent are unrolled where that stays small.
///
/// `count` and `walk` leave out all values but addresses and conditions. In a program to be counted, what can
/// be known from how often its regions run is not executed at all; it has no barriers. One to be walked stops
/// at every request to global memory (`walk_all`: and shared), of which the machine's sink is told.
enum class Mode : std::uint8_t { run, count, walk, walk_all };
Program decode(const kernel::Kernel &kernel, std::span<const Scalar> scalars,
               const std::vector<GlobalBuffer> &buffers, const Options &options, Mode mode = Mode::run);

/// Every expression of the statements of a body, and what it is made of.
void walk_exprs(const kernel::Stmt &body, const std::function<void(const Expr &)> &f);

} // namespace nestsmith::sim
