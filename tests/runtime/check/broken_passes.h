#pragma once
/// Passes and directives with a fault put in, for tests that ask who is to blame.

#include "dsl/schedule/primitives/edit.h"
#include "dsl/schedule/primitives/unroll.h"
#include "lowering/passes.h"

#include <functional>
#include <string>
#include <vector>

namespace nestsmith::test {

/// The standard passes, where `name` does `harm` after its work.
inline std::vector<Pass> with_harm(const std::string &name, const std::function<void(Unit &)> &harm) {
  std::vector<Pass> passes = standard_passes();
  for (Pass &pass : passes)
    if (pass.name == name)
      pass.run = [run = pass.run, harm](Unit &unit) {
        run(unit);
        harm(unit);
      };
  return passes;
}

/// Every value that goes to a parameter is one too large.
inline Stmt one_more(const Stmt &stmt) {
  const auto *block = as<Block>(stmt);
  if (!block)
    return map_children(stmt, [](const Stmt &child) { return one_more(child); });
  Block copy = *block;
  if (copy.body.buffer->role != Role::temporary)
    copy.body.value = copy.body.value + constant(copy.body.value.dtype(), 1);
  return make_block(std::move(copy));
}

inline kernel::Stmt one_more(const kernel::Stmt &stmt) {
  const auto *store = kernel::as<kernel::Store>(stmt);
  if (!store)
    return kernel::map_children(stmt, [](const kernel::Stmt &child) { return one_more(child); });
  kernel::Store copy = *store;
  if (copy.buffer->role != Role::temporary)
    copy.value = copy.value + constant(copy.value.dtype(), 1);
  return kernel::make(std::move(copy));
}

inline void one_more(Unit &unit) {
  if (unit.extracted())
    unit.kernel().body = one_more(unit.kernel().body);
  else
    unit.program().body = one_more(unit.program().body);
}

/// Rewrites the statements of a kernel of kind T; null drops one.
template <class T> void rewrite_all(Unit &unit, const std::function<kernel::Stmt(const kernel::Stmt &)> &f) {
  std::function<kernel::Stmt(const kernel::Stmt &)> go = [&](const kernel::Stmt &stmt) {
    kernel::Stmt result = kernel::map_children(stmt, go);
    return result && kernel::as<T>(result) ? f(result) : result;
  };
  unit.kernel().body = go(unit.kernel().body);
}

/// A directive that changes the result: it calls itself unroll(loop), and adds one to what goes to parameters.
inline void broken_unroll(Schedule &s, Loop loop) {
  Schedule::Edit edit(s, {}, primitives::unroll, loop);
  edit.commit(one_more(edit.body()));
}

} // namespace nestsmith::test
