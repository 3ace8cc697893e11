/// Tests blocks that arrive at counters: the accesses that arrivals order, and results that depend on the order
/// of blocks.

#include "tests/runtime/sim/kernel_builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace nestsmith::sim {
namespace {

using testing::AllOf;
using testing::HasSubstr;

/// A kernel of `blocks` blocks with 32 threads each, which arrive at `counters`.
struct Arriving {
  std::int64_t blocks;
  WeakArrivals weak = {};
  KernelBuilder b{"arriving"};
  Buffer data = b.param("data", 64, Role::inout), out = b.param("out", 32 * blocks, Role::inout);
  Buffer counters = b.param("counters", 8, Role::inout, DType::u32);
  Expr block = b.axis(Axis::block_x, "block", blocks), t = b.axis(Axis::thread_x, "t", 32);

  explicit Arriving(std::int64_t count = 4) : blocks(count) {}
  static Expr i32(std::int64_t n) { return int_imm(n, DType::i32); }
  void arrive(std::int64_t counter, const std::function<void()> &last, bool fence = true) {
    arrive_at(i32(counter), blocks, last, fence);
  }
  void arrive_at(const Expr &counter, std::int64_t arrivals, const std::function<void()> &last,
                 bool fence = true) {
    Var arrived = b.last_block({{}, counters, counter, i32(arrivals), Axis::block_x}, last);
    weak[arrived].fence = fence;
  }
  void keep(const Expr &value) { b.store(out, block * 32 + t, value); }
  Expr in_f32(const Expr &e) { return cast(DType::f32, e); }
};

/// Returns "good" or the first diagnostic. Expects that it is of this kind, and the same for each number of
/// host threads.
std::string found_in(const kernel::Kernel &kernel, ErrorKind kind, const WeakArrivals &weak = {}) {
  std::string first;
  for (unsigned host_threads : {1u, 2u, 4u}) {
    Result result = run_zeroed(kernel, {.host_threads = host_threads, .weak = weak});
    std::string text = result.good() ? "good" : result.diagnostics[0].message;
    if (!result.good()) {
      EXPECT_STREQ(name(result.diagnostics[0].kind), name(kind)) << text;
    }
    if (host_threads == 1)
      first = text;
    EXPECT_EQ(text, first);
  }
  return first;
}

// ---- accesses that arrivals order

TEST(Arrivals, OrderWhatAllBlocksReadBeforeTheLastBlockOverwritesIt) {
  Arriving k;
  k.keep(at(k.data, k.t));
  k.arrive(0, [&] { k.b.store(k.data, k.t, 1.0f); });
  EXPECT_EQ(found_in(k.b.build(), ErrorKind::race), "good");
}

TEST(Arrivals, DoNotOrderWhatIsReadAfterThem) {
  for (bool before_too : {false, true}) {
    Arriving k;
    if (before_too)
      k.keep(at(k.data, k.t));
    k.arrive(0, [&] { k.b.store(k.data, k.t, 1.0f); });
    k.keep(at(k.data, k.t));
    EXPECT_THAT(found_in(k.b.build(), ErrorKind::race), HasSubstr("data["));
  }
}

TEST(Arrivals, DoNotOrderTheReadsOfABlockThatDoesNotArrive) {
  Arriving k;
  k.keep(at(k.data, k.t));
  k.b.when(k.block < Arriving::i32(3),
           [&] { k.arrive_at(Arriving::i32(0), 3, [&] { k.b.store(k.data, k.t, 1.0f); }); });
  EXPECT_THAT(found_in(k.b.build(), ErrorKind::race), HasSubstr("data["));
}

TEST(Arrivals, OrderNothingWithoutTheirFence) {
  Arriving k;
  k.keep(at(k.data, k.t));
  k.arrive(
      0, [&] { k.b.store(k.data, k.t, 1.0f); }, false);
  EXPECT_THAT(found_in(k.b.build(), ErrorKind::race, k.weak), HasSubstr("data["));
}

/// Arrivals do not order the threads of the last block among each other.
TEST(Arrivals, DoNotOrderTheThreadsOfTheLastBlock) {
  for (bool barrier : {false, true}) {
    Arriving k;
    k.keep(at(k.data, k.t));
    k.arrive(0, [&] {
      k.keep(at(k.data, Arriving::i32(31) - k.t));
      if (barrier)
        k.b.sync_warp();
      k.b.store(k.data, k.t, 1.0f);
    });
    EXPECT_EQ(found_in(k.b.build(), ErrorKind::race) == "good", barrier);
  }
}

TEST(Arrivals, AtTwoCountersOrderForBoth) {
  Arriving k;
  k.keep(1.0f);
  k.arrive(0, [&] { k.b.store(k.data, k.t, at(k.out, Arriving::i32(64) + k.t)); });
  k.arrive(1, [&] { k.b.store(k.data, k.t + 32, at(k.out, Arriving::i32(32) + k.t)); });
  EXPECT_EQ(found_in(k.b.build(), ErrorKind::race), "good");
}

TEST(Arrivals, AtASecondCounterDoNotOrderForTheFirst) {
  Arriving k;
  k.arrive(0, [&] { k.b.store(k.data, k.t, at(k.out, Arriving::i32(64) + k.t)); });
  k.keep(1.0f);
  k.arrive(1, [] {});
  EXPECT_THAT(found_in(k.b.build(), ErrorKind::race), HasSubstr("out["));
}

/// Two of four blocks share each first counter. Their last blocks share the second counter.
TEST(Arrivals, PassTheOrderOn) {
  for (bool both_fences : {true, false}) {
    Arriving k;
    k.keep(1.0f);
    k.arrive_at(
        k.block / Arriving::i32(2), 2,
        [&] {
          k.arrive_at(Arriving::i32(5), 2, [&] {
            Expr sum = 0.0f;
            for (std::int64_t n = 0; n < 4; ++n)
              sum = sum + at(k.out, Arriving::i32(32 * n) + k.t);
            k.b.store(k.data, k.t, sum);
          });
        },
        both_fences);
    EXPECT_EQ(found_in(k.b.build(), ErrorKind::race, k.weak) == "good", both_fences);
  }
}

// ---- plain accesses of counters

TEST(Arrivals, RaceWithPlainLoadsOfTheirCounter) {
  for (bool after : {false, true}) {
    Arriving k;
    auto load = [&] { k.keep(cast(DType::f32, at(k.counters, Arriving::i32(1)))); };
    if (!after)
      load();
    k.arrive(1, [] {});
    if (after)
      load();
    EXPECT_THAT(found_in(k.b.build(), ErrorKind::race), AllOf(HasSubstr("loads counters[1] (global) in `out["),
                                                              HasSubstr("and other blocks arrive there")));
  }
}

TEST(Arrivals, RaceWithPlainStoresToTheirCounter) {
  Arriving k;
  k.b.when(equal(k.block * 32 + k.t, Arriving::i32(0)),
           [&] { k.b.store(k.counters, Arriving::i32(1), cast(DType::u32, Arriving::i32(0))); });
  k.arrive(1, [] {});
  EXPECT_THAT(found_in(k.b.build(), ErrorKind::race), HasSubstr("stores counters[1] (global)"));
}

/// An arrival counts as a write of its counter, so the last block may read it.
TEST(Arrivals, WriteTheirCounter) {
  KernelBuilder b("counter");
  Buffer x = b.param("x", 32, Role::inout), counters = b.param("counters", 1, Role::temporary, DType::u32);
  b.axis(Axis::block_x, "block", 4);
  Expr t = b.axis(Axis::thread_x, "t", 32);
  b.last_block({{}, counters, Arriving::i32(0), Arriving::i32(4), Axis::block_x},
               [&] { b.store(x, t, cast(DType::f32, at(counters, Arriving::i32(0)))); });
  EXPECT_EQ(found_in(b.build(), ErrorKind::unwritten_read), "good");
}

TEST(Arrivals, AreBeforeWhatTheLastBlockLoadsFromTheirCounter) {
  Arriving k;
  k.arrive(1, [&] { k.b.store(k.data, k.t, cast(DType::f32, at(k.counters, Arriving::i32(1)))); });
  EXPECT_EQ(found_in(k.b.build(), ErrorKind::race), "good");
  Arriving other; // no block arrives at this counter
  other.keep(cast(DType::f32, at(other.counters, Arriving::i32(2))));
  other.arrive(1, [] {});
  EXPECT_EQ(found_in(other.b.build(), ErrorKind::race), "good");
  Arriving own; // each block has its own counter
  own.keep(cast(DType::f32, at(own.counters, own.block)));
  own.arrive_at(own.block, 1, [] {});
  EXPECT_EQ(found_in(own.b.build(), ErrorKind::race), "good");
  Arriving chain; // the last block at counter 2 starts after all arrivals at counter 1
  chain.arrive(1, [] {});
  chain.arrive(
      2, [&] { chain.b.store(chain.data, chain.t, cast(DType::f32, at(chain.counters, Arriving::i32(1)))); });
  EXPECT_EQ(found_in(chain.b.build(), ErrorKind::race), "good");
}

// ---- results that depend on the order of blocks

TEST(OrdersOfBlocks, ShowThatTheLastBlockStoresItsIndex) {
  for (std::int64_t blocks : {2, 3, 8, 9, 40}) {
    Arriving k(blocks);
    k.arrive(0, [&] { k.b.store(k.data, k.t, k.in_f32(k.block)); });
    EXPECT_EQ(found_in(k.b.build(), ErrorKind::order_of_blocks),
              "data[0] (global) is " + std::to_string(blocks - 1) +
                  " if the blocks start in ascending order, and 0 if the blocks start in descending order: the "
                  "result depends on the order in which blocks arrive at a counter");
  }
}

/// The result differs only if this block is the last one. The simulator must try each block as the last one.
TEST(OrdersOfBlocks, LetEachBlockBeTheLastOne) {
  for (std::int64_t blocks : {3, 8, 12})
    for (std::int64_t special = 0; special < blocks; ++special) {
      Arriving k(blocks);
      k.arrive(0, [&] {
        k.b.store(k.data, k.t, select(equal(k.block, Arriving::i32(special)), Expr(2.0f), Expr(1.0f)));
      });
      EXPECT_THAT(found_in(k.b.build(), ErrorKind::order_of_blocks), HasSubstr("data[0] (global) is "))
          << special << " of " << blocks;
    }
}

/// Five blocks along y share each of three counters. Each of the five must be tried as the last one.
TEST(OrdersOfBlocks, LetEachBlockThatSharesACounterBeTheLastOne) {
  for (std::int64_t special = 0; special < 5; ++special) {
    KernelBuilder b("grid");
    Buffer x = b.param("x", 96, Role::inout), counters = b.param("counters", 3, Role::temporary, DType::u32);
    Expr column = b.axis(Axis::block_x, "column", 3), part = b.axis(Axis::block_y, "part", 5),
         t = b.axis(Axis::thread_x, "t", 32);
    b.last_block({{}, counters, column, Arriving::i32(5), Axis::block_y}, [&] {
      b.store(x, column * 32 + t, select(equal(part, Arriving::i32(special)), Expr(2.0f), Expr(1.0f)));
    });
    std::string found = found_in(b.build(), ErrorKind::order_of_blocks);
    EXPECT_THAT(found, HasSubstr("x[0] (global) is ")) << special;
    if (special == 2) {
      EXPECT_THAT(found, HasSubstr("and 2 if the blocks with index 2 on blockIdx.y start last"));
    }
  }
}

/// The last block stores to its own part, so the result depends on which block is the last one.
TEST(OrdersOfBlocks, ShowWhatOnlyTheLastBlockKeeps) {
  Arriving k(5);
  k.arrive(0, [&] { k.keep(cast(DType::f32, k.t) + 1.0f); });
  EXPECT_THAT(found_in(k.b.build(), ErrorKind::order_of_blocks), HasSubstr("out["));
}

TEST(OrdersOfBlocks, LeaveRightKernelsAlone) {
  for (std::int64_t blocks : {1, 2, 7, 33}) {
    Arriving k(blocks);
    k.keep(k.in_f32(k.block));
    k.arrive(0, [&] {
      Expr sum = 0.0f;
      for (std::int64_t n = 0; n < blocks; ++n)
        sum = sum + at(k.out, Arriving::i32(32 * n) + k.t);
      k.b.store(k.data, k.t, sum);
    });
    EXPECT_EQ(found_in(k.b.build(), ErrorKind::order_of_blocks), "good");
  }
}

/// Running several orders must leave the memory of the first run only.
TEST(OrdersOfBlocks, LeaveTheResultsOfTheFirstRun) {
  Arriving k(4);
  k.b.store(k.out, k.block * 32 + k.t, at(k.out, k.block * 32 + k.t) + 1.0f);
  k.arrive(0, [] {});
  kernel::Kernel kernel = k.b.build();
  Array data(DType::f32, {64}), out(DType::f32, {128}), counters(DType::u32, {8});
  ASSERT_TRUE(run(kernel, std::vector<Argument>{{&data}, {&out}, {&counters}}, {}, {}).good());
  for (std::int64_t n = 0; n < 128; ++n)
    EXPECT_EQ(out.at(n).to_double(), 1);
}

} // namespace
} // namespace nestsmith::sim
