#pragma once
/// Emitted files, compiled for this machine by the compiler that builds nestsmith, under the address and
/// undefined-behaviour sanitizers, and run: threads are fibers (tests/codegen/host/device.h), shared memory and
/// registers that nobody wrote hold a pattern that is not 0, every array lies alone between guards, and vectors
/// have CUDA's alignment.
///
/// The kernels are the text as it stands. Two constructs that no C++ compiler takes are rewritten: a launch
/// `NAME<<<…>>>(…)`, and the declaration of shared memory whose size the launch names.

#include "dsl/ir/array.h"
#include "lowering/plan.h"

#include <string>
#include <vector>

namespace nestsmith::host {

/// The launcher of a plan, once.
struct Run {
  kernel::Plan plan;         ///< for one launch: `values` of its sizes, where it has any
  std::vector<Array> arrays; ///< one for each parameter, as memory holds it
  std::vector<Scalar> scalars;
  bool backwards = false; ///< threads and blocks from the last to the first
  std::string text = {};  ///< the file; empty: what `emit` makes of the plan
  /// Bytes by which each array begins after an address that is aligned as the plan asks for; empty: 0.
  std::vector<std::int64_t> off = {};
};

struct Outcome {
  std::vector<Array> arrays; ///< after the run; empty where there was a fault
  std::string fault;         ///< what the sanitizers or the barriers report, or that the launcher refused
};

/// Runs in their order; equal texts are compiled once. Throws std::runtime_error with the compiler's messages
/// where a text does not compile.
std::vector<Outcome> run(const std::vector<Run> &runs);

/// Why texts cannot be run here: the compiler has no sanitizers. Empty: they can.
const std::string &why_not();

/// The two constructs as C++ for tests/codegen/host.
std::string as_host_cpp(const std::string &cuda);

} // namespace nestsmith::host

namespace nestsmith {

/// Compiles a file that has a `main` for this machine, without sanitizers, and runs it: the exit status, or -1
/// where it does not compile. Launches after the first `launches` do nothing: they only take time. `output`
/// gets what it printed.
int run_on_host(const std::string &source, int launches = 8, std::string *output = nullptr);

} // namespace nestsmith
