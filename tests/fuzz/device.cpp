/// Executes random schedules on a GPU, with a limit of time for each launch.

#include "tests/fuzz/device.h"

#include "codegen/cuda.h"
#include "dsl/expr/error.h"
#include "runtime/check/gpu_executor.h"
#include "runtime/cuda/nvrtc.h"
#include "tests/fuzz/isolated.h"
#include "tests/fuzz/note.h"

namespace nestsmith::fuzz {

namespace {

/// Without the cache, which thousands of random kernels would fill. A refusal of the compiler is a find.
std::vector<cuda::Compiled> compile_anew(const kernel::Plan &plan, Arch arch) {
  std::vector<cuda::Compiled> compiled;
  for (const kernel::Kernel &kernel : plan.kernels) {
    compiled.push_back(cuda::Nvrtc::get().compile(cuda_kernel(kernel), entry_name(kernel), to_string(arch)));
    compiled.back().shared_bytes += kernel.dynamic_shared_bytes();
  }
  return compiled;
}

class Gpu : public Device {
public:
  Gpu() : Device(most_seconds_of_launch), device_(cuda::Device::open()), executor_(*device_, compile_anew) {
    cuda::Nvrtc::get();
  }
  std::string_view name() const override { return executor_.name(); }

private:
  void compile(const kernel::Plan &plan) override { executor_.loaded(plan); }
  Execution launch(const kernel::Plan &plan, std::span<Array> arrays,
                   std::span<const Scalar> scalars) override {
    return executor_.run(plan, arrays, scalars);
  }

  std::unique_ptr<cuda::Device> device_;
  GpuExecutor executor_;
};

/// The answer of the child process in which `find_gpu` searches.
struct GpuSearch {
  ExitCode code = ExitCode::good;
  std::size_t name_length = 0; ///< of the note, which continues with the architecture
};

} // namespace

Execution Device::run(const kernel::Plan &plan, std::span<Array> arrays, std::span<const Scalar> scalars) {
  compile(plan);
  launching();
  Alarm alarm(seconds_);
  return launch(plan, arrays, scalars);
}

std::unique_ptr<Device> open_gpu() { return std::make_unique<Gpu>(); }

FoundGpu find_gpu() {
  GpuSearch &search = shared_object<GpuSearch>();
  note().write("");
  Ending ending = isolated([&] {
    try {
      std::unique_ptr<cuda::Device> device = cuda::Device::open();
      const std::string arch = to_string(device->info().arch()), name = device->info().name;
      cuda::Nvrtc::get().known_arch(arch);
      search.name_length = name.size();
      note().write(name + arch);
    } catch (const UserError &error) {
      search.code = error.code();
      note().write(error.what());
    }
  });
  if (ending.crashed || ending.hung)
    throw UserError(ExitCode::no_device, "the search for a GPU " +
                                             std::string(ending.hung ? "hung" : "crashed") + ": " +
                                             ending.said);
  if (search.code != ExitCode::good)
    throw UserError(search.code, note().read());
  const std::string found = note().read();
  return {found.substr(0, search.name_length), found.substr(search.name_length)};
}

} // namespace nestsmith::fuzz
