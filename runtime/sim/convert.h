#pragma once
/// What a cast between numbers means: integers keep their low bits, a float goes to the nearest integer
/// towards zero within range (NaN to 0), an integer to the nearest float.

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace nestsmith::sim {

template <class To, class From> constexpr To convert(From value) {
  if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    using Limits = std::numeric_limits<To>;
    if (std::isnan(value))
      return 0;
    // The first float past the range: 2^31, 2^32 or 2^63, each exact.
    const From end = static_cast<From>(std::uint64_t{1} << (Limits::digits - 1)) * From{2};
    if (value >= end)
      return Limits::max();
    return value <= static_cast<From>(Limits::min()) ? Limits::min() : static_cast<To>(value);
  } else {
    return static_cast<To>(value);
  }
}

} // namespace nestsmith::sim
