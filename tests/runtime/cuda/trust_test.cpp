/// Tests which files are trusted, by the owners and the rights of each part of their paths.

#include "runtime/cuda/trust.h"
#include "tests/files.h"
#include "tests/runtime/environment.h"

#include <unistd.h>

#include <gtest/gtest.h>

namespace fs = std::filesystem;

namespace nestsmith {
namespace {

using test::says;
using test::TemporaryFolder;

constexpr uid_t other_user = 65534;

/// The test folder is in a folder with the sticky bit, such as /tmp.
TEST(Trust, OwnFilesBelowAStickyFolderAreTrusted) {
  TemporaryFolder folder;
  fs::create_directories(folder / "a/b");
  test::write_file(folder / "a/b/file", "");
  EXPECT_EQ(why_untrusted(folder / "a/b/file"), "");
  EXPECT_EQ(why_untrusted(folder / "a/./b/../b/file"), "");
  EXPECT_EQ(why_untrusted("/"), "");
  EXPECT_EQ(why_untrusted("/usr/bin"), "");
}

TEST(Trust, EveryPartOfThePathCounts) {
  TemporaryFolder folder;
  fs::create_directories(folder / "a/b");
  test::write_file(folder / "a/b/file", "");
  for (const char *part : {"a", "a/b", "a/b/file"}) {
    fs::perms before = fs::status(folder / part).permissions();
    fs::permissions(folder / part, fs::perms::others_write, fs::perm_options::add);
    EXPECT_EQ(why_untrusted(folder / "a/b/file"), "other users can write to " + (folder / part).string());
    fs::permissions(folder / part, before);
  }
  EXPECT_EQ(why_untrusted(folder / "a/b/file"), "");
}

TEST(Trust, WhatOthersOwnIsNotTrusted) {
  if (::geteuid() != 0)
    GTEST_SKIP() << "only root gives files away";
  TemporaryFolder folder;
  fs::create_directories(folder / "sticky/theirs");
  fs::permissions(folder / "sticky", fs::perms::all | fs::perms::sticky_bit);
  test::write_file(folder / "sticky/theirs/file", "");
  fs::create_symlink("/usr/bin", folder / "sticky/link");
  EXPECT_EQ(why_untrusted(folder / "sticky/theirs/file"), "");
  EXPECT_EQ(why_untrusted(folder / "sticky/link"), "");
  for (const char *part : {"sticky/theirs", "sticky/theirs/file", "sticky/link"})
    ASSERT_EQ(::lchown((folder / part).c_str(), other_user, 0), 0);
  EXPECT_EQ(why_untrusted(folder / "sticky/theirs/file"),
            (folder / "sticky/theirs").string() + " belongs to the user 65534");
  EXPECT_EQ(why_untrusted(folder / "sticky/theirs/file", other_user), "");
  EXPECT_TRUE(says(why_untrusted(folder / "sticky/link"), "link belongs to the user 65534"));
}

TEST(Trust, LinksAreFollowed) {
  TemporaryFolder folder;
  fs::create_directories(folder / "open/inner");
  fs::create_directories(folder / "closed");
  fs::create_directory_symlink("../open/inner", folder / "closed/relative");
  fs::create_directory_symlink(folder / "open/inner", folder / "closed/absolute");
  fs::create_directory_symlink("loop", folder / "closed/loop");
  test::write_file(folder / "open/inner/file", "");
  EXPECT_EQ(why_untrusted(folder / "closed/relative/file"), "");
  EXPECT_EQ(why_untrusted(folder / "closed/absolute/file"), "");
  EXPECT_TRUE(says(why_untrusted(folder / "closed/loop"), "Too many levels of symbolic links"));
  EXPECT_TRUE(says(why_untrusted(folder / "closed/absolute/none"), "No such file or directory"));
  fs::permissions(folder / "open", fs::perms::all);
  for (const char *name : {"closed/relative/file", "closed/absolute/file"})
    EXPECT_EQ(why_untrusted(folder / name), "other users can write to " + (folder / "open").string());
}

TEST(Trust, AGroupIsOthersUnlessItIsPrivate) {
  TemporaryFolder folder;
  fs::create_directory(folder / "a");
  fs::permissions(folder / "a", fs::perms::group_write, fs::perm_options::add);
  if (::geteuid() == 0) {
    EXPECT_EQ(why_untrusted(folder / "a"), "") << "the group of root has no other members";
    ASSERT_EQ(::chown((folder / "a").c_str(), 0, 54321), 0);
    EXPECT_EQ(why_untrusted(folder / "a"), "other users can write to " + (folder / "a").string());
  }
}

TEST(Trust, ARelativePathIsNotTrusted) {
  EXPECT_EQ(why_untrusted("lib/libnvrtc.so.12"), "'lib/libnvrtc.so.12' is not an absolute path");
  EXPECT_EQ(why_untrusted(""), "'' is not an absolute path");
}

} // namespace
} // namespace nestsmith
