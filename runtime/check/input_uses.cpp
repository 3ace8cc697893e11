#include "runtime/check/input_uses.h"

namespace nestsmith {

InputUses::InputUses(const Program &source) {
  for (const Block *block : blocks_of(source.body)) {
    std::vector<const Store *> stores = {&block->body};
    if (block->init)
      stores.push_back(&*block->init);
    for (const Store *store : stores) {
      note(store->value);
      of_stage_[store->buffer.get()].merge(origins(store->value));
    }
  }
}

void InputUses::note(const Expr &e) {
  walk(e, [&](const Expr &node) {
    if (const auto *access = node.as<Load>())
      for (const Expr &index : access->indices)
        indices.merge(origins(index));
    if (const auto *cast = node.as<Cast>(); cast && is_float(cast->dtype) && !is_float(cast->a.dtype()))
      converted.merge(origins(cast->a));
    if (const auto *binary = node.as<Binary>(); binary && is_comparison(binary->op))
      for (const Expr &side : {binary->a, binary->b})
        compared.merge(origins(side));
  });
}

Origins InputUses::origins(const Expr &e) const {
  Origins result;
  walk(e, [&](const Expr &node) {
    if (const auto *var = node.as<Var>())
      result.insert(var->get());
    const auto *access = node.as<Load>();
    if (!access)
      return;
    auto stage = of_stage_.find(access->buffer.get());
    if (stage != of_stage_.end())
      result.insert(stage->second.begin(), stage->second.end());
    if (access->buffer->role != Role::temporary)
      result.insert(access->buffer.get());
  });
  return result;
}

} // namespace nestsmith
