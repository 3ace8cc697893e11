/// Tests schedules of programs whose sizes are known only at launch.

#include "dsl/ir/specialise.h"
#include "dsl/schedule/trace.h"
#include "tests/dsl/support.h"

namespace nestsmith {
namespace {

using test::expect_refused;
using test::expect_user_error;

/// C = A*B for any M, N and K, with a leading dimension for A.
Program product(const Size &stated = {}) {
  Workload w("product");
  Expr M = w.size("M", stated), N = w.size("N", stated), K = w.size("K", stated), lda = w.size("lda", stated);
  Tensor a = w.placeholder("A", {M, K}, DType::u32, {.leading = lda}),
         b = w.placeholder("B", {K, N}, DType::u32);
  Reduce r = reduce_axis("k", K);
  Tensor c = w.compute("C", {M, N}, {"i", "j"}, [&](Expr i, Expr j) { return sum(a(i, r) * b(r, j), r); });
  return w.output({c});
}

/// Expects that the program after each directive computes the results of the source, at several sizes.
void expect_same_meaning(const Schedule &schedule) {
  for (std::vector<std::int64_t> sizes :
       {std::vector<std::int64_t>{1, 1, 1, 1}, {5, 7, 3, 4}, {4, 4, 4, 4}, {9, 2, 6, 6}}) {
    sizes.resize(schedule.source().sizes.size());
    EXPECT_TRUE(test::same_meaning(schedule, sizes));
  }
}

TEST(Sizes, StandInThePrintedProgram) {
  EXPECT_EQ(
      print(product({.max = 4096, .multiple_of = 4})),
      "product(A: u32[M, K] strides lda, 1, B: u32[K, N], out C: u32[M, N]):\n"
      "size M up to 4096 multiple of 4, N up to 4096 multiple of 4, K up to 4096 multiple of 4, lda up to "
      "4096 multiple of 4\n"
      "for i < M:\n"
      "  for j < N:\n"
      "    for k < K:\n"
      "      block C(i = i, j = j, sum k = k):\n"
      "        init C[i, j] = 0\n"
      "        C[i, j] = C[i, j] + A[i, k]*B[k, j]\n");
}

TEST(Sizes, KeepTheirMeaningThroughATiling) {
  Schedule s(product());
  auto C = s.block("C");
  auto [i, j, k] = s.loops<3>(C);
  auto [i_outer, i_inner] = s.split(i, {infer, 4});
  auto [j_outer, j_inner] = s.split(j, {infer, 2});
  auto [k_outer, k_inner] = s.split(k, {infer, 4});
  s.reorder({i_outer, j_outer, i_inner, j_inner, k_outer, k_inner});
  auto writeback = s.cache_write(C, Scope::local);
  auto thread = s.fuse(i_inner, j_inner);
  s.reverse_compute_at(writeback, thread);
  s.bind(i_outer, Axis::block_y);
  s.bind(j_outer, Axis::block_x);
  s.bind(thread, Axis::thread_x);
  for (const char *operand : {"A", "B"}) {
    auto tile = s.cache_read(C, operand, Scope::shared);
    s.compute_at(tile, k_outer);
    auto loops = s.loops_below(tile, k_outer);
    auto element = s.fuse(loops[0], loops[1]);
    auto [round, fetch] = s.split(element, {infer, 8});
    s.bind(fetch, Axis::thread_x);
    s.unroll(round);
  }
  s.unroll(k_inner);
  EXPECT_TRUE(s.obligations().empty());
  expect_same_meaning(s);
}

TEST(Sizes, KeepTheirMeaningThroughFusedLoopsThatAreSplitAgain) {
  Schedule s(product());
  auto C = s.block("C");
  auto [i, j, k] = s.loops<3>(C);
  auto writeback = s.cache_write(C, Scope::local);
  s.reorder({j, i});
  auto element = s.fuse(j, i);
  s.reverse_compute_at(writeback, element);
  auto [block, thread] = s.split(element, {infer, 8});
  s.bind(block, Axis::block_x);
  s.bind(thread, Axis::thread_x);
  EXPECT_TRUE(s.obligations().empty());
  expect_same_meaning(s);
}

/// Tiles that are rounded up cover all sizes, also in nested tiles and in fused loops.
TEST(Sizes, AreCoveredByTilesThatAreRoundedUp) {
  for (std::int64_t multiple : {1, 8})
    for (int tiling = 0; tiling < 5; ++tiling) {
      Workload w("triple");
      Expr M = w.size("M", {.multiple_of = multiple}), N = w.size("N", {.multiple_of = multiple});
      Tensor x = w.placeholder("X", {M, N}, DType::u32);
      Tensor y = w.compute("Y", {M, N}, {"i", "j"}, [&](Expr i, Expr j) { return x(i, j) * 3; });
      Schedule s(w.output({y}));
      auto [i, j] = s.loops<2>(s.block("Y"));
      if (tiling == 4)
        s.split(s.fuse(i, j), {infer, 96});
      if (tiling < 4) {
        auto [i_outer, i_inner] = s.split<2>(i, {infer, 12});
        auto [j_outer, j_inner] = s.split<2>(j, {infer, 16});
        s.reorder({i_outer, j_outer, i_inner, j_inner});
        if (tiling == 1)
          s.split(i_outer, {infer, 5});
        else if (tiling > 1)
          j_outer = s.fuse(i_outer, j_outer);
        if (tiling == 3)
          s.split(j_outer, {infer, 8});
      }
      s.cache_write(s.block("Y"), Scope::local);
    }
}

TEST(Sizes, OfSlicesAndBroadcasts) {
  for (bool slice : {false, true})
    for (std::int64_t tile : {1, 4}) {
      Workload w("reader");
      Expr M = w.size("M"), N = w.size("N");
      Tensor x = w.placeholder("X", {M + 3}, DType::u32), z = w.placeholder("Z", {M, N}, DType::u32);
      Tensor t = w.compute("T", {M + 3}, {"i"}, [&](Expr i) -> Definition { return x(i) * 3; });
      Tensor y = w.compute("Y", {M, N}, {"i", "j"},
                           [&](Expr i, Expr j) -> Definition { return z(i, j) + t(slice ? i + 3 : i); });
      Schedule s(w.output({y}));
      s.reverse_compute_at(s.block("Y"), s.split(s.loops(s.block("T"))[0], {infer, tile})[0]);
      expect_same_meaning(s);
    }
}

TEST(Sizes, OfTheRightMultipleNeedNoGuard) {
  Schedule guarded(product({.multiple_of = 4})), exact(product({.multiple_of = 8}));
  for (Schedule *s : {&guarded, &exact})
    for (const char *loop : {"i", "j", "k"})
      s->split(s->loop(loop), {infer, 8});
  EXPECT_TRUE(test::contains(print(guarded.program()), " where i < M, j < N, k < K"));
  EXPECT_FALSE(test::contains(print(exact.program()), " where "));
  EXPECT_TRUE(test::contains(print(exact.program()), "for i_outer < M//8:"));
}

TEST(Sizes, RefuseWhatNeedsAConstant) {
  Schedule s(product());
  Loop i = s.loop("i"), j = s.loop("j"), k = s.loop("k");
  expect_refused(s, "unroll.constant", [&] { s.unroll(k); },
                 "the loop k has K iterations, a number known only at launch, and only a loop of a constant "
                 "extent can be unrolled; split it and use the inner loop",
                 {"k"});
  expect_refused(s, "bind.constant", [&] { s.bind(i, Axis::thread_x); },
                 "only a loop of a constant extent can be bound to threadIdx.x; split it", {"i"});
  auto refuses = [&](std::vector<std::int64_t> factors, const std::string &remedy) {
    expect_refused(s, "split.outermost", [&] { s.split(i, factors); },
                   "the loop i has M iterations, a number known only at launch; infer the first factor and no "
                   "other, as in " +
                       remedy,
                   {"i"});
  };
  refuses({4, infer}, "{infer, 4}; reorder can then move the loop of the inferred factor inside");
  refuses({4, infer, 2}, "{infer, 4, 2}; reorder");
  refuses({64, 32}, "{infer, 32}");
  refuses({64}, "{infer}");
  expect_user_error([&] { s.extent(j); }, ExitCode::illegal_schedule,
                    "the loop j has N iterations, a number known only at launch");
  s.bind(i, Axis::block_x);
  expect_refused(s, "bind.extent", [&] { s.bind(j, Axis::block_x); },
                 "the loop j has N iterations, but i on blockIdx.x has M; split it so that they agree",
                 {"i", "j"});
}

/// For any M, four blocks share the rows. The constant loop is outside of the loop whose extent depends on M.
TEST(Sizes, AConstantLoopAroundALoopOfSizes) {
  Schedule s(product());
  auto [i, j, k] = s.loops<3>(s.block("C"));
  auto [turn, block] = s.split<2>(i, {infer, 4});
  s.reorder({block, turn});
  s.bind(block, Axis::block_x);
  EXPECT_TRUE(s.obligations().empty());
  expect_same_meaning(s);
}

TEST(Sizes, OweAConstantTile) {
  Schedule s(product());
  auto C = s.block("C");
  auto [i, j, k] = s.loops<3>(C);
  auto [i_outer, i_inner] = s.split(i, {infer, 32});
  auto tile = s.cache_read(C, "A", Scope::shared);
  s.compute_at(tile, i_outer);
  bool said = false;
  for (const Obligation &one : s.obligations())
    said = said || test::contains(one.message, "A_shared has 32 x K elements in shared memory");
  EXPECT_TRUE(said);
}

TEST(Sizes, AreStatedWithinReason) {
  auto state = [](Size size) { Workload("w").size("M", size); };
  expect_user_error([&] { state({.min = 0}); }, ExitCode::usage, "the size 'M' has the range 0 to 1073741824");
  expect_user_error([&] { state({.min = 9, .max = 8}); }, ExitCode::usage, "the range 9 to 8");
  expect_user_error([&] { state({.min = 5, .max = 7, .multiple_of = 4}); }, ExitCode::usage,
                    "but no number from 1 to 2^40 satisfies both");
  expect_user_error([&] { state({.multiple_of = 0}); }, ExitCode::usage, "has .multiple_of = 0");
  for (std::int64_t usual : {-16, 8, 24, 4096})
    expect_user_error([&] { state({.min = 16, .max = 1024, .multiple_of = 16, .usual = usual}); },
                      ExitCode::usage, "expected a multiple of 16 from 16 to 1024");
  Workload w("w");
  Expr M = w.size("M"), ld = w.size("ld", {.max = 8});
  expect_user_error([&] { w.size("M"); }, ExitCode::usage, "the name 'M' is taken");
  expect_user_error([&] { w.placeholder("x", {M}, DType::f32, {.leading = ld}); }, ExitCode::usage,
                    "'x' has 1 dimensions, expected at least 2 for a leading dimension");
  expect_user_error(
      [&] {
        w.placeholder("y", {M, 16}, DType::f32, {.leading = ld});
      },
      ExitCode::usage, "the leading dimension of 'y' is ld, expected at least the length of a row, 16");
  expect_user_error(
      [&] {
        w.placeholder("z", {M, 16}, DType::f32, {.leading = M + 1});
      },
      ExitCode::usage, "the leading dimension of 'z' is neither a size nor a constant");
  expect_user_error(
      [&] {
        w.placeholder("rows", {Expr(40), Expr(20)}, DType::f32, {Expr((std::int64_t{1} << 61) + 1)});
      },
      ExitCode::usage,
      "'rows' may span more than 2^60 elements with the leading dimension 2305843009213693953; make it or the "
      "shape "
      "smaller, or state smaller sizes");
  w.placeholder("widest", {Expr(1 << 20), Expr(20)}, DType::f32, {Expr(std::int64_t{1} << 40)});
  expect_user_error(
      [&] {
        w.placeholder("t", {M, M, 2}, DType::f32);
      },
      ExitCode::usage, "'t' may have more than 2^60 elements; state smaller sizes");
  expect_user_error(
      [&] {
        w.placeholder("u", {M - 1, 2}, DType::f32);
      },
      ExitCode::usage, "'u' has the extent M - 1, expected a constant or an expression of sizes, at least 1");
}

TEST(Sizes, StandInATraceThatReplays) {
  Schedule s(product({.multiple_of = 4}));
  auto [i_outer, i_inner] = s.split(s.loop("i"), {infer, 8});
  s.bind(i_outer, Axis::block_x);
  std::string json = to_json(trace_file(s, {8, 8, 8}, DType::u32));
  TraceFile file = parse_trace(json, "trace");
  ASSERT_EQ(file.sizes.size(), 4U);
  EXPECT_EQ(file.sizes[3], std::pair(std::string("lda"), Size{.multiple_of = 4}));
  Schedule again = replay(file, product({.multiple_of = 4}), Target{}, "trace");
  EXPECT_EQ(print(again.program()), print(s.program()));
  EXPECT_EQ(to_json(trace_file(again, {8, 8, 8}, DType::u32)), json);
  expect_user_error([&] { replay(file, product(), Target{}, "trace"); }, ExitCode::usage,
                    "trace: its sizes differ from those of the computation");
}

} // namespace
} // namespace nestsmith
