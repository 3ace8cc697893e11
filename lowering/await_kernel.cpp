#include "lowering/hazards.h"
#include "lowering/unit.h"

namespace nestsmith::kernel {

namespace {

/// The parameters that a kernel reads and writes, each as the hazard with the kernel before it.
std::vector<Hazard> hazards_of(const Kernel &kernel) {
  const OfProgram of_program(kernel);
  std::vector<Hazard> hazards;
  auto add = [&](const Buffer &buffer, Hazard::Kind kind) {
    if (buffer && buffer->scope == Scope::global)
      add_hazards(hazards, {{kind, of_program(buffer)}});
  };
  walk_exprs(kernel.body, [&](const Expr &e) {
    if (const auto *access = e.as<Load>())
      add(access->buffer, Hazard::Kind::read_after_write);
  });
  walk(kernel.body, [&](const Stmt &stmt) {
    if (const auto *copy = as<BulkCopy>(stmt); copy && !copy->stores())
      add(copy->array, Hazard::Kind::read_after_write);
    if (const auto *sync = as<Sync>(stmt))
      add(sync->updates(), Hazard::Kind::write_after_write);
    add(written_by(stmt), Hazard::Kind::write_after_write);
  });
  return hazards;
}

} // namespace

void await_kernel(Unit &unit) {
  Kernel &kernel = unit.kernel();
  if (kernel.launches_early)
    kernel.body = make_seq({make(AwaitKernel{hazards_of(kernel)}), kernel.body});
}

} // namespace nestsmith::kernel
