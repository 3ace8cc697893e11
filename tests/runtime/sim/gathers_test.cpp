/// Tests accesses whose indices are data, where the indices and the data are cached.

#include "dsl/ir/tensor.h"
#include "tests/runtime/check/right.h"

#include <gtest/gtest.h>

namespace nestsmith {
namespace {

using test::expect_right;

/// C[i, j] = A[B[i] % 7, j] in the block C.
Schedule gather() {
  Workload w("gather");
  Tensor a = w.placeholder("A", {7, 6}, DType::u32), b = w.placeholder("B", {12}, DType::u32);
  Tensor c = w.compute("C", {12, 6}, {"i", "j"},
                       [&](Expr i, Expr j) -> Definition { return a(cast(DType::i64, b(i) % 7), j); });
  return Schedule(w.output({c}));
}

TEST(Gathers, TheIndexThroughACache) {
  for (Scope scope : {Scope::local, Scope::shared}) {
    Schedule s = gather();
    BlockRef cache = s.cache_read(s.block("C"), "B", scope);
    auto [i, j] = s.loops<2>(s.block("C"));
    auto [block, thread] = s.split<2>(i, {infer, 4});
    s.bind(block, Axis::block_x);
    s.compute_at(cache, scope == Scope::local ? thread : block);
    s.bind(thread, Axis::thread_x);
    if (scope == Scope::shared)
      s.bind(s.loops(cache).back(), Axis::thread_x);
    expect_right(s);
  }
}

TEST(Gathers, TheDataThroughACache) {
  Schedule s = gather();
  BlockRef cache = s.cache_read(s.block("C"), "A", Scope::shared);
  auto [i, j] = s.loops<2>(s.block("C"));
  auto [block, thread] = s.split<2>(i, {infer, 7});
  s.bind(block, Axis::block_x);
  s.compute_at(cache, block);
  s.bind(thread, Axis::thread_x);
  s.bind(s.loops(cache)[1], Axis::thread_x);
  expect_right(s);
}

TEST(Gathers, BothThroughCaches) {
  Schedule s = gather();
  BlockRef index = s.cache_read(s.block("C"), "B", Scope::local);
  BlockRef data = s.cache_read(s.block("C"), "A", Scope::local);
  auto [i, j] = s.loops<2>(s.block("C"));
  s.bind(i, Axis::thread_x);
  s.compute_at(index, i);
  s.compute_at(data, j);
  expect_right(s);
}

TEST(Gathers, AStagedIndex) {
  Workload w("staged");
  Tensor a = w.placeholder("A", {7}, DType::u32), b = w.placeholder("B", {12}, DType::u32);
  Tensor p = w.compute("P", {12}, {"i"}, [&](Expr i) -> Definition { return cast(DType::i64, b(i) % 7); });
  Tensor c = w.compute("C", {12}, {"i"}, [&](Expr i) -> Definition { return a(p(i)); });
  Schedule s(w.output({c}));
  s.set_scope(s.block("P"), Scope::local);
  Loop i = s.loops(s.block("C"))[0];
  s.compute_at(s.block("P"), i);
  s.bind(i, Axis::thread_x);
  expect_right(s);
}

/// Reads X[P[i] + 8], where the check fills P with indices of either sign.
TEST(Gathers, ASignedIndexThroughACache) {
  Workload w("signed_index");
  Tensor x = w.placeholder("X", {17}, DType::u32), p = w.placeholder("P", {12}, DType::i64);
  Tensor y = w.compute("Y", {12}, {"i"}, [&](Expr i) -> Definition { return x(p(i) + 8); });
  Schedule s(w.output({y}));
  BlockRef cache = s.cache_read(s.block("Y"), "P", Scope::local);
  Loop i = s.loops(s.block("Y"))[0];
  s.compute_at(cache, i);
  s.bind(i, Axis::thread_x);
  expect_right(s);
}

TEST(Gathers, AnIndexThatIsASelect) {
  Workload w("select_index");
  Tensor x = w.placeholder("X", {12}, DType::u32);
  Tensor y = w.compute("Y", {12}, {"i"}, [&](Expr i) -> Definition { return x(select(i < 4, i, 11 - i)); });
  Schedule s(w.output({y}));
  BlockRef cache = s.cache_read(s.block("Y"), "X", Scope::local);
  Loop i = s.loops(s.block("Y"))[0];
  s.compute_at(cache, i);
  s.bind(i, Axis::thread_x);
  expect_right(s);
}

} // namespace
} // namespace nestsmith
