#include "lowering/warp_buffers.h"

#include "dsl/expr/axis.h"
#include "dsl/expr/simplify.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

namespace nestsmith::kernel {

namespace {

/// A part of an index that depends on the warp only: `index[dimension] // div % extent` in each warp.
struct WarpDigit {
  std::size_t dimension;
  std::int64_t div, extent;
  std::vector<std::int64_t> values; ///< one for each warp
  auto operator<=>(const WarpDigit &) const = default;
};
using WarpDigits = std::set<WarpDigit>;

class WarpAccesses {
public:
  explicit WarpAccesses(const Kernel &kernel) : kernel_(kernel), warps_(kernel.threads() / lanes_per_warp) {
    std::size_t axes = 0;
    for (const ThreadIndex &index : kernel.indices)
      if (is_thread(index.axis)) {
        ++axes;
        thread_ = index.axis == Axis::thread_x ? index.var : thread_;
      }
    if (axes != 1) // the other axes are digits of the number of a thread, too
      thread_ = nullptr;
  }

  std::set<Buffer> of_single_warps() {
    bool whole = kernel_.threads() % lanes_per_warp == 0;
    std::set<Buffer> result;
    for (const Allocation &allocation : kernel_.shared)
      if (whole && warps_ > 1 && thread_)
        result.insert(allocation.buffer);
    if (result.empty())
      return result;
    bounds_ = bounds_of(kernel_);
    walk(kernel_.body, [&](const Stmt &stmt) { note(stmt); });
    std::erase_if(result, [&](const Buffer &buffer) { return !identify_the_warp(common_[buffer]); });
    return result;
  }

private:
  void note(const Stmt &stmt) {
    if (const auto *declare = as<Declare>(stmt))
      definitions_[declare->var] = substitute(declare->value, definitions_);
    each_expr(stmt, [&](const Expr &e) {
      walk(e, [&](const Expr &node) {
        if (const auto *access = node.as<Load>())
          note(access->buffer, access->indices);
      });
    });
    if (const auto *store = as<Store>(stmt))
      note(store->buffer, store->indices);
    if (const auto *copy = as<BulkCopy>(stmt); copy && copy->stores())
      note_box(*copy);
  }

  /// A digit of the first element is that of all elements of the box if they are consecutive below the digit.
  void note_box(const BulkCopy &copy) {
    note(copy.tile, copy.indices);
    auto known = common_.find(copy.tile);
    if (known == common_.end())
      return;
    std::int64_t elements = 1;
    for (std::int64_t extent : kernel_.maps[copy.map].box)
      elements *= extent;
    std::erase_if(known->second, [&](const WarpDigit &digit) {
      std::int64_t step = digit.div;
      for (std::size_t d = digit.dimension + 1; d < copy.tile->shape.size(); ++d)
        step *= as_int(copy.tile->shape[d]).value_or(0);
      return step < elements;
    });
  }

  void note(const Buffer &buffer, const std::vector<Expr> &indices) {
    if (buffer->scope != Scope::shared)
      return;
    auto before = common_.find(buffer);
    if (before != common_.end() && before->second.empty())
      return;
    WarpDigits digits;
    for (std::size_t d = 0; d < indices.size(); ++d)
      add_digits(linearize(substitute(indices[d], definitions_), bounds_), d, digits);
    auto [known, first] = common_.try_emplace(buffer, digits);
    if (!first)
      std::erase_if(known->second, [&](const WarpDigit &digit) { return !digits.contains(digit); });
  }

  /// Adds the terms of an index whose digit depends on the warp only, if no other term overlaps the digit.
  void add_digits(const Linear &index, std::size_t dimension, WarpDigits &digits) const {
    for (const Term &term : index.terms) {
      const Var *base = term.digit.base.as<Var>();
      if (!base || *base != thread_ || term.digit.div % lanes_per_warp != 0 || term.coefficient <= 0)
        continue;
      std::int64_t extent = (kernel_.threads() - 1) / term.digit.div + 1;
      if (term.digit.mod != 0)
        extent = std::min(extent, term.digit.mod);
      if (!stands_alone(index, term, extent))
        continue;
      std::vector<std::int64_t> values;
      for (std::int64_t warp = 0; warp < warps_; ++warp)
        values.push_back(warp * lanes_per_warp / term.digit.div % extent);
      digits.insert({dimension, term.coefficient, extent, std::move(values)});
    }
  }

  /// Whether the other terms are multiples of coefficient*extent, or have a sum in [0, coefficient).
  bool stands_alone(const Linear &index, const Term &term, std::int64_t extent) const {
    Linear below{{}, index.constant};
    for (const Term &other : index.terms)
      if (&other != &term && other.coefficient % (term.coefficient * extent) != 0)
        below.terms.push_back(other);
    auto range = range_of(below, bounds_);
    return range && range->low >= 0 && range->high < term.coefficient;
  }

  bool identify_the_warp(const WarpDigits &digits) const {
    std::set<std::vector<std::int64_t>> warps;
    for (std::size_t warp = 0; warp < static_cast<std::size_t>(warps_); ++warp) {
      std::vector<std::int64_t> values;
      for (const WarpDigit &digit : digits)
        values.push_back(digit.values[warp]);
      warps.insert(std::move(values));
    }
    return warps.size() == static_cast<std::size_t>(warps_);
  }

  const Kernel &kernel_;
  Bounds bounds_;
  std::int64_t warps_;
  Var thread_; ///< the only index of threads; null if there are several
  std::map<Var, Expr> definitions_;
  std::map<Buffer, WarpDigits> common_; ///< to all accesses of the buffer
};

} // namespace

std::set<Buffer> buffers_of_single_warps(const Kernel &kernel) {
  return WarpAccesses(kernel).of_single_warps();
}

} // namespace nestsmith::kernel
