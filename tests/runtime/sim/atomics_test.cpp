/// Tests atomic operations: what they compute, the order in which they execute, and the accesses with which
/// they race.

#include "tests/runtime/sim/kernel_builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <set>

namespace nestsmith::sim {
namespace {

using testing::AllOf;
using testing::HasSubstr;

/// Four blocks of 48 threads, which update `sum` and may store to `out`.
struct Updating {
  KernelBuilder b{"updating"};
  DType dtype;
  Buffer sum, out;
  Expr block, t;

  explicit Updating(DType of = DType::u32, Role role = Role::inout)
      : dtype(of), sum(b.param("sum", 4, role, of)), out(b.param("out", 192, Role::inout, of)),
        block(b.axis(Axis::block_x, "block", 4)), t(b.axis(Axis::thread_x, "t", 48)) {}
  static Expr i32(std::int64_t n) { return int_imm(n, DType::i32); }
  Expr number() { return cast(dtype, block * 48 + t); } ///< of the thread: 0 to 191
  void add(const Expr &index) { b.update(sum, index, Reducer::sum, number()); }
};

/// Returns "good" or the first diagnostic, and expects the same for each number of host threads.
std::string first_of(const kernel::Kernel &kernel, ErrorKind kind, const WeakArrivals &weak = {}) {
  std::string first;
  for (unsigned host_threads : {1u, 4u}) {
    Result result = run_zeroed(kernel, {.host_threads = host_threads, .weak = weak});
    std::string text = result.good() ? "good" : result.diagnostics[0].message;
    if (!result.good()) {
      EXPECT_STREQ(name(result.diagnostics[0].kind), name(kind)) << text;
    }
    EXPECT_TRUE(host_threads == 1 || text == first) << text;
    first = text;
  }
  return first;
}

/// The first parameter after the run. All parameters begin with `begin`.
Array run_from(const kernel::Kernel &kernel, double begin, const Options &options = {}) {
  std::vector<Array> arrays;
  for (const Buffer &buffer : kernel.params) {
    arrays.emplace_back(buffer->dtype, std::vector<std::int64_t>{*as_int(buffer->shape[0])});
    for (std::int64_t n = 0; n < arrays.back().size(); ++n)
      arrays.back().set(n, Scalar::from_double(buffer->dtype, begin));
  }
  std::vector<Argument> arguments;
  for (Array &array : arrays)
    arguments.push_back({&array});
  Result result = run(kernel, arguments, {}, options);
  EXPECT_TRUE(result.good()) << result.diagnostics[0].message;
  return arrays[0];
}

std::vector<double> updated(const kernel::Kernel &kernel, double begin) {
  Array array = run_from(kernel, begin);
  std::vector<double> found;
  for (std::int64_t n = 0; n < array.size(); ++n)
    found.push_back(array.at(n).to_double());
  return found;
}

TEST(Atomics, OfAllThreadsOnOneElementAreNoRaceAndAllCount) {
  for (DType dtype : {DType::u32, DType::i32, DType::f32, DType::f64}) {
    Updating one(dtype);
    one.add(Updating::i32(1));
    EXPECT_EQ(updated(one.b.build(), 7), (std::vector<double>{7, 7 + 191 * 192 / 2, 7, 7})) << name(dtype);
  }
  Updating four; // lanes of a warp with several elements
  four.add(four.t % 4);
  EXPECT_EQ(updated(four.b.build(), 0), (std::vector<double>{4512, 4560, 4608, 4656}));
}

TEST(Atomics, FindTheLargestAndTheSmallestOfSignedAndUnsignedNumbers) {
  for (DType dtype : {DType::i32, DType::u32}) {
    Updating k(dtype);
    k.b.update(k.sum, Updating::i32(0), Reducer::max, k.number() - 5);
    k.b.update(k.sum, Updating::i32(1), Reducer::min, k.number() - 5);
    // As unsigned numbers, the first 5 threads have the largest values.
    double last = 4294967295.0;
    EXPECT_EQ(updated(k.b.build(), 3),
              (dtype == DType::i32 ? std::vector<double>{186, -5, 3, 3} : std::vector<double>{last, 0, 3, 3}));
  }
}

TEST(Atomics, OfAGuardedThreadCountOnce) {
  Updating k;
  k.b.when(equal(k.t, 0), [&] { k.add(Updating::i32(0)); });
  EXPECT_EQ(updated(k.b.build(), 0)[0], 48 * (0 + 1 + 2 + 3));
}

/// The order of the blocks changes the roundings, and residues have none.
TEST(Atomics, ExecuteInTheOrderOfTheBlocks) {
  auto sum_in_order = [](std::uint64_t order, Arithmetic arithmetic) {
    Updating k(DType::f32);
    k.b.update(k.sum, Updating::i32(0), Reducer::sum, k.number() * k.number() * k.number());
    return run_from(k.b.build(), 0, {.order = order, .arithmetic = arithmetic}).at(0).bits;
  };
  EXPECT_EQ(sum_in_order(1, Arithmetic::floating), sum_in_order(1, Arithmetic::floating));
  std::set<std::uint64_t> sums;
  for (std::uint64_t order : {0, 1, 2, 3, 4, 5})
    sums.insert(sum_in_order(order, Arithmetic::floating));
  EXPECT_GT(sums.size(), 1U);
  EXPECT_EQ(sum_in_order(0, Arithmetic::ring), sum_in_order(3, Arithmetic::ring));
}

TEST(AtomicsRace, WithALoadOfAnotherThread) {
  Updating k;
  k.add(Updating::i32(0));
  k.b.store(k.out, k.block * 48 + k.t, at(k.sum, Updating::i32(0)));
  EXPECT_THAT(first_of(k.b.build(), ErrorKind::race),
              AllOf(HasSubstr("sum[0] (global): "),
                    HasSubstr("updates it in `atomic sum[0] = sum[0] + u32(block*48 + t)`"),
                    HasSubstr("loads it in `out[block*48 + t] = sum[0]`")));

  Updating earlier;
  earlier.b.store(earlier.out, earlier.block * 48 + earlier.t, at(earlier.sum, Updating::i32(0)));
  earlier.add(Updating::i32(0));
  EXPECT_THAT(first_of(earlier.b.build(), ErrorKind::race), HasSubstr("updates it"));
}

TEST(AtomicsRace, WithAStoreOfAnotherBlock) {
  for (bool store_first : {false, true}) {
    Updating k;
    auto store = [&] {
      k.b.when(equal(k.t, 0) && equal(k.block, 2),
               [&] { k.b.store(k.sum, Updating::i32(0), constant(DType::u32, 5)); });
    };
    if (store_first)
      store();
    k.b.when(equal(k.t, 0), [&] { k.add(Updating::i32(0)); });
    if (!store_first)
      store();
    EXPECT_THAT(first_of(k.b.build(), ErrorKind::race), AllOf(HasSubstr("updates it"), HasSubstr("stores it")));
  }
}

TEST(AtomicsRace, NotWithABarrierInOneBlock) {
  for (bool barrier : {true, false}) {
    KernelBuilder b("block");
    Buffer sum = b.param("sum", 1, Role::inout, DType::u32), out = b.param("out", 64, Role::output, DType::u32);
    Expr t = b.axis(Axis::thread_x, "t", 64);
    b.update(sum, Updating::i32(0), Reducer::sum, cast(DType::u32, t));
    if (barrier)
      b.sync_block();
    b.store(out, t, at(sum, Updating::i32(0)));
    EXPECT_EQ(first_of(b.build(), ErrorKind::race) == "good", barrier);
  }
}

TEST(Atomics, ReadTheElement) {
  Updating k(DType::u32, Role::output);
  k.add(Updating::i32(2));
  EXPECT_THAT(first_of(k.b.build(), ErrorKind::unwritten_read),
              AllOf(HasSubstr("updates sum[2] (global) in `atomic"), HasSubstr("nothing has written yet")));
  Updating outside;
  outside.add(Updating::i32(4));
  EXPECT_THAT(first_of(outside.b.build(), ErrorKind::out_of_bounds), HasSubstr("but sum has 4 elements"));
}

/// The last block reads the sum of all. Without the fence, it may read an earlier one.
TEST(Atomics, AreBeforeTheLastBlockReadsTheSum) {
  for (bool fence : {true, false})
    for (DType dtype : {DType::u32, DType::f32}) {
      Updating k(dtype);
      Buffer counters = k.b.param("counters", 1, Role::inout, DType::u32);
      k.b.update(k.sum, Updating::i32(0), Reducer::sum, k.number() * constant(dtype, 3));
      Var last = k.b.last_block({{}, counters, Updating::i32(0), Updating::i32(4), Axis::block_x},
                                [&] { k.b.store(k.out, k.t, at(k.sum, Updating::i32(0))); });
      WeakArrivals weak = {{last, {.fence = fence}}};
      std::string found = first_of(k.b.build(), ErrorKind::race, weak);
      if (fence)
        EXPECT_EQ(found, "good") << "also if the order of roundings changes the sum";
      else
        EXPECT_THAT(found, AllOf(HasSubstr("updates it"), HasSubstr("loads it")));
    }
}

} // namespace
} // namespace nestsmith::sim
