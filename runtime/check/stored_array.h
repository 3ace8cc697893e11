#pragma once
/// Arrays in the storage format of the caller, in which there may be gaps between rows.

#include "dsl/ir/array.h"
#include "dsl/ir/program.h"

#include <cstdint>
#include <span>
#include <vector>

namespace nestsmith {

/// The values of all sizes of a computation without directives. The extents, which come first, are given. Every
/// other size is the smallest multiple of `Size::multiple_of` that is at least `Size::min` and `Size::usual`,
/// at least the row length + `gap` if it is a leading dimension, and at least what the reads need
/// (dsl/ir/access_limits.h).
std::vector<std::int64_t> sizes_for(const Program &source, std::span<const std::int64_t> extents,
                                    std::int64_t gap);

/// The storage of a parameter of constant shape. If the parameter has no leading dimension, its rows have no
/// gaps.
class StoredArray {
public:
  explicit StoredArray(const Buffer &buffer);

  bool has_gaps() const { return span_ > elements_; }
  /// The array in storage format, with `filler` in every word between the rows.
  Array spread(const Array &array, std::uint32_t filler) const;
  /// The elements of an array in storage format.
  Array gather(const Array &memory) const;
  /// Whether an element is stored at this offset.
  bool is_element(std::int64_t offset) const;

private:
  /// Calls f(index of the first element of a row, its offset, length of the row) for each row.
  template <class F> void for_each_row(const F &f) const;

  DType dtype_;
  std::vector<std::int64_t> shape_, strides_;
  std::int64_t elements_ = 1, span_ = 1;
};

} // namespace nestsmith
