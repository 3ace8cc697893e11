/// Tests the order in which a search tries points.

#include "runtime/tune/search.h"

#include "tests/dsl/support.h"

#include <cmath>
#include <gmock/gmock.h>
#include <set>

namespace nestsmith::tune {
namespace {

using testing::ElementsAre;

/// Returns all points of four knobs with five values each.
std::vector<KnobValues> grid() {
  std::vector<KnobValues> points;
  for (int n = 0; n < 625; ++n) {
    KnobValues knobs;
    for (int digit = n, knob = 0; knob < 4; ++knob, digit /= 5)
      knobs[std::string(1, static_cast<char>('a' + knob))] = std::to_string(4 << (digit % 5));
    points.push_back(knobs);
  }
  return points;
}

/// Returns a time with one minimum, at a=16, b=32, c=8, d=64.
double time_of(const KnobValues &knobs) {
  double ms = 1;
  for (const auto &[name, best] : {std::pair{"a", 16}, {"b", 32}, {"c", 8}, {"d", 64}})
    ms *= 1 + 0.2 * std::abs(std::log2(std::stod(knobs.at(name)) / best));
  return ms;
}

TEST(Search, ProposesEachCandidateOnce) {
  for (SearchMethod way : {SearchMethod::exhaustive, SearchMethod::random, SearchMethod::learn}) {
    Search search(grid(), way, 1);
    std::set<std::size_t> seen;
    while (true) {
      std::vector<std::size_t> batch = search.propose(40);
      if (batch.empty())
        break;
      if (seen.empty()) {
        EXPECT_EQ(batch.front(), 0U) << "the default is tried first";
      }
      for (std::size_t candidate : batch) {
        EXPECT_TRUE(seen.insert(candidate).second);
        search.learn(candidate, time_of(search.candidate(candidate)));
      }
    }
    EXPECT_EQ(seen.size(), 625U);
  }
}

TEST(Search, KeepsOrderOrSeed) {
  EXPECT_THAT(Search(grid(), SearchMethod::exhaustive, 1).propose(4), ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(Search(grid(), SearchMethod::random, 5).propose(9),
            Search(grid(), SearchMethod::random, 5).propose(9));
  EXPECT_NE(Search(grid(), SearchMethod::random, 5).propose(9),
            Search(grid(), SearchMethod::random, 6).propose(9));
}

TEST(Search, TriesPredictedPointsFirst) {
  for (SearchMethod way : {SearchMethod::exhaustive, SearchMethod::random, SearchMethod::learn}) {
    Search search(grid(), way, 1);
    KnobValues other = {{"a", "1024"}};
    search.try_first(
        {search.candidate(40), other, search.candidate(7), search.candidate(40), search.candidate(0)});
    EXPECT_EQ(search.size(), 626U);
    EXPECT_EQ(search.candidate(625), other);
    EXPECT_THAT(search.propose(4), ElementsAre(0, 40, 625, 7)) << "after the default";
    std::set<std::size_t> seen = {0, 40, 625, 7};
    for (auto batch = search.propose(100); !batch.empty(); batch = search.propose(100))
      for (std::size_t candidate : batch)
        EXPECT_TRUE(seen.insert(candidate).second);
    EXPECT_EQ(seen.size(), 626U);
  }
  Search empty({}, SearchMethod::learn, 1);
  empty.try_first({{{"a", "1"}}});
  EXPECT_THAT(empty.propose(4), ElementsAre(0));
}

/// Returns the best time after 64 trials.
double best_after_64(SearchMethod way, std::uint64_t seed) {
  Search search(grid(), way, seed);
  for (int batch = 0; batch < 8; ++batch)
    for (std::size_t candidate : search.propose(8)) {
      bool refused = search.candidate(candidate).at("a") == "64"; // these points are illegal
      search.learn(candidate, refused ? std::nullopt : std::optional(time_of(search.candidate(candidate))));
    }
  return time_of(search.candidate(search.best().front()));
}

TEST(Search, FindsTheMinimumFromWhatItMeasured) {
  int found = 0, found_at_random = 0;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    found += best_after_64(SearchMethod::learn, seed) == 1;
    found_at_random += best_after_64(SearchMethod::random, seed) == 1;
  }
  EXPECT_EQ(found, 10);
  EXPECT_LE(found_at_random, 5) << "the space is too small to show anything";
}

TEST(Search, OfNothingAndOfRefusedPointsEnds) {
  EXPECT_TRUE(Search({}, SearchMethod::learn, 1).propose(8).empty());
  Search search(grid(), SearchMethod::learn, 1);
  std::size_t proposed = 0;
  for (auto batch = search.propose(50); !batch.empty(); batch = search.propose(50))
    for (std::size_t candidate : batch) {
      search.learn(candidate, std::nullopt);
      ++proposed;
    }
  EXPECT_EQ(proposed, 625U);
  EXPECT_TRUE(search.best().empty());
}

TEST(Search, ProposesNoMoreThanAsked) {
  for (SearchMethod way : {SearchMethod::exhaustive, SearchMethod::random, SearchMethod::learn}) {
    Search search(grid(), way, 1);
    for (std::size_t candidate : search.propose(20))
      search.learn(candidate, time_of(search.candidate(candidate)));
    EXPECT_TRUE(search.propose(0).empty());
    EXPECT_EQ(search.propose(1).size(), 1U);
  }
}

TEST(Search, ProposesAddedCandidates) {
  Search search({{{"a", "1"}}}, SearchMethod::learn, 1);
  EXPECT_THAT(search.propose(8), ElementsAre(0));
  EXPECT_TRUE(search.propose(8).empty());
  search.add({{"a", "2"}});
  search.add({{"a", "3"}});
  search.learn(1, 2.5);
  EXPECT_THAT(search.propose(8), ElementsAre(2)) << "the result of 1 is known";
  EXPECT_EQ(search.size(), 3U);
}

TEST(RankCorrelation, ComparesOrders) {
  EXPECT_DOUBLE_EQ(rank_correlation({1, 2, 3, 4}, {10, 20, 30, 1000}), 1);
  EXPECT_DOUBLE_EQ(rank_correlation({1, 2, 3, 4}, {4, 3, 2, 1}), -1);
  EXPECT_DOUBLE_EQ(rank_correlation({1, 1, 1}, {1, 2, 3}), 0);
  EXPECT_DOUBLE_EQ(rank_correlation({}, {}), 0);
  // The ranks are 0, 1.5, 1.5, 3 and 0, 1, 2, 3.
  EXPECT_NEAR(rank_correlation({1, 2, 2, 3}, {1, 2, 3, 4}), 4.5 / std::sqrt(4.5 * 5), 1e-12);
}

} // namespace
} // namespace nestsmith::tune
