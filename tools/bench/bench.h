#pragma once
/// Measures rungs and the products of libraries, the *peers*, beside each other on a GPU: the command `bench`
/// without its text.

#include "runtime/check/gpu_executor.h"
#include "runtime/cuda/cublaslt.h"
#include "runtime/cuda/measure.h"
#include "runtime/cuda/nvml.h"
#include "tools/results/climb.h"
#include "tools/results/setting.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace nestsmith::cli {

/// The times of a row in one setting.
struct BenchTime {
  std::string variant; ///< the fastest form of a peer: "pedantic", "heuristic 3 of 8"
  cuda::Spread ms;
  int launches = 1;   ///< launches of one sample
  double host_us = 0; ///< time of the host to enqueue one launch: median
  std::optional<double> sm_mhz;
};

struct BenchRow {
  std::string name; ///< "ladder/warps", "cuBLAS 13.1.0"
  bool peer = false;
  /// Rows with the same number compute the same. None: the rung was refused before its computation was known.
  std::optional<std::size_t> computation;
  double operations = 0;
  Failure failure;              ///< a row with a failure is not measured
  std::vector<BenchTime> times; ///< one for each setting; empty after a failure
  std::optional<double> watts;  ///< power, back to back with a warm L2

  double tflops(std::size_t setting) const { return operations / times[setting].ms.median * 1e-9; }
};

/// The results at one shape.
struct BenchShape {
  Shape shape;
  std::string dtype;
  std::vector<std::string> computations; ///< their names; rows with the same computation stand together
  std::vector<BenchRow> rows;
  std::vector<std::string> notes;

  /// The speed of a row relative to the fastest peer with the same computation. None without such a peer.
  std::optional<double> ratio(const BenchRow &row, std::size_t setting) const;
};

/// The most serious exit code of all rows.
ExitCode code_of(const std::vector<BenchShape> &shapes);

/// The libraries of a bench. Each may be null.
struct BenchLibraries {
  std::unique_ptr<cuda::Cublas> cublas;
  std::unique_ptr<cuda::CublasLt> cublaslt;
  std::unique_ptr<cuda::Nvml> nvml;
};

struct BenchOptions {
  std::vector<BenchSetting> settings = {{}};
  int rounds = 15;
  double pause_ms = 0;        ///< the GPU is idle for this time before each sample
  double power_seconds = 0.5; ///< measured for each row if there is NVML; 0: not at all
  /// A rung whose launch takes longer is not measured. 0: no limit.
  double most_ms = 0;
};

/// Computes each rung once on small integers, and compares all elements of the result with those of the first
/// peer, or of the first rung if there is no peer. A rung with another result, or that reads or writes out of
/// bounds, is not measured. Then measures the other rungs and the peers in turns, with random inputs.
///
/// All rungs must have the same shape. A refused rung has a row with its failure. If a kernel causes a fault
/// such as an illegal address, throws UserError (wrong_result), because the device is unusable afterwards.
/// `progress` is called with a description of each step.
BenchShape bench(const cuda::Device &device, GpuExecutor &executor, const BenchLibraries &libraries,
                 const std::vector<Planned> &rungs, const BenchOptions &options,
                 const std::function<void(const std::string &)> &progress);

} // namespace nestsmith::cli
