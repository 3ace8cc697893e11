/// Tests `emit --shapes`, which writes one launcher for several shapes.

#include "dsl/expr/error.h"
#include "tests/codegen/host_text.h"
#include "tests/codegen/nvcc.h"
#include "tests/golden.h"
#include "tests/tools/call_main.h"
#include "tests/tools/run_binary.h"

#include <fmt/format.h>

namespace nestsmith {
namespace {

using test::call_main;
using test::Called;
using test::contains;
using test::matches;
using test::nestsmith;
using test::parsed;
using test::Ran;
using test::TemporaryFolder;

/// NVRTC is hidden, because its version would be in a comment.
TEST(EmitShapes, IsOneFileWithOneLauncher) {
  Ran ran = nestsmith("emit deep_dive/naive --shapes 64x64x8,20 --arch sm_90 --name product",
                      "NESTSMITH_CUDA_PATH=/nonexistent");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.err, "");
  EXPECT_TRUE(matches_golden("deep_dive_naive_shapes_emit.cu", ran.out));
}

/// The shapes have different forms and knobs.
TEST(EmitShapes, EachShapeHasItsOwnSchedule) {
  Ran ran = nestsmith("emit ladder/warps --shapes 64,65 --set blocks=1");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_TRUE(matches(ran.out, "^///   64x64x64 with contiguous rows: gemm_64x64x64 \\(bk=8, blocks=1, "));
  EXPECT_TRUE(matches(ran.out, "^///   65x65x65 with contiguous rows: gemm_65x65x65 \\(scalar: N % 4 = 1, "));
  // The schedule of the symbolic kernel has no knob `blocks`.
  EXPECT_TRUE(
      matches(ran.out, "^///   any other shape, and rows with gaps: gemm_symbolic \\(scalar: sizes are "));
  EXPECT_TRUE(contains(ran.out, "static const char *gemm_64x64x64_requirement("));
  EXPECT_TRUE(contains(ran.out, "return \"A must be aligned to 16 bytes\";"));
  Ran fours = nestsmith("emit ladder/warps --shapes 65 --multiple-of 4");
  EXPECT_EQ(fours.code, 0) << fours.err;
  EXPECT_TRUE(contains(fours.out, "return \"M must be a multiple of 4\";"));
  EXPECT_EQ(nestsmith("emit ladder/warps --shapes 64 --set bk=16").code, 0);
}

TEST(EmitShapes, WhatIsNoListOfShapesIsRefused) {
  TemporaryFolder folder;
  std::string trace = (folder / "t.json").string();
  EXPECT_EQ(nestsmith("show deep_dive/naive --shape 8x8x8 --trace json -o " + trace).code, 0);
  struct Refused {
    std::string arguments, why;
  };
  for (const auto &[arguments, why] : std::vector<Refused>{
           {"deep_dive/naive --shapes ''", "shape '': '' is not a number; give one number such as 65536"},
           {"deep_dive/naive --shapes 64,,32", "shape '': '' is not a number"},
           {"deep_dive/naive --shapes 64,a", "shape 'a': 'a' is not a number"},
           {"deep_dive/naive --shapes 64x0x64", "an extent must be at least 1, got 0"},
           {"deep_dive/naive --shapes 64x64",
            "shape '64x64': it has 2 extents, expected 3; give MxNxK such as 512x512x512"},
           {"deep_dive/naive --shapes 64,64", "option '--shapes' has '64' twice"},
           {"deep_dive/naive --shapes 64,64x64x64", "option '--shapes' has the shape 64x64x64 twice"},
           {"deep_dive/naive --shapes 64 --shape 8x8x8",
            "--shapes lists the shapes of the kernels, so --shape has no effect; leave --shape out"},
           {"deep_dive/naive --shapes 64 --symbolic",
            "--shapes also emits the symbolic kernel, for every other shape; leave --symbolic out"},
           {"deep_dive/naive --shapes 64 --multiple-of 0", "must be a number of at least 1, got '0'"},
           {"deep_dive/naive --shapes 64 --name A", "--name 'A' is the name of an array of the computation"},
           {"deep_dive/naive --shapes 64 --name while", "--name 'while' cannot be the name of a kernel"},
           {"deep_dive/naive --shapes 64 --header x.h", "give -o FILE too"},
           {"ladder/warps --shapes 64 --set no=1", "the schedule has no knob 'no'"},
           {trace + " --shapes 64",
            "is a trace file, which contains the schedule for one shape, 8x8x8; --shapes "
            "needs a rung, which has a schedule for every shape"}}) {
    Ran ran = nestsmith("emit " + arguments);
    EXPECT_EQ(ran.code, 2) << arguments;
    EXPECT_TRUE(contains(ran.err, why));
    EXPECT_EQ(ran.out, "");
  }
}

TEST(EmitShapes, ARungWithoutSizesRefusesOtherShapes) {
  std::vector<Rung> own = {{"", "axpy", "a thread an element", test::axpy, {128}, {1000}}};
  Called ran = call_main({"emit", "axpy", "--shapes", "100,200"}, own);
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_TRUE(contains(ran.err,
                       "nestsmith: 'axpy' has no symbolic kernel, so axpy_launch refuses every shape that "
                       "is not listed: it declares no size; take its extents from Workload::size"));
  EXPECT_TRUE(contains(ran.out, "if (X_dim0 == 200 && Y_dim0 == 200)\n    return 2;"));
  EXPECT_TRUE(contains(ran.out, "    default:\n      return cudaErrorInvalidValue;\n"));
  EXPECT_TRUE(contains(ran.out, "return \"the sizes must be those of 100 or 200, for which the kernels were"));
}

/// X + X for a vector of any size. The program has sizes also for a constant shape.
Schedule sized(const Shape &, DType dtype, const Target &target) {
  Workload w("twice");
  Expr n = w.size("N", {.min = 1, .max = 4096});
  Tensor x = w.placeholder("X", {n}, dtype);
  Schedule s(w.output({w.compute("Y", {n}, {"i"}, [&](Expr i) -> Definition { return x(i) + x(i); })}), target);
  auto [block, thread] = s.split(s.loops(s.block("Y"))[0], {infer, 64});
  s.bind(block, Axis::block_x);
  s.bind(thread, Axis::thread_x);
  return s;
}

TEST(EmitShapes, AShapeOfAProgramWithSizesHasAConstantKernel) {
  std::vector<Rung> own = {{"", "sized", "for all sizes", sized, {128}, {1000}}};
  Called ran = call_main({"emit", "sized", "--shapes", "100,4096", "--standalone"}, own);
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.err, "");
  EXPECT_TRUE(contains(ran.out, "twice_100(const float *__restrict__ X, float *__restrict__ Y) {"));
  EXPECT_TRUE(contains(ran.out, "twice_symbolic(const float *__restrict__ X, float *__restrict__ Y, int N) {"));
  EXPECT_EQ(run_on_host(ran.out, 1000), 0);
  Called wrong = call_main({"emit", "sized", "--shapes", "5000"}, own);
  EXPECT_EQ(wrong.code, 2);
  EXPECT_TRUE(contains(wrong.err, "the size N of 'sized' must be from 1 to 4096, but the shape 5000 has 5000"));
}

/// The main function launches every listed shape and another one, through all kernels of the file.
TEST(EmitShapesStandalone, IsRightForEachShape) {
  struct Emitted {
    std::string arguments;
    std::vector<std::string> shapes;
  };
  for (const auto &[arguments, shapes] : std::vector<Emitted>{
           {"principles/unfused --shapes 100,64", {"100", "64", "101"}},
           {"deep_dive/shared --shapes 33x20x7,64x32x8", {"33x20x7", "64x32x8", "34x20x7"}},
           {"gemm/batched --shapes 2x8x9x10", {"2x8x9x10", "3x8x9x10"}},
           {"worklog/6 --shapes 64,65x66x67 --multiple-of 4", {"64x64x64", "65x66x67", "68x64x64"}}}) {
    Ran ran = nestsmith("emit " + arguments + " --standalone");
    EXPECT_EQ(ran.code, 0) << ran.err;
    std::string output;
    EXPECT_EQ(run_on_host(ran.out, 1000, &output), 0) << arguments << "\n" << output;
    for (const std::string &shape : shapes)
      EXPECT_TRUE(contains(output, "shape " + shape + "\ncheck: "));
  }
}

TEST(EmitShapes, JsonListsTheShapes) {
  Ran ran = nestsmith("emit ladder/warps --shapes 64,65 --json");
  EXPECT_EQ(ran.code, 0) << ran.err;
  llvm::json::Object root = *parsed(ran).getAsObject();
  const llvm::json::Array &shapes = *root.getArray("shapes");
  ASSERT_EQ(shapes.size(), 2U);
  const llvm::json::Object &second = *shapes[1].getAsObject();
  EXPECT_EQ(*second.getArray("shape"), llvm::json::Array({65, 65, 65}));
  EXPECT_EQ(*second.getString("variant"), "scalar");
  EXPECT_EQ(*second.getObject("knobs")->getString("bk"), "8");
  EXPECT_EQ(*second.getArray("kernels"), llvm::json::Array({"gemm_65x65x65"}));
  EXPECT_EQ(*second.getInteger("workspace_bytes"), 0);
  EXPECT_EQ(*root.getArray("symbolic_kernels"), llvm::json::Array({"gemm_symbolic"}));
  EXPECT_EQ(root.getArray("kernels")->size(), 3U);
  EXPECT_EQ(*root.getString("launcher"), "gemm_launch");
}

/// As in a heading: a default that was not asked for is not named.
TEST(EmitShapes, NamesTheKnobsThatWereSet) {
  const std::string emit = "emit deep_dive/naive --shapes 64x64x8";
  EXPECT_TRUE(contains(nestsmith(emit).out, "\n// 64x64x8\n"));
  EXPECT_TRUE(contains(nestsmith(emit + " --set threads=128").out, "\n// 64x64x8: threads=128\n"));
}

/// A program of two such files. C and C++ code calls their launchers through the headers.
TEST(EmitShapes, IsCalledFromCAndFromCpp) {
  const Nvcc nvcc;
  if (!nvcc.found())
    GTEST_SKIP() << "no nvcc on this machine";
  Scratch scratch;
  for (auto [rung, shapes, name] :
       {std::tuple{"ladder/warps", "64,65", "product"}, {"principles/unfused", "100,64", "relu"}}) {
    Ran ran = nestsmith(fmt::format("emit {} --shapes {} --name {} -o {}.cu --header {}.h", rung, shapes, name,
                                    scratch.path(name), scratch.path(name)));
    EXPECT_EQ(ran.code, 0) << ran.err;
  }
  scratch.write("main.c",
                "#include \"product.h\"\n#include \"relu.h\"\n"
                "int main(void) {\n"
                "  int good = product_requirement(0, 0, 0, 64, 64, 64, 64, 64, 64) != 0;\n"
                "  good = good && relu_workspace_bytes(100) == 400 && relu_workspace_bytes(7) == 28;\n"
                "  return good && relu_launch(0, 0, 100, 0, 0, 0) == cudaErrorInvalidValue ? 0 : 1;\n"
                "}\n");
  scratch.write("main.cpp", scratch.read("main.c"));
  Finished done =
      scratch.run("root=$(dirname \"$(dirname \"$(command -v nvcc)\")\")\n"
                  "flags=\"-Wall -Wextra -Werror -pedantic -isystem $root/include -c\"\n"
                  "nvcc -Xcompiler -Wall,-Wextra -c product.cu && nvcc -Xcompiler -Wall,-Wextra -c relu.cu && "
                  "cc -std=c11 $flags main.c -o c.o && c++ -std=c++11 $flags main.cpp -o cpp.o && "
                  "nvcc c.o product.o relu.o -o c && ./c && nvcc cpp.o product.o relu.o -o cpp && ./cpp",
                  "compile");
  EXPECT_EQ(done.status, 0) << done.output;
}

} // namespace
} // namespace nestsmith
