#include "runtime/cuda/nvml.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace nestsmith::cuda {

// From nvml.h. nvmlReturn_t and nvmlClockType_t are enums, nvmlDevice_t is a pointer.
struct Nvml::Functions {
  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  int (*device_by_pci_bus_id)(const char *, void **) = nullptr;
  int (*clock_info)(void *, int, unsigned *) = nullptr;
  int (*total_energy)(void *, unsigned long long *) = nullptr;
};

namespace {

constexpr int clock_sm = 1; // NVML_CLOCK_SM

template <class F> bool resolve(F *&function, const Resolver &resolver, const char *name) {
  function = reinterpret_cast<F *>(resolver(name));
  return function != nullptr;
}

} // namespace

std::unique_ptr<Nvml> Nvml::open(const Device &device, std::string &note) {
  Search search = find_library(LibraryKind::nvml);
  if (search.library)
    return open(device, search.library->resolver(), note);
  note = fmt::format("SM clock and power n/a: no NVML found (searched: {}); it is part of NVIDIA's driver",
                     joined(search.looked));
  return nullptr;
}

std::unique_ptr<Nvml> Nvml::open(const Device &device, const Resolver &resolver, std::string &note) {
  Functions functions;
  if (!resolve(functions.init, resolver, "nvmlInit_v2") ||
      !resolve(functions.shutdown, resolver, "nvmlShutdown") ||
      !resolve(functions.device_by_pci_bus_id, resolver, "nvmlDeviceGetHandleByPciBusId_v2") ||
      !resolve(functions.clock_info, resolver, "nvmlDeviceGetClockInfo") ||
      !resolve(functions.total_energy, resolver, "nvmlDeviceGetTotalEnergyConsumption")) {
    note = "SM clock and power n/a: this NVML is too old; install a newer driver";
    return nullptr;
  }
  if (int status = functions.init(); status != 0) {
    note = fmt::format("SM clock and power n/a: NVML does not start (error {})", status);
    return nullptr;
  }
  std::unique_ptr<Nvml> nvml(new Nvml(functions));
  std::array<char, 64> bus{};
  bool known = device.functions().device_get_pci_bus_id(bus.data(), static_cast<int>(bus.size()) - 1,
                                                        device.number()) == 0;
  if (!known || functions.device_by_pci_bus_id(bus.data(), &nvml->device_) != 0) {
    note = "SM clock and power n/a: NVML does not know the GPU";
    return nullptr;
  }
  return nvml;
}

Nvml::Nvml(const Functions &functions) : functions_(std::make_unique<Functions>(functions)) {}

Nvml::~Nvml() { functions_->shutdown(); }

std::optional<int> Nvml::sm_mhz() const {
  unsigned mhz = 0;
  if (functions_->clock_info(device_, clock_sm, &mhz) != 0)
    return std::nullopt;
  return static_cast<int>(mhz);
}

std::optional<double> Nvml::joules() const {
  unsigned long long millijoules = 0;
  if (functions_->total_energy(device_, &millijoules) != 0)
    return std::nullopt;
  return static_cast<double>(millijoules) * 1e-3;
}

} // namespace nestsmith::cuda
