/// Tests results of schedules that keep rows in registers: a shared copy, and a temporary of several threads.
#include "tests/dsl/rows.h"
#include "tests/dsl/support.h"
#include "tests/runtime/check/right.h"

namespace nestsmith {
namespace {

using test::centered;
using test::expect_right;

/// The row that a thread copied is in its registers for the sum and for the result.
TEST(RowInRegisters, IsRightForAThread) {
  for (auto [m, n] : {std::pair(1, 1), std::pair(5, 7), std::pair(33, 4)}) {
    SCOPED_TRACE(testing::Message() << m << "x" << n);
    Schedule s(centered(m, n));
    BlockRef T = s.block("T"), Y = s.block("Y"), copy = s.cache_read(T, "X", Scope::local);
    s.share_cache(Y, copy);
    s.set_scope(T, Scope::local);
    auto [block, row] = s.split(s.loops(T)[0], {infer, 32});
    s.bind(block, Axis::block_x);
    s.bind(row, Axis::thread_x);
    s.reverse_compute_at(Y, row);
    s.compute_at(copy, row);
    EXPECT_TRUE(s.obligations().empty());
    expect_right(s);
  }
}

/// The threads of a row copy its elements, and each reads those that it copied.
TEST(RowInRegisters, IsRightForThreadsThatShareItOut) {
  for (auto [m, n] : {std::pair(1, 1), std::pair(5, 37), std::pair(2, 64), std::pair(3, 130)}) {
    SCOPED_TRACE(testing::Message() << m << "x" << n);
    Schedule s(centered(m, n));
    BlockRef T = s.block("T"), Y = s.block("Y"), copy = s.cache_read(T, "X", Scope::local);
    s.share_cache(Y, copy);
    Loop row = s.loops(T)[0];
    s.bind(row, Axis::block_x);
    s.set_scope(T, Scope::local);
    s.reduce_across(s.split<2>(s.loops(T).back(), {infer, 32})[1], Axis::lane);
    s.reverse_compute_at(Y, row);
    s.compute_at(copy, row);
    for (BlockRef block : {copy, Y})
      s.bind(s.split<2>(s.loops(block).back(), {infer, 32})[1], Axis::lane);
    EXPECT_TRUE(s.obligations().empty());
    expect_right(s);
  }
}

} // namespace
} // namespace nestsmith
