#pragma once
/// Arrays as the caller's memory holds them: rows may lie further apart than they are long.

#include "dsl/array.h"
#include "dsl/program.h"

#include <cstdint>
#include <span>
#include <vector>

namespace nestsmith {

/// Values for all sizes of a program where its first sizes, the extents, have these. Every leading dimension
/// becomes at least `gap` larger than its rows are long, and as much of a multiple as is stated of it.
std::vector<std::int64_t> sizes_for(const Program &source, std::span<const std::int64_t> extents,
                                    std::int64_t gap);

/// How a parameter of constant shape lies in memory. Without a leading dimension nothing is between its rows.
class StoredArray {
public:
  explicit StoredArray(const Buffer &buffer);

  bool has_gaps() const { return span_ > elements_; }
  /// The memory for an array: its elements, and `gap` in every word between the rows.
  Array spread(const Array &array, std::uint32_t gap) const;
  /// The elements in memory.
  Array gather(const Array &memory) const;
  /// Whether this place in memory is an element.
  bool is_element(std::int64_t offset) const;

private:
  template <class F> void for_each_row(const F &f) const; ///< the first element's index and its place

  DType dtype_;
  std::vector<std::int64_t> shape_, strides_;
  std::int64_t elements_ = 1, span_ = 1;
};

} // namespace nestsmith
