#pragma once
/// Sizes and offsets of arrays in the arena, the shared memory of a thread block (lowering/kernel.h).

#include "lowering/kernel.h"

#include <cstdint>

namespace nestsmith::kernel {

/// The size of the array; 0 if the number of its elements is no constant.
inline std::int64_t bytes_of(const Allocation &array) {
  std::int64_t bytes = byte_size(array.buffer->dtype);
  for (const Expr &extent : array.buffer->shape)
    bytes *= as_int(extent).value_or(0);
  return bytes;
}

/// The least multiple of `unit` that is not below the offset.
inline std::int64_t rounded_up(std::int64_t offset, std::int64_t unit) {
  return (offset + unit - 1) / unit * unit;
}

} // namespace nestsmith::kernel
