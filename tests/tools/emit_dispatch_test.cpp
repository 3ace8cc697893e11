/// Tests `emit --dispatch`, which writes one file that serves every shape.

#include "dsl/expr/error.h"
#include "runtime/check/check.h"
#include "runtime/check/sim_executor.h"
#include "runtime/check/stored_array.h"
#include "schedules/kernels.h"
#include "schedules/workloads.h"
#include "tests/codegen/host_text.h"
#include "tests/codegen/scratch.h"
#include "tests/schedules/rung.h"
#include "tests/tools/call_main.h"
#include "tests/tools/run_binary.h"
#include "tools/commands/emit_dispatch.h"
#include "tools/options/command.h"
#include "tools/results/analysed.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <regex>
#include <set>

namespace nestsmith {
namespace {

using test::contains;
using test::nestsmith;
using test::parsed;
using test::Ran;
using testing::HasSubstr;

/// Compares products with a plain sum, for rows with gaps and for arrays that are not aligned. The operands are
/// stored as a_transposed and b_transposed say.
constexpr const char *checks = R"cpp(
#include <vector>
typedef long long Int;
static const size_t counter_bytes = 32768;
/// The inputs and the product of an M x K and a K x N matrix.
static float a_at(Int i, Int k) { return (float)((i * 7 + k * 3) % 5 - 2); }
static float b_at(Int k, Int j) { return (float)((k * 5 + j * 11) % 7 - 3); }
static float product_at(Int i, Int j, Int K) {
  float sum = 0;
  for (Int k = 0; k < K; ++k)
    sum += a_at(i, k) * b_at(k, j);
  return sum;
}
static void fill(float *A, float *B, Int M, Int N, Int K, Int lda, Int ldb) {
  for (Int i = 0; i < M; ++i)
    for (Int k = 0; k < K; ++k)
      A[a_transposed ? k * lda + i : i * lda + k] = a_at(i, k);
  for (Int k = 0; k < K; ++k)
    for (Int j = 0; j < N; ++j)
      B[b_transposed ? j * ldb + k : k * ldb + j] = b_at(k, j);
}
/// Returns the number of the kernels that were launched; -1: refused, -2: wrong, -3: overwrote a gap, -4: the
/// requirement and the launch disagree, -5: it needs more than the workspace has, -6: counters are left.
static int check(Int M, Int N, Int K, Int gap, Int off) {
  const Int lda = (a_transposed ? M : K) + gap, ldb = (b_transposed ? K : N) + gap, ldc = N + gap;
  std::vector<float> a((M + 1) * (K + 1) + (M + K) * gap + 64), b((N + 1) * (K + 1) + (N + K) * gap + 64),
      c((M ? M : 1) * ldc + 64, 3);
  auto aligned = [&](std::vector<float> &v) { return v.data() + (16 - (size_t)v.data() % 16) % 16 / 4 + off; };
  float *A = aligned(a), *B = aligned(b), *C = aligned(c);
  fill(A, B, M, N, K, lda, ldb);
  size_t bytes = product_workspace_bytes(M, N, K, lda, ldb, ldc);
  void *workspace = nullptr;
  if (cudaMalloc(&workspace, bytes + 256) != cudaSuccess)
    return -5;
  memset(workspace, 0x5a, bytes + 256);
  memset(workspace, 0, counter_bytes);
  const char *why = product_requirement(A, B, C, M, N, K, lda, ldb, ldc, workspace, bytes);
  cudaError_t error = product_launch(A, B, C, M, N, K, lda, ldb, ldc, 2.0f, 1.0f, workspace, bytes, nullptr);
  if ((why != nullptr) != (error == cudaErrorInvalidValue))
    return -4;
  for (size_t n = bytes; n < bytes + 256; ++n)
    if (((unsigned char *)workspace)[n] != 0x5a)
      return -5;
  for (size_t n = 0; n < counter_bytes; ++n)
    if (((unsigned char *)workspace)[n] != 0)
      return -6;
  free(workspace);
  if (why)
    return -1;
  for (Int i = 0; i < M; ++i)
    for (Int j = 0; j < ldc; ++j) {
      const float sum = j < N ? product_at(i, j, K) : 0;
      if (C[i * ldc + j] != (j < N ? 2 * sum + 3 : 3) && (j < N || i + 1 < M))
        return j < N ? -2 : -3;
    }
  return product_kernel(A, B, C, M, N, K, lda, ldb, ldc).kernel;
}
)cpp";

/// Tells the host the arrays in the shared memory whose size is set at launch, from the text of the kernels.
std::string arenas(const llvm::json::Array &choices, const std::string &source) {
  static const std::regex total(R"(shared_memory\[\];  // (\d+) bytes)"),
      array(R"(\*\)\(?shared_memory(?: \+ (\d+))?\)?;)");
  std::string text = "static void tell_arenas() {\n";
  for (const llvm::json::Value &choice : choices) {
    const std::string kernel = choice.getAsObject()->getString("name")->str();
    const std::size_t begin = source.find("\n" + kernel + "("), end = source.find("__global__", begin);
    const std::string body = source.substr(begin, end - begin);
    std::smatch bytes;
    if (!std::regex_search(body, bytes, total))
      continue;
    std::set<std::size_t> offsets = {std::stoul(bytes[1])};
    for (std::sregex_iterator at(body.begin(), body.end(), array), last; at != last; ++at)
      offsets.insert((*at)[1].matched ? std::stoul((*at)[1]) : 0);
    for (auto at = offsets.begin(); std::next(at) != offsets.end(); ++at)
      text += fmt::format("  host::add_arena_array((const void *){}, {{{}, {}}});\n", kernel, *at,
                          *std::next(at) - *at);
  }
  return text + "}\n";
}

/// Calls each kernel by its own launcher, too, at a size with partial tiles and several parts of k.
std::string calls_of_each_kernel(const llvm::json::Array &choices) {
  std::string text = "static int each() {\n  const Int M = a_transposed ? 36 : 37, N = 68, K = 1068;\n"
                     "  const Int lda = a_transposed ? M : K, ldb = b_transposed ? K : N;\n"
                     "  std::vector<float> a(M * K), b(K * N), c(M * N), expected(M * N);\n"
                     "  fill(a.data(), b.data(), M, N, K, lda, ldb);\n"
                     "  for (Int n = 0; n < M * N; ++n) expected[n] = 2 * product_at(n / N, n % N, K) + 3;\n"
                     "  void *workspace = nullptr;\n  const size_t bytes = 64 << 20;\n"
                     "  cudaMalloc(&workspace, bytes);\n  memset(workspace, 0x5a, bytes);\n"
                     "  memset(workspace, 0, counter_bytes);\n  int bad = 0;\n";
  for (const llvm::json::Value &choice : choices) {
    const std::string name = choice.getAsObject()->getString("name")->str();
    // Many parts of which the last one is partial, and one.
    std::vector<std::string> parts = {""};
    if (const std::size_t at = name.find("_in_parts"); at != std::string::npos) {
      const std::int64_t depth = std::stoll(name.substr(name.rfind('x', at) + 1));
      parts = {fmt::format("{}, ", 4 * depth), fmt::format("{}, ", 2048)};
    }
    for (const std::string &part : parts)
      text += fmt::format(
          "  std::fill(c.begin(), c.end(), 3.0f);\n"
          "  bad += {}_launch(a.data(), b.data(), c.data(), M, N, K, lda, ldb, N, {}2, 1, {}nullptr) != 0;\n"
          "  bad += c != expected;\n",
          name, part, part.empty() ? "" : "workspace, bytes, ");
  }
  return text + "  free(workspace);\n  return bad;\n}\n";
}

class DispatchOf : public testing::TestWithParam<std::string> {};

TEST_P(DispatchOf, IsRightForEdgeSizesGapsAndAlignments) {
  const std::string transposed = GetParam();
  Ran ran = nestsmith("emit fast/best --dispatch --gpu H100 --name product --json" +
                      (transposed.empty() ? "" : " --transposed " + transposed));
  ASSERT_EQ(ran.code, 0) << ran.err;
  const llvm::json::Object root = *parsed(ran).getAsObject();
  const llvm::json::Array &choices = *root.getArray("choices");
  EXPECT_LE(choices.size(), 12U);
  EXPECT_EQ(choices.size(), root.getArray("kernels")->size()) << "each choice is one kernel";
  EXPECT_LT(*root.getNumber("predicted_loss_mean"), 1.1);
  EXPECT_THAT(root.getString("source")->str(), HasSubstr("Predicted over a sample of shapes, they take "));
  EXPECT_THAT(root.getString("source")->str(),
              HasSubstr("The first 32768 bytes of the workspace are counters of"));
  EXPECT_THAT(root.getString("source")->str(), HasSubstr("(32768 < (M + ")) << "more counters than room";
  std::string output;
  EXPECT_EQ(root.getBoolean("a_transposed"), transposed.starts_with('a'));
  EXPECT_EQ(root.getBoolean("b_transposed"), transposed.ends_with('b'));
  std::string text = "#include <algorithm>\n#include <cstdio>\n#include <cstring>\n" +
                     root.getString("source")->str() +
                     fmt::format("static const bool a_transposed = {}, b_transposed = {};\n",
                                 transposed.starts_with('a'), transposed.ends_with('b')) +
                     checks + calls_of_each_kernel(choices) + arenas(choices, root.getString("source")->str()) +
                     R"cpp(
int main() {
  tell_arenas();
  const Int sizes[][3] = {{1, 1, 1}, {1, 1, 521}, {97, 1, 3}, {1, 101, 2}, {65, 68, 20}, {31, 36, 1100}, {20, 36, 44},
                          {13, 127, 61}, {0, 4, 4}, {4, 0, 4}};
  int bad = 0;
  for (const auto &size : sizes)
    for (Int gap : {0, 4, 3})
      for (Int off : {0, 1}) {
        int kernel = check(size[0], size[1], size[2], gap, off);
        printf("%lld %lld %lld %lld %lld: %d\n", size[0], size[1], size[2], gap, off, kernel);
        bad += kernel < 0;
      }
  bad += check(4, 4, 0, 0, 0) != -1; // a sum without terms
  // The launcher refuses arguments that no kernel serves, and says why.
  float x[4] = {};
  const char *why = product_requirement(x, x + 1, x + 2, 1, 1, 1LL << 40, 1LL << 40, 1, 1, nullptr, 0);
  bad += !why || !strstr(why, "K must be ");
  why = product_requirement(x, x + 1, x + 2, 1, 1, 4, 1, 1, 1, nullptr, 0);
  bad += !why || !strstr(why, a_transposed ? "ldb, the leading dimension of B, must be at least K"
                                           : "lda, the leading dimension of A, must be at least K");
  // Extents whose products need 64 bits reach the wide kernels.
  const float *A = (const float *)256;
  const int of_wide = product_kernel(A, A, (float *)A, 40000, 4096, 4096, 4096, 4096, 4096).kernel;
  bad += of_wide < kernel_count - wide_count;
  bad += product_workspace_bytes(32768, 32768, 32768, 32768, 32768, 32768) > 64 << 20;
  bad += product_workspace_bytes(64, 64, 32768, 32768, 64, 64) == 0;
  return bad + each();
}
)cpp";
  const std::size_t main = text.find("#include <vector>\ntypedef");
  const auto wide = std::ranges::count_if(choices, [](const llvm::json::Value &choice) {
    return choice.getAsObject()->getString("name")->str().ends_with("_wide");
  });
  EXPECT_GE(wide, 2) << "one with vectors, and one without";
  text.insert(main,
              fmt::format("static const int kernel_count = {}, wide_count = {};\n", choices.size(), wide));
  EXPECT_EQ(run_on_host(text, 1000000, &output), 0) << output;
}

INSTANTIATE_TEST_SUITE_P(Emit, DispatchOf, testing::Values("", "ab"), [](const auto &info) {
  return info.param.empty() ? "Untransposed" : "Transposed_" + info.param;
});

/// The rows that must have whole vectors are those of the arrays.
TEST(EmitDispatch, OfTransposedOperandsTestsTheirRows) {
  struct Stored {
    std::string transposed, of_a, of_b;
    std::vector<std::string> sizes; ///< lengths of rows
  };
  for (const auto &[transposed, of_a, of_b, sizes] :
       std::vector<Stored>{{"a", "K x M", "K x N", {"M", "N"}},
                           {"b", "M x K", "N x K", {"N", "K"}},
                           {"ab", "K x M", "N x K", {"M", "N", "K"}}}) {
    Scratch scratch;
    Ran ran = nestsmith(fmt::format("emit fast/best --dispatch --transposed {} --gpu H100 -o {} --header {}",
                                    transposed, scratch.path("product.cu"), scratch.path("product.h")));
    ASSERT_EQ(ran.code, 0) << ran.err;
    const std::string text = scratch.read("product.cu"), header = scratch.read("product.h");
    const std::string name =
        fmt::format("gemm_{}{}", transposed == "b" ? 'n' : 't', transposed == "a" ? 'n' : 't');
    EXPECT_THAT(text,
                HasSubstr(fmt::format("The operands are stored row-major, A as {} and B as {}.", of_a, of_b)));
    EXPECT_THAT(text, HasSubstr("extern \"C\" cudaError_t " + name + "_launch("));
    for (const std::string size : {"M", "N", "K"})
      for (const std::string &condition : {fmt::format("along = multiple_of_row({}, along);", size),
                                           fmt::format("\"{} must be a multiple of 4\"", size)})
        EXPECT_EQ(text.find(condition) != std::string::npos, std::ranges::find(sizes, size) != sizes.end())
            << transposed << ' ' << condition;
    EXPECT_THAT(header, HasSubstr(fmt::format("A                float [{}, {}], row-major, rows lda apart",
                                              of_a[0], of_a.back())));
    EXPECT_THAT(header, HasSubstr(fmt::format("B                float [{}, {}], row-major, rows ldb apart",
                                              of_b[0], of_b.back())));
    EXPECT_THAT(header,
                HasSubstr(fmt::format("lda, the leading dimension of A, must be at least {}", of_a.back())));
    EXPECT_THAT(header,
                HasSubstr(fmt::format("ldb, the leading dimension of B, must be at least {}", of_b.back())));
  }
}

/// Each kernel of a file on the simulator, at sizes of one element, primes, and one more or less than its tile.
class DispatchedKernels : public testing::TestWithParam<std::tuple<std::string, std::string>> {};

TEST_P(DispatchedKernels, OfTransposedOperandsAreRight) {
  const auto &[transposed, type] = GetParam();
  const cli::Arguments arguments(
      "emit", {"fast/best", "--dispatch", "--transposed", transposed, "--dtype", type, "--gpu", "H100"},
      cli::emit_command().options);
  const cli::Context context{builtin_rungs(), arguments, cli::Style(cli::Colour::never)};
  const DType dtype = *parse_dtype(type);
  const cli::EmittedDispatch dispatch =
      cli::emitted_dispatch(context, cli::given_rung(context), cli::chosen_target(context), "");
  EXPECT_LE(dispatch.file.plans.size(), 12U);
  const std::size_t step = type == "tf32" ? 3 : 1; // its kernels are those of bf16 with wider elements
  for (std::size_t n = step / 2; n < dispatch.file.plans.size(); n += step) {
    const ChoicePlan &part = dispatch.file.plans[n];
    std::array<std::int64_t, 3> tile = {};
    ASSERT_EQ(std::sscanf(part.label.c_str(), "%*d_%ldx%ldx%ld", &tile[0], &tile[1], &tile[2]), 3);
    const std::vector<Shape> shapes = {
        {1, 1, 1}, {tile[0] + 1, 3, tile[2] + 1}, {13, tile[1] - 1, 7}, {5, 11, 2 * tile[2] - 1}, {2, 1, 61}};
    Shape shape = shapes[n % shapes.size()];
    std::int64_t depth = 0;
    if (part.depth > 0) {
      shape.part = part.plan.sizes.back().size->size;
      depth = 4;
    }
    shape[2] += depth * tile[2]; // two parts
    SimExecutor simulator;
    shape.transposed = {.a = transposed.starts_with('a'), .b = transposed.ends_with('b')};
    shape.stated = Size{};
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const std::int64_t unit = part.plan.sizes[axis].size->size->multiple_of;
      shape.multiples.push_back(unit);
      shape[axis] = (shape[axis] + unit - 1) / unit * unit;
    }
    const Program source = gemm(shape, dtype);
    const kernel::Plan plan = with_sizes(part.plan, sizes_for(source, shape, 3));
    const CheckResult result = Checker().check(source, plan, simulator, {.exact_only = true});
    EXPECT_TRUE(result.passed) << part.label << ' ' << to_string(shape);
    for (const std::string &message : result.messages())
      ADD_FAILURE() << message;
  }
}

INSTANTIATE_TEST_SUITE_P(Emit, DispatchedKernels,
                         testing::Combine(testing::Values("a", "b", "ab"),
                                          testing::Values("f32", "bf16", "tf32")),
                         [](const auto &info) {
                           return std::get<0>(info.param) + "_" + std::get<1>(info.param);
                         });

TEST(EmitDispatch, OfMatrixUnitsHasOneFile) {
  Ran ran = nestsmith("emit fast/best --dispatch --gpu H100 --dtype bf16 --name product");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("static product_choice::Candidate product_kernel(const __nv_bfloat16 *A"));
  EXPECT_THAT(ran.out, HasSubstr("_scalars_wide("));
  EXPECT_THAT(ran.out, HasSubstr("_half(")) << "rows of multiples of 4 elements";
  EXPECT_THAT(ran.out, HasSubstr("\"N must be a multiple of 4\"")) << "and not of 8";
  EXPECT_THAT(ran.err, HasSubstr("kernels of the kernel table of NVIDIA H100 80GB HBM3 serve every shape"));
}

TEST(EmitDispatch, WhatContradictsItIsRefused) {
  struct Refused {
    std::string arguments, why;
  };
  for (const auto &[arguments, why] : std::vector<Refused>{
           {"fast/best --dispatch --shape 8x8x8",
            "--shape contradicts it: the file has kernels for every shape"},
           {"fast/best --dispatch --symbolic", "--symbolic contradicts it: all of its kernels are symbolic"},
           {"fast/best --dispatch --set bk=16", "--set contradicts it"},
           {"fast/best --dispatch --standalone", "--standalone contradicts it"},
           {"fast/best --dispatch --gpu XYZ", "XYZ"},
           {"fast/best --transposed a",
            "--transposed says how the operands of --dispatch are stored; give --dispatch too"},
           {"fast/best --dispatch --transposed c",
            "option '--transposed' must be one of 'a', 'b' or 'ab', got 'c'"},
           {"fast/best --dispatch --dtype f64",
            "'fast/best' has no kernel table for f64, by which the file chooses its kernels"},
           {"ladder/naive --dispatch", "'ladder/naive' has no kernel table for f32"}}) {
    Ran ran = nestsmith("emit " + arguments);
    EXPECT_EQ(ran.code, 2) << arguments;
    EXPECT_TRUE(contains(ran.err, why));
    EXPECT_EQ(ran.out, "");
  }
}

/// A product that exists for one shape only, with the kernel table of another rung.
Schedule constant_product(const Shape &shape, DType dtype, const Target &target, Knobs &knobs) {
  if (shape.stated)
    throw UserError(ExitCode::usage, "only constant shapes");
  return builtin_rungs().front().build(shape, dtype, target, knobs);
}

TEST(EmitDispatch, ARungWithoutSymbolicKernelsIsRefused) {
  Rung rung{"", "mine", "one shape only", constant_product};
  rung.kernel_tables = kernel_tables();
  test::Called ran = test::call_main({"emit", "mine", "--dispatch", "--gpu", "H100"}, {rung});
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err,
              HasSubstr("'mine' has no symbolic kernel for sm_90a at the points of its kernel table of NVIDIA "
                        "H100 80GB HBM3, so no file serves every shape; emit kernels for one shape each"));
}

/// A product that takes its operands in one order only.
Schedule product_in_one_order(Shape shape, DType dtype, const Target &target, Knobs &knobs) {
  shape.transposed = {.b = true};
  return test::rung("fast/best").build(shape, dtype, target, knobs);
}

TEST(EmitDispatch, ARungThatStoresItsOperandsOtherwiseIsRefused) {
  Rung rung{"", "mine", "one order only", product_in_one_order};
  rung.kernel_tables = kernel_tables();
  test::Called ran =
      test::call_main({"emit", "mine", "--dispatch", "--gpu", "H100", "--transposed", "a"}, {rung});
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err,
              HasSubstr("'mine' does not store A as K x M and B as K x N, as --transposed a says; take a "
                        "rung whose schedule takes operands in any order, such as fast/best"));
}

/// C and C++ call the launcher through its header.
TEST(EmitDispatch, IsCalledFromCAndFromCpp) {
  Scratch scratch;
  Ran ran = nestsmith(fmt::format("emit fast/best --dispatch --gpu H100 --name product -o {} --header {}",
                                  scratch.path("product.cu"), scratch.path("product.h")));
  ASSERT_EQ(ran.code, 0) << ran.err;
  scratch.write("main.c", "#include \"product.h\"\n"
                          "size_t bytes(void) { return product_workspace_bytes(64, 64, 64, 64, 64, 64); }\n"
                          "const char *why(void) {\n"
                          "  return product_requirement(0, 0, 0, 64, 64, 64, 64, 64, 64, 0, 0);\n}\n"
                          "cudaError_t launch(void) {\n"
                          "  return product_launch(0, 0, 0, 64, 64, 64, 64, 64, 64, 1, 0, 0, 0, 0);\n}\n");
  scratch.write("main.cpp", scratch.read("main.c"));
  scratch.write("cuda_runtime_api.h", "#include <stddef.h>\ntypedef enum { cudaSuccess } cudaError_t;\n"
                                      "typedef struct CUstream_st *cudaStream_t;\n");
  Finished done = scratch.run("flags=\"-I. -Wall -Wextra -Werror -pedantic -c\"\n"
                              "cc -std=c11 $flags main.c -o c.o && c++ -std=c++11 $flags main.cpp -o cpp.o",
                              "compile");
  EXPECT_EQ(done.status, 0) << done.output;
}

} // namespace
} // namespace nestsmith
