/// Tests the refusals of the kernel verifier. Each kernel is correct except for one defect.

#include "lowering/verify_kernel.h"

#include <gtest/gtest.h>

#include <functional>

namespace nestsmith::kernel {
namespace {

Buffer buffer(const char *name, std::int64_t elements, Scope scope, Role role) {
  return std::make_shared<const BufferNode>(BufferNode{name, DType::f32, {Expr(elements)}, scope, role});
}

Expr number(std::int64_t n) { return int_imm(n, DType::i32); }

/// 64 threads of each of `blocks` blocks fill the tiles s and t, one with vectors and one with scalars, and
/// read t in a loop with barriers.
struct TwoTiles {
  Buffer x, s, t;
  Var block = make_var("block", DType::i32), tid = make_var("tid", DType::i32), n = make_var("n", DType::i32),
      v = make_var("v", DType::f32, 4);
  Kernel kernel;
  Expr extent = number(4), offset = Expr(block) * number(256) + Expr(tid) * number(4);

  explicit TwoTiles(std::int64_t blocks = 10)
      : x(buffer("x", blocks * 256, Scope::global, Role::inout)),
        s(buffer("s", 256, Scope::shared, Role::temporary)),
        t(buffer("t", 64, Scope::shared, Role::temporary)) {
    kernel.name = "example";
    kernel.params = {x};
    kernel.indices = {{Axis::block_x, block, Expr(blocks)}, {Axis::thread_x, tid, 64}};
    kernel.shared = {{s, 0, {}, 16}, {t, 1024, {}}};
    kernel.shared_bytes = 1280;
    kernel.aligned = {{x, 16}};
  }

  std::string breach() {
    kernel.body = make_seq(
        {make(Declare{v, load(x, {offset}, {}, {}, 4)}), make(Store{s, {Expr(tid) * number(4)}, v, 4}),
         make(Store{t, {tid}, Expr(1.0F)}), make(Barrier{}),
         make(Loop{n, extent, Serial{}, make_seq({make(Store{x, {offset}, load(t, {n})}), make(Barrier{})})})});
    return find_breach(kernel).value_or("");
  }
};

TEST(VerifyKernel, LetsARightOnePass) { EXPECT_EQ(TwoTiles().breach(), ""); }

TEST(VerifyKernel, RefusesALoopThatEndsDifferentlyForEachThread) {
  TwoTiles e;
  e.extent = Expr(e.tid) + number(1);
  EXPECT_EQ(e.breach(), "the extent of the loop n differs between the threads of a block");
}

TEST(VerifyKernel, RefusesTilesThatOverlapOrDoNotFit) {
  TwoTiles overlap, small;
  overlap.kernel.shared[1].byte_offset = 1008;
  EXPECT_EQ(overlap.breach(), "t starts at byte 1008 of shared memory, where another array lies");
  small.kernel.shared_bytes = 1276;
  EXPECT_EQ(small.breach(), "t ends at byte 1280 of shared memory, which has 1276");
}

/// 64 threads write s, copy s to t, and read t. `u` has memory of its own or uses the memory of s.
struct Phases {
  Buffer x = buffer("x", 64, Scope::global, Role::inout), s = buffer("s", 256, Scope::shared, Role::temporary),
         t = buffer("t", 64, Scope::shared, Role::temporary),
         u = buffer("u", 64, Scope::shared, Role::temporary);
  Var tid = make_var("tid", DType::i32);
  Kernel kernel;

  Phases() {
    kernel.name = "phases";
    kernel.params = {x};
    kernel.indices = {{Axis::thread_x, tid, 64}};
    kernel.shared = {{s, 0, {}}, {t, 1024, {}}, {u, 512, {}}};
    kernel.shared[2].tenancy = Tenancy{0, 512, 256};
    kernel.shared_bytes = 1280;
  }

  Stmt copy(const Buffer &to, const Buffer &from) const {
    return make_seq({make(Store{to, {tid}, load(from, {tid})}), make(Barrier{})});
  }
  std::string breach(std::vector<Stmt> stmts, bool twice = false) {
    kernel.body = make_seq(std::move(stmts));
    if (twice)
      kernel.body = make(Loop{make_var("n", DType::i32), number(2), Serial{}, kernel.body});
    return find_breach(kernel).value_or("");
  }
};

TEST(VerifyKernel, LetsArraysShareMemoryOneAfterTheOther) {
  for (bool twice : {false, true}) {
    Phases p;
    EXPECT_EQ(p.breach({p.copy(p.s, p.x), p.copy(p.t, p.s), p.copy(p.u, p.t), p.copy(p.x, p.u)}, twice), "");
  }
}

TEST(VerifyKernel, RefusesArraysThatShareMemoryWhileBothAreLive) {
  Phases late, around;
  EXPECT_EQ(late.breach({late.copy(late.s, late.x), late.copy(late.u, late.s), late.copy(late.x, late.s)}),
            "s is read after u, which lies in the same memory, was written");
  EXPECT_EQ(around.breach({around.copy(around.t, around.x), around.copy(around.u, around.t),
                           around.copy(around.x, around.u)},
                          true),
            "");
  EXPECT_EQ(around.breach({around.copy(around.x, around.s), around.copy(around.u, around.x)}), "");
  EXPECT_EQ(around.breach({around.copy(around.x, around.s), around.copy(around.u, around.x)}, true),
            "s is read after u, which lies in the same memory, was written")
      << "in the next iteration";
}

TEST(VerifyKernel, FollowsBothSidesOfABranch) {
  Phases p;
  Stmt branch = make(If{Expr(p.tid) < number(3), make(Store{p.u, {p.tid}, Expr(1.0F)}),
                        make(Store{p.t, {p.tid}, Expr(1.0F)})});
  EXPECT_EQ(p.breach({p.copy(p.s, p.x), branch, p.copy(p.x, p.s)}),
            "s is read after u, which lies in the same memory, was written");
  EXPECT_EQ(p.breach({p.copy(p.s, p.x), branch, p.copy(p.s, p.x), p.copy(p.x, p.s)}), "");
}

TEST(VerifyKernel, RefusesAnArrayThatDoesNotLieInItsHost) {
  auto breach = [](const Tenancy &tenancy, std::int64_t byte_offset) {
    Phases p;
    p.kernel.shared[2].tenancy = tenancy;
    p.kernel.shared[2].byte_offset = byte_offset;
    return p.breach({p.copy(p.u, p.x), p.copy(p.x, p.u)});
  };
  EXPECT_EQ(breach({0, 768, 256}, 768), "");
  EXPECT_EQ(breach({0, 784, 256}, 784),
            "u starts at byte 784 of shared memory and has 256 bytes, expected bytes 784 to 1040 of s");
  EXPECT_EQ(breach({0, 512, 256}, 528),
            "u starts at byte 528 of shared memory and has 256 bytes, expected bytes 512 to 768 of s");
  EXPECT_EQ(breach({0, 512, 128}, 512),
            "u starts at byte 512 of shared memory and has 256 bytes, expected bytes 512 to 640 of s");
  EXPECT_EQ(breach({2, 0, 256}, 512), "u lies in the memory of an array that has none of its own");
  EXPECT_EQ(breach({3, 0, 256}, 512), "u lies in the memory of an array that has none of its own");
}

TEST(VerifyKernel, RefusesVectorsWhoseAlignmentIsNotStated) {
  TwoTiles tile, moved, param;
  tile.kernel.shared[0].alignment = 8;
  EXPECT_EQ(tile.breach(), "s is accessed by vectors of 16 bytes, but its alignment is stated as 8");
  moved.kernel.shared[0].byte_offset = 4;
  moved.kernel.shared[1].byte_offset = 1040;
  moved.kernel.shared_bytes = 1296;
  EXPECT_EQ(moved.breach(), "s starts at byte 4 of shared memory, expected a multiple of 16");
  param.kernel.aligned.clear();
  EXPECT_EQ(param.breach(), "x is accessed by vectors of 16 bytes, but its alignment is stated as 0");
}

TEST(VerifyKernel, RefusesAnOffsetOf32BitsThatMayNotFit) {
  EXPECT_EQ(TwoTiles(8388608).breach(), "") << "the last offset is 2^31 - 1";
  EXPECT_EQ(TwoTiles(8388609).breach(), "block*256 + tid*4 may not fit in 32 bits");
  TwoTiles wide(8388609);
  wide.offset = cast(DType::i64, wide.block) * Expr(256) + cast(DType::i64, Expr(wide.tid) * number(4));
  EXPECT_EQ(wide.breach(), "");
}

/// Returns the breach of a kernel that stores `value` of one element of x.
std::string breach_of(DType dtype, const std::function<Expr(const Expr &)> &value) {
  Kernel kernel;
  kernel.name = "example";
  auto param = [&](const char *name, DType type, Role role) {
    kernel.params.push_back(
        std::make_shared<const BufferNode>(BufferNode{name, type, {Expr(1)}, Scope::global, role}));
    return kernel.params.back();
  };
  Buffer x = param("x", dtype, Role::input);
  Expr stored = value(load(x, {number(0)}));
  Buffer y = param("y", stored.dtype(), Role::output);
  kernel.body = make(Store{y, {number(0)}, stored});
  return find_breach(kernel).value_or("");
}

TEST(VerifyKernel, RefusesOperationsThatAreUndefinedForSomeData) {
  EXPECT_EQ(breach_of(DType::i32, [](const Expr &x) { return x + number(1); }),
            "x[0] + 1 is signed arithmetic on data that may overflow");
  EXPECT_EQ(breach_of(DType::i64, [](const Expr &x) { return x * x; }),
            "x[0]*x[0] is signed arithmetic on data that may overflow");
  EXPECT_EQ(breach_of(DType::i32,
                      [](const Expr &x) { return select(x < number(0), number(1), number(2)) * number(3); }),
            "");
  auto through = [](DType dtype) { // unsigned arithmetic wraps around
    return [dtype](const Expr &x) { return cast(x.dtype(), cast(dtype, x) + constant(dtype, 1)); };
  };
  EXPECT_EQ(breach_of(DType::i32, through(DType::u32)), "");
  EXPECT_EQ(breach_of(DType::i64, through(DType::u64)), "");

  EXPECT_EQ(breach_of(DType::u32, [](const Expr &x) { return floordiv(x, x); }),
            "x[0]//x[0] has a divisor that may be 0");
  EXPECT_EQ(breach_of(DType::u32, [](const Expr &x) { return floormod(x, constant(DType::u32, 7)); }), "");
  EXPECT_EQ(breach_of(DType::f32, [](const Expr &x) { return cast(DType::u16, x); }),
            "u16(x[0]) converts data that may be out of range");
}

/// A kernel that consists of one arrival.
struct Arrival {
  Buffer counters = std::make_shared<const BufferNode>(
      BufferNode{"counters", DType::u32, {Expr(10)}, Scope::global, Role::temporary});
  Var block = make_var("block", DType::i32), part = make_var("part", DType::i32),
      tid = make_var("tid", DType::i32);
  Arrive arrive{make_var("last", DType::boolean), counters, block, number(4), Axis::block_y};
  Expr condition = boolean(true);
  Kernel kernel;

  std::string breach() {
    kernel.name = "example";
    kernel.params = {counters};
    kernel.indices = {{Axis::block_x, block, 10}, {Axis::block_y, part, 4}, {Axis::thread_x, tid, 64}};
    kernel.body = make(If{condition, make(arrive)});
    return find_breach(kernel).value_or("");
  }
};

TEST(VerifyKernel, RefusesArrivalsThatDifferBetweenThreads) {
  EXPECT_EQ(Arrival().breach(), "");
  Arrival guarded, index;
  guarded.condition = Expr(guarded.tid) < number(1);
  EXPECT_EQ(guarded.breach(), "an arrival stands below a guard that differs between the threads of a block");
  index.arrive.index = index.tid;
  EXPECT_EQ(index.breach(), "the arrival at counters differs between the threads of a block");
}

TEST(VerifyKernel, RefusesArrivalsAtWhatIsNoCounter) {
  Arrival x;
  x.arrive.counters = buffer("x", 10, Scope::global, Role::temporary);
  EXPECT_EQ(x.breach(), "x is not a parameter of u32 counters");
}

} // namespace
} // namespace nestsmith::kernel
