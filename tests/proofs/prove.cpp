/// nestsmith_prove [RUNG]…: proves all there is about the rungs and prints the table of docs/proofs.md.

#include "tests/proofs/rule.h"
#include "tests/proofs/rungs.h"

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <fmt/format.h>

namespace nestsmith::proofs {
namespace {

/// Of the processor, not of the wall.
class Clock {
public:
  double seconds() const { return static_cast<double>(std::clock() - start_) / CLOCKS_PER_SEC; }

private:
  std::clock_t start_ = std::clock();
};

struct Line {
  std::int64_t asked = 0, proved = 0;
  double seconds = 0;
};

struct Report {
  std::map<std::string, Line> answers, kernels;
  int failures = 0, plans = 0;

  void fail(const std::string &what) {
    ++failures;
    fmt::print("NOT PROVED {}\n", what);
    std::fflush(stdout);
  }
  void print_all(const std::map<std::string, Line> &lines) const {
    for (const auto &[what, line] : lines)
      fmt::print("| {} | {} | {} | {:.1f} s |\n", what, line.asked, line.proved, line.seconds);
  }
};

void prove_rules(Report &report) {
  Clock clock;
  Line line;
  for (const Rule &rule : rules_in(NESTSMITH_SOURCE_DIR)) {
    Verdict verdict = prove(rule);
    ++line.asked;
    line.proved += verdict.proved();
    if (!verdict.proved())
      report.fail(fmt::format("{} [{}]{}: {}", rule.where, rule.name, rule.text, to_string(verdict)));
  }
  fmt::print("| rules of index arithmetic | {} | {} | {:.1f} s |\n", line.asked, line.proved, clock.seconds());
}

void prove_kernels(const Rung &rung, const Case &at, Report &report) {
  std::optional<kernel::Plan> plan = lowered(rung, at);
  if (!plan) {
    fmt::print(stderr, "{} of {} is refused\n", rung.full_name(), at.name);
    return;
  }
  ++report.plans;
  KernelProof proof = prove(*plan);
  for (std::size_t n = 0; n < claims; ++n) {
    Line &line =
        report.kernels[fmt::format("kernels of {}: {}", at.shape.stated ? "symbolic sizes" : "constant shapes",
                                   name(static_cast<Claim>(n)))];
    line.asked += proof.asked[n];
    line.proved += proof.proved[n];
    line.seconds += proof.seconds[n];
  }
  for (const std::string &failure : proof.failures)
    report.fail(fmt::format("{} of {}: {}", rung.full_name(), at.name, failure));
}

void prove_answers(const Answers &answers, Report &report) {
  for (const Answer &answer : answers.all()) {
    Clock clock;
    Verdict verdict = prove(answer);
    Line &line = report.answers[name(answer.kind)];
    ++line.asked;
    line.proved += verdict.proved();
    line.seconds += clock.seconds();
    if (!verdict.proved())
      report.fail(fmt::format("{}: {}", to_string(answer), to_string(verdict)));
  }
}

int run(const std::vector<std::string> &names) {
  Report report;
  Answers answers; // from here on
  fmt::print("| what | claims | proved | processor time |\n| --- | ---: | ---: | ---: |\n");
  if (names.empty())
    prove_rules(report);
  for (const Rung &rung : builtin_rungs())
    if (names.empty() || std::find(names.begin(), names.end(), rung.full_name()) != names.end())
      for (const Case &at : cases_of(rung))
        prove_kernels(rung, at, report);
  prove_answers(answers, report);
  report.print_all(report.kernels);
  report.print_all(report.answers);
  fmt::print("\n{} plans; of {} answers that were given {} differ\n", report.plans, answers.given(),
             answers.all().size());
  return report.failures != 0;
}

} // namespace
} // namespace nestsmith::proofs

int main(int argc, char **argv) { return nestsmith::proofs::run({argv + 1, argv + argc}); }
