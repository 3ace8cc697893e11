/// Consumers that read a temporary as another shape, in kernels.

#include "dsl/tensor.h"
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

} // namespace
} // namespace nestsmith
