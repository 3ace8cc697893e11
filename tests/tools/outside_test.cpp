/// Tests files of other users, and machines with other users: which files are read, loaded, executed and
/// printed.

#include "runtime/records/database.h"
#include "tests/tools/run_binary.h"

#include <algorithm>
#include <fmt/format.h>
#include <sys/stat.h>

namespace nestsmith {
namespace {

namespace fs = std::filesystem;
using test::contains;
using test::nestsmith;
using test::Ran;
using test::TemporaryFolder;

void expect_refusal(const Ran &ran, const std::string &message) {
  EXPECT_EQ(ran.code, 2) << ran.out << ran.err;
  EXPECT_TRUE(contains(ran.err, message));
  EXPECT_EQ(ran.out, "");
}

bool is_printable(const std::string &text) {
  return std::ranges::none_of(text, [](unsigned char c) { return (c < 0x20 && c != '\n') || c == 0x7F; });
}

std::string quoted(const fs::path &path) { return "'" + path.string() + "'"; }

/// The loader reports each library that it opens before the constructors of the library run.
TEST(OutsideLibraries, WheelsBesideTheProgramAreOpenedOnlyIfOthersCannotChangeThem) {
  TemporaryFolder folder;
  fs::create_directories(folder / "tree/bin");
  fs::create_directories(folder / "tree/wheels/lib");
  const fs::path binary = folder / "tree/bin/nestsmith", library = folder / "tree/wheels/lib/libnvrtc.so.12";
  fs::copy_file(NESTSMITH_BINARY, binary);
  test::write_file(library, "no library\n");
  auto opens = [&] {
    std::string command = "env -u NESTSMITH_CUDA_PATH LD_DEBUG=files PATH=/nowhere " + binary.string() +
                          " doctor >/dev/null 2>" + (folder / "log").string();
    EXPECT_EQ(std::system(("exec " + command).c_str()), 0);
    return test::read_file(folder / "log").find("file=" + library.string()) != std::string::npos;
  };
  if (!opens())
    GTEST_SKIP() << "this loader does not report what it opens";
  for (const char *part : {"tree", "tree/wheels/lib/libnvrtc.so.12"}) {
    fs::perms before = fs::status(folder / part).permissions();
    fs::permissions(folder / part, fs::perms::others_write, fs::perm_options::add);
    EXPECT_FALSE(opens()) << part;
    fs::permissions(folder / part, before);
  }
}

std::string trace() {
  static const std::string text = nestsmith("show tiling/naive --shape 8x8x8 --trace json").out;
  return text;
}

TEST(OutsideFiles, WithNamesOfControlCharactersAreShownWithoutThem) {
  TemporaryFolder folder;
  const fs::path evil = folder / "a\x1b[31m\nnestsmith: PASSED\r\xc2\x9b\x7f.json";
  test::write_file(evil, trace());
  for (const char *command : {"show", "emit", "run --device sim", "check --device sim", "explain", "diff",
                              "show --json", "emit --json", "run --json --device sim", "emit --standalone"}) {
    Ran ran = nestsmith(fmt::format("{} {} --color never", command, quoted(evil)));
    EXPECT_EQ(ran.code, 0) << command << ran.err;
    EXPECT_TRUE(is_printable(ran.out)) << command << ran.out.substr(0, 500);
    EXPECT_TRUE(is_printable(ran.err)) << command << ran.err.substr(0, 500);
    EXPECT_EQ(ran.out.find("\nnestsmith: PASSED"), std::string::npos) << command;
    EXPECT_EQ(ran.out.find("\xc2\x9b"), std::string::npos) << command;
  }
  Ran coloured = nestsmith(fmt::format("show {} --color always", quoted(evil)));
  EXPECT_EQ(coloured.out.find("\x1b[31m\n"), std::string::npos);
  fs::remove(evil);
  for (const std::string &command :
       {"show " + quoted(evil), "frobnicate" + quoted("\x1b[2J\nx"), "run ladder/warps --table=" + quoted(evil),
        "tune show --db " + quoted(evil), "emit tiling/naive -o " + quoted(evil / "x"),
        "emit tiling/naive --name " + quoted("a\x1b[2J\nb"), "run --shape " + quoted("8x\x1b[2J\n8"),
        "emit " + quoted("\x1b[2J\nx"), "emit tiling/naive --set " + quoted("a\n=\x1b[2J")}) {
    Ran ran = nestsmith(command + " --json");
    EXPECT_EQ(ran.code, 2) << command;
    EXPECT_TRUE(is_printable(ran.err + ran.out)) << ran.err;
    EXPECT_EQ(std::ranges::count(ran.err, '\n'), 1) << ran.err;
    EXPECT_NE(parsed(ran).getAsObject(), nullptr);
  }
}

TEST(OutsideFiles, ATraceIsAShallowRegularFile) {
  TemporaryFolder folder;
  const fs::path path = folder / "t.json";
  const std::string closing = "{\"nestsmith_trace\": [\"" + std::string(100000, ']') + "\", ";
  test::write_file(path, closing + std::string(100000, '['));
  expect_refusal(nestsmith("show " + path.string()),
                 "t.json: is not a trace: its brackets nest more than 64 deep");
  fs::resize_file(path, std::uintmax_t{1} << 40);
  expect_refusal(nestsmith("show " + path.string()),
                 "t.json': it has 1099511627776 bytes, expected at most 4194304");
  fs::remove(path);
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  expect_refusal(nestsmith("show " + path.string()), "t.json': it is not a regular file");
  fs::remove(path);
  fs::create_symlink("/dev/zero", path);
  for (const std::string &command : {"show " + path.string(), "run fast/gemm --table " + path.string(),
                                     "tune import --db " + (folder / "a.db").string() + " " + path.string()})
    expect_refusal(nestsmith(command), "t.json': it is not a regular file");
}

TEST(OutsideFiles, ANameOfATraceHasALimit) {
  TemporaryFolder folder;
  const fs::path path = folder / "t.json";
  auto named = [&](const std::string &name) {
    std::string text = trace();
    for (std::size_t at = 0; (at = text.find("\"gemm\"", at)) != std::string::npos; at += name.size() + 2)
      text.replace(at, 6, "\"" + name + "\"");
    test::write_file(path, text);
    return nestsmith("emit " + path.string());
  };
  EXPECT_EQ(named(std::string(200, 'n')).code, 0);
  expect_refusal(named(std::string(201, 'n')), "must have at most 200 letters, got 201");
  expect_refusal(named(std::string(100000, 'n')), "its strings have up to 100000 bytes, expected at most 2000");
  expect_refusal(named("n\\u001b[2J"), "its string \"n\\u001b[2J\" has a control character");
  expect_refusal(named("n\\n"), "has a control character");
  expect_refusal(nestsmith("emit tiling/naive --name " + std::string(201, 'n')),
                 "it has 201 letters, expected at most 200");
}

TEST(OutsideRecords, AreShownWithoutControlCharacters) {
  TemporaryFolder folder;
  records::Record evil;
  evil.rung = "ladder/warps", evil.shape = "8x8x8\x1b[2J\nladder", evil.dtype = "f32",
  evil.gpu = "H200\x1b]0;x\x07";
  evil.knobs = {{"bk", "\x1b[31m8"}}, evil.median_ms = 1, evil.peer_ms = 1, evil.peer = "cu\nBLAS";
  records::Record failed = evil;
  failed.outcome = records::Outcome::crashed, failed.message = "line\nnestsmith: PASSED\x1b[2J",
  failed.code = "a";
  records::Database::open(folder / "a.db").add({evil, failed});
  for (const char *options : {"", " --json", " --color always"}) {
    Ran ran = nestsmith("tune show --db " + (folder / "a.db").string() + options);
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_EQ(ran.out.find("\nnestsmith: PASSED"), std::string::npos);
    EXPECT_EQ(ran.out.find("\x1b[2J"), std::string::npos);
    EXPECT_EQ(ran.out.find("\x1b[31m8"), std::string::npos);
    EXPECT_EQ(ran.out.find("\x1b]"), std::string::npos);
  }
}

TEST(OutsideCache, AFolderThatOthersCanWriteIsNotUsedAndNamedOnce) {
  TemporaryFolder folder;
  const fs::path cache = folder / "cache";
  fs::create_directory(cache);
  fs::permissions(cache, fs::perms::all);
  const std::string command =
      "report tiling/naive --shape 8x8x8 --device sim -o " + (folder / "page.html").string();
  const std::string environment = "NESTSMITH_CUDA_PATH=/nowhere NESTSMITH_CACHE=" + cache.string();
  Ran refused = nestsmith(command, environment);
  EXPECT_EQ(refused.code, 0) << refused.err;
  const std::string warning =
      fmt::format("s are not cached: other users can write to {}; set NESTSMITH_CACHE to a "
                  "folder of your own",
                  cache.string());
  EXPECT_TRUE(contains(refused.err, "nestsmith: warning: "));
  EXPECT_TRUE(contains(refused.err, warning));
  EXPECT_EQ(refused.err.find("are not cached", refused.err.find(warning) + 10), std::string::npos);
  EXPECT_TRUE(fs::is_empty(cache));
  EXPECT_TRUE(contains(nestsmith("doctor", environment).out, "not used: other users can"));
  fs::permissions(cache, fs::perms::owner_all);
  EXPECT_FALSE(contains(nestsmith(command, environment).err, "cached"));
  EXPECT_FALSE(fs::is_empty(cache));
}

TEST(OutsideWork, IsRefusedBeforeItStarts) {
  TemporaryFolder folder;
  for (const char *command : {"run tiling/naive", "check tiling/naive"})
    expect_refusal(nestsmith(fmt::format("{} --device sim --shape 4096x4096x4096", command)),
                   "the simulator would execute 6.9e+10 instances of stages for the shape 4096x4096x4096, "
                   "expected at most 1e+10; use a smaller shape, or a GPU");
  expect_refusal(nestsmith("run tiling/naive --device sim --shape 1x1x2147483647"), "");
}

TEST(OutsideOutput, KeepsTheModeOfTheFileAndFollowsLinks) {
  TemporaryFolder folder;
  fs::create_directory(folder / "real");
  const std::string emit = "emit tiling/naive -o ";
  auto mode = [&](const char *name) { return static_cast<unsigned>(fs::status(folder / name).permissions()); };
  for (unsigned wanted : {0600U, 0640U, 0755U, 0666U}) {
    test::write_file(folder / "a.cu", "old");
    fs::permissions(folder / "a.cu", static_cast<fs::perms>(wanted));
    EXPECT_EQ(nestsmith(emit + (folder / "a.cu").string()).code, 0);
    EXPECT_EQ(mode("a.cu"), wanted);
    EXPECT_GT(fs::file_size(folder / "a.cu"), 100U);
  }
  fs::create_symlink("real/b.cu", folder / "link.cu"); // the target of the link does not exist yet
  fs::create_symlink("link.cu", folder / "second.cu");
  for (int n = 0; n < 2; ++n) {
    EXPECT_EQ(nestsmith(emit + (folder / "second.cu").string()).code, 0);
    EXPECT_TRUE(fs::is_symlink(folder / "link.cu"));
    EXPECT_TRUE(fs::is_symlink(folder / "second.cu"));
    EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(folder / "real/b.cu")));
    fs::permissions(folder / "real/b.cu", static_cast<fs::perms>(0600));
  }
  EXPECT_EQ(mode("real/b.cu"), 0600U);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder / "real"), fs::directory_iterator{}), 1);
  fs::create_symlink("loop.cu", folder / "loop.cu");
  expect_refusal(nestsmith(emit + (folder / "loop.cu").string()), "Too many levels of symbolic links");
}

} // namespace
} // namespace nestsmith
