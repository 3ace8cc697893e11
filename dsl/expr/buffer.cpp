#include "dsl/expr/buffer.h"

#include "dsl/expr/error.h"
#include "dsl/expr/expr.h"

#include <mutex>

namespace nestsmith {

std::string_view name(Scope scope) {
  switch (scope) {
  case Scope::global:
    return "global";
  case Scope::shared:
    return "shared";
  case Scope::local:
    return "local";
  case Scope::warp:
    return "warp";
  }
  refuse_value("Scope", static_cast<int>(scope), "Scope::global, shared, local or warp");
}

const std::vector<Buffer> &part_buffers(const BufferNode &buffer) {
  static std::mutex mutex;
  std::scoped_lock lock(mutex);
  auto &made = buffer.parts.buffers;
  if (!made) {
    std::vector<Buffer> parts;
    for (const TuplePart &part : parts_of(buffer.dtype)) {
      BufferNode copy = buffer;
      copy.name += "_" + part.name;
      copy.dtype = part.dtype;
      copy.serial = {};
      parts.push_back(std::make_shared<const BufferNode>(std::move(copy)));
    }
    made = std::make_shared<const std::vector<Buffer>>(std::move(parts));
  }
  return *made;
}

std::vector<Expr> strides_of(const BufferNode &buffer) {
  if (buffer.strides)
    return *buffer.strides;
  std::vector<Expr> strides(buffer.shape.size(), Expr(1));
  for (std::size_t d = strides.size(); d-- > 1;)
    strides[d - 1] = strides[d] * buffer.shape[d];
  return strides;
}

Expr span_of(const BufferNode &buffer) {
  std::vector<Expr> strides = strides_of(buffer);
  if (!buffer.strides)
    return buffer.shape.empty() ? Expr(1) : buffer.shape[0] * strides[0];
  Expr last = 0;
  for (std::size_t d = 0; d < strides.size(); ++d)
    last = last + (buffer.shape[d] - Expr(1)) * strides[d];
  return last + Expr(1);
}

} // namespace nestsmith
