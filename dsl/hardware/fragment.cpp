#include "dsl/hardware/fragment.h"

#include "dsl/expr/axis.h"
#include "dsl/expr/error.h"
#include "dsl/expr/expr_text.h"
#include "dsl/hardware/vector_access.h"

#include <algorithm>
#include <fmt/format.h>

namespace nestsmith {

FragmentLayout::FragmentLayout(const BufferNode &buffer, const std::vector<std::int64_t> &box)
    : map_(buffer.layout.get()->map.value()), box_(box) {
  std::size_t rank = box.size();
  internal_check(map_.logical().size() == rank || map_.logical().size() == rank + 1,
                 "a fragment layout of another rank");
  for (std::size_t d = 0; d < rank; ++d)
    bounds_.set(map_.logical()[d], {0, box[d] - 1});
  if (map_.logical().size() == rank)
    return;
  const Var &replica = map_.logical().back();
  Bounds first = bounds_;
  first.set(replica, {0, 0});
  auto lanes = range_of(map_.physical()[0], first);
  Linear lane = linearize(map_.physical()[0], {});
  for (const Term &term : lane.terms)
    if (const Var *var = term.digit.base.as<Var>(); var && *var == replica && term.digit.div == 1)
      replica_step_ = term.coefficient;
  if (lanes && lanes->high < lanes_per_warp && replica_step_ > 0)
    replicas_ = (lanes_per_warp - 1 - lanes->high) / replica_step_ + 1;
  bounds_.set(replica, {0, replicas_ - 1});
}

std::optional<std::string> FragmentLayout::breach() const {
  const Expr &lane = map_.physical()[0];
  auto lanes = range_of(lane, bounds_);
  if (!lanes || lanes->low < 0 || lanes->high >= lanes_per_warp)
    return fmt::format("its first index {} is the lane, and reaches {}, expected 0 to {}", to_string(lane),
                       lanes ? std::to_string(lanes->low < 0 ? lanes->low : lanes->high) : "unknown values",
                       lanes_per_warp - 1);
  std::vector<std::int64_t> extents = box_;
  if (map_.logical().size() > box_.size()) {
    const Var &replica = map_.logical().back();
    for (std::size_t d = 1; d < map_.physical().size(); ++d)
      if (uses(map_.physical()[d], replica))
        return fmt::format("the replica {} changes the register {}, but it may change the lane only",
                           replica->name, to_string(map_.physical()[d]));
    if (replica_step_ <= 0)
      return fmt::format("the replica {} is not a term of the lane {}", replica->name, to_string(lane));
    extents.push_back(replicas_);
  }
  return not_invertible(map_, extents);
}

Expr FragmentLayout::lane(const std::vector<Expr> &indices, const Expr &replica) const {
  std::vector<Expr> logical = indices;
  if (map_.logical().size() > box_.size())
    logical.push_back(replica);
  return map_(logical)[0];
}

/// The lanes of the replicas are first, first + step, …, so the distance from the first decides.
bool FragmentLayout::holds(const Expr &lane, const std::vector<Expr> &indices, const Bounds &bounds) const {
  Expr distance = simplify(lane - this->lane(indices, Expr(0)), bounds);
  if (replicas_ == 1)
    return as_int(distance) == 0;
  auto range = range_of(distance, bounds);
  return range && range->low >= 0 && range->high < replicas_ * replica_step_ &&
         is_multiple(distance, replica_step_, bounds);
}

} // namespace nestsmith
