#pragma once
/// Kernels with stores that lowering does not make, for tests of `verify_kernel`.

#include "lowering/kernel.h"
#include "lowering/verify_kernel.h"

#include <functional>
#include <string>

namespace nestsmith::test {

/// What `find_breach` says, after `change` to each store that `is_changed` selects. Empty: nothing.
template <class Predicate, class Change>
std::string breach_of_changed(const kernel::Kernel &kernel, const Predicate &is_changed, const Change &change) {
  std::function<kernel::Stmt(const kernel::Stmt &)> rewrite = [&](const kernel::Stmt &stmt) {
    const auto *store = kernel::as<kernel::Store>(stmt);
    if (!store || !is_changed(*store))
      return kernel::map_children(stmt, rewrite);
    kernel::Store copy = *store;
    change(copy);
    return kernel::make(copy);
  };
  kernel::Kernel changed = kernel;
  changed.body = rewrite(kernel.body);
  return kernel::find_breach(changed, true).value_or("");
}

} // namespace nestsmith::test
