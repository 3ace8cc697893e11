#include "dsl/array.h"

#include "dsl/error.h"

namespace nestsmith {

Scalar Scalar::from_double(DType dtype, double value) {
  switch (dtype) {
  case DType::boolean:
    return of<std::uint8_t>(dtype, value != 0);
  case DType::i32:
    return of(dtype, static_cast<std::int32_t>(value));
  case DType::i64:
    return of(dtype, static_cast<std::int64_t>(value));
  case DType::u32:
    return of(dtype, static_cast<std::uint32_t>(static_cast<std::int64_t>(value)));
  case DType::f32:
    return of(dtype, static_cast<float>(value));
  }
  internal_error("unknown dtype");
}

double Scalar::to_double() const {
  switch (dtype) {
  case DType::boolean:
    return as<std::uint8_t>();
  case DType::i32:
    return as<std::int32_t>();
  case DType::i64:
    return static_cast<double>(as<std::int64_t>());
  case DType::u32:
    return as<std::uint32_t>();
  case DType::f32:
    return as<float>();
  }
  internal_error("unknown dtype");
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
