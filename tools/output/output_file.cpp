#include "tools/output/output_file.h"

#include "dsl/expr/error.h"
#include "dsl/expr/printable.h"
#include "runtime/cuda/whole_file.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <unistd.h>

namespace nestsmith::cli {

namespace {

namespace fs = std::filesystem;

/// Writes a file in place. Returns 0, or the error of the failed call.
int write_all(const std::string &path, std::string_view text) {
  std::FILE *file = std::fopen(path.c_str(), "wb");
  if (!file)
    return errno;
  int failed = std::fwrite(text.data(), 1, text.size(), file) == text.size() ? 0 : errno;
  if (std::fclose(file) != 0 && failed == 0)
    failed = errno;
  return failed;
}

[[noreturn]] void refuse(const std::string &path, int error) {
  throw UserError(ExitCode::usage, fmt::format("cannot write '{}': {}; nothing was written", printable(path),
                                               std::strerror(error)));
}

/// The file to which `path` refers. Sets `regular` if it can be replaced.
fs::path target_of(const std::string &path, bool &regular) {
  std::error_code ignored;
  // As a shell does, write to the target of a link, even if the target does not exist yet.
  fs::path target = path;
  constexpr int most_links = 40;
  for (int links = 0; fs::is_symlink(target, ignored); ++links) {
    if (links == most_links)
      refuse(path, ELOOP);
    target = target.parent_path() / fs::read_symlink(target, ignored);
  }
  if (fs::is_directory(target, ignored))
    refuse(path, EISDIR);
  regular = !fs::exists(target, ignored) || fs::is_regular_file(target, ignored);
  if (regular && fs::exists(target, ignored) && access(target.c_str(), W_OK) != 0)
    refuse(path, errno);
  return target;
}

} // namespace

void write_file(const std::string &path, std::string_view text) {
  bool regular = false;
  fs::path target = target_of(path, regular);
  if (int error = regular ? write_whole(target, text) : write_all(path, text))
    refuse(path, error);
}

void check_writable(const std::string &path) {
  bool regular = false;
  fs::path folder = target_of(path, regular).parent_path();
  if (regular && access(folder.empty() ? "." : folder.c_str(), W_OK) != 0)
    refuse(path, errno);
}

void write_files(const std::vector<OutputFile> &files) {
  std::vector<FileToWrite> targets;
  for (const OutputFile &file : files) {
    bool regular = false;
    targets.push_back({target_of(file.path, regular), file.text});
    if (!regular)
      throw UserError(
          ExitCode::usage,
          fmt::format(
              "cannot write '{}' together with another file: it is not a regular file; name a regular file",
              file.path));
  }
  if (auto failed = write_whole(targets))
    refuse(failed->path.string(), failed->error);
}

bool is_same_file(const std::string &a, const std::string &b) {
  std::error_code ignored;
  auto place = [&](const std::string &path) { return fs::weakly_canonical(fs::absolute(path), ignored); };
  return fs::equivalent(a, b, ignored) || place(a) == place(b);
}

} // namespace nestsmith::cli
