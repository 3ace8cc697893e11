#pragma once
/// Limits of a GPU architecture.
/// Source: CUDA C++ Programming Guide, "Technical Specifications per Compute Capability".

#include "dsl/ir/arch.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace nestsmith {

struct Target {
  Arch arch = {80};
  std::int64_t threads_per_block = 1024; ///< product of the three thread extents
  std::int64_t thread_extent[3] = {1024, 1024, 64};
  std::int64_t grid_extent[3] = {2147483647, 65535, 65535};
  std::int64_t shared_bytes_per_block = 166912; ///< if the kernel opts in; otherwise, CUDA's limit is 48 KB
  std::int64_t shared_bytes_per_sm = 167936;
  /// Bytes that the system reserves for each resident block of an SM.
  std::int64_t shared_bytes_reserved = 1024;
  std::int64_t threads_per_sm = 2048;
  std::int64_t blocks_per_sm = 32;
  std::int64_t register_bytes_per_thread = 255 * 4;
  /// Number of multiprocessors (SMs); 0 if only the architecture is known: its GPUs have different numbers.
  std::int64_t sms = 0;
  std::string gpu = {}; ///< product name: "NVIDIA H200"; empty if only the architecture is known
};

/// The limits of an architecture. An architecture that is not in the table gets the limits that every GPU
/// meets.
Target make_target(Arch arch);
/// The limits of the architecture with this name, such as "sm_90a". Throws UserError (usage) if the text is not
/// an architecture name.
Target make_target(std::string_view arch);
/// The architectures in the table: sm_70, ….
std::vector<Arch> architectures();

/// All architectures that compilers know, in ascending order, with those that have a suffix.
std::vector<Arch> known_architectures();
/// Whether the architecture exists: true for sm_80, sm_90a and sm_100f, false for sm_42 and sm_80a.
bool is_known(Arch arch);

/// The known architectures that have the feature, without those that only add a suffix to one that has it.
std::vector<Arch> architectures_with(Feature feature);
/// "cp_async needs sm_80, sm_86, …; got sm_75". Empty if the architecture has the feature.
std::string why_not(Feature feature, Arch arch);

} // namespace nestsmith
