#pragma once
/// Runs nvcc if it is on the PATH of this machine.

#include "tests/codegen/scratch.h"

#include <string>
#include <vector>

namespace nestsmith {

class Nvcc {
public:
  bool found() const { return folder_.run("nvcc --version", "version").status == 0; }
  /// Compiles `source` with every warning enabled. Returns the compiler's messages, or "" if nvcc succeeds
  /// without a message.
  std::string messages(const std::string &source, const std::vector<std::string> &flags) const {
    folder_.write("file.cu", source);
    std::string command = "nvcc -Werror all-warnings -Xcompiler -Wall,-Wextra,-Werror";
    for (const std::string &flag : flags)
      command += " '" + flag + "'";
    Finished done = folder_.run(command + " file.cu", "nvcc");
    return done.status != 0 && done.output.empty() ? "nvcc failed" : done.output;
  }
  std::string output() const { return folder_.path("program"); }

private:
  Scratch folder_;
};

} // namespace nestsmith
