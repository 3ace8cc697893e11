/// Tests kernels whose consumers read a temporary with another shape.

#include "dsl/ir/tensor.h"
#include "tests/runtime/check/right.h"

#include <gtest/gtest.h>

namespace nestsmith {
namespace {

using test::expect_right;

TEST(Reshape, ASumOfARowThatAThreadComputes) {
  Workload w("rows");
  Tensor x = w.placeholder("X", {13, 8}, DType::u32);
  Tensor t = w.compute("T", {13, 8}, {"i", "j"}, [&](Expr i, Expr j) -> Definition { return x(i, j) * 3; });
  Reduce k = reduce_axis("k", 8);
  Tensor y = w.compute("Y", {13}, {"i"}, [&](Expr i) { return sum(t(i, k), k); });
  Schedule s(w.output({y}));
  s.set_scope(s.block("T"), Scope::local);
  auto [block, thread] = s.split<2>(s.loop("i"), {infer, 4});
  s.reverse_compute_at(s.block("Y"), thread);
  s.bind(block, Axis::block_x);
  s.bind(thread, Axis::thread_x);
  expect_right(s);
}

TEST(Reshape, TilesInSharedMemoryThatAreWrittenAsRows) {
  Workload w("flatten");
  Tensor x = w.placeholder("X", {96}, DType::u32);
  Tensor t = w.compute("T", {96}, {"i"}, [&](Expr i) -> Definition { return x(i) + 1; });
  Tensor y =
      w.compute("Y", {12, 8}, {"i", "j"}, [&](Expr i, Expr j) -> Definition { return t(i * 8 + j) * 2; });
  Schedule s(w.output({y}));
  s.set_scope(s.block("T"), Scope::shared);
  auto [block, thread] = s.split<2>(s.loops(s.block("T"))[0], {infer, 32});
  s.reverse_compute_at(s.block("Y"), block);
  auto own = s.loops(s.block("Y"));
  s.bind(s.fuse(own[own.size() - 2], own.back()), Axis::thread_x);
  s.bind(block, Axis::block_x);
  s.bind(thread, Axis::thread_x);
  expect_right(s);
}

/// T = 3*X and Y[i] = T[stride*i + offset] in the blocks T and Y. Y has as many elements as the indices allow.
Program strided(std::int64_t elements, std::int64_t stride, std::int64_t offset) {
  Workload w("strided");
  Tensor x = w.placeholder("X", {elements}, DType::u32);
  Tensor t = w.compute("T", {elements}, {"i"}, [&](Expr i) -> Definition { return x(i) * 3; });
  Tensor y = w.compute("Y", {(elements - offset - 1) / stride + 1}, {"i"},
                       [&](Expr i) -> Definition { return t(i * stride + offset); });
  return w.output({y});
}

TEST(Reshape, ASliceOfTilesInSharedMemory) {
  for (std::int64_t offset : {0, 3, 5})
    for (std::int64_t stride : {1, 2, 4})
      for (std::int64_t tile : {4, 8, 16}) {
        Schedule s(strided(50, stride, offset));
        s.set_scope(s.block("T"), Scope::shared);
        auto [block, thread] = s.split<2>(s.loops(s.block("T"))[0], {infer, tile});
        s.reverse_compute_at(s.block("Y"), block);
        s.bind(block, Axis::block_x);
        s.bind(thread, Axis::thread_x);
        s.bind(s.split(s.loops(s.block("Y")).back(), {infer, tile})[1], Axis::thread_x);
        expect_right(s);
      }
}

TEST(Reshape, AStridedSliceOfTheElementOfAThread) {
  for (std::int64_t elements : {1, 8, 33})
    for (std::int64_t stride : {2, 3})
      for (std::int64_t threads : {stride, 2 * stride, 4 * stride}) {
        Schedule s(strided(elements, stride, 0));
        s.set_scope(s.block("T"), Scope::local);
        auto [block, thread] = s.split<2>(s.loops(s.block("T"))[0], {infer, threads});
        s.reverse_compute_at(s.block("Y"), thread);
        s.bind(block, Axis::block_x);
        s.bind(thread, Axis::thread_x);
        expect_right(s);
      }
}

TEST(Reshape, ABroadcastOfTilesInSharedMemory) {
  for (std::int64_t rows : {1, 7, 9}) {
    Workload w("broadcast");
    Tensor x = w.placeholder("X", {rows}, DType::u32), z = w.placeholder("Z", {rows, 6}, DType::u32);
    Tensor t = w.compute("T", {rows}, {"i"}, [&](Expr i) -> Definition { return x(i) * 3; });
    Tensor y =
        w.compute("Y", {rows, 6}, {"i", "j"}, [&](Expr i, Expr j) -> Definition { return z(i, j) + t(i); });
    Schedule s(w.output({y}));
    s.set_scope(s.block("T"), Scope::shared);
    auto [block, thread] = s.split<2>(s.loops(s.block("T"))[0], {infer, 4});
    s.reverse_compute_at(s.block("Y"), block);
    s.bind(block, Axis::block_x);
    s.bind(thread, Axis::thread_x);
    s.bind(s.loops_below(s.block("Y"), block)[0], Axis::thread_x);
    expect_right(s);
  }
}

TEST(Reshape, ABroadcastOfASliceOfSizes) {
  Workload w("sizes");
  Expr m = w.size("M", {.max = 1000}), n = w.size("N", {.max = 1000});
  Tensor x = w.placeholder("X", {m + 3}, DType::u32), z = w.placeholder("Z", {m, n}, DType::u32);
  Tensor t = w.compute("T", {m + 3}, {"i"}, [&](Expr i) -> Definition { return x(i) * 3; });
  Tensor y =
      w.compute("Y", {m, n}, {"i", "j"}, [&](Expr i, Expr j) -> Definition { return t(i + 3) - z(i, j); });
  Schedule s(w.output({y}));
  s.set_scope(s.block("T"), Scope::shared);
  auto [block, thread] = s.split<2>(s.loops(s.block("T"))[0], {infer, 4});
  s.reverse_compute_at(s.block("Y"), block);
  s.bind(block, Axis::block_x);
  s.bind(thread, Axis::thread_x);
  s.bind(s.loops_below(s.block("Y"), block)[0], Axis::thread_x);
  for (std::vector<std::int64_t> sizes : {std::vector<std::int64_t>{1, 1}, {1, 9}, {4, 3}, {9, 5}}) {
    SimExecutor simulator;
    CheckResult result = check(s, with_sizes(lower(s), sizes), simulator);
    EXPECT_TRUE(result.passed) << sizes[0] << " x " << sizes[1] << "\n" << test::all_messages(result);
  }
}

TEST(Reshape, ASliceThatItsProducerWrites) {
  for (std::int64_t threads : {4, 8, 16}) {
    Workload w("slice");
    Tensor x = w.placeholder("X", {5, 20}, DType::u32);
    Tensor t = w.compute("T", {5, 20}, {"i", "j"}, [&](Expr i, Expr j) -> Definition { return x(i, j) * 3; });
    Tensor y =
        w.compute("Y", {3, 7}, {"i", "j"}, [&](Expr i, Expr j) -> Definition { return t(i + 1, j + 3); });
    Schedule s(w.output({y}));
    auto [block, thread] = s.split<2>(s.loops(s.block("T"))[1], {infer, threads});
    s.reverse_compute_inline(s.block("Y"));
    s.bind(block, Axis::block_x);
    s.bind(thread, Axis::thread_x);
    expect_right(s);
  }
}

TEST(Reshape, AStridedSliceThatItsProducerWrites) {
  for (std::int64_t elements : {3, 8, 33, 64})
    for (std::int64_t stride : {2, 3, 5})
      for (std::int64_t offset : {0, 1, 2})
        for (std::int64_t threads : {1, 4, 6}) {
          Schedule s(strided(elements, stride, offset));
          auto [block, thread] = s.split<2>(s.loops(s.block("T"))[0], {infer, threads});
          s.reverse_compute_inline(s.block("Y"));
          s.bind(block, Axis::block_x);
          s.bind(thread, Axis::thread_x);
          expect_right(s);
        }
}

TEST(Reshape, AStridedSliceThatItsReaderComputes) {
  for (std::int64_t elements : {3, 8, 33}) {
    Schedule s(strided(elements, 2, 1));
    auto [block, thread] = s.split<2>(s.loops(s.block("Y"))[0], {infer, 4});
    s.bind(block, Axis::block_x);
    s.bind(thread, Axis::thread_x);
    s.compute_inline(s.block("T"));
    expect_right(s);
  }
}

TEST(Reshape, ARowThatItsProducerWrites) {
  for (std::int64_t row : {0, 2, 4}) {
    Workload w("row");
    Tensor x = w.placeholder("X", {5, 9}, DType::u32);
    Tensor t = w.compute("T", {5, 9}, {"i", "j"}, [&](Expr i, Expr j) -> Definition { return x(i, j) * 3; });
    Tensor y = w.compute("Y", {9}, {"j"}, [&](Expr j) -> Definition { return t(row, j); });
    Schedule s(w.output({y}));
    auto [i, j] = s.loops<2>(s.block("T"));
    s.reverse_compute_inline(s.block("Y"));
    s.bind(i, Axis::block_x);
    s.bind(j, Axis::thread_x);
    expect_right(s);
  }
}

} // namespace
} // namespace nestsmith
