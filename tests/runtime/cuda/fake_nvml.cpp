/// A fake of NVML with one GPU.

#include "tests/runtime/cuda/fake_cuda.h"

#include <cstring>

namespace nestsmith::test {
namespace {

unsigned long long millijoules = 0;

#define ENTER(symbol)                                                                                          \
  if (cuda::Result failed = enter_fake(#symbol))                                                               \
  return failed

int nvmlInit_v2() {
  ENTER(nvmlInit_v2);
  ++fake_cuda().handles;
  return 0;
}
int nvmlShutdown() {
  ENTER(nvmlShutdown);
  --fake_cuda().handles;
  return 0;
}
int nvmlDeviceGetHandleByPciBusId_v2(const char *id, void **device) {
  ENTER(nvmlDeviceGetHandleByPciBusId_v2);
  *device = &millijoules;
  return std::strcmp(id, "0000:3b:00.0") == 0 ? 0 : 6; // NVML_ERROR_NOT_FOUND
}
int nvmlDeviceGetClockInfo(void *, int which, unsigned *mhz) {
  ENTER(nvmlDeviceGetClockInfo);
  *mhz = which == 1 ? 1980 : 1; // NVML_CLOCK_SM
  return 0;
}
int nvmlDeviceGetTotalEnergyConsumption(void *, unsigned long long *energy) {
  ENTER(nvmlDeviceGetTotalEnergyConsumption);
  *energy = millijoules += 7000;
  return 0;
}

#undef ENTER

template <class F> void *address(F *function) { return reinterpret_cast<void *>(function); }

} // namespace

cuda::Resolver fake_nvml() {
#define ENTRY(symbol)                                                                                          \
  { #symbol, address(symbol) }
  return fake_resolver({ENTRY(nvmlInit_v2), ENTRY(nvmlShutdown), ENTRY(nvmlDeviceGetHandleByPciBusId_v2),
                        ENTRY(nvmlDeviceGetClockInfo), ENTRY(nvmlDeviceGetTotalEnergyConsumption)});
#undef ENTRY
}

} // namespace nestsmith::test
