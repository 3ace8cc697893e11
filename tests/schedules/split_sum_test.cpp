/// Tests products whose sums are split among thread blocks, in registers and on matrix units, and with a batch.

#include "codegen/cuda.h"
#include "codegen/emit.h"
#include "lowering/lower.h"
#include "runtime/check/check.h"
#include "runtime/check/sim_executor.h"
#include "runtime/check/stored_array.h"
#include "schedules/library/product.h"
#include "schedules/library/tile_knobs.h"
#include "schedules/tensor/tiles.h"
#include "schedules/workloads.h"
#include "tests/contains.h"
#include "tests/dsl/support.h"
#include "tests/schedules/rung.h"

#include <algorithm>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <regex>

namespace nestsmith {
namespace {

using library::MatrixTiles;
using library::RegisterTiles;
using test::contains;

/// "" if the schedule has this number of kernels and is right in several orders of its blocks.
std::string split_is_right(const Schedule &s, std::size_t kernels = 1) {
  if (auto owed = s.obligations(); !owed.empty())
    return owed.front().message;
  kernel::Plan plan = lower(s);
  if (plan.kernels.size() != kernels)
    return fmt::format("{} kernels", plan.kernels.size());
  for (std::uint64_t order : {0, 1}) {
    SimExecutor simulator({.order = order});
    CheckResult result = check(s, plan, simulator);
    if (!result.passed)
      return result.messages().front();
  }
  return "";
}

/// A block that has a multiprocessor for itself has all parts in flight. Otherwise their registers would take
/// the place of other blocks.
TEST(SplitRegisterTiles, AddFewPartsAtATimeIfThereAreManyBlocks) {
  auto unrolled = [](const Shape &shape, std::int64_t parts, std::int64_t groups = 1) {
    Schedule s(gemm(shape, DType::f32), make_target("sm_90a")); // of 132 multiprocessors
    library::product(s, s.block("AB"),
                     RegisterTiles{.warps = {1, 1},
                                   .lanes = {4, 8},
                                   .results = {4, 4},
                                   .k = 8,
                                   .split_k = parts,
                                   .groups_of_parts = groups});
    // With groups, that of the sums of the groups.
    const std::string text = cuda_kernel(lower(s).only()),
                      loop = fmt::format(" < {};", groups > 1 ? groups : parts);
    const std::size_t at = text.find(loop, text.rfind("if (last")), pragma = text.rfind("#pragma", at);
    return text.substr(pragma, text.find('\n', pragma) - pragma);
  };
  // A thread has 4 accesses for each part.
  EXPECT_EQ(unrolled({16, 32, 256}, 8), "#pragma unroll");
  EXPECT_EQ(unrolled({256, 32, 256}, 8), "#pragma unroll");
  EXPECT_EQ(unrolled({272, 32, 256}, 8), "#pragma unroll 4") << "136 blocks";
  EXPECT_EQ(unrolled({272, 32, 256}, 4), "#pragma unroll");
  EXPECT_EQ(unrolled({64, 32, 512}, 32), "#pragma unroll 4") << "more than 64 loads";
  EXPECT_EQ(unrolled({32, 32, 512}, 32, 8), "#pragma unroll") << "64 blocks";
  EXPECT_EQ(unrolled({80, 32, 512}, 32, 8), "#pragma unroll 4") << "160 blocks, in 8 groups of 4 for each tile";
}

/// The last part has fewer tiles of k, and ends earlier: in loops of their own if they are joined, below a
/// condition otherwise.
TEST(SplitRegisterTiles, MayHaveAShorterLastPart) {
  for (bool joined : {true, false})
    for (auto [k, parts, of_part] :
         {std::array<std::int64_t, 3>{64, 2, 6}, {61, 3, 3}, {8 * 9 + 1, 2, 9}, {64, 2, 4}}) {
      Schedule s(gemm({18, 34, k}, DType::f32));
      library::product(s, s.block("AB"),
                       RegisterTiles{.warps = {1, 1},
                                     .lanes = {4, 8},
                                     .results = {4, 4},
                                     .async = joined,
                                     .prefetch = !joined,
                                     .fragments = true,
                                     .joined = joined,
                                     .last_k = joined,
                                     .k = 8,
                                     .split_k = parts,
                                     .tiles_of_part = of_part});
      EXPECT_EQ(split_is_right(s), "") << k << " " << parts << " " << joined;
      EXPECT_EQ(lower(s).kernels.size(), 1U);
    }
}

constexpr MatrixTiles small = {.warps = {1, 2}, .results = {16, 16}, .steps = 1, .stages = 2};

TEST(SplitMatrixTiles, AreRightForAnyNumberOfTilesAndParts) {
  // 1, 2 and 5 tiles along k, of which the last one may be cut, and more parts than tiles.
  for (std::int64_t k : {16, 32, 71})
    for (std::int64_t parts : {2, 3, 8}) {
      MatrixTiles tiles = small;
      tiles.split_k = parts;
      EXPECT_EQ(split_is_right(tensor::product({18, 34, k}, DType::f16, {}, tiles)), "") << k << " " << parts;
    }
}

TEST(SplitMatrixTiles, AreRightForEachTypeAndLayout) {
  MatrixTiles tiles = small;
  tiles.split_k = 2;
  tiles.steps = 2;
  tiles.ahead = tiles.joined = true;
  for (DType dtype : {DType::bf16, DType::tf32, DType::i8, DType::u8, DType::u16})
    for (const Shape &shape : {Shape{20, 33, 150}, tensor::with_b_transposed({20, 33, 150})})
      EXPECT_EQ(split_is_right(tensor::product(shape, dtype, {}, tiles)), "") << name(dtype);
  tiles.source = library::Source::global;
  EXPECT_EQ(split_is_right(tensor::product({20, 33, 70}, DType::f16, {}, tiles)), "");
}

TEST(SplitMatrixTiles, KeepTheirMeaningAtEveryStep) {
  MatrixTiles tiles = small;
  tiles.split_k = 2;
  tiles.stages = 1;
  EXPECT_TRUE(test::same_meaning(tensor::product({17, 9, 40}, DType::f16, {}, tiles)));
}

TEST(SplitMatrixTiles, AreAKnobOfTheRungs) {
  for (const char *rung : {"tensor/tuned", "tensor/nt"}) {
    Knobs knobs(parse_knobs("split_k=4,results=16x16,steps=1"));
    Schedule s = test::rung(rung).build({30, 34, 130}, DType::bf16, Target{}, knobs);
    EXPECT_EQ(split_is_right(s), "");
  }
  auto candidates = [](std::int64_t k) {
    Knobs knobs;
    (void)test::rung("tensor/tuned").build({64, 64, k}, DType::f16, Target{}, knobs);
    for (const Knob &knob : knobs.asked())
      if (knob.name == "split_k")
        return knob.candidates.size();
    return std::size_t{0};
  };
  EXPECT_EQ(candidates(127), 0U);
  EXPECT_EQ(candidates(128), 2U);
  EXPECT_EQ(candidates(4096), 16U);
}

/// Y[j, b, i] = (sum over k, l of X[b, k, i, l]*W[l, j, k, b]) + bias[j], in f32 or in the type of the
/// operands.
Program batch_of_products(DType dtype, bool narrow) {
  Workload w("batch");
  const DType wide = byte_size(dtype) < 4 ? DType::f32 : dtype;
  Tensor X = w.placeholder("X", {3, 7, 18, 5}, dtype), W = w.placeholder("W", {5, 20, 7, 3}, dtype),
         bias = w.placeholder("bias", {20}, wide);
  Reduce k = reduce_axis("k", 7), l = reduce_axis("l", 5);
  Tensor S = w.compute("S", {3, 18, 20}, {"b", "i", "j"}, [&](Expr b, Expr i, Expr j) {
    return sum(cast(wide, X(b, k, i, l)) * cast(wide, W(l, j, k, b)), {k, l});
  });
  return w.output({w.compute("Y", {20, 3, 18}, {"j", "b", "i"}, [&](Expr j, Expr b, Expr i) -> Definition {
    return cast(narrow ? dtype : wide, S(b, i, j) + bias(j));
  })});
}

TEST(SplitBatches, ShareTheFirstAxisOfTheGridWithTheTiles) {
  for (std::int64_t parts : {2, 4})
    for (std::int64_t group : {1, 2}) {
      Schedule s(batch_of_products(DType::f32, false));
      library::Product made = library::product(
          s, s.block("S"),
          RegisterTiles{.warps = {1, 1}, .results = {4, 4}, .k = 8, .group = group, .split_k = parts});
      EXPECT_EQ(made.blocks.size(), 1U);
      EXPECT_EQ(split_is_right(s), "") << parts << " " << group;
      Schedule units(batch_of_products(DType::f16, true));
      MatrixTiles tiles = small;
      tiles.group = group;
      tiles.split_k = parts;
      library::product(units, units.block("S"), tiles);
      EXPECT_EQ(split_is_right(units), "") << parts << " " << group;
    }
}

TEST(SplitBatches, KeepPartialSumsInF32) {
  Schedule s(batch_of_products(DType::f16, true));
  MatrixTiles tiles = small;
  tiles.split_k = 2;
  library::product(s, s.block("S"), tiles);
  kernel::Plan plan = lower(s);
  ASSERT_EQ(plan.workspaces.size(), 2U);
  EXPECT_EQ(plan.workspaces[1].buffer->dtype, DType::f32);
}

TEST(SplitSums, AreAddedByAKernelOfTheirOwn) {
  for (const Shape &shape : {Shape{16, 32, 64}, Shape{19, 34, 130}, Shape{1, 1, 70}, Shape{5, 67, 33}})
    for (std::int64_t parts : {2, 5}) {
      for (DType dtype : {DType::f32, DType::u32}) {
        Schedule s(gemm(shape, dtype));
        library::product(
            s, s.block("AB"),
            RegisterTiles{.warps = {1, 1}, .results = {4, 4}, .k = 8, .split_k = parts, .two_kernels = true});
        EXPECT_EQ(split_is_right(s, 2), "") << to_string(shape) << " " << parts;
      }
      MatrixTiles tiles = small;
      tiles.split_k = parts;
      tiles.two_kernels = true;
      EXPECT_EQ(split_is_right(tensor::product(shape, DType::f16, {}, tiles), 2), "") << to_string(shape);
    }
  Schedule s(batch_of_products(DType::f32, false));
  library::product(
      s, s.block("S"),
      RegisterTiles{.warps = {1, 1}, .results = {4, 4}, .k = 8, .split_k = 2, .two_kernels = true});
  EXPECT_EQ(split_is_right(s, 2), "");
}

TEST(SplitSums, AreAddedInGroups) {
  struct Case {
    Shape shape;
    DType dtype;
    std::int64_t groups;
  };
  for (const auto &[shape, dtype, groups] :
       {Case{{19, 35, 130}, DType::f32, 2}, Case{{16, 32, 64}, DType::u32, 3},
        Case{{1, 1, 5}, DType::u32, 3}}) {
    Schedule s(gemm(shape, dtype));
    library::product(
        s, s.block("AB"),
        RegisterTiles{.warps = {1, 1}, .results = {4, 4}, .k = 8, .split_k = 6, .groups_of_parts = groups});
    EXPECT_EQ(split_is_right(s), "") << to_string(shape) << " " << groups;
  }
  Schedule batch(batch_of_products(DType::f32, false));
  library::product(
      batch, batch.block("S"),
      RegisterTiles{.warps = {1, 1}, .results = {4, 4}, .k = 8, .split_k = 4, .groups_of_parts = 2});
  EXPECT_EQ(split_is_right(batch), "");
}

TEST(SplitSums, RefuseGroupsThatDoNotDivideTheParts) {
  Schedule s(gemm({16, 32, 64}, DType::f32));
  for (std::int64_t groups : {0, 4})
    try {
      library::product(s, s.block("AB"), RegisterTiles{.split_k = 6, .groups_of_parts = groups});
      ADD_FAILURE() << "expected a refusal";
    } catch (const UserError &error) {
      EXPECT_EQ(std::string(error.what()),
                "library::product: block AB: got groups_of_parts = " + std::to_string(groups) +
                    " and split_k = 6, expected a divisor of split_k");
    }
  const auto message_of = [&](const RegisterTiles &tiles) {
    try {
      library::product(s, s.block("AB"), tiles);
    } catch (const UserError &error) {
      return std::string(error.what());
    }
    return std::string("no refusal");
  };
  EXPECT_EQ(
      message_of({.split_k = 6, .two_kernels = true, .groups_of_parts = 2}),
      "library::product: block AB: got groups_of_parts = 2 and two_kernels, expected 1 group with two_kernels");
  EXPECT_EQ(
      message_of({.split_k = 6, .part = "part"}),
      "library::product: block AB: got split_k = 6 and part = part, but the launch chooses the number of parts "
      "by the size part; leave one of them out");
  EXPECT_THAT(message_of({.part = "part"}), testing::HasSubstr("the computation declares no size 'part'"));
  EXPECT_TRUE(s.trace().empty());
}

TEST(SplitSums, OfManyPartsAreALoop) {
  Schedule s(gemm({9, 10, 200}, DType::f32));
  library::product(s, s.block("AB"), RegisterTiles{.warps = {1, 1}, .results = {4, 4}, .k = 1, .split_k = 70});
  EXPECT_EQ(split_is_right(s), "");
}

TEST(SplitSumsRefuse, NumbersOfPartsThatNoGridHas) {
  for (std::int64_t parts : {0, 65536}) {
    std::string message =
        fmt::format("library::product: block AB: got split_k = {}, expected 1 to 65535 parts of a sum", parts);
    Schedule s(gemm({8, 8, 8}, DType::f32)), units(gemm({8, 8, 8}, DType::f16));
    try {
      library::product(s, s.block("AB"), RegisterTiles{.split_k = parts});
      ADD_FAILURE() << "expected a refusal";
    } catch (const UserError &error) {
      EXPECT_EQ(std::string(error.what()), message);
    }
    try {
      library::product(units, units.block("AB"), MatrixTiles{.split_k = parts});
      ADD_FAILURE() << "expected a refusal";
    } catch (const UserError &error) {
      EXPECT_EQ(std::string(error.what()), message);
    }
    EXPECT_TRUE(s.trace().empty() && units.trace().empty());
  }
}

/// K is known only at launch, so the parts have its tiles in turns.
TEST(PartsInTurns, AreRightForSizesThatAreKnownAtLaunch) {
  Shape any = {1, 1, 1};
  any.stated = Size{};
  MatrixTiles units = small;
  units.split_k = 3;
  auto by_registers = [&](RegisterTiles tiles) {
    tiles.warps = {1, 1}, tiles.results = {4, 4}, tiles.k = 8;
    Schedule s(nestsmith::gemm(any, DType::u32));
    library::product(s, s.block("AB"), tiles);
    return s;
  };
  for (const auto &[s, kernels] :
       {std::pair(tensor::product(any, DType::f16, {}, units), 1U), std::pair(by_registers({.split_k = 3}), 1U),
        std::pair(by_registers({.split_k = 2, .two_kernels = true}), 2U),
        std::pair(by_registers({.split_k = 8, .groups_of_parts = 4}), 1U)}) {
    ASSERT_TRUE(s.obligations().empty()) << s.obligations().front().message;
    kernel::Plan plan = lower(s);
    EXPECT_EQ(plan.kernels.size(), kernels);
    for (const Shape &shape : {Shape{1, 1, 1}, Shape{17, 33, 70}, Shape{20, 5, 64}, Shape{3, 40, 33}})
      for (std::uint64_t order : {0, 1}) {
        SimExecutor simulator({.order = order});
        CheckResult result = check(s, with_sizes(plan, sizes_for(s.source(), shape, 3)), simulator);
        EXPECT_TRUE(result.passed) << to_string(shape) << "\n"
                                   << (result.passed ? "" : result.messages().front());
      }
  }
}

/// The launch chooses the number of parts: one, many, and parts that are longer than the sum. The last one may
/// be partial.
TEST(PartsAtLaunch, AreRightForAllSizes) {
  Shape any = {1, 1, 1};
  any.stated = Size{};
  struct Case {
    Schedule schedule;
    std::int64_t tile; ///< along k
    std::size_t kernels;
  };
  auto with_part = [&](std::int64_t tile) {
    Shape shape = any;
    shape.part = Size{.min = 4 * tile, .max = 1 << 15, .multiple_of = tile};
    return shape;
  };
  auto by_registers = [&](RegisterTiles tiles) {
    tiles.warps = {1, 1}, tiles.results = {4, 4}, tiles.k = 8, tiles.part = size_of_part;
    Schedule s(nestsmith::gemm(with_part(8), DType::u32), make_target("sm_90a"));
    library::product(s, s.block("AB"), tiles);
    return s;
  };
  MatrixTiles units{.stages = 3, .part = size_of_part};
  for (const auto &[s, tile, kernels] :
       {Case{tensor::product(any, DType::f16, make_target("sm_90a"), units), 16, 1},
        Case{by_registers({}), 8, 1},
        Case{by_registers({.fragments = true, .joined = true, .spread = true, .last_k = true, .stages = 3}), 8,
             1},
        Case{by_registers({.async = false, .last_k = true}), 8, 1},
        Case{by_registers({.two_kernels = true}), 8, 2}}) {
    ASSERT_TRUE(s.obligations().empty()) << s.obligations().front().message;
    kernel::Plan plan = lower(s);
    EXPECT_EQ(plan.kernels.size(), kernels);
    for (const std::vector<std::int64_t> &extents : std::vector<std::vector<std::int64_t>>{
             {1, 1, 1}, {17, 33, 4 * tile}, {3, 5, 8 * tile + 1}, {20, 40, 9 * tile - 1}})
      for (std::int64_t part : {4 * tile, 5 * tile, 100 * tile}) {
        std::vector<std::int64_t> sizes = sizes_for(s.source(), extents, 3);
        sizes.back() = part;
        SimExecutor simulator({.order = 1});
        CheckResult result = check(s, with_sizes(plan, sizes), simulator);
        EXPECT_TRUE(result.passed) << to_string(Shape(extents)) << ' ' << part << "\n"
                                   << (result.passed ? "" : result.messages().front());
      }
  }
}

/// Copies past the end of K compute their offsets, too. With sizes up to 32768, these fit 32 bits with min(k,
/// K), and without for smaller sizes.
TEST(PartsAtLaunch, HaveOffsetsOf32BitsPastTheEnd) {
  auto schedule = [](std::int64_t most) {
    Shape any = {1, 1, 1};
    any.stated = Size{.max = most};
    any.part = Size{.min = 32, .max = most, .multiple_of = 8};
    Schedule s(nestsmith::gemm(any, DType::u32), make_target("sm_90a"));
    library::product(s, s.block("AB"),
                     RegisterTiles{.warps = {1, 1},
                                   .results = {4, 4},
                                   .fragments = true,
                                   .joined = true,
                                   .spread = true,
                                   .copy_steps = 0,
                                   .last_k = true,
                                   .k = 8,
                                   .part = size_of_part});
    return s;
  };
  const Schedule s = schedule(1 << 15);
  const kernel::Plan plan = lower(s);
  auto in_one_line = [](const std::string &text) { return std::regex_replace(text, std::regex("\\s+"), " "); };
  const std::string text = in_one_line(cuda_kernel(plan.only())),
                    small = in_one_line(cuda_kernel(lower(schedule(1 << 14)).only()));
  EXPECT_THAT(text, testing::HasSubstr("B[min(B_k, K) * ldb + B_j], B_k < K && "));
  EXPECT_THAT(small, testing::HasSubstr("B[B_k * ldb + B_j], B_k < K && "));
  for (const std::string &each : {text, small})
    EXPECT_THAT(each, testing::Not(testing::HasSubstr("B[(long long)")));
  for (const auto &[k, part] : {std::pair{1, 32}, {33, 32}, {70, 40}, {9, 8 * 128}})
    for (std::int64_t gap : {0, 3}) {
      std::vector<std::int64_t> sizes = sizes_for(s.source(), Shape{17, 33, k}, gap);
      sizes.back() = part;
      SimExecutor simulator({.order = 1});
      CheckResult result = check(s, with_sizes(plan, sizes), simulator);
      EXPECT_TRUE(result.passed) << k << ' ' << part << '\n'
                                 << (result.passed ? "" : result.messages().front());
    }
}

/// The usual number of parts fills the GPU, or is the one that the shape states.
TEST(PartsAtLaunch, HaveAUsualNumber) {
  Shape any = {64, 64, 4096};
  any.stated = Size{.max = 1 << 15};
  const Target target = make_target("sm_90a");
  auto part_of = [&](const Shape &shape) {
    return *library::with_size_of_part(shape, "part", {64, 64, 16}, target).part;
  };
  EXPECT_EQ(part_of(any), (Size{.min = 64, .max = 1 << 15, .multiple_of = 16, .usual = 64}));
  any.parts_of_run = 5;
  EXPECT_EQ(part_of(any).usual, 832) << "52 of 256 tiles";
  EXPECT_EQ(
      sizes_for(nestsmith::gemm(library::with_size_of_part(any, "part", {64, 64, 16}, target), DType::f32), any,
                0)
          .back(),
      832);
  EXPECT_FALSE(library::with_size_of_part(any, "", {64, 64, 16}, target).part) << "no part";
}

/// The size is a divisor: it is no extent that may be 0.
TEST(PartsAtLaunch, AreCheckedByTheLauncher) {
  Knobs knobs(parse_knobs("split_k=0"));
  Shape any = {64, 64, 64};
  any.stated = Size{};
  const kernel::Plan plan = lower(test::rung("fast/gemm").build(any, DType::f32, Target{}, knobs));
  const std::string text = emit({}, plan);
  EXPECT_THAT(text,
              testing::HasSubstr("if (part < 64 || 1073741824 < part)\n    return \"part must be from 64 to "));
  EXPECT_THAT(text, testing::HasSubstr("{ return part < 64 ? 0 : "));
  EXPECT_THAT(text, testing::HasSubstr("return \"part must be a multiple of 16\""));
  EXPECT_THAT(emit_header({}, plan),
              testing::HasSubstr("part             a size that no array has, chosen by the caller"));
}

/// An extent may be an expression of a size: it is one of an array, and 0 makes the array empty.
TEST(PartsAtLaunch, AreNoSizesInExpressions) {
  Workload w("twice");
  Expr n = w.size("N");
  Tensor x = w.placeholder("X", {n * 2}, DType::f32);
  Tensor y = w.compute("Y", {n * 2}, {"i"}, [&](Expr i) -> Definition { return x(i) + 1; });
  const kernel::Plan plan = lower(Schedule(w.output({y})));
  EXPECT_THAT(emit({}, plan), testing::HasSubstr("return \"N must be from 0 to 1073741824\""));
  EXPECT_THAT(emit_header({}, plan), testing::Not(testing::HasSubstr("chosen by the caller")));
}

/// Rows along N and K may be multiples of 4 while M is any number: vectors, and no guard on them.
TEST(MultiplesOfEachExtent, AllowVectorsForAnyNumberOfRows) {
  Shape any = {1, 4, 4};
  any.stated = Size{.max = 1 << 15};
  any.multiples = {1, 4, 4};
  Schedule s(nestsmith::gemm(any, DType::u32));
  library::product(s, s.block("AB"), RegisterTiles{.warps = {1, 1}, .results = {4, 4}, .k = 8});
  kernel::Plan plan = lower(s);
  EXPECT_TRUE(std::ranges::any_of(plan.only().aligned, [](const auto &entry) { return entry.second == 16; }));
  for (const Shape &shape : {Shape{1, 4, 4}, Shape{17, 36, 28}}) {
    SimExecutor simulator;
    CheckResult result = check(s, with_sizes(plan, sizes_for(s.source(), shape, 4)), simulator);
    EXPECT_TRUE(result.passed) << to_string(shape) << "\n" << (result.passed ? "" : result.messages().front());
  }
}

} // namespace
} // namespace nestsmith
