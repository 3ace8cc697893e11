/// Tests the requirements of a launcher on its arguments. The emitted files are compiled for the host and
/// called on it (tests/codegen/host_text.h).

#include "codegen/emit.h"
#include "dsl/ir/tensor.h"
#include "lowering/lower.h"
#include "tests/codegen/host_text.h"

#include <gmock/gmock.h>

namespace nestsmith {
namespace {

/// C = A*B with C: M x N. The leading dimensions of A and C are sizes of their own. The kernel accesses C
/// by vectors if the sizes are multiples of 4.
kernel::Plan product(const Size &stated) {
  Workload w("product");
  Expr m = w.size("M", stated), n = w.size("N", stated), k = w.size("K", stated);
  Expr lda = w.size("lda", stated), ldc = w.size("ldc", stated);
  Tensor a = w.placeholder("A", {m, k}, DType::f32, {lda}), b = w.placeholder("B", {k, n});
  Reduce r = reduce_axis("k", k);
  Tensor c = w.compute("C", {m, n}, {"i", "j"}, [&](Expr i, Expr j) { return sum(a(i, r) * b(r, j), r); });
  Schedule s(w.output({{c, {ldc}}}));
  BlockRef sums = s.block("C"), copy = s.cache_write(sums, Scope::local);
  auto loops = s.loops<3>(sums);
  auto j = s.split(loops[1], {infer, 4, 4});
  s.reorder({loops[0], j[0], j[1], loops[2], j[2]});
  s.reverse_compute_at(copy, j[1]);
  if (stated.multiple_of % 4 == 0)
    s.vectorize(s.loops(copy).back());
  s.bind(loops[0], Axis::block_y);
  s.bind(j[0], Axis::block_x);
  s.bind(j[1], Axis::thread_x);
  return lower(s);
}

/// Appends a main to the file. `says(change, sentence)` changes the arguments of a valid call and compares the
/// requirement that the launcher names with `sentence`, or with null if the call stays valid. It also compares
/// the returned error. The exit status is the number of the last call with a difference.
std::string with_main(const std::string &file, const std::string &checks) {
  return file + R"(
alignas(256) static float memory_a[64 * 64], memory_b[64 * 64], memory_c[64 * 64];
static int calls = 0, failed = 0;
struct Call {
  const float *A = memory_a, *B = memory_b;
  float *C = memory_c;
  long long M = 4, N = 8, K = 4, lda = 8, ldc = 12;
};
template <class F> static void says(const F &change, const char *sentence) {
  ++calls;
  Call it;
  change(it);
  const char *got = product_requirement(it.A, it.B, it.C, it.M, it.N, it.K, it.lda, it.ldc);
  cudaError_t error = product_launch(it.A, it.B, it.C, it.M, it.N, it.K, it.lda, it.ldc, nullptr);
  bool same = sentence && got ? strcmp(sentence, got) == 0 : sentence == got;
  if (same && error == (sentence ? cudaErrorInvalidValue : cudaSuccess))
    return;
  failed = calls;
}
int main() {
)" + checks +
         "  return failed;\n}\n";
}

TEST(Requirements, OfSizes) {
  EXPECT_EQ(run_on_host(with_main(emit({}, product({.max = 100000})), R"(
  says([](Call &) {}, nullptr);
  says([](Call &it) { it.M = -1; }, "M must be from 0 to 100000");
  says([](Call &it) { it.N = 100001; }, "N must be from 0 to 100000");
  says([](Call &it) { it.K = 4294967297; }, "K must be from 0 to 100000");
  says([](Call &it) { it.lda = 3; }, "lda, the leading dimension of A, must be at least K");
  says([](Call &it) { it.lda = 4; }, nullptr);
  says([](Call &it) { it.ldc = 7; }, "ldc, the leading dimension of C, must be at least N");
  says([](Call &it) { it.M = 65536; }, "the grid's extent on blockIdx.y, M, must be at most 65535");
  says([](Call &it) { it.M = 1; it.N = 1; it.K = 1; it.lda = 1; it.ldc = 1; }, nullptr);
)")),
            0);
}

TEST(Requirements, OfMultiplesAndAlignedVectors) {
  EXPECT_EQ(run_on_host(with_main(emit({}, product({.min = 4, .max = 4096, .multiple_of = 4})), R"(
  says([](Call &) {}, nullptr);
  says([](Call &it) { it.M = 6; }, "M must be a multiple of 4");
  says([](Call &it) { it.ldc = 14; }, "ldc must be a multiple of 4");
  says([](Call &it) { it.K = 3; }, "K must be 0, or from 4 to 4096");
  says([](Call &it) { it.M = 0; }, nullptr);
  says([](Call &it) { it.M = 0; it.C = memory_c + 1; }, nullptr);
  says([](Call &it) { it.K = 0; }, "K must be at least 4, unless M or N is 0");
  says([](Call &it) { it.C = memory_c + 1; }, "C must be aligned to 16 bytes");
  says([](Call &it) { it.C = memory_c + 4; }, nullptr);
  says([](Call &it) { it.A = memory_a + 1; }, nullptr);
)")),
            0);
}

TEST(Requirements, OfArrays) {
  EXPECT_EQ(run_on_host(with_main(emit({}, product({})), R"(
  says([](Call &it) { it.A = nullptr; }, "A must not be null");
  says([](Call &it) { it.B = nullptr; }, "B must not be null");
  says([](Call &it) { it.C = nullptr; }, "C must not be null");
  says([](Call &it) { it.C = (float *)((char *)memory_c + 1); }, "C must be aligned to 4 bytes");
  says([](Call &it) { it.A = (const float *)((const char *)memory_a + 2); }, "A must be aligned to 4 bytes");
  says([](Call &it) { it.B = it.A; }, nullptr);
  says([](Call &it) { it.C = memory_a + 3; }, "A and C must not overlap");
  says([](Call &it) { it.C = memory_b + 31; }, "B and C must not overlap");
  says([](Call &it) { it.C = memory_b + 32; }, nullptr);
  says([](Call &it) { it.A = memory_c + 44; }, nullptr);
  says([](Call &it) { it.A = memory_c + 43; }, "A and C must not overlap");
)")),
            0);
}

/// If there is nothing to compute, the launcher launches nothing and accesses no array. It still checks the
/// other sizes, and it refuses a sum of no terms.
TEST(Requirements, OfSizesOf0) {
  std::string checks = R"(
  says([](Call &it) { it.M = 0; }, nullptr);
  says([](Call &it) { it.N = 0; }, nullptr);
  says([](Call &it) { it.M = 0; it.A = it.B = it.C = nullptr; }, nullptr);
  says([](Call &it) { it.M = 0; it.C = memory_a; }, nullptr);
  says([](Call &it) { it.M = 0; it.N = 0; it.K = 0; it.lda = 0; it.ldc = 0; }, nullptr);
  says([](Call &it) { it.N = 0; it.M = 65536; }, nullptr);
  says([](Call &it) { it.M = 0; it.lda = 3; }, "lda, the leading dimension of A, must be at least K");
  says([](Call &it) { it.M = 0; it.N = -1; }, "N must be from 0 to 100000");
  says([](Call &it) { it.K = 0; }, "K must be at least 1, unless M or N is 0");
  says([](Call &it) { it.K = 0; it.lda = 0; }, "K must be at least 1, unless M or N is 0");
  if (host::launches() != 0) return 99;
  says([](Call &) {}, nullptr);
  if (host::launches() != 1) return 98;
)";
  EXPECT_EQ(run_on_host(with_main(emit({}, product({.max = 100000})), checks)), 0);
}

/// If no output has an element, there is nothing to compute. The launcher refuses a size of 0 if another output
/// still has elements. It also refuses a sum of length 0 if the result always has an element.
TEST(Requirements, OfSizesThatDoNotEmptyEveryResult) {
  auto scheduled = [](Workload &w, const std::vector<Tensor> &outputs) {
    Schedule s(w.output({outputs.begin(), outputs.end()}));
    for (const Tensor &output : outputs)
      s.bind(s.loops(s.block(output.buffer()->name)).front(), Axis::block_x);
    return emit({}, lower(s));
  };
  Workload two("two");
  Expr m = two.size("M"), n = two.size("N");
  Tensor x = two.placeholder("X", {m}), y = two.placeholder("Y", {n});
  Tensor u = two.compute("U", {m}, {"i"}, [&](Expr i) -> Definition { return x(i) + 1.0F; });
  Tensor v = two.compute("V", {n}, {"j"}, [&](Expr j) -> Definition { return y(j) + 1.0F; });
  EXPECT_EQ(run_on_host(scheduled(two, {u, v}) + R"(
static bool says(const char *sentence, long long M, long long N) {
  static float X[4], Y[4], U[4], V[4];
  const char *got = two_requirement(X, Y, U, V, M, N);
  return (sentence && got ? strcmp(sentence, got) == 0 : sentence == got) &&
         two_launch(X, Y, U, V, M, N, nullptr) == (got ? cudaErrorInvalidValue : cudaSuccess);
}
int main() {
  if (!says(nullptr, 0, 0) || host::launches() != 0) return 1;
  if (!says("M must be at least 1, unless M is 0 and N is 0", 0, 4)) return 2;
  if (!says("N must be at least 1, unless M is 0 and N is 0", 4, 0)) return 3;
  return says(nullptr, 4, 4) && host::launches() == 2 ? 0 : 4;
}
)"),
            0);
  Workload total("total");
  Expr k = total.size("K");
  Tensor z = total.placeholder("Z", {k});
  Reduce r = reduce_axis("k", k);
  Tensor t = total.compute("T", {2}, {"i"}, [&](Expr) { return sum(z(r), r); });
  EXPECT_EQ(run_on_host(scheduled(total, {t}) + R"(
int main() {
  float Z[2] = {1, 2}, T[2];
  const char *got = total_requirement(Z, T, 0);
  if (!got || strcmp(got, "K must be from 1 to 1073741824") != 0) return 1;
  return total_launch(Z, T, 2, nullptr) == cudaSuccess && T[1] == 3 ? 0 : 2;
}
)"),
            0);
}

/// Y[i, j] = X[i, j] + Z[j + N/2] for j < N, with L columns in X and P elements in Z: a launch needs N <= L and
/// N + N/2 <= P, unless it has nothing to compute.
TEST(Requirements, OfSizesThatReadsRelate) {
  Workload w("wider");
  Expr m = w.size("M"), n = w.size("N"), l = w.size("L"), p = w.size("P");
  Tensor x = w.placeholder("X", {m, l}), z = w.placeholder("Z", {p}), v = w.placeholder("V", {n});
  Tensor y = w.compute("Y", {m, n}, {"i", "j"}, [&](Expr i, Expr j) {
    return x(i, j) + z(j + n / 2) + v.where(j + l < n, j + l) + z.where(j < p, j);
  });
  Schedule s(w.output({y}));
  s.bind(s.loops(s.block("Y")).front(), Axis::block_x);
  kernel::Plan plan = lower(s);
  std::string text = emit({}, plan);
  EXPECT_THAT(text, testing::HasSubstr("// Requires: the extent of X in dimension 1 at least N\n"));
  EXPECT_THAT(text, testing::HasSubstr("// Requires: the extent of Z in dimension 0 at least N + N//2\n"));
  EXPECT_EQ(run_on_host(text + R"(
static float X[64], Z[64], V[64], Y[64];
static bool says(const char *sentence, long long M, long long N, long long L, long long P) {
  const char *got = wider_requirement(X, Z, V, Y, M, N, L, P);
  return (sentence && got ? strcmp(sentence, got) == 0 : sentence == got) &&
         wider_launch(X, Z, V, Y, M, N, L, P, nullptr) == (got ? cudaErrorInvalidValue : cudaSuccess);
}
int main() {
  for (int n = 0; n < 64; ++n) X[n] = n, Z[n] = 100 * n;
  if (!says(nullptr, 2, 3, 5, 7) || Y[1] != 1 + 200 + 100 || Y[3] != 5 + 100) return 1;
  if (!says(nullptr, 2, 3, 3, 4) || Y[5] != 5 + 300 + 200) return 2;
  if (!says("the extent of X in dimension 1, L, must be at least N", 2, 4, 3, 7)) return 3;
  if (!says("the extent of Z in dimension 0, P, must be at least N + N//2", 2, 4, 4, 5)) return 4;
  if (!says(nullptr, 2, 4, 4, 6)) return 5;
  if (!says(nullptr, 0, 4, 3, 1) || !says(nullptr, 4, 0, 0, 0)) return 6;
  if (!says("the extent of X in dimension 1, L, must be at least N", 1, 2, 1, 64)) return 7;
  return says(nullptr, 1, 1, 1, 1) && host::launches() == 4 ? 0 : 8;
}
)"),
            0);
  for (const std::vector<std::int64_t> &sizes : {std::vector<std::int64_t>{2, 4, 3, 7}, {2, 4, 4, 5}})
    EXPECT_THROW(kernel::with_sizes(plan, sizes), UserError);
  try {
    kernel::with_sizes(plan, std::vector<std::int64_t>{2, 4, 3, 7});
  } catch (const UserError &error) {
    EXPECT_STREQ(error.what(),
                 "the extent of X in dimension 1 is 3, but the kernel wider was made for sizes where "
                 "it is at least N");
  }
}

/// Y reads X from its end: the least index is L - N.
TEST(Requirements, OfSizesThatReadsFromTheEndRelate) {
  Workload w("turned");
  Expr n = w.size("N"), l = w.size("L");
  Tensor x = w.placeholder("X", {l});
  Tensor y = w.compute("Y", {n}, {"i"}, [&](Expr i) -> Definition { return x(l - 1 - i); });
  Schedule s(w.output({y}));
  s.bind(s.loops(s.block("Y")).front(), Axis::block_x);
  EXPECT_EQ(run_on_host(emit({}, lower(s)) + R"(
int main() {
  float X[5] = {1, 2, 3, 4, 5}, Y[5] = {};
  const char *got = turned_requirement(X, Y, 4, 3);
  if (!got || strcmp(got, "the least index of X in dimension 0, L - N, must be at least 0") != 0) return 1;
  if (turned_launch(X, Y, 4, 3, nullptr) != cudaErrorInvalidValue || Y[0] != 0) return 2;
  return turned_launch(X, Y, 3, 5, nullptr) == cudaSuccess && Y[0] == 5 && Y[2] == 3 ? 0 : 3;
}
)"),
            0);
}

} // namespace
} // namespace nestsmith
