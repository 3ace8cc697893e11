#pragma once
/// The name of a GPU architecture, and its features.

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nestsmith {

/// Instructions that only some architectures have. A table in arch.cpp states which.
enum class Feature : std::uint8_t {
  vector_access, ///< loads and stores of 8 and 16 bytes
  dp4a,          ///< dot product of four i8 or u8
  ldmatrix,
  mma_f16_k8,      ///< mma.sync m16n8k8 with f16
  mma_f16,         ///< mma.sync m16n8k16 with f16
  mma_bf16,        ///< mma.sync m16n8k16
  mma_tf32,        ///< mma.sync m16n8k8
  mma_i8,          ///< mma.sync m16n8k32, also with u8
  cp_async,        ///< copies of 4, 8 or 16 bytes from global to shared memory
  mbarrier,        ///< barriers in shared memory
  mbarrier_expect, ///< their counts of bytes, and waits with a time limit
  tma,             ///< cp.async.bulk and cp.async.bulk.tensor
  clusters,
  stmatrix,
  wgmma,
  setmaxnreg,
  griddepcontrol, ///< kernels that start while the kernel before them ends
};

/// {90, 'a'} is sm_90a: code for compute capability 9.0. Suffix 'a' permits the instructions that only this
/// architecture has, and 'f' those of its family.
struct Arch {
  int number = 0;
  char suffix = '\0'; ///< 'a', 'f', or none

  /// Whether code for this architecture may use the feature.
  bool has(Feature feature) const;

  /// None if the text is not an architecture name. The architecture need not exist: "sm_42" is a name.
  static std::optional<Arch> parse(std::string_view text);
  auto operator<=>(const Arch &) const = default;
};

std::string to_string(Arch arch); ///< "sm_90a"
std::vector<std::string> names(const std::vector<Arch> &arches);

/// Whether names with this suffix exist for the number: 'a' from sm_90 on, and 'f' from sm_100 on (CUDA C++
/// Programming Guide, "Feature Availability").
bool has_suffix(int number, char suffix);

std::string_view name(Feature feature);                   ///< "cp_async"
std::optional<Feature> feature_of(std::string_view name); ///< the feature with this name; none: there is none

} // namespace nestsmith
