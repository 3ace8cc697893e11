#pragma once
/// One rung of a *climb*, which is one execution of the command `run`: schedules, lowers, compiles, checks and
/// times the rung.

#include "runtime/check/check.h"
#include "runtime/cuda/cublas.h"
#include "runtime/model/analysis.h"
#include "tools/options/machine.h"
#include "tools/options/scheduled.h"
#include "tools/output/failure.h"
#include "tools/results/result_cache.h"

#include <map>
#include <memory>
#include <optional>
#include <string>

namespace nestsmith::cli {

/// A rung before execution. A climb schedules all rungs before it executes the first.
struct Planned {
  ChosenRung choice;
  Shape shape;
  DType dtype = DType::f32;
  std::optional<Scheduled> scheduled; ///< none after a failure
  Failure failure;

  /// "f32 512x512x512", with the actual dtype of the data.
  std::string problem() const;
};

struct Climbed {
  std::string name;
  Shape shape;
  std::string dtype; ///< actual dtype of the data
  double operations = 0;
  std::optional<cuda::Spread> ms;       ///< time of one launch, GPU only
  std::optional<double> cublas_ms;      ///< GPU only, if the program is a GEMM and cuBLAS is available
  std::vector<cuda::Compiled> compiled; ///< one for each kernel, in order; empty without NVRTC
  std::int64_t shared_bytes = 0;        ///< shared memory per block in bytes: the maximum over the kernels
  std::optional<Variant> variant;       ///< the variant of the rung; none: its usual form
  std::optional<TableUse> use;          ///< the record from which it takes knobs; none: it has no table
  KnobValues knobs;                     ///< the value of each knob
  /// Analysis of the executed plan for the device, or for the assumed GPU without a device. None if the GPU's
  /// figures are not known.
  std::optional<PlanAnalysis> analysis;
  CheckResult check;
  Failure failure;
  ExitCode code = ExitCode::good; ///< the code of the failure, or `wrong_result`

  double gflops() const { return ms ? operations / ms->median * 1e-6 : 0; }
};

class Climb {
public:
  /// Reuses results of `results`, if it is not null. It must outlive the climb.
  Climb(const Context &context, Machine &machine, ResultCache *results = nullptr)
      : context_(context), machine_(machine), results_(results), checker_(machine.multiplier.get()) {}
  /// A failure of the rung is part of the result. Throws UserError if the options are invalid.
  Planned plan(const ChosenRung &choice) const;
  /// The same for all rungs. Throws UserError if a mistake in the command line prevents every rung from
  /// running.
  std::vector<Planned> plan_all(const std::vector<ChosenRung> &choices) const;
  Climbed run(const Planned &planned);
  /// The GPU of the analyses: the device, or an assumed GPU without a device. Null if its figures are not
  /// known.
  const Gpu *analysed_gpu() const;
  /// Sentences that explain missing results.
  std::vector<std::string> notes() const;
  /// "cuBLAS 13.0.2, default".
  const std::string &cublas_name() const { return cublas_name_; }

private:
  void run(const Scheduled &scheduled, Climbed &result);
  CheckResult check(const Scheduled &scheduled, const kernel::Plan &plan);
  void analyse_plan(const Scheduled &scheduled, const kernel::Plan &plan, Climbed &result);
  void measure(const Scheduled &scheduled, const kernel::Plan &plan, Climbed &result);
  std::optional<double> cublas_ms(const Program &source, const Inputs &inputs);

  const Context &context_;
  Machine &machine_;
  ResultCache *results_;
  Checker checker_;
  std::string compiler_note_, cublas_note_, cublas_name_;
  std::unique_ptr<cuda::Cublas> cublas_;
  std::map<std::string, double> cublas_times_; ///< times of cuBLAS in ms, by problem
};

} // namespace nestsmith::cli
