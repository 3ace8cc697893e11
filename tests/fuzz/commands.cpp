/// Runs the commands of the command line in this process and checks their exit codes.

#include "tests/fuzz/commands.h"

#include "dsl/expr/error.h"
#include "dsl/ir/specialise.h"
#include "runtime/check/stored_array.h"
#include "runtime/records/database.h"
#include "runtime/records/text.h"
#include "tests/files.h"
#include "tests/fuzz/isolated.h"
#include "tests/fuzz/random.h"
#include "tests/fuzz/wander.h"
#include "tools/cli.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <fmt/format.h>
#include <functional>
#include <set>
#include <sstream>
#include <unistd.h>

namespace nestsmith::fuzz {

namespace {

const test::TemporaryFolder &folder() {
  static const test::TemporaryFolder made;
  return made;
}

std::set<std::string> &left_out() {
  static std::set<std::string> commands;
  return commands;
}

/// Discards the standard output of this process during its lifetime.
class Silence {
public:
  Silence() : kept_(dup(STDOUT_FILENO)) {
    std::fflush(stdout);
    int nowhere = open("/dev/null", O_WRONLY);
    dup2(nowhere, STDOUT_FILENO);
    close(nowhere);
  }
  ~Silence() {
    std::fflush(stdout);
    dup2(kept_, STDOUT_FILENO);
    close(kept_);
  }
  Silence(const Silence &) = delete;
  Silence &operator=(const Silence &) = delete;

private:
  int kept_;
};

int exit_code(std::vector<std::string> words, const std::vector<Rung> &rungs) {
  words.insert(words.begin(), "nestsmith");
  std::vector<char *> arguments;
  for (std::string &word : words)
    arguments.push_back(word.data());
  Silence silence;
  return cli_main(static_cast<int>(arguments.size()), arguments.data(), rungs);
}

/// Replaces the equal factors of a split by a knob, as in the schedules of users. The knob is named "factors"
/// and the number of the directive.
Directive with_knob(Directive directive, std::size_t number, const Schedule &schedule, Knobs &knobs) {
  if (directive.op != "split")
    return directive;
  std::vector<const For *> loops = all_loops(schedule.program().body);
  auto loop = std::ranges::find(loops, std::get<LoopName>(directive.arguments[0]).name,
                                [](const For *each) { return each->var->name; });
  auto &factors = std::get<std::vector<std::int64_t>>(directive.arguments[1]);
  std::int64_t rest = loop == loops.end() ? 0 : as_int((*loop)->extent).value_or(0);
  for (std::int64_t factor : factors)
    rest = factor == infer ? rest : factor > 0 && rest % factor == 0 ? rest / factor : 0;
  std::vector<std::int64_t> usual = factors;
  std::ranges::replace(usual, infer, rest);
  if (rest == 0 || (usual == factors && rest != 1))
    return directive;
  try {
    std::vector<std::int64_t> chosen = knobs.factors(fmt::format("factors{}", number), usual);
    if (chosen != usual)
      factors = chosen;
  } catch (const UserError &) { // the number is too large, or has too many candidates
  }
  return directive;
}

/// Returns the case as a rung: a schedule for the shape of the case, and for other shapes if its computation
/// can be made for them.
Rung rung_of(const Case &test_case) {
  Rung rung;
  rung.name = "case";
  rung.summary = "a case of the fuzzer";
  rung.default_shape = rung.gpu_shape = rung.tile = test_case.shape;
  rung.default_shape.stated.reset();
  rung.dtypes = {test_case.dtype};
  rung.build = [&test_case](const Shape &shape, DType dtype, const Target &target, Knobs &knobs) {
    auto source = [&]() -> Program {
      const Shape &own = test_case.shape;
      if (test_case.computation)
        return test_case.computation->make(shape, dtype);
      if (shape.stated.has_value() && own.stated.has_value())
        return test_case.source;
      if (own.stated.has_value())
        return specialise(test_case.source, sizes_for(test_case.source, shape, 0));
      if (!shape.stated.has_value() && std::ranges::equal(shape, own))
        return test_case.source;
      throw UserError(ExitCode::usage, "the case has one shape");
    };
    Schedule schedule(source(), target);
    for (std::size_t n = 0; n < test_case.directives.size(); ++n)
      try {
        apply(schedule, with_knob(test_case.directives[n], n, schedule, knobs), "the case");
      } catch (const UserError &) { // the directive is legal for other shapes only
      }
    return schedule;
  };
  return rung;
}

std::string shape_text(const Shape &shape, std::int64_t more) {
  std::string text;
  for (std::int64_t extent : shape)
    text += (text.empty() ? "" : "x") + std::to_string(extent + more);
  return text;
}

/// Returns characters and words that JSON can represent.
std::string any_text(Random &random) {
  static const std::vector<std::string> words = {"NVIDIA", "H200", " ",   " ",  "\n", "\r", "\t",
                                                 "\\",     "\\\n", "\"",  "//", "/*", "*/", "%d",
                                                 "{}",     ";",    "int", "#",  "?",  "x"};
  std::string text;
  for (std::size_t n = 1 + random.below(8); n > 0; --n)
    text += random.pick(words);
  return text;
}

/// Returns the lines of a C++ text without comments.
std::string without_comments(const std::string &text) {
  std::string code;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    line.erase(std::min(line.find("//"), line.size()));
    line.erase(line.find_last_not_of(' ') + 1);
    code += line.empty() ? "" : line + "\n";
  }
  return code;
}

/// Checks that the name of a GPU in a table of measurements does not change the code for the shapes of the
/// table.
std::optional<std::string> fault_of_table(const Case &test_case, const std::vector<Rung> &rungs,
                                          Random &random) {
  auto emitted = [&](const std::string &gpu) {
    records::Record record;
    record.rung = "case";
    record.shape = shape_text(test_case.shape, 0);
    record.dtype = name(test_case.dtype);
    record.gpu = gpu;
    record.launch = "single";
    record.median_ms = record.samples = 1;
    std::string table = (folder() / "table.json").string(), text = (folder() / "table.cu").string(),
                header = (folder() / "table.h").string();
    test::write_file(table, records::to_text({record}));
    int code = exit_code(
        {"emit", "case", "--shape", record.shape, "--table", table, "-o", text, "--header", header}, rungs);
    return code == 0 ? without_comments(test::read_file(text) + test::read_file(header))
                     : fmt::format("exit code {}", code);
  };
  doing("emit --table");
  std::string gpu = any_text(random);
  if (emitted("A GPU") == emitted(gpu))
    return std::nullopt;
  return fmt::format("the name of a GPU in a table changes the emitted code: '{}'", gpu);
}

} // namespace

void prepare_commands() { folder(); }

void use_no_libraries() {
  setenv("NESTSMITH_CUDA_PATH", "/dev/null", 1);
  setenv("NESTSMITH_CACHE", folder().string().c_str(), 1);
}

void leave_out(const std::string &command) { left_out().insert(command); }

std::optional<std::string> fault_of_commands(const Case &test_case, const Schedule &schedule,
                                             const CommandOptions &options) {
  TraceFile trace = trace_file(schedule, test_case.shape, test_case.dtype);
  trace.arch = test_case.arch;
  std::string file = (folder() / "case.json").string(), text = to_json(trace);
  test::write_file(file, text);
  bool replays = parse_trace(text, file).computation.has_value();
  auto path = [](const char *name) { return (folder() / name).string(); };
  std::vector<std::vector<std::string>> calls;
  if (replays) {
    calls = {{"show", file, "--lowered"},
             {"emit", file, "--header", path("case.h"), "-o", path("case.cu")},
             {"emit", file, "--standalone", "-o", path("alone.cu")}};
    if (options.runs) // `explain` counts the iterations of one thread, which takes as long as they do
      calls.push_back({"explain", file});
    if (options.report && options.runs)
      calls.push_back(
          {"report", file, "-o", path("case.html"), "--device", "sim", "--no-cache", "--no-advice"});
  }
  std::vector<Rung> rungs = {rung_of(test_case)};
  // A trace whose shape has no extents only describes its computation, so both texts are equal.
  std::string own = shape_text(test_case.shape, 0), next = shape_text(test_case.shape, 1);
  calls.push_back({"emit", "case", "--shape", test_case.computation ? next : own, "-o", path("rung.cu"),
                   "--header", path("rung.h")});
  Random random(std::hash<std::string>()(text));
  for (const std::vector<std::string> &call : calls) {
    if (options.sample && call[0] != "report" && random.chance(50))
      continue;
    bool plain = call[1] != "case" && (call.size() < 3 || call[0] == "report");
    std::string words = plain ? call[0] : call[0] + " " + (call[1] == "case" ? "--shape" : call[2]);
    if (left_out().contains(words))
      continue;
    doing(words);
    int code = exit_code(call, rungs);
    // `report` also ends with this exit code if no run compares all elements of an output.
    bool wrong = code == static_cast<int>(ExitCode::wrong_result) && call[0] != "report";
    if (wrong || code > static_cast<int>(ExitCode::no_device))
      return fmt::format("nestsmith {} ended with the exit code {}", words, code);
  }
  if (!test_case.shape.stated && random.chance(25))
    if (auto fault = fault_of_table(test_case, rungs, random))
      return fault;
  doing("");
  return std::nullopt;
}

} // namespace nestsmith::fuzz
