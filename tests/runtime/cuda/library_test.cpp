/// Tests the search for CUDA's libraries in folders that the test creates.

#include "runtime/cuda/library.h"
#include "runtime/cuda/trust.h"
#include "tests/files.h"
#include "tests/runtime/environment.h"

#include <algorithm>
#include <fstream>

#include <fmt/format.h>
#include <gtest/gtest.h>
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>
#endif

namespace fs = std::filesystem;

namespace nestsmith::cuda {
namespace {

using nestsmith::test::says;
using nestsmith::test::ScopedVariable;
using nestsmith::test::TemporaryFolder;

/// Returns a small system library that the tests copy to the searched folders.
fs::path any_library() {
  for (const char *folder : {"/lib/x86_64-linux-gnu", "/lib/aarch64-linux-gnu", "/lib64", "/usr/lib"})
    if (fs::path file = fs::path(folder) / "libutil.so.1"; fs::exists(file))
      return file;
  return {};
}

class LibrarySearch : public ::testing::Test {
protected:
  void SetUp() override {
    if (any_library().empty())
      GTEST_SKIP() << "this system has no libutil.so.1 to stand in for a CUDA library";
  }
  fs::path put(const fs::path &file) {
    fs::path target = folder.path() / file;
    fs::create_directories(target.parent_path());
    fs::copy_file(any_library(), target);
    return target;
  }
  /// Searches only the folders of the test, because this machine may have a CUDA installation.
  Search find(LibraryKind kind) {
#ifdef __SANITIZE_ADDRESS__
    __lsan::ScopedDisabler leaks; // an opened library that is not used leaks when it is closed
#endif
    return find_library(kind, [&](const Library &library) {
      return library.path.string().starts_with(folder.path().string()) ? "" : "is not the test's";
    });
  }
  TemporaryFolder folder;
};

TEST_F(LibrarySearch, FindsEveryLayoutUnderTheOverride) {
  for (const char *file : {"libnvrtc.so.13", "lib64/libnvrtc.so.12", "lib/libnvrtc.so.13",
                           "targets/x86_64-linux/lib/libnvrtc.so.12", "nvidia/cu13/lib/libnvrtc.so.13",
                           "nvidia/cuda_nvrtc/lib/libnvrtc.so.12"}) {
    fs::path expected = put(file);
    ScopedVariable variable("NESTSMITH_CUDA_PATH", "/nowhere:" + folder.path().string());
    Search search = find(LibraryKind::nvrtc);
    ASSERT_TRUE(search.library) << file;
    EXPECT_EQ(search.library->path, expected);
    EXPECT_TRUE(says(search.library->place, "NESTSMITH_CUDA_PATH"));
    fs::remove(expected);
  }
}

TEST_F(LibrarySearch, TakesTheNewerMajorVersionOfOneFolder) {
  put("lib64/libcublas.so.12");
  fs::path newer = put("lib64/libcublas.so.13");
  ScopedVariable variable("NESTSMITH_CUDA_PATH", folder.path().string());
  Search search = find(LibraryKind::cublas);
  ASSERT_TRUE(search.library);
  EXPECT_EQ(search.library->path, newer);
}

TEST_F(LibrarySearch, TheOverrideExcludesAllOtherPlaces) {
  put("home/lib64/libnvrtc.so.13");
  ScopedVariable home("CUDA_HOME", (folder.path() / "home").string());
  fs::create_directories(folder.path() / "empty");
  ScopedVariable variable("NESTSMITH_CUDA_PATH", (folder.path() / "empty").string());
  Search search = find_library(LibraryKind::nvrtc);
  EXPECT_FALSE(search.library);
  EXPECT_EQ(joined(search.looked), "NESTSMITH_CUDA_PATH=" + (folder.path() / "empty").string());
}

TEST_F(LibrarySearch, CudaHomeComesBeforeCudaPath) {
  ScopedVariable none("NESTSMITH_CUDA_PATH", std::nullopt);
  fs::path in_home = put("home/lib64/libnvrtc.so.12");
  fs::path in_path = put("path/lib64/libnvrtc.so.13");
  ScopedVariable home("CUDA_HOME", (folder.path() / "home").string());
  ScopedVariable path("CUDA_PATH", (folder.path() / "path").string());
  Search search = find(LibraryKind::nvrtc);
  ASSERT_TRUE(search.library);
  EXPECT_EQ(search.library->path, in_home);
  fs::remove(in_home);
  search = find(LibraryKind::nvrtc);
  ASSERT_TRUE(search.library);
  EXPECT_EQ(search.library->path, in_path);
}

TEST_F(LibrarySearch, FindsPythonPackages) {
  if (std::system("python3 -c '' >/dev/null 2>&1") != 0)
    GTEST_SKIP() << "no python3 in PATH";
  fs::path expected = put("site/nvidia/cu13/lib/libnvrtc.so.13");
  ScopedVariable none("NESTSMITH_CUDA_PATH", std::nullopt);
  ScopedVariable python("PYTHONPATH", (folder.path() / "site").string());
  Search search = find(LibraryKind::nvrtc);
  ASSERT_TRUE(search.library);
  EXPECT_EQ(search.library->path, expected);
  EXPECT_EQ(search.library->place, "packages of python3");
}

/// Opening a library executes its constructors. `refuse` is called for each library that was opened.
TEST_F(LibrarySearch, OpensNoLibraryThatOthersCanChange) {
  if (std::system("python3 -c '' >/dev/null 2>&1") != 0)
    GTEST_SKIP() << "no python3 in PATH";
  fs::path library = put("site/nvidia/cu13/lib/libnvrtc.so.13");
  ScopedVariable none("NESTSMITH_CUDA_PATH", std::nullopt);
  ScopedVariable python("PYTHONPATH", (folder.path() / "site").string());
  auto expect_refused = [&](const fs::path &changed, const std::string &why) {
    std::vector<std::string> opened;
    Search search = find_library(LibraryKind::nvrtc, [&](const Library &candidate) {
      opened.push_back(candidate.path.string());
      return "is not wanted";
    });
    EXPECT_EQ(std::count(opened.begin(), opened.end(), library.string()), 0) << changed;
    EXPECT_TRUE(says(joined(search.looked), library.string() + " is not loaded: " + why + changed.string()));
    EXPECT_TRUE(says(joined(search.looked), "if you trust it, name its folder with NESTSMITH_CUDA_PATH"));
  };
  for (const fs::path &part : {library, folder.path() / "site"}) { // all cases: trust_test.cpp
    fs::perms before = fs::status(part).permissions();
    fs::permissions(part, fs::perms::others_write, fs::perm_options::add);
    expect_refused(part, "other users can write to ");
    fs::permissions(part, before);
  }
  fs::permissions(library.parent_path(), fs::perms::all | fs::perms::sticky_bit);
  expect_refused(library.parent_path(), "other users can write to ");
  // The user may name the folder explicitly.
  ScopedVariable named("NESTSMITH_CUDA_PATH", (folder.path() / "site").string());
  EXPECT_TRUE(find(LibraryKind::nvrtc).library);
}

TEST_F(LibrarySearch, ARelativeFolderIsNeverSearched) {
  put("lib64/libnvrtc.so.13");
  fs::path before = fs::current_path();
  fs::current_path(folder.path());
  for (const auto &[variable, value] :
       {std::pair("NESTSMITH_CUDA_PATH", "."), {"NESTSMITH_CUDA_PATH", "lib64"}, {"CUDA_HOME", "./lib64"}}) {
    ScopedVariable none("NESTSMITH_CUDA_PATH", std::nullopt);
    ScopedVariable relative(variable, value);
    Search search = find(LibraryKind::nvrtc);
    EXPECT_FALSE(search.library) << variable << " " << value;
    EXPECT_TRUE(says(joined(search.looked),
                     fmt::format("{0}={1} (without '{1}', which is not an absolute path)", variable, value)));
  }
  fs::current_path(before);
}

TEST_F(LibrarySearch, ARelativeFolderOfTheLoaderIsSeen) {
  put("sub/glibc-hwcaps/x86-64-v2/libnvrtc.so.13");
  fs::path before = fs::current_path();
  fs::current_path(folder.path());
  for (const auto &[list, found] :
       {std::pair("sub", true), {":/nowhere/sub", false}, {"/nowhere:sub:/usr", true}, {"/nowhere", false}}) {
    ScopedVariable variable("LD_LIBRARY_PATH", list);
    EXPECT_EQ(relative_library("libnvrtc.so.13").has_value(), found) << list;
  }
  put("libnvrtc.so.13");
  for (const auto &[list, found] : {std::pair(":/nowhere", true),
                                    {"/nowhere:", true},
                                    {"/a::/b", true},
                                    {"", false},
                                    {"/nowhere", false}}) {
    ScopedVariable variable("LD_LIBRARY_PATH", list);
    EXPECT_EQ(relative_library("libnvrtc.so.13").has_value(), found) << list;
  }
  fs::current_path(before);
}

TEST_F(LibrarySearch, SaysWhyALibraryWasPassedOver) {
  fs::path broken = folder.path() / "libnvrtc.so.13";
  std::ofstream(broken) << "no library\n";
  fs::path refused = put("libnvrtc.so.12");
  ScopedVariable variable("NESTSMITH_CUDA_PATH", folder.path().string());
  Search search = find_library(LibraryKind::nvrtc, [](const Library &) { return "is too old"; });
  EXPECT_FALSE(search.library);
  EXPECT_TRUE(says(joined(search.looked), broken.string() + " cannot be opened: "));
  EXPECT_EQ(std::count(search.looked.begin(), search.looked.end(), refused.string() + ": is too old"), 1);
}

TEST_F(LibrarySearch, TheDriverIsNeverTheStubOfAToolkit) {
  put("lib64/stubs/libcuda.so");
  put("lib64/libcuda.so");
  ScopedVariable variable("NESTSMITH_CUDA_PATH", folder.path().string());
  EXPECT_FALSE(find(LibraryKind::driver).library);
  fs::path driver = put("lib64/libcuda.so.1");
  Search search = find(LibraryKind::driver);
  ASSERT_TRUE(search.library);
  EXPECT_EQ(search.library->path, driver);
}

TEST_F(LibrarySearch, GivesTheFunctionsOfALibrary) {
  put("libcuda.so.1");
  ScopedVariable variable("NESTSMITH_CUDA_PATH", folder.path().string());
  Search search = find(LibraryKind::driver);
  ASSERT_TRUE(search.library);
  EXPECT_EQ(search.library->symbol("no_such_function"), nullptr);
  EXPECT_EQ(search.library->resolver()("no_such_function"), nullptr);
}

TEST(Headers, AreFoundBesideTheLibraryThenUnderTheOverride) {
  TemporaryFolder folder;
  auto put = [&](const fs::path &file) {
    fs::create_directories((folder.path() / file).parent_path());
    std::ofstream(folder.path() / file) << "\n";
  };
  ScopedVariable variable("NESTSMITH_CUDA_PATH", folder.path().string());
  EXPECT_EQ(find_headers(), std::nullopt);
  put("nvidia/cuda_runtime/include/cuda_fp16.h");
  EXPECT_EQ(find_headers(), folder.path() / "nvidia/cuda_runtime/include");
  put("include/cuda_fp16.h");
  EXPECT_EQ(find_headers(), folder.path() / "include");
  put("other/include/cuda_fp16.h");
  EXPECT_EQ(find_headers(folder.path() / "other/lib/libnvrtc.so.13"), folder.path() / "other/include");
  EXPECT_EQ(find_headers(folder.path() / "third/lib/libnvrtc.so.13"), folder.path() / "include");
}

} // namespace
} // namespace nestsmith::cuda
