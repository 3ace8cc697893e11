#pragma once
/// A temporary folder in which a test compiles and runs programs.

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <sys/wait.h>
#include <system_error>

namespace nestsmith {

struct Finished {
  int status = -1;    ///< the exit status; -1: a signal ended it
  std::string output; ///< of both streams
};

class Scratch {
public:
  Scratch() {
    std::string pattern = (std::filesystem::temp_directory_path() / "nestsmith-XXXXXX").string();
    if (!mkdtemp(pattern.data()))
      throw std::system_error(errno, std::generic_category(), "mkdtemp");
    folder_ = pattern;
  }
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  Scratch(const Scratch &) = delete;
  Scratch &operator=(const Scratch &) = delete;

  std::string path(const std::string &file) const { return (folder_ / file).string(); }
  void write(const std::string &file, const std::string &text) const {
    std::ofstream(folder_ / file, std::ios::binary) << text;
  }
  std::string read(const std::string &file) const {
    std::ifstream stream(folder_ / file, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  /// Runs a shell command in the folder; `name` tells commands apart that run at once.
  Finished run(const std::string &command, const std::string &name) const {
    std::string log = name + ".log";
    int status = std::system(
        ("cd '" + folder_.string() + "' && (" + command + ") >" + log + " 2>&1 </dev/null").c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read(log)};
  }

private:
  std::filesystem::path folder_;
};

} // namespace nestsmith
