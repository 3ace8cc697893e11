#pragma once
/// Options and positional arguments of one command.
///
/// LLVM's CommandLine is not used: its registry is global, so it would mix its own options, and those of
/// a user's program that links LLVM, into ours, and it ends the process with a code of its own.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nestsmith::cli {

struct Option {
  std::string name;  ///< without the dashes: "shape"
  std::string value; ///< what stands for its value in help: "MxNxK"; empty for a flag
  std::string help;
  char letter = 0;                       ///< 'o' for `-o`; 0: none
  std::vector<std::string> choices = {}; ///< empty: any value
  /// `--name` alone means an empty value. A word that follows is its value where it stands after the first
  /// positional argument, so that `--name RUNG` still names a rung.
  bool optional_value = false;
};

/// The option that a word such as "--shape" or "-o" names, or null.
const Option *find_option(const std::vector<Option> &options, const std::string &word);

class Arguments {
public:
  /// Takes `--name value`, `--name=value`, `-o value`, and everything as positional after `--`. Throws
  /// UserError (usage) on an unknown option, naming the nearest, on a value that is missing or is no
  /// choice, and on an option given twice. `command` is its name, for messages.
  Arguments(const std::string &command, const std::vector<std::string> &words,
            const std::vector<Option> &options);

  const std::vector<std::string> &positional() const { return positional_; }
  /// For what goes without saying: the only rung of a user's own program.
  void add_positional(std::string word) { positional_.push_back(std::move(word)); }
  bool has(const std::string &option) const { return values_.contains(option); }
  std::optional<std::string> value(const std::string &option) const;
  /// A number of at least 0. Throws UserError (usage).
  std::optional<std::int64_t> number(const std::string &option) const;

private:
  std::vector<std::string> positional_;
  std::map<std::string, std::string> values_;
};

/// The names nearest to `wanted`, best first, at most three; empty where none is near.
std::vector<std::string> nearest(std::string_view wanted, const std::vector<std::string> &names);
/// "; did you mean 'a' or 'b'?", or "".
std::string did_you_mean(std::string_view wanted, const std::vector<std::string> &names);
/// "'a', 'b' or 'c'".
std::string quoted_list(const std::vector<std::string> &names);

} // namespace nestsmith::cli
