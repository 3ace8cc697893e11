#pragma once
/// What a command runs kernels on: the GPU or the simulator.

#include "runtime/executor.h"
#include "runtime/gpu_executor.h"
#include "runtime/gpu_product.h"
#include "tools/command.h"

#include <memory>
#include <string>
#include <vector>

namespace nestsmith::cli {

struct Machine {
  std::unique_ptr<cuda::Device> device; ///< null: the simulator
  std::unique_ptr<Executor> executor;
  std::unique_ptr<Multiplier> multiplier; ///< for the reference; null: the CPU
  Target target;                          ///< of the device, or the limits that every GPU has
  std::string note;                       ///< why it is the simulator, where the user left the choice to us

  bool simulated() const { return device == nullptr; }
  GpuExecutor &gpu() const { return static_cast<GpuExecutor &>(*executor); }
};

/// --device auto|gpu|sim.
Option device_option();
/// Throws UserError (no_device) where `gpu` is asked for and cannot be used. `auto` needs both a GPU and
/// NVRTC.
Machine choose_machine(const Context &context);

/// What NVRTC makes of each kernel for `arch`; nothing, and the reason in `note`, where there is no NVRTC.
std::vector<cuda::Compiled> compile_if_possible(const kernel::Plan &plan, const std::string &arch,
                                                std::string &note);

/// The device's architecture, or that of `Target` without a GPU.
std::string default_arch();

} // namespace nestsmith::cli
