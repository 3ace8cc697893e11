#include "runtime/check/launch_sizes.h"

#include "dsl/ir/specialise.h"
#include "runtime/check/stored_array.h"

#include <algorithm>

namespace nestsmith {

namespace {

bool all_same(const std::vector<Expr> &a, const std::vector<Expr> &b) {
  return std::ranges::equal(a, b,
                            [](const Expr &x, const Expr &y) { return as_int(x) && as_int(x) == as_int(y); });
}

bool same_parameter(const Buffer &a, const Buffer &b) {
  return a->name == b->name && a->dtype == b->dtype && a->role == b->role && all_same(a->shape, b->shape) &&
         all_same(strides_of(*a), strides_of(*b));
}

} // namespace

std::vector<NamedExtent> launch_sizes(const Program &constant, const Program &symbolic,
                                      std::span<const std::int64_t> extents) {
  if (symbolic.sizes.size() < extents.size())
    return {};
  std::vector<std::int64_t> values = sizes_for(symbolic, extents, 0);
  Program there = specialise(symbolic, values);
  if (!std::ranges::equal(constant.params, there.params, same_parameter))
    return {};
  std::vector<NamedExtent> sizes;
  for (std::size_t n = 0; n < values.size(); ++n)
    sizes.push_back({symbolic.sizes[n]->name, values[n]});
  return sizes;
}

} // namespace nestsmith
