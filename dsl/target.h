#pragma once
/// Limits of a GPU as plain data.
/// Source: CUDA C++ Programming Guide, "Technical Specifications per Compute Capability".

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace nestsmith {

struct Target {
  std::string arch = "sm_80";            ///< NVRTC's name
  std::int64_t threads_per_block = 1024; ///< product of the three thread extents
  std::int64_t thread_extent[3] = {1024, 1024, 64};
  std::int64_t grid_extent[3] = {2147483647, 65535, 65535};
  std::int64_t shared_bytes_per_block = 166912; ///< by opting in; without, CUDA's 48 KB
  std::int64_t shared_bytes_per_sm = 167936;
  std::int64_t shared_bytes_reserved = 1024; ///< by the system, of an SM's memory for each block on it
  std::int64_t threads_per_sm = 2048;
  std::int64_t blocks_per_sm = 32;
  std::int64_t register_bytes_per_thread = 255 * 4;
};

/// The limits of an architecture such as "sm_90" or "sm_90a". One that is not in the table has those that
/// every GPU has, under its own name.
Target make_target(const std::string &arch);
/// "sm_70", … of the table.
std::vector<std::string> architectures();

/// Whether GPUs of this architecture are known: "sm_80", "sm_90a", "sm_100f", but not "sm_42" or "sm_80a".
bool is_architecture(std::string_view arch);

/// 90 for "sm_90", "sm_90a" and "sm_90f", the code that a device of compute capability 9.0 runs; 0 for what
/// does not name an architecture.
int compute_capability(std::string_view arch);

} // namespace nestsmith
