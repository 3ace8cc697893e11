/// Proves every rule in the comments of dsl and lowering, and tests that wrong rules are refuted.

#include "tests/proofs/rule.h"

#include <cctype>
#include <gtest/gtest.h>
#include <stdexcept>

namespace nestsmith::proofs {

/// GoogleTest prints rules by this function.
static void PrintTo(const Rule &rule, std::ostream *out) { *out << rule.where; }

namespace {

std::vector<Rule> rules() {
  static const std::vector<Rule> all = rules_in(NESTSMITH_SOURCE_DIR);
  return all;
}

class Rules : public testing::TestWithParam<Rule> {};

TEST_P(Rules, IsProved) {
  const Rule &rule = GetParam();
  EXPECT_EQ(to_string(prove(rule)), "proved") << rule.where << ": [" << rule.name << "]" << rule.text;
}

std::string test_name(const testing::TestParamInfo<Rule> &info) {
  std::string name = info.param.name.substr(5);
  for (char &c : name)
    if (!std::isalnum(static_cast<unsigned char>(c)))
      c = '_';
  return name;
}
INSTANTIATE_TEST_SUITE_P(All, Rules, testing::ValuesIn(rules()), test_name);

Rule rule(const std::string &text) { return {"rule.test", text, "here"}; }

TEST(RulesThatAreFalse, AreRefutedByNumbers) {
  EXPECT_EQ(to_string(prove(rule("(x + y)//c = x//c + y//c where c > 0"))).substr(0, 14), "refuted by c =");
  EXPECT_FALSE(prove(rule("x//d % m//c = x//(d*c) % m where d > 0, c > 0, m > 0")).proved());
  EXPECT_FALSE(prove(rule("(g*y + r)//(g*c) = y//c where g > 0, c > 0, 0 <= r, r <= g")).proved());
  EXPECT_FALSE(prove(rule("x ^ y <= h where 0 <= x, x <= h, 0 <= y, y <= h")).proved());
}

/// The rules fail only for numbers that are too large to be tried.
TEST(RulesThatAreFalse, AreNotProvedWhereTheyFailForLargeNumbersOnly) {
  EXPECT_FALSE(prove(rule("x//c*c <= 1000 where c > 0, x <= 1001")).proved());
  EXPECT_EQ(to_string(prove(rule("x >> 1 < 4611686018427387903"))).substr(0, 20), "refuted by x = #x7ff");
}

/// The rules for order hold for integers without bounds, but not for data that wraps around.
TEST(RulesThatAreFalse, AreRefutedOfDataThatWrap) {
  for (const char *text : {"x < y where x - y < 0", "y <= x where 0 <= x - y", "x <= y where x - y <= 0",
                           "y < x where 0 < x - y", "x < x + 1", "k*x <= k*y where x <= y, k >= 0"}) {
    EXPECT_TRUE(prove(rule(text)).proved()) << text;
    EXPECT_EQ(to_string(prove(Rule{"rule.data.test", text, "here"})).substr(0, 10), "refuted by") << text;
  }
}

TEST(RulesThatAreNone, AreRejected) {
  for (const char *text :
       {"x//y = x//y", "x = x where x < 0, 0 < x", "x + = y", "x", "x = y where", "f(x) = x"})
    EXPECT_THROW(prove(rule(text)), std::runtime_error) << text;
}

} // namespace
} // namespace nestsmith::proofs
