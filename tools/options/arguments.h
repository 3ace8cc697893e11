#pragma once
/// Options and positional arguments of a command.
///
/// LLVM's CommandLine is not used. Its registry is global, so our commands would also have the options of LLVM,
/// and of a user's program that links LLVM. It also exits the process with its own exit code.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nestsmith::cli {

struct Option {
  std::string name;  ///< name of the option without the dashes: "shape"
  std::string value; ///< placeholder in the help text: "MxNxK"; empty for a flag
  std::string help;
  char letter = 0;                       ///< 'o' for `-o`; 0: none
  std::vector<std::string> choices = {}; ///< empty: any value
  /// If true, `--name` may stand without a value, which means an empty value. Before the first positional
  /// argument, the next word is not used as the value, so that in `--name RUNG` the word RUNG is the positional
  /// argument.
  bool optional_value = false;
  bool list = false; ///< the value is a list with commas between its words, each of which is one of `choices`
};

/// The words of a value such as "512,1024".
std::vector<std::string> words_of_list(const std::string &value);

/// The option for a word such as "--shape" or "-o", or null.
const Option *find_option(const std::vector<Option> &options, const std::string &word);

class Arguments {
public:
  /// Parses `--name value`, `--name=value` and `-o value`; every word after `--` is positional. Throws
  /// UserError (usage) on an unknown option (with the nearest names), a missing value, a value that is not a
  /// choice, a repeated word of a list, and a repeated option. `command` is the command's name for messages.
  Arguments(const std::string &command, const std::vector<std::string> &words,
            const std::vector<Option> &options);

  const std::vector<std::string> &positional() const { return positional_; }
  /// Adds an implied argument, such as the only rung of a user's program.
  void add_positional(std::string word) { positional_.push_back(std::move(word)); }
  bool has(const std::string &option) const { return values_.contains(option); }
  std::optional<std::string> value(const std::string &option) const;
  /// The words of a list, or of `otherwise` if the option is not given.
  std::vector<std::string> list(const std::string &option, const std::string &otherwise) const;
  /// A non-negative integer. Throws UserError (usage) for any other value.
  std::optional<std::int64_t> number(const std::string &option) const;
  std::optional<double> real(const std::string &option) const; ///< above 0

private:
  std::vector<std::string> positional_;
  std::map<std::string, std::string> values_;
};

/// Up to three names that resemble `wanted`, best first.
std::vector<std::string> nearest(std::string_view wanted, const std::vector<std::string> &names);
/// The message, with "; did you mean 'a' or 'b'?" at its end if some of the names resemble `wanted`. So a
/// message has one mark, which ends it.
std::string with_hint(std::string message, std::string_view wanted, const std::vector<std::string> &names);
/// The same for names that are chosen already.
std::string with_names(std::string message, const std::vector<std::string> &near);
/// "'a', 'b' or 'c'".
std::string quoted_list(const std::vector<std::string> &names);

} // namespace nestsmith::cli
