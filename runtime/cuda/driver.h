#pragma once
/// The CUDA driver, opened at run time, behind types that free what they hold.
///
/// Every failed call is a UserError with CUDA's name for it: `no_device` where the machine is at fault,
/// `wrong_result` where the kernel is (an illegal address, a misaligned access, …). All work goes to the
/// default stream of one device, from the thread that opened it.

#include "dsl/target.h"
#include "runtime/cuda/driver_functions.h"
#include "runtime/cuda/library.h"

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

namespace nestsmith::cuda {

/// CUDA's version that the installed driver takes (12040 is 12.4); nothing where there is no driver. Needs
/// no device.
std::optional<int> driver_version();

struct DeviceInfo {
  std::string name;
  int major = 0, minor = 0; ///< compute capability
  int sm_count = 0;
  int clock_khz = 0; ///< 0 where the driver does not say
  int memory_clock_khz = 0;
  int memory_bus_bits = 0;
  std::size_t l2_bytes = 0;
  std::size_t memory_bytes = 0;
  int driver_version = 0; ///< CUDA's version: 13000

  /// NVRTC's name for this very device: sm_89, sm_90a.
  std::string arch() const;
  Target target() const;
};

/// A device with its primary context, current in this thread.
class Device {
public:
  /// The first device of the installed driver (CUDA_VISIBLE_DEVICES chooses). Throws UserError (no_device)
  /// where there is none.
  static std::unique_ptr<Device> open();
  /// The driver's functions come from `resolver`.
  static std::unique_ptr<Device> open(const Resolver &resolver);
  ~Device();
  Device(const Device &) = delete;
  Device &operator=(const Device &) = delete;

  const DeviceInfo &info() const { return info_; }
  const DriverFunctions &functions() const { return functions_; }
  /// Throws where `result` is an error; `doing` is what was tried: "cannot allocate 64 bytes".
  void check(Result result, const std::string &doing) const;
  void synchronize(const std::string &doing) const;

private:
  explicit Device(const Resolver &resolver);
  int attribute(Attribute which, int fallback) const;
  void read_info();

  DriverFunctions functions_;
  DeviceNumber number_ = 0;
  ContextHandle context_ = nullptr;
  DeviceInfo info_;
};

/// Memory on the device.
class Memory {
public:
  Memory(const Device &device, std::size_t bytes);
  ~Memory();
  Memory(const Memory &) = delete;
  Memory &operator=(const Memory &) = delete;
  Memory(Memory &&other) noexcept;

  Address address() const { return address_; }
  std::size_t bytes() const { return bytes_; }
  void write(std::size_t offset, const void *data, std::size_t bytes) const;
  void read(std::size_t offset, void *data, std::size_t bytes) const;
  /// All of it, as 32-bit words; a rest of fewer than 4 bytes is left.
  void fill(std::uint32_t word) const;

private:
  void check_range(std::size_t offset, std::size_t bytes) const;
  const Device *device_;
  Address address_ = 0;
  std::size_t bytes_;
};

/// A loaded CUBIN.
class Module {
public:
  /// `arch` is what it was compiled for, for messages.
  Module(const Device &device, const std::vector<char> &cubin, const std::string &arch);
  ~Module();
  Module(const Module &) = delete;
  Module &operator=(const Module &) = delete;
  Module(Module &&other) noexcept;

  FunctionHandle function(const std::string &name) const;

private:
  const Device *device_;
  ModuleHandle handle_ = nullptr;
};

/// Queues a launch. `arguments` point to the values, in the order of the kernel's parameters; they are
/// copied before this returns. `shared_bytes` is the size of the arena that is named at launch; past 48 KB
/// `allow_shared` must have been called with as many.
void launch(const Device &device, FunctionHandle function, const std::string &name,
            const std::array<std::int64_t, 3> &grid, const std::array<std::int64_t, 3> &block,
            std::vector<void *> arguments, std::int64_t shared_bytes = 0);
void allow_shared(const Device &device, FunctionHandle function, const std::string &name,
                  std::int64_t shared_bytes);

/// Milliseconds over several runs.
struct Timing {
  double median_ms = 0, min_ms = 0, max_ms = 0;
  int runs = 0;
  bool cold_l2 = false;
};

struct TimingOptions {
  int warm_up = 10;
  int runs = 20;
  bool cold_l2 = false; ///< L2 is overwritten before each run, outside of the timed span
};

/// Times what `enqueue` puts on the default stream, each run between two events.
Timing time_runs(const Device &device, const std::function<void()> &enqueue, const TimingOptions &options);

} // namespace nestsmith::cuda
