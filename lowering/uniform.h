#pragma once
/// Uniformity analysis: values that are equal in all threads of a block, or in all lanes of a warp. Only such
/// values may control a barrier, or a call of a warp.

#include "lowering/kernel.h"

#include <optional>
#include <set>

namespace nestsmith::kernel {

/// A value is uniform if it consists of block indices, loop variables, constants, sizes and scalar parameters.
/// A value that depends on a thread index or on memory can differ between threads. For the lanes of a warp, the
/// index of the warp, threadIdx.x // 32, is uniform too. Callers pass each declaration to `declare` in program
/// order.
class UniformValues {
public:
  explicit UniformValues(const Kernel &kernel, SyncScope scope = SyncScope::block) {
    for (const ThreadIndex &index : kernel.indices) {
      if (is_thread(index.axis))
        divergent_.insert(index.var);
      if (scope == SyncScope::warp && index.axis == Axis::thread_x)
        thread_ = index.var;
    }
  }

  void declare(const Declare &declare) {
    if (!uniform(declare.value))
      divergent_.insert(declare.var);
  }

  bool uniform(const Expr &e) const {
    bool result = true;
    walk(thread_ ? without_warp_index(e) : e, [&](const Expr &node) {
      const Var *var = node.as<Var>();
      result = result && !node.as<Load>() && !(var && divergent_.count(*var));
    });
    return result;
  }

private:
  Expr without_warp_index(const Expr &e) const {
    return rebuild(e, [&](const Expr &node) {
      const auto *quotient = node.as<Binary>();
      bool is_warp = quotient && quotient->op == BinaryOp::floordiv && quotient->a.as<Var>() &&
                     *quotient->a.as<Var>() == *thread_ &&
                     as_int(quotient->b).value_or(1) % lanes_per_warp == 0;
      return is_warp ? Expr(0) : node;
    });
  }

  std::set<Var> divergent_;
  std::optional<Var> thread_; ///< threadIdx.x, if the scope is a warp
};

} // namespace nestsmith::kernel
