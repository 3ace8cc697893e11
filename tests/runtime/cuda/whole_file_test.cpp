/// Tests that files are written completely or not at all, also on full disks and by processes that are killed.

#include "runtime/cuda/whole_file.h"
#include "tests/files.h"
#include "tests/runtime/environment.h"
#include "tests/runtime/trouble.h"

#include <cerrno>
#include <sys/stat.h>
#include <unistd.h>

#include <gmock/gmock.h>

namespace fs = std::filesystem;

namespace nestsmith {
namespace {

using test::in_child;
using test::names_in;
using test::read_file;
using test::TemporaryFolder;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

TEST(WholeFile, IsWrittenAndReplaced) {
  TemporaryFolder folder;
  fs::path file = folder.path() / "file";
  for (const std::string &content : {std::string("old"), std::string(100000, 'x'), std::string()}) {
    EXPECT_EQ(write_whole(file, content), 0);
    EXPECT_EQ(read_file(file), content);
  }
  EXPECT_THAT(names_in(folder.path()), ElementsAre("file"));
}

TEST(WholeFile, HasTheRightsThatAnyNewFileHas) {
  TemporaryFolder folder;
  mode_t mask = umask(027);
  EXPECT_EQ(write_whole(folder.path() / "new", "x"), 0);
  EXPECT_EQ(write_whole(folder.path() / "new", "y"), 0);
  umask(mask);
  EXPECT_EQ(fs::status(folder.path() / "new").permissions(), fs::perms{0640});
}

TEST(WholeFile, WhereItCannotBeLeavesNothing) {
  TemporaryFolder folder;
  fs::create_directory(folder.path() / "folder");
  EXPECT_EQ(write_whole(folder.path() / "folder", "x"), EISDIR);
  EXPECT_EQ(write_whole(folder.path() / "none" / "file", "x"), ENOENT);
  EXPECT_EQ(write_whole("/proc/none", "x"), ENOENT);
  EXPECT_THAT(names_in(folder.path()), ElementsAre("folder"));
  EXPECT_THAT(names_in(folder.path() / "folder"), IsEmpty());
}

TEST(WholeFiles, AreWrittenAndReplacedTogether) {
  TemporaryFolder folder;
  fs::path a = folder.path() / "a", b = folder.path() / "b";
  for (const std::string &content : {std::string("old"), std::string(100000, 'x'), std::string()}) {
    EXPECT_FALSE(write_whole(std::vector<FileToWrite>{{a, content}, {b, content + "!"}}));
    EXPECT_EQ(read_file(a), content);
    EXPECT_EQ(read_file(b), content + "!");
  }
  EXPECT_THAT(names_in(folder.path()), UnorderedElementsAre("a", "b"));
}

/// Each of the files fails in turn, before or after the first one is replaced.
TEST(WholeFiles, WhereOneCannotBeAllStayAsTheyWere) {
  TemporaryFolder folder;
  fs::path a = folder.path() / "a", b = folder.path() / "b", inside = folder.path() / "folder",
           none = folder.path() / "none" / "c", fresh = folder.path() / "fresh";
  fs::create_directory(inside);
  write_whole(a, "old a");
  write_whole(b, "old b");
  auto refused = [&](const std::vector<FileToWrite> &files, const fs::path &which) {
    auto failed = write_whole(files);
    ASSERT_TRUE(failed);
    EXPECT_EQ(failed->path, which);
    EXPECT_EQ(read_file(a), "old a");
    EXPECT_EQ(read_file(b), "old b");
    EXPECT_THAT(names_in(folder.path()), UnorderedElementsAre("a", "b", "folder"));
    EXPECT_THAT(names_in(inside), IsEmpty());
  };
  refused({{a, "new"}, {none, "new"}}, none);
  refused({{none, "new"}, {b, "new"}}, none);
  refused({{a, "new"}, {fresh, "new"}, {inside, "new"}}, inside);
  refused({{inside, "new"}, {b, "new"}}, inside);
}

/// The second file cannot be replaced after the first one was. In a folder with the sticky bit, only the owner
/// may replace a file.
TEST(WholeFiles, WhatWasPublishedGoesBack) {
  if (geteuid() != 0)
    GTEST_SKIP() << "only root can become another user";
  TemporaryFolder folder;
  fs::path own = folder.path() / "own", fresh = folder.path() / "fresh", roots = folder.path() / "roots";
  write_whole(roots, "old");
  fs::permissions(folder.path(), fs::perms::all | fs::perms::sticky_bit);
  int status = in_child([&] {
    if (setuid(65534) != 0 || write_whole(own, "mine") != 0)
      return 1;
    auto failed = write_whole(std::vector<FileToWrite>{{own, "new"}, {fresh, "new"}, {roots, "new"}});
    return failed && failed->path == roots && failed->error == EPERM ? 0 : 2;
  });
  EXPECT_EQ(status, 0);
  EXPECT_EQ(read_file(own), "mine");
  EXPECT_EQ(read_file(roots), "old");
  EXPECT_THAT(names_in(folder.path()), UnorderedElementsAre("own", "roots"));
}

TEST(WholeFile, OnAFullDiskStaysAsItWas) {
  TemporaryFolder folder;
  constexpr int not_allowed = 77;
  int status = in_child([&] {
    if (!test::make_small_disk(folder.path()))
      return not_allowed;
    fs::path file = folder.path() / "file";
    if (write_whole(file, std::string(20000, 'a')) != 0)
      return 1;
    if (write_whole(file, std::string(60000, 'b')) != ENOSPC ||
        write_whole(folder.path() / "other", std::string(60000, 'b')) != ENOSPC)
      return 2;
    if (read_file(file) != std::string(20000, 'a') || names_in(folder.path()).size() != 1)
      return 3;
    if (write_whole(file, std::string(30000, 'c')) != 0) // the disk has room for both
      return 4;
    return read_file(file) == std::string(30000, 'c') && names_in(folder.path()).size() == 1 ? 0 : 5;
  });
  if (status == not_allowed)
    GTEST_SKIP() << "this user may not mount a disk";
  EXPECT_EQ(status, 0);
}

TEST(WholeFile, ThatGrowsTooLargeStaysAsItWas) {
  TemporaryFolder folder;
  fs::path file = folder.path() / "file";
  write_whole(file, "old");
  EXPECT_EQ(in_child([&] {
              test::limit_files(4096, false);
              return write_whole(file, std::string(5000, 'x'));
            }),
            EFBIG);
  EXPECT_EQ(read_file(file), "old");
  EXPECT_THAT(names_in(folder.path()), ElementsAre("file"));
}

/// The signal arrives during the write, after the first 4096 bytes.
TEST(WholeFile, OfAProcessThatEndsWhileItWritesStaysAsItWas) {
  TemporaryFolder folder;
  fs::path file = folder.path() / "file";
  auto write_and_end = [&] {
    return in_child([&] {
      test::limit_files(4096, true);
      return write_whole(file, std::string(5000, 'x'));
    });
  };
  EXPECT_EQ(write_and_end(), 128 + SIGXFSZ);
  EXPECT_FALSE(fs::exists(file));
  write_whole(file, "old");
  EXPECT_EQ(write_and_end(), 128 + SIGXFSZ);
  EXPECT_EQ(read_file(file), "old");
  if (test::has_nameless_files(folder.path())) {
    EXPECT_THAT(names_in(folder.path()), ElementsAre("file"));
  }
}

/// The process is killed at random moments. All files, of any name, must be complete.
TEST(WholeFile, OfAKilledProcessIsWhole) {
  TemporaryFolder folder;
  fs::path file = folder.path() / "file";
  auto content = [](int n) {
    return std::string(200000 + static_cast<std::size_t>(n), static_cast<char>('a' + n));
  };
  write_whole(file, content(0));
  for (int round = 0; round < 30; ++round) {
    pid_t writer = fork();
    ASSERT_GE(writer, 0);
    if (writer == 0)
      for (int n = 0;; n = (n + 1) % 3)
        write_whole(file, content(n));
    usleep(static_cast<useconds_t>(2000 + 137 * round));
    kill(writer, SIGKILL);
    waitpid(writer, nullptr, 0);
    std::string got = read_file(file);
    EXPECT_TRUE(got == content(0) || got == content(1) || got == content(2)) << got.size() << " bytes";
  }
  if (test::has_nameless_files(folder.path())) // then files that are about to be renamed are complete, too
    for (const std::string &name : names_in(folder.path())) {
      std::string got = read_file(folder.path() / name);
      EXPECT_TRUE(got == content(0) || got == content(1) || got == content(2)) << name;
    }
}

} // namespace
} // namespace nestsmith
