/// Bugs in atomic operations.

#include "tests/mutation/catalogue.h"

namespace nestsmith::mutation {

using kernel::Kernel;
using kernel::Stmt;
using kernel::Store;

namespace {

/// Returns a bug that replaces an atomic operation by `change` of it.
template <class F> auto on_atomics(F change) {
  return [change](Kernel &kernel, Chooser &chooser) {
    on_stmts(kernel, chooser, [&](const Stmt &stmt) {
      const auto *store = kernel::as<Store>(stmt);
      return store && store->atomic ? std::vector{change(*store)} : std::vector<Stmt>{};
    });
  };
}

Stmt load_and_store(const Store &atomic) {
  Store copy = atomic;
  copy.value = combine(*atomic.atomic, load(atomic.buffer, atomic.indices), atomic.value);
  copy.atomic.reset();
  return kernel::make(std::move(copy));
}

Stmt only_store(const Store &atomic) {
  Store copy = atomic;
  copy.atomic.reset();
  return kernel::make(std::move(copy));
}

Stmt twice(const Store &atomic) { return kernel::make_seq({kernel::make(atomic), kernel::make(atomic)}); }

} // namespace

std::vector<Kind> atomic_kinds() {
  using namespace errors;
  return {
      {"atomics",
       "not_atomic",
       "an atomic operation is a load and a store",
       {race},
       on_atomics(load_and_store)},
      {"atomics", "stored", "the term is stored", {race, wrong_value}, on_atomics(only_store)},
      {"atomics", "repeated", "an atomic operation is executed twice", {wrong_value}, on_atomics(twice)},
  };
}

} // namespace nestsmith::mutation
