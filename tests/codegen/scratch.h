#pragma once
/// A temporary folder in which a test compiles and runs programs.

#include "tests/files.h"

#include <cstdlib>
#include <string>
#include <sys/wait.h>

namespace nestsmith {

struct Finished {
  int status = -1;    ///< the exit status; -1: a signal ended it
  std::string output; ///< the output of both streams
};

class Scratch {
public:
  std::string path(const std::string &file) const { return (folder_ / file).string(); }
  void write(const std::string &file, const std::string &text) const { test::write_file(folder_ / file, text); }
  std::string read(const std::string &file) const { return test::read_file(folder_ / file); }
  /// Runs a shell command in the folder. `name` names the log, so commands that run at the same time need
  /// different names.
  Finished run(const std::string &command, const std::string &name) const {
    std::string log = name + ".log";
    int status = std::system(
        ("cd '" + folder_.string() + "' && (" + command + ") >" + log + " 2>&1 </dev/null").c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read(log)};
  }

private:
  test::TemporaryFolder folder_;
};

} // namespace nestsmith
