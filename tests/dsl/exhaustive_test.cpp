/// Enumerates small worlds: each directive that can be written is refused or keeps the meaning.
/// tests/schedules/exhaustive_test.cpp lowers the schedules.

#include "tests/dsl/small_world.h"

namespace nestsmith {
namespace {

test::Sequences expect_all_keep_the_meaning(const Program &program, std::size_t depth, std::size_t at_least,
                                            test::Sample sample = test::Sample()) {
  std::vector<Array> expected = test::results_of(program);
  std::size_t schedules = 0;
  auto expect_meaning = [&](const Schedule &schedule) {
    ++schedules;
    if (auto what = test::difference(schedule.program(), expected))
      ADD_FAILURE() << *what << "\n" << test::trace_text(schedule) << print(schedule.program());
    for (const Obligation &owed : schedule.obligations())
      EXPECT_LE(owed.directive, schedule.trace().size()) << owed.message;
  };
  test::Sequences sequences = test::for_each_schedule(program, depth, expect_meaning, sample);
  EXPECT_GT(schedules, at_least);
  return sequences;
}

TEST(SmallWorld, ProductKeepsItsMeaning) { expect_all_keep_the_meaning(test::product(3, 5, 4), 2, 500); }
TEST(SmallWorld, GemmKeepsItsMeaning) { expect_all_keep_the_meaning(test::gemm(3, 5, 4), 2, 1000); }
TEST(SmallWorld, ProductOfOneElementKeepsItsMeaning) {
  expect_all_keep_the_meaning(test::product(1, 1, 1), 2, 300);
}
TEST(SmallWorld, ChainKeepsItsMeaning) { expect_all_keep_the_meaning(test::chain(3, 4), 2, 1000); }
TEST(SmallWorld, BroadcastKeepsItsMeaning) { expect_all_keep_the_meaning(test::broadcast(3, 2, 4), 2, 1000); }

/// Applies three directives to a product of 2 x 3 x 4. Their number grows with the cube of the primitives, so
/// of the sequences of three this test tries a random ninth: with those of one and two, 87,000 of 707,000 in
/// all. `nestsmith_fuzz --exhaustive 3` tries all.
TEST(SmallWorld, ThreeDirectivesKeepTheMeaning) {
  test::Sequences sequences = expect_all_keep_the_meaning(test::product(2, 3, 4), 3, 5000, test::Sample(9));
  EXPECT_GT(sequences.all, 500000U);
  EXPECT_NEAR(static_cast<double>(sequences.tried) / static_cast<double>(sequences.all), 1.0 / 9, 0.02);
}

} // namespace
} // namespace nestsmith
