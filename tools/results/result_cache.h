#pragma once
/// Results of checks on the simulator, of analyses and of advice, which `report` reuses between calls. They are
/// stored beside the compiled kernels (runtime/cuda/cache.h).
///
/// An entry is named by everything on which its result depends: the executable and its libraries, the CPU, the
/// computation, the directives, the kernels, the shape, the GPU of an analysis, and the compiled code. A result
/// that was measured on a GPU, a failed check and an analysis with an error are not stored.

#include "runtime/check/check.h"
#include "runtime/cuda/cache.h"
#include "runtime/model/analyse.h"
#include "tools/options/scheduled.h"

#include <functional>
#include <string>
#include <vector>

namespace nestsmith::cli {

/// The numbers of results that were taken from earlier calls.
struct Reused {
  std::size_t checks = 0, analyses = 0;
};

class ResultCache {
public:
  explicit ResultCache(std::filesystem::path directory = DiskCache::standard_directory());

  /// The result of `compute`, which checks `plan` on the simulator; that of an earlier call, if there is one.
  CheckResult check(const Scheduled &scheduled, const kernel::Plan &plan,
                    const std::function<CheckResult()> &compute);
  /// As `nestsmith::analyse`. With the figures of an earlier call, the kernels are not executed.
  PlanAnalysis analyse(const Scheduled &scheduled, const kernel::Plan &plan, const Gpu &gpu,
                       const std::vector<KernelResources> &compiled, AnalysisOptions options = {});

  /// The text that `compute` makes for this plan on the GPU, with a result of this kind; that of an earlier
  /// call, if there is one and `is_good` accepts it.
  std::string text(const char *kind, const Scheduled &scheduled, const kernel::Plan &plan, const Gpu &gpu,
                   const std::vector<KernelResources> &compiled,
                   const std::function<bool(const std::string &)> &is_good,
                   const std::function<std::string()> &compute);

  const Reused &reused() const { return reused_; }

private:
  std::string key(const char *kind, const Scheduled &scheduled, const kernel::Plan &plan,
                  const std::vector<std::string> &more = {}) const;

  std::string identity_; ///< of this executable; empty: unknown, so nothing is stored
  DiskCache entries_;
  Reused reused_;
};

} // namespace nestsmith::cli
