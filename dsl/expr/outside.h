#pragma once
/// Reads files that others wrote: traces, tables of records, entries of caches. Every reader of such a file
/// uses these functions, so that no file can exhaust the memory or the stack, or block the program.

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include <llvm/Support/JSON.h>

namespace nestsmith {

/// The content of a regular file. Throws UserError (usage) if the file cannot be read, is a folder, a device, a
/// FIFO or a socket, or has more than `most_bytes`; the size is checked before the file is read. `what` names
/// the kind of file in messages: "trace".
std::string read_outside(const std::filesystem::path &path, const char *what, std::size_t most_bytes);

/// The same for a file in the open folder `folder` that only this user can have written: it belongs to this
/// user, others cannot write to it, and it is no link. None if there is no such file.
std::optional<std::string> read_own(int folder, const std::string &name, std::size_t most_bytes);

/// Throws UserError (usage) if there is something else than a regular file at the path. A file that does not
/// exist is accepted.
void check_regular_file(const std::filesystem::path &path, const char *what);

struct JsonLimits {
  std::size_t bytes;
  int depth = 64;                    ///< of brackets; the parser is recursive
  std::size_t values = 1'000'000;    ///< in all arrays and objects
  std::size_t string_bytes = 10'000; ///< of one string or key
  bool control_characters = false;   ///< whether strings may have them
};

/// Parses JSON. If the text is not JSON or exceeds a limit, returns none and sets `why`: "not JSON: …", "has
/// 5242880 bytes, expected at most 4194304", "its brackets nest more than 64 deep".
std::optional<llvm::json::Value> parse_outside(std::string_view text, const JsonLimits &limits,
                                               std::string &why);

} // namespace nestsmith
