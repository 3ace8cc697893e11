#pragma once
/// How many blocks of a kernel an SM holds, and why not more: as cuda_occupancy.h of the CUDA toolkit says.
///
/// A build that found no such header (cmake/find_cuda_occupancy.cmake) does all but this.

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
  std::int64_t threads = 0;       ///< of a block
  int registers = 0;              ///< of a thread; 0: not known, and no limit
  std::int64_t static_shared = 0; ///< bytes of a block
  std::int64_t dynamic_shared = 0;
};

struct Occupancy {
  int blocks = 0;                     ///< that an SM holds; 0: the kernel cannot be launched
  int warps = 0, max_warps = 0;       ///< of an SM
  std::vector<OccupancyLimit> limits; ///< what keeps another block out; several where they agree
  int registers_per_thread = 0;       ///< as they are allocated: 33 are 40
  std::int64_t shared_per_block = 0;  ///< as it is allocated, with what the system reserves
  /// The blocks that each resource would allow; one that a kernel does not use has no entry.
  std::map<OccupancyLimit, int> bound;

  double ratio() const { return max_warps == 0 ? 0 : static_cast<double>(warps) / max_warps; } ///< 0 to 1
};

/// What computes it: "cuda_occupancy.h, for compute capabilities up to 12.1"; absent where this build has none.
std::optional<std::string> occupancy_calculator();
/// Throws UserError (no_device), with what to do, where this build has no calculator, or one that is older than
/// the GPU.
Occupancy occupancy(const Gpu &gpu, const LaunchResources &resources);

/// What an SM's L1 has left of the memory that it shares with these blocks: shared memory takes the smallest of
/// the sizes that the hardware can set aside that holds them.
std::int64_t l1_bytes_left(const Gpu &gpu, const Occupancy &occupancy);

/// How a grid fills the chip, in waves of as many blocks as run together. It is taken that all blocks take
/// equally long and go to the SM that has the fewest.
struct Waves {
  std::int64_t blocks = 0;  ///< of the grid
  std::int64_t in_wave = 0; ///< that run together
  double waves = 0;         ///< blocks over that: 1.94
  std::int64_t full = 0;    ///< complete waves
  double last_wave = 0;     ///< how full the last one is: above 0, to 1
  double efficiency = 0;    ///< waves over the waves that are waited for: 0 to 1
  std::int64_t busiest = 0; ///< blocks of the SM that has the most, over the whole run
  double sms_busy = 0;      ///< SMs with a block in the first wave, of all: 0 to 1
};
Waves waves(const Gpu &gpu, const Occupancy &occupancy, std::int64_t blocks);

} // namespace nestsmith
