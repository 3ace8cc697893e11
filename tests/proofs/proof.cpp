#include "tests/proofs/proof.h"

#include <ctime>
#include <fmt/format.h>

namespace nestsmith::proofs {

const char *name(Claim claim) {
  static constexpr const char *names[] = {"dimensions", "in bounds", "aligned", "width", "division", "arena",
                                          "slots",      "bytes",     "boxes",   "tails", "covered",  "skipped"};
  return names[static_cast<std::size_t>(claim)];
}

void Proof::ask(Prover &prover, Claim claim, const Formula &formula, const std::string &where) {
  ask(prover, claim, {{formula, where}});
}

void Proof::ask(Prover &prover, Claim claim, const std::vector<Question> &questions) {
  auto at = static_cast<std::size_t>(claim);
  std::clock_t start = std::clock();
  std::vector<Formula> formulas;
  for (const Question &question : questions)
    formulas.push_back(question.formula);
  bool all_proved = questions.size() > 1 && prover.prove_at_once(all(std::move(formulas)));
  for (const Question &question : questions) {
    Verdict verdict = all_proved ? Verdict{Verdict::Kind::proved, ""} : prover.prove(question.formula);
    ++asked[at];
    proved[at] += verdict.proved();
    if (!verdict.proved())
      failures.push_back(fmt::format("{}: {}", question.where, to_string(verdict)));
  }
  seconds[at] += static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

void Proof::add(const Proof &other) {
  for (std::size_t n = 0; n < claims; ++n) {
    asked[n] += other.asked[n];
    proved[n] += other.proved[n];
    seconds[n] += other.seconds[n];
  }
  failures.insert(failures.end(), other.failures.begin(), other.failures.end());
  unreached.insert(unreached.end(), other.unreached.begin(), other.unreached.end());
}

} // namespace nestsmith::proofs
