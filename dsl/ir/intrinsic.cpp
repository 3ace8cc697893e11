#include "dsl/ir/intrinsic.h"

#include "dsl/expr/error.h"
#include "dsl/expr/expr_text.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <utility>

namespace nestsmith {

std::string to_string(const Nest &nest) {
  std::string loops;
  for (const NestLoop &loop : nest.loops)
    loops += fmt::format("{}{} < {}", loops.empty() ? "for " : ", ", loop.var->name, loop.extent);
  return fmt::format("{}: {} = {}", loops, to_string(load(nest.body.buffer, nest.body.indices)),
                     to_string(nest.body.value));
}

Buffer formal_buffer(std::string name, DType dtype, std::vector<Expr> shape) {
  return std::make_shared<const BufferNode>(
      BufferNode{std::move(name), dtype, std::move(shape), Scope::local, Role::temporary});
}

std::vector<Expr> indices_of(const Nest &nest, const Buffer &buffer) {
  std::vector<Expr> indices = nest.body.indices;
  if (buffer != nest.body.buffer)
    walk(nest.body.value, [&](const Expr &e) {
      if (const auto *access = e.as<Load>(); access && access->buffer == buffer)
        indices = access->indices;
    });
  return indices;
}

const Operand &Intrinsic::operand(const Buffer &formal) const {
  auto found = std::ranges::find(operands, formal, &Operand::formal);
  internal_check(found != operands.end(), "a buffer that is no operand of the intrinsic");
  return *found;
}

std::string signature(const Intrinsic &intrinsic) {
  std::vector<std::string_view> dtypes;
  for (const Operand &operand : intrinsic.operands)
    if (std::string_view dtype = name(operand.formal->dtype); std::ranges::find(dtypes, dtype) == dtypes.end())
      dtypes.push_back(dtype);
  return fmt::format("{} ({})", intrinsic.name, fmt::join(dtypes, ", "));
}

} // namespace nestsmith
