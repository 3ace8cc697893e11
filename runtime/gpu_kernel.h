#pragma once
/// A compiled kernel on a device: runs it on host arrays under guard, and times it.

#include "dsl/array.h"
#include "lowering/kernel.h"
#include "runtime/driver.h"
#include "runtime/nvrtc.h"

#include <span>
#include <string>
#include <vector>

namespace nestsmith::cuda {

class GpuKernel {
public:
  GpuKernel(const Device &device, const kernel::Kernel &kernel, const Compiled &compiled);

  /// Runs the kernel once on copies of `arrays` (one for each parameter, in order) with `scalars` after
  /// them, and writes those of role output and inout back.
  ///
  /// Outputs start as poison, and every buffer lies between guard bands. Returns what the kernel did wrong,
  /// a sentence each: an element of an output that was never written, a write outside of a buffer, a write
  /// to an input. Guard bands and poison are NaN as f32, so that what is read from them shows. A fault (an
  /// illegal address, …) is a UserError (wrong_result); the device serves nothing after it.
  std::vector<std::string> run(std::span<Array> arrays, std::span<const Scalar> scalars) const;

  /// Times runs on copies of `arrays`; nothing is written back.
  Timing time(std::span<const Array> arrays, std::span<const Scalar> scalars,
              const TimingOptions &options = {}) const;

private:
  struct Parameter {
    std::string name;
    Role role;
  };
  void check_arguments(std::size_t arrays, std::size_t scalars) const;
  void enqueue(std::span<const Address> addresses, std::span<const Scalar> scalars) const;

  const Device &device_;
  std::string name_;
  std::vector<Parameter> params_;
  std::size_t scalar_count_;
  std::array<std::int64_t, 3> grid_, block_;
  Module module_;
  FunctionHandle function_;
};

} // namespace nestsmith::cuda
