/// Tests asynchronous copies of vectors whose end exists only in part: rows that start at a multiple of a
/// vector but have another length. Results are right at every size, elements past the end are zeros that
/// nothing reads, and the texts compute the same on the host.

#include "codegen/cuda.h"
#include "dsl/ir/tensor.h"
#include "runtime/check/stored_array.h"
#include "runtime/cuda/nvrtc.h"
#include "schedules/fetch.h"
#include "schedules/library/product.h"
#include "tests/codegen/host_text.h"
#include "tests/dsl/support.h"
#include "tests/runtime/check/right.h"
#include "tests/schedules/host_compare.h"

#include <gmock/gmock.h>

namespace nestsmith {
namespace {

using test::expect_refused;
using test::expect_right;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

struct Extents {
  std::int64_t m, n, k;
};

/// The next multiple of 8: rows start at multiples of 16 bytes.
std::int64_t up(std::int64_t n) { return (n + 7) / 8 * 8; }

/// C = 2*A*B, where the rows of A and B have leading dimensions.
Program product_of(Workload &w, const Expr &m, const Expr &n, const Expr &k, const Expr &lda, const Expr &ldb,
                   DType dtype) {
  const DType result = arithmetic_type(dtype);
  Tensor a = w.placeholder("A", {m, k}, dtype, {.leading = lda}),
         b = w.placeholder("B", {k, n}, dtype, {.leading = ldb});
  Reduce r = reduce_axis("k", k);
  Tensor ab = w.compute("AB", {m, n}, {"i", "j"},
                        [&](Expr i, Expr j) { return sum(cast(result, a(i, r)) * cast(result, b(r, j)), r); });
  return w.output({w.compute("C", {m, n}, {"i", "j"}, [&](Expr i, Expr j) { return ab(i, j) * 2; })});
}
Program product(Extents x, DType dtype) {
  Workload w("product");
  return product_of(w, x.m, x.n, x.k, up(x.k), up(x.n), dtype);
}
/// The same for all sizes.
Program product(DType dtype) {
  Workload w("product");
  const Size rows = {.multiple_of = 8};
  Expr m = w.size("M"), n = w.size("N"), k = w.size("K"), lda = w.size("lda", rows), ldb = w.size("ldb", rows);
  return product_of(w, m, n, k, lda, ldb, dtype);
}

/// Tiles of 16 x 16 results. Each of 256 threads copies one vector of 16 bytes of each operand for a step.
struct Tiled {
  Schedule s;
  BlockRef A, B, AB;
  Loop i_outer, j_outer, k_outer;

  Tiled(const Program &program, std::int64_t stages) : s(program), AB(s.block("AB")) {
    const std::int64_t width = 16 / byte_size(program.params[0]->dtype);
    s.set_scope(AB, Scope::local);
    auto i = s.split(s.loop("i"), {infer, 16}), j = s.split(s.loop("j"), {infer, 16});
    i_outer = i[0], j_outer = j[0];
    k_outer = s.split(s.loop("k"), {infer, 16 * width})[0];
    s.reorder({i[0], j[0], i[1], j[1], k_outer});
    auto thread = s.fuse(i[1], j[1]);
    s.reverse_compute_at(s.block("C"), thread);
    s.bind(i[0], Axis::block_y);
    s.bind(j[0], Axis::block_x);
    s.bind(thread, Axis::thread_x);
    A = s.cache_read(AB, "A", Scope::shared);
    B = s.cache_read(AB, "B", Scope::shared);
    for (BlockRef tile : {A, B})
      fetch_async(s, tile, k_outer, 256, {.width = width, .partial = true});
    if (stages > 1)
      s.pipeline(k_outer, {{A, 0, 0}, {B, 0, 1}, {AB, stages - 1, 2}});
  }
};

Schedule tiled(Extents x, DType dtype, std::int64_t stages) { return Tiled(product(x, dtype), stages).s; }

constexpr Extents odd = {18, 35, 71};

TEST(PartialCopies, HaveACount) {
  Schedule s = tiled(odd, DType::f32, 1);
  const std::string text = cuda_kernel(lower(s).only());
  EXPECT_THAT(text, HasSubstr(R"(
    copy_async_part_16(&A_shared[tid * 4], &A[i * 72 + A_k],
        i < 18 ? 4 * min(max(71 - A_k, 0), 4) : 0);
    copy_async_part_16(&B_shared[tid * 4], &B[B_k * 40 + B_j],
        B_k < 71 ? 4 * min(max(35 - B_j, 0), 4) : 0);
)"));
  EXPECT_THAT(text, HasSubstr(R"(
static __device__ __forceinline__ void copy_async_part_16(void *to, const void *from, int count) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" )"));
  EXPECT_THAT(text, Not(HasSubstr("copy_async_16(")));
  EXPECT_THAT(kernel::print(lower(s)),
              HasSubstr("B_shared[tid*4 +: 4] = async (B[B_k*40 + B_j +: 4] where B_k < 71 "
                        "else 0.0), the first min(max(35 - B_j, 0), 4)\n"));
}

/// Where no row ends within a vector, the copy is whole or absent.
TEST(PartialCopies, HaveNoCountWhereVectorsAreWhole) {
  const std::string text = cuda_kernel(lower(tiled({18, 36, 72}, DType::f32, 1)).only());
  EXPECT_THAT(text,
              HasSubstr("copy_async_16(&B_shared[tid * 4], &B[B_k * 40 + B_j], B_k < 72 && B_j < 36);\n"));
  EXPECT_THAT(text, Not(HasSubstr("part")));
}

/// Only the last tile has a count if it has code of its own.
TEST(PartialCopies, HaveNoCountInFullTiles) {
  Tiled t(product({32, 32, 71}, DType::f32), 1);
  t.s.partition(t.k_outer);
  const std::string text = cuda_kernel(lower(t.s).only());
  EXPECT_THAT(text, HasSubstr("copy_async_16(&A_shared[tid * 4], &A[i * 72 + A_k]);\n"));
  EXPECT_THAT(text, HasSubstr("copy_async_part_16(&A_shared[tid * 4], &A[i * 72 + A_k"));
  expect_right(t.s);
}

TEST(PartialCopies, AreRightAtEverySize) {
  for (DType dtype : {DType::f32, DType::u32, DType::bf16, DType::f16})
    for (Extents x : {Extents{1, 1, 1},
                      {2, 3, 5},
                      {15, 17, 63},
                      {16, 16, 64},
                      {17, 15, 65},
                      {7, 31, 127},
                      {33, 29, 131},
                      odd,
                      {16, 33, 200}})
      for (std::int64_t stages : {1, 3})
        expect_right(tiled(x, dtype, stages));
}

TEST(PartialCopies, AreRightAtTheEndOfALongRow) {
  for (std::int64_t n : {1021, 1022, 1023, 1024})
    for (DType dtype : {DType::f32, DType::bf16}) {
      expect_right(tiled({3, n, 37}, dtype, 2));
      expect_right(tiled({5, 19, n}, dtype, 2));
    }
}

TEST(PartialCopies, AreRightInOneKernelForAllSizes) {
  SimExecutor simulator;
  for (DType dtype : {DType::f32, DType::bf16}) {
    Tiled t(product(dtype), 2);
    t.s.partition(t.k_outer);
    const kernel::Plan plan = lower(t.s);
    EXPECT_THAT(cuda_kernel(plan.only()), HasSubstr("min(max(N - B_j, 0), "));
    for (Extents x : {Extents{1, 1, 1}, {17, 33, 65}, {5, 30, 128}, odd}) {
      const std::vector<std::int64_t> sizes = {x.m, x.n, x.k, up(x.k) + 8, up(x.n)};
      CheckResult result = check(t.s, with_sizes(plan, sizes), simulator);
      EXPECT_TRUE(result.passed) << test::all_messages(result);
    }
  }
}

// ---- the library

using library::MatrixTiles;
using library::RegisterTiles;

template <class Tiles> Schedule by_library(Extents x, DType dtype, const Tiles &tiles) {
  Schedule s(product(x, dtype));
  library::product(s, s.block("AB"), tiles);
  return s;
}

TEST(PartialCopies, AreTheWidestThatTheStartsOfRowsAllow) {
  const RegisterTiles registers = {.warps = {1, 2}, .results = {4, 4}};
  const MatrixTiles units = {.warps = {2, 1}, .results = {16, 32}, .steps = 2, .stages = 3};
  EXPECT_THAT(cuda_kernels(lower(by_library({30, 1023, 50}, DType::f32, registers))),
              HasSubstr("copy_async_part_16(&B_shared["));
  for (const char *operand : {"A", "B"})
    EXPECT_THAT(cuda_kernels(lower(by_library({40, 67, 45}, DType::bf16, units))),
                HasSubstr(std::string("copy_async_part_16(&") + operand + "_shared["));
  EXPECT_THAT(cuda_kernels(lower(by_library({40, 64, 64}, DType::bf16, units))), Not(HasSubstr("part")));
}

TEST(PartialCopies, OfTheLibraryAreRight) {
  for (Extents x : {Extents{1, 1, 1}, {33, 65, 17}, {31, 63, 15}, {40, 67, 45}, {13, 131, 101}}) {
    expect_right(by_library(x, DType::f32, RegisterTiles{.warps = {1, 2}, .results = {4, 4}}));
    expect_right(by_library(
        x, DType::f32,
        RegisterTiles{.warps = {1, 1}, .results = {4, 8}, .fragments = true, .joined = true, .spread = true}));
    expect_right(by_library(x, DType::f32,
                            RegisterTiles{.warps = {1, 2}, .results = {4, 4}, .k = 8, .load = {2, 0, false}}));
    for (DType dtype : {DType::bf16, DType::f16})
      expect_right(
          by_library(x, dtype, MatrixTiles{.warps = {2, 1}, .results = {16, 32}, .steps = 2, .stages = 3}));
  }
}

// ---- what the simulator finds

/// The kernel whose partial copies of this operand read `more` elements more.
kernel::Plan with_more(const Schedule &s, const std::string &operand, std::int64_t more) {
  kernel::Plan plan = lower(s);
  std::function<kernel::Stmt(const kernel::Stmt &)> rewrite = [&](const kernel::Stmt &stmt) {
    const auto *store = kernel::as<kernel::Store>(stmt);
    if (!store || !store->count.exists() || store->value.as<Load>()->buffer->name != operand)
      return kernel::map_children(stmt, rewrite);
    kernel::Store copy = *store;
    copy.count = copy.count + int_imm(more, copy.count.dtype());
    return kernel::make(std::move(copy), stmt->origin);
  };
  plan.kernels.front().body = rewrite(plan.kernels.front().body);
  return plan;
}

/// The last row ends at the end of the array.
TEST(PartialCopies, ThatReadAnElementMoreAreOutOfBounds) {
  for (const char *operand : {"A", "B"}) {
    Schedule s = tiled(odd, DType::f32, 2);
    EXPECT_THAT(test::diagnostics(s, with_more(s, operand, 0)), testing::IsEmpty());
    EXPECT_THAT(
        test::diagnostics(s, with_more(s, operand, 1)),
        testing::Contains(HasSubstr(std::string(operand) == "A" ? "A has 1295 elements" : "B has 2835")));
  }
}

TEST(PartialCopies, ThatReadAnElementLessAreWrong) {
  for (const char *operand : {"A", "B"}) {
    Schedule s = tiled(odd, DType::u32, 2);
    SimExecutor simulator;
    EXPECT_FALSE(check(s, with_more(s, operand, -1), simulator).passed);
  }
}

// ---- texts

TEST(PartialCopies, AreTheSameOnTheHost) {
  NEEDS_SANITIZERS();
  std::vector<Subject> subjects;
  auto add = [&](const std::string &name, Schedule s) {
    kernel::Plan plan = lower(s);
    subjects.push_back({name, std::move(s), std::move(plan)});
  };
  for (DType dtype : {DType::f32, DType::bf16})
    for (Extents x : {odd, Extents{3, 5, 7}})
      add(std::string(name(dtype)), tiled(x, dtype, 2));
  add("registers", by_library({33, 65, 17}, DType::f32, RegisterTiles{.warps = {1, 2}, .results = {4, 4}}));
  for (const std::string &problem : differences_on_host(subjects))
    ADD_FAILURE() << problem;
}

TEST(PartialCopies, AreCompiledByNvrtc) {
  const cuda::Nvrtc *nvrtc = nullptr;
  try {
    nvrtc = &cuda::Nvrtc::get();
  } catch (const UserError &error) {
    GTEST_SKIP() << "needs NVRTC: " << error.what();
  }
  if (!cuda::find_headers(nvrtc->library().path))
    GTEST_SKIP() << "needs cuda_bf16.h";
  for (DType dtype : {DType::f32, DType::bf16})
    for (const char *arch : {"sm_80", "sm_90a"}) {
      const kernel::Kernel kernel = lower(tiled(odd, dtype, 2)).only();
      EXPECT_EQ(nvrtc->compile(cuda_kernel(kernel), entry_name(kernel), arch).spill_stores, 0);
    }
}

// ---- refusals

/// Copies rows of `n` elements with this leading dimension to shared memory, in groups of 4. Y has the sums of
/// the rows, or their largest elements.
struct Rows {
  Schedule s;
  BlockRef tile;
  Loop lanes;

  Rows(std::int64_t n, std::int64_t ld, bool largest = false) : s(program(n, ld, largest)) {
    auto Y = s.block("Y");
    Loop outer = s.split(s.loops(Y)[1], {infer, 64})[0];
    tile = s.cache_read(Y, "X", Scope::shared);
    s.compute_at(tile, outer);
    lanes = s.split(s.loops(tile).back(), {infer, 4})[1];
  }

  static Program program(std::int64_t n, std::int64_t ld, bool largest) {
    Workload w("rows");
    Tensor x = w.placeholder("X", {8, n}, DType::f32, {.leading = ld});
    Reduce r = reduce_axis("r", n);
    return w.output(
        {w.compute("Y", {8}, {"i"}, [&](Expr i) { return largest ? max_over(x(i, r), r) : sum(x(i, r), r); })});
  }
};

TEST(PartialCopiesRefuse, RowsThatStartOffAVector) {
  Rows t(1023, 1027);
  t.s.async_copy(t.tile);
  expect_refused(t.s, "vectorize.aligned", [&] { t.s.vectorize(t.lanes); },
                 "which is not always a multiple of 4: rows of 1027 elements are not aligned to it",
                 {t.s.name(t.lanes)});
}

TEST(PartialCopiesRefuse, CopiesThroughRegisters) {
  Rows t(1023, 1024);
  expect_refused(
      t.s, "vectorize.uniform", [&] { t.s.vectorize(t.lanes); },
      "the bound 1023 and each start must be multiples of 4; use a scalar loop for this shape, or make "
      "the copy asynchronous before (async_copy), so that a vector may be partial",
      {t.s.name(t.lanes)});
  t.s.async_copy(t.tile);
  t.s.vectorize(t.lanes);
  expect_right(t.s);
}

/// Past the end of a row, a maximum needs -infinity.
TEST(PartialCopiesRefuse, OtherFillsThanZero) {
  Rows t(1023, 1024, true);
  t.s.async_copy(t.tile);
  t.s.vectorize(t.lanes);
  test::expect_user_error([&] { lower(t.s); }, ExitCode::illegal_schedule,
                          "but an asynchronous copy fills with 0 only; leave the copy synchronous");
}

} // namespace
} // namespace nestsmith
