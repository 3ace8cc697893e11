#pragma once
/// A .cu file with kernels for several shapes and one launcher, which selects the kernels by its sizes.

#include "codegen/emit.h"
#include "dsl/ir/program.h"

#include <cstdint>
#include <string>
#include <vector>

namespace nestsmith {

/// The plan for one shape, or a plan with sizes for other shapes.
struct ShapePlan {
  std::string shape; ///< "512x512x512"; ignored for the plan with sizes
  std::string note;  ///< the choices of the schedule, such as "bk=16"; may be empty
  /// For one shape: `sizes` are the sizes with which the launcher selects this plan. The launcher has the same
  /// size parameters for every shape.
  EmitInfo info;
  kernel::Plan plan; ///< for one shape: without sizes
  /// For one of several plans with sizes: it serves the sizes that are nearest to one of these shapes. Each has
  /// the values of the first sizes of the launcher.
  std::vector<std::vector<std::int64_t>> near = {};
};

/// The name of the plan for a shape in a file with the name `name`: "gemm_512x512x512". Without a
/// shape, the name of the only plan with sizes: "gemm_symbolic".
std::string plan_name(const std::string &name, const std::string &shape = "");
/// The shape for the name of one of several plans with sizes, of which `near` is the first shape:
/// "symbolic_512x512x512".
std::string symbolic_label(const std::vector<std::int64_t> &near);

/// The contents of a file with one launcher for several shapes. The functions have the names and parameters of
/// the functions of `emit` (codegen/emit.h) for the plan with sizes, with these differences:
///
/// - If the sizes, including the leading dimensions, are those of a listed shape, the functions are those of
///   the plan for this shape. Otherwise they are those of the plan with sizes; of several, the one with the
///   nearest shape, which has the least product of the ratios of its extents to the sizes (of each ratio and
///   its inverse, the larger one counts). Without such a plan, the launcher refuses all other sizes.
/// - The launcher takes a workspace if any plan has one. NAME_workspace_bytes takes all sizes. It returns 0 if
///   the selected plan has no workspace, and then the workspace is ignored.
class Dispatch {
public:
  /// `name` is the name of the file's functions. The plans get the names of `plan_name`. Throws UserError
  /// (usage) if the plans have different parameters, or if the sizes do not distinguish the shapes.
  Dispatch(const std::string &name, EmitInfo info, std::vector<ShapePlan> shapes,
           std::vector<ShapePlan> symbolic);

  const std::vector<ShapePlan> &shapes() const { return shapes_; }
  /// The plans with sizes; may be empty.
  const std::vector<ShapePlan> &symbolic() const { return symbolic_; }
  /// The plans for one shape in order, then the plans with sizes.
  std::vector<const ShapePlan *> all() const;

  /// Title, target and name of the header. For the launcher without a plan with sizes, also its sizes.
  const EmitInfo &info() const { return info_; }
  /// A plan from which `Launcher` and the name functions of codegen/emit.h derive the parameters and names of
  /// the public functions. It has all kernels, but their arrays are not its arrays: it cannot be executed.
  const kernel::Plan &interface() const { return interface_; }

  /// For each plan: the condition on the sizes and the kernels, as "512x512x512: gemm_512x512x512 (bk=16)".
  std::vector<std::string> selection() const;
  /// The requirement of a launcher without a plan with sizes.
  std::string refusal() const;
  bool has_gaps() const; ///< whether the launcher takes leading dimensions

private:
  void check_parameters() const;
  void check_distinct() const;

  EmitInfo info_;
  std::vector<ShapePlan> shapes_;
  std::vector<ShapePlan> symbolic_;
  kernel::Plan interface_;
};

std::string emit(const Dispatch &dispatch);
std::string emit_header(const Dispatch &dispatch);
/// Two parts of the file of `emit`: the comment at its beginning, and the kernels and host functions.
std::string emit_comment(const Dispatch &dispatch);
std::string emit_functions(const Dispatch &dispatch);

/// A launch that the main of a standalone file checks.
struct CheckedLaunch {
  std::string shape;
  Program source;                  ///< the unscheduled program, with constant shapes
  std::vector<std::int64_t> sizes; ///< arguments of the launcher
  double operations = 0;           ///< floating-point operations; 0: do not report
};

/// The file of `emit`, followed by a `main` that checks and times each of these launches, as `emit_standalone`
/// of codegen/standalone.h does for one plan.
std::string emit_standalone(const Dispatch &dispatch, const std::vector<CheckedLaunch> &launches);

} // namespace nestsmith
