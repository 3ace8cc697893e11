#pragma once
/// Recursions over expressions that go through a shared node once.

#include "dsl/expr/expr.h"

#include <llvm/ADT/DenseMap.h>
#include <memory>
#include <type_traits>
#include <utility>

namespace nestsmith {

/// The results of one recursion for the nodes that it may meet again. A result depends only on the node. The
/// nodes are kept, so that no other takes the address of one. An expression of fewer than `least` nodes, and
/// without sizes, is computed again each time, because that costs less than to find its result.
template <class Result, std::uint64_t least = 0> class SharedResults {
public:
  /// The result for `e`, which `make()` gives the first time.
  template <class Make> Result operator()(const Expr &e, const Make &make) {
    if (!e.may_recur() || (e.node().size < least && !e.node().sizes))
      return make();
    if (const Result *known = find(e))
      return *known;
    Result result = make();
    if (!known_)
      known_ = std::make_unique<KnownResults>();
    known_->try_emplace(e.get(), e, result);
    return result;
  }

private:
  /// Most recursions without `least` keep only a few results, which then need no memory but that of the map.
  using KnownResults =
      std::conditional_t<least == 0, llvm::SmallDenseMap<const ExprNode *, std::pair<Expr, Result>, 8>,
                         llvm::DenseMap<const ExprNode *, std::pair<Expr, Result>>>;

  const Result *find(const Expr &e) {
    if (!known_)
      return nullptr;
    auto known = known_->find(e.get());
    return known == known_->end() ? nullptr : &known->second.second;
  }

  std::unique_ptr<KnownResults> known_; ///< null: no result is kept
};

} // namespace nestsmith
