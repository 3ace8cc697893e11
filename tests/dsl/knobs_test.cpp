/// Tests knobs: candidates, values, refusals, and the enumeration of a space.

#include "dsl/schedule/knobs.h"

#include "dsl/schedule/trace.h"
#include "tests/dsl/support.h"

#include <gmock/gmock.h>
#include <set>

namespace nestsmith {
namespace {

using test::expect_user_error;
using testing::ElementsAre;
using testing::Pair;

using Names = std::vector<std::string>;
using Numbers = std::vector<std::int64_t>;

TEST(Knobs, HaveTheirFirstCandidateByDefault) {
  Knobs knobs;
  EXPECT_EQ(knobs.choose("bk", Numbers{8, 16, 32}), 8);
  EXPECT_EQ(knobs.choose("order", Names{"i j", "j i"}), "i j");
  EXPECT_FALSE(knobs.flag("zigzag"));
  EXPECT_TRUE(knobs.flag("vectors", true));
  EXPECT_EQ(knobs.factors("warps", {4, 2}), (Numbers{4, 2}));
  EXPECT_EQ(to_string(knobs.chosen()), "bk=8, order=i j, vectors=true, warps=4x2, zigzag=false");
}

TEST(Knobs, HaveTheGivenValues) {
  Knobs knobs(parse_knobs("bk=32, order=j i,zigzag=true,vectors=false,warps=1x8"));
  EXPECT_EQ(knobs.choose("bk", Numbers{8, 16, 32}), 32);
  EXPECT_EQ(knobs.choose("order", Names{"i j", "j i"}), "j i");
  EXPECT_TRUE(knobs.flag("zigzag"));
  EXPECT_FALSE(knobs.flag("vectors", true));
  EXPECT_EQ(knobs.factors("warps", {4, 2}), (Numbers{1, 8}));
  EXPECT_NO_THROW(knobs.refuse_unknown());
}

TEST(Knobs, HavePreferredDefaultsThatAreCandidates) {
  Knobs knobs(parse_knobs("bk=32"));
  knobs.prefer(parse_knobs("bk=8,order=j i,zigzag=true,blocks=7,absent=1"));
  EXPECT_EQ(knobs.choose("bk", Numbers{8, 16, 32}), 32);
  EXPECT_EQ(knobs.choose("order", Names{"i j", "j i"}), "j i");
  EXPECT_TRUE(knobs.flag("zigzag"));
  EXPECT_EQ(knobs.choose("blocks", Numbers{3, 4}), 3);
  EXPECT_NO_THROW(knobs.refuse_unknown());
}

TEST(Knobs, OfTheSameNameAreOneChoice) {
  Knobs knobs(KnobValues{{"bk", "16"}});
  EXPECT_EQ(knobs.choose("bk", Numbers{8, 16}), 16);
  EXPECT_EQ(knobs.choose("bk", Numbers{8, 16}), 16);
  EXPECT_EQ(knobs.asked().size(), 1U);
  expect_user_error(
      [&] {
        knobs.choose("bk", Numbers{4, 16});
      },
      ExitCode::usage, "the knob 'bk' was asked for with the candidates 8, 16, and now with 4, 16");
}

TEST(Knobs, OfFactorsAreAllListsWithTheProduct) {
  Knobs knobs;
  knobs.factors("tile", {2, 4}, 8);
  knobs.factors("three", {1, 1, 5});
  EXPECT_THAT(knobs.asked()[0].candidates, ElementsAre("2x4", "1x8", "4x2", "8x1"));
  EXPECT_THAT(knobs.asked()[1].candidates, ElementsAre("1x1x5", "1x5x1", "5x1x1"));
  Knobs narrow;
  narrow.factors("tile", {2, 4}, 4);
  EXPECT_THAT(narrow.asked()[0].candidates, ElementsAre("2x4", "4x2"));
}

TEST(Knobs, OfFactorsAreListedForLargeProducts) {
  Knobs knobs;
  constexpr std::int64_t large = std::int64_t{1} << 39, prime = 1099511627689; // the largest prime below 2^40
  knobs.factors("tile", {large, 2});
  EXPECT_EQ(knobs.asked()[0].candidates.size(), 41U);
  knobs.factors("prime", {prime, 1});
  EXPECT_THAT(knobs.asked()[1].candidates, ElementsAre("1099511627689x1", "1x1099511627689"));
  EXPECT_EQ(Knobs(parse_knobs("prime=1x1099511627689")).factors("prime", {prime, 1}), (Numbers{1, prime}));
}

TEST(Knobs, OfFactorsHaveALimit) {
  Knobs knobs;
  auto refused = [&](const Numbers &usual, const char *message) {
    expect_user_error([&] { knobs.factors("tile", usual); }, ExitCode::usage, message);
  };
  refused({std::int64_t{1} << 40, 2}, "the knob 'tile' factors 2199023255552, expected at most 2^40");
  refused({INT64_MAX}, "the knob 'tile' factors 9223372036854775807, expected at most 2^40");
  refused({1 << 20, 1 << 20, 1, 1, 1, 1, 1, 1, 1},
          "the knob 'tile' factors 1099511627776 into 9 factors in more than 65536 ways; use fewer factors, or "
          "smaller ones");
  refused(Numbers(65, 1), "the knob 'tile' has 65 factors, expected at most 64");
  EXPECT_EQ(knobs.factors("ones", Numbers(64, 1)), Numbers(64, 1));
}

TEST(Knobs, RefuseWhatIsNoChoice) {
  auto refused = [](const char *values, const char *message) {
    expect_user_error(
        [&] {
          Knobs knobs(parse_knobs(values));
          knobs.choose("bk", Numbers{8, 16});
          knobs.refuse_unknown();
        },
        ExitCode::usage, message);
  };
  refused("bk=12", "the knob 'bk' is '12', expected one of 8, 16");
  refused("bn=8", "the schedule has no knob 'bn', expected one of bk");
  refused("bk", "'bk' does not set a knob, expected NAME=VALUE, such as bk=16");
  refused("=8", "'=8' does not set a knob");
  refused("", "'' does not set a knob");
  refused("bk=8,bk=16", "the knob 'bk' is set twice");
  Knobs knobs;
  expect_user_error([&] { knobs.choose("none", Numbers{}); }, ExitCode::usage,
                    "the knob 'none' has no candidates, expected at least one");
  expect_user_error(
      [&] {
        knobs.choose("twice", Numbers{1, 1});
      },
      ExitCode::usage, "the knob 'twice' has a candidate twice: 1, 1");
  expect_user_error(
      [&] {
        knobs.choose("order", std::vector<std::string>{"i, j", "j i"});
      },
      ExitCode::usage,
      "the knob 'order' has the candidate 'i, j', which --set cannot name, because a comma ends a value");
  expect_user_error([&] { knobs.flag("a b"); }, ExitCode::usage, "a b");
  expect_user_error(
      [&] {
        knobs.factors("tile", {4, 0});
      },
      ExitCode::usage, "the knob 'tile' has the factors 4x0, expected factors from 1 to");
  expect_user_error([&] { knobs.factors("tile", {INT64_MAX, 2}); }, ExitCode::usage, "the knob 'tile'");
  expect_user_error([&] { knobs.factors("tile", {}); }, ExitCode::usage, "the knob 'tile' has no candidates");
  expect_user_error(
      [] {
        Knobs(KnobValues{{"bk", "8"}}).refuse_unknown();
      },
      ExitCode::usage, "the schedule has no knob 'bk'; it has no knobs");
}

/// Enumerates a space whose second knob exists only for one value of the first.
std::vector<std::string> points_of_a_dependent_space(const KnobValues &fixed = {}) {
  std::vector<std::string> points;
  for (KnobSpace space(fixed); space.has_point();) {
    Knobs knobs = space.point();
    if (knobs.choose("a", Numbers{1, 2, 3}) == 2)
      knobs.flag("b");
    points.push_back(to_string(knobs.chosen()));
    space.advance(knobs);
  }
  return points;
}

TEST(KnobSpace, HasEachPointOnce) {
  EXPECT_THAT(points_of_a_dependent_space(), ElementsAre("a=1", "a=2, b=false", "a=2, b=true", "a=3"));
  EXPECT_THAT(points_of_a_dependent_space({{"b", "true"}}), ElementsAre("a=1", "a=2, b=true", "a=3"));
  EXPECT_THAT(points_of_a_dependent_space({{"a", "2"}}), ElementsAre("a=2, b=false", "a=2, b=true"));
}

TEST(KnobSpace, OfNoKnobsHasOnePoint) {
  int points = 0;
  for (KnobSpace space; space.has_point(); ++points)
    space.advance(space.point());
  EXPECT_EQ(points, 1);
}

TEST(Knobs, OfOneSeedAreTheSame) {
  std::set<std::string> points;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    std::string first;
    for (int repeat = 0; repeat < 2; ++repeat) {
      Knobs knobs = Knobs::random(seed, {{"c", "false"}});
      knobs.choose("a", Numbers{1, 2, 3});
      knobs.choose("b", Numbers{1, 2, 3});
      EXPECT_FALSE(knobs.flag("c"));
      std::string point = to_string(knobs.chosen());
      EXPECT_TRUE(first.empty() || point == first);
      first = point;
    }
    points.insert(first);
  }
  EXPECT_EQ(points.size(), 9U);
}

TEST(Knobs, AreRecordedInTheTrace) {
  Knobs knobs;
  Schedule s(test::gemm(7, 5, 9));
  s.split(s.loop("k"), {infer, knobs.choose("bk", Numbers{4, 8})});
  std::string json = to_json(trace_file(s, {7, 5, 9}, DType::u32, knobs.chosen()));
  EXPECT_THAT(json, testing::HasSubstr("\"knobs\": {\n    \"bk\": \"4\"\n  }"));
  EXPECT_THAT(parse_trace(json, "t.json").knobs, ElementsAre(Pair("bk", "4")));
  EXPECT_EQ(to_json(parse_trace(json, "t.json")), json);
  auto damaged = [&](const std::string &by) {
    std::string text = json;
    std::string part = "{\n    \"bk\": \"4\"\n  }";
    return text.replace(text.find(part), part.size(), by);
  };
  expect_user_error([&] { parse_trace(damaged("[]"), "t.json"); }, ExitCode::usage,
                    "its 'knobs' is not an object");
  expect_user_error([&] { parse_trace(damaged("{\"bk\": 4}"), "t.json"); }, ExitCode::usage,
                    "the value of the knob 'bk' is not a string");
}

} // namespace
} // namespace nestsmith
