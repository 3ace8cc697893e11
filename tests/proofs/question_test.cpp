/// Tests that Z3 is asked once for questions that differ only in names, and again for all others.

#include "tests/proofs/prover.h"

#include <gtest/gtest.h>
#include <set>

namespace nestsmith::proofs {
namespace {

/// Asks whether low <= factor*x*y < high for x and y in [0, 7], and returns how many questions Z3 answered.
std::int64_t asked_of_z3(Integer factor, Integer high, const std::string &expected, int unused = 0) {
  Prover prover;
  for (int n = 0; n < unused; ++n) // numbers the unknowns otherwise
    prover.fresh("unused", 0, 3);
  std::string suffix = std::to_string(unused);
  Poly x = prover.fresh("x" + suffix, 0, 7), y = prover.fresh("y" + suffix, 0, 7);
  std::int64_t before = questions().to_z3;
  EXPECT_EQ(to_string(prover.prove(less(Poly(factor) * x + y, Poly(high)))), expected);
  return questions().to_z3 - before;
}

/// The tests ask different questions, because they may run in one process.
TEST(Questions, ThatDifferInNamesAreAskedOnce) {
  EXPECT_EQ(asked_of_z3(8, 64, "proved"), 1);
  EXPECT_EQ(asked_of_z3(8, 64, "proved"), 0);
  EXPECT_EQ(asked_of_z3(8, 64, "proved", 5), 0);
  std::int64_t asked = questions().asked;
  EXPECT_EQ(asked_of_z3(8, 64, "proved"), 0);
  EXPECT_EQ(questions().asked, asked + 1) << "a remembered answer counts as a question";
}

TEST(Questions, ThatDifferInANumberAreAskedAgain) {
  EXPECT_EQ(asked_of_z3(16, 120, "proved"), 1);
  EXPECT_EQ(asked_of_z3(16, 119, "refuted by x0 = 7, y0 = 7"), 1);
  EXPECT_EQ(asked_of_z3(15, 120, "proved"), 1);
  EXPECT_EQ(asked_of_z3(17, 126, "refuted by x0 = 7, y0 = 7"), 1);
}

/// The remembered counterexample has the names of the new question.
TEST(Questions, ThatAreRefutedNameTheirOwnUnknowns) {
  EXPECT_EQ(asked_of_z3(32, 231, "refuted by x0 = 7, y0 = 7"), 1);
  EXPECT_EQ(asked_of_z3(32, 231, "refuted by x2 = 7, y2 = 7", 2), 0);
}

/// Texts of numbers, of products and of the numbers of unknowns differ.
TEST(QuestionTexts, AreEqualOnlyForEqualFormulas) {
  Poly a = Poly::atom(4), b = Poly::atom(9);
  auto text = [](const Formula &f, char kind = 0) { return QuestionText({f}, kind).text; };
  std::vector<Formula> different = {truth(true),
                                    truth(false),
                                    equal(a, b),
                                    equal(a, a * b),
                                    negate(equal(a, b)),
                                    any({less(a, b), less(b, a)}),
                                    all({less(a, b), less(b, a)})};
  for (const Poly &p : {a, -a, a + a, a * a, a * b, a + b, a - b, a + a * b, a * b + b})
    different.push_back(at_least_0(p));
  for (Integer n : {Integer(1), Integer(-1), Integer(63), Integer(64), Integer(127), Integer(128), Integer(-64),
                    Integer(-65), Integer(1) << 64, Integer(1) << 100, -(Integer(1) << 100)})
    different.push_back(at_least_0(a + Poly(n)));
  std::set<std::string> texts;
  for (const Formula &f : different)
    EXPECT_TRUE(texts.insert(text(f)).second) << texts.size();
  EXPECT_NE(text(at_least_0(a), 1), text(at_least_0(a), 2));
  EXPECT_EQ(text(less(a, b)), text(less(Poly::atom(0), Poly::atom(1))));
  EXPECT_EQ(QuestionText({less(a, b)}, 0).atoms.size(), 2U);
}

} // namespace
} // namespace nestsmith::proofs
