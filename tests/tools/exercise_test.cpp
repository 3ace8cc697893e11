/// Tests the exercises: answers that solve them, answers that do not, and answers that cannot be read.

#include "tests/tools/run_binary.h"
#include "tools/exercises/directive_text.h"
#include "tools/exercises/exercise.h"

#include "dsl/expr/error.h"

#include <algorithm>

namespace nestsmith {
namespace {

using test::contains;
using test::nestsmith;
using test::parsed;
using test::Ran;

const Exercise &exercise_of(const std::string &name) {
  auto found = std::ranges::find(exercises(), name, &Exercise::name);
  EXPECT_NE(found, exercises().end());
  return *found;
}

ExerciseResult answer(const std::string &name, const std::string &text) {
  return exercise_of(name).judge(text);
}

std::string why_unread(const std::string &name, const std::string &text) {
  try {
    answer(name, text);
  } catch (const UserError &error) {
    EXPECT_EQ(error.code(), ExitCode::usage);
    return error.what();
  }
  return "accepted";
}

TEST(Exercises, EachHasATaskATextAndHints) {
  EXPECT_EQ(exercises().size(), 5U);
  for (const Exercise &exercise : exercises()) {
    EXPECT_FALSE(exercise.text().empty());
    EXPECT_GE(exercise.hints.size(), 2U);
    EXPECT_FALSE(exercise.judge(exercise.example).solved()) << exercise.name << ": the example gives it away";
  }
}

TEST(Exercises, AWarpAlongARowIsCounted) {
  EXPECT_TRUE(answer("row", "s.bind(j_thread, Axis::thread_x); s.bind(i_thread, Axis::thread_y);").solved());
  EXPECT_TRUE(answer("row", "bind(i_thread, threadIdx.y);bind(j_thread, threadIdx.x)").solved());
  EXPECT_TRUE(answer("row", "auto t = s.fuse(i_thread, j_thread); s.bind(t, thread_x);").solved());
  EXPECT_FALSE(answer("row", "s.bind(i_thread, threadIdx.x); s.bind(j_thread, threadIdx.x);").refused.empty());
  ExerciseResult column = answer("row", "s.bind(i_thread, Axis::thread_x); s.bind(j_thread, Axis::thread_y);");
  EXPECT_TRUE(column.wrong.empty());
  EXPECT_FALSE(column.solved());
  auto c = std::ranges::find(column.measured, "sectors of a request for a store of C", &Measured::what);
  ASSERT_NE(c, column.measured.end());
  EXPECT_EQ(c->got, 32);
  ExerciseResult half = answer("row", "s.bind(j_thread, Axis::thread_x);");
  EXPECT_FALSE(half.solved()) << "32 threads";
}

TEST(Exercises, OnlyTheBarrierWithoutHazardsIsNotNeeded) {
  int solved = 0;
  for (const char *number : {"1", "2", "3"}) {
    ExerciseResult result = answer("barrier", number);
    solved += result.solved();
    if (!result.solved()) {
      ASSERT_FALSE(result.wrong.empty());
      EXPECT_TRUE(contains(result.wrong[0], "lies between them")) << result.wrong[0];
    }
  }
  EXPECT_EQ(solved, 1);
  EXPECT_EQ(why_unread("barrier", "4"), "'4' is not the number of a barrier: expected a number from 1 to 3");
  EXPECT_EQ(why_unread("barrier", "first"),
            "'first' is not the number of a barrier: expected a number from 1 to 3");
  EXPECT_FALSE(contains(exercise_of("barrier").text(), "written above")) << "a comment gives it away";
}

TEST(Exercises, OneWavefrontByPaddingBySwizzleOrByAnotherLayout) {
  EXPECT_TRUE(answer("wavefront", "s.storage_align(B_shared, 0, 32, 1);").solved());
  EXPECT_TRUE(answer("wavefront", "s.swizzle(B_shared, 5, 0, 5)").solved());
  EXPECT_TRUE(answer("wavefront", "s.transform_layout(B_shared, \"j, k -> k, j\");").solved());
  ExerciseResult two = answer("wavefront", "s.storage_align(B_shared, 0, 32, 2);");
  EXPECT_FALSE(two.solved());
  EXPECT_TRUE(std::ranges::any_of(two.measured, [](const Measured &each) { return each.got == 2; }));
  EXPECT_FALSE(answer("wavefront", "").solved());
}

TEST(Exercises, TwoBlocksNeedHalfOfTheSharedMemory) {
  EXPECT_TRUE(answer("blocks", "64").solved());
  auto reached = [](const ExerciseResult &result) {
    std::vector<bool> all;
    for (const Measured &figure : result.measured)
      all.push_back(figure.reached);
    return all;
  };
  EXPECT_EQ(reached(answer("blocks", "128")), (std::vector{false, true}));
  EXPECT_EQ(reached(answer("blocks", "32")), (std::vector{true, false}));
  EXPECT_FALSE(answer("blocks", "0").refused.empty());
}

TEST(Exercises, AWaitIsAsWeakAsTheSimulatorAllows) {
  std::vector<std::string> solved;
  for (const char *pending : {"0", "1", "2", "3", "4"})
    if (ExerciseResult result = answer("wait", pending); result.solved())
      solved.emplace_back(pending);
  EXPECT_EQ(solved, (std::vector<std::string>{"2"}));
  ExerciseResult weak = answer("wait", "3");
  EXPECT_TRUE(
      std::ranges::any_of(weak.wrong, [](const std::string &each) { return contains(each, "in flight"); }));
  EXPECT_EQ(answer("wait", "0").measured[0].goal, "one more would also be right");
  EXPECT_EQ(why_unread("wait", "-1"),
            "'-1' is not a number of groups in flight: expected a number from 0 to 8");
  EXPECT_EQ(why_unread("wait", "1, 2"), "'1, 2' has more numbers than the kernel has waits: expected 1");
}

TEST(DirectiveText, NamesTheProblem) {
  EXPECT_TRUE(contains(why_unread("row", "s.bind(j_thread)"), "at ')': expected ','"));
  EXPECT_TRUE(contains(why_unread("row", "s.bnd(j_thread, threadIdx.x)"), "there is no primitive 'bnd'"));
  EXPECT_TRUE(contains(why_unread("row", "s.split(j_thread, {x})"), "expected an integer or infer"));
  EXPECT_TRUE(contains(why_unread("row", "s.bind(j_thread, threadIdx.x) s"), "at 's': expected ';'"));
  EXPECT_TRUE(
      contains(why_unread("wavefront", "s.transform_layout(B_shared, \"j"), "expected '\"' at the end"));
}

TEST(DirectiveText, ReadsWhatATracePrints) {
  std::vector<Directive> all = parse_directives("auto [a, b] = s.split(i, {infer, 32});\n s.reorder({a, "
                                                "b});s.pipeline(k, {{A_shared, 0, 0}, {AB, 1, 1}})");
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0],
            (Directive{"split", {LoopName{"i"}, std::vector<std::int64_t>{infer, 32}}, {}, {"a", "b"}}));
  EXPECT_EQ(all[1].arguments, (std::vector<Argument>{std::vector{LoopName{"a"}, LoopName{"b"}}}));
  EXPECT_EQ(std::get<std::vector<StageName>>(all[2].arguments[1])[1], (StageName{"AB", 1, 1}));
}

TEST(ExerciseCommand, ListsShowsAndJudges) {
  Ran list = nestsmith("exercise");
  EXPECT_EQ(list.code, 0);
  for (const Exercise &exercise : exercises())
    EXPECT_TRUE(contains(list.out, exercise.name + " ")) << exercise.name;
  EXPECT_TRUE(contains(nestsmith("exercise row").out, "\n____\n"));
  Ran wrong = nestsmith("exercise barrier 2");
  EXPECT_EQ(wrong.code, 1);
  EXPECT_TRUE(contains(wrong.out, "barrier: not yet"));
  Ran right = nestsmith("exercise blocks 64 --json");
  EXPECT_EQ(right.code, 0);
  EXPECT_EQ(parsed(right).getAsObject()->getBoolean("solved"), true);
}

TEST(ExerciseCommand, GivesHintsOneByOne) {
  EXPECT_TRUE(contains(nestsmith("exercise row --hint").out, "hint 1 of 3"));
  EXPECT_TRUE(contains(nestsmith("exercise row --hint=3").out, "hint 3 of 3"));
  Ran fourth = nestsmith("exercise row --hint=4");
  EXPECT_EQ(fourth.code, 2);
  EXPECT_TRUE(contains(fourth.err, "there is no hint '4' of the exercise row: expected a number from 1 to 3"));
  EXPECT_TRUE(contains(nestsmith("exercise --hint").err, "--hint needs the name of an exercise"));
  EXPECT_TRUE(contains(nestsmith("exercise row x --hint").err, "--hint and an answer exclude each other"));
}

TEST(ExerciseCommand, RefusesAnUnknownExercise) {
  Ran ran = nestsmith("exercise rows");
  EXPECT_EQ(ran.code, 2);
  EXPECT_TRUE(
      contains(ran.err, "there is no exercise 'rows'; `nestsmith exercise` lists them; did you mean 'row'"));
}

} // namespace
} // namespace nestsmith
