/// Tests how names are spelled in emitted text.

#include "codegen/names.h"

#include "codegen/cuda.h"
#include "dsl/expr/error.h"
#include "dsl/hardware/intrinsics.h"
#include "dsl/ir/tensor.h"
#include "lowering/lower.h"

#include <gmock/gmock.h>

namespace nestsmith {
namespace {

TEST(Names, ThatNobodyTakesStay) {
  for (const char *name : {"i", "A_shared", "k_outer", "x4", "float5", "make_tile", "interior", "MAX", "f16x3"})
    EXPECT_EQ(identifier(name), name);
}

TEST(Names, ThatCppOrCudaTakesGetASuffix) {
  for (const char *name :
       {"int",       "co_await", "threadIdx",        "min",          "float4",        "make_uint2",
        "longlong1", "dot4",     "round_tf32",       "stream",       "INT_MAX",       "uint",
        "M_PIf32",   "BUFSIZ",   "cudaArrayCubemap", "floordiv_i32", "floor_mod_u64", "f16x8",
        "u16x2",     "i16x4",    "boolx16"})
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

/// A name that is not refused is spelled exactly as given.
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

/// `identifier` returns a valid identifier for any text.
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

/// An emitted file defines the function of each intrinsic that it calls, so codegen and its headers must not
/// define the same name.
TEST(Names, OfFunctionsOfIntrinsicsAreThoseThatNobodyDefines) {
  for (const char *name : {"sad4", "my_dot", "__my_dot", "Dot4_1"})
    EXPECT_EQ(why_not_defined(name), "") << name;
  for (const char *name : {"main", "exp", "malloc", "cudaMalloc", "float4", "make_uint2", "rsqrtf"})
    EXPECT_EQ(why_not_defined(name), "the C library or CUDA has this name") << name;
  for (const char *name : {"floordiv_i32", "min_f32", "Reference", "overlap", "threadIdx", "floor_mod_i64"})
    EXPECT_EQ(why_not_defined(name), "C++, CUDA or the emitted file itself uses this name") << name;
}

/// Y[i] = f(X[i]), where `tensorize` calls the intrinsic `name`.
std::string text_with_intrinsic(const std::string &name, const std::string &prelude) {
  Buffer a = formal_buffer("a", DType::u32, {4}), total = formal_buffer("total", DType::u32, {});
  Var k = make_var("k");
  Intrinsic intrinsic;
  intrinsic.name = name;
  intrinsic.operands = {{a}, {total}};
  intrinsic.meaning = {{{k, 4}}, {total, {}, load(total, {}) + load(a, {k})}};
  intrinsic.prelude = prelude;
  register_intrinsic(intrinsic);
  Workload w("sums");
  Tensor x = w.placeholder("X", {8, 4}, DType::u32);
  Reduce r = reduce_axis("r", 4);
  Tensor y = w.compute("Y", {8}, {"i"}, [&](Expr i) { return sum(x(i, r), r); });
  Schedule s(w.output({y}));
  auto writeback = s.cache_write(s.block("Y"), Scope::local);
  s.reverse_compute_at(writeback, s.loop("i"));
  s.decompose_reduction(s.block("Y"), s.loop("r"));
  s.tensorize(s.loop("r"), name);
  return cuda_kernels(lower(s));
}

TEST(Names, OfIntrinsicsThatTheTextUsesOtherwiseAreRefused) {
  auto refused = [](const std::string &name, const std::string &prelude, const std::string &message) {
    try {
      text_with_intrinsic(name, prelude);
      ADD_FAILURE() << name << " is not refused";
    } catch (const UserError &error) {
      EXPECT_EQ(error.what(), message);
    }
  };
  refused("main", "int main() { return 0; }\n",
          "the intrinsic 'main' cannot be emitted: the C library or CUDA has this name; register it by another "
          "name");
  refused(
      "floormod_i32", "static int floormod_i32();\n",
      "the intrinsic 'floormod_i32' cannot be emitted: C++, CUDA or the emitted file itself uses this name; "
      "register it by another name");
  EXPECT_THAT(text_with_intrinsic("sum_of_four", "static unsigned int sum_of_four();\n"),
              testing::HasSubstr("= sum_of_four("));
  EXPECT_THAT(text_with_intrinsic("__vadd4", ""), testing::HasSubstr("= __vadd4(")) << "CUDA has it";
}

} // namespace
} // namespace nestsmith
