#include "runtime/cache.h"
#include "tests/runtime/environment.h"

#include <atomic>
#include <fstream>
#include <iterator>
#include <sys/wait.h>
#include <thread>

#include <gtest/gtest.h>

namespace fs = std::filesystem;

namespace nestsmith {
namespace {

using nestsmith::test::says;
using nestsmith::test::ScopedVariable;
using nestsmith::test::TemporaryFolder;

const std::string payload = std::string("\x7f"
                                        "ELF\0\n\xff",
                                        7) +
                            std::string(10000, 'x');

fs::path only_file(const fs::path &folder) {
  std::vector<fs::path> files(fs::directory_iterator(folder), fs::directory_iterator{});
  EXPECT_EQ(files.size(), 1u);
  return files.at(0);
}

std::string read(const fs::path &file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

TEST(KernelCache, KeepsAnEntryBetweenObjects) {
  TemporaryFolder folder;
  std::string key = KernelCache::key({"source", "sm_80"});
  KernelCache first(folder.path() / "deep/er");
  EXPECT_EQ(first.get(key), std::nullopt);
  first.put(key, payload);
  EXPECT_EQ(first.note(), "");
  EXPECT_EQ(KernelCache(folder.path() / "deep/er").get(key), payload);
  EXPECT_EQ(first.get(KernelCache::key({"source", "sm_90"})), std::nullopt);
  only_file(folder.path() / "deep/er"); // no temporary file is left
}

TEST(KernelCache, AnEmptyPayloadIsAnEntry) {
  TemporaryFolder folder;
  KernelCache cache(folder.path());
  cache.put(KernelCache::key({"k"}), "");
  EXPECT_EQ(cache.get(KernelCache::key({"k"})), "");
}

TEST(KernelCache, KeysTellPartsApart) {
  EXPECT_NE(KernelCache::key({"ab", "c"}), KernelCache::key({"a", "bc"}));
  EXPECT_NE(KernelCache::key({"a"}), KernelCache::key({"a", ""}));
  EXPECT_EQ(KernelCache::key({"a", "b"}), KernelCache::key({"a", "b"}));
}

TEST(KernelCache, ADamagedEntryIsMissingUntilItIsWrittenAgain) {
  TemporaryFolder folder;
  KernelCache cache(folder.path());
  std::string key = KernelCache::key({"k"});
  cache.put(key, payload);
  fs::path file = only_file(folder.path());
  const std::string whole = read(file);
  std::vector<std::string> damaged = {
      "", "something else", whole.substr(0, whole.size() - 1), whole + "x", whole.substr(0, 40), whole, whole};
  damaged[5][whole.size() / 2] ^= 1; // in the payload
  damaged[6][30] ^= 1;               // in the checksum
  for (const std::string &content : damaged) {
    std::ofstream(file, std::ios::binary | std::ios::trunc) << content;
    EXPECT_EQ(cache.get(key), std::nullopt);
    cache.put(key, payload);
    EXPECT_EQ(cache.get(key), payload);
  }
}

TEST(KernelCache, WorksWithoutAFolderThatCanBeWritten) {
  TemporaryFolder folder;
  std::ofstream(folder.path() / "file") << "\n";
  KernelCache cache(folder.path() / "file" / "cache");
  std::string key = KernelCache::key({"k"});
  EXPECT_EQ(cache.note(), "");
  cache.put(key, payload);
  EXPECT_EQ(cache.get(key), std::nullopt);
  EXPECT_TRUE(says(cache.note(), "kernels are not cached: " + cache.directory().string() +
                                     " cannot be written (Not a directory); set NESTSMITH_CACHE"));
  EXPECT_TRUE(says(cache.why_not_writable(), "Not a directory"));
  EXPECT_EQ(KernelCache(folder.path() / "file").why_not_writable(),
            (folder.path() / "file").string() + " is not a folder");
}

TEST(KernelCache, WithoutAFolderSaysSo) {
  KernelCache cache("");
  cache.put("k", payload);
  EXPECT_EQ(cache.get("k"), std::nullopt);
  EXPECT_EQ(cache.note(), "kernels are not cached: neither NESTSMITH_CACHE nor HOME is set");
}

TEST(KernelCache, LookingWhetherItCanBeWrittenLeavesNothing) {
  TemporaryFolder folder;
  EXPECT_EQ(KernelCache(folder.path() / "new/cache").why_not_writable(), "");
  EXPECT_EQ(KernelCache(folder.path()).why_not_writable(), "");
  EXPECT_TRUE(fs::is_empty(folder.path()));
}

TEST(KernelCache, LivesWhereTheEnvironmentSays) {
  ScopedVariable own("NESTSMITH_CACHE", "/own");
  ScopedVariable xdg("XDG_CACHE_HOME", "/xdg");
  ScopedVariable home("HOME", "/home/someone");
  EXPECT_EQ(KernelCache::standard_directory(), "/own");
  ScopedVariable no_own("NESTSMITH_CACHE", std::nullopt);
  EXPECT_EQ(KernelCache::standard_directory(), "/xdg/nestsmith");
  ScopedVariable relative("XDG_CACHE_HOME", "relative"); // to be ignored, says the XDG specification
  EXPECT_EQ(KernelCache::standard_directory(), "/home/someone/.cache/nestsmith");
  ScopedVariable no_home("HOME", std::nullopt);
  EXPECT_EQ(KernelCache::standard_directory(), "");
}

TEST(KernelCache, ProcessesThatShareItSeeWholeEntries) {
  TemporaryFolder folder;
  std::string key = KernelCache::key({"k"});
  auto payload_of = [](int i) {
    return std::string(50000 + static_cast<std::size_t>(i), static_cast<char>('a' + i));
  };
  KernelCache(folder.path()).put(key, payload_of(0));
  std::vector<pid_t> writers;
  for (int i = 0; i < 2; ++i) {
    pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      KernelCache cache(folder.path());
      for (int round = 0; round < 200; ++round)
        cache.put(key, payload_of(i));
      _exit(cache.note().empty() ? 0 : 1);
    }
    writers.push_back(child);
  }
  KernelCache cache(folder.path());
  for (int round = 0; round < 200; ++round) {
    std::optional<std::string> entry = cache.get(key);
    ASSERT_TRUE(entry);
    EXPECT_TRUE(*entry == payload_of(0) || *entry == payload_of(1));
  }
  for (pid_t writer : writers) {
    int status = 0;
    ASSERT_EQ(waitpid(writer, &status, 0), writer);
    EXPECT_EQ(status, 0);
  }
  only_file(folder.path());
}

} // namespace
} // namespace nestsmith
