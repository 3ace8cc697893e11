/// Tests emitted files in which one launcher serves several shapes. Each plan adds a different number, so a
/// result shows which plan ran.

#include "codegen/dispatch.h"

#include "codegen/cuda.h"
#include "dsl/expr/error.h"
#include "dsl/ir/specialise.h"
#include "dsl/ir/tensor.h"
#include "dsl/schedule/schedule.h"
#include "lowering/lower.h"
#include "tests/codegen/host_text.h"
#include "tests/codegen/nvcc.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <regex>

namespace nestsmith {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

enum class Form { one_kernel, two_kernels, large_tile };

/// Returns a schedule of Y = X + step for one shape. If `shape` is empty, the extents and the leading
/// dimensions are sizes that are known at launch.
Schedule plus(const std::vector<std::int64_t> &shape, float step, Form form = Form::one_kernel) {
  Workload w("plus");
  bool one = !shape.empty();
  Expr m = one ? Expr(shape[0]) : w.size("M", {}), n = one ? Expr(shape[1]) : w.size("N", {});
  Expr ldx = one ? Expr() : w.size("ldx", {}), ldy = one ? Expr() : w.size("ldy", {});
  Tensor x = w.placeholder("X", {m, n}, DType::f32, {ldx});
  Tensor t = x;
  if (form == Form::two_kernels)
    t = w.compute("T", {m, n}, {"i", "j"}, [&](Expr i, Expr j) -> Definition { return x(i, j) + 1.0f; });
  float rest = form == Form::two_kernels ? step - 1 : step;
  Tensor y = w.compute("Y", {m, n}, {"i", "j"}, [&](Expr i, Expr j) -> Definition { return t(i, j) + rest; });
  Schedule s(w.output({{y, {ldy}}}));
  auto [i, j] = s.loops<2>(s.block("Y"));
  s.bind(i, Axis::block_x);
  if (form == Form::two_kernels)
    s.bind(s.loops(s.block("T"))[0], Axis::block_x);
  if (form == Form::large_tile) {
    BlockRef copy = s.cache_read(s.block("Y"), "X", Scope::shared);
    s.compute_at(copy, i);
  }
  return s;
}

ShapePlan part(const std::vector<std::int64_t> &shape, float step, Form form = Form::one_kernel) {
  ShapePlan result{shape.empty() ? "" : fmt::format("{}x{}", shape[0], shape[1]), "", {}, {}};
  result.plan = lower(plus(shape, step, form));
  if (!shape.empty())
    result.info.sizes = {{"M", shape[0]}, {"N", shape[1]}, {"ldx", shape[1]}, {"ldy", shape[1]}};
  return result;
}

/// The shape 3x4 adds 10. The shape 5x6 adds 20 with two kernels. The shape 2x13000 adds 30 and uses 52 KB of
/// shared memory.
std::vector<ShapePlan> three_shapes() {
  return {part({3, 4}, 10), part({5, 6}, 20, Form::two_kernels), part({2, 13000}, 30, Form::large_tile)};
}
/// One symbolic plan serves all other shapes and adds 1.
Dispatch with_symbolic(Form form = Form::one_kernel) {
  return Dispatch("plus", {}, three_shapes(), {part({}, 1, form)});
}
Dispatch without_symbolic() { return Dispatch("plus", {}, three_shapes(), {}); }

/// A host function that returns the number that the launcher adds. It returns -1 if the elements differ or if
/// the launcher overwrites a gap after a row, -2 if a requirement is violated, -3 if the launch fails, and -4
/// if the requirement and the launch disagree.
constexpr const char *added = R"(
#include <vector>
static float added(long long M, long long N, long long ldx, long long ldy) {
  std::vector<float> X(M * ldx + 1, 0.0f), Y(M * ldy + 1, -7.0f);
  alignas(256) static char room[4096];
  size_t bytes = plus_workspace_bytes(M, N, ldx, ldy);
  void *workspace = bytes ? room : nullptr;
  bool refused = plus_requirement(X.data(), Y.data(), M, N, ldx, ldy, workspace, bytes) != nullptr;
  cudaError_t error = plus_launch(X.data(), Y.data(), M, N, ldx, ldy, workspace, bytes, nullptr);
  if (refused != (error == cudaErrorInvalidValue)) return -4;
  if (error != cudaSuccess) return refused ? -2 : -3;
  for (long long i = 0; i < M; ++i)
    for (long long j = 0; j < ldy; ++j)
      if (Y[i * ldy + j] != (j < N ? Y[0] : -7.0f)) return -1;
  return M * N == 0 ? 0 : Y[0];
}
)";

TEST(Dispatch, EachShapeReachesItsOwnKernel) {
  std::string text = emit(with_symbolic()) + added + R"(
int main() {
  host::add_arena_array((const void *)plus_2x13000, {0, 52000});
  if (added(3, 4, 4, 4) != 10) return 1;
  if (added(5, 6, 6, 6) != 20) return 2;
  if (added(2, 13000, 13000, 13000) != 30) return 3;
  if (added(4, 3, 3, 3) != 1 || added(3, 6, 6, 6) != 1 || added(1, 1, 1, 1) != 1) return 4;
  return 0;
}
)";
  EXPECT_EQ(run_on_host(text, 1000), 0) << text;
}

TEST(Dispatch, RowsWithGapsReachTheSymbolicKernel) {
  std::string text = emit(with_symbolic()) + added + R"(
int main() {
  if (added(3, 4, 5, 4) != 1) return 1;
  if (added(3, 4, 4, 9) != 1) return 2;
  if (added(5, 6, 7, 8) != 1) return 3;
  return 0;
}
)";
  EXPECT_EQ(run_on_host(text, 1000), 0) << text;
}

TEST(Dispatch, TheSymbolicKernelKeepsItsRequirements) {
  std::string text = emit(with_symbolic()) + added + R"(
int main() {
  if (added(3, 4, 3, 4) != -2) return 1; // ldx < N
  if (added(3, 4, 4, 3) != -2) return 2; // ldy < N
  if (added(0, 4, 4, 4) != 0) return 3; // nothing is launched
  return 0;
}
)";
  EXPECT_THAT(text, HasSubstr("\"ldx, the leading dimension of X, must be at least N\""));
  EXPECT_EQ(run_on_host(text, 1000), 0) << text;
}

TEST(Dispatch, TheWorkspaceIsThatOfTheSelectedPlan) {
  std::string main = R"cpp(
int main() {
  if (plus_workspace_bytes(3, 4, 4, 4) != 0) return 1;
  if (plus_workspace_bytes(5, 6, 6, 6) != 5 * 6 * sizeof(float)) return 2;
  if (plus_workspace_bytes(5, 6, 7, 6) != symbolic * 5 * 6) return 3;
  if (added(3, 4, 4, 4) != 10 || added(5, 6, 6, 6) != 20 || added(7, 8, 9, 10) != 1) return 4;
  alignas(256) static char room[4096];
  static float X[30], Y[30];
  auto refused = [&](void *workspace, size_t bytes) {
    return plus_launch(X, Y, 5, 6, 6, 6, workspace, bytes, nullptr) == cudaErrorInvalidValue;
  };
  if (refused(room, 120) || !refused(room, 119) || !refused(nullptr, 120)) return 5;
  const char *why = plus_requirement(X, Y, 5, 6, 6, 6, room, 119);
  return strcmp(why, "workspace_bytes must be at least plus_workspace_bytes(M, N, ldx, ldy)") != 0;
}
)cpp";
  for (Form form : {Form::one_kernel, Form::two_kernels}) {
    std::string bytes = form == Form::two_kernels ? "sizeof(float)" : "0";
    std::string text = "#include <cstring>\n" + emit(with_symbolic(form)) + added +
                       fmt::format("static const size_t symbolic = {};\n", bytes) + main;
    EXPECT_EQ(run_on_host(text, 1000), 0) << text;
  }
}

TEST(Dispatch, WithoutASymbolicKernelOtherSizesAreRefused) {
  std::string text = emit(without_symbolic()) + added + R"(
int main() {
  host::add_arena_array((const void *)plus_2x13000, {0, 52000});
  if (added(3, 4, 4, 4) != 10 || added(5, 6, 6, 6) != 20 || added(2, 13000, 13000, 13000) != 30) return 1;
  if (added(3, 4, 5, 4) != -2 || added(4, 3, 3, 3) != -2 || added(0, 4, 4, 4) != -2) return 2;
  return 0;
}
)";
  EXPECT_THAT(text,
              HasSubstr("return \"the sizes must be those of 3x4 or 5x6 or 2x13000, for which the kernels "
                        "were generated\";"));
  EXPECT_EQ(run_on_host(text, 1000), 0) << text;
}

/// Two symbolic plans serve all other shapes: the plan for shapes near 4x4 adds 1, and the plan for shapes near
/// 100x100 or 1000x10 adds 2.
Dispatch with_two_symbolic(Form form = Form::one_kernel) {
  ShapePlan small = part({}, 1), large = part({}, 2, form);
  small.near = {{4, 4}};
  large.near = {{100, 100}, {1000, 10}};
  return Dispatch("plus", {}, three_shapes(), {small, large});
}

TEST(Dispatch, TheNearestOfSeveralPlansWithSizesServesOtherShapes) {
  std::string text = emit(with_two_symbolic()) + added + R"(
int main() {
  if (added(3, 4, 4, 4) != 10 || added(5, 6, 6, 6) != 20) return 1;
  if (added(3, 4, 5, 4) != 1 || added(1, 1, 1, 1) != 1 || added(10, 30, 30, 30) != 1) return 2;
  if (added(90, 120, 120, 120) != 2 || added(100, 100, 101, 102) != 2) return 3;
  if (added(2000, 9, 9, 9) != 2 || added(15, 35, 35, 35) != 2) return 4;
  return plus_requirement(nullptr, nullptr, -1, 0, 0, 0, nullptr, 0) ? 0 : 5;
}
)";
  EXPECT_EQ(run_on_host(text, 1000), 0) << text;
  EXPECT_THAT(with_two_symbolic(Form::two_kernels).selection(),
              testing::IsSupersetOf({"any other shape nearest to 4x4, and rows with gaps: plus_symbolic_4x4",
                                     "any other shape nearest to 100x100 or 1000x10, and rows with gaps: "
                                     "plus_symbolic_100x100_T, plus_symbolic_100x100_Y"}));
  std::string header = emit_header(with_two_symbolic(Form::two_kernels));
  EXPECT_THAT(header, HasSubstr("/// Requires, for any other shape nearest to 4x4:\n///   - "));
  EXPECT_THAT(header, HasSubstr("/// Requires, for any other shape nearest to 100x100 or 1000x10:\n///   - "));
}

/// The attribute of the kernel that needs it, and of no other.
TEST(Dispatch, ALargeTileOptsInToItsSharedMemory) {
  std::string text = emit(with_symbolic());
  EXPECT_THAT(text, HasSubstr("cudaFuncSetAttribute(plus_2x13000,"));
  EXPECT_EQ(text.find("cudaFuncSetAttribute"), text.rfind("cudaFuncSetAttribute"));
}

TEST(Dispatch, FunctionsAndKernelsHaveDifferentNames) {
  std::string text = emit(with_symbolic(Form::two_kernels));
  static const std::regex definition("(?:\n|static cudaError_t |const char \\*|size_t |static int )(\\w+)\\(");
  std::set<std::string> names;
  for (std::sregex_iterator it(text.begin(), text.end(), definition), end; it != end; ++it)
    EXPECT_TRUE(names.insert((*it)[1]).second) << (*it)[1];
  EXPECT_THAT(names, testing::IsSupersetOf({"plus_3x4", "plus_5x6_T", "plus_5x6_Y", "plus_symbolic_T",
                                            "plus_3x4_launch", "plus_symbolic_requirement", "plus_shape",
                                            "plus_workspace_bytes", "plus_requirement"}));
  EXPECT_EQ(text.find("static bool overlap("), text.rfind("static bool overlap("));
}

TEST(Dispatch, SaysWhichKernelServesWhichShape) {
  std::vector<ShapePlan> shapes = three_shapes();
  shapes[0].note = "bk=16";
  Dispatch dispatch("plus", {}, shapes, {part({}, 1)});
  EXPECT_THAT(dispatch.selection(), ElementsAre("3x4 with contiguous rows: plus_3x4 (bk=16)",
                                                "5x6 with contiguous rows: plus_5x6_T, plus_5x6_Y",
                                                "2x13000 with contiguous rows: plus_2x13000",
                                                "any other shape, and rows with gaps: plus_symbolic"));
  std::string text = emit(dispatch);
  EXPECT_THAT(text, HasSubstr("///   3x4 with contiguous rows: plus_3x4 (bk=16)\n"));
  EXPECT_THAT(text, HasSubstr("\n// 3x4: bk=16\n"));
  EXPECT_LT(text.find("if (M == 3 && N == 4 && ldx == 4 && ldy == 4)"), text.find("if (M == 5"));
}

TEST(Dispatch, TheHeaderHasTheRequirementsOfEachPlan) {
  std::string header = emit_header(with_symbolic());
  EXPECT_THAT(header,
              HasSubstr("/// Requires, for 3x4, 2x13000 with contiguous rows:\n///   - X must not be null"));
  EXPECT_THAT(header, HasSubstr("/// Requires, for 5x6 with contiguous rows:\n"));
  EXPECT_THAT(header,
              HasSubstr("/// Requires, for any other sizes:\n///   - M must be from 0 to 1073741824\n"));
  EXPECT_THAT(header, HasSubstr("size_t plus_workspace_bytes(long long M, long long N, long long ldx, long"));
  EXPECT_THAT(header, testing::Not(HasSubstr("plus_3x4_")));
  std::string fixed = emit_header(without_symbolic());
  EXPECT_THAT(fixed, HasSubstr("X                float [3, 4] or [5, 6] or [2, 13000], row-major, read;"));
  EXPECT_THAT(fixed, HasSubstr("M                in elements: 3 or 5 or 2\n"));
  EXPECT_THAT(fixed, HasSubstr("/// Requires:\n///   - the sizes must be those of 3x4 or 5x6 or 2x13000, for"));
}

TEST(Dispatch, PlansOfOtherParametersAreRefused) {
  auto refused = [](std::vector<ShapePlan> shapes, std::vector<ShapePlan> symbolic, const std::string &why) {
    try {
      Dispatch("plus", {}, std::move(shapes), std::move(symbolic));
      ADD_FAILURE() << "not refused";
    } catch (const UserError &error) {
      EXPECT_EQ(error.code(), ExitCode::usage);
      EXPECT_THAT(error.what(), HasSubstr(why));
    }
  };
  ShapePlan named = part({3, 4}, 1);
  named.info.sizes[0].name = "rows";
  refused(
      {named}, {part({}, 1)},
      "the launcher of 3x4 takes (const float *X, float *Y, long long rows, long long N, long long ldx, long "
      "long ldy, cudaStream_t stream), and that of the symbolic kernel takes (const float *X, float *Y, long "
      "long M,");
  ShapePlan again = part({3, 4}, 2);
  again.shape = "3x4x1";
  refused({part({3, 4}, 1), again}, {},
          "the launcher takes the same sizes for 3x4 and 3x4x1, so it cannot distinguish them");
}

CheckedLaunch launch(const std::vector<std::int64_t> &shape, float step) {
  return {fmt::format("{}x{}", shape[0], shape[1]),
          plus(shape, step).source(),
          {shape[0], shape[1], shape[1], shape[1]},
          1e3};
}

TEST(DispatchStandalone, ChecksEachShape) {
  std::string output;
  std::string good =
      emit_standalone(with_symbolic(), {launch({3, 4}, 10), launch({5, 6}, 20), launch({8, 9}, 1)});
  EXPECT_EQ(run_on_host(good, 1000, &output), 0) << output;
  for (const char *line : {"shape 3x4\ncheck: Y passed, 0 of 12", "shape 5x6\ncheck: Y passed, 0 of 30",
                           "shape 8x9\ncheck: Y passed, 0 of 72"})
    EXPECT_THAT(output, HasSubstr(line));
  // In turn, the program expects another number from each of the three plans.
  for (std::size_t wrong = 0; wrong < 3; ++wrong) {
    std::vector<CheckedLaunch> launches = {launch({3, 4}, wrong == 0 ? 11 : 10),
                                           launch({5, 6}, wrong == 1 ? 21 : 20),
                                           launch({8, 9}, wrong == 2 ? 2 : 1)};
    EXPECT_EQ(run_on_host(emit_standalone(with_symbolic(), launches), 1000), 1) << wrong;
  }
}

TEST(DispatchStandalone, SaysWhichRequirementIsNotMet) {
  std::string output;
  EXPECT_EQ(run_on_host(emit_standalone(without_symbolic(), {launch({8, 9}, 1)}), 8, &output), 2);
  EXPECT_THAT(output, HasSubstr("plus_launch: the sizes must be those of 3x4 or 5x6 or 2x13000"));
}

TEST(Dispatch, NvccTakesItWithoutAWarning) {
  const Nvcc nvcc;
  if (!nvcc.found())
    GTEST_SKIP() << "no nvcc on this machine";
  EXPECT_EQ(nvcc.messages(emit(with_symbolic(Form::two_kernels)), {"-c", "-arch=sm_90"}), "");
  EXPECT_EQ(nvcc.messages(emit(without_symbolic()), {"-c", "-arch=sm_90"}), "");
  std::string standalone = emit_standalone(with_symbolic(), {launch({3, 4}, 10), launch({600, 90000}, 1)});
  EXPECT_EQ(nvcc.messages(standalone, {"-c", "-arch=sm_90"}), "");
}

} // namespace
} // namespace nestsmith
