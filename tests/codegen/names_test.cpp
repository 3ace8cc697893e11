/// How names are spelled in texts.

#include "codegen/names.h"

#include <gmock/gmock.h>

namespace nestsmith {
namespace {

TEST(Names, ThatNobodyTakesStay) {
  for (const char *name : {"i", "A_shared", "k_outer", "x4", "float5", "make_tile", "interior", "MAX", "f16x3"})
    EXPECT_EQ(identifier(name), name);
}

TEST(Names, ThatCppOrCudaTakesGetASuffix) {
  for (const char *name : {"int",          "co_await",      "threadIdx", "min",        "float4",
                           "make_uint2",   "longlong1",     "dot4",      "round_tf32", "stream",
                           "INT_MAX",      "uint",          "M_PIf32",   "BUFSIZ",     "cudaArrayCubemap",
                           "floordiv_i32", "floor_mod_u64", "f16x8",     "u16x2",      "boolx16"})
    EXPECT_EQ(identifier(name), std::string(name) + "_");
  EXPECT_EQ(linked_identifier("exp"), "exp_kernel");
  EXPECT_EQ(linked_identifier("int"), "int_");
}

TEST(Names, OfTheLibrariesAreRecognisedInEveryFloatingType) {
  for (const char *name : {"read", "select", "sinf", "sinl", "sinf64", "sinf32x", "qsort_r", "isalpha_l",
                           "norm3df", "cospif", "fmaximum_magf", "must", "reference_stage_0", "sincos",
                           "rsqrtf", "fmaf", "clock64", "getenv", "pthread_create"})
    EXPECT_EQ(linked_identifier(name), std::string(name) + "_kernel");
  for (const char *name : {"gemm", "product", "axpy", "total", "scalef", "readable", "kernel"})
    EXPECT_EQ(linked_identifier(name), name);
}

/// Every name that is not refused is spelled as it is given.
TEST(Names, ThatAUserGivesAreKeptOrRefusedWithAReason) {
  using testing::HasSubstr;
  auto refused = [](const char *name, const char *why) {
    EXPECT_THAT(why_not_linked(name), HasSubstr(why)) << name;
  };
  for (const char *name : {"gemm", "g", "Gemm2", "my_gemm", "GEMM", "cublas_like"}) {
    EXPECT_EQ(why_not_linked(name), "") << name;
    EXPECT_EQ(linked_identifier(name), name);
  }
  for (const char *name : {"", "1x", "a b", "a-b", "a.b", "\xc3\xa4", "x\n"})
    refused(name, "not a C identifier");
  for (const char *name : {"_x", "a__b", "__x", "gemm_"})
    refused(name, "reserved for the compiler");
  for (const char *name : {"int", "co_await", "restrict", "typeof", "xor"})
    refused(name, "a keyword of C or C++");
  for (const char *name : {"cudaMalloc", "cuLaunchKernel", "CUDART"})
    refused(name, "CUDA reserves names with this prefix");
  for (const char *name : {"main", "exp", "expf", "read", "malloc", "rsqrtf"})
    refused(name, "a function of the C library or of CUDA");
  for (const char *name : {"INT_MAX", "MY_GEMM"})
    refused(name, "reserved for macros");
  for (const char *name :
       {"threadIdx", "float4", "make_uint2", "dim3", "overlap", "round_tf32", "dot4", "must"})
    refused(name, "uses this name");
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
