/// Tests the disk cache: entries, damaged files, concurrent and killed processes, and access rights.

#include "runtime/cuda/cache.h"
#include "tests/files.h"
#include "tests/runtime/environment.h"
#include "tests/runtime/trouble.h"

#include <atomic>
#include <fstream>
#include <sys/stat.h>
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

TEST(DiskCache, KeepsAnEntryBetweenObjects) {
  TemporaryFolder folder;
  std::string key = DiskCache::key({"source", "sm_80"});
  DiskCache first(folder.path() / "deep/er");
  EXPECT_EQ(first.get(key), std::nullopt);
  first.put(key, payload);
  EXPECT_EQ(first.note(), "");
  EXPECT_EQ(DiskCache(folder.path() / "deep/er").get(key), payload);
  EXPECT_EQ(first.get(DiskCache::key({"source", "sm_90"})), std::nullopt);
  only_file(folder.path() / "deep/er"); // the writer leaves no temporary file
}

TEST(DiskCache, AnEmptyPayloadIsAnEntry) {
  TemporaryFolder folder;
  DiskCache cache(folder.path());
  cache.put(DiskCache::key({"k"}), "");
  EXPECT_EQ(cache.get(DiskCache::key({"k"})), "");
}

TEST(DiskCache, KeysTellPartsApart) {
  EXPECT_NE(DiskCache::key({"ab", "c"}), DiskCache::key({"a", "bc"}));
  EXPECT_NE(DiskCache::key({"a"}), DiskCache::key({"a", ""}));
  EXPECT_EQ(DiskCache::key({"a", "b"}), DiskCache::key({"a", "b"}));
}

TEST(DiskCache, ADamagedEntryIsMissingUntilItIsWrittenAgain) {
  TemporaryFolder folder;
  DiskCache cache(folder.path());
  std::string key = DiskCache::key({"k"});
  cache.put(key, payload);
  fs::path file = only_file(folder.path());
  const std::string whole = test::read_file(file);
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

/// Removes or changes each byte in turn.
TEST(DiskCache, EveryDamageIsSeen) {
  TemporaryFolder folder;
  DiskCache cache(folder.path());
  std::string key = DiskCache::key({"k"});
  cache.put(key, "payload");
  fs::path file = only_file(folder.path());
  const std::string whole = test::read_file(file);
  auto missing_with = [&](const std::string &content) {
    std::ofstream(file, std::ios::binary | std::ios::trunc) << content;
    return !cache.get(key);
  };
  for (std::size_t n = 0; n < whole.size(); ++n) {
    EXPECT_TRUE(missing_with(whole.substr(0, n))) << "the first " << n << " bytes";
    for (int bit : {0, 5, 7}) {
      std::string flipped = whole;
      flipped[n] = static_cast<char>(flipped[n] ^ (1 << bit));
      EXPECT_TRUE(missing_with(flipped)) << "byte " << n << ", bit " << bit;
    }
  }
  EXPECT_FALSE(missing_with(whole));
}

TEST(DiskCache, AnEntryOfAnotherKindIsAnotherEntry) {
  TemporaryFolder folder;
  std::string key = DiskCache::key({"k"});
  DiskCache(folder.path()).put(key, payload);
  DiskCache other(folder.path(), "result");
  EXPECT_EQ(other.get(key), std::nullopt);
  fs::copy_file(only_file(folder.path()), folder.path() / (key + ".result"));
  EXPECT_EQ(other.get(key), std::nullopt) << "its first line has the kind";
  other.put(key, "another payload");
  EXPECT_EQ(other.get(key), "another payload");
  EXPECT_EQ(DiskCache(folder.path()).get(key), payload);
}

TEST(DiskCache, AnEntryOfAnotherVersionIsReplaced) {
  TemporaryFolder folder;
  DiskCache cache(folder.path());
  std::string key = DiskCache::key({"k"});
  cache.put(key, payload);
  fs::path file = only_file(folder.path());
  std::string other = test::read_file(file);
  other.replace(other.find(" 2\n"), 2, " 1");
  std::ofstream(file, std::ios::binary | std::ios::trunc) << other;
  EXPECT_EQ(cache.get(key), std::nullopt);
  cache.put(key, payload);
  EXPECT_EQ(cache.get(key), payload);
}

TEST(DiskCache, AFolderInPlaceOfAnEntryIsNoEntryAndStays) {
  TemporaryFolder folder;
  DiskCache cache(folder.path());
  std::string key = DiskCache::key({"k"});
  cache.put(key, payload);
  fs::path file = only_file(folder.path());
  fs::remove(file);
  fs::create_directory(file);
  EXPECT_EQ(cache.get(key), std::nullopt);
  cache.put(key, payload);
  EXPECT_EQ(cache.get(key), std::nullopt);
  EXPECT_TRUE(says(cache.note(), "cannot be written (Is a directory)"));
  EXPECT_TRUE(fs::is_directory(only_file(folder.path())));
  fs::remove(file);
  cache.put(key, payload);
  EXPECT_EQ(cache.get(key), payload);
  EXPECT_EQ(cache.note(), "");
}

TEST(DiskCache, OnAFullDiskKeepsWhatItHasAndGoesOnWhenThereIsRoom) {
  TemporaryFolder folder;
  constexpr int not_allowed = 77;
  int status = test::in_child([&] {
    if (!test::make_small_disk(folder.path()))
      return not_allowed;
    DiskCache cache(folder.path());
    std::string first = DiskCache::key({"first"}), second = DiskCache::key({"second"});
    std::string large(60000, 'x');
    cache.put(first, payload);
    cache.put(second, large);
    if (cache.get(first) != payload || cache.get(second) || test::names_in(folder.path()).size() != 1)
      return 1;
    if (!says(cache.note(), "(No space left on device); set NESTSMITH_CACHE to a writable folder"))
      return 2;
    fs::remove(only_file(folder.path()));
    cache.put(second, large);
    return cache.get(second) == large && cache.note().empty() ? 0 : 3;
  });
  if (status == not_allowed)
    GTEST_SKIP() << "this user may not mount a disk";
  EXPECT_EQ(status, 0);
}

TEST(DiskCache, OfAProcessThatEndsWhileItWritesHasNoNewEntry) {
  TemporaryFolder folder;
  std::string key = DiskCache::key({"k"});
  EXPECT_EQ(test::in_child([&] {
              test::limit_files(4096, true);
              DiskCache(folder.path()).put(key, payload);
              return 0;
            }),
            128 + SIGXFSZ);
  DiskCache cache(folder.path());
  EXPECT_EQ(cache.get(key), std::nullopt);
  cache.put(key, payload);
  EXPECT_EQ(cache.get(key), payload);
  if (test::has_nameless_files(folder.path()))
    only_file(folder.path());
}

/// If a process is killed at any moment, each of its entries is complete or missing.
TEST(DiskCache, OfKilledProcessesHasWholeEntries) {
  TemporaryFolder folder;
  auto key_of = [](int n) { return DiskCache::key({std::to_string(n)}); };
  for (int round = 0; round < 10; ++round) {
    pid_t writer = fork();
    ASSERT_GE(writer, 0);
    if (writer == 0) {
      DiskCache cache(folder.path());
      for (int n = 0;; n = (n + 1) % 20)
        cache.put(key_of(n), payload);
    }
    usleep(static_cast<useconds_t>(1000 + 731 * round));
    kill(writer, SIGKILL);
    waitpid(writer, nullptr, 0);
    DiskCache cache(folder.path());
    for (int n = 0; n < 20; ++n) {
      auto entry = cache.get(key_of(n));
      EXPECT_EQ(entry.has_value(), fs::exists(folder.path() / (key_of(n) + ".kernel")));
      EXPECT_EQ(entry.value_or(payload), payload);
    }
  }
}

TEST(DiskCache, WorksWithoutAFolderThatCanBeWritten) {
  TemporaryFolder folder;
  std::ofstream(folder.path() / "file") << "\n";
  DiskCache cache(folder.path() / "file" / "cache");
  std::string key = DiskCache::key({"k"});
  EXPECT_EQ(cache.note(), "");
  cache.put(key, payload);
  EXPECT_EQ(cache.get(key), std::nullopt);
  EXPECT_TRUE(says(cache.note(), "kernels are not cached: " + cache.directory().string() +
                                     " cannot be written (Not a directory); set NESTSMITH_CACHE"));
  EXPECT_TRUE(says(cache.why_not_writable(), "Not a directory"));
  EXPECT_EQ(DiskCache(folder.path() / "file").why_not_writable(),
            (folder.path() / "file").string() + " is not a folder");
}

fs::perms mode_of(const fs::path &path) { return fs::status(path).permissions(); }

TEST(DiskCache, IsOnlyForItsUser) {
  TemporaryFolder folder;
  DiskCache cache(folder / "deep/cache");
  cache.put(DiskCache::key({"k"}), payload);
  EXPECT_EQ(mode_of(folder / "deep/cache"), fs::perms::owner_all);
  EXPECT_EQ(mode_of(only_file(folder / "deep/cache")), fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_EQ(cache.why_not_own(), "");
}

/// Runs in a child process, because a process reports a refusal only once.
TEST(DiskCache, AFolderThatOthersCanWriteIsNeitherReadNorWritten) {
  TemporaryFolder folder;
  const std::string key = DiskCache::key({"k"}), other = DiskCache::key({"other"});
  DiskCache(folder / "cache").put(key, payload);
  for (fs::perms open : {fs::perms::others_write, fs::perms::all | fs::perms::sticky_bit}) {
    fs::permissions(folder / "cache", fs::perms::owner_all | open);
    EXPECT_EQ(test::in_child([&] {
                const std::string why = "other users can write to " + (folder / "cache").string();
                const std::string note =
                    "kernels are not cached: " + why + "; set NESTSMITH_CACHE to a folder of your own";
                DiskCache cache(folder / "cache");
                if (!DiskCache::refused().empty() || cache.get(key))
                  return 1;
                cache.put(other, payload);
                if (test::names_in(folder / "cache").size() != 1)
                  return 2;
                return cache.note() == note && DiskCache::refused() == note && cache.why_not_own() == why &&
                               cache.why_not_writable() == why
                           ? 0
                           : 3;
              }),
              0);
  }
  fs::permissions(folder / "cache", fs::perms::owner_all);
  EXPECT_EQ(DiskCache(folder / "cache").get(key), payload);
}

TEST(DiskCache, AFolderOfAnotherUserIsNotUsed) {
  if (::geteuid() != 0)
    GTEST_SKIP() << "only root gives a folder away";
  TemporaryFolder folder;
  const std::string key = DiskCache::key({"k"});
  DiskCache(folder / "cache").put(key, payload);
  ASSERT_EQ(::chown((folder / "cache").c_str(), 65534, 0), 0);
  EXPECT_EQ(test::in_child([&] {
              DiskCache cache(folder / "cache");
              return !cache.get(key) &&
                             says(cache.note(), "cache belongs to the user 65534; set NESTSMITH_CACHE")
                         ? 0
                         : 1;
            }),
            0);
}

TEST(DiskCache, AnEntryIsValidUnderItsKeyOnly) {
  TemporaryFolder folder;
  DiskCache cache(folder.path());
  const std::string key = DiskCache::key({"k"}), other = DiskCache::key({"other"});
  cache.put(key, payload);
  fs::copy_file(folder / (key + ".kernel"), folder / (other + ".kernel"));
  EXPECT_EQ(cache.get(key), payload);
  EXPECT_EQ(cache.get(other), std::nullopt);
}

TEST(DiskCache, WhatIsNoFileOfItsUserIsNoEntry) {
  TemporaryFolder folder;
  DiskCache cache(folder.path());
  const std::string key = DiskCache::key({"k"});
  const fs::path entry = folder / (key + ".kernel");
  ASSERT_EQ(::mkfifo(entry.c_str(), 0600), 0);
  EXPECT_EQ(cache.get(key), std::nullopt);
  fs::remove(entry);
  fs::create_symlink("/dev/zero", entry);
  EXPECT_EQ(cache.get(key), std::nullopt);
  fs::remove(entry);
  test::write_file(entry, "");
  fs::resize_file(entry, std::uintmax_t{1} << 40);
  EXPECT_EQ(cache.get(key), std::nullopt);
  cache.put(key, payload);
  EXPECT_EQ(cache.get(key), payload);
  fs::permissions(entry, fs::perms::others_write, fs::perm_options::add);
  EXPECT_EQ(cache.get(key), std::nullopt);
}

TEST(DiskCache, WithoutAFolderSaysSo) {
  DiskCache cache("");
  cache.put("k", payload);
  EXPECT_EQ(cache.get("k"), std::nullopt);
  EXPECT_EQ(cache.note(), "kernels are not cached: neither NESTSMITH_CACHE nor HOME is set");
}

TEST(DiskCache, LookingWhetherItCanBeWrittenLeavesNothing) {
  TemporaryFolder folder;
  EXPECT_EQ(DiskCache(folder.path() / "new/cache").why_not_writable(), "");
  EXPECT_EQ(DiskCache(folder.path()).why_not_writable(), "");
  EXPECT_TRUE(fs::is_empty(folder.path()));
}

TEST(DiskCache, LivesWhereTheEnvironmentSays) {
  ScopedVariable own("NESTSMITH_CACHE", "/own");
  ScopedVariable xdg("XDG_CACHE_HOME", "/xdg");
  ScopedVariable home("HOME", "/home/someone");
  EXPECT_EQ(DiskCache::standard_directory(), "/own");
  ScopedVariable no_own("NESTSMITH_CACHE", std::nullopt);
  EXPECT_EQ(DiskCache::standard_directory(), "/xdg/nestsmith");
  ScopedVariable relative("XDG_CACHE_HOME", "relative"); // ignored, as the XDG specification requires
  EXPECT_EQ(DiskCache::standard_directory(), "/home/someone/.cache/nestsmith");
  ScopedVariable no_home("HOME", std::nullopt);
  EXPECT_EQ(DiskCache::standard_directory(), "");
}

TEST(DiskCache, ProcessesThatShareItSeeWholeEntries) {
  TemporaryFolder folder;
  std::string key = DiskCache::key({"k"});
  auto payload_of = [](int i) {
    return std::string(50000 + static_cast<std::size_t>(i), static_cast<char>('a' + i));
  };
  DiskCache(folder.path()).put(key, payload_of(0));
  std::vector<pid_t> writers;
  for (int i = 0; i < 2; ++i) {
    pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      DiskCache cache(folder.path());
      for (int round = 0; round < 200; ++round)
        cache.put(key, payload_of(i));
      _exit(cache.note().empty() ? 0 : 1);
    }
    writers.push_back(child);
  }
  DiskCache cache(folder.path());
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
