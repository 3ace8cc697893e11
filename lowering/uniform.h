#pragma once
/// Which values are the same in all threads of a block: what may decide about a barrier.

#include "lowering/kernel.h"

#include <set>

namespace nestsmith::kernel {

/// Made of block indices, loop variables, constants and scalar parameters; what depends on a thread index or
/// on memory may differ. Declarations are made known as they are met.
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
