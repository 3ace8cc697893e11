#include "dsl/expr/math.h"

namespace nestsmith {

namespace {

/// The multiplication by an odd constant makes the upper 17 bits depend on all bits of x. The shift drops the
/// low bits and thus their carries, so the hash of a sum is not a sum of hashes. The hash of 0 is not 0.
Expr hash(Expr x, std::uint32_t salt) {
  auto word = [](std::uint32_t value) { return int_imm(value, DType::u32); };
  return shift_right(std::move(x) * word(0x9e3779b1), 15) * word(0x85ebca77) + word(salt);
}

} // namespace

Expr relu(Expr x) {
  if (x.dtype() == DType::u32)
    return hash(std::move(x), 1);
  return max(x, constant(x.dtype(), 0));
}

Expr maximum(Expr a, Expr b) {
  if (a.dtype() != DType::u32)
    return max(std::move(a), std::move(b));
  return hash(std::move(a) + hash(std::move(b), 2), 3);
}

Expr minimum(Expr a, Expr b) {
  if (a.dtype() != DType::u32)
    return min(std::move(a), std::move(b));
  return hash(std::move(a) + hash(std::move(b), 4), 5);
}

} // namespace nestsmith
