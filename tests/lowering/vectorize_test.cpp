/// Tests how loops over lanes become vector accesses in kernels.

#include "dsl/ir/intrinsic.h"
#include "lowering/lower.h"
#include "lowering/verify_kernel.h"
#include "tests/dsl/support.h"

namespace nestsmith {
namespace {

using test::contains;

/// Returns the statements of the kernel, from the line that contains `first` to the end.
std::string body_from(const kernel::Kernel &kernel, const std::string &first) {
  std::string text = kernel::print(kernel);
  std::size_t at = text.find(first);
  return at == std::string::npos ? "no '" + first + "' in\n" + text : text.substr(text.rfind('\n', at) + 1);
}

/// Y = X + 1 over m x n elements, in groups of 4 along the rows.
Schedule groups(std::int64_t m, std::int64_t n, bool guarded) {
  Workload w("groups");
  Tensor x = w.placeholder("X", {m, n}, DType::f32);
  Tensor y = w.compute("Y", {m, n}, {"i", "j"}, [&](Expr i, Expr j) { return x(i, j) + Expr(1.0F); });
  Schedule s(w.output({y}));
  auto [outer, middle, lanes] = s.split(s.loop("j"), {infer, guarded ? 8 : 4, 4});
  (void)outer;
  s.bind(middle, Axis::thread_x);
  s.vectorize(lanes);
  return s;
}

TEST(LowerVectors, CopiesBecomeVectorsUnderOneGuard) {
  kernel::Kernel kernel = lower(groups(2, 40, true)).only();
  EXPECT_EQ(body_from(kernel, "for i < 2"), R"(  for i < 2:
    for j_0 < 2:
      let j: i32 = j_0*32 + j_1*4
      if j < 40:  # tail of j
        let X_v: f32x4 = X[i*40 + j +: 4]
        Y[i*40 + j +: 4] = pack(X_v.0 + 1.0, X_v.1 + 1.0, X_v.2 + 1.0, X_v.3 + 1.0)
)");
  ASSERT_EQ(kernel.aligned.size(), 2U);
  EXPECT_EQ(kernel.aligned.at(kernel.params[0]), 16);
}

TEST(LowerVectors, TilesAreAlignedAndAccessedAsTheyLie) {
  Workload w("transposed");
  Tensor x = w.placeholder("X", {16, 16}, DType::f32);
  Tensor t = w.compute("T", {16, 16}, {"i", "j"}, [&](Expr i, Expr j) { return x(j, i); });
  Tensor y = w.compute("Y", {16, 16}, {"i", "j"}, [&](Expr i, Expr j) { return t(i, j) * Expr(2.0F); });
  Schedule s(w.output({y}));
  auto T = s.block("T"), Y = s.block("Y");
  s.set_scope(T, Scope::shared);
  auto [i, j] = s.loops<2>(T);
  auto [i_outer, i_lanes] = s.split(i, {infer, 4});
  s.reorder({i_outer, j, i_lanes});
  auto [k, l] = s.loops<2>(Y);
  auto [l_outer, l_lanes] = s.split(l, {infer, 4});
  s.reverse_compute_at(Y, i_outer);
  (void)k;
  (void)l_outer;
  (void)l_lanes;
  auto loops = s.loops(Y);
  auto [rest, lanes] = s.split(loops.back(), {infer, 4});
  (void)rest;
  s.vectorize(i_lanes);
  s.vectorize(lanes);
  kernel::Kernel kernel = lower(s).only();
  EXPECT_EQ(kernel.shared.at(0).alignment, 16);
  std::string text = kernel::print(kernel);
  EXPECT_TRUE(contains(text, "let X_v: f32x4 = X[j*16 + i +: 4]")) << text;
  EXPECT_TRUE(contains(text, "T[j] = X_v.0\n") && contains(text, "T[48 + j] = X_v.3\n")) << text;
  EXPECT_TRUE(contains(text, "let T_v: f32x4 = T[")) << text;
}

/// In the peeled edge, the swizzle is known to move no element of T, so the lanes of a row are contiguous. But
/// the row does not start at a multiple of 4 elements, so each lane is stored separately.
TEST(LowerVectors, WhatOnlyAPeeledEdgeShowsToBeContiguousIsAccessedLaneByLane) {
  Workload w("peeled");
  Tensor x = w.placeholder("X", {5, 4}, DType::f32);
  Tensor t = w.compute("T", {5, 4}, {"i", "j"}, [&](Expr i, Expr j) { return x(i, j) + Expr(1.0F); });
  Tensor y = w.compute("Y", {5, 4}, {"i", "j"}, [&](Expr i, Expr j) { return t(i, j) * Expr(2.0F); });
  Schedule s(w.output({y}));
  auto T = s.block("T");
  s.set_scope(T, Scope::shared);
  s.compute_at(T, s.split(s.loop("Y_i"), {infer, 5})[0]);
  auto loops = s.loops(T);
  Loop lanes = loops.back(), pairs = s.split(loops[loops.size() - 2], {infer, 2})[0];
  s.vectorize(lanes);
  s.partition(pairs);
  s.storage_align(T, 0, 256, 129);
  s.swizzle(T, 1, 3, 5);
  std::string text = kernel::print(lower(s).only());
  EXPECT_TRUE(contains(text, "let X_v: f32x4 = X[")) << text;
  EXPECT_TRUE(contains(text, "T[ax_i_inner'1*129 + 516] = X_v'1.0 + 1.0\n")) << text;
}

TEST(LowerVectors, TheVerifierRefusesWhatIsNoVector) {
  auto make = [](DType dtype, int lanes, Scope scope, const std::function<Expr(const Var &)> &value) {
    auto buffer = std::make_shared<const BufferNode>(
        BufferNode{"X", dtype, {Expr(64)}, scope, scope == Scope::global ? Role::inout : Role::temporary});
    Var v = make_var("v", dtype, lanes);
    kernel::Kernel kernel;
    kernel.name = "k";
    if (scope == Scope::global)
      kernel.params = {buffer}, kernel.aligned[buffer] = 16;
    else
      kernel.local = {{buffer, 0, {}}};
    kernel.body = kernel::make_seq({kernel::make(kernel::Declare{v, load(buffer, {Expr(0)}, {}, {}, lanes)}),
                                    kernel::make(kernel::Store{buffer, {Expr(0)}, value(v), 4})});
    return kernel::find_breach(kernel).value_or("");
  };
  auto whole = [](const Var &v) { return Expr(v); };
  EXPECT_EQ(make(DType::f32, 4, Scope::global, whole), "");
  EXPECT_EQ(make(DType::f32, 3, Scope::global, whole), "X is read by 3 elements of f32, which is no vector");
  EXPECT_EQ(make(DType::f16, 4, Scope::global, whole), "");
  EXPECT_EQ(make(DType::f16, 16, Scope::global, whole), "X is read by 16 elements of f16, which is no vector");
  EXPECT_EQ(make(DType::f32, 4, Scope::local, whole), "X is read by vectors, but registers have none");
  EXPECT_EQ(make(DType::f32, 2, Scope::global, whole), "v has 2 lanes, expected 4");
  EXPECT_EQ(make(DType::f32, 4, Scope::global, [](const Var &v) { return lane(v, 1); }),
            "v.1 has 1 lanes, expected 4");
  EXPECT_EQ(make(DType::f32, 4, Scope::global,
                 [](const Var &v) {
                   return pack({lane(v, 4), 1.0F, 2.0F, 3.0F});
                 }),
            "v has no lane 4");
  EXPECT_EQ(make(DType::f32, 4, Scope::global,
                 [](const Var &v) {
                   return pack({Expr(v) + Expr(1.0F), 1.0F, 2.0F, 3.0F});
                 }),
            "v has 4 lanes where an operator takes one value");
}

TEST(LowerTensorized, BecomesOneCall) {
  Workload w("dots");
  Tensor a = w.placeholder("A", {6, 8}, DType::f32), b = w.placeholder("B", {5, 8}, DType::f32);
  Reduce k = reduce_axis("k", 8);
  Tensor c = w.compute("C", {6, 5}, {"i", "j"}, [&](Expr i, Expr j) { return sum(a(i, k) * b(j, k), k); });
  Schedule s(w.output({c}));
  auto [outer, inner] = s.split(s.loop("k"), {infer, 4});
  (void)outer;
  s.tensorize(inner, "dot4");
  kernel::Kernel kernel = lower(s).only();
  EXPECT_EQ(body_from(kernel, "for k_outer"), R"(      for k_outer < 2:
        let k: i32 = k_outer*4
        let A_v: f32x4 = A[i*8 + k +: 4]
        let B_v: f32x4 = B[j*8 + k +: 4]
        C[i*5 + j] = dot4(A_v, B_v, C[i*5 + j])
)");
}

TEST(Tensorize, LoadsFourBytesAtOnce) {
  Workload w("bytes");
  Tensor a = w.placeholder("A", {3, 8}, DType::i8), b = w.placeholder("B", {5, 8}, DType::i8);
  Reduce k = reduce_axis("k", 8);
  Tensor c = w.compute("C", {3, 5}, {"i", "j"}, [&](Expr i, Expr j) {
    return sum(cast(DType::i32, a(i, k)) * cast(DType::i32, b(j, k)), k);
  });
  Schedule s(w.output({c}));
  s.tensorize(s.split(s.loop("k"), {infer, 4})[1], "dp4a");
  EXPECT_EQ(body_from(lower(s).only(), "for k_outer"), R"(      for k_outer < 2:
        let k: i32 = k_outer*4
        let A_v: i8x4 = A[i*8 + k +: 4]
        let B_v: i8x4 = B[j*8 + k +: 4]
        C[i*5 + j] = dp4a(A_v, B_v, C[i*5 + j])
)");
}

} // namespace
} // namespace nestsmith
