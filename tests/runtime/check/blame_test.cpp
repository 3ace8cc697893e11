/// Tests that `find_blame` names the directive or the pass that changed the result, and no other.

#include "runtime/check/blame.h"

#include "dsl/expr/error.h"
#include "dsl/schedule/trace.h"
#include "tests/lowering/tiled_gemm.h"
#include "tests/runtime/check/broken_passes.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

namespace nestsmith {
namespace {

using test::TiledGemm;
using test::with_harm;
using testing::HasSubstr;

/// A product with tiles in shared memory, two buffers for each tile, copies through registers, and guards in
/// each dimension.
Schedule pipelined(std::int64_t m = 7, std::int64_t n = 5, std::int64_t k = 11, DType dtype = DType::u32) {
  TiledGemm gemm(m, n, k, {}, dtype);
  gemm.through_registers();
  gemm.s.transform_layout(gemm.A, "i, k -> k, i");
  gemm.s.storage_align(gemm.A, 0, 8, 1);
  gemm.s.double_buffer(gemm.k_outer);
  return gemm.s;
}

Blame blame_of(const Schedule &schedule, std::vector<Pass> passes = standard_passes()) {
  BlameOptions options;
  options.passes = std::move(passes);
  return find_blame(schedule, options);
}

TEST(Blame, FindsNoneWhereAllIsRight) {
  for (DType dtype : {DType::u32, DType::f32}) {
    Schedule schedule = pipelined(7, 5, 11, dtype);
    Blame blame = blame_of(schedule);
    EXPECT_FALSE(blame.fault) << to_string(blame);
    EXPECT_EQ(blame.refusal, "");
    EXPECT_EQ(blame.steps.size(), 1 + schedule.trace().size() + standard_passes().size());
    EXPECT_EQ(blame.steps.back().name, "share_values");
    EXPECT_EQ(blame.runs,
              dtype == DType::u32
                  ? (std::vector<std::string>{"ring mode", "beta = 0, C full of poison"})
                  : (std::vector<std::string>{"floating point", "integer mode", "beta = 0, C full of NaN",
                                              "infinities, 1 of 2", "infinities, 2 of 2"}));
  }
}

class EveryPass : public testing::TestWithParam<std::string> {};

/// Each pass in turn adds one to every stored value. That pass must be blamed, also if its result cannot be
/// executed as a kernel.
TEST_P(EveryPass, IsBlamedForItsFault) {
  for (DType dtype : {DType::u32, DType::f32}) {
    Blame blame =
        blame_of(pipelined(7, 5, 11, dtype), with_harm(GetParam(), [](Unit &unit) { test::one_more(unit); }));
    ASSERT_TRUE(blame.fault);
    EXPECT_EQ(blame.at_fault().name, GetParam());
    EXPECT_EQ(blame.at_fault().kind, BlamedStep::Kind::pass);
    ASSERT_TRUE(blame.fault->wrong);
    EXPECT_EQ(blame.fault->wrong->buffer, "C");
    EXPECT_EQ(blame.fault->wrong->index, (std::vector<std::int64_t>{0, 0}));
    EXPECT_NE(blame.fault->wrong->got, blame.fault->wrong->expected);
    EXPECT_THAT(to_string(blame), HasSubstr(GetParam() + " changed the result in "));
  }
}

std::vector<std::string> names_of_passes() {
  std::vector<std::string> names;
  for (const Pass &pass : standard_passes())
    names.emplace_back(pass.name);
  return names;
}
INSTANTIATE_TEST_SUITE_P(Passes, EveryPass, testing::ValuesIn(names_of_passes()),
                         [](const auto &info) { return info.param; });

TEST(Blame, BarriersThatAreLostAreTheirPassFault) {
  auto lose = [](Unit &unit) {
    test::rewrite_all<kernel::Barrier>(unit, [](const kernel::Stmt &) { return nullptr; });
  };
  Blame blame = blame_of(pipelined(), with_harm("insert_barriers", lose));
  ASSERT_TRUE(blame.fault);
  EXPECT_EQ(blame.at_fault().name, "insert_barriers");
  EXPECT_THAT(blame.fault->message, HasSubstr("__syncthreads() lies between them"));
}

TEST(Blame, AGuardThatIsLostIsItsPassFault) {
  for (std::string pass : {"extract", "place_declarations", "hoist_guards", "split_branches"}) {
    auto lose = [](Unit &unit) {
      test::rewrite_all<kernel::If>(
          unit, [](const kernel::Stmt &stmt) { return kernel::as<kernel::If>(stmt)->body; });
    };
    Blame blame = blame_of(pipelined(), with_harm(pass, lose));
    ASSERT_TRUE(blame.fault) << pass;
    EXPECT_EQ(blame.at_fault().name, pass);
  }
}

/// `flatten` shifts the offsets of the stores to a tile, but not those of its loads. It must be
/// blamed.
TEST(Blame, OffsetsThatDifferAreTheFaultOfFlatten) {
  auto shift = [](Unit &unit) {
    test::rewrite_all<kernel::Store>(unit, [](const kernel::Stmt &stmt) {
      kernel::Store copy = *kernel::as<kernel::Store>(stmt);
      if (copy.buffer->name == "A_shared")
        copy.indices[0] = min(copy.indices[0] + 1, *as_int(copy.buffer->shape[0]) - 1);
      return kernel::make(std::move(copy));
    });
  };
  Blame blame = blame_of(pipelined(), with_harm("flatten", shift));
  ASSERT_TRUE(blame.fault);
  EXPECT_EQ(blame.at_fault().name, "flatten");
}

TEST(Blame, WhatAPassLeavesMalformedIsItsFault) {
  auto lose = [](Unit &unit) {
    test::rewrite_all<kernel::Declare>(unit, [](const kernel::Stmt &) { return nullptr; });
  };
  Blame blame = blame_of(pipelined(), with_harm("place_declarations", lose));
  ASSERT_TRUE(blame.fault);
  EXPECT_EQ(blame.at_fault().name, "place_declarations");
  EXPECT_THAT(blame.fault->message, HasSubstr("is used where it is not visible"));
}

/// Six correct directives, and a wrong one after `before` of them.
Schedule with_broken(std::size_t before) {
  Schedule s(test::gemm(5, 6, 7));
  Loop i = s.loop("i"), j = s.loop("j"), k = s.loop("k");
  auto harm = [&] {
    if (s.trace().size() == before)
      test::broken_unroll(s, s.loop("C_i"));
  };
  for (Loop loop : {i, j, k}) {
    harm();
    s.split(loop, {infer, 4});
    harm();
    s.unroll(s.loop(loop.var->name + "_inner"));
  }
  harm();
  return s;
}

/// The wrong directive must be blamed at each position, also if there is no time to run the other steps.
TEST(Blame, ADirectiveIsBlamedAndNoLaterOne) {
  for (std::size_t before = 0; before <= 6; ++before)
    for (double most : {0.0, 5e3, 1e9}) {
      Schedule s = with_broken(before);
      Blame blame = find_blame(s, {.most_instances = most});
      ASSERT_TRUE(blame.fault);
      EXPECT_EQ(blame.fault->step, before + 1);
      EXPECT_EQ(blame.at_fault().kind, BlamedStep::Kind::directive);
      EXPECT_EQ(blame.at_fault().name, "s.unroll(C_i);");
      EXPECT_EQ(blame.steps.size(), blame.fault->step + 1) << "what follows is no part of it";
      EXPECT_FALSE(blame.steps[before].left_out) << "the step before it was run, and was right";
      ASSERT_TRUE(blame.fault->wrong);
      EXPECT_EQ(blame.fault->wrong->index, (std::vector<std::int64_t>{0, 0}));
    }
}

std::vector<std::string> names_of_left_out(const Blame &blame) {
  std::vector<std::string> names;
  for (const BlamedStep &step : blame.steps)
    if (step.left_out)
      names.push_back(step.name);
  return names;
}

/// If the time is short, steps are left out. The computation, the result of the last pass before `extract`, and
/// all kernels are always run. Then the preceding passes, the last program, and as many other programs as
/// possible are run.
TEST(Blame, DirectivesAreLeftOutWhereTimeIsShort) {
  Schedule s = pipelined();
  double least = least_instances(s), all = interpreted_instances(s);
  std::size_t run = 0;
  for (double most : {0.0, least + (all - least) / 2, least + (all - least) * 3 / 4, all}) {
    std::vector<std::string> told;
    BlameOptions options{.most_instances = most};
    options.about_to_run = [&](const BlamedStep &step) { told.push_back(step.name); };
    Blame blame = find_blame(s, options);
    EXPECT_FALSE(blame.fault) << to_string(blame);
    EXPECT_EQ(blame.steps.size(), 1 + s.trace().size() + standard_passes().size());
    EXPECT_FALSE(blame.steps.front().left_out);
    EXPECT_EQ(told.front(), "the computation");
    EXPECT_EQ(told.back(), "share_values");
    std::vector<std::string> left_out = names_of_left_out(blame);
    EXPECT_THAT(left_out, testing::Not(testing::Contains("fill_tails")));
    EXPECT_THAT(left_out, testing::Not(testing::Contains("extract")));
    std::string steps =
        fmt::format("the result is the same after {} of {} steps", blame.steps_run(), blame.steps.size());
    if (most == 0) {
      EXPECT_THAT(left_out, testing::Contains("lower_init"));
      EXPECT_EQ(to_string(blame),
                steps + fmt::format("; fill_tails and every later pass are among the {}", blame.steps_run()));
    } else if (most < all) {
      EXPECT_THAT(left_out, testing::Not(testing::Contains("lower_init")));
      EXPECT_EQ(to_string(blame), steps + ", including every pass");
      EXPECT_FALSE(blame.steps[s.trace().size()].left_out) << "the last program";
    } else {
      EXPECT_EQ(to_string(blame), fmt::format("the result is the same after {} steps", blame.steps.size()));
    }
    EXPECT_GT(blame.steps_run(), run);
    run = blame.steps_run();
  }
}

/// A wrong step must be blamed even if it was left out at first. A later refusal or malformed program must not
/// hide it.
TEST(Blame, APassThatWasLeftOutIsBlamedAllTheSame) {
  BlameOptions options{.most_instances = 0};
  options.passes = with_harm("lower_init", [](Unit &unit) { test::one_more(unit); });
  Blame blame = find_blame(pipelined(), options);
  ASSERT_TRUE(blame.fault);
  EXPECT_EQ(blame.at_fault().name, "lower_init");
  Schedule s = with_broken(6);
  s.set_scope(s.block("AB"), Scope::local); // makes lowering refuse the schedule
  blame = find_blame(s, {.most_instances = 0});
  ASSERT_TRUE(blame.fault);
  EXPECT_EQ(blame.at_fault().name, "s.unroll(C_i);");
  EXPECT_EQ(blame.refusal, "");
}

/// The pass fills the tile of A with zeros, but repeats the last rows of B in its tile. 0 times infinity is
/// NaN, so the pass must be blamed.
TEST(Blame, AFactorThatIsNotFilledIsTheFaultOfFillTails) {
  std::function<Stmt(const Stmt &)> unfilled = [&](const Stmt &stmt) {
    const auto *block = as<Block>(stmt);
    if (!block)
      return map_children(stmt, unfilled);
    Block copy = *block;
    const auto *read = copy.body.value.as<Load>();
    if (read && read->mask.exists() && read->buffer->name == "B")
      copy.body.value = load(read->buffer, {min(read->indices[0], read->buffer->shape[0] - 1),
                                            min(read->indices[1], read->buffer->shape[1] - 1)});
    return make_block(std::move(copy));
  };
  auto harm = [&](Unit &unit) { unit.program().body = unfilled(unit.program().body); };
  for (DType dtype : {DType::u32, DType::f32}) {
    Blame blame = blame_of(TiledGemm(7, 5, 11, {}, dtype).s, with_harm("fill_tails", harm));
    ASSERT_EQ(blame.fault.has_value(), dtype == DType::f32) << "other inputs are blind to it";
    if (!blame.fault)
      continue;
    EXPECT_EQ(blame.at_fault().name, "fill_tails");
    EXPECT_THAT(blame.fault->run, HasSubstr("infinities"));
  }
}

TEST(Blame, FloatingPointHasItsBound) {
  Schedule s(test::gemm(5, 6, 7, DType::f32));
  Schedule::Edit edit(s, {}, primitives::unroll, s.loop("i"));
  std::function<Stmt(const Stmt &)> scaled = [&](const Stmt &stmt) {
    const auto *block = as<Block>(stmt);
    if (!block || block->id->name != "C")
      return map_children(stmt, scaled);
    Block copy = *block;
    copy.body.value = copy.body.value * Expr(1.0001F);
    return make_block(std::move(copy));
  };
  edit.commit(scaled(edit.body()));
  Blame blame = blame_of(s);
  ASSERT_TRUE(blame.fault);
  EXPECT_EQ(blame.fault->step, 1U);
  EXPECT_EQ(blame.fault->run, "floating point");
  EXPECT_THAT(blame.fault->message, HasSubstr("bound"));
}

TEST(Blame, ARefusalOfLoweringIsNoFault) {
  Schedule s(test::gemm(5, 6, 7));
  s.set_scope(s.block("AB"), Scope::local);
  Blame blame = blame_of(s);
  EXPECT_FALSE(blame.fault);
  EXPECT_THAT(blame.refusal, HasSubstr("AB is in local memory, which does not outlive its kernel"));
  EXPECT_EQ(blame.steps.size(), 2U) << "the computation and one directive";
}

TEST(Blame, TriesShapesAndTypesUntilThereIsAFault) {
  Build build = [](const std::vector<std::int64_t> &shape, DType dtype) {
    if (shape[0] == 1)
      throw UserError(ExitCode::usage, "one row is not served");
    Schedule s(test::gemm(shape[0], shape[1], shape[2], dtype));
    if (shape[2] % 4 != 0 && dtype == DType::f32)
      test::broken_unroll(s, s.loop("i"));
    return s;
  };
  auto cases = find_blame(build, {{4, 4, 4}, {1, 2, 3}, {4, 4, 5}, {9, 9, 9}}, {DType::u32, DType::f32});
  ASSERT_EQ(cases.size(), 6U) << "nothing is run after the fault";
  EXPECT_EQ(cases[2].left_out, "one row is not served");
  EXPECT_FALSE(cases[4].blame.fault);
  ASSERT_TRUE(cases[5].blame.fault);
  EXPECT_EQ(replay_command("f.json", cases[5]), "nestsmith check f.json --each-step --shape 4x4x5 --dtype f32");
}

TEST(Blame, CasesAfterTheFirstAreThinnedOutAndSeldomLeftOut) {
  Build build = [](const std::vector<std::int64_t> &shape, DType dtype) {
    if (shape[0] == 1)
      throw UserError(ExitCode::usage, "one row is not served");
    return pipelined(shape[0], shape[1], shape[2], dtype);
  };
  auto cases = find_blame(build, {{1, 1, 1}, {3, 4, 5}, {5, 4, 3}}, {DType::u32}, {}, {.thinned = 0});
  EXPECT_EQ(cases[0].left_out, "one row is not served");
  EXPECT_EQ(cases[1].blame.steps_run(), cases[1].blame.steps.size()) << "the first that is served";
  EXPECT_LT(cases[2].blame.steps_run(), cases[2].blame.steps.size());
  cases = find_blame(build, {{3, 4, 5}, {9, 9, 9}}, {DType::u32}, {}, {.left_out = 10});
  EXPECT_EQ(cases[0].left_out, "") << "the first is always run";
  EXPECT_THAT(cases[1].left_out, HasSubstr("block instances"));
}

TEST(Blame, HostileShapesAreSmallAndUneven) {
  auto shapes = hostile_shapes({32, 32, 8});
  EXPECT_THAT(shapes, testing::Contains(std::vector<std::int64_t>{1, 1, 1}));
  EXPECT_THAT(shapes, testing::Contains(std::vector<std::int64_t>{33, 7, 9}));
  EXPECT_THAT(shapes, testing::Contains(std::vector<std::int64_t>{31, 33, 7}));
  EXPECT_THAT(shapes, testing::Contains(std::vector<std::int64_t>{28, 60, 28})) << "by fours, four tiles deep";
  EXPECT_THAT(shapes, testing::Contains(std::vector<std::int64_t>{30, 31, 25}));
  EXPECT_THAT(hostile_shapes({1, 64, 64, 16}),
              testing::IsSupersetOf(std::vector<std::vector<std::int64_t>>{{2, 60, 124, 52}, {1, 62, 63, 49}}));
  EXPECT_THAT(hostile_shapes({256}),
              testing::IsSupersetOf(std::vector<std::vector<std::int64_t>>{{772}, {769}}));
  EXPECT_THAT(hostile_shapes({1, 1, 1}), testing::Not(testing::Contains(testing::Contains(0))));
}

} // namespace
} // namespace nestsmith
