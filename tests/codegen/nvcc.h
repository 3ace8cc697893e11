#pragma once
/// nvcc, where this machine has it on its PATH.

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>
#include <unistd.h>
#include <vector>

namespace nestsmith {

class Nvcc {
public:
  Nvcc() {
    std::string pattern = (std::filesystem::temp_directory_path() / "nestsmith-XXXXXX").string();
    if (!mkdtemp(pattern.data()))
      throw std::system_error(errno, std::generic_category(), "mkdtemp");
    folder_ = pattern;
  }
  ~Nvcc() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  Nvcc(const Nvcc &) = delete;
  Nvcc &operator=(const Nvcc &) = delete;

  bool found() const { return std::system("nvcc --version >/dev/null 2>&1") == 0; }
  /// What compiling `source` with every warning on says, or where that fails: "" is good.
  std::string messages(const std::string &source, const std::vector<std::string> &flags) const {
    std::ofstream(folder_ / "file.cu") << source;
    std::string command =
        "cd '" + folder_.string() + "' && nvcc -Werror all-warnings -Xcompiler -Wall,-Wextra,-Werror";
    for (const std::string &flag : flags)
      command += " '" + flag + "'";
    std::FILE *pipe = popen((command + " file.cu 2>&1").c_str(), "r");
    std::string text;
    for (int c; (c = std::fgetc(pipe)) != EOF;)
      text += static_cast<char>(c);
    int status = pclose(pipe);
    return status != 0 && text.empty() ? "nvcc failed" : text;
  }
  std::string output() const { return (folder_ / "program").string(); }

private:
  std::filesystem::path folder_;
};

} // namespace nestsmith
