#include "runtime/cuda/driver.h"

#include "dsl/expr/error.h"

#include <climits>
#include <utility>

#include <fmt/format.h>

namespace nestsmith::cuda {
namespace {

std::string text_of(Result (*get)(Result, const char **), Result result) {
  const char *text = nullptr;
  return get(result, &text) == 0 && text ? text : "";
}

/// CUDA's own words: "CUDA_ERROR_OUT_OF_MEMORY (out of memory)".
std::string describe(const DriverFunctions &functions, Result result) {
  std::string name = text_of(functions.get_error_name, result);
  std::string text = text_of(functions.get_error_string, result);
  if (name.empty())
    return fmt::format("CUDA error {}", result);
  return text.empty() ? name : fmt::format("{} ({})", name, text);
}

bool is_kernel_fault(Result result) {
  switch (static_cast<KernelFault>(result)) {
  case KernelFault::illegal_address:
  case KernelFault::launch_timeout:
  case KernelFault::hardware_stack_error:
  case KernelFault::illegal_instruction:
  case KernelFault::misaligned_address:
  case KernelFault::invalid_address_space:
  case KernelFault::invalid_pc:
  case KernelFault::launch_failed:
    return true;
  default:
    return false;
  }
}

DriverFunctions resolve(const Resolver &resolver) {
  DriverFunctions functions;
#define NESTSMITH_RESOLVE(member, symbol, ...)                                                                 \
  functions.member = reinterpret_cast<std::add_pointer_t<__VA_ARGS__>>(resolver(#symbol));                     \
  if (!functions.member)                                                                                       \
    throw UserError(ExitCode::no_device,                                                                       \
                    "the CUDA driver has no " #symbol "; install a newer one (CUDA 12 or 13)");
  NESTSMITH_DRIVER_FUNCTIONS(NESTSMITH_RESOLVE)
#undef NESTSMITH_RESOLVE
  return functions;
}

unsigned checked_extent(std::int64_t extent) {
  internal_check(extent >= 1 && extent <= INT_MAX, "a launch extent does not fit the driver");
  return static_cast<unsigned>(extent);
}

} // namespace

std::optional<int> driver_version() {
  Search search = find_library(LibraryKind::driver);
  if (!search.library)
    return std::nullopt;
  auto get = reinterpret_cast<Result (*)(int *)>(search.library->symbol("cuDriverGetVersion"));
  int version = 0;
  if (!get || get(&version) != 0 || version <= 0)
    return std::nullopt;
  return version;
}

std::string version_text(int cuda_version) {
  return fmt::format("{}.{}", cuda_version / 1000, cuda_version % 1000 / 10);
}

Arch DeviceInfo::arch() const {
  // Only the architecture-specific name enables all features of the device.
  int number = 10 * major + minor;
  return {number, has_suffix(number, 'a') ? 'a' : '\0'};
}

Target DeviceInfo::target() const {
  Target target = make_target(arch());
  target.sms = sm_count;
  target.gpu = name;
  return target;
}

std::unique_ptr<Device> Device::open() {
  Search search = find_library(LibraryKind::driver);
  if (!search.library)
    throw UserError(ExitCode::no_device,
                    fmt::format("no CUDA driver found (searched: {}); install NVIDIA's driver, "
                                "or use --device sim",
                                joined(search.looked)));
  return open(search.library->resolver());
}

std::unique_ptr<Device> Device::open(const Resolver &resolver) {
  return std::unique_ptr<Device>(new Device(resolver));
}

Device::Device(const Resolver &resolver) : functions_(resolve(resolver)) {
  check(functions_.init(0), "cannot start the CUDA driver");
  int count = 0;
  check(functions_.device_get_count(&count), "cannot count the GPUs");
  if (count == 0)
    throw UserError(ExitCode::no_device,
                    "the CUDA driver sees no GPU; check CUDA_VISIBLE_DEVICES, or use --device sim");
  check(functions_.device_get(&number_, 0), "cannot get GPU 0");
  read_info();
  check(functions_.primary_ctx_retain(&context_, number_), "cannot make a context on GPU 0");
  Result result = functions_.ctx_set_current(context_);
  if (result == 0)
    result = functions_.stream_create(&stream_, 0);
  if (result != 0) {
    functions_.primary_ctx_release(number_);
    check(result, "cannot use the context of GPU 0");
  }
}

Device::~Device() {
  functions_.stream_destroy(stream_);
  functions_.primary_ctx_release(number_);
}

void Device::check(Result result, const std::string &doing) const {
  if (result == 0)
    return;
  std::string message = fmt::format("{}: {}", doing, describe(functions_, result));
  throw UserError(is_kernel_fault(result) ? ExitCode::wrong_result : ExitCode::no_device, message);
}

void Device::synchronize(const std::string &doing) const { check(functions_.ctx_synchronize(), doing); }

int Device::attribute(Attribute which, int fallback) const {
  int value = 0;
  // These attributes are only displayed, so nestsmith goes on if the driver does not know one.
  if (functions_.device_get_attribute(&value, static_cast<int>(which), number_) != 0)
    return fallback;
  return value;
}

void Device::read_info() {
  std::array<char, 256> text{};
  check(functions_.device_get_name(text.data(), static_cast<int>(text.size()) - 1, number_),
        "cannot read the name of GPU 0");
  info_.name = text.data();
  check(functions_.device_get_attribute(&info_.major, static_cast<int>(Attribute::major), number_),
        "cannot read the compute capability of GPU 0");
  check(functions_.device_get_attribute(&info_.minor, static_cast<int>(Attribute::minor), number_),
        "cannot read the compute capability of GPU 0");
  check(functions_.device_total_mem(&info_.memory_bytes, number_), "cannot read the memory size of GPU 0");
  check(functions_.driver_get_version(&info_.driver_version), "cannot read the version of the CUDA driver");
  info_.sm_count = attribute(Attribute::sm_count, 0);
  info_.memory_bus_bits = attribute(Attribute::memory_bus_bits, 0);
  info_.l2_bytes = static_cast<std::size_t>(attribute(Attribute::l2_bytes, 0));
}

Memory::Memory(const Device &device, std::size_t bytes) : device_(&device), bytes_(bytes) {
  const DriverFunctions &functions = device.functions();
  // The driver refuses an allocation of no bytes, and an empty buffer still needs an address.
  Result result = functions.mem_alloc(&address_, bytes ? bytes : 4);
  if (result == 0)
    return;
  std::size_t free = 0, total = 0;
  std::string have;
  if (functions.mem_get_info(&free, &total) == 0)
    have = fmt::format(" ({} MiB free of {} MiB)", free >> 20, total >> 20);
  device.check(result, fmt::format("cannot allocate {} bytes on the GPU{}", bytes, have));
}

Memory::~Memory() {
  if (device_)
    device_->functions().mem_free(address_);
}

Memory::Memory(Memory &&other) noexcept
    : device_(std::exchange(other.device_, nullptr)), address_(other.address_), bytes_(other.bytes_) {}

void Memory::check_range(std::size_t offset, std::size_t bytes) const {
  internal_check(offset <= bytes_ && bytes <= bytes_ - offset, "a copy beyond the end of device memory");
}

void Memory::write(std::size_t offset, const void *data, std::size_t bytes) const {
  check_range(offset, bytes);
  if (bytes > 0)
    device_->check(device_->functions().memcpy_to_device(address_ + offset, data, bytes),
                   fmt::format("cannot copy {} bytes to the GPU", bytes));
}

void Memory::read(std::size_t offset, void *data, std::size_t bytes) const {
  check_range(offset, bytes);
  if (bytes > 0)
    device_->check(device_->functions().memcpy_to_host(data, address_ + offset, bytes),
                   fmt::format("cannot copy {} bytes from the GPU", bytes));
}

void Memory::fill(std::uint32_t word) const {
  if (bytes_ >= 4)
    device_->check(device_->functions().memset_32(address_, word, bytes_ / 4),
                   fmt::format("cannot fill {} bytes on the GPU", bytes_));
}

Module::Module(const Device &device, const std::vector<char> &cubin, Arch arch) : device_(&device) {
  internal_check(!cubin.empty(), "an empty CUBIN");
  Result result = device.functions().module_load_data(&handle_, cubin.data());
  const DeviceInfo &info = device.info();
  device.check(result, fmt::format("the driver (CUDA {}) cannot load code for {} on {} ({})",
                                   version_text(info.driver_version), to_string(arch), info.name,
                                   to_string(info.arch())));
}

Module::Module(Module &&other) noexcept
    : device_(other.device_), handle_(std::exchange(other.handle_, nullptr)) {}

Module::~Module() {
  if (handle_)
    device_->functions().module_unload(handle_);
}

FunctionHandle Module::function(const std::string &name) const {
  FunctionHandle function = nullptr;
  device_->check(device_->functions().module_get_function(&function, handle_, name.c_str()),
                 fmt::format("no kernel {} in the loaded code", name));
  return function;
}

void launch(const Device &device, FunctionHandle function, const std::string &name,
            const std::array<std::int64_t, 3> &grid, const std::array<std::int64_t, 3> &block,
            std::vector<void *> arguments, std::int64_t shared_bytes, bool early) {
  LaunchAttribute attribute{.id = starts_early, .value = {1}};
  LaunchConfig config{.grid = {checked_extent(grid[0]), checked_extent(grid[1]), checked_extent(grid[2])},
                      .block = {checked_extent(block[0]), checked_extent(block[1]), checked_extent(block[2])},
                      .shared_bytes = static_cast<unsigned>(shared_bytes),
                      .stream = device.stream(),
                      .attributes = early ? &attribute : nullptr,
                      .count = early ? 1U : 0U};
  Result result = device.functions().launch_kernel(&config, function, arguments.data(), nullptr);
  if (result != 0) // the time to format a message would count as time of the launch
    device.check(result, fmt::format("cannot launch kernel {} with grid ({}, {}, {}) and block ({}, {}, {})",
                                     name, grid[0], grid[1], grid[2], block[0], block[1], block[2]));
}

void allow_shared(const Device &device, FunctionHandle function, const std::string &name,
                  std::int64_t shared_bytes) {
  device.check(device.functions().func_set_attribute(
                   function, static_cast<int>(FunctionAttribute::max_dynamic_shared_bytes),
                   static_cast<int>(shared_bytes)),
               fmt::format("cannot give kernel {} {} bytes of shared memory", name, shared_bytes));
}

} // namespace nestsmith::cuda
