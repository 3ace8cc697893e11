#pragma once
/// Uniformity analysis: values that are equal in all threads of a block. Only such values may control a
/// barrier.

#include "lowering/kernel.h"

#include <set>

namespace nestsmith::kernel {

/// A value is uniform if it consists of block indices, loop variables, constants, sizes and scalar parameters.
/// A value that depends on a thread index or on memory can differ between threads. Callers pass each
/// declaration to `declare` in program order.
class UniformValues {
public:
  explicit UniformValues(const Kernel &kernel) {
    for (const ThreadIndex &index : kernel.indices)
      if (is_thread(index.axis))
        divergent_.insert(index.var);
  }

  void declare(const Declare &declare) {
    if (!uniform(declare.value))
      divergent_.insert(declare.var);
  }

  bool uniform(const Expr &e) const {
    bool result = true;
    walk(e, [&](const Expr &node) {
      const Var *var = node.as<Var>();
      result = result && !node.as<Load>() && !(var && divergent_.count(*var));
    });
    return result;
  }

private:
  std::set<Var> divergent_;
};

} // namespace nestsmith::kernel
