#include "tools/options/machine.h"

#include "dsl/expr/error.h"
#include "runtime/check/sim_executor.h"
#include "tools/options/chosen_rung.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace nestsmith::cli {

Option device_option() {
  return {"device",
          "WHERE",
          "auto, gpu or sim; auto: the GPU if there is one, else the simulator",
          0,
          {"auto", "gpu", "sim"}};
}

Option arch_option(const std::string &otherwise) {
  return {"arch", "ARCH", fmt::format("the GPU architecture, such as sm_90a; default: {}", otherwise)};
}

std::optional<Arch> given_arch(const Context &context) {
  auto text = context.arguments.value("arch");
  if (!text)
    return std::nullopt;
  std::optional<Arch> arch = Arch::parse(*text);
  if (!arch || !is_known(*arch))
    throw UserError(
        ExitCode::usage,
        fmt::format("option '--arch' must be an architecture such as sm_80 or sm_90a, got '{}'; known are {}",
                    *text, fmt::join(names(known_architectures()), ", ")));
  return arch;
}

Target simulated_target(const Context &context) {
  std::optional<Arch> arch = given_arch(context);
  if (!arch)
    arch = arch_of_trace(context);
  return arch ? make_target(*arch) : Target();
}

std::string arch_conflict(Arch own, Arch asked) {
  return own.number == asked.number
             ? ""
             : fmt::format("the GPU at hand is {}, but --arch is {}", to_string(own), to_string(asked));
}

namespace {

/// Replaces a device of another architecture than that of --arch by the simulator.
void serve_arch(Machine &machine, Arch arch, bool gpu_asked_for) {
  machine.arch_given = true;
  if (machine.device) {
    std::string conflict = arch_conflict(machine.device->info().arch(), arch);
    if (conflict.empty())
      return;
    if (gpu_asked_for)
      throw UserError(ExitCode::usage, conflict + ": leave out --arch, or give --device sim");
    machine.note = conflict + ": simulated";
    machine.device = nullptr;
  }
  machine.target = make_target(arch);
}

} // namespace

Machine choose_machine(const Context &context) {
  std::string where = context.arguments.value("device").value_or("auto");
  std::optional<Arch> arch = given_arch(context);
  Machine machine;
  if (where != "sim") {
    try {
      machine.device = cuda::Device::open();
      cuda::Nvrtc::get();
    } catch (const UserError &error) {
      if (where == "gpu" || error.code() != ExitCode::no_device)
        throw;
      machine.note = machine.device
                         ? "no NVRTC to compile for the GPU: simulated; `nestsmith doctor` says how to get it"
                         : "no GPU: simulated; `nestsmith doctor` says what was found";
      machine.device = nullptr;
    }
  }
  machine.target = machine.device ? machine.device->info().target() : simulated_target(context);
  if (arch)
    serve_arch(machine, *arch, where == "gpu");
  if (machine.device) {
    machine.executor = std::make_unique<GpuExecutor>(*machine.device);
    machine.multiplier = std::make_unique<GpuProduct>(*machine.device);
  } else {
    machine.executor = std::make_unique<SimExecutor>();
  }
  return machine;
}

std::vector<cuda::Compiled> compile_if_possible(const kernel::Plan &plan, Arch arch, std::string &note) {
  try {
    return compile(plan, arch);
  } catch (const cuda::HeadersMissing &error) {
    note = fmt::format("registers n/a: {}", error.what());
    return {};
  } catch (const cuda::UnknownArchitecture &error) {
    note = fmt::format("registers n/a: {}", error.what());
    return {};
  } catch (const UserError &error) {
    if (error.code() != ExitCode::no_device)
      throw;
    note = "no NVRTC: registers n/a; `nestsmith doctor` says how to get it";
    return {};
  }
}

} // namespace nestsmith::cli
