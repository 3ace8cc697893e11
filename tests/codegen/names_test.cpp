/// How names are spelled in texts.

#include "codegen/names.h"

#include <gtest/gtest.h>

namespace nestsmith {
namespace {

TEST(Names, ThatNobodyTakesStay) {
  for (const char *name : {"i", "A_shared", "k_outer", "x4", "float5", "make_tile", "interior", "MAX"})
    EXPECT_EQ(identifier(name), name);
}

TEST(Names, ThatCppOrCudaTakesGetASuffix) {
  for (const char *name : {"int", "co_await", "threadIdx", "min", "float4", "make_uint2", "longlong1", "dot4",
                           "round_tf32", "stream", "INT_MAX"})
    EXPECT_EQ(identifier(name), std::string(name) + "_");
  EXPECT_EQ(linked_identifier("exp"), "exp_kernel");
  EXPECT_EQ(linked_identifier("int"), "int_");
}

/// Names are identifiers before they come here; what passes makes of them is one too.
TEST(Names, OfOtherCharactersBecomeIdentifiers) {
  EXPECT_EQ(identifier("a b"), "a_b");
  EXPECT_EQ(identifier("1x"), "v1x");
  EXPECT_EQ(identifier("_x"), "v_x");
  EXPECT_EQ(identifier("a__b"), "a_b");
  EXPECT_EQ(identifier(""), "v");
}

TEST(Names, AreOfOneSymbolEach) {
  NameTable names;
  Var a = make_var("int"), b = make_var("int_"), c = make_var("int");
  EXPECT_EQ(names.declare(a), "int_");
  EXPECT_EQ(names.declare(b), "int_1");
  {
    NameTable::Nested scope(names);
    EXPECT_EQ(names.declare(c), "int_2");
  }
  EXPECT_EQ(names.claim("int"), "int_2");
  EXPECT_EQ(names[a], "int_");
}

} // namespace
} // namespace nestsmith
