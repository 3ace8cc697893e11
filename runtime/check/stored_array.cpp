#include "runtime/check/stored_array.h"

#include "dsl/expr/error.h"
#include "dsl/ir/access_limits.h"
#include "dsl/ir/specialise.h"
#include "dsl/ir/workload_info.h"

#include <algorithm>
#include <cstring>

namespace nestsmith {

namespace {

/// The least value of a size that fits the values of the other sizes.
std::int64_t least_size(const Program &source, const Var &size, const std::vector<AccessLimit> &limits,
                        Specialiser &values, std::int64_t gap) {
  auto value = [&](const Expr &e) { return as_int(values(e)).value(); };
  std::int64_t least = size->size->min, unit = size->size->multiple_of;
  for (const Buffer &param : source.params)
    if (param->strides && uses((*param->strides)[param->shape.size() - 2], size))
      least = std::max(least, value(param->shape.back()) + gap);
  for (const AccessLimit &limit : limits)
    if (same(limit.value, Expr(size)))
      least = std::max(least, value(limit.least));
  return (least + unit - 1) / unit * unit;
}

} // namespace

std::vector<std::int64_t> sizes_for(const Program &source, std::span<const std::int64_t> extents,
                                    std::int64_t gap) {
  internal_check(extents.size() <= source.sizes.size(), "a program has fewer sizes than extents");
  std::vector<std::int64_t> values(extents.begin(), extents.end());
  values.resize(source.sizes.size());
  std::size_t others = values.size() - extents.size();
  if (others == 0)
    return values;
  std::vector<AccessLimit> limits = access_limits(source);
  Specialiser specialiser;
  for (std::size_t n = 0; n < values.size(); ++n) {
    if (n >= extents.size())
      values[n] = std::max(source.sizes[n]->size->min, source.sizes[n]->size->usual);
    specialiser.set(source.sizes[n], values[n]);
  }
  // A size may be an extent that another size follows, so repeat this for the longest chain of sizes.
  for (std::size_t round = 0; round < others; ++round)
    for (std::size_t n = extents.size(); n < values.size(); ++n) {
      values[n] = std::max(values[n], least_size(source, source.sizes[n], limits, specialiser, gap));
      specialiser.set(source.sizes[n], values[n]);
    }
  return values;
}

StoredArray::StoredArray(const Buffer &buffer) : dtype_(buffer->dtype), shape_(constant_shape(buffer)) {
  for (const Expr &stride : strides_of(*buffer))
    strides_.push_back(as_int(stride).value());
  for (std::size_t d = 0; d < shape_.size(); ++d) {
    elements_ *= shape_[d];
    span_ += (shape_[d] - 1) * strides_[d];
  }
}

template <class F> void StoredArray::for_each_row(const F &f) const {
  std::int64_t length = shape_.empty() ? 1 : shape_.back();
  for (std::int64_t first = 0; first < elements_; first += length) {
    std::int64_t place = 0, row = first / length;
    for (std::size_t d = shape_.size(); d-- > 1; row /= shape_[d - 1])
      place += row % shape_[d - 1] * strides_[d - 1];
    f(first, place, length);
  }
}

Array StoredArray::spread(const Array &array, std::uint32_t filler) const {
  if (!has_gaps())
    return array;
  Array memory(dtype_, {span_});
  for (std::size_t byte = 0; byte < memory.bytes(); ++byte)
    memory.data()[byte] = static_cast<std::byte>(filler >> (8 * (byte % 4)) & 0xFF);
  auto width = static_cast<std::size_t>(byte_size(dtype_));
  for_each_row([&](std::int64_t first, std::int64_t place, std::int64_t length) {
    std::memcpy(memory.data() + static_cast<std::size_t>(place) * width,
                array.data() + static_cast<std::size_t>(first) * width,
                static_cast<std::size_t>(length) * width);
  });
  return memory;
}

Array StoredArray::gather(const Array &memory) const {
  if (!has_gaps())
    return memory;
  Array array(dtype_, shape_);
  auto width = static_cast<std::size_t>(byte_size(dtype_));
  for_each_row([&](std::int64_t first, std::int64_t place, std::int64_t length) {
    std::memcpy(array.data() + static_cast<std::size_t>(first) * width,
                memory.data() + static_cast<std::size_t>(place) * width,
                static_cast<std::size_t>(length) * width);
  });
  return array;
}

bool StoredArray::is_element(std::int64_t offset) const {
  for (std::size_t d = 0; d < shape_.size(); ++d) {
    std::int64_t index = offset / strides_[d];
    if (index >= shape_[d])
      return false;
    offset -= index * strides_[d];
  }
  return offset == 0;
}

} // namespace nestsmith
