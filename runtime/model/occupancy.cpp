#include "runtime/model/occupancy.h"

#include "dsl/expr/error.h"

#include <algorithm>
#include <climits>

#include <fmt/format.h>

#if NESTSMITH_CUDA_OCCUPANCY
#include <cuda_occupancy.h>
#endif

namespace nestsmith {

std::string_view name(OccupancyLimit limit) {
  switch (limit) {
  case OccupancyLimit::warps:
    return "warps";
  case OccupancyLimit::registers:
    return "registers";
  case OccupancyLimit::shared_memory:
    return "shared memory";
  case OccupancyLimit::blocks:
    return "blocks";
  }
  internal_error("a limit without a name");
}

namespace {

constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

constexpr const char *get_calculator =
    "./run.sh --cuda 13 gets it from Python wheels and builds again, or install a CUDA toolkit and build again";

#if NESTSMITH_CUDA_OCCUPANCY

cudaOccDeviceProp properties(const Gpu &gpu) {
  cudaOccDeviceProp device;
  device.computeMajor = gpu.arch.number / 10;
  device.computeMinor = gpu.arch.number % 10;
  device.maxThreadsPerBlock = 1024;
  device.maxThreadsPerMultiprocessor = gpu.threads_per_sm;
  device.regsPerBlock = gpu.registers_per_sm; // the same on all listed GPUs
  device.regsPerMultiprocessor = gpu.registers_per_sm;
  device.warpSize = 32;
  device.sharedMemPerBlock = 48 << 10; // without opting in
  device.sharedMemPerMultiprocessor = static_cast<std::size_t>(gpu.shared_per_sm);
  device.numSms = gpu.sms;
  device.sharedMemPerBlockOptin = static_cast<std::size_t>(gpu.shared_per_block);
  device.reservedSharedMemPerBlock = static_cast<std::size_t>(gpu.shared_reserved_per_block);
  return device;
}

cudaOccFuncAttributes attributes(const LaunchResources &resources) {
  cudaOccFuncAttributes kernel;
  kernel.maxThreadsPerBlock = INT_MAX;
  kernel.numRegs = resources.registers;
  kernel.sharedSizeBytes = static_cast<std::size_t>(resources.static_shared);
  kernel.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN; // a launch opts in
  kernel.maxDynamicSharedSizeBytes = static_cast<std::size_t>(resources.dynamic_shared);
  kernel.numBlockBarriers = 1;
  return kernel;
}

#endif

} // namespace

#if NESTSMITH_CUDA_OCCUPANCY

std::optional<std::string> occupancy_calculator() {
  return fmt::format("cuda_occupancy.h, for compute capabilities up to {}.{}", __CUDA_OCC_MAJOR__,
                     __CUDA_OCC_MINOR__);
}

Occupancy occupancy(const Gpu &gpu, const LaunchResources &resources) {
  cudaOccDeviceProp device = properties(gpu);
  cudaOccFuncAttributes kernel = attributes(resources);
  cudaOccDeviceState state;
  cudaOccResult found;
  cudaOccError error = cudaOccMaxActiveBlocksPerMultiprocessor(
      &found, &device, &kernel, &state, static_cast<int>(resources.threads),
      static_cast<std::size_t>(resources.dynamic_shared));
  if (error == CUDA_OCC_ERROR_UNKNOWN_DEVICE)
    throw UserError(ExitCode::no_device,
                    fmt::format("the occupancy of {} needs a newer calculator: nestsmith was built with {}; {}",
                                gpu.name, *occupancy_calculator(), get_calculator));
  internal_check(error == CUDA_OCC_SUCCESS, "cuda_occupancy.h refuses the description of a kernel");

  Occupancy result;
  int warps_per_block = static_cast<int>(ceil_div(resources.threads, 32));
  result.blocks = found.activeBlocksPerMultiprocessor;
  result.warps = result.blocks * warps_per_block;
  result.max_warps = gpu.warps_per_sm();
  result.registers_per_thread = found.allocatedRegistersPerBlock / (warps_per_block * 32);
  result.shared_per_block = static_cast<std::int64_t>(found.allocatedSharedMemPerBlock);
  for (auto [limit, bound] : {std::pair{OccupancyLimit::warps, found.blockLimitWarps},
                              {OccupancyLimit::registers, found.blockLimitRegs},
                              {OccupancyLimit::shared_memory, found.blockLimitSharedMem},
                              {OccupancyLimit::blocks, found.blockLimitBlocks}}) {
    if (bound != INT_MAX)
      result.bound[limit] = bound;
    if (bound == result.blocks)
      result.limits.push_back(limit);
  }
  return result;
}

#else

std::optional<std::string> occupancy_calculator() { return std::nullopt; }

Occupancy occupancy(const Gpu &, const LaunchResources &) {
  throw UserError(ExitCode::no_device,
                  fmt::format("nestsmith was built without cuda_occupancy.h, which computes occupancy; {}",
                              get_calculator));
}

#endif

Occupancy occupancy_without_registers(const Gpu &gpu, const LaunchResources &launch) {
  Occupancy result;
  std::int64_t warps = (launch.threads + 31) / 32;
  result.shared_per_block = launch.static_shared + launch.dynamic_shared + gpu.shared_reserved_per_block;
  result.bound = {{OccupancyLimit::warps, static_cast<int>(gpu.warps_per_sm() / warps)},
                  {OccupancyLimit::blocks, gpu.blocks_per_sm}};
  if (result.shared_per_block > 0)
    result.bound[OccupancyLimit::shared_memory] = static_cast<int>(gpu.shared_per_sm / result.shared_per_block);
  result.blocks =
      std::ranges::min_element(result.bound, {}, [](const auto &entry) { return entry.second; })->second;
  for (auto [limit, blocks] : result.bound)
    if (blocks == result.blocks)
      result.limits.push_back(limit);
  result.warps = result.blocks * static_cast<int>(warps);
  result.max_warps = gpu.warps_per_sm();
  return result;
}

std::int64_t l1_bytes_left(const Gpu &gpu, const Occupancy &occupancy) {
  // CUDA C++ Programming Guide, Compute Capabilities: the sizes under "Shared Memory", up to the largest of the
  // SM.
  constexpr std::int64_t sizes_kb[] = {0, 8, 16, 32, 64, 100, 132, 164, 196, 228};
  std::int64_t taken = occupancy.blocks * occupancy.shared_per_block;
  auto size = std::ranges::find_if(sizes_kb, [&](std::int64_t kb) { return kb * 1024 >= taken; });
  std::int64_t shared =
      size == std::end(sizes_kb) ? gpu.shared_per_sm : std::min(*size * 1024, gpu.shared_per_sm);
  return gpu.l1_bytes - shared;
}

Waves waves(const Gpu &gpu, const Occupancy &occupancy, std::int64_t blocks) {
  Waves result;
  result.blocks = blocks;
  result.in_wave = static_cast<std::int64_t>(occupancy.blocks) * gpu.sms;
  if (blocks == 0 || result.in_wave == 0)
    return result;
  auto ratio = [](std::int64_t a, std::int64_t b) { return static_cast<double>(a) / static_cast<double>(b); };
  std::int64_t waited = ceil_div(blocks, result.in_wave);
  result.waves = ratio(blocks, result.in_wave);
  result.full = blocks / result.in_wave;
  result.last_wave = ratio(blocks - (waited - 1) * result.in_wave, result.in_wave);
  result.efficiency = result.waves / static_cast<double>(waited);
  result.busiest = ceil_div(blocks, gpu.sms);
  result.sms_busy = std::min(1.0, ratio(blocks, gpu.sms));
  return result;
}

} // namespace nestsmith
