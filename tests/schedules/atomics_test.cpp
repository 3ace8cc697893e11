/// Tests reductions by atomic operations on the simulator: results at edge sizes, types, and
/// temporaries that a later kernel reads.

#include "runtime/check/stored_array.h"
#include "schedules/workloads.h"
#include "tests/dsl/support.h"
#include "tests/runtime/check/right.h"

#include <fmt/format.h>

namespace nestsmith {
namespace {

using test::expect_right;

/// Tiles of 4 x 8. Each index of blockIdx.z computes a part of K in registers, and adds it to the tile of AB,
/// which a third kernel reads.
Schedule split_by_atomics(const Shape &shape, DType dtype, std::int64_t parts, std::int64_t terms) {
  Schedule s(gemm(shape, dtype));
  BlockRef AB = s.block("AB"), C = s.block("C");
  auto [i, j, k] = s.loops<3>(AB);
  auto [i_block, j_block, i_thread, j_thread] = s.tile(i, j, {4, 8});
  auto [part, inner] = s.split<2>(k, {parts, terms});
  BlockRef partial = s.rfactor(part);
  s.reorder({i_block, j_block, part, i_thread, j_thread, inner});
  s.set_scope(partial, Scope::local);
  BlockRef init = s.nondeterministic_atomics(AB);
  s.reverse_compute_at(AB, j_thread);
  s.bind(part, Axis::block_z);
  s.bind(i_block, Axis::block_y);
  s.bind(j_block, Axis::block_x);
  s.bind(i_thread, Axis::thread_y);
  s.bind(j_thread, Axis::thread_x);
  for (BlockRef block : {init, C}) {
    auto [columns, column] = s.split<2>(s.loops(block)[1], {infer, 32});
    s.bind(s.loops(block)[0], Axis::block_y);
    s.bind(columns, Axis::block_x);
    s.bind(column, Axis::thread_x);
  }
  return s;
}

TEST(Atomics, AddThePartsOfAProductAtEachSize) {
  for (const Shape &shape :
       {Shape{1, 1, 1}, Shape{4, 8, 16}, Shape{5, 9, 17}, Shape{7, 13, 31}, Shape{3, 7, 2}})
    for (DType dtype : {DType::f32, DType::u32}) {
      SCOPED_TRACE(fmt::format("{}x{}x{} {}", shape[0], shape[1], shape[2], name(dtype)));
      Schedule s = split_by_atomics(shape, dtype, 3, infer);
      EXPECT_TRUE(s.obligations().empty()) << s.obligations().front().message << print(s.program());
      EXPECT_EQ(lower(s).kernels.size(), 3U);
      expect_right(s);
    }
}

/// All threads of all blocks combine each of their terms, at sizes with tails.
TEST(Atomics, ReduceRowsByEachReducerAndType) {
  for (auto [reducer, dtype] : {std::pair(Reducer(Reducer::sum), DType::f32),
                                {Reducer::sum, DType::f64},
                                {Reducer::sum, DType::i32},
                                {Reducer::max, DType::i32},
                                {Reducer::min, DType::i32},
                                {Reducer::max, DType::u32},
                                {Reducer::min, DType::u32}})
    for (std::int64_t n : {1, 31, 32, 33, 101}) {
      SCOPED_TRACE(fmt::format("{} of {}, {}", name(reducer), name(dtype), n));
      Workload w("rows");
      Tensor x = w.placeholder("X", {3, n}, dtype);
      Reduce k = reduce_axis("k", n);
      Schedule s(
          w.output({w.compute("Y", {3}, {"i"}, [&](const Expr &i) { return reduce(reducer, x(i, k), k); })}));
      BlockRef y = s.block("Y");
      s.bind(s.loops(s.nondeterministic_atomics(y))[0], Axis::thread_x);
      auto [i, term] = s.loops<2>(y);
      auto [block, step, thread] = s.split<3>(term, {infer, 2, 8});
      s.bind(i, Axis::block_y);
      s.bind(block, Axis::block_x);
      s.bind(thread, Axis::thread_x);
      expect_right(s);
    }
}

TEST(Atomics, AreRightForSizesThatAreKnownAtLaunch) {
  Shape any = {1, 1, 1};
  any.stated = Size{};
  Schedule s = split_by_atomics(any, DType::u32, infer, 5);
  kernel::Plan plan = lower(s);
  SimExecutor simulator;
  for (const Shape &shape : {Shape{5, 9, 17}, Shape{8, 8, 3}}) {
    CheckResult result = check(s, with_sizes(plan, sizes_for(s.source(), shape, 0)), simulator);
    EXPECT_TRUE(result.passed) << shape[2] << "\n" << test::all_messages(result);
  }
}

} // namespace
} // namespace nestsmith
