#pragma once
/// The tensor maps of bulk copies, for launches by the driver.

#include "runtime/cuda/driver.h"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace nestsmith::cuda {

/// An array and its boxes, without its address. The last dimension is the first entry.
struct ArrayMap {
  std::string array;                  ///< its name, for errors
  int element_bytes = 0;              ///< 1, 2, 4 or 8
  std::vector<std::uint64_t> extents; ///< of the array
  std::vector<std::uint64_t> strides; ///< in bytes, without that of the last dimension
  std::vector<std::uint32_t> box;
  int swizzle = 0; ///< bytes of a row: 0, 32, 64 or 128
};

/// The parameter of a kernel (CUtensorMap).
struct alignas(64) TensorMap {
  std::array<std::uint64_t, 16> words;
};

/// Throws UserError (no_device) if the driver refuses the map.
TensorMap encode(const Device &device, const ArrayMap &map, Address address);

} // namespace nestsmith::cuda
