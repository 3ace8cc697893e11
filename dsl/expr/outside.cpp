#include "dsl/expr/outside.h"

#include "dsl/expr/error.h"
#include "dsl/expr/printable.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace nestsmith {

namespace {

namespace json = llvm::json;

constexpr const char *not_regular = "it is not a regular file";

/// The reason why this is not a file to be read, or an empty string.
std::string why_no_file(const struct stat &info, std::size_t most_bytes) {
  if (S_ISDIR(info.st_mode))
    return std::strerror(EISDIR);
  if (!S_ISREG(info.st_mode))
    return not_regular;
  if (static_cast<std::uintmax_t>(info.st_size) > most_bytes)
    return fmt::format("it has {} bytes, expected at most {}", info.st_size, most_bytes);
  return "";
}

/// Reads the open file into `text`. Returns the reason of a failure, or an empty string.
std::string read_all(int descriptor, std::size_t most_bytes, std::string &text) {
  std::array<char, 1 << 16> chunk;
  for (;;) {
    ssize_t n = ::read(descriptor, chunk.data(), chunk.size());
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      return std::strerror(errno);
    if (n == 0)
      return "";
    text.append(chunk.data(), static_cast<std::size_t>(n));
    if (text.size() > most_bytes) // the file grew, or the file system does not know its size
      return fmt::format("it has more than {} bytes", most_bytes);
  }
}

/// Reads a file whose opened form satisfies `accept`. To open a device can already have an effect, so the kind
/// of file is checked before and after.
template <class Accept>
std::string read_regular(int folder, const char *name, int flags, std::size_t most_bytes, std::string &text,
                         const Accept &accept) {
  struct stat info {};
  if (::fstatat(folder, name, &info, (flags & O_NOFOLLOW) != 0 ? AT_SYMLINK_NOFOLLOW : 0) != 0)
    return std::strerror(errno);
  if (std::string why = why_no_file(info, most_bytes); !why.empty())
    return why;
  int descriptor = ::openat(folder, name, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | flags);
  if (descriptor < 0)
    return std::strerror(errno);
  std::string why = ::fstat(descriptor, &info) == 0 ? why_no_file(info, most_bytes) : std::strerror(errno);
  if (why.empty())
    why = accept(info) ? read_all(descriptor, most_bytes, text) : "it belongs to another user";
  ::close(descriptor);
  return why;
}

[[noreturn]] void refuse_file(const std::filesystem::path &path, const char *what, const std::string &why) {
  throw UserError(ExitCode::usage,
                  fmt::format("cannot read the {} '{}': {}", what, printable(path.string()), why));
}

/// The depth to which brackets nest outside of strings, and a bound on the number of values.
struct TextShape {
  int depth = 0;
  std::size_t values = 1;
};

TextShape text_shape(std::string_view text) {
  TextShape shape;
  int depth = 0;
  bool quoted = false;
  for (std::size_t n = 0; n < text.size(); ++n) {
    char c = text[n];
    if (quoted) {
      n += c == '\\';
      quoted = c != '"';
      continue;
    }
    quoted = c == '"';
    depth = std::max(depth + (c == '[' || c == '{') - (c == ']' || c == '}'), 0);
    shape.depth = std::max(shape.depth, depth);
    shape.values += c == '[' || c == '{' || c == ',';
  }
  return shape;
}

/// The reason why a string of the value is refused, or an empty string. The recursion is as deep as the
/// brackets.
std::string why_no_string(llvm::StringRef text, const JsonLimits &limits) {
  if (text.size() > limits.string_bytes)
    return fmt::format("its strings have up to {} bytes, expected at most {}", text.size(),
                       limits.string_bytes);
  if (limits.control_characters)
    return "";
  std::string shown = printable({text.data(), text.size()});
  if (shown != std::string_view(text.data(), text.size()))
    return fmt::format("its string \"{}\" has a control character", shown.substr(0, 80));
  return "";
}

std::string why_no_strings(const json::Value &value, const JsonLimits &limits) {
  std::string why;
  if (auto text = value.getAsString())
    return why_no_string(*text, limits);
  if (const json::Array *array = value.getAsArray())
    for (const json::Value &element : *array)
      if (why.empty())
        why = why_no_strings(element, limits);
  if (const json::Object *object = value.getAsObject())
    for (const auto &[key, member] : *object) {
      if (why.empty())
        why = why_no_string(key, limits);
      if (why.empty())
        why = why_no_strings(member, limits);
    }
  return why;
}

} // namespace

std::string read_outside(const std::filesystem::path &path, const char *what, std::size_t most_bytes) {
  std::string text;
  std::string why =
      read_regular(AT_FDCWD, path.c_str(), 0, most_bytes, text, [](const struct stat &) { return true; });
  if (!why.empty())
    refuse_file(path, what, why);
  return text;
}

std::optional<std::string> read_own(int folder, const std::string &name, std::size_t most_bytes) {
  std::string text;
  std::string why =
      read_regular(folder, name.c_str(), O_NOFOLLOW, most_bytes, text, [](const struct stat &info) {
        return info.st_uid == ::geteuid() && (info.st_mode & S_IWOTH) == 0;
      });
  return why.empty() ? std::optional(std::move(text)) : std::nullopt;
}

void check_regular_file(const std::filesystem::path &path, const char *what) {
  struct stat info {};
  if (::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode))
    throw UserError(ExitCode::usage,
                    fmt::format("cannot open the {} '{}': {}", what, printable(path.string()), not_regular));
}

std::optional<json::Value> parse_outside(std::string_view text, const JsonLimits &limits, std::string &why) {
  if (text.size() > limits.bytes) {
    why = fmt::format("has {} bytes, expected at most {}", text.size(), limits.bytes);
    return std::nullopt;
  }
  TextShape shape = text_shape(text);
  if (shape.depth > limits.depth)
    why = fmt::format("its brackets nest more than {} deep", limits.depth);
  else if (shape.values > limits.values)
    why =
        fmt::format("its arrays and objects have {} values, expected at most {}", shape.values, limits.values);
  if (!why.empty())
    return std::nullopt;
  llvm::Expected<json::Value> parsed = json::parse(llvm::StringRef(text.data(), text.size()));
  if (!parsed) {
    why = fmt::format("not JSON: {}", llvm::toString(parsed.takeError()));
    return std::nullopt;
  }
  why = why_no_strings(*parsed, limits);
  return why.empty() ? std::optional<json::Value>(*std::move(parsed)) : std::nullopt;
}

} // namespace nestsmith
