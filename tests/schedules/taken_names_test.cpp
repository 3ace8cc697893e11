/// Uses every name in the headers of the compilers as the name of a kernel, a parameter, a local and a member.
/// The emitted text must compile.

#include "codegen/names.h"
#include "runtime/cuda/nvrtc.h"
#include "tests/codegen/scratch.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <set>

namespace nestsmith {
namespace {

constexpr const char *headers =
    "#include <cuda_runtime.h>\n#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n"
    "#include <algorithm>\n#include <cmath>\n#include <cstdio>\n#include <cstdlib>\n"
    "#include <cstring>\n#include <vector>\n";

/// Returns the identifiers and macros in the headers that an emitted file and a standalone file include.
std::set<std::string> names_of_headers(const Scratch &folder) {
  folder.write("headers.cu", headers);
  folder.run("nvcc -E headers.cu -o text", "text.log");
  folder.run("nvcc -E -Xcompiler -dM headers.cu -o macros", "macros.log");
  std::set<std::string> names;
  std::string word;
  for (char c : folder.read("text") + "\n" + folder.read("macros") + "\n")
    if (std::isalnum(static_cast<unsigned char>(c)) || c == '_') {
      word += c;
    } else {
      if (!word.empty() && !std::isdigit(static_cast<unsigned char>(word.front())))
        names.insert(word);
      word.clear();
    }
  return names;
}

/// Returns a kernel for each name, and functions with a parameter and a local of this name.
std::string kernels(const std::set<std::string> &names) {
  std::set<std::string> linked, local;
  for (const std::string &name : names) {
    linked.insert(linked_identifier(name));
    local.insert(identifier(name));
  }
  std::string text;
  for (const std::string &name : linked)
    text += fmt::format("extern \"C\" __global__ void {}(const float *x_0, float *y_0);\n", name);
  int n = 0;
  for (const std::string &name : local)
    text +=
        fmt::format("static __device__ __forceinline__ float f_{0}_0(const float *{1}) {{ return {1}[0]; }}\n"
                    "static __device__ __forceinline__ float g_{0}_0(float x_0) {{ const float {1} = x_0; "
                    "return {1}; }}\n",
                    ++n, name);
  return text;
}

std::string members(const std::set<std::string> &names) {
  std::string text;
  int n = 0;
  for (const std::string &name : names)
    text += fmt::format("struct S_{0}_0 {{ const float *{1}; float *{1}_reference; }};\n"
                        "static inline float h_{0}_0(const float *{1}) {{ return {1}[0]; }}\n",
                        ++n, identifier(name));
  return text;
}

TEST(TakenNames, OfEveryHeaderCompileWithNvcc) {
  Scratch folder;
  if (folder.run("nvcc --version", "version").status != 0)
    GTEST_SKIP() << "no nvcc on this machine";
  std::set<std::string> names = names_of_headers(folder);
  ASSERT_GT(names.size(), 3000U);
  for (const char *known : {"sincos", "rsqrtf", "fmaf", "clock64", "select", "getenv", "uint", "M_PI"})
    EXPECT_TRUE(names.contains(known)) << known;
  folder.write("names.cu", headers + kernels(names) + members(names));
  Finished device = folder.run("nvcc -w -arch=sm_90 -cuda names.cu -o names.ii", "nvcc.log");
  EXPECT_EQ(device.status, 0) << device.output.substr(0, 4000);
  Finished host = folder.run("c++ -std=c++17 -w -fsyntax-only -x c++ names.ii", "host.log");
  EXPECT_EQ(host.status, 0) << host.output.substr(0, 4000);
}

/// NVRTC declares its own functions, and no functions of the C library.
TEST(TakenNames, OfEveryHeaderCompileWithNvrtc) {
  Scratch folder;
  if (folder.run("nvcc --version", "version").status != 0)
    GTEST_SKIP() << "no nvcc on this machine, which lists the names";
  try {
    cuda::Nvrtc::get();
  } catch (const UserError &error) {
    GTEST_SKIP() << "needs NVRTC: " << error.what();
  }
  std::set<std::string> names = names_of_headers(folder);
  std::string one = "extern \"C\" __global__ void one_0(float *y_0) { y_0[0] = 1.0f; }\n";
  EXPECT_NO_THROW(cuda::Nvrtc::get().compile(kernels(names) + one, "one_0", "sm_90", nullptr, {"-w"}));
}

} // namespace
} // namespace nestsmith
