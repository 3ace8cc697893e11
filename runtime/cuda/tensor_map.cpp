#include "runtime/cuda/tensor_map.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace nestsmith::cuda {

static MapElement element_of(int bytes) {
  return bytes == 1   ? MapElement::u8
         : bytes == 2 ? MapElement::u16
         : bytes == 4 ? MapElement::u32
                      : MapElement::u64;
}

static MapSwizzle swizzle_of(int bytes) {
  return bytes == 0    ? MapSwizzle::none
         : bytes == 32 ? MapSwizzle::bytes_32
         : bytes == 64 ? MapSwizzle::bytes_64
                       : MapSwizzle::bytes_128;
}

TensorMap encode(const Device &device, const ArrayMap &map, Address address) {
  constexpr std::uint32_t each[] = {1, 1, 1, 1, 1}; // all elements, and not every second one
  TensorMap encoded{};
  const Result result = device.functions().tensor_map_encode_tiled(
      &encoded, static_cast<int>(element_of(map.element_bytes)), static_cast<unsigned>(map.box.size()),
      reinterpret_cast<void *>(address), map.extents.data(), map.strides.data(), map.box.data(), each, 0,
      static_cast<int>(swizzle_of(map.swizzle)), static_cast<int>(MapPromotion::bytes_128), 0);
  if (result != 0)
    device.check(result,
                 fmt::format("cannot describe {} with the extents {} and the strides {} for bulk copies of {}",
                             map.array, fmt::join(map.extents, ", "), fmt::join(map.strides, ", "),
                             fmt::join(map.box, " x ")));
  return encoded;
}

} // namespace nestsmith::cuda
