#include "codegen/locals.h"

namespace nestsmith {

namespace {

/// The accesses of the statement itself, without nested statements.
bool reads_directly(const kernel::Stmt &stmt, const Buffer &buffer) {
  bool found = false;
  kernel::each_expr(stmt, [&](const Expr &e) {
    found = found || any_node(e, [&](const Expr &node) {
              const Load *load = node.as<Load>();
              return load && load->buffer == buffer;
            });
  });
  return found;
}

bool accesses(const kernel::Stmt &stmt, const Buffer &buffer) {
  bool found = false;
  kernel::walk(stmt, [&](const kernel::Stmt &sub) {
    const kernel::Store *store = kernel::as<kernel::Store>(sub);
    found |= (store && store->buffer == buffer) || reads_directly(sub, buffer);
  });
  return found;
}

/// The store in `scope` that can declare the scalar, or null. This is sound inside a loop: each iteration
/// assigns the scalar before reading it, so no value is carried to the next iteration.
const kernel::Store *definition(const kernel::Stmt &scope, const Buffer &buffer) {
  std::vector<kernel::Stmt> users;
  if (const auto *seq = kernel::as<kernel::Seq>(scope)) {
    for (const kernel::Stmt &child : seq->stmts)
      if (accesses(child, buffer))
        users.push_back(child);
  } else {
    users = {scope};
  }
  if (users.empty())
    return nullptr;
  const kernel::Stmt &first = users.front();
  if (users.size() == 1 && !reads_directly(first, buffer)) {
    if (const auto *loop = kernel::as<kernel::Loop>(first))
      return definition(loop->body, buffer);
    if (const auto *branch = kernel::as<kernel::If>(first); branch && !branch->otherwise)
      return definition(branch->body, buffer);
  }
  const auto *store = kernel::as<kernel::Store>(first);
  return store && store->buffer == buffer && !reads_directly(first, buffer) ? store : nullptr;
}

} // namespace

LocalScalars place_scalars(const kernel::Kernel &kernel) {
  LocalScalars result;
  std::set<Buffer> called; // a call takes the address of an array
  kernel::walk(kernel.body, [&](const kernel::Stmt &stmt) {
    if (const auto *call = kernel::as<kernel::Call>(stmt))
      for (const kernel::OperandAddress &place : call->places)
        called.insert(place.buffer);
  });
  for (const kernel::Allocation &allocation : kernel.local) {
    const Buffer &buffer = allocation.buffer;
    if (as_int(buffer->shape.front()) != 1 || called.contains(buffer))
      continue;
    result.scalars.insert(buffer);
    if (const kernel::Store *store = definition(kernel.body, buffer)) {
      result.definitions[store] = buffer;
      int stores = 0;
      kernel::walk(kernel.body, [&](const kernel::Stmt &stmt) {
        const auto *other = kernel::as<kernel::Store>(stmt);
        stores += other && other->buffer == buffer;
      });
      if (stores == 1)
        result.constants.insert(buffer);
    }
  }
  return result;
}

} // namespace nestsmith
