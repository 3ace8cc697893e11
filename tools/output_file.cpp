#include "tools/output_file.h"

#include "dsl/error.h"
#include "runtime/whole_file.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <unistd.h>

namespace nestsmith::cli {

namespace {

namespace fs = std::filesystem;

/// Writes what is no regular file: 0, or the error of the call that failed.
int write_all(const std::string &path, std::string_view text) {
  std::FILE *file = std::fopen(path.c_str(), "wb");
  if (!file)
    return errno;
  int failed = std::fwrite(text.data(), 1, text.size(), file) == text.size() ? 0 : errno;
  if (std::fclose(file) != 0 && failed == 0)
    failed = errno;
  return failed;
}

} // namespace

void write_file(const std::string &path, std::string_view text) {
  auto refuse = [&](int error) {
    throw UserError(ExitCode::usage,
                    fmt::format("cannot write '{}': {}; nothing was written", path, std::strerror(error)));
  };
  std::error_code ignored;
  fs::path target = fs::is_symlink(path, ignored) ? fs::weakly_canonical(path, ignored) : fs::path(path);
  if (fs::is_directory(target, ignored))
    refuse(EISDIR);
  if (fs::exists(target, ignored) && !fs::is_regular_file(target, ignored)) {
    if (int error = write_all(path, text))
      refuse(error);
    return;
  }
  if (fs::exists(target, ignored) && access(target.c_str(), W_OK) != 0)
    refuse(errno);
  if (int error = write_whole(target, text))
    refuse(error);
}

} // namespace nestsmith::cli
