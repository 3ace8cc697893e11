#pragma once
/// Recursions over expressions that go through a shared node once.

#include "dsl/expr.h"

#include <llvm/ADT/DenseMap.h>
#include <memory>
#include <type_traits>
#include <utility>

namespace nestsmith {

/// The results of one recursion for the nodes that it may meet again. A result depends only on the node. The
/// nodes are kept, so that no other takes the address of one. An expression of fewer than `least` nodes is
/// computed again each time, because that costs less than to find its result.
template <class Result, std::uint64_t least = 0> class SharedResults {
public:
  /// The result for `e`, which `make()` gives the first time.
  template <class Make> Result operator()(const Expr &e, const Make &make) {
    if (!e.may_recur() || e.node().size < least)
      return make();
    if (const Result *known = find(e))
      return *known;
    Result result = make();
    if constexpr (least != 0)
      if (!known_)
        known_ = std::make_unique<Large>();
    all().try_emplace(e.get(), e, result);
    return result;
  }

private:
  using Known = std::pair<Expr, Result>;
  using Small = llvm::SmallDenseMap<const ExprNode *, Known, 8>;
  using Large = llvm::DenseMap<const ExprNode *, Known>;

  auto &all() {
    if constexpr (least == 0)
      return known_;
    else
      return *known_;
  }
  const Result *find(const Expr &e) {
    if constexpr (least != 0)
      if (!known_)
        return nullptr;
    auto known = all().find(e.get());
    return known == all().end() ? nullptr : &known->second.second;
  }

  /// Without `least`, most recursions keep only a few results, which need no memory of their own here. With it,
  /// most keep none.
  std::conditional_t<least == 0, Small, std::unique_ptr<Large>> known_;
};

} // namespace nestsmith
