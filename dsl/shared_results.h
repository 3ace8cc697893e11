#pragma once
/// Recursions over expressions that go through a shared node once.

#include "dsl/expr.h"

#include <llvm/ADT/DenseMap.h>
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
    if (auto known = known_.find(e.get()); known != known_.end())
      return known->second.second;
    Result result = make();
    known_.try_emplace(e.get(), e, result);
    return result;
  }

private:
  using Known = std::pair<Expr, Result>;
  /// Without `least`, most recursions keep only a few results, which need no memory of their own here.
  std::conditional_t<least == 0, llvm::SmallDenseMap<const ExprNode *, Known, 8>,
                     llvm::DenseMap<const ExprNode *, Known>>
      known_;
};

} // namespace nestsmith
