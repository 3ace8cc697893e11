/// Judges mutants in child processes by the verifier, the simulator and the reference.

#include "tests/mutation/net.h"

#include "dsl/expr/error.h"
#include "lowering/verify_kernel.h"
#include "runtime/check/sim_executor.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace nestsmith::mutation {

namespace {

constexpr unsigned patience = 60; ///< a mutant hangs if it takes more seconds

/// Some diagnostics say why values are wrong.
Error error_of(sim::ErrorKind kind) {
  bool values = kind == sim::ErrorKind::operands_overlap || kind == sim::ErrorKind::replicas_differ ||
                kind == sim::ErrorKind::order_of_blocks;
  return values ? Error(BadRun::wrong_value) : kind;
}

/// Runs the simulator and records the kinds of its diagnostics.
class Recorder : public Executor {
public:
  explicit Recorder(const sim::WeakArrivals &weak)
      : simulator_({.host_threads = 1, .max_diagnostics = 32, .explain = false, .weak = weak}) {}
  std::string_view name() const override { return simulator_.name(); }
  Execution run(const kernel::Plan &plan, std::span<Array> arrays, std::span<const Scalar> scalars) override {
    Execution execution = simulator_.run(plan, arrays, scalars);
    for (const sim::Diagnostic &diagnostic : simulator_.found())
      errors.insert(error_of(diagnostic.kind));
    return execution;
  }
  Errors errors;

private:
  SimExecutor simulator_;
};

std::string text_of(const Report &report) {
  return fmt::format("{}\n{}", bits_of(report.errors), report.message);
}

Report report_of(const std::string &text) {
  Report report{errors_of(std::strtoull(text.c_str(), nullptr, 10)), ""};
  if (std::size_t line = text.find('\n'); line != std::string::npos)
    report.message = text.substr(line + 1);
  return report;
}

} // namespace

Net::Net(const Subject &subject) : subject_(subject) {
  for (const Lowered *lowered : {subject.ring.get(), subject.real.get()}) {
    Report report = judge(*lowered, {lowered->plan(), {}, {}, {}});
    if (!report.errors.empty())
      wrong_ += report.message;
  }
}

Report Net::judge(const Lowered &lowered, const Lowered::Mutant &mutant) {
  if (mutant.obligation)
    return {{errors::obligation}, *mutant.obligation};
  if (mutant.breach)
    return {{errors::breach}, *mutant.breach};
  for (const kernel::Kernel &kernel : mutant.plan.kernels)
    if (auto breach = kernel::find_breach(kernel))
      return {{errors::breach}, *breach};
  Report report;
  for (const kernel::Plan &launch : lowered.launches(mutant.plan)) {
    Recorder recorder(mutant.weak);
    CheckResult result =
        checker_.check(lowered.schedule().source(), launch, recorder, {.to_first = true, .infinite = true});
    report.errors = recorder.errors;
    for (const RunResult &run : result.runs)
      if (run.wrong_elements > 0 || (!run.passed && recorder.errors.empty()))
        report.errors.insert(errors::wrong_value);
    for (const std::string &message : result.messages())
      report.message += (report.message.empty() ? "" : " | ") + message;
    if (!report.errors.empty())
      break;
  }
  return report;
}

/// Judges a mutant in a child process, because a pass or the simulator aborts if one of its internal checks
/// fails.
Report Net::apart(const Lowered &lowered, const Kind &kind, int site, std::string &where) {
  std::array<int, 2> ends{};
  internal_check(pipe(ends.data()) == 0, "no pipe");
  pid_t child = fork();
  internal_check(child >= 0, "no process");
  if (child == 0) {
    close(ends[0]);
    rlimit none{0, 0};
    setrlimit(RLIMIT_CORE, &none);
    alarm(patience);
    int quiet = open("/dev/null", O_WRONLY);
    dup2(quiet, STDERR_FILENO);
    Report report;
    std::string place;
    try {
      Lowered::Mutant mutant = lowered.mutant(kind, site);
      place = mutant.where;
      report = judge(lowered, mutant);
    } catch (const UserError &error) {
      report = {{errors::refused}, error.what()};
    }
    std::string text = place + '\n' + text_of(report);
    for (std::size_t at = 0; at < text.size();) {
      ssize_t sent = write(ends[1], text.data() + at, text.size() - at);
      if (sent <= 0)
        _exit(1);
      at += static_cast<std::size_t>(sent);
    }
    _exit(0);
  }
  close(ends[1]);
  std::string text;
  std::array<char, 4096> part{};
  for (ssize_t got; (got = read(ends[0], part.data(), part.size())) > 0;)
    text.append(part.data(), static_cast<std::size_t>(got));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
    std::size_t line = text.find('\n');
    where = text.substr(0, line);
    return report_of(text.substr(line + 1));
  }
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT)
    return {{errors::refused}, "stopped by a check of our own"};
  return {{errors::crash}, fmt::format("ended with status {}", status)};
}

Report Net::judge(const Kind &kind, int site, std::string &where) {
  Report report = apart(*subject_.ring, kind, site, where);
  return report.errors.empty() ? apart(*subject_.real, kind, site, where) : report;
}

bool Net::same_terms(const Kind &kind, int site) {
  const Lowered &real = *subject_.real;
  auto terms = [&](const kernel::Plan &plan) {
    std::vector<std::optional<Terms>> all;
    for (const kernel::Plan &launch : real.launches(plan))
      all.push_back(terms_of(specialise(launch)));
    return all;
  };
  if (terms_.empty())
    terms_ = terms(real.plan());
  std::vector<std::optional<Terms>> changed = terms(real.mutant(kind, site).plan);
  return changed == terms_ && std::find(changed.begin(), changed.end(), std::nullopt) == changed.end();
}

} // namespace nestsmith::mutation
