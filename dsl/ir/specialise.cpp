#include "dsl/ir/specialise.h"

#include "dsl/expr/error.h"

namespace nestsmith {

Expr Specialiser::operator()(const Expr &e) {
  return rebuild(e, [&](const Expr &node) {
    if (const Var *var = node.as<Var>()) {
      auto it = values_.find(*var);
      return it == values_.end() ? node : it->second;
    }
    const Load *access = node.as<Load>();
    Buffer buffer = access ? (*this)(access->buffer) : nullptr;
    return !access || buffer == access->buffer
               ? node
               : load(buffer, access->indices, access->mask, access->fill, access->lanes);
  });
}

Buffer Specialiser::operator()(const Buffer &buffer) {
  auto [it, first] = buffers_.try_emplace(buffer, buffer);
  if (!first)
    return it->second;
  BufferNode copy = *buffer;
  bool kept = true;
  auto put = [&](std::vector<Expr> exprs) {
    for (Expr &e : exprs) {
      Expr value = (*this)(e);
      kept = kept && value.get() == e.get();
      e = value;
    }
    return exprs;
  };
  copy.shape = put(copy.shape);
  if (buffer->strides)
    copy.strides = std::make_shared<const std::vector<Expr>>(put(*buffer->strides));
  if (!kept)
    it->second = std::make_shared<const BufferNode>(std::move(copy));
  return it->second;
}

namespace {

Store specialised(Specialiser &specialiser, Store store) {
  store.buffer = specialiser(store.buffer);
  for (Expr &index : store.indices)
    index = specialiser(index);
  store.value = specialiser(store.value);
  return store;
}

Stmt specialised(Specialiser &specialiser, const Stmt &stmt) {
  if (const auto *loop = as<For>(stmt)) {
    For copy = *loop;
    copy.extent = specialiser(loop->extent);
    copy.body = specialised(specialiser, loop->body);
    return make_for(std::move(copy));
  }
  const auto *block = as<Block>(stmt);
  if (!block)
    return map_children(stmt, [&](const Stmt &child) { return specialised(specialiser, child); });
  Block copy = *block;
  for (IterVar &iter : copy.iters) {
    iter.extent = specialiser(iter.extent);
    iter.binding = specialiser(iter.binding);
    iter.first = specialiser(iter.first);
  }
  if (copy.init)
    copy.init = specialised(specialiser, *copy.init);
  copy.body = specialised(specialiser, copy.body);
  return make_block(std::move(copy));
}

} // namespace

Program specialise(const Program &program, std::span<const std::int64_t> sizes) {
  internal_check(sizes.size() == program.sizes.size(), "a program is specialised for another number of sizes");
  if (sizes.empty())
    return program;
  Specialiser specialiser;
  for (std::size_t n = 0; n < sizes.size(); ++n)
    specialiser.set(program.sizes[n], sizes[n]);
  Program result = program;
  result.sizes.clear();
  for (Buffer &param : result.params)
    param = specialiser(param);
  result.body = specialised(specialiser, program.body);
  return result;
}

} // namespace nestsmith
