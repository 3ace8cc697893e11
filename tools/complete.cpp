#include "tools/complete.h"

#include "dsl/hardware/gpus.h"
#include "dsl/hardware/target.h"
#include "tools/exercises/exercise.h"
#include "tools/pages/mistakes/mistakes.h"

#include <algorithm>

namespace nestsmith::cli {

namespace {

using Words = std::vector<std::string>;

/// Adds the candidates for a placeholder such as "[RUNG or TUTORIAL …]" or "FILE".
void add_described(Words &words, const std::string &description, const std::vector<Rung> &rungs) {
  auto says = [&](const char *what) { return description.find(what) != std::string::npos; };
  for (const Rung &rung : rungs) {
    if (says("TUTORIAL") && !rung.tutorial.empty())
      words.push_back(rung.tutorial);
    if (says("RUNG"))
      words.push_back(rung.full_name());
  }
  if (says("MISTAKE"))
    for (const Mistake &mistake : mistakes())
      words.push_back(mistake.full_name());
  if (says("EXERCISE"))
    for (const Exercise &exercise : exercises())
      words.push_back(exercise.name);
  if (says("RUNG"))
    words.push_back("*.json"); // a trace file
  if (says("FILE") || says("FOLDER"))
    words.push_back("*");
}

Words values(const Option &option, const std::vector<Rung> &rungs) {
  Words words = option.choices;
  if (option.name == "gpu" || option.name == "arch")
    for (const Gpu &gpu : gpus()) {
      words.push_back(option.name == "gpu" ? gpu.name : to_string(gpu.arch));
      std::erase(words.back(), ' '); // --gpu takes "RTX3090" too
    }
  if (option.name == "arch")
    std::ranges::copy(names(known_architectures()), std::back_inserter(words));
  add_described(words, option.value, rungs);
  return words;
}

/// State of the words after a command.
struct Said {
  Words options;                   ///< "--shape"
  std::size_t positional = 0;      ///< number of positional words
  const Option *waiting = nullptr; ///< option that expects its value next
  bool only_positional = false;    ///< after "--"
};

Said read(const Words &words, const std::vector<Option> &options) {
  Said said;
  for (const std::string &word : words) {
    if (said.waiting) {
      said.waiting = nullptr;
    } else if (said.only_positional || word.size() < 2 || word[0] != '-') {
      ++said.positional;
    } else if (word == "--") {
      said.only_positional = true;
    } else if (const Option *option = find_option(options, word)) {
      said.options.push_back("--" + option->name);
      if (!option->value.empty() && !option->optional_value)
        said.waiting = option;
    }
  }
  return said;
}

} // namespace

std::vector<std::string> candidates(const std::vector<Command> &commands, const std::vector<Option> &common,
                                    const std::vector<Rung> &rungs, std::vector<std::string> words) {
  // bash splits `--dtype=f32` into three words.
  std::string typed = words.empty() || words.back() == "=" ? "" : words.back();
  if (!words.empty())
    words.pop_back();
  std::erase(words, "=");

  Words all, names;
  for (const Command &command : commands)
    names.push_back(command.name);
  std::string name = "run"; // the default command
  bool first = words.empty();
  if (first) {
    all = names;
    all.push_back(typed.starts_with("-") ? "--version" : "help");
  } else if (!words[0].starts_with("-")) {
    name = words[0];
    words.erase(words.begin());
  }
  auto command = std::ranges::find(commands, name, &Command::name);
  if (name == "help" && words.empty())
    all = names;
  if (command != commands.end()) {
    std::vector<Option> options = command->options;
    std::ranges::copy(common, std::back_inserter(options));
    Said said = read(words, options);
    if (said.waiting) {
      all = values(*said.waiting, rungs);
    } else {
      bool more = said.positional < command->max_positional;
      bool dashes = !said.only_positional && typed.starts_with("-");
      if (more && !first && !dashes)
        add_described(all, command->positional, rungs);
      if (dashes || (!more && !said.only_positional))
        for (const Option &option : options)
          if (std::ranges::find(said.options, "--" + option.name) == said.options.end())
            all.push_back("--" + option.name);
    }
  }

  Words result;
  for (const std::string &word : all) {
    bool fits = word.starts_with(typed) || word.find('*') != std::string::npos;
    if (fits && std::ranges::find(result, word) == result.end())
      result.push_back(word);
  }
  return result;
}

} // namespace nestsmith::cli
