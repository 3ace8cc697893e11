/// Tests options of `emit`: names, the header, and files that belong together.

#include "tests/codegen/nvcc.h"
#include "tests/golden.h"
#include "tests/tools/run_binary.h"

#include <regex>
#include <set>

namespace nestsmith {
namespace {

using test::contains;
using test::matches;
using test::nestsmith;
using test::parsed;
using test::Ran;
using test::read_file;
using test::TemporaryFolder;

/// Returns a prefix that runs the command in a folder.
std::string from(const TemporaryFolder &folder) {
  return "sh -c 'cd \"" + folder.string() + "\" && exec \"$@\"' sh";
}

/// Returns the names that a file defines: each name before a parenthesis after `extern "C"`.
std::set<std::string> exported(const std::string &text) {
  static const std::regex name("extern \"C\"[^(]*(?:__launch_bounds__\\([^)]*\\)\\s*)?\\b(\\w+)\\(");
  std::set<std::string> names;
  for (std::sregex_iterator it(text.begin(), text.end(), name), end; it != end; ++it)
    names.insert((*it)[1]);
  return names;
}

TEST(Emit, SaysThatAHashOfRingModeIsForTests) {
  EXPECT_TRUE(contains(
      nestsmith("emit softmax/naive --dtype u8 --shape 8x8").out,
      "\n// For tests only: on u8, a hash stands in for functions such as exp and relu (ring mode)\n"));
  EXPECT_FALSE(contains(nestsmith("emit softmax/naive --shape 8x8").out, "For tests only"));
  EXPECT_FALSE(contains(nestsmith("emit ladder/naive --dtype u32 --shape 8x8x8").out, "For tests only"));
}

TEST(Emit, SaysHowAFileOfAnArchitectureWithASuffixIsCompiled) {
  EXPECT_TRUE(contains(nestsmith("emit hopper/wgmma --dtype bf16 --arch sm_90a").out,
                       "\n#error \"wgmma needs an architecture such as sm_90a: -gencode "
                       "arch=compute_90a,code=sm_90a\"\n#endif\n"));
  EXPECT_FALSE(contains(nestsmith("emit ladder/warps --arch sm_90a").out, "#error"));
}

TEST(EmitName, NamesTheKernelAndWhatIsMadeOfIt) {
  for (const char *form :
       {"", " --symbolic", " --standalone --shape 64x64x8", " --standalone --symbolic --shape 9x9x9"}) {
    Ran ran = nestsmith("emit deep_dive/naive --name product" + std::string(form));
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_EQ(exported(ran.out), (std::set<std::string>{"product", "product_requirement", "product_launch"}));
    EXPECT_FALSE(matches(ran.out, "\\bgemm\\b"));
  }
  Ran several = nestsmith("emit principles/unfused --name relu --shape 100");
  EXPECT_EQ(exported(several.out), (std::set<std::string>{"relu_t", "relu_y", "relu_requirement", "relu_launch",
                                                          "relu_workspace_bytes"}));
  Ran json = nestsmith("emit principles/unfused --name relu --json");
  EXPECT_TRUE(contains(json.out, "\"relu_t\""));
  EXPECT_TRUE(contains(json.out, "\"launcher\": \"relu_launch\""));
  EXPECT_TRUE(contains(json.out, "\"requirement\": \"relu_requirement\""));
}

TEST(EmitName, OfAParameterIsRefused) {
  for (auto [name, what] : {std::pair{"A", "an array"}, {"alpha", "a scalar"}, {"ldb", "a size"}}) {
    Ran ran = nestsmith(std::string("emit deep_dive/naive --symbolic --name ") + name);
    EXPECT_EQ(ran.code, 2) << name;
    EXPECT_TRUE(contains(ran.err, std::string("--name '") + name + "' is the name of " + what)) << ran.err;
  }
}

TEST(Emit, RefusesAFileWithoutAName) {
  for (const char *options : {"--header '' -o x.cu", "--header x.h -o ''", "-o ''"}) {
    Ran ran = nestsmith(std::string("emit deep_dive/naive ") + options);
    EXPECT_EQ(ran.code, 2) << options;
    EXPECT_TRUE(contains(ran.err, "needs a file's path, got ''")) << ran.err;
  }
}

/// In every form, the #line directives must refer to the schedule of the rung, and after a kernel to the file
/// itself.
TEST(EmitLines, AreInEveryForm) {
  TemporaryFolder folder;
  for (const char *form : {"", " --symbolic", " --standalone"}) {
    Ran ran = nestsmith("emit deep_dive/shared --line-info -o " + (folder / "shared.cu").string() + form);
    EXPECT_EQ(ran.code, 0) << ran.err;
    std::string text = read_file((folder / "shared.cu").string());
    EXPECT_TRUE(matches(text, "\n#line [0-9]+ \"[^\"]*schedules/deep_dive/shared.cpp\"\n")) << form;
    EXPECT_TRUE(matches(text, "\n#line [0-9]+ \"shared.cu\"\n")) << form;
    EXPECT_FALSE(contains(text, "// #line")) << form;
  }
  EXPECT_TRUE(contains(nestsmith("emit deep_dive/shared --line-info").out, "\"gemm.cu\""))
      << "stdout has no name";
}

TEST(EmitLines, OfATraceAreUnknown) {
  TemporaryFolder folder;
  Ran trace = nestsmith("show deep_dive/shared --trace json");
  test::write_file((folder / "trace.json").string(), trace.out);
  Ran ran = nestsmith("emit " + (folder / "trace.json").string() + " --line-info");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_FALSE(contains(ran.out, "#line"));
  EXPECT_TRUE(contains(ran.err, "--line-info adds nothing to ")) << ran.err;
}

TEST(EmitName, ThatIsTakenIsRefusedWithTheReason) {
  for (auto [name, why] : {std::pair{"9x", "not a C identifier"},
                           {"a-b", "not a C identifier"},
                           {"''", "not a C identifier"},
                           {"_a", "reserved for the compiler"},
                           {"a_", "reserved for the compiler"},
                           {"FILE", "uses this name"},
                           {"va_list", "uses this name"},
                           {"offsetof", "uses this name"},
                           {"while", "a keyword of C or C++"},
                           {"restrict", "a keyword of C or C++"},
                           {"cudaFree", "CUDA reserves names with this prefix"},
                           {"printf", "a function of the C library"},
                           {"MY_KERNEL", "macros"},
                           {"blockIdx", "uses this name"},
                           {"float4", "uses this name"}}) {
    Ran ran = nestsmith(std::string("emit deep_dive/naive --name ") + name);
    EXPECT_EQ(ran.code, 2) << name;
    EXPECT_TRUE(contains(ran.err, "cannot be the name of a kernel: ")) << name;
    EXPECT_TRUE(contains(ran.err, why)) << name;
    EXPECT_EQ(ran.out, "");
  }
}

/// The parameters must be the same for the kernel of one shape and for the symbolic kernel.
TEST(EmitSizes, AreNamedAndTypedAlikeInBothLaunchers) {
  auto signature = [](const std::string &arguments) {
    Ran ran = nestsmith("emit " + arguments);
    EXPECT_EQ(ran.code, 0) << ran.err;
    std::size_t begin = ran.out.find("_launch("), end = ran.out.find(')', begin);
    return std::regex_replace(ran.out.substr(begin, end - begin), std::regex("\\s+"), " ");
  };
  for (const char *rung : {"deep_dive/shared", "gemm/tt", "gemm/bias_relu", "gemm/batched",
                           "principles/divergent", "principles/unfused", "ladder/warps"}) {
    SCOPED_TRACE(rung);
    std::string constant = signature(rung);
    EXPECT_EQ(constant, signature(std::string(rung) + " --symbolic"));
    EXPECT_TRUE(contains(constant, "long long "));
    EXPECT_FALSE(matches(constant, " int "));
  }
  EXPECT_TRUE(contains(signature("gemm/batched"), "long long batch, long long M, long long N, long long K, "
                                                  "long long lda, long long ldb, long long ldc, float alpha"));
  TemporaryFolder folder;
  std::string trace = (folder / "t.json").string();
  nestsmith("show deep_dive/shared --trace json -o " + trace);
  EXPECT_EQ(signature(trace), signature("deep_dive/shared"));
}

TEST(EmitHeader, DeclaresWhatTheFileDefines) {
  TemporaryFolder folder;
  std::string cu = (folder / "k.cu").string(), h = (folder / "k.h").string();
  Ran ran = nestsmith("emit principles/unfused --symbolic --name relu -o " + cu + " --header " + h);
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(folder.files(), 2U);
  std::string text = read_file(cu), header = read_file(h);
  EXPECT_TRUE(contains(text, "\n#include \"k.h\"\n"));
  for (const char *part :
       {"#ifndef NESTSMITH_relu_H\n#define NESTSMITH_relu_H\n", "#ifdef __cplusplus\nextern \"C\" {\n#endif\n",
        "cudaError_t relu_launch(const float *x, float *y, long long N, void *workspace,",
        "const char *relu_requirement(", "size_t relu_workspace_bytes(long long N);",
        "float [N], row-major, read", "  - N must be from 0 to 1073741824\n",
        "  - workspace must be aligned to 256 bytes\n", "If N is 0, nothing is launched"})
    EXPECT_TRUE(contains(header, part));
  for (const std::string &line : {text, header})
    EXPECT_FALSE(matches(line, "[ \t]$"));
}

/// The #include must name the header relative to the .cu file.
TEST(EmitHeader, IsIncludedFromAnotherFolder) {
  TemporaryFolder folder;
  std::filesystem::create_directories(folder / "src");
  std::filesystem::create_directories(folder / "include");
  Ran ran = nestsmith("emit deep_dive/naive -o " + (folder / "src/k.cu").string() + " --header " +
                      (folder / "include/k.h").string());
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_TRUE(contains(read_file(folder / "src/k.cu"), "\n#include \"../include/k.h\"\n"));
  Ran here = nestsmith("emit deep_dive/naive -o k.cu --header ./k.h", from(folder));
  EXPECT_EQ(here.code, 0) << here.err;
  EXPECT_TRUE(contains(read_file(folder / "k.cu"), "\n#include \"k.h\"\n"));
}

TEST(EmitHeader, WithWhatItCannotBeIsRefused) {
  TemporaryFolder folder;
  std::filesystem::create_directories(folder / "folder");
  std::string a = (folder / "a").string();
  test::write_file(a, "old");
  std::filesystem::create_symlink(a, folder / "link");
  std::filesystem::create_hard_link(a, folder / "hard");
  auto refused = [&](const std::string &options, const std::string &why) {
    Ran ran = nestsmith("emit deep_dive/naive " + options, from(folder));
    EXPECT_EQ(ran.code, 2) << options;
    EXPECT_TRUE(contains(ran.err, why)) << options;
    EXPECT_EQ(read_file(a), "old");
    EXPECT_EQ(folder.files(), 4U);
  };
  refused("--header x.h", "give -o FILE too");
  refused("--header x.h --standalone -o x.cu", "leave out --header or --standalone");
  for (const char *same : {"a", "./a", "folder/../a", "link", "hard"})
    refused(std::string("-o a --header ") + same, "are one file; give two");
  refused("-o new --header ./new", "are one file; give two");
  refused("-o a --header 'x\"y.h'", "cannot stand in an #include");
  refused("-o a --header folder", "Is a directory; nothing was written");
  refused("-o a --header none/x.h", "No such file or directory; nothing was written");
  refused("-o none/x.cu --header a", "No such file or directory; nothing was written");
  refused("-o a --header /dev/null", "it is not a regular file");
}

/// NVRTC is hidden, because its version would be in a comment.
TEST(EmitHeader, OfTheExampleIsWhatIsEmitted) {
  TemporaryFolder folder;
  std::string relu = (folder / "relu").string();
  Ran ran = nestsmith("emit principles/unfused --symbolic --arch sm_90 --name relu -o " + relu +
                          ".cu --header " + relu + ".h",
                      "NESTSMITH_CUDA_PATH=/nonexistent");
  EXPECT_EQ(ran.code, 0) << ran.err;
  for (const char *file : {"relu.cu", "relu.h"})
    EXPECT_TRUE(
        matches_golden(std::string("../../examples/use_the_cu/emitted/") + file, read_file(folder / file)));
}

/// Pointers to narrow floats and to bool must have types that exist in C.
TEST(EmitHeader, IsTakenByCAndByCpp) {
  TemporaryFolder folder;
  const Nvcc nvcc;
  if (!nvcc.found())
    GTEST_SKIP() << "no nvcc on this machine";
  Scratch scratch;
  for (const char *dtype : {"f32", "f16", "bf16", "u32"}) {
    Ran ran = nestsmith(std::string("emit deep_dive/naive --symbolic --dtype ") + dtype + " -o " +
                        scratch.path("k.cu") + " --header " + scratch.path("k.h"));
    EXPECT_EQ(ran.code, 0) << ran.err;
    scratch.write("c.c", "#include \"k.h\"\n#include \"k.h\"\n"
                         "const char *f(void) { return gemm_requirement(0, 0, 0, 1, 1, 1, 1, 1, 1); }\n");
    scratch.write("cpp.cpp", scratch.read("c.c"));
    Finished done = scratch.run("root=$(dirname \"$(dirname \"$(command -v nvcc)\")\")\n"
                                "flags=\"-Wall -Wextra -Werror -pedantic -isystem $root/include -c -o x.o\"\n"
                                "nvcc -Xcompiler -Wall,-Wextra -c k.cu -o k.o && cc -std=c11 $flags c.c && "
                                "c++ -std=c++11 $flags cpp.cpp && c++ -std=c++20 $flags cpp.cpp",
                                "compile");
    EXPECT_EQ(done.status, 0) << dtype << "\n" << done.output;
  }
}

} // namespace
} // namespace nestsmith
