#pragma once
/// The estimated time of a kernel: the bounds of runtime/model/analysis.h, and the time that the SMs need to
/// execute the machine code (runtime/model/pipeline.h). The bounds know neither latency, barriers, register
/// banks nor a partly filled last wave.

#include "runtime/model/analysis.h"
#include "runtime/model/pipeline.h"

#include <optional>

namespace nestsmith::model {

/// The loops on the path of `code` through full tiles, with numbers of iterations that agree with the counts of
/// one warp: the barriers of an outer loop, and the arithmetic instructions of the loop with most of them (the
/// products, if the code uses matrix units). If these numbers do not account for the loads from global memory,
/// the code passes over its data several times, as a softmax does: then each loop that follows another one
/// takes the same share of the loads. All other loops are executed once.
struct LoopCounts {
  std::vector<CodeLoop> loops;
  std::vector<double> iterations;
  /// The outermost loop with most arithmetic, or the longest pass without any; `loops.size()` if there is none.
  std::size_t main = 0;
  std::vector<std::size_t> passes = {}; ///< loops that follow each other; empty: only the main loop counts

  /// The iterations of a part of the work, in which the main loop has `main_iterations`.
  std::vector<std::int64_t> part(double main_iterations) const;
};
/// The arithmetic instructions, the barriers and the requests of loads from global memory of one warp.
LoopCounts loop_counts(const std::vector<Instruction> &code, double arithmetic, double barriers,
                       double loads = 0);

/// The number of blocks on an SM at the same time, and how often this happens. The last wave is distributed
/// over all SMs.
struct WaveShape {
  std::int64_t blocks = 0, times = 0;
};
std::vector<WaveShape> wave_shapes(const Waves &waves, int blocks_per_sm, int sms);

/// The machine code of a kernel, and how often a warp executes its loops.
struct CountedCode {
  std::vector<Instruction> code;
  LoopCounts counts;

  double times(std::size_t instruction) const; ///< how often a warp executes it
};
/// None without machine code that the model can read, and for kernels that compute in f64. Of a kernel with
/// roles, the code of the main role, which does not wait for its tiles: the least time of the other roles is
/// among the bounds, and `ModelledCode` has that of the answers of memory.
std::optional<CountedCode> counted_code(const KernelAnalysis &analysis);

/// The machine code of a kernel, ready to be executed by the model.
struct ModelledCode : CountedCode {
  SmWork work; ///< `work.code` is null, and `work.iterations` is empty
  /// Of a kernel with roles: the clocks of a block, from the latency of its fills alone (slots.h).
  double answers = 0;
};
/// None without machine code that the model can read.
std::optional<ModelledCode> modelled_code(const KernelAnalysis &analysis, const Gpu &gpu);

struct Estimate {
  double seconds = 0; ///< never less than the bounds
  Losses losses;
};
/// Without machine code that the model can read: the largest bound, in which the imbalance is the only loss.
Estimate estimate(const KernelAnalysis &analysis, const Gpu &gpu);

} // namespace nestsmith::model
