#include "tests/fuzz/commands.h"

#include "dsl/error.h"
#include "dsl/specialise.h"
#include "runtime/check/stored_array.h"
#include "tests/files.h"
#include "tests/fuzz/isolated.h"
#include "tools/cli.h"

#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <fmt/format.h>
#include <set>
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

/// Sends the standard output of this process to nowhere, for as long as it lives.
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

/// The case as a rung: a schedule for its own shape and, if its computation can be made for others, for these.
Rung rung_of(const Case &test_case) {
  Rung rung;
  rung.name = "case";
  rung.summary = "a case of the fuzzer";
  rung.default_shape = rung.gpu_shape = rung.tile = test_case.shape;
  rung.default_shape.stated.reset();
  rung.dtypes = {test_case.dtype};
  rung.build = [&test_case](const Shape &shape, DType dtype, const Target &target) {
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
    for (const Directive &directive : test_case.directives)
      try {
        apply(schedule, directive, "the case");
      } catch (const UserError &) { // legal for another shape only
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
    if (options.runs) // the counts take as long as one thread has iterations
      calls.push_back({"explain", file});
    if (options.report && options.runs)
      calls.push_back({"report", file, "-o", path("case.html"), "--device", "sim", "--no-cache"});
  }
  std::vector<Rung> rungs = {rung_of(test_case)};
  // A shape without an extent of its own is that of a trace that only describes its computation.
  std::string own = shape_text(test_case.shape, 0), next = shape_text(test_case.shape, 1);
  calls.push_back({"emit", "case", "--shapes", test_case.computation ? own + "," + next : own, "-o",
                   path("shapes.cu"), "--header", path("shapes.h")});
  for (const std::vector<std::string> &call : calls) {
    bool plain = call[1] != "case" && (call.size() < 3 || call[0] == "report");
    std::string words = plain ? call[0] : call[0] + " " + (call[1] == "case" ? "--shapes" : call[2]);
    if (left_out().contains(words))
      continue;
    doing(words);
    int code = exit_code(call, rungs);
    // `report` also ends so where no run compares all elements of an output.
    bool wrong = code == static_cast<int>(ExitCode::wrong_result) && call[0] != "report";
    if (wrong || code > static_cast<int>(ExitCode::no_device))
      return fmt::format("nestsmith {} ended with the exit code {}", words, code);
  }
  doing("");
  return std::nullopt;
}

} // namespace nestsmith::fuzz
