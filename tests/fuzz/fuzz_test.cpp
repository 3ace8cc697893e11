/// Judges 2000 random schedules. Each must be refused or give the exact result.

#include "dsl/expr/error.h"
#include "dsl/schedule/primitives/registry.h"
#include "dsl/schedule/trace.h"
#include "runtime/cuda/nvrtc.h"
#include "tests/dsl/support.h"
#include "tests/fuzz/campaign.h"
#include "tests/fuzz/exhaustive.h"
#include "tests/fuzz/isolated.h"
#include "tests/fuzz/shrink.h"
#include "tests/fuzz/wander.h"

#include <gmock/gmock.h>

namespace nestsmith::fuzz {
namespace {

bool nvrtc_is_here() {
  try {
    cuda::Nvrtc::get();
    return true;
  } catch (const UserError &) {
    return false;
  }
}

TEST(Fuzz, TwoThousandSchedulesAreRefusedOrExact) {
  Outcome outcome = run({.first_seed = 1, .count = 2000, .compile = 100});
  for (const Failure &failure : outcome.failures)
    ADD_FAILURE() << report(failure);
  const CampaignCounts &tally = outcome.tally;
  std::string figures = report(tally);
  EXPECT_EQ(tally.schedules, 2000U);
  EXPECT_GT(tally.of(Kind::exact), 1000U) << figures;
  for (std::uint64_t reached :
       {tally.shared, tally.pipeline, tally.vector, tally.narrow_vector, tally.several_kernels, tally.intrinsic,
        tally.warps, tally.fragment, tally.call})
    EXPECT_GT(reached, 10U) << figures;
  EXPECT_GT(tally.shared, 400U) << figures;
  EXPECT_GT(tally.infinite, 200U) << figures;
  EXPECT_GE(tally.compiled(), nvrtc_is_here() ? 10U : 0U) << figures;
  const std::vector<Primitive> &primitives = all_primitives();
  ASSERT_LE(primitives.size(), CampaignCounts::most_primitives);
  for (std::size_t n = 0; n < primitives.size(); ++n)
    EXPECT_GT(tally.took_part[n], 5U) << primitives[n].name << " takes no part\n" << figures;
}

/// The third directive is appended to every eighth schedule of two directives. `nestsmith_fuzz --exhaustive 3`
/// appends it to all.
TEST(SmallWorld, ThreeDirectivesAreRefusedOrExact) {
  SmallWorld world = try_small_world(3, 8);
  for (const std::string &fault : world.faults)
    ADD_FAILURE() << fault;
  EXPECT_EQ(world.exact + world.owing, world.programs);
  EXPECT_GT(world.sequences, 25000U);
  EXPECT_GT(world.exact, 4000U);
}

/// Past the end of l, the copy of E is 0, and P sums products of elements of A and 0, which are NaN if an
/// element of A is infinite. So the sum in D must keep its guard, and the runs with infinities must be exact.
TEST(Judge, SeesASumThatReadsWhatInfinitiesMakeANaN) {
  const auto computation = std::ranges::find(computations(), "two_products", &Computation::name);
  const Shape shape{5, 7, 3};
  Schedule s(computation->make(shape, DType::f32));
  auto P = s.block("P"), D = s.block("D");
  s.set_scope(P, Scope::local);
  Loop l = s.loops(D).back();
  auto [l_outer, l_inner] = s.split(l, {infer, 4});
  s.compute_at(s.cache_read(D, "E", Scope::local), l_outer);
  s.compute_at(P, l_outer);
  s.compute_at(s.cache_read(P, "B", Scope::local), s.loops(P).back());
  Verdict verdict = judge(s, shape, {.infinite = true});
  EXPECT_EQ(verdict.kind, Kind::exact) << name(verdict.kind) << "\n" << verdict.message;
  EXPECT_TRUE(verdict.infinite);
  EXPECT_FALSE(judge(s, shape).infinite);
}

/// The arguments of a primitive are drawn by their kinds: it gets those that it takes.
TEST(Fuzz, DrawsTheArgumentsOfEveryPrimitive) {
  Random random(1);
  for (const Primitive &primitive : all_primitives())
    for (int n = 0; n < 20; ++n) {
      Schedule s(test::gemm(4, 4, 4));
      Directive directive = directive_of(primitive, s, random);
      EXPECT_EQ(directive.op, primitive.name);
      EXPECT_EQ(directive.arguments.size(), primitive.count) << primitive.name;
      try {
        apply(s, directive, "the test");
      } catch (const UserError &error) { // a refusal is expected, an argument of a wrong kind is not
        EXPECT_EQ(error.code(), ExitCode::illegal_schedule) << error.what();
      }
    }
}

TEST(Fuzz, ASeedGivesOneSchedule) {
  for (std::uint64_t seed : {7, 70, 700}) {
    Draft first = draft(seed), second = draft(seed);
    EXPECT_EQ(to_json(trace_of(first.setting)), to_json(trace_of(second.setting)));
    EXPECT_LE(first.schedule.trace().size(), most_directives_for_warps);
  }
}

TEST(Fuzz, WhatCrashesOrHangsIsToldFromWhatDoesNot) {
  Ending good = isolated([] {});
  EXPECT_FALSE(good.crashed || good.hung);
  Ending crashed = isolated([] { internal_error("on purpose"); });
  EXPECT_TRUE(crashed.crashed);
  EXPECT_THAT(crashed.said, testing::HasSubstr("on purpose"));
}

} // namespace
} // namespace nestsmith::fuzz
