#include "dsl/expr/math.h"

#include "dsl/expr/error.h"
#include "dsl/expr/math_functions.h"

namespace nestsmith {

namespace {

Expr apply(std::string_view name, std::vector<Expr> operands) {
  const MathFunction *function = find_math_function(name);
  internal_check(function != nullptr, "each function of math.h has a row");
  return call_math(*function, std::move(operands));
}

/// Refuses what a function that is made of others does not take, by its own name.
void require_real(std::string_view function, const Expr &x) {
  if (x.dtype() != DType::f32 && x.dtype() != DType::f64)
    refuse_type(function, x.dtype());
}

} // namespace

/// The multiplication by an odd constant makes the upper 17 bits depend on all bits of x. The shift drops the
/// low bits and thus their carries, so the hash of a sum is not a sum of hashes. The hash of 0 is not 0.
Expr ring_hash(Expr x, std::uint32_t salt) {
  auto word = [](std::uint32_t value) { return int_imm(value, DType::u32); };
  return shift_right(std::move(x) * word(0x9e3779b1), 15) * word(0x85ebca77) + word(salt);
}

bool has_ring_hash(const Expr &e) {
  return any_node(e, [](const Expr &node) {
    const auto *sum = node.as<Binary>();
    const auto *second = sum && sum->op == BinaryOp::add ? sum->a.as<Binary>() : nullptr;
    const auto *shift = second && second->op == BinaryOp::mul ? second->a.as<Binary>() : nullptr;
    const auto *first = shift && shift->op == BinaryOp::shift_right ? shift->a.as<Binary>() : nullptr;
    const std::optional<std::int64_t> salt = first ? as_int(sum->b) : std::nullopt;
    return salt && first->op == BinaryOp::mul &&
           same(node, ring_hash(first->a, static_cast<std::uint32_t>(*salt)));
  });
}

Expr relu(Expr x) {
  if (x.dtype() == DType::u32)
    return ring_hash(std::move(x), 1);
  return max(x, constant(x.dtype(), 0));
}

Expr maximum(Expr a, Expr b) {
  if (a.dtype() != DType::u32)
    return max(std::move(a), std::move(b));
  return ring_hash(std::move(a) + ring_hash(std::move(b), 2), 3);
}

Expr minimum(Expr a, Expr b) {
  if (a.dtype() != DType::u32)
    return min(std::move(a), std::move(b));
  return ring_hash(std::move(a) + ring_hash(std::move(b), 4), 5);
}

Expr exp(Expr x) { return apply("exp", {std::move(x)}); }
Expr exp2(Expr x) { return apply("exp2", {std::move(x)}); }
Expr log(Expr x) { return apply("log", {std::move(x)}); }
Expr log2(Expr x) { return apply("log2", {std::move(x)}); }
Expr sqrt(Expr x) { return apply("sqrt", {std::move(x)}); }
Expr rsqrt(Expr x) { return apply("rsqrt", {std::move(x)}); }
Expr tanh(Expr x) { return apply("tanh", {std::move(x)}); }
Expr erf(Expr x) { return apply("erf", {std::move(x)}); }
Expr sin(Expr x) { return apply("sin", {std::move(x)}); }
Expr cos(Expr x) { return apply("cos", {std::move(x)}); }
Expr abs(Expr x) {
  if (is_index(x.dtype()) && !as_int(x))
    return max(x, -x);
  return apply("abs", {std::move(x)});
}
Expr floor(Expr x) { return apply("floor", {std::move(x)}); }
Expr fma(Expr x, Expr y, Expr z) { return apply("fma", {std::move(x), std::move(y), std::move(z)}); }
Expr pow(Expr x, Expr y) { return apply("pow", {std::move(x), std::move(y)}); }
Expr fast_exp(Expr x) { return apply("fast_exp", {std::move(x)}); }
Expr fast_log(Expr x) { return apply("fast_log", {std::move(x)}); }
Expr fast_log2(Expr x) { return apply("fast_log2", {std::move(x)}); }
Expr fast_sin(Expr x) { return apply("fast_sin", {std::move(x)}); }
Expr fast_cos(Expr x) { return apply("fast_cos", {std::move(x)}); }
Expr fast_tanh(Expr x) { return apply("fast_tanh", {std::move(x)}); }
Expr fast_pow(Expr x, Expr y) { return apply("fast_pow", {std::move(x), std::move(y)}); }
Expr fast_divide(Expr x, Expr y) { return apply("fast_divide", {std::move(x), std::move(y)}); }

Expr sigmoid(Expr x) {
  if (x.dtype() == DType::u32)
    return ring_hash(std::move(x), 6);
  require_real("sigmoid", x);
  return 1 / (1 + exp(-std::move(x)));
}

Expr silu(Expr x) {
  if (x.dtype() == DType::u32)
    return ring_hash(std::move(x), 7);
  require_real("silu", x);
  return x / (1 + exp(-x));
}

Expr gelu(Expr x) {
  if (x.dtype() == DType::u32)
    return ring_hash(std::move(x), 8);
  require_real("gelu", x);
  return x * 0.5 * (1 + erf(x * 0.70710678118654752));
}

} // namespace nestsmith
