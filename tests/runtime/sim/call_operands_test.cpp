/// Tests the operands of calls: registers that must start a word, copies that must agree, registers that must
/// not overlap, and rows that all receiving lanes must be able to read.

#include "dsl/hardware/intrinsics.h"
#include "lowering/verify_kernel.h"
#include "tests/runtime/sim/one_call.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace nestsmith::sim {
namespace {

using testing::AllOf;
using testing::HasSubstr;

/// Returns "good" or the first diagnostic, and expects that it is of this kind.
std::string finding(const kernel::Kernel &kernel, ErrorKind kind) {
  std::vector<Array> arrays = inputs(kernel);
  Result result = simulate(kernel, arrays);
  if (result.good())
    return "good";
  EXPECT_STREQ(name(result.diagnostics[0].kind), name(kind)) << result.diagnostics[0].message;
  return result.diagnostics[0].message;
}
std::string breach(const kernel::Kernel &kernel) { return kernel::find_breach(kernel, true).value_or(""); }

// ---- registers that must start a word

/// Returns a product whose operand `n` starts at register `at` of a longer array, or at `at + k*step` in
/// iteration k of a loop, or at a loaded register.
kernel::Kernel shifted(const Intrinsic &x, std::size_t n, std::int64_t at, std::int64_t step = 0,
                       bool loaded = false) {
  OneCall call(x);
  std::int64_t count = elements_per_lane(x.operands[n]);
  DType dtype = x.operands[n].formal->dtype;
  Buffer longer = call.b.local("longer", at + 2 * step + count + 2, dtype),
         choice = call.b.param("choice", 1, Role::input, DType::i32);
  for (std::size_t other = 0; other < call.places.size(); ++other)
    call.fill(other);
  for (std::int64_t r = 0; r < at + 2 * step + count + 2; ++r)
    call.b.store(longer, number(r), sim::at(call.params[n], number(r % 8)));
  auto add = [&](const Expr &first) {
    call.places[n] = {longer, first};
    call.b.call(x, call.places);
  };
  if (loaded) // the loaded value is 2
    add(call.b.let("first", sim::at(choice, number(0)) + number(at)));
  else if (step == 0)
    add(number(at));
  else
    call.b.loop("k", 3, [&](const Expr &k) { add(call.b.let("first", k * number(step)) + number(at)); });
  return call.b.build();
}

TEST(CallOperands, StartAWord) {
  const Intrinsic &f16 = intrinsic("mma_m16n8k16", DType::f32, DType::f16),
                  &i8 = intrinsic("mma_m16n8k32", DType::i32, DType::i8),
                  &tf32 = intrinsic("mma_m16n8k8", DType::f32, DType::f32);
  for (const auto &[x, width] : {std::pair{&f16, 2}, {&i8, 4}, {&tf32, 1}})
    for (std::size_t n : {1, 2})
      for (std::int64_t at = 0; at < 9; ++at) {
        kernel::Kernel kernel = shifted(*x, n, at);
        const std::string &operand = x->operands[n].formal->name;
        if (at % width == 0) {
          EXPECT_EQ(breach(kernel), "");
          EXPECT_EQ(finding(kernel, ErrorKind::misaligned), "good") << x->name << " at " << at;
          continue;
        }
        EXPECT_EQ(breach(kernel), "the operand " + operand + " of " + x->name + " starts at longer[" +
                                      std::to_string(at) + "], which is not always a multiple of " +
                                      std::to_string(width) + " elements (4 bytes)");
        EXPECT_THAT(finding(kernel, ErrorKind::misaligned),
                    AllOf(HasSubstr("loads longer[" + std::to_string(at) + "] (local) in `" + x->name),
                          HasSubstr("a vector of 4 bytes, whose offset is not a multiple of 4")));
      }
}

TEST(CallOperands, StartAWordInEachIteration) {
  const Intrinsic &x = intrinsic("mma_m16n8k16", DType::f32, DType::f16);
  EXPECT_EQ(breach(shifted(x, 1, 0, 8)), "");
  EXPECT_EQ(finding(shifted(x, 1, 2, 10), ErrorKind::misaligned), "good");
  kernel::Kernel odd = shifted(x, 1, 0, 9);
  EXPECT_THAT(breach(odd), HasSubstr("the operand a of mma_m16n8k16 starts at longer[first], which is not"));
  EXPECT_THAT(finding(odd, ErrorKind::misaligned), HasSubstr("loads longer[9] (local)"));
}

TEST(CallOperands, StartAWordAtRegistersThatAreNotKnownBefore) {
  const Intrinsic &x = intrinsic("mma_m16n8k16", DType::f32, DType::f16);
  std::vector<Array> arrays = inputs(shifted(x, 1, 0, 0, true));
  for (std::int64_t choice : {0, 1, 2}) {
    arrays.back().set(0, Scalar::from_double(DType::i32, static_cast<double>(choice)));
    EXPECT_EQ(simulate(shifted(x, 1, 0, 0, true), arrays).good(), choice % 2 == 0) << choice;
  }
}

TEST(CallOperands, OfAResultStartAWord) {
  const Intrinsic &x = intrinsic("ldmatrix_b", DType::f16, DType::f16);
  for (std::int64_t at : {0, 1, 2}) {
    OneCall call(x);
    Buffer longer = call.b.local("longer", 8, DType::f16);
    for (std::int64_t n = 0; n < 4; ++n)
      call.b.store(call.places[1].buffer, call.t + number(32 * n), sim::at(call.params[1], call.t));
    call.b.sync_warp();
    call.places[0] = {longer, number(at)};
    call.places[1].offset = call.t % number(16) * number(8);
    call.b.call(x, call.places);
    kernel::Kernel kernel = call.b.build();
    EXPECT_THAT(finding(kernel, ErrorKind::misaligned),
                at == 1 ? HasSubstr("stores longer[1] (local) in `ldmatrix_b(longer[1], ") : HasSubstr("good"));
  }
}

// ---- registers of the operands

/// c += a*b with u32 operands in one array: c in 4 registers from at_c, a in 4 from at_a, and b in 2 from at_b.
kernel::Kernel in_one_array(std::int64_t at_c, std::int64_t at_a, std::int64_t at_b) {
  OneCall call(intrinsic("mma_m16n8k8", DType::u32, DType::u32));
  Buffer all = call.b.local("all", 16, DType::u32);
  for (std::int64_t r = 0; r < 16; ++r)
    call.b.store(all, number(r), cast(DType::u32, call.t + number(r)));
  call.places = {{all, number(at_c)}, {all, number(at_a)}, {all, number(at_b)}};
  call.b.call(call.x, call.places);
  return call.b.build();
}

TEST(CallOperands, ShareNoRegistersWithTheResult) {
  for (std::int64_t a = 0; a <= 12; ++a)
    for (std::int64_t b : {0, 3, 4, 6, 10, 14}) {
      std::int64_t c = 6; // c is in registers 6 to 9
      bool right = (a + 4 <= c || a >= c + 4) && (b + 2 <= c || b >= c + 4);
      kernel::Kernel kernel = in_one_array(c, a, b);
      EXPECT_EQ(breach(kernel) == "", right) << a << " " << b << " " << breach(kernel);
      EXPECT_EQ(finding(kernel, ErrorKind::operands_overlap) == "good", right) << a << " " << b;
    }
  EXPECT_EQ(breach(in_one_array(6, 3, 0)),
            "the operand a of mma_m16n8k8 at all[3] may share registers with the result at all[6]");
  EXPECT_EQ(
      finding(in_one_array(6, 3, 0), ErrorKind::operands_overlap),
      "warp 0 (threads (0, 0, 0) to (31, 0, 0)) of block (0, 0, 0) passes the registers all[6] to all[9] for "
      "the result of `mma_m16n8k8(all[6], all[3], all[0])` and all[3] to all[6] for another operand, which "
      "may be overwritten before it is read; copy it to other registers");
}

TEST(CallOperands, ShareNoRegistersThatAreNotKnownBefore) {
  const Intrinsic &sum = intrinsic("warp_sum", DType::i32, DType::i32);
  OneCall call(sum);
  Buffer all = call.b.local("all", 4, DType::i32), choice = call.b.param("choice", 1, Role::input, DType::i32);
  for (std::int64_t r = 0; r < 4; ++r)
    call.b.store(all, number(r), number(r));
  call.b.call(sum, {{all, number(1)}, {all, call.b.let("at", at(choice, number(0)))}});
  kernel::Kernel kernel = call.b.build();
  EXPECT_THAT(breach(kernel), HasSubstr("may share registers with the result"));
  std::vector<Array> arrays = inputs(kernel);
  for (std::int64_t at : {0, 1, 2, 3}) {
    arrays.back().set(0, Scalar::from_double(DType::i32, static_cast<double>(at)));
    EXPECT_EQ(simulate(kernel, arrays).good(), at != 1);
  }
}

// ---- copies of one element

/// Adds the lanes to a total. Each lane initialises its copy with its value of `total`.
kernel::Kernel sum_onto(const std::function<Expr(Expr)> &total, bool all_lanes = true) {
  const Intrinsic &sum = intrinsic("warp_sum", DType::i32, DType::i32);
  OneCall call(sum);
  call.fill(0);
  auto set = [&] { call.b.store(call.places[1].buffer, number(0), total(call.t)); };
  if (all_lanes)
    set();
  else
    call.b.when(call.t < number(16), set);
  call.b.call(sum, call.places);
  return call.b.build();
}

TEST(CallOperands, AreTheSameInAllLanesThatHoldThem) {
  EXPECT_EQ(finding(sum_onto([](const Expr &) { return number(7); }), ErrorKind::replicas_differ), "good");
  EXPECT_EQ(finding(sum_onto([](const Expr &t) { return t / number(32); }), ErrorKind::replicas_differ),
            "good");
  for (const auto &total : std::vector<std::function<Expr(Expr)>>{
           [](const Expr &t) { return t; }, [](const Expr &t) { return t / number(31); },
           [](const Expr &t) { return select(equal(t, number(5)), number(1), number(0)); }})
    EXPECT_EQ(
        finding(sum_onto(total), ErrorKind::replicas_differ),
        "32 lanes of warp 0 (threads (0, 0, 0) to (31, 0, 0)) of block (0, 0, 0) hold different values of "
        "one element in sum for `warp_sum(x[0], sum[0])`, expected copies: the result would depend on the "
        "lane");
  // If lanes have no copy, this must be one diagnostic only.
  kernel::Kernel few = sum_onto([](const Expr &) { return number(7); }, false);
  std::vector<Array> arrays = inputs(few);
  Result result = simulate(few, arrays);
  ASSERT_EQ(result.diagnostics.size(), 1U);
  EXPECT_EQ(result.diagnostics[0].kind, ErrorKind::unwritten_read);
}

// ---- rows that several lanes receive

enum class Barriers { none, before, after, both };

/// Each lane writes the row that it supplies to ldmatrix. If `overwrites`, it overwrites the row after the
/// call.
kernel::Kernel own_rows(Barriers barriers, bool overwrites, std::int64_t warps = 1, bool of_block = false) {
  const Intrinsic &x = intrinsic("ldmatrix_a", DType::f16, DType::f16);
  OneCall call(x, 32 * warps);
  Buffer tiles = call.b.shared("tiles", 256 * warps, DType::f16),
         out = call.b.param("out", 256 * warps, Role::output, DType::f16);
  auto sync = [&](Barriers which) {
    if (barriers != which && barriers != Barriers::both)
      return;
    of_block ? call.b.sync_block() : call.b.sync_warp();
  };
  Expr row = call.t * number(8);
  for (std::int64_t n = 0; n < 8; ++n)
    call.b.store(tiles, row + number(n), cast(DType::f16, cast(DType::f32, row + number(n))));
  sync(Barriers::before);
  call.places[1] = {tiles, row};
  call.b.call(x, call.places);
  sync(Barriers::after);
  for (std::int64_t n = 0; n < 8 && overwrites; ++n)
    call.b.store(tiles, row + number(n), cast(DType::f16, Expr(0.0f)));
  for (std::int64_t n = 0; n < 8; ++n)
    call.b.store(out, row + number(n), at(call.places[0].buffer, number(n)));
  return call.b.build();
}

TEST(CallRows, AreReadByTheLanesThatReceiveThem) {
  for (std::int64_t warps : {1, 3})
    for (bool of_block : {false, true}) {
      EXPECT_EQ(finding(own_rows(Barriers::both, true, warps, of_block), ErrorKind::race), "good");
      EXPECT_EQ(finding(own_rows(Barriers::before, false, warps, of_block), ErrorKind::race), "good");
      EXPECT_THAT(finding(own_rows(Barriers::after, true, warps, of_block), ErrorKind::race),
                  AllOf(HasSubstr("tiles["), HasSubstr("stores it in `tiles[t*8"),
                        HasSubstr("loads it in `ldmatrix_a(tile[0], tiles[t*8])`; no __syncwarp()")));
      EXPECT_THAT(finding(own_rows(Barriers::before, true, warps, of_block), ErrorKind::race),
                  AllOf(HasSubstr("loads it in `ldmatrix_a("), HasSubstr("stores it in `tiles[")));
    }
}

/// Only the lane that supplies an unwritten row must be reported, and not the lanes that receive it.
TEST(CallRows, ThatNothingHasWrittenAreOneError) {
  OneCall call(intrinsic("ldmatrix_a", DType::f16, DType::f16));
  call.places[1].offset = call.t * number(8);
  call.b.call(call.x, call.places);
  kernel::Kernel kernel = call.b.build();
  std::vector<Array> arrays = inputs(kernel);
  Result result = simulate(kernel, arrays);
  ASSERT_EQ(result.diagnostics.size(), 1U);
  EXPECT_EQ(result.diagnostics[0].kind, ErrorKind::unwritten_read);
}

} // namespace
} // namespace nestsmith::sim
