#include "runtime/model/sums_in_registers.h"

#include <algorithm>

namespace nestsmith {

namespace {

using kernel::Stmt;

std::vector<Stmt> children(const Stmt &body) {
  const auto *seq = kernel::as<kernel::Seq>(body);
  return seq ? seq->stmts : std::vector<Stmt>{body};
}

/// Calls `f` with every load in the statement's own expressions.
void for_each_load(const Stmt &stmt, const std::function<void(const Load &)> &f) {
  kernel::each_expr(stmt, [&](const Expr &e) {
    walk(e, [&](const Expr &sub) {
      if (const Load *load = sub.as<Load>())
        f(*load);
    });
  });
}

class Promoter {
public:
  explicit Promoter(SumsInRegisters &result) : result_(result) {}

  Stmt operator()(const Stmt &stmt) {
    Stmt inside = kernel::map_children(stmt, [&](const Stmt &child) { return (*this)(child); });
    const auto *loop = kernel::as<kernel::Loop>(inside);
    Stmt promoted = loop ? promote(*loop) : nullptr;
    return promoted ? promoted : inside;
  }

private:
  /// Null if there is nothing to promote.
  Stmt promote(const kernel::Loop &loop);
  static bool is_sum(const Stmt &stmt, const kernel::Loop &loop);
  Stmt moved(const kernel::Loop &loop, const Stmt &sum);

  SumsInRegisters &result_;
};

Stmt Promoter::promote(const kernel::Loop &loop) {
  if (const auto *guard = kernel::as<kernel::If>(loop.body)) {
    if (guard->otherwise || uses(guard->condition, loop.var) || reads_memory(guard->condition))
      return nullptr;
    kernel::Loop inner = loop;
    inner.body = guard->body;
    Stmt body = promote(inner);
    return body ? kernel::make(kernel::If{guard->condition, body, nullptr, guard->purpose}) : nullptr;
  }
  for (const Stmt &child : children(loop.body))
    if (is_sum(child, loop))
      return moved(loop, child);
  return nullptr;
}

bool Promoter::is_sum(const Stmt &stmt, const kernel::Loop &loop) {
  const auto *store = kernel::as<kernel::Store>(stmt);
  if (!store || store->buffer->scope == Scope::local || store->lanes != 1)
    return false;
  const Expr &index = store->indices.front();
  bool fixed = !uses(index, loop.var) && !reads_memory(index), reads = false, alone = true;
  kernel::walk(loop.body, [&](const Stmt &other) {
    if (const auto *declare = kernel::as<kernel::Declare>(other))
      fixed &= !uses(index, declare->var);
    if (const auto *write = kernel::as<kernel::Store>(other))
      alone &= other == stmt || write->buffer != store->buffer;
    alone &= kernel::as<kernel::Barrier>(other) == nullptr;
    for_each_load(other, [&](const Load &load) {
      if (load.buffer != store->buffer)
        return;
      bool its_own =
          other == stmt && load.lanes == 1 && is_true(load.mask) && same(load.indices.front(), index);
      reads |= its_own;
      alone &= its_own;
    });
  });
  return fixed && reads && alone;
}

Stmt Promoter::moved(const kernel::Loop &loop, const Stmt &sum) {
  const auto &store = *kernel::as<kernel::Store>(sum);
  auto sum_buffer = std::make_shared<const BufferNode>(
      BufferNode{store.buffer->name + "_sum", store.buffer->dtype, {Expr(1)}, Scope::local, Role::temporary});
  result_.kernel.local.push_back({sum_buffer, 0, {1}});
  if (std::ranges::find(result_.buffers, store.buffer->name) == result_.buffers.end())
    result_.buffers.push_back(store.buffer->name);

  Expr in_register = replace_nodes(store.value, [&](const Expr &node) {
    const Load *load = node.as<Load>();
    return load && load->buffer == store.buffer ? nestsmith::load(sum_buffer, {0}) : Expr();
  });
  Stmt add = kernel::make(kernel::Store{sum_buffer, {0}, in_register});
  Stmt before = kernel::make(kernel::Store{sum_buffer, {0}, nestsmith::load(store.buffer, store.indices)});
  Stmt after = kernel::make(kernel::Store{store.buffer, store.indices, nestsmith::load(sum_buffer, {0})});
  for (const Stmt &made : {add, before, after})
    result_.origin.emplace(made.get(), sum);
  std::vector<Stmt> body = children(loop.body);
  std::ranges::replace(body, sum, add);
  kernel::Loop shorter = loop;
  shorter.body = kernel::make_seq(body);
  return kernel::make_seq({before, kernel::make(std::move(shorter)), after});
}

} // namespace

SumsInRegisters sums_in_registers(const kernel::Kernel &kernel) {
  SumsInRegisters result{kernel, {}, {}};
  result.kernel.body = Promoter(result)(kernel.body);
  return result;
}

} // namespace nestsmith
