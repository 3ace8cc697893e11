/// Tests vector accesses on the simulator: it checks each element, and the alignment of the vector.

#include "tests/runtime/sim/kernel_builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

namespace nestsmith::sim {
namespace {

using testing::AllOf;
using testing::HasSubstr;

/// 8 threads copy 4 floats each from `a` to `out`, starting at `a_start` and `out_start`.
struct Copy {
  KernelBuilder b{"copy"};
  Buffer a = b.param("a", 64), out = b.param("out", 64, Role::output);
  Expr t = b.axis(Axis::thread_x, "t", 8);

  kernel::Kernel kernel(std::int64_t a_start, std::int64_t out_start, std::int64_t step = 4) {
    auto from = [&](std::int64_t start) { return t * int_imm(step, DType::i32) + int_imm(start, DType::i32); };
    Var v = b.let_vector("v", b.vector_at(a, from(a_start), 4));
    b.store_vector(out, from(out_start), v);
    return b.build();
  }
};

Result run_on(const kernel::Kernel &kernel, std::vector<Array> &arrays, Options options = {}) {
  arrays.clear();
  for (const Buffer &buffer : kernel.params) {
    Array &array = arrays.emplace_back(buffer->dtype, std::vector<std::int64_t>{*as_int(buffer->shape[0])});
    for (std::int64_t n = 0; n < array.size(); ++n)
      array.set(n, Scalar::from_double(buffer->dtype, static_cast<double>(n)));
  }
  std::vector<Argument> arguments;
  for (Array &array : arrays)
    arguments.push_back({&array});
  return run(kernel, arguments, {}, options);
}

std::string vector_finding(const kernel::Kernel &kernel, ErrorKind kind) {
  std::vector<Array> arrays;
  Result result = run_on(kernel, arrays);
  if (result.diagnostics.empty())
    return "nothing was found";
  EXPECT_STREQ(name(result.diagnostics[0].kind), name(kind));
  return result.diagnostics[0].message;
}

TEST(SimulateVectors, MoveAllLanesAndCountOnce) {
  for (bool baseline : {false, true}) {
    std::vector<Array> arrays;
    Result result = run_on(Copy().kernel(4, 8), arrays, {.baseline = baseline});
    ASSERT_TRUE(result.good()) << result.diagnostics[0].message;
    for (std::int64_t n = 0; n < 32; ++n)
      EXPECT_EQ(arrays[1].at(8 + n).to_double(), static_cast<double>(4 + n));
    EXPECT_EQ(result.stats.loads_global, 8U);
    EXPECT_EQ(result.stats.stores_global, 8U);
  }
}

TEST(SimulateVectors, MisalignedLoadIsNamed) {
  EXPECT_THAT(
      vector_finding(Copy().kernel(2, 8), ErrorKind::misaligned),
      AllOf(HasSubstr("thread (0, 0, 0) of block (0, 0, 0) loads a[2] (global) in `v = a[t*4 + 2 +: 4]`"),
            HasSubstr(", a vector of 16 bytes, whose offset is not a multiple of 16")));
}

TEST(SimulateVectors, MisalignedStoreIsNamed) {
  EXPECT_THAT(
      vector_finding(Copy().kernel(0, 1), ErrorKind::misaligned),
      HasSubstr("thread (0, 0, 0) of block (0, 0, 0) stores out[1] (global) in `out[t*4 + 1 +: 4] = v`"));
}

TEST(SimulateVectors, MisalignedElementsOfTwoBytesAreNamed) {
  for (std::int64_t start : {8, 4}) {
    KernelBuilder b("copy");
    Buffer a = b.param("a", 64, Role::input, DType::f16), out = b.param("out", 64, Role::output, DType::f16);
    Expr at = b.axis(Axis::thread_x, "t", 4) * int_imm(8, DType::i32);
    b.store_vector(out, at, b.let_vector("v", b.vector_at(a, at + int_imm(start, DType::i32), 8)));
    kernel::Kernel kernel = b.build();
    if (start == 4) {
      EXPECT_THAT(vector_finding(kernel, ErrorKind::misaligned),
                  HasSubstr("a vector of 16 bytes, whose offset is not a multiple of 16"));
      continue;
    }
    std::vector<Array> arrays;
    Result result = run_on(kernel, arrays);
    ASSERT_TRUE(result.good()) << result.diagnostics[0].message;
    for (std::int64_t n = 0; n < 32; ++n)
      EXPECT_EQ(arrays[1].at(n).to_double(), static_cast<double>(n + 8));
    EXPECT_EQ(result.stats.loads_global, 4U);
  }
}

TEST(SimulateVectors, OneMisalignedThreadIsFound) {
  Copy copy;
  Expr odd = floordiv(copy.t, int_imm(7, DType::i32)) * int_imm(2, DType::i32); // 2 in thread 7
  Var v = copy.b.let_vector("v", copy.b.vector_at(copy.a, copy.t * int_imm(4, DType::i32) + odd, 4));
  copy.b.store_vector(copy.out, copy.t * int_imm(4, DType::i32), v);
  EXPECT_THAT(vector_finding(copy.b.build(), ErrorKind::misaligned),
              HasSubstr("thread (7, 0, 0) of block (0, 0, 0) loads a[30]"));
}

TEST(SimulateVectors, SharedMemoryIsAlignedAtItsPlaceInTheArena) {
  Copy copy;
  Buffer s = copy.b.shared("s", 32);
  Var v = copy.b.let_vector("v", copy.b.vector_at(copy.a, copy.t * int_imm(4, DType::i32), 4));
  copy.b.store_vector(s, copy.t * int_imm(4, DType::i32), v);
  copy.b.store(copy.out, copy.t, at(s, copy.t * int_imm(4, DType::i32)));
  kernel::Kernel kernel = copy.b.build();
  std::vector<Array> arrays;
  EXPECT_TRUE(run_on(kernel, arrays).good());
  kernel.shared[0].byte_offset = 8;
  EXPECT_THAT(vector_finding(kernel, ErrorKind::misaligned), HasSubstr("stores s[0] (shared)"));
}

TEST(SimulateVectors, OverlappingStoresRace) {
  std::vector<Array> arrays;
  Result result = run_on(Copy().kernel(0, 0, 2), arrays);
  bool race = false;
  for (const Diagnostic &diagnostic : result.diagnostics)
    race = race || (diagnostic.kind == ErrorKind::race && diagnostic.message.find("out[2] (global)") == 0);
  EXPECT_TRUE(race) << "threads 0 and 1 both store out[2]";
}

TEST(SimulateVectors, ARaceThroughTheLastLaneIsFound) {
  // Thread t stores s[4t .. 4t + 4) and then reads the preceding element, which another thread stores.
  Copy copy;
  Buffer s = copy.b.shared("s", 32);
  auto four = [&](const Expr &e) { return e * int_imm(4, DType::i32); };
  Var v = copy.b.let_vector("v", copy.b.vector_at(copy.a, four(copy.t), 4));
  copy.b.store_vector(s, four(copy.t), v);
  copy.b.store(copy.out, copy.t, at(s, four(copy.t) + int_imm(3, DType::i32)));
  kernel::Kernel own = copy.b.build();
  std::vector<Array> arrays;
  EXPECT_TRUE(run_on(own, arrays).good());

  Copy other;
  Buffer tile = other.b.shared("s", 32);
  Var w = other.b.let_vector("v", other.b.vector_at(other.a, four(other.t), 4));
  other.b.store_vector(tile, four(other.t), w);
  Expr next = floormod(other.t + int_imm(1, DType::i32), int_imm(8, DType::i32));
  other.b.store(other.out, other.t, at(tile, four(next) + int_imm(3, DType::i32)));
  EXPECT_THAT(vector_finding(other.b.build(), ErrorKind::race), HasSubstr("s["));
}

TEST(SimulateVectors, EveryLaneIsWithinBounds) {
  std::vector<Array> arrays;
  Result result = run_on(Copy().kernel(34, 0), arrays);
  bool outside = false;
  for (const Diagnostic &diagnostic : result.diagnostics)
    outside = outside || (diagnostic.kind == ErrorKind::out_of_bounds &&
                          diagnostic.message.find("thread (7, 0, 0) of block (0, 0, 0) loads a[64]") == 0);
  EXPECT_TRUE(outside);
}

TEST(SimulateVectors, ReadWhatNobodyWroteIsFound) {
  Copy copy;
  Buffer s = copy.b.shared("s", 32);
  copy.b.store(s, copy.t * int_imm(4, DType::i32), Expr(1.0F));
  Var v = copy.b.let_vector("v", copy.b.vector_at(s, copy.t * int_imm(4, DType::i32), 4));
  copy.b.store_vector(copy.out, copy.t * int_imm(4, DType::i32), v);
  EXPECT_THAT(vector_finding(copy.b.build(), ErrorKind::unwritten_read), HasSubstr("loads s[1] (shared)"));
}

TEST(SimulateVectors, MasksHoldForTheWholeVector) {
  Copy copy;
  Expr at = copy.t * int_imm(4, DType::i32);
  Var v = copy.b.let_vector(
      "v", load(copy.a, {at + int_imm(48, DType::i32)}, copy.t < int_imm(4, DType::i32), Expr(-1.0F), 4));
  copy.b.store_vector(copy.out, at, pack({lane(v, 3), lane(v, 2), lane(v, 1), lane(v, 0)}));
  std::vector<Array> arrays;
  Result result = run_on(copy.b.build(), arrays);
  ASSERT_TRUE(result.good()) << result.diagnostics[0].message;
  for (std::int64_t n = 0; n < 32; ++n)
    EXPECT_EQ(arrays[1].at(n).to_double(), n < 16 ? static_cast<double>(48 + n / 4 * 4 + 3 - n % 4) : -1.0);
  EXPECT_EQ(result.stats.loads_global, 4U);
}

} // namespace
} // namespace nestsmith::sim
