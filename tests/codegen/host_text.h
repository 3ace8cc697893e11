#pragma once
/// Compiles emitted files with the compiler that builds nestsmith, under the address and undefined-behaviour
/// sanitizers, and runs them on this machine. Threads are fibers (tests/codegen/host/device.h). Shared memory
/// and registers that were not written hold a pattern that is not 0. Each array is a separate allocation
/// between guards. Vectors have CUDA's alignment.
///
/// The text of a kernel is unchanged except for constructs that no C++ compiler accepts: launches
/// `NAME<<<…>>>(…)`, the declaration of shared memory whose size is set at launch, the assembly of asynchronous
/// copies, and intrinsics of a warp.

#include "dsl/ir/array.h"
#include "lowering/plan.h"

#include <string>
#include <vector>

namespace nestsmith::host {

/// One launch of a plan.
struct Run {
  kernel::Plan plan;         ///< `values` has the sizes of the launch, if the plan has sizes
  std::vector<Array> arrays; ///< one array for each parameter, as it is in memory
  std::vector<Scalar> scalars;
  bool backwards = false; ///< run threads and blocks from the last to the first
  std::string text = {};  ///< the file; empty: the output of `emit` for the plan
  /// Execute the shuffles of the text. Otherwise the meaning of their intrinsics, whose sums have the order of
  /// the simulator, so that results in floating point are equal.
  bool shuffles = false;
  /// For each array, the offset in bytes from an address with the alignment that the plan requires; empty: 0.
  std::vector<std::int64_t> off = {};
};

struct Outcome {
  std::vector<Array> arrays; ///< after the run; empty if there was a fault
  std::string fault; ///< the report of a sanitizer or a barrier, or the error of the launcher; empty: no fault
};

/// Runs the launches in order and compiles equal texts once. Throws std::runtime_error with the compiler's
/// messages if a text does not compile.
std::vector<Outcome> run(const std::vector<Run> &runs);

/// Returns the reason why texts cannot run on this machine: the compiler has no sanitizers. Returns an empty
/// string if they can.
const std::string &why_not();

/// Skips a test on a machine that cannot run texts.
#define NEEDS_SANITIZERS()                                                                                     \
  if (!::nestsmith::host::why_not().empty())                                                                   \
  GTEST_SKIP() << ::nestsmith::host::why_not()

/// Returns the text as C++ for tests/codegen/host.
std::string as_host_cpp(const std::string &cuda, bool shuffles = false);

} // namespace nestsmith::host

namespace nestsmith {

/// Compiles a file with a `main` for this machine, without sanitizers, and runs it. Returns the exit status, or
/// -1 if the file does not compile. Only the first `launches` launches execute, because later ones only measure
/// time. `output` receives the output of the program.
int run_on_host(const std::string &source, int launches = 8, std::string *output = nullptr);

} // namespace nestsmith
