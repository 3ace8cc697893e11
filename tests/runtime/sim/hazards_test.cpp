/// Tests the diagnostics of the simulator: races, arrivals, unwritten reads, accesses out of bounds, and
/// barriers.

#include "tests/runtime/sim/gemm_kernels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace nestsmith::sim {
namespace {

using testing::AllOf;
using testing::HasSubstr;

void expect_good(const kernel::Kernel &kernel) {
  Result result = run_zeroed(kernel);
  EXPECT_TRUE(result.good()) << result.diagnostics[0].message;
}

/// Returns the first diagnostic. Expects that it is of this kind, and that the text is the same for 1, 2 and 4
/// host threads.
std::string first_finding(const kernel::Kernel &kernel, ErrorKind kind, const WeakArrivals &weak = {}) {
  std::vector<Diagnostic> found = run_zeroed(kernel, {.host_threads = 1, .weak = weak}).diagnostics;
  if (found.empty())
    return "nothing was found";
  EXPECT_STREQ(name(found[0].kind), name(kind)) << found[0].message;
  for (unsigned host_threads : {2u, 4u}) {
    std::vector<Diagnostic> again =
        run_zeroed(kernel, {.host_threads = host_threads, .weak = weak}).diagnostics;
    EXPECT_EQ(again.size(), found.size());
    for (std::size_t n = 0; n < std::min(again.size(), found.size()); ++n)
      EXPECT_EQ(again[n].message, found[n].message);
  }
  return found[0].message;
}

/// A block of `threads` threads, with `elements` elements of shared memory `s` and an output `out`.
struct BlockWithTile {
  KernelBuilder b{"k"};
  Buffer s, out;
  Expr t;
  explicit BlockWithTile(std::int64_t threads, std::int64_t elements = 64)
      : s(b.shared("s", elements)), out(b.param("out", threads, Role::output)),
        t(b.axis(Axis::thread_x, "t", threads)) {}
  Expr number(std::int64_t n) { return int_imm(n, DType::i32); }
  Expr value() { return cast(DType::f32, t); }
};

// One warp writes and reads each row of As. All warps read each row of Bs.
TEST(SimulateRace, ForgottenBarrierBeforeTheTilesAreUsed) {
  std::vector<Diagnostic> diagnostics = run_zeroed(shared_gemm({64, 64, 64}, false)).diagnostics;
  ASSERT_GE(diagnostics.size(), 2u);
  EXPECT_THAT(
      diagnostics[0].message,
      AllOf(HasSubstr("As[0] (shared): thread (0, 0, 0) of block (0, 0, 0) stores it in `As[ty*32 + tx] = (A["),
            HasSubstr("` at k_outer = 0, and thread (1, 0, 0) of block (0, 0, 0) loads it in "
                      "`acc[0] = acc[0] + As[ty*32 + k]*Bs[k*32 + tx]` at k_outer = 0, k = 0; "
                      "no __syncwarp() or __syncthreads() lies between them")));
  EXPECT_THAT(diagnostics[1].message,
              AllOf(HasSubstr("Bs[32] (shared): thread (0, 1, 0) of block (0, 0, 0) stores it in `Bs["),
                    HasSubstr("` at k_outer = 0, and thread (0, 0, 0) of block (0, 0, 0) loads it in"),
                    HasSubstr("at k_outer = 0, k = 1; no __syncthreads() lies between them")));
  for (std::size_t n : {0, 1})
    EXPECT_EQ(shown(diagnostics[n].hazard),
              std::string("read after write of ") + (n == 0 ? "As" : "Bs") + ", read by acc");
}

TEST(SimulateRace, ForgottenBarrierBeforeTheTilesAreRefilled) {
  std::vector<Diagnostic> diagnostics = run_zeroed(shared_gemm({64, 64, 64}, true, false)).diagnostics;
  ASSERT_EQ(diagnostics.size(), 2u);
  EXPECT_THAT(diagnostics[0].message, HasSubstr("As[0] (shared): "));
  EXPECT_THAT(diagnostics[1].message,
              AllOf(HasSubstr("Bs[0] (shared): "), HasSubstr("loads it in `acc[0] = "),
                    HasSubstr("at k_outer = 0, k = 0"), HasSubstr("stores it in `Bs[ty*32 + tx] = "),
                    HasSubstr("at k_outer = 1"), HasSubstr("no __syncthreads() lies between them")));
  EXPECT_EQ(shown(diagnostics[1].hazard), "write after read of Bs, read by acc, in k_outer + 1");
}

TEST(SimulateRace, LanesOfOneWarpAreNotOrderedWithoutSyncwarp) {
  for (bool first : {true, false})
    for (bool second : {true, false}) {
      BlockWithTile k(32);
      k.b.loop("n", 2, [&](Expr n) {
        k.b.store(k.s, k.t, cast(DType::f32, n));
        if (first)
          k.b.sync_warp();
        k.b.store(k.out, k.t, at(k.s, k.number(31) - k.t));
        if (second)
          k.b.sync_warp();
      });
      kernel::Kernel kernel = k.b.build();
      if (first && second)
        expect_good(kernel);
      else
        EXPECT_THAT(
            first_finding(kernel, ErrorKind::race),
            AllOf(HasSubstr("no __syncwarp() or __syncthreads() lies between them"), HasSubstr("(shared)")));
    }
}

TEST(SimulateRace, SyncwarpDoesNotOrderTwoWarps) {
  for (bool block : {true, false}) {
    BlockWithTile k(64);
    k.b.store(k.s, k.t, k.value());
    block ? k.b.sync_block() : k.b.sync_warp();
    k.b.store(k.out, k.t, at(k.s, k.number(63) - k.t));
    kernel::Kernel kernel = k.b.build();
    if (block)
      expect_good(kernel);
    else
      EXPECT_THAT(first_finding(kernel, ErrorKind::race), HasSubstr("no __syncthreads() lies between them"));
  }
}

TEST(SimulateRace, TwoThreadsStoreOneElementEvenTheSameValue) {
  BlockWithTile k(40);
  k.b.store(k.s, floordiv(k.t, Expr(2)), cast(DType::f32, k.number(1)));
  EXPECT_THAT(first_finding(k.b.build(), ErrorKind::race),
              AllOf(HasSubstr("s[0] (shared): thread (0, 0, 0)"),
                    HasSubstr("and thread (1, 0, 0) of block (0, 0, 0) stores"),
                    HasSubstr("two threads must not store to one element")));
}

TEST(SimulateRace, OneThreadsOwnAccessesDoNotRace) {
  BlockWithTile k(40);
  k.b.store(k.s, k.t, k.value());
  k.b.loop("n", 100, [&](Expr) { k.b.store(k.s, k.t, at(k.s, k.t) * 0.5f); });
  k.b.store(k.out, k.t, at(k.s, k.t));
  expect_good(k.b.build());
}

TEST(SimulateRace, ReadersNeedNoOrder) {
  BlockWithTile k(96, 1);
  k.b.when(k.t < 1, [&] { k.b.store(k.s, 0, k.value()); });
  k.b.sync_block();
  k.b.loop("n", 3, [&](Expr) { k.b.store(k.out, k.t, at(k.s, 0)); });
  expect_good(k.b.build());
}

/// Reads an element by some threads, executes a barrier, and stores to the element by thread 0. `races` is the
/// expected result.
TEST(SimulateRace, EveryReaderCountsForALaterStore) {
  struct Case {
    std::int64_t reader; // one thread, or all threads with smaller numbers
    bool all, warp_barrier, block_barrier, races;
  };
  for (Case c : {Case{0, false, false, false, false}, Case{1, false, false, false, true},
                 Case{1, false, true, false, false}, Case{33, false, true, false, true},
                 Case{33, false, false, true, false}, Case{32, true, true, false, false},
                 Case{32, true, false, false, true}, Case{64, true, true, false, true},
                 Case{64, true, false, true, false}}) {
    BlockWithTile k(64, 1);
    k.b.when(k.t < 1, [&] { k.b.store(k.s, 0, k.value()); });
    k.b.sync_block();
    Expr reads = c.all ? k.t < k.number(c.reader) : equal(k.t, k.number(c.reader));
    k.b.when(reads, [&] { k.b.store(k.out, k.t, at(k.s, 0)); });
    if (c.warp_barrier)
      k.b.sync_warp();
    if (c.block_barrier)
      k.b.sync_block();
    k.b.when(k.t < 1, [&] { k.b.store(k.s, 0, k.value()); });
    SCOPED_TRACE(testing::Message() << "reader " << c.reader << (c.all ? " and all below" : "")
                                    << (c.warp_barrier ? ", warp barrier" : "")
                                    << (c.block_barrier ? ", block barrier" : ""));
    if (c.races)
      EXPECT_THAT(first_finding(k.b.build(), ErrorKind::race), HasSubstr("s[0] (shared)"));
    else
      expect_good(k.b.build());
  }
}

TEST(SimulateRace, GlobalMemoryOfOneBlockIsOrderedByItsBarrier) {
  for (bool barrier : {true, false}) {
    BlockWithTile k(64);
    Buffer work = k.b.param("work", 64, Role::inout);
    k.b.store(work, k.t, k.value());
    if (barrier)
      k.b.sync_block();
    k.b.store(k.out, k.t, at(work, k.number(63) - k.t));
    kernel::Kernel kernel = k.b.build();
    if (barrier)
      expect_good(kernel);
    else
      EXPECT_THAT(
          first_finding(kernel, ErrorKind::race),
          AllOf(HasSubstr("work["), HasSubstr("(global)"), HasSubstr("no __syncthreads() lies between them")));
  }
}

TEST(SimulateRace, NothingOrdersTwoBlocks) {
  for (bool reads : {true, false}) {
    KernelBuilder b("k");
    Buffer work = b.param("work", 96 * 8, Role::inout), out = b.param("out", 32 * 8, Role::output);
    Expr block = b.axis(Axis::block_x, "block", 8), t = b.axis(Axis::thread_x, "t", 32);
    // Each block stores to 16 elements of the next block's part.
    b.loop("n", 1, [&](Expr) { b.store(work, block * 32 + t + (reads ? 0 : 16), cast(DType::f32, t)); });
    b.sync_block();
    b.when(t < (reads ? 32 : 16), [&] {
      b.store(reads ? out : work, block * 32 + t, reads ? at(work, (block * 32 + t) + 16) : Expr(1.0f));
    });
    EXPECT_THAT(first_finding(b.build(), ErrorKind::race),
                AllOf(HasSubstr("work[32] (global): "), HasSubstr("of block (0, 0, 0) "),
                      HasSubstr("of block (1, 0, 0) "), HasSubstr("nothing orders the blocks of a kernel")));
  }
}

/// There are four tiles of 64 elements. For each tile, three blocks write 64 elements each to `parts`, and the
/// last block adds the parts.
struct PartsOfTiles {
  KernelBuilder b{"k"};
  Buffer parts = b.param("parts", 3 * 4 * 64, Role::temporary), out = b.param("out", 4 * 64, Role::output);
  Buffer arrived = b.param("arrived", 4, Role::temporary, DType::u32);
  Expr tile = b.axis(Axis::block_x, "tile", 4), part = b.axis(Axis::block_y, "part", 3);
  Expr t = b.axis(Axis::thread_x, "t", 64);
  kernel::Arrive arrive{{}, arrived, tile, int_imm(3, DType::i32), Axis::block_y};
  ArrivalOrder order = {};
  WeakArrivals weak = {};

  Expr element(const Expr &of_part, const Expr &at) { return (of_part * 4 + tile) * 64 + at; }
  /// Returns the kernel. A thread of the last block adds the elements at `at` of the tile that is `next` tiles
  /// after its own.
  kernel::Kernel build(const Expr &at, std::int64_t next = 0, bool writes_late = false) {
    b.store(parts, element(part, t), cast(DType::f32, part * 64 + t));
    Var arrived_last = b.last_block(arrive, [&] {
      Expr sum = 0.0f;
      for (std::int64_t n : {0, 1, 2})
        sum = sum + sim::at(parts, floormod(element(int_imm(n, DType::i32), at) + next * 64, 3 * 4 * 64));
      b.store(out, tile * 64 + t, sum);
    });
    weak = {{arrived_last, order}};
    if (writes_late)
      b.store(parts, element(part, t), 1.0f);
    return b.build();
  }
};

TEST(SimulateArrival, TheLastBlockAddsAllPartsInEveryOrderOfBlocks) {
  for (std::uint64_t order : {0, 1, 2, 3, 4, 5})
    for (unsigned host_threads : {1u, 4u}) {
      PartsOfTiles k;
      Expr neighbour = int_imm(63, DType::i32) - k.t;
      Array parts(DType::f32, {768}), out(DType::f32, {256}), arrived(DType::u32, {4});
      std::vector<Argument> arguments = {{&parts}, {&out}, {&arrived}};
      Result result = run(k.build(neighbour), arguments, {}, {.host_threads = host_threads, .order = order});
      ASSERT_TRUE(result.good()) << result.diagnostics[0].message;
      for (std::int64_t n = 0; n < 256; ++n)
        EXPECT_EQ(out.at(n).to_double(), 3 * (63 - n % 64) + 192);
      EXPECT_EQ(arrived.at(3).to_double(), 0);
    }
}

TEST(SimulateArrival, WithoutTheFenceTheOtherBlocksAreUnordered) {
  PartsOfTiles k;
  k.order.fence = false;
  EXPECT_THAT(first_finding(k.build(k.t), ErrorKind::race, k.weak), HasSubstr("parts["));
}

TEST(SimulateArrival, WithoutTheBarrierOtherThreadsHaveNotArrived) {
  PartsOfTiles k;
  k.order.barrier = false;
  EXPECT_THAT(first_finding(k.build(k.t), ErrorKind::race, k.weak), HasSubstr("parts["));
}

TEST(SimulateArrival, PartsOfAnotherTileAreUnordered) {
  PartsOfTiles k;
  std::vector<Diagnostic> found = run_zeroed(k.build(k.t, 1)).diagnostics;
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found[0].kind, ErrorKind::race);
  EXPECT_THAT(found[0].message, HasSubstr("parts["));
}

TEST(SimulateArrival, WritesAfterTheArrivalAreUnordered) {
  PartsOfTiles k;
  EXPECT_THAT(first_finding(k.build(k.t, 0, true), ErrorKind::race), HasSubstr("parts["));
}

TEST(SimulateArrival, AnotherNumberOfArrivalsIsFound) {
  PartsOfTiles fewer, more;
  fewer.arrive.arrivals = int_imm(2, DType::i32);
  EXPECT_FALSE(run_zeroed(fewer.build(fewer.t)).good());
  more.arrive.arrivals = int_imm(4, DType::i32);
  EXPECT_THAT(first_finding(more.build(more.t), ErrorKind::counter_left),
              HasSubstr("counter 0 of the arrivals is 3 at the end of the kernel, expected 0"));
}

TEST(SimulateArrival, ACounterThatDoesNotExistIsFound) {
  PartsOfTiles k;
  k.arrive.index = k.tile + 1;
  EXPECT_THAT(first_finding(k.build(k.t), ErrorKind::out_of_bounds),
              HasSubstr("makes the arrival at arrived[tile + 1] with index 4, but there are 4 counters"));
}

TEST(SimulateRace, BlocksThatRaceGiveTheSameResultOnAnyNumberOfHostThreads) {
  KernelBuilder b("k");
  Buffer out = b.param("out", 1, Role::output);
  Expr block = b.axis(Axis::block_x, "block", 64), t = b.axis(Axis::thread_x, "t", 1);
  b.store(out, t, cast(DType::f32, block));
  kernel::Kernel kernel = b.build();
  for (unsigned host_threads : {1u, 2u, 4u}) {
    Array array(DType::f32, {1});
    const Argument arguments[] = {{&array}};
    Result result = run(kernel, arguments, {}, {.host_threads = host_threads});
    EXPECT_FALSE(result.good());
    EXPECT_EQ(array.view<float>()[0], 63.0f);
  }
}

TEST(SimulateRace, BuffersThatOverlapInTheArenaShareTheirShadow) {
  for (bool barrier : {true, false}) {
    BlockWithTile k(64);
    k.b.store(k.s, k.t, k.value());
    k.b.sync_block();
    k.b.store(k.out, k.t, at(k.s, k.number(63) - k.t));
    if (barrier)
      k.b.sync_block();
    Buffer wide = k.b.shared("wide", 32, DType::i64);
    k.b.when(k.t < 32, [&] { k.b.store(wide, k.t, int_imm(1)); });
    kernel::Kernel kernel = k.b.build();
    kernel.shared[1].byte_offset = 0;
    kernel.shared_bytes = 256;
    if (barrier)
      expect_good(kernel);
    else
      EXPECT_THAT(first_finding(kernel, ErrorKind::race),
                  AllOf(HasSubstr("wide["), HasSubstr("loads it in `out[t] = s[63 - t]`")));
  }
}

TEST(SimulateRace, FindingsAreOneForEachPairOfStatementsAndLimited) {
  BlockWithTile k(64);
  k.b.store(k.s, k.t, k.value());
  k.b.sync_block();
  for (int n = 0; n < 6; ++n) {
    k.b.store(k.s, k.t, k.value());
    k.b.store(k.out, k.t, at(k.s, k.number(63) - k.t));
  }
  kernel::Kernel kernel = k.b.build();
  // There are six stores and six loads. A load also races with the stores after it.
  EXPECT_EQ(run_zeroed(kernel, {.max_diagnostics = 100}).diagnostics.size(), 36u);
  EXPECT_EQ(run_zeroed(kernel).diagnostics.size(), 8u);
  EXPECT_EQ(run_zeroed(kernel, {.max_diagnostics = 1}).diagnostics.size(), 1u);
  EXPECT_TRUE(run_zeroed(kernel, {.check = false}).good());
}

TEST(SimulateUnwritten, SharedMemoryStartsUnwrittenInEveryBlock) {
  KernelBuilder b("k");
  Buffer out = b.param("out", 128, Role::output), s = b.shared("s", 64);
  Expr block = b.axis(Axis::block_x, "block", 2), t = b.axis(Axis::thread_x, "t", 64);
  b.when(block < 1, [&] { b.store(s, t, cast(DType::f32, t)); });
  b.sync_block();
  b.store(out, block * 64 + t, at(s, t));
  EXPECT_THAT(
      first_finding(b.build(), ErrorKind::unwritten_read),
      AllOf(HasSubstr("thread (0, 0, 0) of block (1, 0, 0) loads s[0] (shared) in `out[block*64 + t] = s[t]`"),
            HasSubstr("which nothing has written yet")));
}

TEST(SimulateUnwritten, LocalMemoryIsEachThreadsOwn) {
  for (bool all : {true, false})
    for (bool constant_index : {true, false}) {
      BlockWithTile k(40);
      Buffer r = k.b.local("r", 4);
      k.b.when(k.t < (all ? 40 : 35), [&] { k.b.store(r, 3, k.value()); });
      k.b.store(k.out, k.t, at(r, constant_index ? Expr(3) : floordiv(k.t, Expr(40)) + k.number(3)));
      kernel::Kernel kernel = k.b.build();
      if (all)
        expect_good(kernel);
      else
        EXPECT_THAT(first_finding(kernel, ErrorKind::unwritten_read),
                    AllOf(HasSubstr("thread (35, 0, 0) of block (0, 0, 0) loads r[3] (local)"),
                          HasSubstr("which it has not written")));
    }
}

TEST(SimulateUnwritten, AStoreInALoopCountsOnlyIfTheLoopRuns) {
  for (std::int64_t extent : {0, 1}) {
    KernelBuilder b("k");
    Buffer out = b.param("out", 32, Role::output), r = b.local("r", 1);
    Expr n = b.axis(Axis::block_x, "n", 1), t = b.axis(Axis::thread_x, "t", 32);
    b.loop("i", n + int_imm(extent, DType::i32), [&](Expr) { b.store(r, 0, cast(DType::f32, t)); });
    b.store(out, t, at(r, 0));
    kernel::Kernel kernel = b.build();
    if (extent == 1)
      expect_good(kernel);
    else
      EXPECT_THAT(first_finding(kernel, ErrorKind::unwritten_read), HasSubstr("loads r[0] (local)"));
  }
}

TEST(SimulateUnwritten, OutputsAndUninitialisedArgumentsStartUnwritten) {
  for (Role role : {Role::output, Role::inout, Role::input})
    for (bool initialised : {true, false}) {
      KernelBuilder b("k");
      Buffer in = b.param("in", 32, role), out = b.param("out", 32, Role::output);
      Expr t = b.axis(Axis::thread_x, "t", 32);
      b.store(out, t, at(in, t));
      Array A(DType::f32, {32}), C(DType::f32, {32});
      const Argument arguments[] = {{&A, initialised}, {&C}};
      Result result = run(b.build(), arguments, {});
      ASSERT_EQ(result.good(), initialised && role != Role::output);
      if (!result.good()) {
        EXPECT_THAT(result.diagnostics[0].message, HasSubstr("loads in[0] (global)"));
      }
    }
}

TEST(SimulateBounds, StoresAndLoadsOutsideAreReportedAndNotPerformed) {
  struct Case {
    std::int64_t shift, thread, element;
  };
  for (Case c : {Case{1, 39, 40}, Case{-1, 0, -1}, Case{1 << 30, 0, 1 << 30}}) {
    KernelBuilder b("k");
    Buffer in = b.param("in", 40), out = b.param("out", 40, Role::output),
           other = b.param("other", 40, Role::output);
    Expr t = b.axis(Axis::thread_x, "t", 40);
    Expr shift = int_imm(c.shift, DType::i32);
    b.store(out, t, at(in, t + shift) + 1.0f);
    b.store(other, t + shift, cast(DType::f32, t));
    Array A(DType::f32, {40}), C(DType::f32, {40}), D(DType::f32, {40});
    const Argument arguments[] = {{&A}, {&C}, {&D}};
    Result result = run(b.build(), arguments, {});
    ASSERT_EQ(result.diagnostics.size(), 2u);
    for (std::size_t n : {0, 1}) {
      EXPECT_EQ(result.diagnostics[n].kind, ErrorKind::out_of_bounds);
      EXPECT_THAT(
          result.diagnostics[n].message,
          AllOf(HasSubstr("thread (" + std::to_string(c.thread) + ", 0, 0) of block (0, 0, 0) " +
                          (n == 0 ? "loads in[" : "stores other[") + std::to_string(c.element) + "] (global)"),
                HasSubstr(n == 0 ? "but in has 40 elements" : "but other has 40 elements")));
    }
    if (c.shift > 1) {
      EXPECT_EQ(C.view<float>()[5], 1.0f); // an out-of-bounds load returns 0
    }
  }
}

TEST(SimulateBounds, SharedAndLocalMemory) {
  BlockWithTile k(40, 39);
  Buffer r = k.b.local("r", 39);
  k.b.store(k.s, k.t, k.value());
  k.b.store(r, k.t, k.value());
  k.b.loop("n", 40, [&](Expr n) { k.b.store(r, n, k.value()); });
  std::vector<Diagnostic> diagnostics = run_zeroed(k.b.build()).diagnostics;
  ASSERT_EQ(diagnostics.size(), 3u); // warp 0 runs first, and only its constant index is out of bounds
  EXPECT_THAT(diagnostics[0].message, AllOf(HasSubstr("thread (0, 0, 0)"), HasSubstr("stores r[39] (local)"),
                                            HasSubstr("at n = 39"), HasSubstr("but r has 39 elements")));
  EXPECT_THAT(diagnostics[1].message,
              AllOf(HasSubstr("thread (39, 0, 0)"), HasSubstr("stores s[39] (shared)")));
  EXPECT_THAT(diagnostics[2].message, AllOf(HasSubstr("thread (39, 0, 0)"), HasSubstr("stores r[39] (local)")));
}

TEST(SimulateBounds, AMaskedLoadTouchesNothingWhereItsMaskIsFalse) {
  KernelBuilder b("k");
  Buffer in = b.param("in", 20), out = b.param("out", 40, Role::output);
  Expr t = b.axis(Axis::thread_x, "t", 40);
  b.store(out, t, load(in, {t * 2}, t < 10, Expr(-5.0f)));
  Array A(DType::f32, {20}), C(DType::f32, {40});
  for (float &x : A.view<float>())
    x = 3;
  const Argument arguments[] = {{&A}, {&C}};
  Result result = run(b.build(), arguments, {});
  EXPECT_TRUE(result.good()) << result.diagnostics[0].message;
  EXPECT_EQ(result.stats.loads_global, 10u);
  for (std::size_t n = 0; n < 40; ++n)
    EXPECT_EQ(C.view<float>()[n], n < 10 ? 3.0f : -5.0f);
}

TEST(SimulateBounds, LogicalOperatorsEvaluateTheRightSideOnlyWhereTheLeftDoesNotDecide) {
  for (bool conjunction : {true, false}) {
    KernelBuilder b("k");
    Buffer in = b.param("in", 10), out = b.param("out", 40, Role::output);
    Expr t = b.axis(Axis::thread_x, "t", 40), below = t < 10, hit = equal(at(in, t), Expr(0.0f));
    b.store(out, t, select(conjunction ? below && hit : logical_not(below) || hit, Expr(1.0f), Expr(0.0f)));
    expect_good(b.build());
  }
  KernelBuilder b("k");
  Buffer in = b.param("in", 10), out = b.param("out", 40, Role::output);
  Expr t = b.axis(Axis::thread_x, "t", 40);
  b.store(out, t, select(t < 10, at(in, t), Expr(0.0f))); // a select evaluates both sides
  EXPECT_THAT(first_finding(b.build(), ErrorKind::out_of_bounds), HasSubstr("loads in[10]"));
}

TEST(SimulateBarrier, LanesOfOneWarpThatDoNotArrive) {
  for (bool block : {true, false}) {
    BlockWithTile k(64);
    k.b.loop("n", 3, [&](Expr n) {
      k.b.when(n < 2 || k.t < 48, [&] { block ? k.b.sync_block({{.buffer = k.s}}) : k.b.sync_warp(); });
    });
    EXPECT_THAT(first_finding(k.b.build(), ErrorKind::divergent_barrier),
                AllOf(HasSubstr("thread (32, 0, 0) of block (0, 0, 0) reaches "),
                      HasSubstr(block ? "__syncthreads() (s: written above, read below) at n = 2"
                                      : "__syncwarp() at n = 2"),
                      HasSubstr("thread (48, 0, 0) of the same warp does not")));
  }
}

TEST(SimulateBarrier, WarpsAtDifferentBarriers) {
  BlockWithTile k(64);
  k.b.when(k.t < 32, [&] { k.b.sync_block({{.buffer = k.s}}); });
  k.b.sync_block({{.kind = kernel::Hazard::Kind::write_after_read, .buffer = k.s}});
  EXPECT_THAT(first_finding(k.b.build(), ErrorKind::divergent_barrier),
              AllOf(HasSubstr("meet different barriers"),
                    HasSubstr("warp 0 (threads (0, 0, 0) to (31, 0, 0)) waits at __syncthreads() (s: written "
                              "above, read below)"),
                    HasSubstr("warp 1 (threads (32, 0, 0) to (63, 0, 0)) waits at __syncthreads() (s: read "
                              "above, overwritten below)")));
}

TEST(SimulateBarrier, WarpsInDifferentIterations) {
  BlockWithTile k(64);
  k.b.loop("n", 1000, [&](Expr n) { k.b.when(equal(n, floordiv(k.t, Expr(32))), [&] { k.b.sync_block(); }); });
  EXPECT_THAT(first_finding(k.b.build(), ErrorKind::divergent_barrier),
              AllOf(HasSubstr("at n = 0"), HasSubstr("at n = 1")));
}

TEST(SimulateBarrier, ThreadsThatHaveFinishedNeverArrive) {
  BlockWithTile k(70);
  k.b.when(k.t < 32, [&] { k.b.sync_block({{.buffer = k.s}}); });
  EXPECT_THAT(first_finding(k.b.build(), ErrorKind::deadlock),
              AllOf(HasSubstr("block (0, 0, 0) is deadlocked"),
                    HasSubstr("warp 0 (threads (0, 0, 0) to (31, 0, 0)) waits at __syncthreads() (s: written "
                              "above, read below)"),
                    HasSubstr("warp 2 (threads (64, 0, 0) to (69, 0, 0)) has finished")));
}

TEST(SimulateBarrier, UniformConditionsAreFine) {
  BlockWithTile k(70);
  k.b.loop("n", 4, [&](Expr n) {
    k.b.when(floormod(n, Expr(2)) < 1, [&] { k.b.sync_block(); });
    k.b.when(k.t < 100, [&] { k.b.sync_block(); });
  });
  expect_good(k.b.build());
}

} // namespace
} // namespace nestsmith::sim
