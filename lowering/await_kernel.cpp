#include "lowering/hazards.h"
#include "lowering/unit.h"

#include <algorithm>
#include <functional>

namespace nestsmith::kernel {

namespace {

bool has(const std::vector<Buffer> &list, const Buffer &buffer) {
  return std::ranges::find(list, buffer) != list.end();
}

/// The parameters as the hazards with the kernel before; those of `only`, if it is not empty.
std::vector<Hazard> hazards_of(const Kernel &kernel, const std::vector<Buffer> &only = {}) {
  const OfProgram of_program(kernel);
  const UsedParameters parameters = used_parameters(kernel.body);
  std::vector<Hazard> hazards;
  auto add_all = [&](const std::vector<Buffer> &buffers, Hazard::Kind kind) {
    for (const Buffer &buffer : buffers)
      if (only.empty() || has(only, buffer))
        add_hazards(hazards, {{kind, of_program(buffer)}});
  };
  add_all(parameters.read, Hazard::Kind::read_after_write);
  add_all(parameters.written, Hazard::Kind::write_after_write);
  return hazards;
}

/// The parameters of the kernel that the one before accesses, too, and that one of the two writes.
std::vector<Buffer> common_parameters(const Kernel &before, const Kernel &kernel) {
  const OfProgram of_before(before), of_kernel(kernel);
  auto of_program = [](const OfProgram &of, std::vector<Buffer> buffers) {
    for (Buffer &buffer : buffers)
      buffer = of(buffer);
    return buffers;
  };
  const UsedParameters earlier = used_parameters(before.body), own = used_parameters(kernel.body);
  const std::vector<Buffer> read = of_program(of_before, earlier.read),
                            written = of_program(of_before, earlier.written);
  std::vector<Buffer> common;
  auto add = [&](const Buffer &buffer) {
    if (!has(common, buffer))
      common.push_back(buffer);
  };
  for (const Buffer &buffer : own.read)
    if (has(written, of_kernel(buffer)))
      add(buffer);
  for (const Buffer &buffer : own.written)
    if (has(written, of_kernel(buffer)) || has(read, of_kernel(buffer)))
      add(buffer);
  return common;
}

/// The statement with `await` before the first access to one of the parameters, in the nest and in the role
/// that accesses them.
Stmt with_await(const Stmt &stmt, const std::vector<Buffer> &buffers, const Stmt &await) {
  using Kind = Purpose::Kind;
  auto inside = [&](const Stmt &part) { return with_await(part, buffers, await); };
  if (const auto *seq = as<Seq>(stmt)) {
    std::vector<Stmt> stmts = seq->stmts;
    auto uses = [&](const Stmt &child) { return uses_any(child, buffers); };
    auto first = std::ranges::find_if(stmts, uses);
    if (std::ranges::count_if(stmts, uses) == 1)
      *first = inside(*first);
    else
      stmts.insert(first, await);
    return make_seq(std::move(stmts));
  }
  if (const auto *branch = as<If>(stmt);
      branch && (branch->purpose.kind == Kind::first_nest || branch->purpose.kind == Kind::role)) {
    If changed = *branch;
    for (Stmt *side : {&changed.body, &changed.otherwise})
      if (*side && uses_any(*side, buffers))
        *side = inside(*side);
    return make(std::move(changed), stmt->origin);
  }
  return make_seq({await, stmt});
}

/// Whether threads access global memory before they await, or do not await.
bool works_before_await(const Stmt &stmt, bool &awaits) {
  if (awaits || as<AwaitKernel>(stmt)) {
    awaits = true;
    return false;
  }
  auto works = [&](const Stmt &child) { return works_before_await(child, awaits); };
  return visit(stmt, Overloaded{[&](const Seq &seq) { return std::ranges::any_of(seq.stmts, works); },
                                [&](const Loop &loop) { return works(loop.body); },
                                [&](const If &branch) {
                                  bool other = awaits; // of other threads, or of another block
                                  return works(branch.body) ||
                                         (branch.otherwise && works_before_await(branch.otherwise, other));
                                },
                                [&](const auto &) {
                                  const UsedParameters used = used_parameters(stmt);
                                  return !used.read.empty() || !used.written.empty();
                                }});
}

} // namespace

void await_kernel(std::vector<Unit> &units) {
  for (std::size_t n = 0; n < units.size(); ++n) {
    Kernel &kernel = units[n].kernel();
    if (!kernel.launches_early)
      continue;
    // Of a kernel that awaits only a part of the accesses, thread blocks may end that do not await.
    const Kernel *before = n > 0 && units[n - 1].kernel().awaited.empty() ? &units[n - 1].kernel() : nullptr;
    if (before) {
      const std::vector<Buffer> common = common_parameters(*before, kernel);
      const Stmt body = common.empty()
                            ? nullptr
                            : with_await(kernel.body, common, make(AwaitKernel{hazards_of(kernel, common)}));
      if (bool awaits = false; body && works_before_await(body, awaits)) {
        kernel.awaited = common;
        kernel.body = body;
        continue;
      }
    }
    kernel.body = make_seq({make(AwaitKernel{hazards_of(kernel)}), kernel.body});
  }
}

} // namespace nestsmith::kernel
