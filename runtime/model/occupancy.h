#pragma once
/// Occupancy: the number of blocks that are resident on an SM, and the resources that limit it, computed with
/// cuda_occupancy.h from the CUDA Toolkit.
///
/// If this header is missing at build time (cmake/find_cuda_occupancy.cmake), only the occupancy calculation is
/// unavailable.

#include "dsl/hardware/gpus.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nestsmith {

enum class OccupancyLimit : std::uint8_t { warps, registers, shared_memory, blocks };
std::string_view name(OccupancyLimit limit); ///< "registers", "shared memory", "warps", "blocks"

struct LaunchResources {
  std::int64_t threads = 0;       ///< threads per block
  int registers = 0;              ///< registers per thread; 0: unknown, so registers do not limit the occupancy
  std::int64_t static_shared = 0; ///< bytes per block
  std::int64_t dynamic_shared = 0;
};

struct Occupancy {
  int blocks = 0;               ///< resident blocks per SM; 0: the kernel cannot be launched
  int warps = 0, max_warps = 0; ///< resident warps per SM, and the limit of the GPU
  /// The resources that limit `blocks`; several if they allow the same number.
  std::vector<OccupancyLimit> limits;
  int registers_per_thread = 0; ///< as allocated by the hardware: 40 if the kernel uses 33
  /// Bytes, as allocated by the hardware, including the reservation of the system.
  std::int64_t shared_per_block = 0;
  /// For each resource, the number of blocks per SM that it allows. A resource that the kernel does not use has
  /// no entry.
  std::map<OccupancyLimit, int> bound;

  double ratio() const { return max_warps == 0 ? 0 : static_cast<double>(warps) / max_warps; } ///< 0 to 1
};

/// A description of the calculator: "cuda_occupancy.h, for compute capabilities up to 12.1". None if this build
/// has no calculator.
std::optional<std::string> occupancy_calculator();
/// Throws UserError (no_device), with the remedy, if this build has no calculator, or if the calculator does
/// not know the compute capability of the GPU.
Occupancy occupancy(const Gpu &gpu, const LaunchResources &resources);

/// The occupancy if only threads, blocks and shared memory limit it. For builds without an occupancy
/// calculator.
Occupancy occupancy_without_registers(const Gpu &gpu, const LaunchResources &launch);

/// The L1 capacity in bytes that is left after the shared memory carveout. The hardware selects the smallest
/// carveout that is sufficient for the shared memory of the resident blocks.
std::int64_t l1_bytes_left(const Gpu &gpu, const Occupancy &occupancy);

/// The waves in which a grid executes. A wave consists of the blocks that are resident on all SMs at the same
/// time. The model assumes that all blocks take the same time, and that each block starts on the SM with the
/// fewest blocks.
struct Waves {
  std::int64_t blocks = 0;  ///< blocks of the grid
  std::int64_t in_wave = 0; ///< blocks that are resident on the GPU at the same time
  double waves = 0;         ///< blocks / in_wave: 1.94
  std::int64_t full = 0;    ///< complete waves
  double last_wave = 0;     ///< occupied fraction of the last wave, in (0, 1]
  double efficiency = 0;    ///< waves / ceil(waves): 0 to 1
  std::int64_t busiest = 0; ///< blocks of the SM with the most blocks, over the whole run
  double sms_busy = 0;      ///< fraction of SMs with a block in the first wave
};
Waves waves(const Gpu &gpu, const Occupancy &occupancy, std::int64_t blocks);

} // namespace nestsmith
