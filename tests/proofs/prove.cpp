/// nestsmith_prove [RUNG]…: proves the claims about the rungs and prints the table of docs/proofs.md. With
/// --random=N, it proves the claims about N random schedules. These are of the fixed table of computations,
/// because the prover has no model of data that wraps around.

#include "dsl/expr/error.h"
#include "tests/causal.h"
#include "tests/fuzz/author.h"
#include "tests/proofs/rule.h"
#include "tests/proofs/rungs.h"

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <fmt/format.h>
#include <llvm/Support/CommandLine.h>

namespace nestsmith::proofs {
namespace {

/// Measures processor time.
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
  std::map<std::string, Line> rules, kernels, answers;
  int failures = 0, plans = 0;

  void fail(const std::string &what) {
    ++failures;
    fmt::print("NOT PROVED {}\n", what);
    std::fflush(stdout);
  }
  void add(const std::string &group, const std::string &what, const Proof &proof) {
    ++plans;
    for (std::size_t n = 0; n < claims; ++n) {
      Line &line = kernels[fmt::format("{}: {}", group, name(static_cast<Claim>(n)))];
      line.asked += proof.asked[n];
      line.proved += proof.proved[n];
      line.seconds += proof.seconds[n];
    }
    for (const std::string &failure : proof.failures)
      fail(fmt::format("{}: {}", what, failure));
  }
  /// Reports a failure if there was no claim of some kind.
  void check_kinds() {
    for (const auto *lines : {&rules, &kernels, &answers})
      for (const auto &[what, line] : *lines)
        if (line.asked == 0)
          fail(what + ": nothing was asked");
    if (rules.size() != 1 || kernels.size() != 2 * claims || answers.size() != 5)
      fail("of some kind nothing was asked");
  }
  void print() const {
    std::int64_t asked = 0, proved = 0;
    fmt::print("| what | claims | proved | processor time |\n| --- | ---: | ---: | ---: |\n");
    for (const auto *lines : {&rules, &kernels, &answers})
      for (const auto &[what, line] : *lines) {
        fmt::print("| {} | {} | {} | {:.1f} s |\n", what, line.asked, line.proved, line.seconds);
        asked += line.asked;
        proved += line.proved;
      }
    fmt::print("\n{} claims about {} plans, {} of them proved", asked, plans, proved);
  }
};

void prove_rules(Report &report) {
  Clock clock;
  Line &line = report.rules["rules of index arithmetic"];
  for (const Rule &rule : rules_in(NESTSMITH_SOURCE_DIR)) {
    Verdict verdict = prove(rule);
    ++line.asked;
    line.proved += verdict.proved();
    if (!verdict.proved())
      report.fail(fmt::format("{} [{}]{}: {}", rule.where, rule.name, rule.text, to_string(verdict)));
  }
  line.seconds = clock.seconds();
}

void prove_kernels(const Rung &rung, const Case &at, Report &report) {
  std::optional<Lowered> made = lowered(rung, at);
  if (!made) {
    fmt::print(stderr, "{} of {} is refused\n", rung.full_name(), at.name);
    return;
  }
  Proof proof = made->prove();
  report.add(at.shape.stated ? "kernels of symbolic sizes" : "kernels of constant shapes",
             fmt::format("{} of {}", rung.full_name(), at.name), proof);
  for (const std::string &what : proof.unreached)
    report.fail(fmt::format("{} of {}: {}", rung.full_name(), at.name, what));
}

/// No rung skips tiles.
void prove_skipped_tiles(Report &report) {
  auto add = [&](const char *kind, Program program) {
    test::CausalTiles causal(std::move(program));
    causal.s.skip_tiles(causal.k_outer);
    report.add(kind, "a causal product", Lowered(causal.s).prove());
  };
  for (std::int64_t rows : {32, 37})
    add("kernels of constant shapes", test::causal_product(rows, 24, rows));
  add("kernels of symbolic sizes", test::causal_product_of_sizes());
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

/// Proves the claims about random schedules of tests/fuzz that can be lowered.
void prove_random(std::uint64_t first, int count, Report &report) {
  for (std::uint64_t seed = first; count > 0; ++seed) {
    fuzz::Draft draft = fuzz::draft(seed, 0);
    if (!draft.schedule.obligations().empty())
      continue;
    std::optional<Lowered> made;
    try {
      made.emplace(draft.schedule);
    } catch (const UserError &) {
      continue;
    }
    --count;
    report.add("random schedules", fmt::format("seed {}", seed), made->prove());
  }
}

llvm::cl::list<std::string> names(llvm::cl::Positional, llvm::cl::desc("[RUNG]..."));
llvm::cl::opt<int> random_schedules("random", llvm::cl::desc("random schedules, and no rungs but the named"),
                                    llvm::cl::value_desc("N"));
llvm::cl::opt<std::uint64_t> seed("seed", llvm::cl::desc("of the first random schedule"), llvm::cl::init(1));

int run() {
  Report report;
  bool everything = names.empty() && random_schedules == 0;
  Answers answers; // collects the answers of all following steps
  if (everything) {
    prove_rules(report);
    prove_skipped_tiles(report);
  }
  for (const Rung &rung : builtin_rungs())
    if (everything || std::find(names.begin(), names.end(), rung.full_name()) != names.end())
      for (const Case &at : cases_of(rung))
        prove_kernels(rung, at, report);
  prove_random(seed, random_schedules, report);
  prove_answers(answers, report);
  if (everything)
    report.check_kinds();
  report.print();
  fmt::print("; of {} answers that were given {} differ\n", answers.given(), answers.all().size());
  fmt::print("Z3 answered {} of {} questions; the others differ from these only in the names of unknowns\n",
             questions().to_z3, questions().asked);
  return report.failures != 0;
}

} // namespace
} // namespace nestsmith::proofs

int main(int argc, char **argv) {
  llvm::cl::ParseCommandLineOptions(argc, argv, "proves what scheduling and lowering decided\n");
  return nestsmith::proofs::run();
}
