#include "dsl/buffer.h"

#include "dsl/expr.h"

namespace nestsmith {

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
