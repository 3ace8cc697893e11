/// Tests nests that a warp executes as calls of intrinsics, in whole schedules.

#include "codegen/cuda.h"
#include "dsl/expr/math.h"
#include "dsl/hardware/intrinsics.h"
#include "lowering/lower.h"
#include "runtime/check/blame.h"
#include "runtime/check/error_analysis.h"
#include "runtime/check/reference.h"
#include "runtime/check/roundings.h"
#include "runtime/cuda/nvrtc.h"
#include "runtime/model/count.h"
#include "runtime/model/machine_code.h"
#include "schedules/fetch.h"
#include "schedules/workloads.h"
#include "tests/accumulator.h"
#include "tests/codegen/host_text.h"
#include "tests/dsl/support.h"
#include "tests/runtime/check/right.h"
#include "tests/schedules/host_compare.h"
#include "tests/schedules/row_sums.h"

#include <algorithm>
#include <fmt/format.h>
#include <gtest/gtest.h>

namespace nestsmith {
namespace {

using test::accumulator;
using test::contains;
using test::expect_right;
using test::owed;
using test::row_sums;

/// The matrix instruction for operands of a dtype: its name, its extent along k, and the elements per register.
struct Unit {
  const char *name;
  std::int64_t k, per_register;
};
Unit unit_for(DType dtype) {
  return byte_size(dtype) == 1  ? Unit{"mma_m16n8k32", 32, 4}
         : dtype == DType::tf32 ? Unit{"mma_m16n8k8", 8, 1}
                                : Unit{"mma_m16n8k16", 16, 2};
}

/// Returns the layout of an operand with `rows` rows (A: 16, B: 8) along its dimension that is not k.
std::string map_of(const Unit &unit, std::int64_t rows, bool k_first) {
  std::int64_t n = unit.per_register, half = 4 * n;
  std::string lane = fmt::format("i%8*4 + k%{}//{}", half, n), words = fmt::format("k%{}//{}", unit.k, half);
  std::string registers = rows == 16 ? fmt::format("{}*{} + i%16//8*{} + k%{}", words, 2 * n, n, n)
                                     : fmt::format("{}*{} + k%{}", words, n, n);
  return fmt::format("{} -> {}, i//{}, k//{}, {}", k_first ? "k, i" : "i, k", lane, rows, unit.k, registers);
}

/// Binds the loops over 16 x 8 tiles of results to the lanes that hold them.
void bind_accumulator(Schedule &s, Loop i, Loop j) {
  auto [i_tile, i_half, i_lane] = s.split(i, {infer, 2, 8});
  auto [j_tile, j_lane, j_pair] = s.split(j, {infer, 4, 2});
  s.reorder({i_lane, j_lane, i_tile, j_tile, i_half, j_pair});
  s.bind(s.fuse(i_lane, j_lane), Axis::lane);
  for (Loop loop : {i_tile, j_tile, i_half, j_pair})
    s.unroll(loop);
}

/// Each lane loads its elements of an operand.
void load_by_lanes(Schedule &s, BlockRef block, Loop at, const Unit &unit, bool k_first) {
  s.compute_at(block, at);
  auto loops = s.loops_below(block, at);
  loops.erase(loops.begin(), loops.end() - 2); // a batch has one iteration here
  Loop row = loops[k_first ? 1 : 0], k = loops[k_first ? 0 : 1];
  auto [row_outer, row_lane] = s.split(row, {infer, 8});
  auto [k_word, k_lane, k_in] = s.split(k, {infer, 4, unit.per_register});
  s.reorder({row_lane, k_lane, row_outer, k_word, k_in});
  s.bind(s.fuse(row_lane, k_lane), Axis::lane);
  for (Loop loop : {row_outer, k_word, k_in})
    s.unroll(loop);
}

struct Options {
  Transposed transposed = {};
  bool ldmatrix = false;
  bool other_intrinsic = false;       ///< use ldmatrix for the other layout of A
  std::int64_t padding = 0;           ///< elements after each row of the tile of A
  std::string a_map = {}, b_map = {}; ///< used instead of the maps of the unit
  bool bare_a = false;                ///< A is not in a fragment
  bool ahead = false;                 ///< load fragments one step before they are used
  std::int64_t stages = 1;            ///< more than 1: stages of asynchronous copies to the tiles
};

/// Loads tiles of 16 x 16 of A, or of 16 x 8 of B, by ldmatrix.
void load_matrices(Schedule &s, BlockRef block, Loop at, bool is_a, bool k_first, const std::string &name) {
  s.compute_at(block, at);
  auto loops = s.loops_below(block, at);
  Loop row = loops[k_first ? 1 : 0], k = loops[k_first ? 0 : 1];
  auto [row_tile, row_in] = s.split(row, {infer, is_a ? 16 : 8});
  auto [k_tile, k_in] = s.split(k, {infer, 16});
  s.reorder({row_tile, k_tile, row_in, k_in});
  s.unroll(row_tile);
  s.unroll(k_tile);
  s.tensorize(row_in, name);
}

/// Schedules tiles of 64 x 32 for 4 warps with 32 x 16 each.
Schedule product(Program program, DType dtype, const Options &options = {}) {
  Unit unit = unit_for(dtype);
  Schedule s(std::move(program));
  auto AB = s.block("AB"), C = s.block("C");
  auto [i, j, k] = s.loops<3>(AB);
  auto [i_block, i_warp, i_tile, i_in] = s.split(i, {infer, 2, 2, 16});
  auto [j_block, j_warp, j_tile, j_in] = s.split(j, {infer, 2, 2, 8});
  auto [k_outer, k_step, k_in] = s.split(k, {infer, 2, unit.k});
  s.reorder({i_block, j_block, i_warp, j_warp, k_outer, k_step, i_tile, j_tile, i_in, j_in, k_in});
  s.set_scope(AB, Scope::warp);
  auto warp = s.fuse(i_warp, j_warp);
  s.reverse_compute_at(C, warp);
  s.bind(i_block, Axis::block_y);
  s.bind(j_block, Axis::block_x);
  s.bind(warp, Axis::warp);
  std::vector<Stage> copies, uses;
  for (std::string operand : {"A", "B"}) {
    bool is_a = operand == "A", k_first = is_a ? options.transposed.a : !options.transposed.b;
    auto tile = s.cache_read(AB, operand, Scope::shared);
    if (is_a && options.bare_a) {
      fetch_tile(s, tile, k_outer, 128);
      continue;
    }
    auto fragment = s.cache_read(AB, operand + "_shared", Scope::warp);
    if (options.ldmatrix)
      load_matrices(s, fragment, k_step, is_a, k_first,
                    fmt::format("ldmatrix_{}{}", is_a ? "a" : "b",
                                (is_a == k_first) != (is_a && options.other_intrinsic) ? "_trans" : ""));
    else
      load_by_lanes(s, fragment, k_step, unit, k_first);
    if (options.stages > 1) {
      s.vectorize(fetch_by_vectors(s, tile, k_outer, 128));
      s.async_copy(tile);
    } else {
      fetch_tile(s, tile, k_outer, 128);
    }
    copies.push_back({tile, 0, is_a ? 0 : 1});
    uses.push_back({fragment, options.stages - 1, 2});
    if (is_a && options.padding != 0)
      s.storage_align(tile, 0, 32, options.padding);
    const std::string &map = is_a ? options.a_map : options.b_map;
    s.transform_layout(fragment, map.empty() ? map_of(unit, is_a ? 16 : 8, k_first) : map);
  }
  auto init = s.decompose_reduction(AB, k_outer);
  auto zeros = s.loops_below(init, warp), out = s.loops_below(C, warp);
  s.reorder({zeros[0], zeros[2], zeros[1], zeros[3]});
  bind_accumulator(s, s.fuse(zeros[0], zeros[2]), s.fuse(zeros[1], zeros[3]));
  bind_accumulator(s, out[0], out[1]);
  s.transform_layout(AB, accumulator);
  for (Loop loop : {k_step, i_tile, j_tile})
    s.unroll(loop);
  s.tensorize(i_in, unit.name);
  if (options.ahead)
    s.pipeline(k_step, {{uses[0].block, 0, 0}, {uses[1].block, 0, 1}, {AB, 1, 2}});
  if (options.stages > 1) {
    uses.push_back({AB, options.stages - 1, 2});
    copies.insert(copies.end(), uses.begin(), uses.end());
    s.pipeline(k_outer, copies);
  }
  return s;
}

Schedule product(const Shape &shape, DType dtype, const Options &options = {}) {
  return product(gemm(shape, dtype, options.transposed), dtype, options);
}

constexpr Transposed layouts[] = {{false, false}, {true, false}, {false, true}, {true, true}};

TEST(WarpCalls, MultiplyEveryTypeInEveryLayout) {
  for (DType dtype : {DType::f16, DType::bf16, DType::tf32, DType::i8, DType::u8})
    for (const Transposed &transposed : layouts)
      expect_right(product({64, 32, 64}, dtype, {transposed}));
}

TEST(WarpCalls, AreRightAtEverySize) {
  for (const Shape &shape : {Shape{1, 1, 1}, Shape{16, 8, 16}, Shape{65, 31, 33}, Shape{17, 64, 100}})
    for (DType dtype : {DType::f16, DType::tf32, DType::i8})
      expect_right(product(shape, dtype));
}

/// C = relu(A*B + bias), rounded to the type of the output.
Program narrow_result(std::int64_t m, std::int64_t n, std::int64_t k, DType operand, DType result) {
  Workload w("narrow_result");
  Tensor a = w.placeholder("A", {m, k}, operand), b = w.placeholder("B", {k, n}, operand),
         bias = w.placeholder("bias", {n}, DType::f32);
  Reduce r = reduce_axis("k", k);
  Tensor ab = w.compute("AB", {m, n}, {"i", "j"}, [&](Expr i, Expr j) {
    return sum(cast(DType::f32, a(i, r)) * cast(DType::f32, b(r, j)), r);
  });
  Tensor c = w.compute("C", {m, n}, {"i", "j"}, [&](Expr i, Expr j) -> Definition {
    return cast(result, max(ab(i, j) + bias(j), Expr(0.0F)));
  });
  return w.output({c});
}

TEST(WarpCalls, HaveEpiloguesOnFragments) {
  expect_right(product(gemm_bias_relu({70, 40, 50}, DType::f16), DType::f16, {.ldmatrix = true}));
  for (DType operand : {DType::f16, DType::bf16})
    for (DType result : {DType::f16, DType::bf16})
      expect_right(product(narrow_result(64, 40, 32, operand, result), operand));
}

TEST(WarpCalls, LoadMatrices) {
  for (DType dtype : {DType::f16, DType::bf16})
    for (const Transposed &transposed : layouts)
      for (const Shape &shape : {Shape{64, 32, 32}, Shape{70, 40, 50}})
        expect_right(product(shape, dtype, {.transposed = transposed, .ldmatrix = true}));
}

TEST(WarpCalls, ReadTilesOfAsynchronousCopies) {
  for (std::int64_t stages : {2, 3})
    for (std::int64_t k : {32, 64, 160}) {
      Schedule s = product({64, 32, k}, DType::f16, {.ldmatrix = true, .stages = stages});
      ASSERT_EQ(owed(s), "");
      expect_right(s);
    }
}

/// There are two copies of each fragment. Their registers are known after the loop is unrolled.
TEST(WarpCalls, TakeFragmentsThatAreLoadedAhead) {
  for (bool ldmatrix : {false, true}) {
    Schedule s = product({64, 32, 96}, DType::f16, {.ldmatrix = ldmatrix, .ahead = true});
    ASSERT_EQ(owed(s), "");
    expect_right(s);
  }
}

TEST(WarpCalls, KeepTheMeaningAtEveryStep) {
  EXPECT_TRUE(test::same_meaning(product({64, 32, 32}, DType::i8)));
}

TEST(WarpCallsOwe, TheFragmentsOfTheirOperands) {
  std::string text =
      owed(product({64, 32, 32}, DType::f16, {.ldmatrix = true, .a_map = "i, k -> i%8*4 + k%4, i//8, k//4"}));
  EXPECT_TRUE(contains(
      text, "the layout of A_shared_warp (stored i, k -> i%8*4 + k%4, i//8, k//4) does not give the "
            "lanes and registers of the operand a of the call of mma_m16n8k16 at i_3; use "
            "transform_layout with the map \"i, j -> i%8*4 + j//2%4, i//16, j//8*4 + i//8%2*2 + j%2\""))
      << text;
  // The map that the message suggests must be legal.
  std::size_t begin = text.find("operand a"), first = text.find('"', begin) + 1;
  std::string map = text.substr(first, text.find('"', first) - first);
  EXPECT_EQ(owed(product({64, 32, 32}, DType::f16, {.ldmatrix = true, .a_map = map})), "") << map;
}

TEST(WarpCallsOwe, RowsThatAreContiguousAndAligned) {
  std::string across = owed(product({64, 32, 32}, DType::f16, {.ldmatrix = true, .other_intrinsic = true}));
  EXPECT_TRUE(contains(across,
                       "the call of ldmatrix_a_trans at ax_A_shared_i_inner reads 8 consecutive elements of "
                       "A_shared along ax_A_shared_i_inner in each row, but they are not contiguous"))
      << across;
  std::string padded = owed(product({64, 32, 32}, DType::f16, {.ldmatrix = true, .padding = 4}));
  EXPECT_TRUE(contains(padded, "which is not always a multiple of 8 elements (16 bytes); pad the rows with "
                               "storage_align, or change the layout"))
      << padded;
  expect_right(product({64, 32, 32}, DType::f16, {.ldmatrix = true, .padding = 8}));
}

/// Returns the obligation of C = A*B for one warp after `change`.
std::string owed_by_one_warp(const std::function<void(Schedule &, BlockRef)> &change, std::int64_t m = 16) {
  Schedule s(matmul({m, 8, 16}, DType::f16));
  auto C = s.block("C");
  s.cache_write(C, Scope::warp);
  change(s, C);
  return owed(s);
}

TEST(WarpCallsOwe, OperandsInFragmentsWithoutAnInit) {
  auto tensorized = [](Schedule &s, BlockRef C) { s.tensorize(s.loops(C)[0], "mma_m16n8k16"); };
  std::string init = owed_by_one_warp(tensorized);
  EXPECT_TRUE(contains(init, "the init of block C is not part of the call of mma_m16n8k16 at i; use "
                             "decompose_reduction, and bind its loops to the lanes that hold the elements"))
      << init;
  std::string scope = owed(product({64, 32, 32}, DType::f16, {.bare_a = true}));
  EXPECT_TRUE(contains(scope,
                       "the operand a of the call of mma_m16n8k16 at i_3 is A_shared, in shared memory, but it "
                       "must be a fragment of the scope warp; use cache_read, cache_write or set_scope"))
      << scope;
  std::string guard = owed_by_one_warp(
      [&](Schedule &s, BlockRef C) {
        auto [outer, inner] = s.split(s.loops(C)[0], {infer, 16});
        s.decompose_reduction(C, outer);
        s.tensorize(inner, "mma_m16n8k16");
      },
      20);
  EXPECT_TRUE(contains(
      guard,
      "block C has the guard i < 20, which differs between the iterations of the call of mma_m16n8k16 at "
      "i_inner; pad its operands to whole tiles with caches, or choose tiles that divide the extent"))
      << guard;
}

/// A sum of 64 terms has 63 additions. On tensor cores, the bound counts three times 66.
TEST(WarpCalls, HaveTheErrorBoundOfTheMatrixUnit) {
  Schedule s = product({64, 32, 64}, DType::f16);
  EXPECT_EQ(rounding_scale(lower(s)), 3);
  EXPECT_EQ(rounding_scale(lower(product({64, 32, 64}, DType::i8))), 1);
  EXPECT_NEAR(sum_error(64, 64, 1, 1), 63 * 0x1p-24, 1e-9);
  EXPECT_NEAR(sum_error(64, 64, 3, 1), 3 * 66 * 0x1p-24, 1e-9);
}

Subject subject_of(DType dtype, const Options &options) {
  Schedule s = product({65, 40, 50}, dtype, options);
  kernel::Plan plan = lower(s);
  return {std::string(name(dtype)), std::move(s), std::move(plan)};
}

/// The text runs with the meanings of the intrinsics instead of their preludes.
TEST(WarpCalls, RunOnTheHost) {
  if (!host::why_not().empty())
    GTEST_SKIP() << host::why_not();
  for (const std::string &problem : differences_on_host(
           {subject_of(DType::i8, {}), subject_of(DType::f16, {.transposed = layouts[0], .ldmatrix = true})}))
    ADD_FAILURE() << problem;
}

TEST(WarpCalls, OfEveryTypeAndLayoutRunOnTheHost) {
  if (!host::why_not().empty())
    GTEST_SKIP() << host::why_not();
  std::vector<Subject> subjects;
  for (DType dtype : {DType::f16, DType::bf16, DType::tf32, DType::i8, DType::u8})
    subjects.push_back(subject_of(dtype, {}));
  for (const Transposed &transposed : layouts)
    subjects.push_back(subject_of(DType::f16, {.transposed = transposed, .ldmatrix = true}));
  for (const std::string &problem : differences_on_host(subjects))
    ADD_FAILURE() << problem;
}

/// Each tile along k has eight products and eight loads of matrices.
TEST(WarpCalls, CompileToInstructionsOfTheMatrixUnit) {
  const cuda::Nvrtc *nvrtc = nullptr;
  try {
    nvrtc = &cuda::Nvrtc::get();
  } catch (const UserError &error) {
    GTEST_SKIP() << "needs NVRTC: " << error.what();
  }
  for (DType dtype : {DType::f16, DType::bf16, DType::tf32, DType::i8, DType::u8})
    for (bool ldmatrix : {false, true})
      for (const char *arch : {"sm_80", "sm_90a"}) {
        if (ldmatrix && unit_for(dtype).k != 16)
          continue;
        kernel::Kernel kernel = lower(product({129, 130, 131}, dtype, {.ldmatrix = ldmatrix})).only();
        cuda::Compiled compiled = nvrtc->compile(cuda_kernel(kernel), entry_name(kernel), arch);
        EXPECT_EQ(compiled.spill_stores + compiled.spill_loads, 0) << arch;
        auto code = model::machine_code(compiled.cubin, entry_name(kernel));
        EXPECT_EQ(std::ranges::count(code, model::Unit::matrix, &model::Instruction::unit), 8)
            << name(dtype) << " " << arch;
        EXPECT_EQ(std::ranges::count(code, model::Unit::ldmatrix, &model::Instruction::unit), ldmatrix ? 8 : 0)
            << name(dtype) << " " << arch;
      }
}

/// D = (A*B rounded to f16)*W for one warp, with matrices of 16 x 16, 16 x 16 and 16 x 8. The sums of the first
/// product are operands of the second one, in the same registers.
Schedule chain(std::int64_t batch) {
  Workload w("chain");
  Tensor a = w.placeholder("A", {batch, 16, 16}, DType::f16),
         b = w.placeholder("B", {batch, 16, 16}, DType::f16),
         v = w.placeholder("W", {batch, 16, 8}, DType::f16);
  auto product = [](Expr x, Expr y) { return cast(DType::f32, std::move(x)) * cast(DType::f32, std::move(y)); };
  Reduce k = reduce_axis("k", 16), l = reduce_axis("l", 16);
  Tensor first = w.compute("S", {batch, 16, 16}, {"b", "i", "j"},
                           [&](Expr n, Expr i, Expr j) { return sum(product(a(n, i, k), b(n, k, j)), k); });
  Tensor rounded = w.compute("P", {batch, 16, 16}, {"b", "i", "j"}, [&](Expr n, Expr i, Expr j) -> Definition {
    return cast(DType::f16, first(n, i, j));
  });
  Tensor second = w.compute("D", {batch, 16, 8}, {"b", "i", "j"}, [&](Expr n, Expr i, Expr j) {
    return sum(product(rounded(n, i, l), v(n, l, j)), l);
  });
  Schedule s(w.output({second}));
  auto S = s.block("S"), P = s.block("P"), D = s.block("D");
  auto out = s.cache_write(D, Scope::warp);
  Loop at = s.loops(D)[0];
  s.reverse_compute_at(out, at);
  s.bind(at, Axis::block_x);
  s.set_scope(P, Scope::warp);
  s.compute_at(P, at);
  s.set_scope(S, Scope::warp);
  s.compute_at(S, at);
  Unit unit = unit_for(DType::f16);
  auto load = [&](BlockRef reader, const char *operand, bool k_first, const char *map) {
    auto fragment = s.cache_read(reader, operand, Scope::warp);
    load_by_lanes(s, fragment, at, unit, k_first);
    s.transform_layout(fragment, map);
  };
  constexpr const char *of_a = "b, i, k -> i%8*4 + k%8//2, k//8*4 + i//8*2 + k%2";
  constexpr const char *of_b = "b, k, i -> i%8*4 + k%8//2, i//8, k//8*2 + k%2";
  constexpr const char *of_c = "b, i, j -> i%8*4 + j%8//2, j//8, i//8*2 + j%2";
  load(S, "A", false, of_a);
  load(S, "B", true, of_b);
  load(D, "W", true, of_b);
  s.transform_layout(S, of_c);
  s.transform_layout(P, of_a);
  s.transform_layout(D, of_c);
  for (BlockRef block : {P, out}) {
    auto loops = s.loops_below(block, at);
    bind_accumulator(s, loops[loops.size() - 2], loops.back());
  }
  for (BlockRef block : {S, D}) {
    auto loops = s.loops_below(block, at);
    Loop i_in = loops[loops.size() - 3], sums = loops.back();
    auto [j_tile, j_in] = s.split(loops[loops.size() - 2], {infer, 8});
    s.reorder({j_tile, i_in, j_in, sums});
    auto zeros = s.loops_below(s.decompose_reduction(block, j_tile), at);
    std::size_t n = zeros.size();
    s.reorder({zeros[n - 2], zeros[n - 3], zeros[n - 1]});
    bind_accumulator(s, zeros[n - 2], s.fuse(zeros[n - 3], zeros[n - 1]));
    s.unroll(j_tile);
    s.tensorize(i_in, unit.name);
  }
  return s;
}

TEST(WarpCalls, ChainProductsWithoutSharedMemory) {
  Schedule s = chain(3);
  ASSERT_EQ(owed(s), "");
  kernel::Kernel kernel = lower(s).only();
  EXPECT_TRUE(kernel.shared.empty());
  EXPECT_EQ(kernel.threads(), 32);
  EXPECT_TRUE(contains(kernel::print(kernel), "mma_m16n8k16(D_warp[0], P[0], W_warp[0])"))
      << kernel::print(kernel);
  expect_right(s);
}

/// Registers an intrinsic that multiplies 32 pairs of elements, one pair in each lane, and adds the products in
/// each lane.
void register_warp_dot() {
  Buffer x = formal_buffer("x", DType::f32, {32}), y = formal_buffer("y", DType::f32, {32}),
         total = formal_buffer("total", DType::f32, {});
  Var i = make_var("i");
  register_intrinsic({.name = "warp_dot",
                      .group = Group::warp,
                      .operands = {{x, InRegisters{"i -> i, 0"}},
                                   {y, InRegisters{"i -> i, 0"}},
                                   {total, InRegisters{"r -> r, 0"}}},
                      .meaning = {{{i, 32}}, {total, {}, load(total, {}) + load(x, {i}) * load(y, {i})}},
                      .prelude = R"(
static __device__ __forceinline__ void warp_dot(const float *x, const float *y, float *total) {
  float sum = *x * *y;
  for (int distance = 16; distance > 0; distance /= 2)
    sum += __shfl_xor_sync(0xffffffffu, sum, distance);
  *total += sum;
}
)"});
}

TEST(WarpCalls, OfAProgramsOwnIntrinsic) {
  register_warp_dot();
  Schedule s = row_sums(7, 96, DType::f32, "warp_dot");
  ASSERT_EQ(owed(s), "");
  expect_right(s);
  kernel::Kernel kernel = lower(s).only();
  EXPECT_TRUE(contains(cuda_kernel(kernel), "warp_dot(&X_warp[0], &Z_warp[0], &Y_warp[0]);"))
      << cuda_kernel(kernel);
  try {
    cuda::Compiled compiled = cuda::Nvrtc::get().compile(cuda_kernel(kernel), entry_name(kernel), "sm_80");
    EXPECT_EQ(compiled.spill_stores + compiled.spill_loads, 0);
  } catch (const UserError &error) {
    GTEST_SKIP() << "needs NVRTC: " << error.what();
  }
}

TEST(WarpCalls, SumOverTheLanes) {
  for (DType dtype : {DType::f32, DType::i32, DType::u32})
    for (std::int64_t columns : {32, 96}) {
      Schedule s = row_sums(7, columns, dtype);
      ASSERT_EQ(owed(s), "");
      expect_right(s);
    }
  std::string text = kernel::print(lower(row_sums(8, 64, DType::f32)).only());
  EXPECT_TRUE(contains(text, "warp_sum(X_warp[0], Y_warp[0])")) << text;
}

/// A sum of 32 elements counts as one addition per lane, although each lane has a copy of the result.
TEST(WarpCalls, CountEachResultOnce) {
  model::Counters counters = model::count(lower(row_sums(8, 64, DType::f32)).only(), {});
  EXPECT_EQ(counters.floating.warps, 8U * 64 / 32);
  EXPECT_EQ(counters.floating.threads, 8U * 64);
  EXPECT_EQ(counters.matrix_calls().warps, 0U);
}

/// The interpreter runs only the computation and the last program.
TEST(WarpCalls, AreTheSameAfterEveryPass) {
  Blame blame = find_blame(product({64, 32, 32}, DType::f16, {.ldmatrix = true}),
                           {.exact_only = true, .most_instances = 1});
  EXPECT_FALSE(blame.fault.has_value()) << to_string(blame);
  EXPECT_EQ(blame.refusal, "");
}

TEST(WarpCalls, AreCallsOfTheKernel) {
  Schedule s = product({64, 64, 64}, DType::f16, {.ldmatrix = true});
  EXPECT_TRUE(contains(print(s.program()), "for i_3 < 16 tensorized by mma_m16n8k16:\n")) << print(s.program());
  kernel::Kernel kernel = lower(s).only();
  std::string text = kernel::print(kernel), cuda = cuda_kernel(kernel);
  for (const char *call : {"mma_m16n8k16(AB[i_2*8 + j_2*4], A_shared_warp[i_2*8], B_shared_warp[j_2*4])\n",
                           "ldmatrix_a(A_shared_warp[", "ldmatrix_b(B_shared_warp["})
    EXPECT_TRUE(contains(text, call)) << text;
  for (const char *line :
       {"  __align__(4) __half A_shared_warp[2 * 8];\n", "  __shared__ __align__(16) __half A_shared[",
        "mma_m16n8k16(&AB[i_2 * 8 + j_2 * 4], &A_shared_warp[i_2 * 8], &B_shared_warp[j_2 * 4]);\n",
        "static __device__ __forceinline__ void ldmatrix_a(__half *tile, const __half *row) {\n"})
    EXPECT_TRUE(contains(cuda, line)) << cuda;
}

} // namespace
} // namespace nestsmith
