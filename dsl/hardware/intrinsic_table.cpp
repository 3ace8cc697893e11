#include "dsl/hardware/intrinsic_table.h"

#include <fmt/format.h>

namespace nestsmith {

namespace {

/// for k < 4: sum = sum + a[k]*b[k]. The operands are converted to the dtype of the sum.
Intrinsic dot(std::string name, DType operand, Feature feature, std::string prelude) {
  DType dtype = arithmetic_type(operand);
  Buffer a = formal_buffer("a", operand, {4}), b = formal_buffer("b", operand, {4}),
         sum = formal_buffer("sum", dtype, {});
  Var k = make_var("k");
  Expr product = cast(dtype, load(a, {k})) * cast(dtype, load(b, {k}));
  return {.name = std::move(name),
          .operands = {{a}, {b}, {sum}},
          .meaning = {{{k, 4}}, {sum, {}, load(sum, {}) + product}},
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

} // namespace

std::vector<Intrinsic> standard_intrinsics() {
  std::vector<Intrinsic> all = {
      dot4(DType::f32, "float", "float4"),
      dot4(DType::u32, "unsigned int", "uint4"),
      dp4a(DType::i8, "int"),
      dp4a(DType::u8, "unsigned int"),
  };
  for (Intrinsic &intrinsic : warp_intrinsics())
    all.push_back(std::move(intrinsic));
  return all;
}

} // namespace nestsmith
