/// Tests the obligations of schedules, and the directive that each obligation names.

#include "tests/dsl/support.h"

namespace nestsmith {
namespace {

using test::contains;
using test::gemm;
using test::product;

/// Expects an obligation whose message contains `message`. `by` is the text of the directive that causes it.
void expect_owed(const Schedule &s, const std::string &message, const std::string &by,
                 const std::string &culprit) {
  std::string all;
  for (const Obligation &owed : s.obligations()) {
    all += owed.message + "\n";
    if (!contains(owed.message, message))
      continue;
    EXPECT_EQ(owed.directive == 0 ? "the computation" : to_cpp(s.trace()[owed.directive - 1]), by);
    EXPECT_EQ(owed.culprit, culprit);
    EXPECT_TRUE(culprit.empty() || test::marks(print_marked(s.program(), {owed.culprit}), culprit));
    return;
  }
  ADD_FAILURE() << "expected " << message << "\ngot\n" << all << print(s.program());
}

void expect_not_owed(const Schedule &s, const std::string &message) {
  for (const Obligation &owed : s.obligations())
    EXPECT_FALSE(contains(owed.message, message)) << owed.message;
}

TEST(Obligations, ProductOnOneThreadOwesNothing) {
  EXPECT_TRUE(Schedule(product(3, 5, 4)).obligations().empty());
}

TEST(Obligations, SharedAndLocalMemoryStayInOneNest) {
  Schedule s(gemm(3, 5, 4));
  EXPECT_TRUE(s.obligations().empty()) << "global memory is handed on from kernel to kernel";
  s.set_scope(s.block("AB"), Scope::local);
  expect_owed(
      s,
      "AB is in local memory, which does not outlive its kernel, but the blocks AB and C use it in separate "
      "nests, and each nest is a kernel; move them into one nest with compute_at or reverse_compute_at",
      "s.set_scope(AB, Scope::local);", "AB");
  s.reverse_compute_at(s.block("C"), s.loop("i"));
  EXPECT_TRUE(s.obligations().empty());

  Schedule cached(product(3, 5, 4));
  cached.cache_write(cached.block("C"), Scope::shared);
  expect_owed(
      cached,
      "C_shared is in shared memory, which does not outlive its kernel, but the blocks C and C_writeback",
      "auto C_writeback = s.cache_write(C, Scope::shared);", "C_writeback");
}

TEST(Obligations, GlobalMemoryIsReadByALaterNest) {
  Schedule s(gemm(3, 5, 4));
  s.reverse_compute_at(s.block("C"), s.loop("i"));
  std::string message =
      "the temporary AB is in global memory, and block C reads it in the nest in which block AB writes it, but "
      "the thread blocks of a grid are unordered; move it to shared or local memory with set_scope";
  expect_owed(s, message, "the computation", "AB");
  s.set_scope(s.block("AB"), Scope::local);
  EXPECT_TRUE(s.obligations().empty());
  s.set_scope(s.block("AB"), Scope::global);
  expect_owed(s, message, "s.set_scope(AB, Scope::global);", "AB");
}

TEST(Obligations, LocalMemoryIsOneThreads) {
  Schedule s(gemm(3, 5, 4));
  s.set_scope(s.block("AB"), Scope::local);
  s.reverse_compute_at(s.block("C"), s.loop("i"));
  s.bind(s.loop("j"), Axis::thread_x);
  expect_owed(
      s,
      "AB is local, one copy for each thread, but it is used outside of the loop bound to threadIdx.x; split "
      "and bind the loops of C to threadIdx.x like those of its other blocks, or bring them below one such "
      "loop "
      "with reverse_compute_at or compute_at",
      "s.set_scope(AB, Scope::local);", "AB");
}

/// AB and C for 8 columns and 4 threads: a thread computes the columns t and t + 4 of AB.
Schedule shared_out(std::int64_t j_outer, std::int64_t j_inner, std::size_t thread) {
  Schedule s(gemm(3, 8, 4));
  s.set_scope(s.block("AB"), Scope::local);
  s.reverse_compute_at(s.block("C"), s.loop("i"));
  s.bind(s.split<2>(s.loop("j"), {infer, 4})[1], Axis::thread_x);
  s.bind(s.split(s.loops(s.block("C")).back(), {j_outer, j_inner})[thread], Axis::thread_x);
  return s;
}

TEST(Obligations, LocalMemoryIsSharedOutAmongThreads) {
  EXPECT_TRUE(shared_out(infer, 4, 1).obligations().empty());
  expect_owed(shared_out(4, infer, 0), "one copy for each thread", "s.set_scope(AB, Scope::local);", "AB");
}

TEST(Obligations, SharedMemoryIsOneBlocks) {
  Schedule s(product(3, 5, 4));
  s.cache_read(s.block("C"), "A", Scope::shared);
  s.bind(s.loop("i"), Axis::block_x);
  std::string message = "A_shared is in shared memory, which does not outlive its kernel";
  expect_owed(s, message, "auto A_shared = s.cache_read(C, \"A\", Scope::shared);", "A_shared");
  s.compute_at(s.block("A_shared"), s.loop("i"));
  EXPECT_TRUE(s.obligations().empty());
}

TEST(Obligations, LocalMemoryIsFilledByItsOwnThread) {
  Schedule s(product(4, 4, 4));
  s.bind(s.loop("j"), Axis::thread_x);
  BlockRef copy = s.cache_read(s.block("C"), "A", Scope::local);
  s.compute_at(copy, s.loop("j"));
  EXPECT_TRUE(s.obligations().empty());
  Loop again = s.loops(copy).back();
  s.bind(again, Axis::thread_x);
  expect_owed(s,
              "A_local is local, one copy for each thread, but block A_local uses it below " + s.name(again) +
                  ", which is bound to threadIdx.x again and runs on other threads; use shared memory, leave " +
                  s.name(again) +
                  " serial, or fuse, split and bind the loops of all blocks that use A_local in the same way",
              "auto A_local = s.cache_read(C, \"A\", Scope::local);", "A_local");
}

/// Each warp computes 32 columns, and all threads bring B to shared memory, through registers.
Schedule through_registers(std::int64_t outer, std::int64_t inner) {
  Schedule s(product(2, 64, 3));
  BlockRef C = s.block("C");
  auto [warp, lane] = s.split<2>(s.loop("j"), {2, 32});
  s.reorder({s.loop("i"), warp, s.loop("k"), lane});
  s.bind(warp, Axis::warp);
  s.bind(lane, Axis::lane);
  BlockRef tile = s.cache_read(C, "B", Scope::shared), registers = s.cache_read(tile, "B", Scope::local);
  for (BlockRef copy : {tile, registers})
    s.compute_at(copy, s.loop("k"));
  s.bind(s.loops(tile).back(), Axis::thread_x);
  auto [first, second] = s.split<2>(s.loops(registers).back(), {outer, inner});
  s.reorder({second, first});
  s.bind(s.fuse(second, first), Axis::thread_x);
  return s;
}

TEST(Obligations, LocalMemoryBelowAWarpIsFilledByItsOwnThread) {
  Schedule s = through_registers(1, 64);
  EXPECT_TRUE(s.obligations().empty());
  EXPECT_TRUE(test::same_meaning(s));
  expect_owed(through_registers(2, 32), "so that each thread reads only elements that it wrote",
              "auto B_local = s.cache_read(B_shared, \"B\", Scope::local);", "B_local");
}

TEST(Obligations, RegistersOfAThread) {
  Schedule s(product(2, 300, 4));
  BlockRef copy = s.cache_read(s.block("C"), "B", Scope::local);
  s.compute_at(copy, s.loop("i"));
  expect_owed(
      s,
      "B_local takes 4800 bytes for each thread, but sm_80 has 1020 bytes of registers; bring it under an "
      "inner loop with compute_at, or use smaller tiles",
      "auto B_local = s.cache_read(C, \"B\", Scope::local);", "B_local");
  s.compute_at(copy, s.loop("j"));
  EXPECT_TRUE(s.obligations().empty());
}

TEST(Obligations, SharedMemoryOfABlock) {
  auto tiled = [](std::int64_t tile) {
    Target target;
    target.shared_bytes_per_block = 49152;
    Schedule s(product(64, 64, 256), target);
    auto [outer, inner] = s.split(s.loop("k"), {infer, tile});
    s.reorder({outer, s.loop("i"), s.loop("j"), inner});
    for (const char *operand : {"A", "B"})
      s.compute_at(s.cache_read(s.block("C"), operand, Scope::shared), outer);
    return s;
  };
  expect_owed(
      tiled(128),
      "a block needs 65536 bytes of shared memory (A_shared 32768, B_shared 32768), but sm_80 has 49152; bring "
      "the caches under an inner loop with compute_at, or use smaller tiles",
      "auto B_shared = s.cache_read(C, \"B\", Scope::shared);", "B_shared");
  expect_not_owed(tiled(64), "bytes of shared memory");
}

TEST(Obligations, EveryIndexOfAnAxisWritesItsOwn) {
  Schedule s(product(4, 4, 4));
  BlockRef copy = s.cache_read(s.block("C"), "A", Scope::shared);
  s.compute_at(copy, s.loop("i"));
  s.bind(s.loop("j"), Axis::thread_x);
  expect_owed(s,
              "block A_shared writes the same elements of A_shared (shared memory) for all 4 indices of "
              "threadIdx.x, which is a data race; bind one of its loops to threadIdx.x",
              "auto A_shared = s.cache_read(C, \"A\", Scope::shared);", "A_shared");
  s.bind(s.loops(copy).back(), Axis::thread_x);
  EXPECT_TRUE(s.obligations().empty());

  Schedule blocks(gemm(4, 4, 4));
  blocks.set_scope(blocks.block("AB"), Scope::shared);
  blocks.reverse_compute_at(blocks.block("C"), blocks.loop("i"));
  blocks.bind(blocks.loop("j"), Axis::block_x);
  expect_owed(blocks, "block C writes the same elements of C (global memory) for all 4 indices of blockIdx.x",
              "the computation", "C");
}

TEST(Obligations, ElementsThatSeveralThreadsWrite) {
  // All threads of one row of C read the same row of A.
  Schedule s(product(4, 4, 4));
  Loop element = s.fuse(s.loop("i"), s.loop("j"));
  BlockRef copy = s.cache_read(s.block("C"), "A", Scope::shared);
  s.compute_at(copy, element);
  s.bind(element, Axis::thread_x);
  expect_owed(s,
              "block A_shared writes some elements of A_shared (shared memory) for several indices of "
              "threadIdx.x, which is a data race; move it below a loop outside of i_j with compute_at, and "
              "bind one of its own loops",
              "auto A_shared = s.cache_read(C, \"A\", Scope::shared);", "A_shared");
}

/// The guard of a strided slice is true in only one thread for each element.
TEST(Obligations, ElementsOfASliceThatOneThreadWrites) {
  for (std::int64_t stride : {2, 3, 4}) {
    Workload w("slice");
    Tensor x = w.placeholder("X", {24}, DType::u32);
    Tensor t = w.compute("T", {24}, {"i"}, [&](Expr i) -> Definition { return x(i) * 3; });
    Tensor y = w.compute("Y", {6}, {"i"}, [&](Expr i) -> Definition { return t(i * stride + 1); });
    Schedule s(w.output({y}));
    s.reverse_compute_inline(s.block("Y"));
    auto [outer, inner] = s.split<2>(s.loops(s.block("T"))[0], {infer, 8});
    s.bind(outer, Axis::block_x);
    s.bind(inner, Axis::thread_x);
    EXPECT_TRUE(s.obligations().empty()) << s.obligations().front().message;
  }
}

/// Y[i, j] is T[9*i + 2*j + 1]. Two quotients and a remainder determine the thread.
TEST(Obligations, ElementsOfAStridedSliceInRows) {
  Workload w("rows");
  Tensor x = w.placeholder("X", {55}, DType::u32);
  Tensor t = w.compute("T", {55}, {"i"}, [&](Expr i) -> Definition { return x(i) * 3; });
  Tensor y =
      w.compute("Y", {6, 4}, {"i", "j"}, [&](Expr i, Expr j) -> Definition { return t(i * 9 + j * 2 + 1); });
  Schedule s(w.output({y}));
  auto [row, part, element] = s.split<3>(s.loops(s.block("T"))[0], {infer, 3, 3});
  s.reverse_compute_inline(s.block("Y"));
  s.bind(row, Axis::block_x);
  s.bind(part, Axis::thread_x);
  EXPECT_TRUE(s.obligations().empty()) << s.obligations().front().message;
}

/// for t < 16: block Y(y = t//4, part = t%4) where part < values: Y[y] = X[y], with t bound to threadIdx.x.
Schedule quarter_of_threads(std::int64_t values) {
  Workload w("quarter");
  Tensor x = w.placeholder("X", {4}, DType::u32);
  Tensor y = w.compute("Y", {4}, {"y"}, [&](Expr at) -> Definition { return x(at); });
  Program program = w.output({y});
  Block block = *blocks_of(program.body).front();
  Var t = make_var("t");
  block.iters.front().binding = floordiv(Expr(t), Expr(4));
  block.iters.push_back({make_var("part"), Expr(values), IterKind::spatial, floormod(Expr(t), Expr(4)), true});
  program.body = make_for({t, Expr(16), Serial{}, make_block(std::move(block))});
  Schedule s(program);
  s.bind(s.loop("t"), Axis::thread_x);
  return s;
}

TEST(Obligations, ElementsThatAGuardLeavesToSeveralThreads) {
  EXPECT_TRUE(quarter_of_threads(1).obligations().empty());
  for (std::int64_t values : {2, 3})
    expect_owed(
        quarter_of_threads(values),
        "block Y writes some elements of Y (global memory) for several indices of threadIdx.x, which is "
        "a data race",
        "the computation", "Y");
}

/// The guard is not an axis of Y. It is true in two of the four threads of a block.
TEST(Obligations, ElementsInTheTailOfALoop) {
  Workload w("tail");
  Tensor x = w.placeholder("X", {12}, DType::u32);
  Tensor t = w.compute("T", {12}, {"i"}, [&](Expr i) -> Definition { return x(i) * 3; });
  Tensor y = w.compute("Y", {6}, {"i"}, [&](Expr i) -> Definition { return t(i * 2); });
  Schedule s(w.output({y}));
  auto [block, thread] = s.split<2>(s.loops(s.block("T"))[0], {infer, 4});
  s.set_scope(s.block("T"), Scope::shared);
  s.reverse_compute_at(s.block("Y"), block);
  s.bind(block, Axis::block_x);
  s.bind(thread, Axis::thread_x);
  s.bind(s.split<2>(s.loops(s.block("Y")).back(), {infer, 4})[1], Axis::thread_x);
  EXPECT_TRUE(contains(print(s.program()), "ax_i = ax_i_outer*4 + ax_i_inner) where i < 6, ax_i < 2"))
      << print(s.program());
  EXPECT_TRUE(s.obligations().empty()) << s.obligations().front().message;
}

TEST(Obligations, ElementsThatNeighboursWriteToo) {
  Schedule s(test::stencil(4));
  for (const char *name : {"T", "U", "V"})
    s.set_scope(s.block(name), Scope::shared);
  Loop row = s.loop("U_i");
  s.compute_at(s.block("T"), row);
  s.bind(row, Axis::thread_x);
  expect_owed(s, "block T writes some elements of T (shared memory) for several indices of threadIdx.x",
              "s.set_scope(T, Scope::shared);", "T");
}

TEST(Obligations, InitAndUpdateByOneThread) {
  Schedule s(product(4, 4, 4));
  Loop i = s.loop("i"), j = s.loop("j");
  auto [outer, inner] = s.split(i, {infer, 4});
  s.reorder({outer, s.loop("k"), inner, j});
  s.decompose_reduction(s.block("C"), s.loop("k"));
  s.bind(s.loop("i_inner_init"), Axis::thread_x);
  Schedule good = s;
  good.bind(inner, Axis::thread_x);
  EXPECT_TRUE(good.obligations().empty());
  s.bind(j, Axis::thread_x);
  expect_owed(
      s,
      "the blocks C_init and C write the elements of C (global memory) from different threads, which is a data "
      "race; bind the loops of both to the same axes in the same way, or use decompose_reduction after bind",
      "the computation", "C");
}

/// AB is in shared memory. Its init is in a loop around the loops of the tile. The init and the update have
/// their own thread loops.
Schedule rows_of_shared_sums(std::int64_t columns, std::int64_t init_threads, std::int64_t threads) {
  Schedule s(gemm(4, columns, 8, DType::u32));
  auto AB = s.block("AB"), C = s.block("C");
  s.set_scope(AB, Scope::shared);
  auto j = s.loops(C)[1];
  s.compute_at(AB, j);
  s.decompose_reduction(AB, j);
  s.bind(s.split(j, {infer, threads})[1], Axis::thread_x);
  std::string below = s.name(s.loops(s.block("AB_init")).back());
  s.bind(s.split(s.loop(below), {infer, init_threads})[1], Axis::thread_x);
  return s;
}

/// The init of column j executes in thread 0, in iteration j of a serial loop. The update of column j executes
/// in thread j.
TEST(Obligations, InitInASerialLoopAndUpdateInThreads) {
  for (std::int64_t columns : {1, 2, 31, 33, 64})
    if (Schedule s = rows_of_shared_sums(columns, 64, 64); columns > 1)
      expect_owed(s,
                  "the blocks AB_init and AB write the elements of AB (shared memory) from different threads",
                  "s.set_scope(AB, Scope::shared);", "AB");
}

/// The init assigns one column to each of 4 threads. The update assigns one or two neighbouring columns. With
/// two, the init and the update of a column execute in different threads.
TEST(Obligations, InitAndUpdateOfOtherSplits) {
  for (std::int64_t elements : {1, 2}) {
    Schedule s(product(8, 8, 4));
    auto C = s.block("C");
    s.reorder({s.loop("i"), s.loop("k"), s.loop("j")});
    s.decompose_reduction(C, s.loop("k"));
    auto init = s.split(s.loop("j_init"), {infer, 4});
    s.bind(init[1], Axis::thread_x);
    auto update = s.split(s.loop("j"), {infer, 4 * elements});
    s.bind(elements == 1 ? update[1] : s.split(update[1], {4, infer})[0], Axis::thread_x);
    if (elements == 1)
      expect_not_owed(s, "from different threads");
    else
      expect_owed(s, "the blocks C_init and C write the elements of C (global memory) from different threads",
                  "the computation", "C");
  }
}

/// The init and the update of an element execute in the same thread. The update has the loops in another order
/// and uses warps and lanes.
TEST(Obligations, InitAndUpdateByTheSameThreadInOtherLoops) {
  Schedule s(product(6, 64, 4));
  auto C = s.block("C");
  auto [outer, inner] = s.split(s.loop("i"), {infer, 3});
  s.reorder({outer, s.loop("k"), inner, s.loop("j")});
  s.decompose_reduction(C, s.loop("k"));
  s.reorder({s.loop("j"), inner});
  s.bind(s.loop("j_init"), Axis::thread_x);
  auto [warp, lane] = s.split(s.loop("j"), {2, infer});
  s.bind(warp, Axis::warp);
  s.bind(lane, Axis::lane);
  expect_not_owed(s, "from different threads");
}

/// y[i, j, k] is written in block b and thread t. i is b//196, and j and k are digits of 256*b + t. So i, j and
/// k determine b % 196 and t.
TEST(Obligations, ThreeFusedDimensionsAreWrittenByOneThreadEach) {
  for (auto [m, n, l] : {std::array{8, 224, 224}, {3, 5, 7}, {2, 16, 16}, {4, 1, 512}}) {
    Workload w("scale");
    Tensor x = w.placeholder("x", {m, n, l});
    Tensor y =
        w.compute("y", {m, n, l}, {"i", "j", "k"}, [&](Expr i, Expr j, Expr k) { return x(i, j, k) * 2; });
    Schedule s(w.output({y}));
    auto [i, j, k] = s.loops<3>(s.block("y"));
    auto [block, thread] = s.split(s.fuse(s.fuse(i, j), k), {infer, 256});
    s.bind(block, Axis::block_x);
    s.bind(thread, Axis::thread_x);
    EXPECT_TRUE(s.obligations().empty()) << m << " x " << n << " x " << l;
  }
}

/// A 32 x 32 tile of B in shared memory.
Schedule with_tile(Target target = {}) {
  Schedule s(product(64, 64, 64), target);
  auto [k_outer, k_inner] = s.split(s.loop("k"), {infer, 32});
  auto [j_outer, j_inner] = s.split(s.loop("j"), {infer, 32});
  s.reorder({j_outer, s.loop("i"), k_outer, j_inner, k_inner});
  s.compute_at(s.cache_read(s.block("C"), "B", Scope::shared), k_outer);
  return s;
}

TEST(Obligations, CapacityHoldsThePadding) {
  Target small;
  small.shared_bytes_per_block = 4200;
  Schedule s = with_tile(small);
  EXPECT_TRUE(s.obligations().empty());
  s.storage_align(s.block("B_shared"), 0, 4, 0);
  EXPECT_TRUE(s.obligations().empty());
  s.storage_align(s.block("B_shared"), 0, 32, 1);
  expect_owed(
      s,
      "a block needs 4224 bytes of shared memory (B_shared 4224), but sm_80 has 4200; without padding it "
      "would fit: use a swizzle, which needs none",
      "s.storage_align(B_shared, 0, 32, 1);", "B_shared");
}

TEST(Obligations, MapThatIsNotInvertibleOverALargerTile) {
  Schedule s(product(64, 64, 64));
  s.reorder({s.loop("i"), s.loop("k"), s.loop("j")});
  BlockRef copy = s.cache_read(s.block("C"), "A", Scope::shared);
  s.compute_at(copy, s.loop("i")); // the copy has one row
  s.transform_layout(copy, "i, k -> k");
  expect_not_owed(s, "invertible");
  s.bind(s.loop("i"), Axis::thread_x); // each thread uses a row of its own
  expect_owed(s,
              "the layout of A_shared is not invertible over the 64 x 64 elements in memory at one time: (0, "
              "0) and (1, 0) both map to (0); use transform_layout after compute_at, or keep the remainder of "
              "each division in the map",
              "s.transform_layout(A_shared, \"i, k -> k\");", "A_shared");
}

TEST(Obligations, LaunchBoundsStillHold) {
  Schedule s = with_tile();
  s.launch_bounds(32);
  EXPECT_TRUE(s.obligations().empty());
  Schedule threads = s;
  threads.bind(threads.loop("i"), Axis::thread_x);
  threads.bind(threads.loop("j_outer"), Axis::thread_y);
  expect_owed(
      threads,
      "32 blocks of 128 threads are 4096 threads, but an SM of sm_80 holds at most 2048; request fewer blocks",
      "s.launch_bounds(32);", "");
  s.storage_align(s.block("B_shared"), 0, 64, 0);
  expect_owed(s,
              "32 blocks with 9216 bytes of shared memory each, 1024 of them reserved by the system, need "
              "294912, but an SM of sm_80 has 167936; request fewer blocks, or use smaller tiles",
              "s.launch_bounds(32);", "");
}

/// The block C is older than its cache: the directive that gave it a result in shared memory owes.
TEST(Obligations, ACacheIsOwedByTheDirectiveThatMadeIt) {
  Target small;
  small.shared_bytes_per_block = 8192;
  Schedule s(product(64, 64, 4), small);
  Loop outer = s.split(s.loop("i"), {infer, 64})[0];
  s.reverse_compute_at(s.cache_write(s.block("C"), Scope::shared), outer);
  expect_owed(s, "a block needs 16384 bytes of shared memory (C_shared 16384), but sm_80 has 8192",
              "auto C_writeback = s.cache_write(C, Scope::shared);", "C");
}

/// Later directives with the same names of axes or kinds, about other nests and buffers, do not owe.
TEST(Obligations, AreOwedByTheDirectiveOfTheirNest) {
  Workload w("shifted");
  Tensor x = w.placeholder("X", {8, 8}, DType::u32);
  Tensor t = w.compute("T", {8, 8}, {"i", "j"}, [&](Expr i, Expr j) { return x(i, j) + 1; });
  Tensor y = w.compute("Y", {8, 8}, {"i", "j"}, [&](Expr i, Expr j) { return t(i, j) * 3; });
  Tensor u = w.compute("U", {8, 8}, {"i", "j"},
                       [&](Expr i, Expr j) { return y.where(Expr(0) < i, i - 1, j) + t(i, j); });
  Tensor v = w.compute("V", {8, 8}, {"i", "j"}, [&](Expr i, Expr j) { return x(i, j) + 1; });
  Schedule s(w.output({y, u, v}));
  auto [i, j] = s.loops<2>(s.block("T"));
  Loop other = s.loops(s.block("V"))[0];
  s.reverse_compute_at(s.block("Y"), j);
  s.reverse_compute_at(s.block("U"), j);
  s.bind(i, Axis::block_x);
  s.bind(other, Axis::block_x);
  expect_owed(s, "where nothing orders the two", "s.bind(i, Axis::block_x);", "U");
}

/// A program may come with what only a directive can set otherwise.
TEST(Obligations, AreOwedByTheComputationWhereNoDirectiveCausedThem) {
  Program program = product(8, 8, 8);
  program.min_blocks = 100000;
  expect_owed(Schedule(program),
              "100000 blocks of 1 threads are 100000 threads, but an SM of sm_80 holds at most 2048",
              "the computation", "");

  Schedule mapped(product(64, 64, 64));
  mapped.reorder({mapped.loop("i"), mapped.loop("k"), mapped.loop("j")});
  BlockRef copy = mapped.cache_read(mapped.block("C"), "A", Scope::shared);
  mapped.compute_at(copy, mapped.loop("i"));
  mapped.transform_layout(copy, "i, k -> k");
  mapped.bind(mapped.loop("i"), Axis::thread_x);
  expect_owed(Schedule(mapped.program()), "the layout of A_shared is not invertible", "the computation",
              "A_shared");

  Schedule padded = with_tile();
  padded.storage_align(padded.block("B_shared"), 0, 32, 1);
  Target small;
  small.shared_bytes_per_block = 4200;
  expect_owed(Schedule(padded.program(), small), "a block needs 4224 bytes of shared memory (B_shared 4224)",
              "the computation", "");
}

} // namespace
} // namespace nestsmith
