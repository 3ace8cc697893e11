#include "tools/options/arguments.h"

#include "dsl/expr/error.h"

#include <algorithm>
#include <fmt/format.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/ADT/StringRef.h>

namespace nestsmith::cli {

namespace {

std::vector<std::string> spellings(const std::vector<Option> &options) {
  std::vector<std::string> names;
  for (const Option &option : options)
    names.push_back("--" + option.name);
  return names;
}

/// Throws if a word is no choice, or is repeated.
void check_list(const Option &option, const std::string &spelled, const std::string &value) {
  std::vector<std::string> known;
  for (const std::string &word : words_of_list(value)) {
    if (!option.choices.empty() && std::ranges::find(option.choices, word) == option.choices.end())
      throw UserError(
          ExitCode::usage,
          with_hint(fmt::format("option '{}' must be a list of {} with commas between them, got '{}'", spelled,
                                quoted_list(option.choices), word),
                    word, option.choices));
    if (std::ranges::find(known, word) != known.end())
      throw UserError(ExitCode::usage, fmt::format("option '{}' has '{}' twice", spelled, word));
    known.push_back(word);
  }
}

} // namespace

std::vector<std::string> words_of_list(const std::string &value) {
  llvm::SmallVector<llvm::StringRef, 8> parts;
  llvm::StringRef(value).split(parts, ',');
  std::vector<std::string> words;
  for (llvm::StringRef part : parts)
    words.push_back(part.str());
  return words;
}

const Option *find_option(const std::vector<Option> &options, const std::string &word) {
  for (const Option &option : options)
    if (word == "--" + option.name || (option.letter && word == std::string("-") + option.letter))
      return &option;
  return nullptr;
}

Arguments::Arguments(const std::string &command, const std::vector<std::string> &words,
                     const std::vector<Option> &options) {
  auto refuse = [](const std::string &message) { throw UserError(ExitCode::usage, message); };
  bool only_positional = false;
  for (std::size_t n = 0; n < words.size(); ++n) {
    const std::string &word = words[n];
    if (only_positional || word.size() < 2 || word[0] != '-') {
      positional_.push_back(word);
      continue;
    }
    if (word == "--") {
      only_positional = true;
      continue;
    }
    std::size_t equals = word.starts_with("--") ? word.find('=') : std::string::npos;
    std::string spelled = word.substr(0, equals);
    const Option *option = find_option(options, spelled);
    if (!option)
      refuse(with_hint(fmt::format("unknown option '{}' of '{}'; `nestsmith {} --help` lists them", spelled,
                                   command, command),
                       spelled, spellings(options)));
    std::string value;
    if (equals != std::string::npos) {
      if (option->value.empty())
        refuse(fmt::format("option '{}' takes no value, got '{}'", spelled, word.substr(equals + 1)));
      value = word.substr(equals + 1);
    } else if (option->optional_value) {
      if (!positional_.empty() && n + 1 < words.size() && !words[n + 1].starts_with("-"))
        value = words[++n];
    } else if (!option->value.empty()) {
      if (n + 1 == words.size())
        refuse(fmt::format("option '{}' needs a value: {} {}", spelled, spelled, option->value));
      value = words[++n];
    }
    if ((option->value == "FILE" || option->value == "FOLDER") && value.empty())
      refuse(fmt::format("option '{}' needs a {}'s path, got ''", spelled,
                         option->value == "FILE" ? "file" : "folder"));
    if (option->list)
      check_list(*option, spelled, value);
    else if (!option->choices.empty() && std::ranges::find(option->choices, value) == option->choices.end())
      refuse(
          fmt::format("option '{}' must be one of {}, got '{}'", spelled, quoted_list(option->choices), value));
    if (!values_.emplace(option->name, value).second)
      refuse(fmt::format("option '{}' is given twice", spelled));
  }
}

std::optional<std::string> Arguments::value(const std::string &option) const {
  auto found = values_.find(option);
  return found == values_.end() ? std::nullopt : std::optional(found->second);
}

std::vector<std::string> Arguments::list(const std::string &option, const std::string &otherwise) const {
  return words_of_list(value(option).value_or(otherwise));
}

std::optional<std::int64_t> Arguments::number(const std::string &option) const {
  auto text = value(option);
  if (!text)
    return std::nullopt;
  std::int64_t number = 0;
  if (llvm::StringRef(*text).getAsInteger(10, number) || number < 0)
    throw UserError(ExitCode::usage,
                    fmt::format("option '--{}' must be a number of at least 0, got '{}'", option, *text));
  return number;
}

std::optional<double> Arguments::real(const std::string &option) const {
  auto text = value(option);
  if (!text)
    return std::nullopt;
  double number = 0;
  if (llvm::StringRef(*text).getAsDouble(number) || !std::isfinite(number) || number <= 0)
    throw UserError(
        ExitCode::usage,
        fmt::format("option '--{}' must be a number above 0, such as 0.5, got '{}'", option, *text));
  return number;
}

std::vector<std::string> nearest(std::string_view wanted, const std::vector<std::string> &names) {
  std::vector<std::pair<unsigned, std::string>> ranked;
  for (const std::string &name : names) {
    llvm::StringRef a(wanted.data(), wanted.size());
    unsigned distance = a.edit_distance(name);
    // Up to a third of the letters may differ, or one name may be a prefix of the other. In a short word, two
    // letters are much: the first one has to be equal.
    bool alike = distance <= 1 || wanted.size() > 5 || wanted.front() == name.front();
    bool near = distance <= std::max<std::size_t>(1, (wanted.size() + 2) / 3) && alike &&
                distance < std::max(wanted.size(), name.size()); // not all letters
    bool prefix = wanted.size() >= 2 && (name.starts_with(wanted) || wanted.starts_with(name));
    if (near || prefix)
      ranked.emplace_back(distance, name);
  }
  std::ranges::stable_sort(ranked, {}, [](const auto &entry) { return entry.first; });
  std::vector<std::string> result;
  for (const auto &entry : ranked)
    if (result.size() < 3 && std::ranges::find(result, entry.second) == result.end())
      result.push_back(entry.second);
  return result;
}

std::string quoted_list(const std::vector<std::string> &names) {
  std::string text;
  for (std::size_t n = 0; n < names.size(); ++n)
    text += (n == 0 ? "'" : n + 1 == names.size() ? " or '" : ", '") + names[n] + "'";
  return text;
}

std::string with_names(std::string message, const std::vector<std::string> &near) {
  return near.empty() ? message : std::move(message) + "; did you mean " + quoted_list(near) + "?";
}

std::string with_hint(std::string message, std::string_view wanted, const std::vector<std::string> &names) {
  return with_names(std::move(message), nearest(wanted, names));
}

} // namespace nestsmith::cli
