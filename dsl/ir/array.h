#pragma once
/// Host values: scalars and dense row-major arrays.

#include "dsl/expr/dtype.h"

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace nestsmith {

/// One value of any dtype, stored as its bits, zero-extended to 64.
struct Scalar {
  DType dtype = DType::i64;
  std::uint64_t bits = 0;

  template <class T> T as() const {
    T value;
    std::memcpy(&value, &bits, sizeof(T));
    return value;
  }
  template <class T> static Scalar of(DType dtype, T value) {
    Scalar s{dtype, 0};
    std::memcpy(&s.bits, &value, sizeof(T));
    return s;
  }
  /// Converts `value` to `dtype`, rounded to nearest; u8, u16 and u32 wrap around.
  static Scalar from_double(DType dtype, double value);
  double to_double() const;
  /// Converts by the rules of dsl/expr/numbers.h.
  Scalar to(DType target) const;
  bool operator==(const Scalar &) const = default;
};

/// A dense row-major array. The constructor zeroes its elements.
class Array {
public:
  Array() = default;
  Array(DType dtype, std::vector<std::int64_t> shape);

  DType dtype() const { return dtype_; }
  const std::vector<std::int64_t> &shape() const { return shape_; }
  std::int64_t size() const { return size_; } ///< elements
  std::size_t bytes() const { return data_.size(); }
  std::byte *data() { return data_.data(); }
  const std::byte *data() const { return data_.data(); }

  /// The elements in row-major order. An assertion checks that T has the size of the dtype.
  template <class T> std::span<T> view() {
    assert(sizeof(T) == static_cast<std::size_t>(byte_size(dtype_)));
    return {reinterpret_cast<T *>(data_.data()), static_cast<std::size_t>(size_)};
  }
  template <class T> std::span<const T> view() const {
    assert(sizeof(T) == static_cast<std::size_t>(byte_size(dtype_)));
    return {reinterpret_cast<const T *>(data_.data()), static_cast<std::size_t>(size_)};
  }
  /// Element `i` in row-major order. The index is not checked. The value that is passed to `set` must have the
  /// dtype of the array.
  Scalar at(std::int64_t i) const;
  void set(std::int64_t i, Scalar value);
  bool operator==(const Array &) const = default; ///< compares dtype, shape and bits

private:
  DType dtype_ = DType::f32;
  std::vector<std::int64_t> shape_;
  std::int64_t size_ = 0;
  std::vector<std::byte> data_;
};

} // namespace nestsmith
