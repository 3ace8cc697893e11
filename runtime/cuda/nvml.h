#pragma once
/// The SM clock and the power of a GPU, read with NVML, which is opened at run time.

#include "runtime/cuda/driver.h"

#include <memory>
#include <optional>
#include <string>

namespace nestsmith::cuda {

class Nvml {
public:
  /// Opens NVML for the GPU of `device`. If this is not possible, returns null and sets `note` to the reason.
  static std::unique_ptr<Nvml> open(const Device &device, std::string &note);
  /// The same with functions from `resolver`.
  static std::unique_ptr<Nvml> open(const Device &device, const Resolver &resolver, std::string &note);
  ~Nvml();
  Nvml(const Nvml &) = delete;
  Nvml &operator=(const Nvml &) = delete;

  /// The present SM clock. None if the driver does not report it.
  std::optional<int> sm_mhz() const;
  /// The energy that the GPU has used since the driver was loaded. The driver updates this counter a few times
  /// in a second. None if the driver does not report it.
  std::optional<double> joules() const;

private:
  struct Functions;
  explicit Nvml(const Functions &functions);

  std::unique_ptr<Functions> functions_;
  void *device_ = nullptr;
};

} // namespace nestsmith::cuda
