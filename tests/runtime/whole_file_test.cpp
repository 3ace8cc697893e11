#include "runtime/whole_file.h"
#include "tests/runtime/environment.h"
#include "tests/runtime/trouble.h"

#include <cerrno>
#include <sys/stat.h>

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
    if (write_whole(file, std::string(30000, 'c')) != 0) // there is room for both
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

/// The signal comes with the write: the first 4096 bytes are in the file.
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

/// At any moment: what is there, under whichever name, is whole.
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
  if (test::has_nameless_files(folder.path())) // not even what was to be renamed is a part
    for (const std::string &name : names_in(folder.path())) {
      std::string got = read_file(folder.path() / name);
      EXPECT_TRUE(got == content(0) || got == content(1) || got == content(2)) << name;
    }
}

} // namespace
} // namespace nestsmith
