#pragma once
/// The CUDA driver, opened at run time, with RAII types.
///
/// If a call of the driver fails, the function throws UserError with CUDA's name for the error. The exit code
/// is `wrong_result` if the kernel caused the error (an illegal address, a misaligned access, …), otherwise
/// `no_device`. All work uses one stream of one device, from the thread that opened the device.

#include "dsl/hardware/target.h"
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

/// The CUDA version that the installed driver supports (12040 is 12.4). None if there is no driver. Needs no
/// device.
std::optional<int> driver_version();
/// The text of a CUDA version: "13.0" for 13000.
std::string version_text(int cuda_version);

struct DeviceInfo {
  std::string name;
  int major = 0, minor = 0; ///< compute capability
  int sm_count = 0;
  int memory_bus_bits = 0; ///< 0 if the driver does not report it
  std::size_t l2_bytes = 0;
  std::size_t memory_bytes = 0;
  int driver_version = 0; ///< CUDA version: 13000

  /// The architecture for code of this device: sm_89, sm_90a.
  Arch arch() const;
  Target target() const;
};

/// A device with its primary context, current in this thread.
class Device {
public:
  /// Opens the first device of the installed driver (CUDA_VISIBLE_DEVICES selects). Throws UserError
  /// (no_device) if there is none.
  static std::unique_ptr<Device> open();
  /// The same with driver functions from `resolver`.
  static std::unique_ptr<Device> open(const Resolver &resolver);
  ~Device();
  Device(const Device &) = delete;
  Device &operator=(const Device &) = delete;

  const DeviceInfo &info() const { return info_; }
  DeviceNumber number() const { return number_; }
  const DriverFunctions &functions() const { return functions_; }
  /// The stream of all launches. It waits for the copies and fills of `Memory`, which use the default stream.
  /// The default stream itself cannot be captured in a graph.
  StreamHandle stream() const { return stream_; }
  /// Throws if `result` is an error. `doing` describes the operation: "cannot allocate 64 bytes".
  void check(Result result, const std::string &doing) const;
  void synchronize(const std::string &doing) const;

private:
  explicit Device(const Resolver &resolver);
  int attribute(Attribute which, int fallback) const;
  void read_info();

  DriverFunctions functions_;
  DeviceNumber number_ = 0;
  ContextHandle context_ = nullptr;
  StreamHandle stream_ = nullptr;
  DeviceInfo info_;
};

/// Owns device memory.
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
  /// Fills the memory with 32-bit words. A remainder of fewer than 4 bytes is unchanged.
  void fill(std::uint32_t word) const;

private:
  void check_range(std::size_t offset, std::size_t bytes) const;
  const Device *device_;
  Address address_ = 0;
  std::size_t bytes_;
};

/// A loaded CUBIN. It is unloaded on destruction.
class Module {
public:
  /// `arch` is the architecture of the CUBIN, for messages.
  Module(const Device &device, const std::vector<char> &cubin, Arch arch);
  ~Module();
  Module(const Module &) = delete;
  Module &operator=(const Module &) = delete;
  Module(Module &&other) noexcept;

  FunctionHandle function(const std::string &name) const;

private:
  const Device *device_;
  ModuleHandle handle_ = nullptr;
};

/// Enqueues a launch. `arguments` points to the values in the order of the kernel's parameters; they are copied
/// before this function returns. `shared_bytes` is the dynamic shared memory. If it is larger than 48 KB, the
/// caller must first call `allow_shared` with the same value. `early`: the kernel may start while the one
/// before it ends, and awaits it.
void launch(const Device &device, FunctionHandle function, const std::string &name,
            const std::array<std::int64_t, 3> &grid, const std::array<std::int64_t, 3> &block,
            std::vector<void *> arguments, std::int64_t shared_bytes = 0, bool early = false);
void allow_shared(const Device &device, FunctionHandle function, const std::string &name,
                  std::int64_t shared_bytes);

} // namespace nestsmith::cuda
