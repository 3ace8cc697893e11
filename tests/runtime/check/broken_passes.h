#pragma once
/// Passes and directives with a seeded error, for the tests of `find_blame`.

#include "dsl/schedule/primitives/edit.h"
#include "dsl/schedule/primitives/unroll.h"
#include "lowering/passes.h"

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

namespace nestsmith::test {

/// Returns the standard passes. The pass `name` calls `harm` at its end.
inline std::vector<Pass> with_harm(const std::string &name, const std::function<void(Unit &)> &harm) {
  std::vector<Pass> passes = standard_passes();
  for (Pass &pass : passes) {
    if (pass.name != name)
      continue;
    if (const auto *over_all = std::get_if<std::function<void(std::vector<Unit> &)>>(&pass.run))
      pass.run = [run = *over_all, harm](std::vector<Unit> &units) {
        run(units);
        std::ranges::for_each(units, harm);
      };
    else
      pass.run = [run = std::get<std::function<void(Unit &)>>(pass.run), harm](Unit &unit) {
        run(unit);
        harm(unit);
      };
  }
  return passes;
}

/// Adds one to every value that is stored to a parameter.
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

/// Rewrites the statements of type T of a kernel. A null result removes the statement.
template <class T> void rewrite_all(Unit &unit, const std::function<kernel::Stmt(const kernel::Stmt &)> &f) {
  std::function<kernel::Stmt(const kernel::Stmt &)> go = [&](const kernel::Stmt &stmt) {
    kernel::Stmt result = kernel::map_children(stmt, go);
    return result && kernel::as<T>(result) ? f(result) : result;
  };
  unit.kernel().body = go(unit.kernel().body);
}

/// A directive that changes the result. It records itself as unroll(loop), and adds one to the values that
/// are stored to parameters.
inline void broken_unroll(Schedule &s, Loop loop) {
  Schedule::Edit edit(s, {}, primitives::unroll, loop);
  edit.commit(one_more(edit.body()));
}

} // namespace nestsmith::test
