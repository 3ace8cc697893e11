#include "dsl/intrinsic.h"

#include <fmt/format.h>

namespace nestsmith {

namespace {

/// sum + a0*b0 + a1*b1 + a2*b2 + a3*b3, added from the left. The operands are converted to the dtype of the
/// sum.
Intrinsic dot(std::string name, DType operand, Feature feature, std::string prelude) {
  DType dtype = arithmetic_type(operand);
  Var a = make_var("a", operand, 4), b = make_var("b", operand, 4), sum = make_var("sum", dtype);
  Expr meaning = sum;
  for (int n = 0; n < 4; ++n)
    meaning = meaning + cast(dtype, lane(a, n)) * cast(dtype, lane(b, n));
  return {.name = std::move(name),
          .result = dtype,
          .parameters = {a, b, sum},
          .meaning = meaning,
          .extent = 4,
          .alignment = 4 * byte_size(operand),
          .feature = feature,
          .prelude = std::move(prelude)};
}

Intrinsic dot4(DType dtype, std::string_view scalar, std::string_view vector) {
  return dot("dot4", dtype, Feature::vector_access,
             fmt::format("/// sum + a.x*b.x + a.y*b.y + a.z*b.z + a.w*b.w\n"
                         "static __device__ __forceinline__ {0} dot4({1} a, {1} b, {0} sum) {{\n"
                         "  return sum + a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w;\n"
                         "}}\n",
                         scalar, vector));
}

/// The instruction DP4A, for operands of one byte.
Intrinsic dp4a(DType operand, std::string_view word) {
  return dot("dp4a", operand, Feature::dp4a,
             fmt::format("/// sum, plus the products of the bytes of a and b, modulo 2^32\n"
                         "static __device__ __forceinline__ {0} dp4a({0} a, {0} b, {0} sum) {{\n"
                         "  return __dp4a(a, b, sum);\n"
                         "}}\n",
                         word));
}

const std::vector<Intrinsic> &intrinsics() {
  static const std::vector<Intrinsic> table = {
      dot4(DType::f32, "float", "float4"),
      dot4(DType::u32, "unsigned int", "uint4"),
      dp4a(DType::i8, "int"),
      dp4a(DType::u8, "unsigned int"),
  };
  return table;
}

} // namespace

const Intrinsic *find_intrinsic(std::string_view name, DType dtype) {
  for (const Intrinsic &intrinsic : intrinsics())
    if (intrinsic.name == name && intrinsic.result == dtype)
      return &intrinsic;
  return nullptr;
}

namespace {

class Matcher {
public:
  explicit Matcher(const std::vector<Var> &parameters) {
    for (const Var &parameter : parameters)
      found[parameter].resize(static_cast<std::size_t>(parameter->lanes));
  }
  bool match(const Expr &meaning, const Expr &e) {
    if (meaning.dtype() != e.dtype())
      return differ(meaning, e);
    if (const Var *var = meaning.as<Var>())
      return bind(found.at(*var)[0], meaning, e);
    if (const auto *element = meaning.as<Lane>())
      return bind(found.at(element->vector)[static_cast<std::size_t>(element->index)], meaning, e);
    if (const auto *expected = meaning.as<Cast>()) {
      const auto *got = e.as<Cast>();
      return got ? match(expected->a, got->a) : differ(meaning, e);
    }
    const auto *expected = meaning.as<Binary>(), *got = e.as<Binary>();
    if (!expected)
      return same(meaning, e) || differ(meaning, e);
    if (!got || expected->op != got->op)
      return differ(meaning, e);
    return match(expected->a, got->a) && match(expected->b, got->b);
  }

  std::map<Var, std::vector<Expr>> found;
  Difference difference;

private:
  bool bind(Expr &known, const Expr &meaning, const Expr &e) {
    if (!known.exists())
      known = e;
    return same(known, e) || differ(meaning, e);
  }
  bool differ(const Expr &meaning, const Expr &e) {
    difference = {e, meaning};
    return false;
  }
};

} // namespace

std::optional<std::map<Var, std::vector<Expr>>> match(const Intrinsic &intrinsic, const Expr &e,
                                                      Difference *difference) {
  Matcher matcher(intrinsic.parameters);
  if (matcher.match(intrinsic.meaning, e))
    return std::move(matcher.found);
  if (difference)
    *difference = matcher.difference;
  return std::nullopt;
}

std::vector<std::string> intrinsic_signatures() {
  std::vector<std::string> signatures;
  for (const Intrinsic &intrinsic : intrinsics())
    signatures.push_back(fmt::format("{} ({})", intrinsic.name, name(intrinsic.result)));
  return signatures;
}

} // namespace nestsmith
