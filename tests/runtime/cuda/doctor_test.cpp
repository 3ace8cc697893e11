/// Tests the report of `nestsmith doctor` about the libraries of this machine.

#include "runtime/cuda/cache.h"
#include "runtime/cuda/cublas.h"
#include "runtime/cuda/doctor.h"
#include "runtime/cuda/nvrtc.h"
#include "tests/runtime/environment.h"

#include <gtest/gtest.h>

namespace nestsmith {
namespace {

using test::says;
using test::ScopedVariable;

TEST(Doctor, HasAnAnswerForEveryItemAndAdviceForWhatIsMissing) {
  DoctorReport report = examine_machine();
  std::vector<std::string> keys;
  for (const DoctorItem &item : report.items) {
    keys.push_back(item.key);
    EXPECT_FALSE(item.name.empty()) << item.key;
    EXPECT_FALSE(item.detail.empty()) << item.key;
    EXPECT_EQ(item.advice.empty(), item.found) << item.key;
  }
  EXPECT_EQ(keys, (std::vector<std::string>{"gpu", "nvrtc", "cublas", "headers", "occupancy", "cache", "cpu"}));
  EXPECT_TRUE(report.item("cpu").found);
}

TEST(Doctor, NamesWhereEachLibraryWasLookedFor) {
  ScopedVariable variable("NESTSMITH_CUDA_PATH", "/nowhere/at/all");
  DoctorReport report = examine_machine();
  for (const char *key : {"nvrtc", "cublas"}) {
    EXPECT_FALSE(report.item(key).found);
    EXPECT_TRUE(says(report.item(key).detail, "(searched: NESTSMITH_CUDA_PATH=/nowhere/at/all)"));
  }
  EXPECT_FALSE(report.item("headers").found);
  EXPECT_EQ(report.item("headers").detail, "cuda_fp16.h not found; kernels of f16 and bf16 include it");
  EXPECT_TRUE(says(report.item("nvrtc").advice, "./run.sh --cuda 13"));
  EXPECT_TRUE(says(report.item("cublas").advice, "pip install nvidia-cublas"));
}

TEST(Doctor, DescribesTheNvrtcThatCompiles) {
  try {
    const cuda::Nvrtc &nvrtc = cuda::Nvrtc::get();
    DoctorReport report = examine_machine();
    const DoctorItem &item = report.item("nvrtc");
    EXPECT_TRUE(item.found);
    EXPECT_TRUE(says(item.detail, nvrtc.version() + " in " + nvrtc.library().path.string()));
    EXPECT_TRUE(says(item.detail, "compiles for sm_"));
    EXPECT_EQ(item.facts.at(0), std::make_pair(std::string("version"), nvrtc.version()));
  } catch (const UserError &error) {
    GTEST_SKIP() << "needs NVRTC: " << error.what();
  }
}

TEST(Doctor, FindsTheCublasThatIsHere) {
  std::vector<std::string> looked;
  auto cublas = cuda::find_cublas(looked);
  if (!cublas)
    GTEST_SKIP() << "needs cuBLAS; searched: " << cuda::joined(looked);
  DoctorReport report = examine_machine();
  const DoctorItem &item = report.item("cublas");
  EXPECT_TRUE(item.found);
  EXPECT_TRUE(says(item.detail, cublas->version + " in " + cublas->path.string()));
  EXPECT_GE(std::stoi(cublas->version), 12);
}

} // namespace
} // namespace nestsmith
