#include "tools/machine.h"

#include "dsl/error.h"
#include "runtime/sim_executor.h"

#include <fmt/format.h>

namespace nestsmith::cli {

Option device_option() {
  return {"device",
          "WHERE",
          "auto, gpu or sim; auto: the GPU where there is one, else the simulator",
          0,
          {"auto", "gpu", "sim"}};
}

Machine choose_machine(const Context &context) {
  std::string where = context.arguments.value("device").value_or("auto");
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
  if (machine.device) {
    machine.target = machine.device->info().target();
    machine.executor = std::make_unique<GpuExecutor>(*machine.device);
    machine.multiplier = std::make_unique<GpuProduct>(*machine.device);
  } else {
    machine.executor = std::make_unique<SimExecutor>();
  }
  return machine;
}

std::vector<cuda::Compiled> compile_if_possible(const kernel::Plan &plan, const std::string &arch,
                                                std::string &note) {
  try {
    return compile(plan, arch);
  } catch (const cuda::HeadersMissing &error) {
    note = fmt::format("registers n/a: {}", error.what());
    return {};
  } catch (const UserError &error) {
    if (error.code() != ExitCode::no_device)
      throw;
    note = "no NVRTC: registers n/a; `nestsmith doctor` says how to get it";
    return {};
  }
}

std::string default_arch() {
  try {
    return cuda::Device::open()->info().arch();
  } catch (const UserError &) {
    return Target{}.arch;
  }
}

} // namespace nestsmith::cli
