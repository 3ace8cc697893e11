/// Tests child processes: the exchange of lines, their end, and the timeouts of the parent.

#include "runtime/tune/child.h"

#include "dsl/expr/error.h"
#include "tests/dsl/support.h"

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <unistd.h>

namespace nestsmith::tune {
namespace {

/// Starts this program with only the test below.
Child start() {
  std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  return Child::start(self, {self, "--gtest_filter=Child.Answers"});
}

/// In a child process, this test executes the requests of the parent. Otherwise it does nothing.
TEST(Child, Answers) {
  std::optional<Parent> parent = Parent::connect();
  if (!parent)
    return;
  while (auto line = parent->receive()) {
    if (*line == "crash")
      raise(SIGKILL);
    if (*line == "leave")
      _exit(3);
    if (*line == "hang")
      pause();
    if (*line == "slow")
      usleep(200'000);
    parent->send("got " + *line);
  }
  _exit(0);
}

TEST(Child, ExchangesLines) {
  Child child = start();
  child.send("one");
  child.send("");
  child.send(std::string(100'000, 'x'));
  EXPECT_EQ(child.receive(30).line, "got one");
  EXPECT_EQ(child.receive(30).line, "got ");
  EXPECT_EQ(child.receive(30).line, "got " + std::string(100'000, 'x'));
  EXPECT_EQ(child.end(), "exit code 0");
}

TEST(Child, EndsByItself) {
  Child child = start();
  child.send("leave");
  Child::Received received = child.receive(30);
  EXPECT_FALSE(received.line);
  EXPECT_FALSE(received.timed_out);
  child.send("nobody reads this");
  EXPECT_EQ(child.end(), "exit code 3");
}

TEST(Child, EndsWithASignal) {
  Child child = start();
  child.send("crash");
  EXPECT_FALSE(child.receive(30).timed_out);
  EXPECT_EQ(child.end(), "signal 9 (Killed)");
}

TEST(Child, AnswersAfterASignalToTheParent) {
  Child child = start();
  child.send("before");
  EXPECT_EQ(child.receive(30).line, "got before");
  struct sigaction action = {}, old = {}; // without SA_RESTART, as for Ctrl-C
  action.sa_handler = [](int) {};
  sigaction(SIGALRM, &action, &old);
  child.send("slow");
  ualarm(50'000, 0);
  EXPECT_EQ(child.receive(30).line, "got slow");
  sigaction(SIGALRM, &old, nullptr);
}

TEST(Child, ThatHangsIsEnded) {
  Child child = start();
  child.send("before");
  EXPECT_EQ(child.receive(30).line, "got before");
  child.send("hang");
  Child::Received received = child.receive(0.05);
  EXPECT_FALSE(received.line);
  EXPECT_TRUE(received.timed_out);
  EXPECT_EQ(child.end(), "signal 9 (Killed)");
}

TEST(Child, ThatCannotBeExecutedEnds) {
  Child child = Child::start("/no/such/program", {"program"});
  EXPECT_FALSE(child.receive(30).timed_out);
  EXPECT_EQ(child.end(), "exit code 127");
}

TEST(Child, RefusesAStrangeVariable) {
  setenv(child_variable, "mine", 1);
  test::expect_user_error([] { Parent::connect(); }, ExitCode::usage,
                          "the environment variable NESTSMITH_CHILD is 'mine'; it is set by nestsmith only");
  unsetenv(child_variable);
}

} // namespace
} // namespace nestsmith::tune
