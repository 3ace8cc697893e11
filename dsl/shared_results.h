#pragma once
/// Recursions over expressions that go through a shared node once.

#include "dsl/expr.h"

#include <unordered_map>
#include <utility>

namespace nestsmith {

/// The results of one recursion for the nodes that it may meet again. A result depends only on the node. The
/// nodes are kept, so that no other takes the address of one.
template <class Result> class SharedResults {
public:
  /// The result for `e`, which `make()` gives the first time.
  template <class Make> Result operator()(const Expr &e, const Make &make) {
    if (!e.may_recur())
      return make();
    if (auto known = known_.find(e.get()); known != known_.end())
      return known->second.second;
    Result result = make();
    known_.emplace(e.get(), std::pair(e, result));
    return result;
  }

private:
  std::unordered_map<const ExprNode *, std::pair<Expr, Result>> known_;
};

} // namespace nestsmith
