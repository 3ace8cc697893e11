/// Tests tensorize: the resulting program, the refusals and the obligations.

#include "dsl/hardware/intrinsics.h"
#include "dsl/hardware/verify.h"
#include "tests/dsl/support.h"

namespace nestsmith {
namespace {

using test::contains;
using test::expect_refused;
using test::product;

/// C = A*B' over rows of k elements. Both operands are contiguous along k, which is split into groups of 4.
struct Dots {
  Schedule s;
  Loop inner;
  explicit Dots(std::int64_t k, DType dtype = DType::u32, Target target = {})
      : s(program(k, dtype), std::move(target)), inner(s.split(s.loop("k"), {infer, 4})[1]) {}

  static Program program(std::int64_t k, DType dtype) {
    Workload w("dots");
    Tensor a = w.placeholder("A", {3, k}, dtype), b = w.placeholder("B", {5, k}, dtype);
    Reduce r = reduce_axis("k", k);
    Tensor c = w.compute("C", {3, 5}, {"i", "j"}, [&](Expr i, Expr j) { return sum(a(i, r) * b(j, r), r); });
    return w.output({c});
  }
};

TEST(Tensorize, IsPrintedAndKeepsTheMeaning) {
  for (DType dtype : {DType::u32, DType::f32}) {
    Dots d(16, dtype);
    d.s.tensorize(d.inner, "dot4");
    EXPECT_TRUE(contains(print(d.s.program()), "for k_inner < 4 tensorized by dot4:\n"))
        << print(d.s.program());
    EXPECT_EQ(to_cpp(d.s.trace().back()), "s.tensorize(k_inner, \"dot4\");");
    EXPECT_TRUE(test::same_meaning(d.s));
    EXPECT_TRUE(d.s.obligations().empty());
  }
}

TEST(TensorizeRefuses, LoopThatIsNotSerial) {
  Dots d(16);
  d.s.unroll(d.inner);
  expect_refused(d.s, "tensorize.serial", [&] { d.s.tensorize(d.inner, "dot4"); },
                 "is unrolled, expected a serial loop", {"k_inner"});
}

TEST(TensorizeRefuses, UnknownIntrinsic) {
  Dots d(16);
  expect_refused(d.s, "tensorize.known", [&] { d.s.tensorize(d.inner, "dot5"); },
                 "there is no intrinsic 'dot5' for u32; the most similar ones are dot4 (u32), dot4 "
                 "(f32), dp4a (u8, u32)",
                 {});
}

TEST(TensorizeRefuses, TargetThatLacksIt) {
  Dots d(16, DType::u32, Target{.arch = {35}});
  expect_refused(
      d.s, "tensorize.arch", [&] { d.s.tensorize(d.inner, "dot4"); },
      "the target lacks the intrinsic dot4: vector_access needs sm_50, sm_52, sm_53, sm_60, sm_61, sm_62, "
      "sm_70, sm_72, sm_75, sm_80, sm_86, sm_87, sm_88, sm_89, sm_90, sm_100, sm_101, sm_103, sm_110, "
      "sm_120, sm_121; got sm_35; choose another target",
      {});
}

TEST(TensorizeRefuses, OtherExtents) {
  Dots d(16);
  Loop outer = d.s.loop("k_outer");
  Loop eight = d.s.fuse(d.s.split(outer, {infer, 2})[1], d.inner);
  expect_refused(d.s, "tensorize.extent", [&] { d.s.tensorize(eight, "dot4"); },
                 "has 8 iterations, and dot4 takes 4; split it so that the inner part has 4", {});
}

TEST(TensorizeRefuses, LoopsWithMoreBelow) {
  Dots d(16);
  expect_refused(
      d.s, "tensorize.innermost", [&] { d.s.tensorize(d.s.loop("j"), "dot4"); },
      "the loop j contains other loops or several blocks, but dot4 needs the innermost loop of a single block",
      {"j"});
}

TEST(TensorizeRefuses, OtherMeanings) {
  Workload w("sums");
  Tensor a = w.placeholder("A", {3, 16}, DType::u32);
  Reduce k = reduce_axis("k", 16);
  Tensor c = w.compute("C", {3}, {"i"}, [&](Expr i) { return sum(a(i, k), k); });
  Schedule s(w.output({c}));
  Loop inner = s.split(s.loop("k"), {infer, 4})[1];
  expect_refused(
      s, "tensorize.meaning", [&] { s.tensorize(inner, "dot4"); },
      "block C does not compute dot4: got C[i] + A[i, k] in each iteration of k_inner < 4, expected sum + "
      "a[k]*b[k]; the first difference is A[i, k_outer*4 + k_inner] in place of a[k]*b[k]",
      {"k_inner", "C"});

  Schedule spatial(product(4, 4, 4));
  spatial.reorder({spatial.loop("i"), spatial.loop("k"), spatial.loop("j")});
  expect_refused(
      spatial, "tensorize.meaning", [&] { spatial.tensorize(spatial.loop("j"), "dot4"); },
      "the iterations of j write different elements of C, but dot4 has one result; tensorize a loop of a sum",
      {"j", "C"});
}

/// C is the sum over k of `term` of an element of A and an element of B. The loop k is split into groups of 4.
Schedule sums_of_bytes(DType a_type, DType b_type, DType sums, const std::function<Expr(Expr, Expr)> &term,
                       Target target = {}) {
  Workload w("bytes");
  Tensor a = w.placeholder("A", {3, 16}, a_type), b = w.placeholder("B", {5, 16}, b_type);
  Reduce k = reduce_axis("k", 16);
  Tensor c = w.compute("C", {3, 5}, {"i", "j"},
                       [&](Expr i, Expr j) { return sum(cast(sums, term(a(i, k), b(j, k))), k); });
  Schedule s(w.output({c}), std::move(target));
  s.split(s.loop("k"), {infer, 4});
  return s;
}
Expr product_in(DType dtype, Expr a, Expr b) { return cast(dtype, std::move(a)) * cast(dtype, std::move(b)); }

TEST(Tensorize, MatchesTheConversionsOfDp4a) {
  for (auto [operand, sums] : {std::pair{DType::i8, DType::i32}, std::pair{DType::u8, DType::u32}}) {
    Schedule s = sums_of_bytes(operand, operand, sums, [&](Expr a, Expr b) { return product_in(sums, a, b); });
    s.tensorize(s.loop("k_inner"), "dp4a");
    EXPECT_TRUE(contains(print(s.program()), "for k_inner < 4 tensorized by dp4a:\n")) << print(s.program());
    EXPECT_TRUE(test::same_meaning(s));
    EXPECT_TRUE(s.obligations().empty());
  }
}

TEST(TensorizeRefuses, OtherConversionsThanThoseOfTheMeaning) {
  auto refused = [](Schedule s, const std::string &requirement, const std::string &message) {
    expect_refused(s, requirement, [&] { s.tensorize(s.loop("k_inner"), "dp4a"); }, message, {});
  };
  using enum DType;
  auto in_i32 = [](Expr a, Expr b) { return product_in(i32, a, b); };
  refused(sums_of_bytes(i8, u8, i32, in_i32), "tensorize.meaning",
          "the first difference is B[j, k_outer*4 + k_inner] (u8) in place of b[k] (i8)");
  refused(sums_of_bytes(i32, i8, i32, in_i32), "tensorize.meaning",
          "the first difference is A[i, k_outer*4 + k_inner] in place of i32(a[k])");
  refused(sums_of_bytes(i8, i8, i32, [](Expr a, Expr b) { return cast(i32, a) + cast(i32, b); }),
          "tensorize.meaning", "in place of i32(a[k])*i32(b[k])");
  refused(sums_of_bytes(i8, i8, i32, [](Expr a, Expr b) { return cast(i8, product_in(i32, a, b)); }),
          "tensorize.meaning",
          "the first difference is i32(i8(i32(A[i, k_outer*4 + k_inner])*i32(B[j, k_outer*4 + k_inner]))) in "
          "place of i32(a[k])*i32(b[k])");
  refused(sums_of_bytes(i8, i8, i64, [](Expr a, Expr b) { return product_in(i64, a, b); }), "tensorize.known",
          "there is no intrinsic 'dp4a' for i64");
  refused(sums_of_bytes(i8, i8, i32, in_i32, Target{.arch = {60}}), "tensorize.arch",
          "the target lacks the intrinsic dp4a: dp4a needs sm_61, sm_62, sm_70, ");
}

TEST(TensorizeRefuses, BytesThatAreNotAligned) {
  Workload w("bytes");
  Tensor a = w.placeholder("A", {3, 18}, DType::i8), b = w.placeholder("B", {5, 18}, DType::i8);
  Reduce k = reduce_axis("k", 16);
  Tensor c = w.compute("C", {3, 5}, {"i", "j"},
                       [&](Expr i, Expr j) { return sum(product_in(DType::i32, a(i, k), b(j, k)), k); });
  Schedule s(w.output({c}));
  Loop inner = s.split(s.loop("k"), {infer, 4})[1];
  expect_refused(s, "tensorize.operands", [&] { s.tensorize(inner, "dp4a"); },
                 "block C reads A in vectors of 4 elements from the offset", {"C"});
}

TEST(TensorizeRefuses, OperandsThatAreNotSideBySide) {
  Schedule s(product(4, 8, 16));
  Loop inner = s.split(s.loop("k"), {infer, 4})[1];
  expect_refused(s, "tensorize.operands", [&] { s.tensorize(inner, "dot4"); },
                 "block C reads B with a stride of 8 along k_inner, but dot4 needs contiguous elements", {"C"});
  Dots odd(18);
  expect_refused(odd.s, "tensorize.operands", [&] { odd.s.tensorize(odd.inner, "dot4"); },
                 "block C has the guard k < 18, which may differ between the 4 lanes of k_inner that start at "
                 "k = k_outer*4",
                 {"C"});
}

/// C = A*B' with operands of the given type, converted to f32.
Schedule converted_dots(DType dtype) {
  Workload w("dots");
  Tensor a = w.placeholder("A", {3, 8}, dtype), b = w.placeholder("B", {5, 8}, dtype);
  Reduce k = reduce_axis("k", 8);
  Tensor c = w.compute("C", {3, 5}, {"i", "j"}, [&](Expr i, Expr j) {
    return sum(cast(DType::f32, a(i, k)) * cast(DType::f32, b(j, k)), k);
  });
  Schedule s(w.output({c}));
  s.split(s.loop("k"), {infer, 4});
  return s;
}

TEST(TensorizeRefuses, OperandsThatNoVectorHolds) {
  Schedule s = converted_dots(DType::u64);
  expect_refused(s, "tensorize.operands", [&] { s.tensorize(s.loop("k_inner"), "dot4"); },
                 "block C reads A in vectors of 4 elements of u64, but a vector of this type has 2 elements; "
                 "load them into registers with cache_read first",
                 {"C"});
}

TEST(Tensorize, TakesOperandsOfTwoBytes) {
  Schedule s = converted_dots(DType::f16);
  s.tensorize(s.loop("k_inner"), "dot4");
  EXPECT_TRUE(s.obligations().empty());
}

/// The nest is b*a and the meaning is a*b. Both sum the lanes in the order of the iterations, so the operands
/// may have either order.
TEST(Tensorize, TakesOperandsInEitherOrder) {
  Workload w("dots");
  Tensor a = w.placeholder("A", {3, 8}, DType::u32), b = w.placeholder("B", {5, 8}, DType::u32);
  Reduce k = reduce_axis("k", 8);
  Tensor c = w.compute("C", {3, 5}, {"i", "j"}, [&](Expr i, Expr j) { return sum(b(j, k) * a(i, k), k); });
  Schedule s(w.output({c}));
  s.tensorize(s.split(s.loop("k"), {infer, 4})[1], "dot4");
  EXPECT_TRUE(test::same_meaning(s));
}

/// Sums the elements of X that are less than 3 or, if `negated`, the elements that are not. Each other element
/// counts as `otherwise`.
Schedule sums_of_clipped(Expr (*choose)(Expr, Expr, Expr), std::int64_t otherwise, bool negated) {
  Workload w("clipped");
  Tensor x = w.placeholder("X", {3, 8}, DType::u32);
  Reduce k = reduce_axis("k", 8);
  Tensor y = w.compute("Y", {3}, {"i"}, [&](Expr i) {
    Expr value = x(i, k), small = value < 3;
    return sum(choose(negated ? !small : value < 3, value, Expr(otherwise)), k);
  });
  Schedule s(w.output({y}));
  s.split(s.loop("k"), {infer, 4});
  return s;
}

TEST(Tensorize, MatchesChoicesAndNegations) {
  Buffer x = formal_buffer("x", DType::u32, {4}), total = formal_buffer("total", DType::u32, {});
  Var k = make_var("k");
  for (bool negated : {false, true}) {
    Expr small = load(x, {k}) < 3;
    register_intrinsic(
        {.name = negated ? "sum_of_large" : "sum_of_small",
         .operands = {{x}, {total}},
         .meaning = {{{k, 4}},
                     {total, {}, load(total, {}) + select(negated ? !small : small, load(x, {k}), Expr(7))}}});
    Schedule s = sums_of_clipped(select, 7, negated);
    s.tensorize(s.loop("k_inner"), negated ? "sum_of_large" : "sum_of_small");
    EXPECT_TRUE(test::same_meaning(s));
    EXPECT_TRUE(s.obligations().empty());
  }
  for (auto [s, difference] :
       {std::pair{sums_of_clipped(select, 8, false), "the first difference is 8 in place of 7"},
        std::pair{sums_of_clipped(branch, 7, false), "the first difference is branch("}})
    expect_refused(s, "tensorize.meaning", [&] { s.tensorize(s.loop("k_inner"), "sum_of_small"); }, difference,
                   {"k_inner", "Y"});
}

/// A product with the constant 1 would be folded, and the loop would no longer match.
TEST(ComputeInlineRefuses, OperandsWithoutWhichALoopIsNotItsIntrinsic) {
  auto sums = [](bool ones) {
    Workload w("sums");
    Tensor a = w.placeholder("A", {3, 16}, DType::u32);
    Tensor t = w.compute("T", {3, 16}, {"i", "j"},
                         [&](Expr i, Expr j) { return ones ? constant(DType::u32, 1) : a(i, j); });
    Reduce k = reduce_axis("k", 16);
    Tensor c = w.compute("C", {3}, {"i"}, [&](Expr i) { return sum(a(i, k) * t(i, k), k); });
    Schedule s(w.output({c}));
    s.tensorize(s.split(s.loop("k"), {infer, 4})[1], "dot4");
    return s;
  };
  Schedule s = sums(true);
  expect_refused(
      s, "compute_inline.intrinsic", [&] { s.compute_inline(s.block("T")); },
      "with T in it, block C would compute C[i] + A[i, k] in each iteration of k_inner, which is not "
      "the meaning of dot4; inline T before, and leave k_inner serial",
      {"T", "C"});
  Schedule copies = sums(false);
  copies.compute_inline(copies.block("T"));
  EXPECT_TRUE(test::same_meaning(copies));
}

/// 32 matrix products of f16 operands with f32 results.
Schedule matrix_products(std::int64_t m, std::int64_t n, std::int64_t k, Target target = {}) {
  Workload w("products");
  Tensor a = w.placeholder("A", {32, m, k}, DType::f16), b = w.placeholder("B", {32, k, n}, DType::f16);
  Reduce r = reduce_axis("k", k);
  Tensor c = w.compute("C", {32, m, n}, {"b", "i", "j"}, [&](Expr batch, Expr i, Expr j) {
    return sum(cast(DType::f32, a(batch, i, r)) * cast(DType::f32, b(batch, r, j)), r);
  });
  return Schedule(w.output({c}), std::move(target));
}

TEST(TensorizeRefuses, MatrixUnitsThatTheTargetLacks) {
  Schedule s = matrix_products(16, 8, 16, Target{.arch = {75}});
  expect_refused(s, "tensorize.arch", [&] { s.tensorize(s.loop("i"), "mma_m16n8k16"); },
                 "the target lacks the intrinsic mma_m16n8k16: mma_f16 needs sm_80, sm_86, ", {});
}

TEST(TensorizeRefuses, LoopsOfLanesAroundTheCallOfAWarp) {
  Schedule s = matrix_products(16, 8, 16);
  s.bind(s.loop("b"), Axis::lane);
  expect_refused(
      s, "tensorize.lanes", [&] { s.tensorize(s.loop("i"), "mma_m16n8k16"); },
      "the call of mma_m16n8k16 at i is executed by all lanes of a warp, but it is below b, which is "
      "bound to lane; bind only the loops of other blocks to it",
      {"i", "C"});
}

TEST(TensorizeRefuses, NestsOfOtherExtents) {
  Schedule s = matrix_products(16, 8, 8);
  expect_refused(
      s, "tensorize.extent", [&] { s.tensorize(s.loop("i"), "mma_m16n8k16"); },
      "the nest of i has the loops i < 16, j < 8, k < 8, but mma_m16n8k16 takes the serial loops i < 16, "
      "j < 8, k < 16 in any order; split and reorder the loops so that the innermost loops have these "
      "extents",
      {"i"});
  Schedule lane_wise = matrix_products(16, 8, 16);
  lane_wise.unroll(lane_wise.loop("j"));
  expect_refused(lane_wise, "tensorize.extent",
                 [&] { lane_wise.tensorize(lane_wise.loop("i"), "mma_m16n8k16"); },
                 "the nest of i has loops that are not serial and constant, but mma_m16n8k16 takes", {"i"});
}

/// The loops are i, k and j in this order, and j and k have the same extent. Only one assignment of the loops
/// can match.
TEST(TensorizeRefuses, AnotherOperatorThanThatOfTheMeaningInAnyOrderOfTheLoops) {
  Workload w("sums");
  Tensor a = w.placeholder("A", {16, 8}, DType::u32), b = w.placeholder("B", {8, 8}, DType::u32);
  Reduce k = reduce_axis("k", 8);
  Tensor c = w.compute("C", {16, 8}, {"i", "j"}, [&](Expr i, Expr j) { return sum(a(i, k) + b(k, j), k); });
  Schedule s(w.output({c}));
  s.reorder({s.loop("i"), s.loop("k"), s.loop("j")});
  expect_refused(s, "tensorize.meaning", [&] { s.tensorize(s.loop("i"), "mma_m16n8k8"); },
                 "the first difference is A[i, k] + B[k, j] in place of a[i, k]*b[k, j]", {"i", "C"});
}

/// The loops of the nest may have another order than the meaning, but no later directive may change them.
TEST(TensorizeRefuses, ChangesOfTheLoopsOfItsNest) {
  Schedule s = matrix_products(16, 8, 16);
  s.reorder({s.loop("k"), s.loop("i"), s.loop("j")});
  s.tensorize(s.loop("k"), "mma_m16n8k16");
  EXPECT_TRUE(test::same_meaning(s));
  expect_refused(
      s, "any.lanes",
      [&] {
        s.split(s.loop("j"), {infer, 4});
      },
      "the loop k is tensorized and must contain exactly one block and the serial loops of its nest, but "
      "this directive would change loops or blocks below it",
      {"k"});
  expect_refused(s, "any.lanes", [&] { s.unroll(s.loop("i")); }, "the loop k is tensorized", {"k"});
}

TEST(Verify, FindsAChangedNestOfATensorizedLoop) {
  Schedule s = matrix_products(16, 8, 16);
  s.tensorize(s.loop("i"), "mma_m16n8k16");
  Program program = s.program();
  std::function<Stmt(const Stmt &)> rewrite = [&](const Stmt &stmt) -> Stmt {
    const auto *loop = as<For>(stmt);
    if (!loop || loop->var->name != "j")
      return map_children(stmt, rewrite);
    For copy = *loop;
    copy.form = BoundTo{Axis::thread_z};
    return make_for(std::move(copy));
  };
  EXPECT_EQ(find_breach(program), std::nullopt);
  program.body = rewrite(program.body);
  EXPECT_EQ(find_breach(program),
            "loop i is tensorized, but does not contain one block in the serial loops of its nest");
}

TEST(TensorizeOwes, TilesThatAreNotSideBySide) {
  Schedule s(product(4, 8, 16));
  auto C = s.block("C");
  for (const char *operand : {"A", "B"})
    s.compute_at(s.cache_read(C, operand, Scope::shared), s.loops(C)[0]);
  Loop inner = s.split(s.loop("k"), {infer, 4})[1];
  s.tensorize(inner, "dot4");
  bool found = false;
  for (const Obligation &owed : s.obligations())
    if (owed.culprit == "k_inner") {
      found = true;
      EXPECT_TRUE(contains(owed.message,
                           "block C reads B_shared with a stride of 8 along k_inner, but dot4 needs "
                           "contiguous elements; lay it out along k_inner with transform_layout"))
          << owed.message;
      EXPECT_EQ(to_cpp(s.trace()[owed.directive - 1]), "s.tensorize(k_inner, \"dot4\");");
    }
  EXPECT_TRUE(found);
}

} // namespace
} // namespace nestsmith
