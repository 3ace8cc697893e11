/// Tests calls of intrinsics by a warp in hand-made kernels.

#include "lowering/verify_kernel.h"
#include "tests/runtime/sim/one_call.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace nestsmith::sim {
namespace {

using testing::HasSubstr;

double value(const Array &array, std::int64_t at) { return array.at(at).to_double(); }

struct Product {
  const char *name;
  DType sum, operand;
  std::int64_t k;
};

TEST(SimulateCall, ComputesTheProductsOfItsMeaning) {
  for (auto [name, sum, operand, k] :
       {Product{"mma_m16n8k16", DType::f32, DType::f16, 16},
        Product{"mma_m16n8k16", DType::f32, DType::bf16, 16}, Product{"mma_m16n8k8", DType::f32, DType::f32, 8},
        Product{"mma_m16n8k32", DType::i32, DType::i8, 32},
        Product{"mma_m16n8k32", DType::u32, DType::u8, 32}}) {
    OneCall call(intrinsic(name, sum, operand));
    call.fill_all();
    call.b.call(call.x, call.places);
    call.keep(0);
    kernel::Kernel kernel = call.b.build();
    EXPECT_EQ(kernel::find_breach(kernel, true).value_or(""), "");
    std::vector<Array> arrays = inputs(kernel), before = arrays;
    Result result = simulate(kernel, arrays);
    ASSERT_TRUE(result.good()) << result.diagnostics[0].message;
    for (std::int64_t i = 0; i < 16; ++i)
      for (std::int64_t j = 0; j < 8; ++j) {
        double expected = value(before[0], i * 8 + j);
        for (std::int64_t l = 0; l < k; ++l)
          expected += value(before[1], i * k + l) * value(before[2], l * 8 + j);
        ASSERT_EQ(value(arrays[0], i * 8 + j), expected) << name << " at " << i << ", " << j;
      }
  }
}

TEST(SimulateCall, SumsOverTheLanesIntoEachLane) {
  OneCall call(intrinsic("warp_sum", DType::i32, DType::i32));
  Buffer out = call.b.param("out", 32, Role::output, DType::i32);
  call.fill_all();
  call.b.call(call.x, call.places);
  call.b.store(out, call.t, at(call.places[1].buffer, number(0)));
  kernel::Kernel kernel = call.b.build();
  std::vector<Array> arrays = inputs(kernel), before = arrays;
  ASSERT_TRUE(simulate(kernel, arrays).good());
  double expected = value(before[1], 0);
  for (std::int64_t n = 0; n < 32; ++n)
    expected += value(before[0], n);
  for (std::int64_t n = 0; n < 32; ++n)
    EXPECT_EQ(value(arrays[2], n), expected);
}

/// Returns a kernel in which ldmatrix reads a tile in shared memory.
kernel::Kernel load_of_tile(const std::string &name, bool filled = true, bool barrier = true,
                            const std::function<Expr(Expr)> &shift = {}) {
  OneCall call(intrinsic(name, DType::f16, DType::f16));
  const auto &rows = *call.x.operands[1].as<Rows>();
  std::int64_t columns = *as_int(call.x.operands[1].formal->shape[1]), elements = columns * 16;
  // The contiguous dimension of the tile is the last one.
  std::int64_t row_stride = rows.along == 1 ? columns : 1, column_stride = rows.along == 1 ? 1 : 16;
  for (std::int64_t n = 0; n < elements / 32 && filled; ++n) {
    Expr at_tile = call.t + number(32 * n);
    Expr i = rows.along == 1 ? at_tile / number(columns) : at_tile % number(16);
    Expr j = rows.along == 1 ? at_tile % number(columns) : at_tile / number(16);
    call.b.store(call.places[1].buffer, at_tile, at(call.params[1], i * number(columns) + j));
  }
  if (barrier)
    call.b.sync_warp();
  call.places[1].offset = in_lane(rows.start[0], call.t) * number(row_stride) +
                          in_lane(rows.start[1], call.t) * number(column_stride);
  if (shift)
    call.places[1].offset = call.places[1].offset + shift(call.t);
  call.b.call(call.x, call.places);
  call.keep(0);
  return call.b.build();
}

const char *const loads[] = {"ldmatrix_a",       "ldmatrix_a_trans", "ldmatrix_b",
                             "ldmatrix_b_trans", "ldmatrix_b2",      "ldmatrix_b2_trans"};

TEST(SimulateCall, LoadsMatricesFromTheRowsThatTheLanesSupply) {
  for (const char *name : loads) {
    kernel::Kernel kernel = load_of_tile(name);
    std::vector<Array> arrays = inputs(kernel);
    Result result = simulate(kernel, arrays);
    ASSERT_TRUE(result.good()) << name << ": " << result.diagnostics[0].message;
    for (std::int64_t n = 0; n < arrays[0].size(); ++n)
      ASSERT_EQ(value(arrays[0], n), value(arrays[1], n)) << name << " at " << n;
  }
}

/// Returns a kernel in which a warp writes a tile in shared memory by stmatrix, and each lane reads a part of
/// it.
kernel::Kernel store_of_tile(const std::string &name, bool barrier = true,
                             const std::function<Expr(Expr)> &shift = {}) {
  OneCall call(intrinsic(name, DType::bf16, DType::bf16));
  const auto &rows = *call.x.operands[0].as<Rows>();
  const std::int64_t row_stride = rows.along == 1 ? 16 : 1, column_stride = rows.along == 1 ? 1 : 16;
  call.fill_all();
  call.places[0].offset = in_lane(rows.start[0], call.t) * number(row_stride) +
                          in_lane(rows.start[1], call.t) * number(column_stride);
  if (shift)
    call.places[0].offset = call.places[0].offset + shift(call.t);
  call.b.call(call.x, call.places);
  if (barrier)
    call.b.sync_warp();
  for (std::int64_t n = 0; n < 8; ++n) {
    const Expr at_tile = call.t + number(32 * n);
    const Expr i = rows.along == 1 ? at_tile / number(16) : at_tile % number(16);
    const Expr j = rows.along == 1 ? at_tile % number(16) : at_tile / number(16);
    call.b.store(call.params[0], i * number(16) + j, at(call.places[0].buffer, at_tile));
  }
  return call.b.build();
}

TEST(SimulateCall, StoresMatricesToTheRowsThatTheLanesSupply) {
  for (const char *name : {"stmatrix", "stmatrix_trans"}) {
    kernel::Kernel kernel = store_of_tile(name);
    EXPECT_EQ(kernel::find_breach(kernel, true).value_or(""), "");
    std::vector<Array> arrays = inputs(kernel);
    Result result = simulate(kernel, arrays);
    ASSERT_TRUE(result.good()) << name << ": " << result.diagnostics[0].message;
    for (std::int64_t n = 0; n < arrays[0].size(); ++n)
      ASSERT_EQ(value(arrays[0], n), value(arrays[1], n)) << name << " at " << n;
  }
}

std::string first_message(const kernel::Kernel &kernel, ErrorKind kind) {
  std::vector<Array> arrays = inputs(kernel);
  Result result = simulate(kernel, arrays);
  if (result.good())
    return "good";
  EXPECT_EQ(result.diagnostics[0].kind, kind) << result.diagnostics[0].message;
  return result.diagnostics[0].message;
}

TEST(SimulateCall, ReportsWhatItsRowsRead) {
  EXPECT_THAT(first_message(load_of_tile("ldmatrix_a", false), ErrorKind::unwritten_read),
              HasSubstr("thread (0, 0, 0) of block (0, 0, 0) loads rows[0] (shared) in `ldmatrix_a(tile[0], "
                        "rows[t%16*16 + t//16*8])`, which nothing has written yet"));
  EXPECT_THAT(first_message(load_of_tile("ldmatrix_a", true, false), ErrorKind::race),
              HasSubstr("and thread (1, 0, 0) of block (0, 0, 0) loads it in `ldmatrix_a(tile[0], "));
  EXPECT_THAT(first_message(load_of_tile("ldmatrix_a", true, true, [](Expr) { return number(8); }),
                            ErrorKind::out_of_bounds),
              HasSubstr("but rows has 256 elements"));
  EXPECT_THAT(first_message(load_of_tile("ldmatrix_b", true, true,
                                         [](Expr t) { return select(t < number(3), number(4), number(0)); }),
                            ErrorKind::misaligned),
              HasSubstr("a vector of 16 bytes, whose offset is not a multiple of 16"));
}

/// The elements of a row come from other lanes, so also the lane that supplies the row needs a barrier.
TEST(SimulateCall, ReportsALaneThatReadsTheRowThatItSupplied) {
  for (bool barrier : {true, false}) {
    OneCall call(intrinsic("stmatrix", DType::u16, DType::u16));
    call.fill_all();
    const Expr row = call.t % number(16) * number(16) + call.t / number(16) * number(8);
    call.places[0].offset = row;
    call.b.call(call.x, call.places);
    if (barrier)
      call.b.sync_warp();
    for (std::int64_t n = 0; n < 8; ++n)
      call.b.store(call.params[0], row + number(n), at(call.places[0].buffer, row + number(n)));
    const kernel::Kernel kernel = call.b.build();
    std::vector<Array> arrays = inputs(kernel);
    const Result result = simulate(kernel, arrays);
    EXPECT_EQ(result.good(), barrier);
    for (const Diagnostic &diagnostic : result.diagnostics) {
      EXPECT_EQ(diagnostic.kind, ErrorKind::race) << diagnostic.message;
      EXPECT_THAT(diagnostic.message, HasSubstr("stores it in `stmatrix("));
      EXPECT_THAT(diagnostic.message, HasSubstr("loads it in `p_rows["));
    }
  }
}

TEST(SimulateCall, ReportsWhatItsRowsWrite) {
  EXPECT_THAT(first_message(store_of_tile("stmatrix", false), ErrorKind::race),
              HasSubstr("rows[1] (shared): thread (0, 0, 0) of block (0, 0, 0) stores it in `stmatrix("));
  EXPECT_THAT(
      first_message(store_of_tile("stmatrix", true, [](Expr) { return number(8); }), ErrorKind::out_of_bounds),
      HasSubstr("but rows has 256 elements"));
  const kernel::Kernel misaligned = store_of_tile("stmatrix", true, [](Expr) { return number(4); });
  std::vector<Array> arrays = inputs(misaligned);
  std::string messages;
  for (const Diagnostic &diagnostic : simulate(misaligned, arrays).diagnostics)
    if (diagnostic.kind == ErrorKind::misaligned)
      messages += diagnostic.message;
  EXPECT_THAT(messages, HasSubstr("a vector of 16 bytes, whose offset is not a multiple of 16"));
}

/// Lanes 16 to 31 supply no address, so their addresses may be out of bounds.
TEST(SimulateCall, IgnoresTheAddressesOfOtherLanes) {
  kernel::Kernel kernel = load_of_tile(
      "ldmatrix_b", true, true, [](Expr t) { return select(t < number(16), number(0), number(1 << 20)); });
  std::vector<Array> arrays = inputs(kernel);
  EXPECT_TRUE(simulate(kernel, arrays).good());
}

TEST(SimulateCall, ReportsRegistersThatNoLaneHasWritten) {
  OneCall call(intrinsic("mma_m16n8k16", DType::f32, DType::f16));
  call.fill(0);
  call.fill(1);
  call.b.call(call.x, call.places);
  call.keep(0);
  EXPECT_THAT(first_message(call.b.build(), ErrorKind::unwritten_read),
              HasSubstr("loads b[0] (local) in `mma_m16n8k16(c[0], a[0], b[0])`, which it has not written"));
}

TEST(SimulateCall, ReportsLanesThatMissIt) {
  OneCall call(intrinsic("mma_m16n8k16", DType::f32, DType::f16));
  call.fill_all();
  call.b.when(call.t < number(31), [&] { call.b.call(call.x, call.places); });
  kernel::Kernel kernel = call.b.build();
  EXPECT_EQ(kernel::find_breach(kernel, true).value_or(""),
            "a call of mma_m16n8k16 stands below a guard that differs between the lanes of a warp");
  EXPECT_THAT(
      first_message(kernel, ErrorKind::divergent_barrier),
      HasSubstr("executes mma_m16n8k16(c[0], a[0], b[0]) with 31 of 32 lanes: every lane must execute a "
                "call of its warp"));
  OneCall few(intrinsic("warp_sum", DType::i32, DType::i32), 16);
  few.fill_all();
  few.b.call(few.x, few.places);
  EXPECT_THAT(first_message(few.b.build(), ErrorKind::divergent_barrier), HasSubstr("with 16 of 32 lanes"));
}

/// The warps of a block may differ: the second of two does not call.
TEST(SimulateCall, IsExecutedByAllLanesOfAWarpOrByNone) {
  for (int of : {32, 64, 16, 48}) {
    OneCall call(intrinsic("warp_sum", DType::i32, DType::i32), 64);
    call.fill_all();
    call.b.when(floordiv(call.t, number(of)) < number(1), [&] { call.b.call(call.x, call.places); });
    kernel::Kernel kernel = call.b.build();
    bool whole = of % 32 == 0;
    EXPECT_EQ(kernel::find_breach(kernel, true).has_value(), !whole) << of;
    std::vector<Array> arrays = inputs(kernel);
    EXPECT_EQ(simulate(kernel, arrays).good(), whole) << of;
  }
}

/// The registers of the operands depend on a loaded value.
TEST(SimulateCall, TakesRegistersThatAreNotKnownBefore) {
  const Intrinsic &sum = intrinsic("warp_sum", DType::i32, DType::i32);
  OneCall call(sum);
  Buffer x = call.b.local("many", 4, DType::i32), totals = call.b.local("totals", 4, DType::i32),
         choice = call.b.param("choice", 1, Role::input, DType::i32),
         out = call.b.param("out", 4, Role::output, DType::i32);
  for (std::int64_t n = 0; n < 4; ++n) {
    call.b.store(x, number(n), number(n + 1));
    call.b.store(totals, number(n), number(0));
  }
  Expr at_choice = call.b.let("c", at(choice, number(0)));
  call.b.call(sum, {{x, at_choice}, {totals, number(3) - at_choice}});
  call.b.when(call.t < number(4), [&] { call.b.store(out, call.t, at(totals, call.t)); });
  kernel::Kernel kernel = call.b.build();
  std::vector<Array> arrays = inputs(kernel);
  arrays[2].set(0, Scalar::from_double(DType::i32, 1));
  Result result = simulate(kernel, arrays);
  ASSERT_TRUE(result.good()) << result.diagnostics[0].message;
  for (std::int64_t n = 0; n < 4; ++n)
    EXPECT_EQ(value(arrays[3], n), n == 2 ? 32 * 2 : 0);
  arrays[2].set(0, Scalar::from_double(DType::i32, 4));
  EXPECT_EQ(simulate(kernel, arrays).diagnostics[0].kind, ErrorKind::out_of_bounds);
}

/// The registers of the operands are known after the loop is unrolled.
TEST(SimulateCall, TakesTheRegistersOfALoop) {
  const Intrinsic &sum = intrinsic("warp_sum", DType::i32, DType::i32);
  OneCall call(sum);
  Buffer x = call.b.local("many", 4, DType::i32), out = call.b.param("out", 1, Role::output, DType::i32);
  call.fill(1);
  call.b.loop("n", 4, [&](const Expr &n) { call.b.store(x, n, n); });
  call.b.loop("n", 4, [&](const Expr &n) { call.b.call(sum, {{x, n}, call.places[1]}); });
  call.b.when(equal(call.t, number(0)),
              [&] { call.b.store(out, number(0), at(call.places[1].buffer, number(0))); });
  kernel::Kernel kernel = call.b.build();
  std::vector<Array> arrays = inputs(kernel), before = arrays;
  ASSERT_TRUE(simulate(kernel, arrays).good());
  EXPECT_EQ(value(arrays[2], 0), value(before[1], 0) + 32 * (0 + 1 + 2 + 3));
}

} // namespace
} // namespace nestsmith::sim
