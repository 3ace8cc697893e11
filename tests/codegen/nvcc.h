#pragma once
/// nvcc, where this machine has it on its PATH.

#include "tests/codegen/scratch.h"

#include <string>
#include <vector>

namespace nestsmith {

class Nvcc {
public:
  bool found() const { return folder_.run("nvcc --version", "version").status == 0; }
  /// What compiling `source` with every warning on says, or where that fails: "" is good.
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
