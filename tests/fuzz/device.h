#pragma once
/// The device that executes random schedules after the simulator.

#include "runtime/check/executor.h"

#include <functional>
#include <memory>
#include <string>

namespace nestsmith::fuzz {

/// Executes plans on a device. A run that does not end in time ends this process (`Alarm`), because no call
/// ends a kernel that waits forever.
class Device : public Executor {
public:
  explicit Device(unsigned seconds) : seconds_(seconds) {}
  Execution run(const kernel::Plan &plan, std::span<Array> arrays, std::span<const Scalar> scalars) final;

  /// Called before each launch. It must leave a note that survives this process.
  std::function<void()> launching = [] {};

protected:
  virtual void compile(const kernel::Plan &plan) = 0;
  virtual Execution launch(const kernel::Plan &plan, std::span<Array> arrays,
                           std::span<const Scalar> scalars) = 0;

private:
  unsigned seconds_;
};

/// Opens a device in the process that uses it. CUDA does not work after a fork, so the process that forks opens
/// none.
using OpenDevice = std::function<std::unique_ptr<Device>()>;

inline constexpr unsigned most_seconds_of_launch = 20;
/// The first GPU. It compiles without the cache of kernels. Throws UserError (no_device) without a GPU or
/// NVRTC.
std::unique_ptr<Device> open_gpu();

struct FoundGpu {
  std::string name; ///< "NVIDIA H200"
  std::string arch; ///< "sm_90a"
};
/// Finds the first GPU in a child process. Throws as `open_gpu`, and UserError (usage) if NVRTC does not know
/// its architecture.
FoundGpu find_gpu();

} // namespace nestsmith::fuzz
