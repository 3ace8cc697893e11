/// Tests the output on a terminal, and the result of an interrupted run. The tool runs on a pseudo-terminal of
/// the test.

#include "tests/tools/run_binary.h"
#include "tools/output/terminal.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <poll.h>
#include <pty.h>

namespace nestsmith {
namespace {

using test::contains;

/// Runs the tool on a terminal of 80 columns, and keeps its output.
class OnTerminal {
public:
  explicit OnTerminal(std::vector<std::string> words, const char *environment = nullptr) {
    winsize size{24, 80, 0, 0};
    child_ = forkpty(&terminal_, nullptr, nullptr, &size);
    if (child_ == 0) {
      std::signal(SIGINT, SIG_DFL); // a background job of a shell ignores this signal
      unsetenv("COLUMNS");
      setenv("TERM", "xterm", 1);
      if (environment)
        putenv(const_cast<char *>(environment));
      words.insert(words.begin(), NESTSMITH_BINARY);
      std::vector<char *> argv;
      for (std::string &word : words)
        argv.push_back(word.data());
      argv.push_back(nullptr);
      execv(NESTSMITH_BINARY, argv.data());
      _exit(127);
    }
  }
  ~OnTerminal() { close(terminal_); }
  OnTerminal(const OnTerminal &) = delete;
  OnTerminal &operator=(const OnTerminal &) = delete;

  /// Reads until the text contains `part`, or to the end.
  const std::string &read_until(const std::string &part) {
    char block[4096];
    while (part.empty() || text_.find(part) == std::string::npos) {
      ssize_t got = read(terminal_, block, sizeof block);
      if (got <= 0)
        break;
      text_.append(block, static_cast<std::size_t>(got));
    }
    return text_;
  }
  const std::string &read_all() { return read_until(""); }
  void interrupt() { kill(child_, SIGINT); }
  /// Returns the status of `waitpid`.
  int wait() {
    int status = 0;
    waitpid(child_, &status, 0);
    return status;
  }

private:
  int terminal_ = -1;
  pid_t child_ = -1;
  std::string text_;
};

/// These tests need a pseudo-terminal, which a sandbox may not provide.
class Terminal : public testing::Test {
protected:
  void SetUp() override {
    int ours = -1, theirs = -1;
    if (openpty(&ours, &theirs, nullptr, nullptr, nullptr) != 0)
      GTEST_SKIP() << "needs a pseudo-terminal, and openpty failed: " << std::strerror(errno);
    close(ours);
    close(theirs);
  }
};

TEST_F(Terminal, LinesFitAndAProgressLineIsRemoved) {
  OnTerminal run({"run", "principles", "--shape", "33x17x9", "--device", "sim"});
  std::string text = run.read_all();
  EXPECT_EQ(WEXITSTATUS(run.wait()), 0) << text;
  EXPECT_TRUE(contains(text, "\r1 of 14: principles/one …"));
  EXPECT_TRUE(contains(text, "\x1b[1m")) << "colours are on";
  EXPECT_FALSE(contains(text, "\x1b[K"));
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    line.erase(line.find_last_not_of('\r') + 1);
    std::istringstream over(line); // each carriage return starts the line again
    for (std::string part; std::getline(over, part, '\r');)
      EXPECT_LE(cli::display_width(part), 80U) << part;
  }
}

TEST_F(Terminal, AWarningTakesThePlaceOfTheProgress) {
  test::TemporaryFolder folder;
  std::string file = (folder / "trace.json").string();
  test::write_file(file, R"({"nestsmith_trace": 1, "workload": "gemm", "shape": [8, 8, 8], "dtype": "f32",
    "target": "sm_80", "directives": []})");
  OnTerminal run({"run", file, "--device", "sim"});
  EXPECT_TRUE(contains(run.read_all(), " \rnestsmith: warning:"));
  EXPECT_EQ(WEXITSTATUS(run.wait()), 0);
}

TEST_F(Terminal, NoEscapesUnderNoColor) {
  for (const char *command : {"run", "check", "explain"}) {
    OnTerminal run({command, "ladder/naive", "--shape", "33x17x9"}, "NO_COLOR=1");
    std::string text = run.read_all();
    EXPECT_EQ(WEXITSTATUS(run.wait()), 0) << text;
    EXPECT_FALSE(contains(text, "\x1b"));
  }
}

TEST_F(Terminal, AMessageIsFoldedBetweenWords) {
  OnTerminal show({"show", "coalescd"});
  EXPECT_TRUE(contains(show.read_all(),
                       "nestsmith: unknown rung 'coalescd'; `nestsmith list` shows them; did you mean\r\n"));
  EXPECT_EQ(WEXITSTATUS(show.wait()), 2);
}

/// The third rung takes minutes. A signal ends the run, and the first two rows must be printed.
TEST_F(Terminal, AnInterruptedClimbKeepsItsRows) {
  for (bool json : {false, true}) {
    std::vector<std::string> words = {
        "run", "principles/fused", "principles/uniform", "deep_dive/naive", "--device", "sim"};
    test::TemporaryFolder folder;
    test::write_file(folder / "large.json",
                     test::nestsmith("show deep_dive/naive --shape 2048x2048x2048 --trace json").out);
    words[3] = (folder / "large.json").string();
    test::nestsmith("compile " +
                    words[3]); // a signal during a compilation ends in NVRTC with its own exit code
    if (json)
      words.push_back("--json");
    OnTerminal run(words);
    run.read_until("3 of 3");
    run.interrupt();
    std::string text = run.read_all();
    int status = run.wait();
    EXPECT_TRUE(WIFSIGNALED(status)) << "it was not over; status " << status << ", after:\n" << text;
    EXPECT_TRUE(test::matches(text, json ? "\\{\"rung\":\"principles/uniform\".*\"verdict\":\"PASSED\""
                                         : "principles/uniform.*PASSED"));
    EXPECT_FALSE(test::matches(text, json ? "\"climbed\"" : "large.json.*PASSED"));
  }
}

TEST(ClosedPipe, EndsTheCommandWithoutAMessage) {
  for (const char *command : {"list", "run ladder --shape 33x17x9 --device sim", "emit ladder/warps"}) {
    test::TemporaryFolder folder;
    std::string line = std::string("{ " NESTSMITH_BINARY " ") + command + " 2>" + (folder / "err").string() +
                       "; } | head -1 >" + (folder / "out").string();
    EXPECT_EQ(std::system(line.c_str()), 0);
    EXPECT_NE(test::read_file(folder / "out"), "");
    EXPECT_FALSE(contains(test::read_file(folder / "err"), "nestsmith:"));
  }
}

} // namespace
} // namespace nestsmith
