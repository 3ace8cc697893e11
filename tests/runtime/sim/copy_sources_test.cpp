/// Tests the sources of asynchronous copies, waits without copies, and the alignment of vectors in masked
/// lanes.

#include "tests/runtime/sim/kernel_builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace nestsmith::sim {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string once(const kernel::Kernel &kernel) {
  Result result = run_zeroed(kernel);
  return result.good() ? "good"
                       : std::string(name(result.diagnostics[0].kind)) + ": " + result.diagnostics[0].message;
}

/// 64 threads copy x to shared memory. Then threads overwrite elements of x.
struct CopyAndOverwrite {
  KernelBuilder b{"copy"};
  Buffer x = b.param("x", 64, Role::inout), out = b.param("out", 64, Role::output), s = b.shared("s", 64);
  Expr t = b.axis(Axis::thread_x, "t", 64);
  static Expr i32(std::int64_t n) { return int_imm(n, DType::i32); }

  void copy() {
    b.copy_async(s, t, at(x, t));
    b.commit();
  }
  void overwrite(const Expr &element) { b.store(x, element, 2.0f); }
  std::string result() {
    b.store(out, t, at(s, t));
    return once(b.build());
  }
};

TEST(SourcesOfCopies, AreReadUntilTheWaitOfTheCopier) {
  for (std::int64_t other : {1, 32, 63}) // another lane of the warp, and another warp
    for (const char *between : {"", "warp", "block"}) {
      for (bool ordered : {false, true}) {
        CopyAndOverwrite k;
        k.copy();
        if (between == std::string("warp"))
          k.b.sync_warp();
        if (between == std::string("block"))
          k.b.sync_block();
        k.b.wait(0);
        if (ordered)
          k.b.sync_block();
        k.overwrite((k.t + other) % CopyAndOverwrite::i32(64));
        std::string found = k.result();
        if (ordered) {
          EXPECT_EQ(found, "good") << other << between;
          continue;
        }
        EXPECT_THAT(found, AllOf(HasSubstr("race: x["), HasSubstr("stores it in `x["),
                                 HasSubstr("loads it in `s[t] = async x[t]`")))
            << other << between;
      }
    }
}

TEST(SourcesOfCopies, MayBeOverwrittenByTheCopierAfterItsWait) {
  CopyAndOverwrite k;
  k.copy();
  k.b.sync_block();
  k.b.wait(0);
  k.overwrite(k.t);
  EXPECT_EQ(k.result(), "good");
  CopyAndOverwrite early;
  early.copy();
  early.overwrite(early.t);
  early.b.wait(0);
  EXPECT_THAT(early.result(), HasSubstr("still reads it: no wait of that thread lies between them"));
}

TEST(SourcesOfCopies, MayBeOverwrittenByTheWarpAfterItsBarrier) {
  CopyAndOverwrite k;
  k.copy();
  k.b.sync_block();
  k.b.wait(0);
  k.b.sync_warp();
  k.overwrite(k.t / CopyAndOverwrite::i32(32) * 32 + (k.t + 1) % CopyAndOverwrite::i32(32));
  EXPECT_EQ(k.result(), "good");
}

/// The sources must not be overwritten if the wait leaves the second group in flight.
TEST(SourcesOfCopies, AreReadUntilTheWaitThatCoversThem) {
  for (std::int64_t pending : {0, 1}) {
    CopyAndOverwrite k;
    Buffer second = k.b.shared("second", 64);
    k.copy();
    k.b.copy_async(second, k.t, at(k.x, k.t));
    k.b.commit();
    k.b.wait(pending);
    k.b.sync_block();
    k.overwrite(CopyAndOverwrite::i32(63) - k.t);
    k.b.wait(0);
    EXPECT_EQ(k.result() == "good", pending == 0);
  }
}

TEST(SourcesOfCopies, OfOtherBlocksAreRaces) {
  KernelBuilder b("blocks");
  Buffer x = b.param("x", 32, Role::inout), s = b.shared("s", 32);
  Expr block = b.axis(Axis::block_x, "block", 2), t = b.axis(Axis::thread_x, "t", 32);
  b.when(
      equal(block, int_imm(0, DType::i32)),
      [&] {
        b.copy_async(s, t, at(x, t));
        b.commit();
        b.wait(0);
      },
      [&] { b.store(x, t, 1.0f); });
  EXPECT_THAT(once(b.build()), HasSubstr("race: x["));
}

/// If the copy is in flight at the arrival, the arrival does not order it before the last block.
TEST(SourcesOfCopies, AreOrderedByArrivalsAfterTheWait) {
  for (bool waits_before : {false, true}) {
    KernelBuilder b("arrive");
    Buffer x = b.param("x", 32, Role::inout), counters = b.param("counters", 1, Role::inout, DType::u32);
    Buffer s = b.shared("s", 32);
    b.axis(Axis::block_x, "block", 3);
    Expr t = b.axis(Axis::thread_x, "t", 32);
    b.copy_async(s, t, at(x, t));
    b.commit();
    if (waits_before)
      b.wait(0);
    b.last_block({{}, counters, int_imm(0, DType::i32), int_imm(3, DType::i32), Axis::block_x}, [&] {
      b.wait(0);
      b.store(x, t, 1.0f);
    });
    b.wait(0);
    EXPECT_EQ(once(b.build()) == "good", waits_before) << once(b.build());
  }
}

TEST(Waits, WithoutCopiesDoNothing) {
  for (int which = 0; which < 3; ++which) {
    CopyAndOverwrite k;
    if (which != 1)
      k.b.commit();
    if (which != 0)
      k.b.wait(0);
    k.b.store(k.s, k.t, at(k.x, k.t));
    k.b.loop("n", 2, [&](const Expr &) {
      k.b.commit();
      k.b.wait(1);
    });
    EXPECT_EQ(k.result(), "good");
  }
}

/// The condition of the copy is never true.
TEST(Waits, ForCopiesThatNeverStartDoNothing) {
  CopyAndOverwrite k;
  k.b.when(CopyAndOverwrite::i32(1) < CopyAndOverwrite::i32(0), [&] { k.copy(); });
  k.b.commit();
  k.b.wait(0);
  k.b.store(k.s, k.t, at(k.x, k.t));
  EXPECT_EQ(k.result(), "good");
}

// ---- vectors

/// 32 threads load or store vectors of 4 elements at 4*t, or at 4*t + 1 in the lanes where `odd` is true. Only
/// the lanes where `executes` is true make the access. It is a condition, or the mask of the load.
std::string vectors(const std::function<Expr(Expr)> &odd, const std::function<Expr(Expr)> &executes,
                    const std::string &how) {
  KernelBuilder b("vectors");
  Buffer x = b.param("x", 132), y = b.param("y", 132, Role::output), s = b.shared("s", 132);
  Expr t = b.axis(Axis::thread_x, "t", 32), zero = int_imm(0, DType::i32);
  Expr at = t * int_imm(4, DType::i32) + select(odd(t), int_imm(1, DType::i32), zero);
  Expr vector = KernelBuilder::vector_at(x, at, 4);
  auto use = [&](const Expr &loaded) {
    Var v = b.let_vector("v", loaded);
    for (int n = 0; n < 4; ++n)
      b.store(y, t * int_imm(4, DType::i32) + int_imm(n, DType::i32), lane(v, n));
  };
  if (how == "load")
    b.when(executes(t), [&] { use(vector); });
  else if (how == "mask")
    use(load(x, {at}, executes(t), Expr(0.0f), 4));
  else if (how == "store")
    b.when(executes(t),
           [&] { b.store_vector(y, at, KernelBuilder::vector_at(x, t * int_imm(4, DType::i32), 4)); });
  else if (how == "copy")
    b.when(executes(t), [&] { b.copy_async(s, t * int_imm(4, DType::i32), vector); });
  else if (how == "masked copy")
    b.copy_async(s, t * int_imm(4, DType::i32), load(x, {at}, executes(t), Expr(0.0f), 4));
  else
    b.when(executes(t),
           [&] { b.copy_async(s, at, KernelBuilder::vector_at(x, t * int_imm(4, DType::i32), 4)); });
  b.commit();
  b.wait(0);
  return once(b.build());
}

TEST(MisalignedVectors, CountInTheLanesThatExecuteThem) {
  auto i32 = [](std::int64_t n) { return int_imm(n, DType::i32); };
  for (const char *how : {"load", "mask", "store", "copy", "masked copy", "copy to"}) {
    auto low = [&](const Expr &t) { return t < i32(7); };
    auto high = [&](const Expr &t) { return i32(7) <= t; };
    auto one = [&](const Expr &t) { return equal(t, i32(31)); };
    auto none = [&](const Expr &t) { return t < i32(0); };
    auto each = [&](const Expr &t) { return i32(0) <= t; };
    EXPECT_EQ(vectors(low, high, how), "good") << how;
    EXPECT_EQ(vectors(high, low, how), "good") << how;
    EXPECT_EQ(vectors(none, each, how), "good") << how;
    EXPECT_EQ(vectors(each, none, how), "good") << how;
    EXPECT_THAT(vectors(one, each, how),
                AllOf(HasSubstr("misaligned: thread (31, 0, 0)"), HasSubstr("16 bytes")))
        << how;
    EXPECT_THAT(vectors(high, each, how), HasSubstr("misaligned: thread (7, 0, 0)")) << how;
    EXPECT_THAT(vectors(each, one, how), HasSubstr("misaligned: thread (31, 0, 0)")) << how;
    EXPECT_THAT(vectors(each, each, how), HasSubstr("misaligned: thread (0, 0, 0)")) << how;
  }
}

} // namespace
} // namespace nestsmith::sim
