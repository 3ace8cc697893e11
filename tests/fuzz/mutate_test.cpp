/// Tests the mutants of traces: many can be parsed, all are refused or exact, and every command ends.

#include "dsl/expr/error.h"
#include "dsl/schedule/trace.h"
#include "tests/fuzz/commands.h"
#include "tests/fuzz/json_parts.h"
#include "tests/fuzz/judge_all.h"
#include "tests/fuzz/mutate_json.h"
#include "tests/fuzz/mutate_traces.h"

#include <gmock/gmock.h>

namespace nestsmith::fuzz {
namespace {

constexpr const char *trace = R"({
  "nestsmith_trace": 2, "workload": "w", "dtype": "f32", "target": "sm_80", "shape": [9, 8],
  "computation": {
    "scalars": [{"name": "s", "dtype": "u32"}],
    "tensors": [{"name": "X", "dtype": "f32", "role": "input", "shape": [9, 8]}],
    "stages": [{"name": "Y", "axes": ["i"], "shape": [9], "sum": [{"name": "k", "extent": 8}],
                "value": ["*", ["load", "X", ["i", "k"], ["<", "k", "i"], ["f32", 0]], ["cast", "f32", "s"]]}],
    "outputs": [{"name": "Y"}]},
  "directives": [{"op": "split", "args": [{"loop": "i"}, [-1, 4]], "results": ["i_outer", "i_inner"]}]})";

std::vector<std::string> kinds_and_dtypes(const std::string &text) {
  llvm::json::Value root = *llvm::json::parse(text);
  std::vector<std::string> found;
  for (const Part &part : parts_of(root))
    found.push_back(part.kind + (part.dtype.empty() ? "" : ": " + part.dtype));
  return found;
}

TEST(Mutants, PartsHaveTheirKindsAndDtypes) {
  std::vector<std::string> found = kinds_and_dtypes(trace);
  EXPECT_THAT(found, testing::IsSupersetOf({"number", "tensor", "extent: i64", "stage", "expression: f32",
                                            "expression: bool", "expression: i64", "expression: u32",
                                            "operator", "output", "directives", "directive split"}));
}

TEST(Mutants, ASeedGivesOneMutantAndAnotherSeedAnother) {
  Donors donors;
  donors.add(trace);
  int different = 0;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    Random first(seed), again(seed), other(seed + 1);
    std::string text = mutate(trace, donors, first);
    EXPECT_EQ(text, mutate(trace, donors, again));
    different += text != mutate(trace, donors, other);
  }
  EXPECT_GT(different, 40);
}

TEST(Mutants, MoreThanAThirdAreComputations) {
  Donors donors;
  for (const std::string &text : {std::string(trace), trace_corpus().front(), trace_corpus().back()})
    donors.add(text);
  int read = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Random random(seed);
    try {
      parse_trace(mutate(trace, donors, random), "the test");
      ++read;
    } catch (const UserError &) { // a wrong dtype or an unknown name is refused
    }
  }
  EXPECT_GT(read, 66);
}

/// `nestsmith_fuzz --mutate-traces` judges more mutants.
TEST(Mutants, TwoHundredAreRefusedOrExact) {
  MutationOutcome outcome = mutate_traces({.first_seed = 1, .count = 200, .shrink = false});
  for (const Find &find : outcome.finds)
    ADD_FAILURE() << report(find);
  EXPECT_EQ(outcome.mutants, 200U);
  EXPECT_LT(outcome.not_read, 100U) << report(outcome);
  EXPECT_GT(outcome.of(Kind::exact), 30U) << report(outcome);
}

/// Runs every command on the unchanged trace, whose verdict must be exact. The commands start threads, which do
/// not exist in child processes, so this test is the last one.
TEST(Mutants, EveryCommandEndsOnASchedule) {
  prepare_commands();
  Case test_case = case_of(parse_trace(trace, "the test"), "the test");
  Schedule schedule(test_case.source, make_target(test_case.arch));
  for (const Directive &directive : test_case.directives)
    apply(schedule, directive, "the test");
  Verdict verdict =
      judge_all(test_case, schedule, {.random = true, .infinite = true, .everything = true, .report = true});
  EXPECT_EQ(verdict.kind, Kind::exact) << name(verdict.kind) << "\n" << verdict.message;
}

} // namespace
} // namespace nestsmith::fuzz
