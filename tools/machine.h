#pragma once
/// What a command runs kernels on: the GPU or the simulator.

#include "runtime/check/executor.h"
#include "runtime/check/gpu_executor.h"
#include "runtime/check/gpu_product.h"
#include "tools/command.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace nestsmith::cli {

struct Machine {
  std::unique_ptr<cuda::Device> device; ///< null: the simulator
  std::unique_ptr<Executor> executor;
  std::unique_ptr<Multiplier> multiplier; ///< for the reference; null: the CPU
  Target target;                          ///< of the device, or the limits that every GPU has
  std::string note;                       ///< why it is the simulator, where the user left the choice to us

  bool arch_given = false; ///< the target is what --arch named

  bool simulated() const { return device == nullptr; }
  GpuExecutor &gpu() const { return static_cast<GpuExecutor &>(*executor); }
};

/// --arch ARCH; `otherwise` says what goes without it.
Option arch_option(const std::string &otherwise = "this GPU's, else sm_80");
/// What --arch names, or none. Throws UserError (usage) where that is no architecture.
std::optional<std::string> given_arch(const Context &context);
/// What --arch names, else the device's architecture, else that of `Target`.
std::string chosen_arch(const Context &context);

/// Why a device of the architecture `own` does not run what --arch asks for, or nothing.
std::string arch_conflict(const std::string &own, const std::string &asked);

/// --device auto|gpu|sim.
Option device_option();
/// For --device and --arch. Throws UserError (no_device) where `gpu` is asked for and cannot be used, and
/// UserError (usage) where it is of another architecture. `auto` needs both NVRTC and a GPU of the
/// architecture.
Machine choose_machine(const Context &context);

/// What NVRTC makes of each kernel for `arch`; nothing, and the reason in `note`, where there is no NVRTC.
std::vector<cuda::Compiled> compile_if_possible(const kernel::Plan &plan, const std::string &arch,
                                                std::string &note);

} // namespace nestsmith::cli
