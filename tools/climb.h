#pragma once
/// One rung of a climb: scheduled, lowered, compiled, checked and timed.

#include "runtime/check/check.h"
#include "runtime/cuda/cublas.h"
#include "runtime/model/analysis.h"
#include "tools/machine.h"
#include "tools/rung_choice.h"

#include <map>
#include <memory>
#include <optional>
#include <string>

namespace nestsmith::cli {

/// Why there is no result: the schedule was refused, or the launch failed.
struct Failure {
  std::string message, details; ///< `details` is the marked IR, or empty
  ExitCode code = ExitCode::good;
};

/// A rung before it is run. All of a climb are scheduled before the first is run.
struct Planned {
  Choice choice;
  Shape shape;
  DType dtype = DType::f32;
  std::optional<Scheduled> scheduled; ///< none where there is a failure
  Failure failure;

  /// "f32 512x512x512", with the type that the data have.
  std::string problem() const;
};

struct Climbed {
  std::string name;
  Shape shape;
  std::string dtype; ///< of the data
  double operations = 0;
  std::optional<cuda::Timing> timing;   ///< on a GPU
  std::optional<double> cublas_ms;      ///< on a GPU, where the program is a GEMM and cuBLAS was found
  std::vector<cuda::Compiled> compiled; ///< each kernel, in order; empty without NVRTC
  std::int64_t shared_bytes = 0;        ///< of a block: the most that a kernel takes
  std::optional<Variant> variant;       ///< which form of the rung ran, where not the usual one
  /// Of the plan that ran, on the device at hand, or on the GPU that is assumed where there is none; absent
  /// where its figures are not known.
  std::optional<PlanAnalysis> analysis;
  CheckResult check;
  Failure failure;
  ExitCode code = ExitCode::good; ///< the failure's, or `wrong_result`

  double gflops() const { return timing ? operations / timing->median_ms * 1e-6 : 0; }
};

class Climb {
public:
  Climb(const Context &context, Machine &machine)
      : context_(context), machine_(machine), checker_(machine.multiplier.get()) {}
  /// Failures of the rung are in the result. Throws UserError where the options themselves are wrong.
  Planned plan(const Choice &choice) const;
  Climbed run(const Planned &planned);
  /// Whose figures the rows have: the device's, or those of a GPU that is assumed; null where they are not
  /// known.
  const Gpu *analysed_gpu() const;
  /// Why something is absent from the results, a sentence each.
  std::vector<std::string> notes() const;
  /// "cuBLAS 13.0.2, default".
  const std::string &cublas_name() const { return cublas_name_; }

private:
  void run(const Scheduled &it, Climbed &result);
  void analyse_plan(const Scheduled &it, const kernel::Plan &plan, Climbed &result);
  void measure(const Scheduled &it, const kernel::Plan &plan, Climbed &result);
  std::optional<double> cublas_ms(const Program &source, const Inputs &inputs);

  const Context &context_;
  Machine &machine_;
  Checker checker_;
  std::string compiler_note_, cublas_note_, cublas_name_;
  std::unique_ptr<cuda::Cublas> cublas_;
  std::map<std::string, double> cublas_times_; ///< by problem
};

} // namespace nestsmith::cli
