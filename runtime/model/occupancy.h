#pragma once
/// Occupancy: the number of blocks that an SM holds, and the limiting resources, by cuda_occupancy.h of the
/// CUDA toolkit.
///
/// A build without that header (cmake/find_cuda_occupancy.cmake) has every other feature.

#include "runtime/model/gpus.h"

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
  std::int64_t threads = 0;       ///< per block
  int registers = 0;              ///< per thread; 0: unknown, imposes no limit
  std::int64_t static_shared = 0; ///< bytes per block
  std::int64_t dynamic_shared = 0;
};

struct Occupancy {
  int blocks = 0;                     ///< resident blocks per SM; 0: the kernel cannot be launched
  int warps = 0, max_warps = 0;       ///< per SM
  std::vector<OccupancyLimit> limits; ///< the limiting resources; several if they agree
  int registers_per_thread = 0;       ///< as allocated: 40 for 33
  std::int64_t shared_per_block = 0;  ///< as allocated, including the system's reservation
  /// The blocks that each resource allows. An unused resource has no entry.
  std::map<OccupancyLimit, int> bound;

  double ratio() const { return max_warps == 0 ? 0 : static_cast<double>(warps) / max_warps; } ///< 0 to 1
};

/// The calculator: "cuda_occupancy.h, for compute capabilities up to 12.1"; none if this build has none.
std::optional<std::string> occupancy_calculator();
/// Throws UserError (no_device), with the remedy, if this build has no calculator or one older than the GPU.
Occupancy occupancy(const Gpu &gpu, const LaunchResources &resources);

/// The L1 capacity that remains next to these blocks' shared memory. The hardware reserves the smallest
/// supported shared memory size that holds them.
std::int64_t l1_bytes_left(const Gpu &gpu, const Occupancy &occupancy);

/// The waves in which a grid executes: a wave has as many blocks as are resident together. Assumes that all
/// blocks take the same time and that each goes to the SM with the fewest.
struct Waves {
  std::int64_t blocks = 0;  ///< of the grid
  std::int64_t in_wave = 0; ///< resident together
  double waves = 0;         ///< blocks / in_wave: 1.94
  std::int64_t full = 0;    ///< complete waves
  double last_wave = 0;     ///< occupied fraction of the last wave, in (0, 1]
  double efficiency = 0;    ///< waves / ceil(waves): 0 to 1
  std::int64_t busiest = 0; ///< blocks of the SM with the most blocks, over the whole run
  double sms_busy = 0;      ///< fraction of SMs with a block in the first wave
};
Waves waves(const Gpu &gpu, const Occupancy &occupancy, std::int64_t blocks);

} // namespace nestsmith
