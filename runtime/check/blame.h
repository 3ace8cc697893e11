#pragma once
/// Finds the directive or the lowering pass that changed the result. Every step from the computation to the
/// kernel is executed with the same inputs. The interpreter executes the program after every directive, and
/// after every pass before `extract`. The simulator executes the kernel after `extract` and after every later
/// pass. Each result must match the result of the computation: within the error bound of each element,
/// and bit for bit where it is exact.
///
/// The simulator cannot execute a kernel before the pass `flatten`. So we add the missing parts to a copy of
/// the kernel. We do not use the remaining passes for this, because a fault of such a pass would be attributed
/// to an earlier pass:
///
///   - Before `insert_barriers`: a barrier is inserted after every store that accesses shared or global memory,
///     outside of its guards and vectorized loops. So all threads complete a store before any thread starts the
///     next store, as in the program. More barriers would not order more accesses. If the kernel gives a wrong
///     result in this form, it gives a wrong result with any barriers. If the result is first wrong after
///     `insert_barriers`, this pass is at fault.
///   - Before `flatten`: indices are replaced by row-major offsets. The layout of the buffer is ignored,
///     because the result does not depend on layouts. Buffers are placed one after the other in shared memory.

#include "lowering/passes.h"
#include "runtime/check/check.h"

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace nestsmith {

/// A step from the computation to its kernel.
struct BlamedStep {
  enum class Kind : std::uint8_t { computation, directive, pass };
  Kind kind = Kind::computation;
  std::string name;      ///< "the computation", a directive as C++, or the name of a pass
  std::string text;      ///< the program or the kernels after this step
  bool left_out = false; ///< the step was not executed, to save time
};

/// The first step with a different result.
struct Fault {
  std::size_t step = 0; ///< index in `Blame::steps`; it is the last step
  /// The run that failed: "ring mode", "beta = 0, C full of NaN"; empty if nothing was executed.
  std::string run;
  std::string message; ///< the wrong element with both values, or a diagnostic of the interpreter or simulator
  std::optional<WrongElement> wrong; ///< none if no element is wrong
};

struct Blame {
  std::vector<BlamedStep> steps; ///< in execution order; if there is a fault, the last step is at fault
  std::vector<std::string> runs; ///< the runs of each executed step: "ring mode", "integer mode"
  std::optional<Fault> fault;    ///< none: every executed step gives the same result
  /// The outputs of which no run compares every element, so that nothing is known of the others; empty if there
  /// is a fault.
  std::vector<std::string> not_compared;
  /// The reason if lowering refused the schedule; then `steps` ends before the pass that refused it.
  std::string refusal;

  const BlamedStep &at_fault() const { return steps.at(fault->step); }
  std::size_t steps_run() const;
};

struct BlameOptions {
  std::uint64_t seed = 1;
  bool exact_only = false; ///< skip floating point
  /// For a computation with sizes: the extents for which the steps are executed.
  std::vector<std::int64_t> extents = {};
  std::vector<Pass> passes = standard_passes();
  /// Limit on the interpreted block instances. Programs are skipped until the rest is within the limit. The
  /// computation and the last program, from which the kernels are extracted, are never skipped.
  double most_instances = std::numeric_limits<double>::infinity();
  /// Called before each step, for progress messages; `text` is not set yet.
  std::function<void(const BlamedStep &)> about_to_run = {};
};

/// Runs the steps of the schedule until one is at fault. The dtype of the outputs determines the inputs: ring
/// mode for integers; integer mode, floating point and infinities for floats.
Blame find_blame(const Schedule &schedule, const BlameOptions &options = {});

/// "s.split(i, {infer, 32}); changed the result in ring mode: C[0, 1]: got 5, expected 7", or "the result is
/// the same after 24 of 77 steps, including every pass".
std::string to_string(const Blame &blame);

/// A function that builds the schedule of a rung, or of a user, for given extents and dtype.
using Build = std::function<Schedule(const std::vector<std::int64_t> &extents, DType dtype)>;

/// The result for one shape and dtype.
struct BlamedCase {
  std::vector<std::int64_t> extents;
  DType dtype = DType::f32;
  std::optional<Schedule> schedule; ///< none if `build` threw
  Blame blame;
  std::string left_out; ///< reason why nothing ran: not supported, or too slow
};

/// Limits for all cases except the first one, in block instances that the interpreter executes.
struct CaseLimits {
  double thinned = 1e7;  ///< above this, programs are skipped
  double left_out = 2e9; ///< if the computation and the last program exceed this, the case is skipped
};

/// Finds the blame for all shapes and dtypes until one has a fault. Cases for which `build` throws UserError
/// are skipped. The first case that is executed runs without `limits`. All later cases run within them.
std::vector<BlamedCase> find_blame(const Build &build, const std::vector<std::vector<std::int64_t>> &shapes,
                                   const std::vector<DType> &dtypes, const BlameOptions &options = {},
                                   const CaseLimits &limits = {});

/// The command that replays a case saved as `file` (dsl/schedule/trace.h): "nestsmith check FILE --each-step
/// …".
std::string replay_command(const std::string &file, const BlamedCase &blamed);

/// The number of block instances that the interpreter executes for all steps on all inputs.
double interpreted_instances(const Schedule &schedule, const BlameOptions &options = {});
/// The same for the programs that are never skipped: the computation and the last program.
double least_instances(const Schedule &schedule, const BlameOptions &options = {});

/// The interpreter in the form that `Checker` expects. An error of the interpreter becomes a diagnostic.
Checker::Compute as_computation(const Program &program);

/// The number of block instances that the interpreter executes for a statement, including all iterations of
/// bound loops. The interpreter executes about five million instances per second.
double block_instances(const Stmt &stmt);

/// Small shapes that expose errors in a schedule with this block tile: all extents 1; prime extents; one tile;
/// one tile with one element more, and with one element less, along each axis; and four tiles along the last
/// axis (in a product, the reduction axis), so that a pipeline reaches its steady state and reuses its buffers.
/// In one shape with four tiles, the last tile has one element. In another, the extents are multiples of four
/// but not of the tile, to test vectors. The extents of a shape differ, unless they are 1 or the tile has equal
/// extents. The first shape is the best choice if only one is checked.
std::vector<std::vector<std::int64_t>> hostile_shapes(const std::vector<std::int64_t> &tile);

} // namespace nestsmith
