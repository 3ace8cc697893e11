/// Tests that answers of index arithmetic are collected, and refuted if they are false. nestsmith_prove, which
/// the tests run, proves the answers about the rungs.

#include "dsl/hardware/vector_access.h"
#include "tests/proofs/rungs.h"

#include <gtest/gtest.h>
#include <set>

namespace nestsmith::proofs {
namespace {

TEST(AnswersTest, AreCollectedOnce) {
  Var i = make_var("i"), j = make_var("j");
  Bounds bounds;
  bounds.set(i, {0, 31});
  bounds.set(j, {0, 31});
  Answers answers;
  simplify(floordiv(Expr(i), 32), bounds);
  simplify(floordiv(Expr(j), 32), bounds);
  EXPECT_TRUE(proves(Expr(i) < 32, bounds));
  EXPECT_TRUE(is_multiple(Expr(i) * 4, 4, bounds));
  (void)range_of(Expr(i) + 1, bounds);
  std::vector<std::string> texts;
  for (const Answer &answer : answers.all())
    texts.push_back(to_string(answer));
  EXPECT_EQ(answers.given(), 5);
  EXPECT_EQ(texts.size(), 4U) << testing::PrintToString(texts);
}

Answer answer(Answer::Kind kind, const Expr &question, const Expr &result, const Var &var, Range range) {
  Answer made{kind, question, result, {0, 0}, 1, {}};
  made.known[var].range = range;
  return made;
}

TEST(AnswersThatAreFalse, AreRefutedWithNumbers) {
  Var i = make_var("i");
  using Kind = Answer::Kind;
  EXPECT_EQ(to_string(prove(answer(Kind::simplified, floormod(Expr(i), 8), i, i, {0, 8}))),
            "refuted by i = 8, quotient1 = 1");
  EXPECT_EQ(to_string(prove(answer(Kind::condition, Expr(i) < 8, boolean(true), i, {0, 8}))),
            "refuted by i = 8");
  EXPECT_EQ(to_string(prove(answer(Kind::at_most, Expr(i) * 2, Expr(15), i, {0, 8}))), "refuted by i = 8");
  Answer bounded = answer(Kind::bounded, Expr(i) - 3, {}, i, {0, 8});
  bounded.range = {-2, 5};
  EXPECT_EQ(to_string(prove(bounded)), "refuted by i = 0");
  Answer multiple = answer(Kind::multiple, Expr(i) * 6, {}, i, {1, 1});
  multiple.factor = 4;
  EXPECT_FALSE(prove(multiple).proved());
}

/// Fuses loops over `rows` and `columns`, which are known only at launch. The row and the column of the fused
/// loop must be proved to be in bounds.
TEST(AnswersTest, OfFusedLoopsOfSizesAreProved) {
  Var rows = make_size("rows", {.max = 1 << 15}), columns = make_size("columns", {.max = 1 << 15}),
      i = make_var("i");
  auto holds = [&](const Expr &condition) {
    Answer made = answer(Answer::Kind::condition, condition, boolean(true), i, {0, (1 << 30) - 1});
    made.known[i].extent = Expr(rows) * columns;
    made.known[rows] = made.known[columns] = {};
    return prove(made).proved();
  };
  EXPECT_TRUE(holds(floordiv(Expr(i), columns) < Expr(rows)));
  EXPECT_TRUE(holds(floormod(Expr(i), columns) < Expr(columns)));
  EXPECT_FALSE(holds(floordiv(Expr(i), columns) < Expr(rows) - 1));
  EXPECT_FALSE(holds(floordiv(Expr(i), rows) < Expr(rows)));
}

/// Products of a digit and a size, such as in the offset of an element that a lane holds.
TEST(AnswersTest, OfDigitsTimesASizeAreProved) {
  Var size = make_size("size", {.max = 1 << 15}), tid = make_var("tid");
  auto holds = [&](const Expr &condition) {
    Answer made = answer(Answer::Kind::condition, condition, boolean(true), tid, {0, 255});
    made.known[size] = {};
    return prove(made).proved();
  };
  Expr row = floordiv(floormod(Expr(tid), 32), 4);
  EXPECT_TRUE(holds(equal(row * size, floormod(floordiv(Expr(tid), 4), 8) * size)));
  EXPECT_TRUE(holds(Expr(0) <= row * size));
  EXPECT_TRUE(holds(row * size <= Expr(size) * 7));
  EXPECT_FALSE(holds(row * size <= Expr(size) * 7 - 1));
  EXPECT_FALSE(holds(equal(row * size, floormod(floordiv(Expr(tid), 4), 16) * size)));
}

/// Simplifies an index of a load wrongly. The answer must be refuted.
TEST(AnswersThatAreFalse, AreFoundInsideOfData) {
  Var i = make_var("i");
  Buffer x =
      std::make_shared<const BufferNode>(BufferNode{"x", DType::f32, {Expr(64)}, Scope::global, Role::input});
  Expr before = load(x, {floordiv(Expr(i) * 4 + 3, 4)}) * Expr(2.0F);
  for (bool wrong : {false, true}) {
    Expr after = load(x, {Expr(i) + (wrong ? 1 : 0)}) * Expr(2.0F);
    EXPECT_EQ(prove(answer(Answer::Kind::simplified, before, after, i, {0, 9})).proved(), !wrong);
  }
}

} // namespace
} // namespace nestsmith::proofs
