#include "dsl/intrinsic.h"

#include <fmt/format.h>

namespace nestsmith {

namespace {

/// acc + a0*b0 + a1*b1 + a2*b2 + a3*b3, added from the left.
Intrinsic dot4(DType dtype, std::string_view scalar, std::string_view vector) {
  Var a = make_var("a", dtype, 4), b = make_var("b", dtype, 4), sum = make_var("sum", dtype);
  Expr meaning = sum;
  for (int n = 0; n < 4; ++n)
    meaning = meaning + lane(a, n) * lane(b, n);
  return {.name = "dot4",
          .result = dtype,
          .parameters = {a, b, sum},
          .meaning = meaning,
          .extent = 4,
          .alignment = 16,
          .feature = Feature::vector_access,
          .prelude = fmt::format("/// sum + a.x*b.x + a.y*b.y + a.z*b.z + a.w*b.w\n"
                                 "static __device__ __forceinline__ {0} dot4({1} a, {1} b, {0} sum) {{\n"
                                 "  return sum + a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w;\n"
                                 "}}\n",
                                 scalar, vector)};
}

const std::vector<Intrinsic> &intrinsics() {
  static const std::vector<Intrinsic> table = {
      dot4(DType::f32, "float", "float4"),
      dot4(DType::u32, "unsigned int", "uint4"),
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

static bool match(const Expr &meaning, const Expr &e, std::map<Var, std::vector<Expr>> &found) {
  auto bind = [&](const Var &var, std::size_t index) {
    Expr &known = found.at(var)[index];
    if (!known.exists())
      known = e;
    return same(known, e);
  };
  if (const Var *var = meaning.as<Var>())
    return bind(*var, 0);
  if (const auto *element = meaning.as<Lane>())
    return bind(element->vector, static_cast<std::size_t>(element->index));
  const auto *expected = meaning.as<Binary>(), *got = e.as<Binary>();
  if (!expected || !got)
    return same(meaning, e);
  return expected->op == got->op && match(expected->a, got->a, found) && match(expected->b, got->b, found);
}

std::optional<std::map<Var, std::vector<Expr>>> match(const Intrinsic &intrinsic, const Expr &e) {
  std::map<Var, std::vector<Expr>> found;
  for (const Var &parameter : intrinsic.parameters)
    found[parameter].resize(static_cast<std::size_t>(parameter->lanes));
  return match(intrinsic.meaning, e, found) ? std::optional(found) : std::nullopt;
}

std::vector<std::string> intrinsic_signatures() {
  std::vector<std::string> signatures;
  for (const Intrinsic &intrinsic : intrinsics())
    signatures.push_back(fmt::format("{} ({})", intrinsic.name, name(intrinsic.result)));
  return signatures;
}

} // namespace nestsmith
