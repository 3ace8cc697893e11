#include "dsl/arch.h"

#include "dsl/target.h"
#include "tests/dsl/support.h"

#include <gtest/gtest.h>

namespace nestsmith {
namespace {

TEST(ArchNames, AreReadAsTheyAreWritten) {
  EXPECT_EQ(Arch::parse("sm_80"), (Arch{80}));
  EXPECT_EQ(Arch::parse("sm_90a"), (Arch{90, 'a'}));
  EXPECT_EQ(Arch::parse("sm_100f"), (Arch{100, 'f'}));
  for (const char *text : {"sm_42", "sm_80", "sm_90a", "sm_100f", "sm_121", "sm_9000"})
    EXPECT_EQ(to_string(Arch::parse(text).value()), text);
  EXPECT_EQ(names({{80}, {90, 'a'}}), (std::vector<std::string>{"sm_80", "sm_90a"}));
}

TEST(ArchNames, ThatAreNoneAreNotRead) {
  for (const char *text : {"",       "x",      "80",     "sm80",    "sm_",     "sm_a",       "sm_9",
                           "sm_9a",  "sm_090", "sm_90A", "sm_90aa", "sm_90af", "sm_90x",     "sm_ 90",
                           "sm_90 ", " sm_90", "sm_+90", "sm_-90",  "SM_90",   "compute_90", "sm_99999999999"})
    EXPECT_EQ(Arch::parse(text), std::nullopt) << text;
}

TEST(ArchNames, ThatAreNoneMakeNoTarget) {
  for (const char *text : {"", "x", "sm_"})
    test::expect_user_error([&] { make_target(text); }, ExitCode::usage,
                            std::string("an architecture has a name such as sm_80 or sm_90a, got '") + text +
                                "'; known are sm_70, sm_75, sm_80, ");
}

TEST(ArchNames, AreOrderedByNumberAndThenBySuffix) {
  EXPECT_LT((Arch{90}), (Arch{100}));
  EXPECT_LT((Arch{90, 'a'}), (Arch{100}));
  EXPECT_LT((Arch{90}), (Arch{90, 'a'}));
  EXPECT_NE((Arch{90}), (Arch{90, 'a'}));
}

TEST(ArchNames, AreKnownWhereCompilersHaveThem) {
  for (Arch arch : {Arch{80}, Arch{88}, Arch{90, 'a'}, Arch{100, 'f'}})
    EXPECT_TRUE(is_known(arch)) << to_string(arch);
  for (Arch arch : {Arch{42}, Arch{80, 'a'}, Arch{90, 'f'}, Arch{999}})
    EXPECT_FALSE(is_known(arch)) << to_string(arch);
}

} // namespace
} // namespace nestsmith
