#pragma once
/// Which directive, or which pass of lowering, changed the result? Everything on the way from the computation
/// to the kernel is run on the same inputs: the program after every directive and after every pass up to
/// `extract` by the sequential interpreter, the kernel after every other pass by the simulator. Each must give
/// what the computation gives: in ring mode and integer mode bit for bit, in floating point within the bound.
///
/// What a pass leaves before `flatten` is no kernel that the simulator can run. It is completed by the least
/// that gives it a meaning, and not by the passes that follow, so that none answers for another:
///
///   before `insert_barriers`  A barrier stands after every store that touches shared or global memory, outside
///     of the guards and the loops over lanes around it: all threads do one store before any does the next.
///     That is what a program says, one statement after the other, and barriers can do no more: a kernel that
///     is wrong so is wrong with any barriers, and one that is right so is made wrong by `insert_barriers`
///     only.
///   before `flatten`  Indices become offsets by rows, whatever the layout: where elements lie is no part of
///     the result. Buffers follow each other in shared memory.

#include "lowering/passes.h"
#include "runtime/check/check.h"

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace nestsmith {

/// A step on the way from a computation to its kernel.
struct BlamedStep {
  enum class Kind : std::uint8_t { computation, directive, pass };
  Kind kind = Kind::computation;
  std::string name;      ///< "the computation", a directive as C++, or the name of a pass
  std::string text;      ///< the program or the kernels after it
  bool left_out = false; ///< it was not run, because time is short
};

/// The first step after which the result was another.
struct Fault {
  std::size_t step = 0; ///< the last of the steps
  std::string run;      ///< "ring mode", "beta = 0, C full of NaN"; empty where nothing ran
  std::string message;  ///< the element with both values, or what the interpreter or the simulator found
  std::optional<WrongElement> wrong; ///< where there is a wrong element
};

struct Blame {
  std::vector<BlamedStep> steps; ///< in order, up to the one at fault
  std::vector<std::string> runs; ///< that each step had which was run: "ring mode", "integer mode"
  std::optional<Fault> fault;    ///< none: the result is the same after every step that was run
  std::string refusal;           ///< where the schedule cannot be lowered: why; then there are fewer passes

  const BlamedStep &at_fault() const { return steps.at(fault->step); }
  std::size_t steps_run() const;
};

struct BlameOptions {
  std::uint64_t seed = 1;
  bool exact_only = false;                ///< no run in floating point
  std::vector<std::int64_t> extents = {}; ///< of a computation with sizes: where it is run
  std::vector<Pass> passes = standard_passes();
  /// Programs are left out until no more block instances than this are interpreted, or only those are left
  /// that are never left out.
  double most_instances = std::numeric_limits<double>::infinity();
  std::function<void(const BlamedStep &)> about_to_run = {}; ///< for progress; the text is not there yet
};

/// Runs the steps of the schedule until one is at fault. The inputs are those that the dtype of its outputs
/// asks for: ring mode for integers; integer mode, floating point and infinities for floats.
Blame find_blame(const Schedule &schedule, const BlameOptions &options = {});

/// "s.split(i, {infer, 32}); changed the result in ring mode: C[0, 1]: got 5, expected 7", or "the result is
/// the same after 24 of 77 steps, every pass among them".
std::string to_string(const Blame &blame);

/// The schedule of a rung, or of a user, for other extents and another dtype.
using Build = std::function<Schedule(const std::vector<std::int64_t> &extents, DType dtype)>;

/// What came of it in one of them.
struct BlamedCase {
  std::vector<std::int64_t> extents;
  DType dtype = DType::f32;
  std::optional<Schedule> schedule; ///< none where `build` threw
  Blame blame;
  std::string left_out; ///< why nothing was run: it is not served, or takes too long
};

/// What cases after the first may take, in block instances that are interpreted.
struct CaseLimits {
  double thinned = 1e7;  ///< from here on programs are left out
  double left_out = 2e9; ///< where even what is never left out is more, the whole case is
};

/// Finds the blame for all shapes and dtypes, until one has a fault. Those for which `build` throws UserError
/// are left out. The first of the others is run as the options say, the rest within the limits too.
std::vector<BlamedCase> find_blame(const Build &build, const std::vector<std::vector<std::int64_t>> &shapes,
                                   const std::vector<DType> &dtypes, const BlameOptions &options = {},
                                   const CaseLimits &limits = {});

/// What replays a case that was saved as `file` (dsl/trace.h): "nestsmith check FILE --each-step …".
std::string replay_command(const std::string &file, const BlamedCase &it);

/// How often blocks run until all steps of a schedule have been interpreted on all inputs.
double interpreted_instances(const Schedule &schedule, const BlameOptions &options = {});
/// The same for what is never left out.
double least_instances(const Schedule &schedule, const BlameOptions &options = {});

/// The sequential interpreter as what is to be checked. What it finds is a finding.
Checker::Compute as_computation(const Program &program);

/// How often blocks run when a statement is interpreted, bound loops and refills included. The interpreter
/// does some five million a second.
double block_instances(const Stmt &stmt);

/// Small shapes that hurt a schedule whose blocks have tiles of this shape: ones, primes, a tile, one more and
/// one less of it along each axis, and four tiles along the last, which a product sums over, so that a pipeline
/// fills and its buffers are used again: with a last one of a single element, and with extents that are
/// multiples of four and not of a tile, for vectors. Extents differ from each other, but in the ones and where
/// the tile's do not. The first shape is the one to take where there is time for one.
std::vector<std::vector<std::int64_t>> hostile_shapes(const std::vector<std::int64_t> &tile);

} // namespace nestsmith
