/// Tests the names of GPU architectures and the features of each architecture.

#include "dsl/ir/arch.h"

#include "dsl/hardware/target.h"
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
                                "'; known are sm_50, sm_52, sm_53, ");
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

TEST(ArchFeatures, AreThoseOfTheTable) {
  struct Known {
    Feature feature;
    const char *arches; ///< the architectures that have the feature
  };
  const char *sm_80 = "80 86 89 90 90a 100 100a 120 ", *sm_90 = "90 90a 100 100a 120 ";
  std::string all = std::string("75 ") + sm_80;
  for (const auto &[feature, arches] : {Known{Feature::vector_access, all.c_str()},
                                        {Feature::dp4a, all.c_str()},
                                        {Feature::ldmatrix, all.c_str()},
                                        {Feature::mma_f16_k8, all.c_str()},
                                        {Feature::mma_f16, sm_80},
                                        {Feature::mma_bf16, sm_80},
                                        {Feature::mma_tf32, sm_80},
                                        {Feature::mma_i8, sm_80},
                                        {Feature::cp_async, sm_80},
                                        {Feature::mbarrier, sm_80},
                                        {Feature::mbarrier_expect, sm_90},
                                        {Feature::tma, sm_90},
                                        {Feature::clusters, sm_90},
                                        {Feature::stmatrix, sm_90},
                                        {Feature::wgmma, "90a "},
                                        {Feature::setmaxnreg, "90a 100a "},
                                        {Feature::griddepcontrol, sm_90}}) {
    std::string having;
    for (const char *arch : {"75", "80", "86", "89", "90", "90a", "100", "100a", "120"})
      if (Arch::parse(std::string("sm_") + arch)->has(feature))
        having += std::string(arch) + " ";
    EXPECT_EQ(having, arches) << name(feature);
  }
}

TEST(ArchFeatures, RefusalsNameTheArchitecturesThatHaveThem) {
  EXPECT_EQ(why_not(Feature::cp_async, {75}),
            "cp_async needs sm_80, sm_86, sm_87, sm_88, sm_89, sm_90, sm_100, sm_101, sm_103, sm_110, sm_120, "
            "sm_121; got sm_75");
  EXPECT_EQ(why_not(Feature::wgmma, {90}), "wgmma needs sm_90a; got sm_90");
  EXPECT_EQ(why_not(Feature::wgmma, {100, 'a'}), "wgmma needs sm_90a; got sm_100a");
  EXPECT_EQ(why_not(Feature::wgmma, {90, 'a'}), "");
}

} // namespace
} // namespace nestsmith
