#include "dsl/ir/array.h"

#include "dsl/expr/error.h"
#include "dsl/expr/numbers.h"

namespace nestsmith {

Scalar Scalar::from_double(DType dtype, double value) {
  if (dtype == DType::boolean)
    return of<std::uint8_t>(dtype, value != 0);
  // Unsigned integers of 32 bits and fewer wrap around.
  bool wraps = dtype == DType::u8 || dtype == DType::u16 || dtype == DType::u32;
  return with_number(dtype, [&]<class T>() {
    return wraps ? of(dtype, convert<T>(convert<std::int64_t>(value))) : of(dtype, convert<T>(value));
  });
}

double Scalar::to_double() const {
  if (dtype == DType::boolean)
    return as<std::uint8_t>();
  return with_number(dtype, [&]<class T>() { return convert<double>(as<T>()); });
}

Scalar Scalar::to(DType target) const {
  if (dtype == DType::boolean)
    return from_double(target, as<std::uint8_t>());
  return with_number(dtype, [&]<class From>() {
    if (target == DType::boolean)
      return of<std::uint8_t>(target, to_double() != 0);
    return with_number(target, [&]<class To>() { return of(target, convert<To>(as<From>())); });
  });
}

Array::Array(DType dtype, std::vector<std::int64_t> shape) : dtype_(dtype), shape_(std::move(shape)), size_(1) {
  for (std::int64_t extent : shape_)
    size_ *= extent;
  data_.resize(static_cast<std::size_t>(size_) * static_cast<std::size_t>(byte_size(dtype)));
}

Scalar Array::at(std::int64_t i) const {
  auto width = static_cast<std::size_t>(byte_size(dtype_));
  Scalar value{dtype_, 0};
  std::memcpy(&value.bits, data_.data() + static_cast<std::size_t>(i) * width, width);
  return value;
}

void Array::set(std::int64_t i, Scalar value) {
  internal_check(value.dtype == dtype_, "a value of another dtype is stored into an array");
  auto width = static_cast<std::size_t>(byte_size(dtype_));
  std::memcpy(data_.data() + static_cast<std::size_t>(i) * width, &value.bits, width);
}

} // namespace nestsmith
