/// Tests the points of a space: legal points, removed points with their reasons, predictions and pruning.

#include "runtime/tune/space.h"

#include "dsl/expr/error.h"
#include "lowering/lower.h"
#include "tests/dsl/support.h"

#include <gmock/gmock.h>

namespace nestsmith::tune {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

/// Computes a row of `product` per block, with the columns on threads. 4096 threads are refused before the
/// second knob is read, so there are 7 points. All points with vectors are refused.
Built rows(Knobs &knobs) {
  Schedule s(test::product(64, 64, 32, DType::f32));
  auto [i, j, k] = s.loops<3>(s.block("C"));
  s.bind(i, Axis::block_x);
  std::int64_t threads = knobs.choose("threads", std::vector<std::int64_t>{64, 32, 16, 4096});
  auto [j_outer, j_inner] = s.split(j, {infer, threads});
  s.bind(j_inner, Axis::thread_x);
  if (knobs.flag("vectors"))
    s.vectorize(j_outer);
  return {s.program(), lower(s)};
}

bool go_on(std::size_t) { return true; }
std::vector<KernelResources> no_compiler(const kernel::Plan &) { return {}; }

std::vector<std::string> names(const Space &space) {
  std::vector<std::string> texts;
  for (const Point &point : space.points)
    texts.push_back(to_string(point.knobs));
  return texts;
}

TEST(TuneSpace, CountsLegalAndRemovedPoints) {
  Space space = enumerate(rows, {}, 100, go_on);
  EXPECT_TRUE(space.complete);
  EXPECT_EQ(space.tried(), 7);
  EXPECT_THAT(names(space), ElementsAre("threads=64, vectors=false", "threads=32, vectors=false",
                                        "threads=16, vectors=false"));
  EXPECT_EQ(space.knobs.size(), 2U);
  std::int64_t removed = 0;
  for (const auto &[reason, count] : space.removed) {
    EXPECT_THAT(reason, testing::Not(IsEmpty()));
    removed += count;
  }
  EXPECT_EQ(removed, 4);
}

TEST(TuneSpace, ListsTheCandidatesOfAllPoints) {
  auto dependent = [](Knobs &knobs) {
    bool wide = knobs.flag("wide");
    knobs.choose("columns", wide ? std::vector<std::int64_t>{8, 16} : std::vector<std::int64_t>{4, 8});
    Knobs rest(KnobValues{{"threads", "64"}});
    return rows(rest);
  };
  Space space = enumerate(dependent, {}, 100, go_on);
  ASSERT_EQ(space.knobs.size(), 2U);
  EXPECT_THAT(space.knobs[1].candidates, ElementsAre("4", "8", "16"));
}

TEST(TuneSpace, KeepsFixedKnobs) {
  Space space = enumerate(rows, {{"vectors", "false"}}, 100, go_on);
  EXPECT_EQ(space.tried(), 4);
  EXPECT_THAT(names(sample(rows, {{"threads", "32"}, {"vectors", "false"}}, 10, 1, go_on)),
              ElementsAre("threads=32, vectors=false"));
}

TEST(TuneSpace, ObeysLimits) {
  Space first = enumerate(rows, {}, 2, go_on);
  EXPECT_EQ(first.tried(), 2);
  EXPECT_FALSE(first.complete);
  Space stopped = enumerate(rows, {}, 100, [](std::size_t done) { return done < 3; });
  EXPECT_EQ(stopped.tried(), 3);
  EXPECT_FALSE(stopped.complete);
}

TEST(TuneSpace, EstimatesTheNumberOfPoints) {
  EXPECT_GE(estimated_points(rows, {}), static_cast<double>(enumerate(rows, {}, 100, go_on).tried()));
  EXPECT_EQ(estimated_points(rows, {{"threads", "32"}, {"vectors", "false"}}), 1);
}

TEST(TuneSpace, SamplesReproducibly) {
  Space one = sample(rows, {}, 5, 7, go_on), again = sample(rows, {}, 5, 7, go_on);
  EXPECT_EQ(one.tried(), 5);
  EXPECT_EQ(names(one), names(again));
  EXPECT_EQ(names(one).front(), "threads=64, vectors=false") << "the default point is first";
  EXPECT_EQ(sample(rows, {}, 1000, 7, go_on).tried(), 7) << "all points of a small space";
}

TEST(TuneSpace, ThinsOutReproducibly) {
  Space space = enumerate(rows, {}, 100, go_on), again = space;
  thin_out(space, 2, 3);
  thin_out(again, 2, 3);
  EXPECT_EQ(space.points.size(), 2U);
  EXPECT_EQ(names(space), names(again));
  EXPECT_EQ(names(space).front(), "threads=64, vectors=false");
  thin_out(space, 5, 3);
  EXPECT_EQ(space.points.size(), 2U);
  const Space all = enumerate(rows, {}, 100, go_on);
  for (std::size_t n : {1U, 2U}) {
    Space part = all;
    thin_out(part, 2, 3, {all.points[n].knobs});
    EXPECT_THAT(names(part), ElementsAre(names(all)[0], names(all)[n])) << "a wanted one is kept";
  }
}

TEST(TuneSpace, AddsTheLegalNeighboursOfAPoint) {
  Space space = enumerate(rows, {}, 1, go_on);
  KnobValues point = space.points.front().knobs;
  std::vector<std::string> added;
  for (const KnobValues &knobs : add_neighbours(space, rows, {}, point))
    added.push_back(to_string(knobs));
  EXPECT_THAT(added, ElementsAre("threads=32, vectors=false", "threads=16, vectors=false"));
  EXPECT_EQ(space.points.size(), 3U);
  EXPECT_TRUE(add_neighbours(space, rows, {}, point).empty()) << "the space has them";
  Space fixed = enumerate(rows, {}, 1, go_on);
  EXPECT_TRUE(add_neighbours(fixed, rows, {{"threads", "64"}}, point).empty());
}

TEST(TuneSpace, JoinsReasonsThatDifferInNumbers) {
  auto build = [](Knobs &knobs) -> Built {
    std::int64_t kib = knobs.choose("kib", std::vector<std::int64_t>{1, 2, 3});
    throw UserError(ExitCode::usage, std::to_string(kib) + " KiB do not fit sm_80; use fewer");
  };
  EXPECT_THAT(enumerate(build, {}, 10, go_on).removed, ElementsAre(Pair("N KiB do not fit sm_80", 3)));
}

TEST(TuneSpace, IsSortedByThePrediction) {
  Space space = enumerate(rows, {}, 100, go_on);
  std::vector<std::size_t> done;
  predict(space, rows, find_gpu("H200"), no_compiler, 2, [&](std::size_t n) {
    done.push_back(n);
    return true;
  });
  EXPECT_THAT(done, ElementsAre(1, 2, 3));
  ASSERT_EQ(space.points.size(), 3U);
  for (std::size_t n = 0; n < 3; ++n) {
    ASSERT_TRUE(space.points[n].prediction);
    EXPECT_GT(space.points[n].prediction->seconds, 0);
    EXPECT_FALSE(space.points[n].prediction->registers) << "there is no compiler";
    if (n > 0) {
      EXPECT_GE(space.points[n].prediction->seconds, space.points[n - 1].prediction->seconds);
    }
  }
}

TEST(TuneSpace, RemovesPointsThatThePredictionRefuses) {
  Space space = enumerate(rows, {}, 100, go_on);
  Gpu small = find_gpu("H200");
  auto hungry = [](const kernel::Plan &plan) {
    KernelResources resources;
    resources.registers = 255;
    resources.spill_loads = plan.kernels.front().threads() == 32 ? 64 : 0;
    return std::vector<KernelResources>(plan.kernels.size(), resources);
  };
  predict(space, rows, small, hungry, 1, go_on);
  prune(space, {.max_spilled_bytes = 0});
  EXPECT_THAT(space.removed, testing::Contains(Pair("registers spill (more than 0 bytes)", 1)));
  EXPECT_EQ(space.tried(), 7);
  prune(space, {.max_spilled_bytes = 0, .max_slowdown = 0.5});
  EXPECT_THAT(names(space), IsEmpty());
  EXPECT_THAT(space.removed, testing::Contains(Pair("predicted at more than 0.5 times the least time", 2)));
  prune(space, {});
  EXPECT_EQ(space.tried(), 7);
}

} // namespace
} // namespace nestsmith::tune
