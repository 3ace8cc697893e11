#include "tools/cli.h"

#include "dsl/expr/printable.h"
#include "runtime/cuda/cache.h"
#include "tools/complete.h"
#include "tools/options/command.h"
#include "tools/output/failure.h"
#include "tools/output/json.h"
#include "tools/results/measured_times.h"

#include <algorithm>
#include <cstdio>
#include <fmt/format.h>
#include <set>

namespace nestsmith {

namespace cli {

namespace {

constexpr const char *version = NESTSMITH_VERSION;

std::vector<Command> all_commands() {
  return {run_command(),     list_command(),     show_command(),    diff_command(),
          emit_command(),    compile_command(),  check_command(),   explain_command(),
          compare_command(), bench_command(),    tune_command(),    report_command(),
          lint_command(),    exercise_command(), figures_command(), doctor_command()};
}

/// Options of every command.
std::vector<Option> common_options() {
  return {{"json", "", "print the result as JSON"},
          {"color",
           "WHEN",
           "auto, always or never; auto: on a terminal, unless NO_COLOR is set",
           0,
           {"auto", "always", "never"}},
          {"help", "", "print this help", 'h'}};
}

/// Two columns: a name and its explanation.
std::string explained(const std::vector<std::pair<std::string, std::string>> &lines) {
  std::size_t width = 0;
  for (const auto &[left, right] : lines)
    width = std::max(width, std::min<std::size_t>(display_width(left), 26));
  std::string text, indent(width + 4, ' ');
  for (const auto &[left, right] : lines) {
    std::string first = "  " + left + std::string(width + 2 - std::min(width + 2, display_width(left)), ' ');
    bool apart = display_width(left) > width;
    text += apart ? first + "\n" + folded(right, indent, indent) : folded(right, indent, first);
  }
  return text;
}

std::string option_lines(const std::vector<Option> &options) {
  std::vector<std::pair<std::string, std::string>> lines;
  for (const Option &option : options) {
    std::string left = (option.letter ? fmt::format("-{}, ", option.letter) : "    ") + "--" + option.name;
    std::string value = option.optional_value ? " [" + option.value + "]" : " " + option.value;
    lines.emplace_back(left + (option.value.empty() ? "" : value), option.help);
  }
  return explained(lines);
}

std::string command_help(const Command &command) {
  std::string text = command.summary + "\n\n" +
                     fmt::format("usage: nestsmith {}{}{} [options]\n\noptions:\n", command.name,
                                 command.positional.empty() ? "" : " ", command.positional);
  std::vector<Option> options = command.options;
  std::ranges::copy(common_options(), std::back_inserter(options));
  text = folded_lines(text) + option_lines(options);
  if (!command.notes.empty())
    text += "\n" + folded_lines(command.notes);
  return text;
}

std::string overview(const std::vector<Command> &commands) {
  std::string text = "nestsmith: schedules for GPU loop nests, from a product to a checked CUDA kernel\n\n"
                     "usage: nestsmith [COMMAND] [arguments] [options]\n\ncommands:\n";
  std::vector<std::pair<std::string, std::string>> lines;
  for (const Command &command : commands)
    lines.emplace_back(command.name + " " + command.positional, command.summary);
  text += explained(lines);
  return text +
         folded_lines(
             "\n"
             "The default command is run. A RUNG is a name from `nestsmith list`, such as deep_dive/coalesced, "
             "or a trace file FILE.json from `nestsmith show RUNG --trace json`. Every command accepts --json "
             "and --help. `nestsmith --version` prints the version. Output is folded to the width of the "
             "terminal, or to 80 columns if there is no terminal; COLUMNS=N sets another width.\n\n"
             "exit codes: 0 success, 1 wrong result, 2 usage error, 3 illegal schedule, 4 no device or "
             "library\n");
}

const Command &find_command(const std::vector<Command> &commands, const std::string &name) {
  auto found = std::ranges::find(commands, name, &Command::name);
  if (found != commands.end())
    return *found;
  std::vector<std::string> names;
  for (const Command &command : commands)
    names.push_back(command.name);
  throw UserError(
      ExitCode::usage,
      with_hint(fmt::format("unknown command '{}'; `nestsmith --help` lists them", name), name, names));
}

void check_positional(const Command &command, const Arguments &arguments) {
  const auto &given = arguments.positional();
  if (given.size() < command.min_positional)
    throw UserError(ExitCode::usage, fmt::format("'{}' needs {}: nestsmith {} {}", command.name,
                                                 command.min_positional == 1 ? "a RUNG" : "more arguments",
                                                 command.name, command.positional));
  if (!given.empty() && command.max_positional == 0)
    throw UserError(ExitCode::usage, fmt::format("'{}' takes no argument, got '{}'", command.name, given[0]));
  if (given.size() > command.max_positional)
    throw UserError(ExitCode::usage,
                    fmt::format("'{}' takes at most {}, got '{}' after {}", command.name,
                                command.max_positional == 1
                                    ? "1 argument"
                                    : fmt::format("{} arguments", command.max_positional),
                                given[command.max_positional], command.max_positional == 1 ? "it" : "them"));
}

/// Checks a user's list of rungs, for every command.
void check_rungs(const std::vector<Rung> &rungs) {
  std::set<std::string> names;
  for (const Rung &rung : rungs) {
    std::string name = rung.full_name();
    if (rung.name.empty())
      throw UserError(ExitCode::usage, "a rung of cli_main has no name; give it one");
    if (name.starts_with("-") || name.ends_with(".json"))
      throw UserError(
          ExitCode::usage,
          fmt::format(
              "a rung of cli_main is called '{}', which the command line parses as {}; give it another name",
              name, name.starts_with("-") ? "an option" : "a trace file"));
    if (!names.insert(name).second)
      throw UserError(ExitCode::usage,
                      fmt::format("two rungs of cli_main are called '{}'; give each a name of its own", name));
    if (!rung.build)
      throw UserError(ExitCode::usage,
                      fmt::format("the rung '{}' of cli_main has no build function; give it one", name));
    if (rung.default_shape.empty())
      throw UserError(
          ExitCode::usage,
          fmt::format("the rung '{}' of cli_main has a default shape without extents; name at least "
                      "one",
                      name));
  }
  for (const Rung &rung : rungs)
    if (!rung.against.empty() && !names.contains(rung.against))
      throw UserError(
          ExitCode::usage,
          fmt::format("the rung '{}' of cli_main is compared with '{}', which is none of its rungs; name "
                      "one of them in `against`",
                      rung.full_name(), rung.against));
}

ExitCode dispatch(std::vector<std::string> words, const std::vector<Rung> &rungs,
                  const std::vector<Tutorial> &tutorials) {
  check_rungs(rungs);
  std::vector<Command> commands = all_commands();
  if (!words.empty() && (words[0] == "--help" || words[0] == "-h" || words[0] == "help")) {
    if (words.size() > 2)
      throw UserError(ExitCode::usage,
                      fmt::format("'{}' takes at most 1 command, got '{}' after it", words[0], words[2]));
    out(words.size() == 2 ? command_help(find_command(commands, words[1])) : overview(commands));
    return ExitCode::good;
  }
  if (!words.empty() && words[0] == "--version") {
    bool json = words.size() == 2 && words[1] == "--json";
    if (words.size() > 1 && !json)
      throw UserError(ExitCode::usage,
                      fmt::format("--version takes no argument except --json, got '{}'", words[1]));
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
  ExitCode code = command.run(Context{rungs, arguments, Style(colour), tutorials, given_table(arguments)});
  if (std::string refused = DiskCache::refused(); !refused.empty())
    to_stderr("nestsmith: warning: " + refused);
  return code;
}

/// Prints a message on stderr. A message can have several lines, unless a word of the command line has: a file
/// name must not imitate a line of ours. With --json, also prints it as an object on stdout, so that the output
/// is always JSON.
int report_failure(const Failure &failure, const std::vector<std::string> &words, bool json) {
  std::fflush(stdout);
  bool has_lines =
      std::ranges::any_of(words, [](const std::string &word) { return word.find('\n') != std::string::npos; });
  const std::string message = has_lines ? printable(failure.message) : failure.message;
  to_stderr("nestsmith: " + message);
  fmt::print(stderr, "{}", folded_code(printable_lines(failure.details), error_width()));
  if (json)
    fmt::print(stdout, "{}\n", printable_lines(json_line([&](llvm::json::OStream &stream) {
                 stream.object([&] {
                   stream.attribute("error", message);
                   if (!failure.requirement.empty())
                     stream.attribute("requirement", failure.requirement);
                   if (!failure.details.empty())
                     stream.attribute("details", failure.details);
                   stream.attribute("exit_code", static_cast<int>(failure.code));
                 });
               })));
  return static_cast<int>(failure.code);
}

} // namespace

Option shape_option() { return {"shape", "MxNxK", "problem size, such as 512x512x512"}; }
Option symbolic_option(const std::string &shape) {
  return {"symbolic", "", "generate one kernel for all shapes, with leading dimensions; " + shape};
}
Option multiple_of_option() {
  return {"multiple-of", "N", "all sizes of a symbolic kernel are multiples of N; the launcher checks this"};
}
Option rows_multiple_of_option() {
  return {"rows-multiple-of", "N",
          "the leading dimensions of a symbolic kernel are multiples of N, whatever its sizes are"};
}
Option set_option() {
  return {"set", "NAME=VALUE",
          "set knobs of the schedule, such as bk=16,bn=64; `nestsmith tune RUNG --space` lists them"};
}
Option table_option() {
  return {
      "table", "FILE",
      "take the knobs from FILE: the best records, by GPU, dtype and shape, as `nestsmith tune export RUNG -o "
      "FILE` writes them, or a kernel table, as `nestsmith tune RUNG --table -o FILE` writes it"};
}
Option dtype_option() {
  return {
      "dtype",
      "T",
      "data type: f32 or f64; f16, bf16 or tf32 operands with sums in f32; i8 operands with sums in i32, or u8 "
      "operands with sums in u32, both modulo 2^32; or u32 for ring mode, which is exact modulo 2^32",
      0,
      {"f32", "f64", "f16", "bf16", "tf32", "i8", "u8", "u32"}};
}

} // namespace cli

int cli_main(int argc, char **argv, const std::vector<Rung> &rungs, const std::vector<Tutorial> &tutorials) {
  std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  bool json = std::ranges::find(words, "--json") != words.end();
  try {
    ExitCode code = ExitCode::good;
    cli::Failure failure = cli::failure_of([&] { code = cli::dispatch(words, rungs, tutorials); });
    return failure.code == ExitCode::good ? static_cast<int>(code) : cli::report_failure(failure, words, json);
  } catch (const std::exception &error) {
    internal_error(error.what());
  }
}

int cli_main(int argc, char **argv) { return cli_main(argc, argv, builtin_rungs(), builtin_tutorials()); }

} // namespace nestsmith
