#pragma once
/// Runs build/bin/nestsmith as a user does.

#include "tests/contains.h"
#include "tests/files.h"

#include <cstdlib>
#include <filesystem>
#include <gtest/gtest.h>
#include <llvm/ADT/StringRef.h>
#include <llvm/Support/JSON.h>
#include <llvm/Support/Regex.h>
#include <sstream>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace nestsmith::test {

struct Ran {
  int code = -1;
  std::string out, err;
};

/// Runs nestsmith with `arguments`, which have the syntax of the shell. `environment`, such as "NO_COLOR=1", is
/// put before the program. The output is wide enough for all columns of tables. "COLUMNS=80" sets another
/// width.
inline Ran nestsmith(const std::string &arguments, const std::string &environment = "") {
  TemporaryFolder folder;
  // What `tune` stores is not that of the user who runs the tests.
  std::string command = "COLUMNS=160 XDG_DATA_HOME=" + folder.string() + " env " + environment +
                        " " NESTSMITH_BINARY " " + arguments + " >" + (folder / "out").string() + " 2>" +
                        (folder / "err").string() + " </dev/null";
  int status = std::system(command.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_file(folder / "out"), read_file(folder / "err")};
}

/// Returns the names of the commands that `nestsmith --help` lists.
inline std::vector<std::string> commands() {
  std::vector<std::string> names;
  std::istringstream lines(nestsmith("--help").out);
  std::string line;
  while (std::getline(lines, line) && line != "commands:")
    continue;
  while (std::getline(lines, line) && !line.empty())
    if (line.starts_with("  ") && line[2] != ' ') // not a continuation line of a summary
      names.push_back(line.substr(2, line.find(' ', 2) - 2));
  EXPECT_GE(names.size(), 12U);
  return names;
}

/// Matches a POSIX extended expression, in which `.` does not match a newline.
inline testing::AssertionResult matches(const std::string &text, const std::string &pattern) {
  if (llvm::Regex(pattern, llvm::Regex::Newline).match(text))
    return testing::AssertionSuccess() << "'" << pattern << "' matches:\n" << text;
  return testing::AssertionFailure() << "'" << pattern << "' does not match:\n" << text;
}

/// Parses the output of `--json`.
inline llvm::json::Value parsed(const Ran &ran) {
  auto value = llvm::json::parse(ran.out);
  EXPECT_TRUE(static_cast<bool>(value)) << ran.out << ran.err;
  if (!value) {
    llvm::consumeError(value.takeError());
    return nullptr;
  }
  return *value;
}

/// Parses the output of `run --json`, which has one object per line.
inline std::vector<llvm::json::Value> parsed_lines(const Ran &ran) {
  std::vector<llvm::json::Value> lines;
  std::istringstream text(ran.out);
  for (std::string line; std::getline(text, line);)
    lines.push_back(parsed({ran.code, line, ran.err}));
  return lines;
}

} // namespace nestsmith::test
