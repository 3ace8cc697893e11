#include "tools/cli.h"

#include "dsl/error.h"
#include "tools/command.h"
#include "tools/complete.h"
#include "tools/json.h"

#include <algorithm>
#include <cstdio>
#include <fmt/format.h>
#include <new>

namespace nestsmith {

namespace cli {

namespace {

constexpr const char *version = NESTSMITH_VERSION;

std::vector<Command> all_commands() {
  return {run_command(),     list_command(),    show_command(),    diff_command(),
          emit_command(),    compile_command(), check_command(),   explain_command(),
          compare_command(), lint_command(),    figures_command(), doctor_command()};
}

/// What every command takes.
std::vector<Option> common_options() {
  return {{"json", "", "print the result as JSON"},
          {"color",
           "WHEN",
           "auto, always or never; auto: on a terminal, unless NO_COLOR is set",
           0,
           {"auto", "always", "never"}},
          {"help", "", "print this help", 'h'}};
}

std::string option_lines(const std::vector<Option> &options) {
  std::vector<std::string> left;
  std::size_t width = 0;
  for (const Option &option : options) {
    left.push_back((option.letter ? fmt::format("-{}, ", option.letter) : "    ") + "--" + option.name +
                   (option.value.empty()    ? ""
                    : option.optional_value ? " [" + option.value + "]"
                                            : " " + option.value));
    width = std::max(width, left.back().size());
  }
  std::string text;
  for (std::size_t n = 0; n < options.size(); ++n)
    text += fmt::format("  {:<{}}  {}\n", left[n], width, options[n].help);
  return text;
}

std::string command_help(const Command &command) {
  std::string text = fmt::format("{}\n\nusage: nestsmith {}{}{} [options]\n\noptions:\n", command.summary,
                                 command.name, command.positional.empty() ? "" : " ", command.positional);
  std::vector<Option> options = command.options;
  std::ranges::copy(common_options(), std::back_inserter(options));
  text += option_lines(options);
  if (!command.notes.empty())
    text += "\n" + command.notes;
  return text;
}

std::string overview(const std::vector<Command> &commands) {
  std::string text = "nestsmith: schedules for GPU loop nests, from a product to a checked CUDA kernel\n\n"
                     "usage: nestsmith [COMMAND] [arguments] [options]\n\ncommands:\n";
  std::size_t width = 0;
  for (const Command &command : commands)
    width = std::max(width, command.name.size() + 1 + command.positional.size());
  for (const Command &command : commands)
    text += fmt::format("  {:<{}}  {}\n", command.name + " " + command.positional, width, command.summary);
  text +=
      "\nWithout a command: run. A RUNG is a name from `nestsmith list`, such as deep_dive/coalesced, or a "
      "trace\n"
      "file FILE.json that `nestsmith show RUNG --trace json` wrote. Every command takes --json and --help;\n"
      "`nestsmith --version` says which nestsmith this is.\n\n"
      "exit codes: 0 good, 1 a wrong result, 2 usage, 3 an illegal schedule, 4 no device or library\n";
  return text;
}

const Command &find_command(const std::vector<Command> &commands, const std::string &name) {
  auto found = std::ranges::find(commands, name, &Command::name);
  if (found != commands.end())
    return *found;
  std::vector<std::string> names;
  for (const Command &command : commands)
    names.push_back(command.name);
  throw UserError(ExitCode::usage, fmt::format("unknown command '{}'{}; `nestsmith --help` lists them", name,
                                               did_you_mean(name, names)));
}

void check_positional(const Command &command, const Arguments &arguments) {
  const auto &given = arguments.positional();
  if (given.size() < command.min_positional)
    throw UserError(ExitCode::usage, fmt::format("'{}' needs {}: nestsmith {} {}", command.name,
                                                 command.min_positional == 1 ? "a RUNG" : "more arguments",
                                                 command.name, command.positional));
  if (given.size() > command.max_positional)
    throw UserError(ExitCode::usage,
                    fmt::format("'{}' takes {} at most, got '{}' beyond {}", command.name,
                                command.max_positional == 1
                                    ? "1 argument"
                                    : fmt::format("{} arguments", command.max_positional),
                                given[command.max_positional], command.max_positional == 1 ? "it" : "them"));
}

ExitCode dispatch(std::vector<std::string> words, const std::vector<Rung> &rungs) {
  std::vector<Command> commands = all_commands();
  if (!words.empty() && (words[0] == "--help" || words[0] == "-h" || words[0] == "help")) {
    out(words.size() == 2 && words[0] == "help" ? command_help(find_command(commands, words[1]))
                                                : overview(commands));
    return ExitCode::good;
  }
  if (!words.empty() && words[0] == "--version") {
    bool json = words.size() == 2 && words[1] == "--json";
    if (words.size() > 1 && !json)
      throw UserError(ExitCode::usage, fmt::format("--version takes --json at most, got '{}'", words[1]));
    out(json ? json_text([](llvm::json::OStream &stream) {
      stream.object([&] { stream.attribute("version", version); });
    })
             : fmt::format("nestsmith {}\n", version));
    return ExitCode::good;
  }
  if (!words.empty() && words[0] == "complete") { // for the shell: tools/completion.bash
    for (const std::string &candidate :
         candidates(commands, common_options(), rungs, {words.begin() + 1, words.end()}))
      out(candidate + "\n");
    return ExitCode::good;
  }
  std::string name = "run";
  if (!words.empty() && !words[0].starts_with("-")) {
    name = words[0];
    words.erase(words.begin());
  }
  const Command &command = find_command(commands, name);
  if (std::ranges::find(words, "--help") != words.end() || std::ranges::find(words, "-h") != words.end()) {
    out(command_help(command));
    return ExitCode::good;
  }
  std::vector<Option> options = command.options;
  std::ranges::copy(common_options(), std::back_inserter(options));
  Arguments arguments(command.name, words, options);
  if (arguments.positional().empty() && command.min_positional == 1 && rungs.size() == 1)
    arguments.add_positional(rungs.front().full_name());
  check_positional(command, arguments);
  std::string when = arguments.value("color").value_or("auto");
  Colour colour = when == "auto" ? Colour::automatic : when == "always" ? Colour::always : Colour::never;
  return command.run(Context{rungs, arguments, Style(colour)});
}

/// One message on stderr; with --json the same as an object on stdout, so that a reader of it always
/// gets JSON.
int report(const std::string &message, const std::string &details, ExitCode code, bool json) {
  std::fflush(stdout);
  fmt::print(stderr, "nestsmith: {}\n{}", message, details);
  if (json)
    fmt::print(stdout, "{}", json_text([&](llvm::json::OStream &stream) {
                 stream.object([&] {
                   stream.attribute("error", message);
                   if (!details.empty())
                     stream.attribute("details", details);
                   stream.attribute("exit_code", static_cast<int>(code));
                 });
               }));
  return static_cast<int>(code);
}

} // namespace

std::string one_line(const ScheduleError &error) { return error.directive() + ": " + error.message(); }

Option shape_option() { return {"shape", "MxNxK", "extents of the problem, such as 512x512x512"}; }
Option symbolic_option() {
  return {"symbolic", "", "one kernel for every shape, with leading dimensions; --shape says where it is run"};
}
Option multiple_of_option() {
  return {"multiple-of", "N", "what all sizes of a symbolic kernel are multiples of; its launcher checks it"};
}
Option dtype_option() {
  return {"dtype",
          "T",
          "f32; f16, bf16 or tf32 for the operands, with sums in f32; u32 for ring mode: exact in Z/2^32",
          0,
          {"f32", "f16", "bf16", "tf32", "u32"}};
}

} // namespace cli

int cli_main(int argc, char **argv, const std::vector<Rung> &rungs) {
  std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  bool json = std::ranges::find(words, "--json") != words.end();
  try {
    return static_cast<int>(cli::dispatch(words, rungs));
  } catch (const ScheduleError &error) {
    return cli::report(cli::one_line(error), error.marked(), error.code(), json);
  } catch (const UserError &error) {
    return cli::report(error.what(), "", error.code(), json);
  } catch (const std::bad_alloc &) {
    return cli::report("not enough memory for this shape: make it smaller", "", ExitCode::usage, json);
  } catch (const std::exception &error) {
    internal_error(error.what());
  }
}

} // namespace nestsmith
