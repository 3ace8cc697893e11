/// Tests the execution of kernels by the simulator: results, counts, lanes and masks.

#include "tests/runtime/sim/gemm_kernels.h"

#include <gtest/gtest.h>

namespace nestsmith::sim {
namespace {

Array filled(DType dtype, std::int64_t elements, int modulus, int shift) {
  Array array(dtype, {elements});
  for (std::int64_t n = 0; n < elements; ++n)
    array.set(n, Scalar::from_double(dtype, static_cast<double>(n * 31 % modulus - shift)));
  return array;
}

/// Computes the sum over k in order, and rounds each product and each sum, as each thread of these kernels
/// does.
template <class T> std::vector<T> reference(const Array &A, const Array &B, GemmShape s) {
  std::vector<T> C(static_cast<std::size_t>(s.M * s.N));
  for (std::int64_t i = 0; i < s.M; ++i)
    for (std::int64_t j = 0; j < s.N; ++j) {
      T sum = 0;
      for (std::int64_t k = 0; k < s.K; ++k)
        sum = sum + A.view<T>()[static_cast<std::size_t>(i * s.K + k)] *
                        B.view<T>()[static_cast<std::size_t>(k * s.N + j)];
      C[static_cast<std::size_t>(i * s.N + j)] = sum;
    }
  return C;
}

template <class T> void expect_product(const kernel::Kernel &kernel, GemmShape s, DType dtype) {
  Array A = filled(dtype, s.M * s.K, 1009, 500), B = filled(dtype, s.K * s.N, 2003, 900), C(dtype, {s.M * s.N});
  const Argument arguments[] = {{&A}, {&B}, {&C}};
  std::vector<T> expected = reference<T>(A, B, s);
  for (bool baseline : {false, true})
    for (bool check : {true, false}) {
      std::fill(C.view<T>().begin(), C.view<T>().end(), T{77});
      Result result = run(kernel, arguments, {}, {.check = check, .baseline = baseline});
      EXPECT_TRUE(result.good()) << result.diagnostics[0].message;
      EXPECT_TRUE(std::equal(expected.begin(), expected.end(), C.view<T>().begin()));
      EXPECT_EQ(result.written[2], std::vector<bool>(expected.size(), true));
      EXPECT_EQ(result.written[0], std::vector<bool>(static_cast<std::size_t>(A.size()), false));
    }
}

TEST(Simulate, GemmGivesTheBitsOfTheSequentialSum) {
  for (GemmShape s :
       {GemmShape{1, 1, 1}, GemmShape{65, 33, 17}, GemmShape{64, 64, 64}, GemmShape{127, 129, 131}}) {
    SCOPED_TRACE(testing::Message() << s.M << "x" << s.N << "x" << s.K);
    expect_product<float>(naive_gemm(s), s, DType::f32);
    expect_product<float>(naive_gemm(s, true), s, DType::f32);
    expect_product<float>(shared_gemm(s), s, DType::f32);
    expect_product<std::uint32_t>(naive_gemm(s, true, DType::u32), s, DType::u32);
    expect_product<std::uint32_t>(shared_gemm(s, true, true, DType::u32), s, DType::u32);
  }
  GemmShape tile = {128, 64, 24};
  expect_product<float>(tiled_gemm(tile), tile, DType::f32);
  expect_product<std::uint32_t>(tiled_gemm(tile, DType::u32), tile, DType::u32);
}

TEST(Simulate, CountsWhatEachThreadExecutes) {
  GemmShape s = {64, 32, 96};
  Array A = filled(DType::f32, s.M * s.K, 7, 3), B = filled(DType::f32, s.K * s.N, 5, 2),
        C(DType::f32, {s.M * s.N});
  const Argument arguments[] = {{&A}, {&B}, {&C}};
  Stats naive = run(naive_gemm(s), arguments, {}).stats;
  EXPECT_EQ(naive.multiply_adds, 64u * 32 * 96);
  EXPECT_EQ(naive.loads_global, 2u * 64 * 32 * 96);
  EXPECT_EQ(naive.stores_global, 64u * 32);
  EXPECT_EQ(naive.barriers, 0u);
  Stats shared = run(shared_gemm(s), arguments, {}).stats;
  EXPECT_EQ(shared.multiply_adds, 64u * 32 * 96);
  EXPECT_EQ(shared.loads_global, 2u * 2 * 3 * 1024);
  EXPECT_EQ(shared.stores_shared, 2u * 2 * 3 * 1024);
  EXPECT_EQ(shared.loads_shared, 2u * 64 * 32 * 96);
  EXPECT_EQ(shared.barriers, 2u * 3 * 2 * 32);
}

/// A block of `threads` threads that runs `body` on an output of `elements` elements.
struct OneBlock {
  KernelBuilder b{"k"};
  Buffer out;
  Expr t;
  explicit OneBlock(std::int64_t threads, std::int64_t elements, DType dtype = DType::i32)
      : out(b.param("out", elements, Role::output, dtype)), t(b.axis(Axis::thread_x, "t", threads)) {}
  Result run(Array &array) {
    const Argument arguments[] = {{&array}};
    return sim::run(b.build(), arguments, {});
  }
};

TEST(Simulate, ThreadsAreNumberedFromXToZAndWarpsMayBePartial) {
  KernelBuilder b("k");
  Buffer out = b.param("out", 3 * 5 * 7 * 4, Role::output, DType::i32);
  Expr by = b.axis(Axis::block_y, "by", 4);
  Expr x = b.axis(Axis::thread_x, "x", 3), y = b.axis(Axis::thread_y, "y", 5),
       z = b.axis(Axis::thread_z, "z", 7);
  b.store(out, by * 105 + (z * 15 + (y * 3 + x)), x * 10000 + (y * 1000 + (z * 100 + by)));
  Array array(DType::i32, {3 * 5 * 7 * 4});
  const Argument arguments[] = {{&array}};
  Result result = run(b.build(), arguments, {});
  EXPECT_TRUE(result.good()) << result.diagnostics[0].message;
  EXPECT_EQ(result.stats.stores_global, 420u);
  for (int n = 0; n < 420; ++n)
    EXPECT_EQ(array.view<std::int32_t>()[static_cast<std::size_t>(n)],
              n % 3 * 10000 + n / 3 % 5 * 1000 + n / 15 % 7 * 100 + n / 105);
}

TEST(Simulate, IndexArithmeticIsFloorDivisionAndWrapsAt32Bits) {
  OneBlock k(40, 40 * 4);
  Expr shifted = k.t - 20, huge = k.t + int_imm(2147483647, DType::i32);
  k.b.store(k.out, k.t * 4, floordiv(shifted, Expr(8)));
  k.b.store(k.out, k.t * 4 + 1, floormod(shifted, Expr(8)));
  k.b.store(k.out, k.t * 4 + 2, huge);
  // The offset wraps around, too: 2^30 * 4 is 0.
  k.b.store(k.out, (k.t + int_imm(1 << 30, DType::i32)) * 4 + 3, max(shifted, int_imm(-3, DType::i32)));
  Array array(DType::i32, {160});
  Result result = k.run(array);
  EXPECT_TRUE(result.good()) << result.diagnostics[0].message;
  for (int t = 0; t < 40; ++t) {
    auto value = [&](int n) { return array.view<std::int32_t>()[static_cast<std::size_t>(t * 4 + n)]; };
    EXPECT_EQ(value(0), floor_div(t - 20, 8));
    EXPECT_EQ(value(1), floor_mod(t - 20, 8));
    EXPECT_EQ(value(2), static_cast<std::int32_t>(2147483647u + static_cast<unsigned>(t)));
    EXPECT_EQ(value(3), std::max(t - 20, -3));
  }
}

TEST(Simulate, UnrolledAndRolledLoopsAgree) {
  for (std::int64_t extent : {0, 1, 5, 5000}) {
    OneBlock k(33, 33, DType::i64);
    Buffer sum = k.b.local("sum", 2, DType::i64);
    k.b.store(sum, 1, int_imm(7));
    k.b.loop("n", extent, [&](Expr n) {
      k.b.when(floormod(n, Expr(2)) < cast(DType::i32, cast(DType::i64, k.t)),
               [&] { k.b.store(sum, 1, at(sum, 1) + cast(DType::i64, n * k.t)); });
    });
    k.b.store(k.out, k.t, at(sum, 1));
    Array array(DType::i64, {33});
    Result result = k.run(array);
    EXPECT_TRUE(result.good()) << result.diagnostics[0].message;
    for (std::int64_t t = 0; t < 33; ++t) {
      std::int64_t expected = 7;
      for (std::int64_t n = 0; n < extent; ++n)
        expected += n % 2 < t ? n * t : 0;
      EXPECT_EQ(array.view<std::int64_t>()[static_cast<std::size_t>(t)], expected);
    }
  }
}

TEST(Simulate, ScalarsSelectsAndCasts) {
  KernelBuilder b("k");
  Buffer in = b.param("in", 40), out = b.param("out", 40, Role::output);
  Expr alpha = b.scalar("alpha", DType::f32), n = b.scalar("n", DType::i32),
       t = b.axis(Axis::thread_x, "t", 40);
  Expr x = b.let("x", at(in, t));
  b.store(out, t, select(t < n && x < 0.0f, alpha * x, cast(DType::f32, cast(DType::i32, x) * 2 + t)));
  Array A = filled(DType::f32, 40, 17, 9), C(DType::f32, {40});
  const Argument arguments[] = {{&A}, {&C}};
  const Scalar scalars[] = {Scalar::of(DType::f32, 0.25f), Scalar::of<std::int32_t>(DType::i32, 25)};
  Result result = run(b.build(), arguments, scalars);
  EXPECT_TRUE(result.good()) << result.diagnostics[0].message;
  for (std::size_t i = 0; i < 40; ++i) {
    float v = A.view<float>()[i];
    EXPECT_EQ(C.view<float>()[i], i < 25 && v < 0 ? 0.25f * v : 2 * v + static_cast<float>(i));
  }
}

/// out[t] = in[t] < 0 ? t : in[t]. Each lane executes its side. The condition depends on the thread, on the
/// warp or on memory, or is uniform.
TEST(Simulate, BothSidesOfAnIfRunUnderTheirMasks) {
  for (int kind = 0; kind < 5; ++kind) {
    KernelBuilder b("k");
    Buffer in = b.param("in", 70), out = b.param("out", 70, Role::output), mine = b.local("mine", 1);
    Expr t = b.axis(Axis::thread_x, "t", 70);
    auto small = [](std::int64_t value) { return int_imm(value, DType::i32); };
    Expr conditions[] = {equal(floormod(t, small(2)), small(0)), equal(floordiv(t, small(32)), small(1)),
                         at(in, t) < 0.0F, at(in, small(3)) < 0.0F, boolean(true)};
    b.when(
        conditions[kind], [&] { b.store(mine, small(0), cast(DType::f32, t)); },
        [&] { b.store(mine, small(0), at(in, t)); });
    b.store(out, t, at(mine, small(0)));
    Array A = filled(DType::f32, 70, 17, 9), C(DType::f32, {70});
    const Argument arguments[] = {{&A}, {&C}};
    Result result = run(b.build(), arguments, {});
    EXPECT_TRUE(result.good()) << kind << ": " << result.diagnostics[0].message;
    std::uint64_t loads = kind == 2 ? 70 : kind == 3 ? 70 : 0;
    for (std::size_t i = 0; i < 70; ++i) {
      bool taken[] = {i % 2 == 0, i / 32 == 1, A.view<float>()[i] < 0, A.view<float>()[3] < 0, true};
      EXPECT_EQ(C.view<float>()[i], taken[kind] ? static_cast<float>(i) : A.view<float>()[i]) << kind;
      loads += !taken[kind];
    }
    EXPECT_EQ(result.stats.loads_global, loads) << "a side that is not taken loads nothing";
  }
}

TEST(Simulate, WhatOneSideWritesIsNotWrittenForTheOther) {
  KernelBuilder b("k");
  Buffer out = b.param("out", 32, Role::output), mine = b.local("mine", 2);
  Expr t = b.axis(Axis::thread_x, "t", 32), zero = int_imm(0, DType::i32), one = int_imm(1, DType::i32);
  b.when(
      t < int_imm(5, DType::i32), [&] { b.store(mine, zero, 1.0F); }, [&] { b.store(mine, one, 1.0F); });
  b.store(out, t, at(mine, zero));
  Array C(DType::f32, {32});
  const Argument arguments[] = {{&C}};
  Result result = run(b.build(), arguments, {});
  ASSERT_EQ(result.diagnostics.size(), 1U);
  EXPECT_EQ(result.diagnostics[0].kind, ErrorKind::unwritten_read);
  EXPECT_NE(result.diagnostics[0].message.find("thread (5, 0, 0)"), std::string::npos)
      << result.diagnostics[0].message;
}

TEST(Simulate, ABarrierOnOneSideOfADivergentIfIsFound) {
  KernelBuilder b("k");
  Buffer out = b.param("out", 32, Role::output);
  Expr t = b.axis(Axis::thread_x, "t", 32);
  b.when(
      t < int_imm(5, DType::i32), [&] { b.store(out, t, 1.0F); },
      [&] {
        b.sync_block();
        b.store(out, t, 2.0F);
      });
  Array C(DType::f32, {32});
  const Argument arguments[] = {{&C}};
  Result result = run(b.build(), arguments, {});
  ASSERT_FALSE(result.good());
  EXPECT_EQ(result.diagnostics[0].kind, ErrorKind::divergent_barrier);
}

TEST(Simulate, BooleansLiveInEveryScope) {
  KernelBuilder b("k");
  Buffer out = b.param("out", 64, Role::output, DType::boolean);
  Buffer flags = b.shared("flags", 64, DType::boolean), mine = b.local("mine", 3, DType::boolean);
  Expr t = b.axis(Axis::thread_x, "t", 64);
  b.store(mine, floormod(t, Expr(3)), boolean(true));
  b.store(mine, floormod(t + 1, Expr(3)), boolean(false));
  b.store(flags, t, at(mine, floormod(t, Expr(3))) && floormod(t, Expr(2)) < 1);
  b.sync_block();
  b.store(out, t, logical_not(at(flags, int_imm(63, DType::i32) - t)));
  Array array(DType::boolean, {64});
  const Argument arguments[] = {{&array}};
  Result result = run(b.build(), arguments, {});
  EXPECT_TRUE(result.good()) << result.diagnostics[0].message;
  for (std::size_t t0 = 0; t0 < 64; ++t0)
    EXPECT_EQ(array.view<std::uint8_t>()[t0], (63 - t0) % 2 != 0) << t0;
}

TEST(Simulate, TheSameKernelOnAnyNumberOfHostThreads) {
  GemmShape s = {50, 40, 40};
  for (const kernel::Kernel &kernel : {shared_gemm(s), shared_gemm(s, false), shared_gemm(s, true, false)}) {
    std::vector<Array> results;
    std::vector<std::vector<std::string>> messages;
    for (unsigned host_threads : {1u, 2u, 4u}) {
      Array A = filled(DType::f32, s.M * s.K, 1009, 500), B = filled(DType::f32, s.K * s.N, 2003, 900),
            C(DType::f32, {s.M * s.N});
      const Argument arguments[] = {{&A}, {&B}, {&C}};
      Result result = run(kernel, arguments, {}, {.host_threads = host_threads});
      results.push_back(C);
      messages.emplace_back();
      for (const Diagnostic &diagnostic : result.diagnostics)
        messages.back().push_back(diagnostic.message);
    }
    EXPECT_EQ(results[0], results[1]);
    EXPECT_EQ(results[0], results[2]);
    EXPECT_EQ(messages[0], messages[1]);
    EXPECT_EQ(messages[0], messages[2]);
  }
}

} // namespace
} // namespace nestsmith::sim
