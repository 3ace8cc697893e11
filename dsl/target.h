#pragma once
/// Limits of a GPU as plain data.
/// Source: CUDA C++ Programming Guide, "Technical Specifications per Compute Capability".

#include <cstdint>
#include <string>

namespace nestsmith {

struct Target {
  std::string arch = "sm_80";            ///< NVRTC's name
  std::int64_t threads_per_block = 1024; ///< product of the three thread extents
  std::int64_t thread_extent[3] = {1024, 1024, 64};
  std::int64_t grid_extent[3] = {2147483647, 65535, 65535};
  std::int64_t shared_bytes_per_block = 49152; ///< without opting in to more
  std::int64_t register_bytes_per_thread = 255 * 4;
};

} // namespace nestsmith
