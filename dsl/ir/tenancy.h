#pragma once
/// Shared arrays in the memory of other shared arrays (dsl/hardware/shared_plan.h decides which).

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace nestsmith {

/// A part of the memory of another array.
struct Tenancy {
  std::size_t host = 0;   ///< number of this array, which has memory of its own, in the list of shared arrays
  std::int64_t at = 0;    ///< first byte in the memory of the host: a multiple of `shared_alignment`
  std::int64_t bytes = 0; ///< size of the part
  bool operator==(const Tenancy &) const = default;
};

/// Whether two arrays of a list have bytes in common. `tenancies` has one entry for each array; none: the array
/// has memory of its own.
bool share_memory(const std::vector<std::optional<Tenancy>> &tenancies, std::size_t a, std::size_t b);

} // namespace nestsmith
