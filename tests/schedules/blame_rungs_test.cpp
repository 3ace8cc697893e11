/// Tests `check RUNG --each-step` on the rungs of nestsmith: which steps are run, and which step is named.

#include "dsl/schedule/trace.h"
#include "runtime/check/blame.h"
#include "schedules/rung.h"
#include "tests/runtime/check/broken_passes.h"
#include "tests/schedules/rung.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>

namespace nestsmith {
namespace {

using testing::Contains;

Build build_of(const Rung &rung) {
  return [&rung](const std::vector<std::int64_t> &extents, DType dtype) {
    return rung.build(Shape(extents), rung.dtype(dtype), Target{});
  };
}

/// No case of any rung may be left out because of its time. The longest rung takes about 90 s in the
/// interpreter.
TEST(BlameOfRungs, RunsEveryCaseOfEveryRung) {
  for (const Rung &rung : builtin_rungs()) {
    double sum = 0;
    for (const auto &extents : hostile_shapes(rung.tile))
      for (DType dtype : {DType::u32, DType::f32}) {
        Schedule schedule = build_of(rung)(extents, dtype);
        BlameOptions options{.extents = extents};
        double least = least_instances(schedule, options), all = interpreted_instances(schedule, options);
        EXPECT_LT(least, CaseLimits{}.left_out) << rung.full_name() << " " << fmt::format("{}", extents);
        sum += sum == 0 ? all : std::min(all, std::max(least, CaseLimits{}.thinned));
      }
    EXPECT_LT(sum, 7e8) << rung.full_name();
  }
}

/// Two rungs, with tiles of 128 x 128 x 8 and of 16 x 16 x 16, run in each mode at each kind of shape. For the
/// expensive cases, some directives are left out.
TEST(BlameOfRungs, RunsEachShapeInRingModeIntegerModeAndFloatingPoint) {
  for (const auto &[name, shapes] : std::vector<std::pair<std::string, std::vector<std::vector<std::int64_t>>>>{
           {"ladder/warps", {{1, 1, 1}}}, {"transposed/shared", {{13, 7, 5}, {15, 17, 15}}}}) {
    const Rung &rung = test::rung(name);
    EXPECT_THAT(hostile_shapes(rung.tile), testing::IsSupersetOf(shapes));
    auto cases = find_blame(build_of(rung), shapes, {DType::u32, DType::f32}, {.most_instances = 0});
    ASSERT_EQ(cases.size(), 2 * shapes.size());
    for (std::size_t n = 0; n < cases.size(); ++n) {
      const Blame &blame = cases[n].blame;
      EXPECT_EQ(cases[n].extents, shapes[n / 2]);
      EXPECT_EQ(cases[n].dtype, n % 2 == 0 ? DType::u32 : DType::f32);
      EXPECT_EQ(cases[n].left_out, "");
      EXPECT_FALSE(blame.fault) << to_string(blame);
      EXPECT_EQ(blame.steps.back().name, "share_values");
      EXPECT_LT(blame.steps_run(), blame.steps.size());
      if (cases[n].dtype == DType::u32)
        EXPECT_THAT(blame.runs, Contains("ring mode"));
      else
        EXPECT_THAT(blame.runs,
                    testing::IsSupersetOf({"integer mode", "floating point", "infinities, 1 of 2"}));
    }
  }
}

/// Before the pass that inserts barriers, the steps of a kernel with roles have barriers of the roles.
TEST(BlameOfRungs, RunsNestsWithRoles) {
  for (const char *name : {"hopper/tma", "hopper/stores"}) {
    const Rung &rung = test::rung(name);
    auto build = [&](const std::vector<std::int64_t> &extents, DType dtype) {
      return rung.build(Shape(extents), rung.dtype(dtype), make_target("sm_90a"));
    };
    for (const BlamedCase &blamed : find_blame(build, {{65, 64, 64}}, {DType::u32}, {.most_instances = 0}))
      EXPECT_FALSE(blamed.blame.fault) << name << "\n" << to_string(blamed.blame);
  }
}

/// The fragments of two steps are in registers: the array has a dimension before those of the layout.
TEST(BlameOfRungs, RunsFragmentsOfIterationsInFlight) {
  for (const char *name : {"tensor/ahead", "tensor/nt"}) {
    const Rung &rung = test::rung(name);
    auto build = [&](const std::vector<std::int64_t> &extents, DType dtype) {
      return rung.build(Shape(extents), rung.dtype(dtype), Target{});
    };
    for (const BlamedCase &blamed : find_blame(build, {{16, 8, 32}}, {DType::f16}, {.most_instances = 0}))
      EXPECT_FALSE(blamed.blame.fault) << name << "\n" << to_string(blamed.blame);
  }
}

/// If the wrong directive was left out, it must be named, and not the next one that was run.
TEST(BlameOfRungs, NamesADirectiveThatWasLeftOut) {
  Schedule right = test::rung("ladder/warps").build({1, 1, 1}, DType::u32, Target{});
  constexpr std::size_t before = 9;
  Schedule s(right.source());
  for (std::size_t n = 0; n < right.trace().size(); ++n) {
    if (n == before)
      test::broken_unroll(s, s.loops(s.block("C")).front());
    apply(s, right.trace()[n], "the rung");
  }
  std::vector<std::string> told;
  BlameOptions options{.most_instances = 0};
  options.about_to_run = [&](const BlamedStep &step) { told.push_back(step.name); };
  Blame blame = find_blame(s, options);
  ASSERT_TRUE(blame.fault);
  EXPECT_EQ(blame.fault->step, before + 1);
  EXPECT_THAT(blame.at_fault().name, testing::StartsWith("s.unroll("));
  EXPECT_EQ(blame.fault->run, "ring mode");
  ASSERT_GE(told.size(), 3U);
  EXPECT_EQ(told[1], "fill_tails") << "what was wrong first";
  EXPECT_EQ(told.back(), blame.at_fault().name) << "then it went back";
}

} // namespace
} // namespace nestsmith
