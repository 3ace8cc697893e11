/// Compares the instructions of the generated kernels with those of the kernels in bench/handwritten.

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <string>
#include <vector>

namespace nestsmith {
namespace {

const std::filesystem::path root = NESTSMITH_SOURCE_DIR;

std::filesystem::path generated(const std::string &rung, const std::string &shape) {
  return root / "tests/golden" / ("deep_dive_" + rung + "_" + shape + ".cu");
}
std::filesystem::path handwritten(const std::string &rung) {
  return root / "bench/handwritten" / (rung + ".cu");
}

/// Returns the lines of code, without comments and declarations of shared arrays.
std::string code_of(const std::filesystem::path &path) {
  std::ifstream file(path);
  EXPECT_TRUE(file) << path;
  std::string code;
  for (std::string line; std::getline(file, line);)
    if (line.find("__shared__") == std::string::npos)
      code += line.substr(0, line.find("//")) + "\n";
  return code;
}

int count(const std::string &code, const char *pattern) {
  std::regex regex(pattern);
  return static_cast<int>(std::distance(std::sregex_iterator(code.begin(), code.end(), regex), {}));
}

class CountsOfText : public testing::TestWithParam<std::string> {};

TEST_P(CountsOfText, BarriersAndAccessesAreThoseOfTheHandwrittenKernel) {
  std::string hand = code_of(handwritten(GetParam()));
  for (const char *shape : {"1024x1024x1024", "1000x777x333"}) {
    std::string ours = code_of(generated(GetParam(), shape));
    EXPECT_EQ(count(ours, "__syncthreads"), count(hand, "__syncthreads")) << shape;
    EXPECT_EQ(count(ours, "\\b[ABC]\\["), count(hand, "\\b[ABC]\\[")) << shape << ": accesses to global memory";
    EXPECT_EQ(count(ours, "_shared\\["), count(hand, "_tile\\[")) << shape << ": accesses to shared memory";
  }
}

TEST_P(CountsOfText, GuardsStandOnlyWhereThereIsATail) {
  std::string aligned = code_of(generated(GetParam(), "1024x1024x1024"));
  EXPECT_EQ(count(aligned, "\\bif\\b"), 0);
  EXPECT_EQ(count(aligned, "\\?"), 1) << "the one that keeps C unread where beta is 0";
}

/// Returns the whole output of a command.
std::string output_of(const std::string &command) {
  std::FILE *pipe = popen((command + " 2>&1").c_str(), "r");
  std::string text;
  for (int c; (c = std::fgetc(pipe)) != EOF;)
    text += static_cast<char>(c);
  pclose(pipe);
  return text;
}

/// The allowance is for what another release of the compiler makes of either.
TEST_P(CountsOfText, TheHottestLoopHasNoMoreInstructionsThanTheHandwrittenOne) {
  if (std::system("nvcc --version >/dev/null 2>&1") != 0 ||
      std::system("python3 --version >/dev/null 2>&1") != 0)
    GTEST_SKIP() << "no nvcc or no python3 on this machine";
  struct Case {
    const char *shape, *flags;
  };
  for (const Case &c :
       {Case{"1024x1024x1024", ""}, Case{"1000x777x333", "--nvcc-flag=-DSHAPE_M=1000 --nvcc-flag=-DSHAPE_N=777 "
                                                         "--nvcc-flag=-DSHAPE_K=333"}}) {
    std::string report =
        output_of("python3 '" + (root / "bench/count_loop.py").string() + "' --json " + c.flags + " '" +
                  generated(GetParam(), c.shape).string() + "' '" + handwritten(GetParam()).string() + "'");
    std::regex pattern("\"per_ffma\": ([0-9.]+)");
    std::vector<double> per_ffma;
    for (auto it = std::sregex_iterator(report.begin(), report.end(), pattern); it != std::sregex_iterator();
         ++it)
      per_ffma.push_back(std::stod((*it)[1]));
    ASSERT_EQ(per_ffma.size(), 2u) << report;
    EXPECT_LE(per_ffma[0], per_ffma[1] * 1.05) << c.shape << "\n" << report;
  }
}

INSTANTIATE_TEST_SUITE_P(Rungs, CountsOfText, testing::Values("naive", "coalesced", "shared", "tile1d"),
                         [](const auto &info) { return info.param; });

} // namespace
} // namespace nestsmith
