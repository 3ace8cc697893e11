/// Tests the input of files, JSON and text that other programs wrote.

#include "dsl/expr/outside.h"
#include "dsl/expr/printable.h"
#include "tests/dsl/support.h"
#include "tests/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace nestsmith {
namespace {

using test::expect_user_error;
using test::TemporaryFolder;

TEST(Outside, AFileIsReadUpToItsLimit) {
  TemporaryFolder folder;
  for (std::size_t size : {0, 1, 65535, 65536, 65537, 100000}) {
    std::string text(size, 'x');
    test::write_file(folder / "file", text);
    EXPECT_EQ(read_outside(folder / "file", "trace", size), text);
    EXPECT_EQ(read_outside(folder / "file", "trace", size + 1), text);
    if (size > 0)
      expect_user_error([&] { (void)read_outside(folder / "file", "trace", size - 1); }, ExitCode::usage,
                        fmt::format("cannot read the trace '{}': it has {} bytes, expected at most {}",
                                    (folder / "file").string(), size, size - 1));
  }
}

TEST(Outside, AFileWithoutEndIsRefusedBeforeItIsRead) {
  TemporaryFolder folder;
  test::write_file(folder / "sparse", "");
  std::filesystem::resize_file(folder / "sparse", std::uintmax_t{1} << 40);
  expect_user_error([&] { (void)read_outside(folder / "sparse", "table", 100); }, ExitCode::usage,
                    "it has 1099511627776 bytes, expected at most 100");
}

TEST(Outside, OnlyRegularFilesAreRead) {
  TemporaryFolder folder;
  ASSERT_EQ(::mkfifo((folder / "fifo").c_str(), 0600), 0);
  std::filesystem::create_symlink("/dev/zero", folder / "link");
  std::filesystem::create_symlink("fifo", folder / "second");
  for (const char *path : {"fifo", "link", "second"}) {
    expect_user_error([&] { (void)read_outside(folder / path, "trace", 100); }, ExitCode::usage,
                      "it is not a regular file");
    expect_user_error([&] { check_regular_file(folder / path, "database"); }, ExitCode::usage,
                      "cannot open the database");
  }
  expect_user_error([&] { (void)read_outside("/dev/null", "trace", 100); }, ExitCode::usage,
                    "cannot read the trace '/dev/null': it is not a regular file");
  expect_user_error([&] { (void)read_outside(folder.path(), "trace", 100); }, ExitCode::usage,
                    "Is a directory");
  expect_user_error([&] { (void)read_outside(folder / "a\nb\x1b[31m", "trace", 100); }, ExitCode::usage,
                    "a\\u000ab\\u001b[31m': No such file or directory");
  check_regular_file(folder / "none", "database");
}

TEST(Outside, OnlyOwnFilesAreReadFromAFolderOfOurOwn) {
  TemporaryFolder folder;
  test::write_file(folder / "own", "text");
  test::write_file(folder / "open", "text");
  std::filesystem::permissions(folder / "open", std::filesystem::perms::others_write,
                               std::filesystem::perm_options::add);
  std::filesystem::create_symlink("own", folder / "link");
  ASSERT_EQ(::mkfifo((folder / "fifo").c_str(), 0600), 0);
  int descriptor = ::open(folder.path().c_str(), O_RDONLY | O_DIRECTORY);
  EXPECT_EQ(read_own(descriptor, "own", 4), "text");
  EXPECT_EQ(read_own(descriptor, "own", 3), std::nullopt);
  for (const char *name : {"open", "link", "fifo", "none", "."})
    EXPECT_EQ(read_own(descriptor, name, 100), std::nullopt) << name;
  if (::geteuid() == 0) {
    ASSERT_EQ(::chown((folder / "own").c_str(), 65534, 0), 0);
    EXPECT_EQ(read_own(descriptor, "own", 100), std::nullopt);
  }
  ::close(descriptor);
}

std::string why_not(const std::string &text, const JsonLimits &limits = {.bytes = 1 << 20}) {
  std::string why;
  bool parsed = parse_outside(text, limits, why).has_value();
  EXPECT_EQ(parsed, why.empty()) << text.substr(0, 100);
  return why;
}

std::string nested(int depth) {
  return std::string(static_cast<std::size_t>(depth), '[') + std::string(static_cast<std::size_t>(depth), ']');
}

TEST(OutsideJson, DepthIsThatOfBracketsOutsideOfStrings) {
  EXPECT_EQ(why_not(nested(64)), "");
  EXPECT_EQ(why_not(nested(65)), "its brackets nest more than 64 deep");
  const std::string closing = "[\"" + std::string(1000, ']') + "\", ";
  EXPECT_EQ(why_not(closing + nested(63) + "]"), "");
  EXPECT_EQ(why_not(closing + nested(64) + "]"), "its brackets nest more than 64 deep");
  EXPECT_EQ(why_not(closing + nested(200000) + "]"), "its brackets nest more than 64 deep");
  EXPECT_EQ(why_not("[\"\\\"" + std::string(100, ']') + "\", " + nested(64) + "]"),
            "its brackets nest more than 64 deep");
  EXPECT_EQ(why_not("[\"\\\\\", " + nested(64) + "]"), "its brackets nest more than 64 deep");
  EXPECT_EQ(why_not("[\"" + std::string(1000, '[') + "\"]"), "");
  EXPECT_EQ(why_not(std::string(100, ']') + nested(200000)), "its brackets nest more than 64 deep");
  EXPECT_TRUE(why_not(std::string(200000, ']')).starts_with("not JSON: "));
  std::string objects;
  for (int n = 0; n < 100000; ++n)
    objects += "{\"a\":";
  EXPECT_EQ(why_not(objects), "its brackets nest more than 64 deep");
}

TEST(OutsideJson, BytesValuesAndStringsAreLimited) {
  EXPECT_EQ(why_not("[1, 2, 3]", {.bytes = 9}), "");
  EXPECT_EQ(why_not("[1, 2, 3]", {.bytes = 8}), "has 9 bytes, expected at most 8");
  EXPECT_EQ(why_not("[1, 2, 3]", {.bytes = 100, .values = 4}), "");
  EXPECT_EQ(why_not("[1, 2, 3]", {.bytes = 100, .values = 3}),
            "its arrays and objects have 4 values, expected at most 3");
  JsonLimits limits = {.bytes = 100, .string_bytes = 3};
  EXPECT_EQ(why_not("{\"abc\": \"abc\"}", limits), "");
  for (const char *text : {"{\"abcd\": 1}", "{\"a\": [[\"abcd\"]]}", "\"abcd\""})
    EXPECT_EQ(why_not(text, limits), "its strings have up to 4 bytes, expected at most 3");
}

TEST(OutsideJson, StringsHaveNoControlCharactersUnlessTheyMay) {
  for (const char *text :
       {"[\"a\\u001b[2J\"]", "{\"a\\u0000b\": 1}", "[[\"\\n\"]]", "\"\\u009b\"", "\"\\u202e\""}) {
    EXPECT_TRUE(why_not(text).ends_with("has a control character")) << text;
    EXPECT_EQ(why_not(text, {.bytes = 100, .control_characters = true}), "");
  }
  EXPECT_EQ(why_not("[\"\\u001b[2J\"]"), "its string \"\\u001b[2J\" has a control character");
  EXPECT_EQ(why_not("\"α·A·B, 한국어 😀\""), "");
}

TEST(Printable, LeavesTextAndEscapesControls) {
  EXPECT_EQ(printable("α·A·B + β·C → 한국어 😀 …"), "α·A·B + β·C → 한국어 😀 …");
  EXPECT_EQ(printable(std::string_view("a\0b\x1b[31m\r\n\t\x7f", 11)),
            "a\\u0000b\\u001b[31m\\u000d\\u000a\\u0009");
  EXPECT_EQ(printable("\x7f"), "\\u007f");
  EXPECT_EQ(printable("\xc2\x9b"), "\\u009b") << "the control sequence introducer of ISO 6429";
  EXPECT_EQ(printable("\xe2\x80\xae \xe2\x81\xa6 \xe2\x80\xa8 \xef\xbb\xbf"),
            "\\u202e \\u2066 \\u2028 \\ufeff");
  EXPECT_EQ(printable(""), "");
}

TEST(Printable, BytesThatAreNotUtf8AreShown) {
  EXPECT_EQ(printable("\xff\xfe"), "\\xff\\xfe");
  EXPECT_EQ(printable("a\xc3"), "a\\xc3") << "an incomplete character";
  EXPECT_EQ(printable("\xc0\x9b"), "\\xc0\\x9b") << "overlong";
  EXPECT_EQ(printable("\xe0\x80\x9b"), "\\xe0\\x80\\x9b") << "overlong";
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80") << "a surrogate";
  EXPECT_EQ(printable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80") << "beyond Unicode";
}

TEST(Printable, LinesKeepTheirBreaksAndOnRequestTheirColours) {
  EXPECT_EQ(printable_lines("a\n\tb\r\n"), "a\n\tb\\u000d\n");
  EXPECT_EQ(printable_lines("\x1b[31mred\x1b[0m"), "\\u001b[31mred\\u001b[0m");
  EXPECT_EQ(printable_lines("\x1b[31mred\x1b[0m", true), "\x1b[31mred\x1b[0m");
  for (const char *text : {"\x1b[2J", "\x1b]0;title\x07", "\x1b[31", "\x1b", "\x1b[1;2;3;4;5;6;7;8;9m"})
    EXPECT_EQ(printable_lines(text, true).find('\x1b'), std::string::npos) << text;
}

} // namespace
} // namespace nestsmith
