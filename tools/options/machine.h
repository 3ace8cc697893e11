#pragma once
/// The machine on which a command executes kernels: the GPU or the simulator.

#include "dsl/hardware/gpus.h"
#include "runtime/check/executor.h"
#include "runtime/check/gpu_executor.h"
#include "runtime/check/gpu_product.h"
#include "tools/options/command.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace nestsmith::cli {

struct Machine {
  std::unique_ptr<cuda::Device> device; ///< null: the simulator
  std::unique_ptr<Executor> executor;
  /// Computes large products of the reference; null: the CPU computes them.
  std::unique_ptr<Multiplier> multiplier;
  Target target;    ///< limits of the device, otherwise `simulated_target`
  std::string note; ///< if `auto` selected the simulator: the reason

  bool arch_given = false;         ///< --arch determines the target
  std::optional<Gpu> assumed = {}; ///< the simulator: the GPU of --gpu, which determines the target

  bool simulated() const { return device == nullptr; }
  GpuExecutor &gpu() const { return static_cast<GpuExecutor &>(*executor); }
};

/// The option --arch ARCH. `otherwise` describes the default for the help text.
Option arch_option(const std::string &otherwise = "this GPU's, else that of a trace, else sm_80");
/// The value of --arch, or none. Throws UserError (usage) if it is not an architecture.
std::optional<Arch> given_arch(const Context &context);

/// Without a GPU: the target of --arch, otherwise that for which a trace file was made, otherwise the default
/// of `Target`.
Target simulated_target(const Context &context);

/// The reason why a device of the architecture `own` cannot serve --arch `asked`; empty if it can.
std::string arch_conflict(Arch own, Arch asked);

/// The option --device auto|gpu|sim.
Option device_option();
/// Chooses by --device and --arch. Throws UserError (no_device) if `gpu` is requested and not usable, and
/// UserError (usage) if its architecture differs from --arch. `auto` selects the GPU if NVRTC is available and
/// the architecture matches.
Machine choose_machine(const Context &context);

/// Compiles each kernel for `arch` with NVRTC. Returns nothing, with the reason in `note`, if NVRTC or a header
/// is missing or NVRTC does not support the architecture.
std::vector<cuda::Compiled> compile_if_possible(const kernel::Plan &plan, Arch arch, std::string &note);

} // namespace nestsmith::cli
