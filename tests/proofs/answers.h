#pragma once
/// Every answer that index arithmetic gives while something is scheduled and lowered, and whether it is true:
/// on these answers rest the guards that go, the vectors, the widths of indices and the regions.

#include "dsl/expr/watch_answers.h"
#include "tests/proofs/prover.h"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace nestsmith::proofs {

struct Answer {
  enum class Kind : std::uint8_t { simplified, condition, bounded, at_most, multiple } kind;
  Expr question, result;   ///< `result`: of `simplified`, `condition` (decided) and `at_most`
  Range range{0, 0};       ///< of `bounded`
  std::int64_t factor = 1; ///< of `multiple`
  struct Known {
    std::optional<Range> range;
    std::optional<Expr> extent;
  };
  std::map<Var, Known> known; ///< of the variables in it
};
const char *name(Answer::Kind kind);
std::string to_string(const Answer &answer);

/// Collects answers while it lives, each once: variables of other names with the same bounds are no difference.
class Answers : public AnswerWatcher {
public:
  const std::vector<Answer> &all() const { return answers_; }
  std::int64_t given() const { return given_; } ///< with repetitions

  void simplified(const Expr &e, const Expr &result, const Bounds &bounds) override;
  void bounded(const Expr &e, Range range, const Bounds &bounds) override;
  void at_most(const Expr &e, const Expr &most, const Bounds &bounds) override;
  void multiple(const Expr &e, std::int64_t n, const Bounds &bounds) override;

private:
  void add(Answer answer, const Bounds &bounds);
  std::set<std::string> seen_;
  std::vector<Answer> answers_;
  std::int64_t given_ = 0;
};

Verdict prove(const Answer &answer);

} // namespace nestsmith::proofs
