/// Tests asynchronous copies on the simulator. Results must be right for all shapes and numbers of stages, and
/// each wait, each group and each barrier must be needed for its stated reason.

#include "tests/lowering/fragment_gemm.h"
#include "tests/lowering/tiled_gemm.h"
#include "tests/runtime/check/right.h"
#include "tests/runtime/sim/certificates.h"
#include "tests/runtime/sim/kernel_builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace nestsmith {
namespace {

using test::expect_right;
using test::TiledGemm;
using testing::AllOf;
using testing::HasSubstr;

/// Returns a product with tiles of 4 x 4 x 4. With 1 stage, it has no pipeline.
TiledGemm copied(std::int64_t stages, std::int64_t m, std::int64_t n, std::int64_t k) {
  TiledGemm t(m, n, k);
  for (BlockRef tile : {t.A, t.B})
    t.s.async_copy(tile);
  if (stages > 1)
    t.s.pipeline(t.k_outer, {{t.A, 0, 0}, {t.B, 0, 1}, {t.AB, stages - 1, 2}});
  return t;
}

class Stages : public testing::TestWithParam<std::int64_t> {};

TEST_P(Stages, AreRightForEveryNumberOfIterations) {
  for (std::int64_t k = 1; k <= 22; ++k)
    expect_right(copied(GetParam(), 5, 9, k).s);
}

TEST_P(Stages, AreRightForTailsOnAllSides) {
  for (std::int64_t m : {1, 3, 4, 5, 7})
    for (std::int64_t n : {1, 4, 5, 11})
      expect_right(copied(GetParam(), m, n, 13).s);
}

TEST_P(Stages, AreRightWithFullTilesApart) {
  for (std::int64_t k : {5, 8, 13, 21, 22}) {
    TiledGemm t = copied(GetParam(), 5, 9, k);
    if (k % 4 != 0)
      t.s.partition(t.k_outer);
    t.s.partition(t.s.loop("i_outer"));
    t.s.partition(t.s.loop("j_outer"));
    expect_right(t.s);
  }
}

TEST_P(Stages, NeedEachOfTheirBarriersAndWaits) {
  for (std::int64_t k : {8, 20, 37}) {
    TiledGemm t = copied(GetParam(), 8, 8, k);
    EXPECT_EQ(test::expect_certificates(t.s.source(), lower(t.s).only()), GetParam() == 1 ? 2 : 1);
    EXPECT_EQ(test::expect_wait_certificates(t.s.source(), lower(t.s).only()), 1);
    if (k % 4 == 0)
      continue;
    t.s.partition(t.k_outer);
    test::expect_certificates(t.s.source(), lower(t.s).only());
    EXPECT_GE(test::expect_wait_certificates(t.s.source(), lower(t.s).only()), 2);
  }
}

INSTANTIATE_TEST_SUITE_P(All, Stages, testing::Values(1, 2, 3, 4));

TEST(AsyncCopies, OfDifferentStagesShareTheGroups) {
  for (std::int64_t k : {1, 4, 5, 9, 20, 33}) {
    TiledGemm t(8, 8, k);
    for (BlockRef tile : {t.A, t.B})
      t.s.async_copy(tile);
    t.s.pipeline(t.k_outer, {{t.B, 1, 0}, {t.A, 0, 1}, {t.AB, 3, 2}});
    expect_right(t.s);
    if (k > 12) // otherwise no copy is in flight in the steady state
      test::expect_wait_certificates(t.s.source(), lower(t.s).only(), false);
  }
}

TEST(AsyncCopies, RunBesideOrdinaryTiles) {
  for (std::int64_t stages : {1, 2})
    for (std::int64_t k : {1, 4, 9, 20}) {
      TiledGemm t(5, 9, k);
      t.s.async_copy(t.A);
      if (stages > 1)
        t.s.pipeline(t.k_outer, {{t.A, 0, 0}, {t.B, 0, 1}, {t.AB, stages - 1, 2}});
      expect_right(t.s);
      test::expect_certificates(t.s.source(), lower(t.s).only());
      test::expect_wait_certificates(t.s.source(), lower(t.s).only());
    }
}

TEST(JoinedPipelines, AreRightForEveryNumberOfIterations) {
  for (bool async : {false, true})
    for (std::int64_t stages : {2, 3, 4})
      for (std::int64_t k : {1, 3, 4, 5, 8, 9, 13, 20, 22}) {
        if (!async && stages > 2)
          continue;
        for (std::int64_t last : {2, 0}) { // place the copies after or before the computation
          test::FragmentGemm t(5, 9, k);
          t.join(stages, async, last);
          expect_right(t.s);
          if (k % 4 != 0)
            t.s.partition(t.k_outer);
          t.s.partition(t.s.loop("i_outer"));
          expect_right(t.s);
        }
      }
}

/// A tile has ceildiv(depth, 4) parts, which depth - 1 steps of k_inner copy.
TEST(SpreadCopies, AreRightForEveryNumberOfParts) {
  for (std::int64_t depth : {2, 4, 6, 8, 16})
    for (bool async : {false, true})
      for (std::int64_t k : {1, 7, 24, 29}) {
        test::FragmentGemm t(5, 9, k, depth);
        t.join_and_spread(async ? 3 : 2, async);
        expect_right(t.s);
        if (k % depth != 0)
          t.s.partition(t.k_outer);
        expect_right(t.s);
      }
}

TEST(SpreadCopies, RunBesideCopiesThatAreNotSpread) {
  for (std::int64_t k : {1, 32, 41}) {
    test::FragmentGemm t(5, 9, k, 16);
    t.join(3, true, 0);
    t.spread(t.tiles[1]);
    expect_right(t.s);
  }
}

TEST(SpreadCopies, NeedEachOfTheirBarriersAndWaits) {
  for (bool async : {false, true}) {
    test::FragmentGemm t(8, 8, 41, 16);
    t.join_and_spread(async ? 3 : 2, async);
    EXPECT_GE(test::expect_certificates(t.s.source(), lower(t.s).only()), 2);
    EXPECT_EQ(test::expect_wait_certificates(t.s.source(), lower(t.s).only()), async ? 2 : 0);
  }
}

TEST(JoinedPipelines, NeedEachOfTheirBarriersAndWaits) {
  for (bool async : {false, true})
    for (std::int64_t last : {2, 0})
      for (std::int64_t k : {20, 37}) {
        test::FragmentGemm t(8, 8, k);
        t.join(async ? 3 : 2, async, last);
        EXPECT_GE(test::expect_certificates(t.s.source(), lower(t.s).only()), 2);
        EXPECT_EQ(test::expect_wait_certificates(t.s.source(), lower(t.s).only()), async ? 2 : 0);
      }
}

// ---- diagnostics

/// A block of 64 threads. Each thread copies an element of `x` to `s` asynchronously.
struct Copying {
  sim::KernelBuilder b{"k"};
  Buffer x, out, s;
  Expr t;
  explicit Copying(Role role = Role::input)
      : x(b.param("x", 64, role)), out(b.param("out", 64, Role::output)), s(b.shared("s", 64)),
        t(b.axis(Axis::thread_x, "t", 64)) {}
  static Expr number(std::int64_t n) { return int_imm(n, DType::i32); }
  void copy() { b.copy_async(s, t, load(x, {t})); }
  void use(const Expr &index) { b.store(out, t, load(s, {index})); }

  std::vector<sim::Diagnostic> run() {
    kernel::Kernel kernel = b.build();
    std::vector<Array> arrays;
    for (const Buffer &buffer : kernel.params)
      arrays.emplace_back(buffer->dtype, std::vector<std::int64_t>{64});
    std::vector<sim::Argument> arguments;
    for (Array &array : arrays)
      arguments.push_back({&array});
    return sim::run(kernel, arguments, {}).diagnostics;
  }
  /// Returns the diagnostics, and expects that they are of this kind.
  std::string finding(sim::ErrorKind kind = sim::ErrorKind::in_flight) {
    std::vector<sim::Diagnostic> found = run();
    std::string text;
    for (const sim::Diagnostic &diagnostic : found) {
      EXPECT_EQ(diagnostic.kind, kind) << diagnostic.message;
      text += (text.empty() ? "" : "\n") + diagnostic.message;
    }
    return text;
  }
};

TEST(InFlight, NothingIfTheThreadWaits) {
  Copying c;
  c.copy();
  c.b.commit();
  c.b.wait(0);
  c.use(c.t);
  EXPECT_TRUE(c.run().empty());
}

TEST(InFlight, AReadBeforeTheWait) {
  Copying c;
  c.copy();
  c.b.commit();
  c.use(c.t);
  c.b.wait(0);
  EXPECT_EQ(c.finding(), "thread (0, 0, 0) of block (0, 0, 0) loads s[0] (shared) in `out[t] = s[t]`, but the "
                         "asynchronous copy of "
                         "thread (0, 0, 0) in `s[t] = async x[t]` has not arrived there: no wait of that "
                         "thread lies between them");
}

TEST(InFlight, ABarrierIsNoWait) {
  Copying c;
  c.copy();
  c.b.commit();
  c.b.sync_block();
  c.use(Copying::number(63) - c.t);
  c.b.sync_block();
  c.b.wait(0);
  EXPECT_THAT(c.finding(), AllOf(HasSubstr("thread (0, 0, 0) of block (0, 0, 0) loads s[63]"),
                                 HasSubstr("the asynchronous copy of thread (63, 0, 0)")));
}

TEST(InFlight, AWaitIsNoBarrier) {
  Copying c;
  c.copy();
  c.b.commit();
  c.b.wait(0);
  c.use(binary(BinaryOp::bit_xor, c.t, Copying::number(1)));
  EXPECT_THAT(c.finding(sim::ErrorKind::race),
              HasSubstr("stores it in `wait for copies, 0 pending`, and thread (0, 0, 0)"));
}

TEST(InFlight, ACopyThatIsInNoGroup) {
  Copying c;
  c.copy();
  c.b.wait(0);
  c.use(c.t);
  std::vector<sim::Diagnostic> found = c.run();
  ASSERT_EQ(found.size(), 2U);
  EXPECT_THAT(found[0].message, HasSubstr("has not arrived there"));
  EXPECT_EQ(found[1].message, "block (0, 0, 0): the asynchronous copy of thread (0, 0, 0) in `s[t] = async "
                              "x[t]` to s[0] (shared) is in "
                              "flight at the end of the kernel: no wait of this thread covers it");
}

TEST(InFlight, AWaitThatLeavesTheGroupPending) {
  Copying c;
  c.b.loop("k", Copying::number(2), [&](const Expr &k) {
    c.b.copy_async(c.s, c.t, load(c.x, {c.t}));
    c.b.commit();
    c.b.wait(1);
    c.b.when(Copying::number(0) < k, [&] { c.use(c.t); });
    c.b.wait(0);
  });
  EXPECT_THAT(c.finding(),
              AllOf(HasSubstr("`out[t] = s[t]` at k = 1"), HasSubstr("`s[t] = async x[t]` at k = 1")));
}

TEST(InFlight, AnOverwriteByAStore) {
  Copying c;
  c.copy();
  c.b.commit();
  c.b.store(c.s, c.t, Expr(1.0F));
  c.b.wait(0);
  c.use(c.t);
  EXPECT_THAT(c.finding(),
              AllOf(HasSubstr("stores s[0] (shared) in `s[t] = 1.0`"), HasSubstr("has not arrived there")));
}

TEST(InFlight, AnOverwriteByAnotherCopy) {
  Copying c;
  c.copy();
  c.copy();
  c.b.commit();
  c.b.wait(0);
  EXPECT_THAT(c.finding(), HasSubstr("stores s[0] (shared) in `s[t] = async x[t]`"));
}

TEST(InFlight, AnOverwriteOfTheSource) {
  Copying c(Role::inout);
  c.copy();
  c.b.commit();
  c.b.store(c.x, c.t, Expr(1.0F));
  c.b.wait(0);
  EXPECT_THAT(c.finding(), AllOf(HasSubstr("stores x[0] (global) in `x[t] = 1.0`"),
                                 HasSubstr("`s[t] = async x[t]` still reads it")));
}

/// The destination is overwritten while another thread may still read it.
TEST(InFlight, AnOverwriteOfWhatIsReadIsARace) {
  Copying c;
  c.b.store(c.s, c.t, Expr(1.0F));
  c.b.sync_block();
  c.use(Copying::number(63) - c.t);
  c.copy();
  c.b.commit();
  c.b.wait(0);
  EXPECT_THAT(c.finding(sim::ErrorKind::race), HasSubstr("s[t] = async x[t]"));
}

/// Each thread stores to the destination before its own copy to it. After the wait, it may read the element.
TEST(InFlight, DataArrivesAtTheWait) {
  Copying c;
  c.b.store(c.s, c.t, Expr(0.0F));
  c.copy();
  c.b.commit();
  c.b.wait(0);
  c.use(c.t);
  EXPECT_TRUE(c.run().empty());
}

TEST(InFlight, AMaskedCopyFillsWithZeros) {
  Copying c;
  c.b.copy_async(c.s, c.t, load(c.x, {c.t + Copying::number(60)}, c.t < Copying::number(4), Expr(0.0F)));
  c.b.commit();
  c.b.wait(0);
  c.use(c.t);
  EXPECT_TRUE(c.run().empty());
}

/// A thread computes the address of a masked copy, and so it loads an index there, also where the mask is
/// false.
TEST(InFlight, AnIndexThatTheMaskOfTheCopyDoesNotGuard) {
  for (bool guarded : {false, true}) {
    Copying c;
    const Expr inside = c.t < Copying::number(4), at = c.t + Copying::number(60);
    const Buffer rows = c.b.param("rows", 64, Role::input, DType::i32);
    const Expr row = guarded ? load(rows, {at}, inside, Copying::number(0)) : load(rows, {at});
    c.b.copy_async(c.s, c.t, load(c.x, {row}, inside, Expr(0.0F)));
    c.b.commit();
    c.b.wait(0);
    c.use(c.t);
    EXPECT_THAT(c.finding(sim::ErrorKind::out_of_bounds),
                guarded ? testing::IsEmpty() : testing::Matcher<std::string>(HasSubstr("loads rows[64]")));
  }
}

TEST(InFlight, ACopyOutOfBounds) {
  Copying c;
  c.b.copy_async(c.s, c.t + Copying::number(1), load(c.x, {c.t}));
  c.b.commit();
  c.b.wait(0);
  EXPECT_THAT(c.finding(sim::ErrorKind::out_of_bounds), HasSubstr("stores s[64] (shared)"));
}

} // namespace
} // namespace nestsmith
