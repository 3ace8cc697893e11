#pragma once
/// Collects every answer of index arithmetic during scheduling and lowering, and proves that it is true. The
/// removal of guards, vectors, widths of indices and regions depend on these answers.

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
  Expr question, result;   ///< `result` of `simplified`, `condition` (decided) and `at_most`
  Range range{0, 0};       ///< of `bounded`
  std::int64_t factor = 1; ///< of `multiple`
  struct Known {
    std::optional<Range> range;
    std::optional<Expr> extent;
  };
  std::map<Var, Known> known; ///< for the variables in the answer
};
const char *name(Answer::Kind kind);
std::string to_string(const Answer &answer);

/// Collects the answers that are given during its lifetime. Answers that differ only in the names of variables
/// are collected once.
class Answers : public AnswerWatcher {
public:
  const std::vector<Answer> &all() const { return answers_; }
  std::int64_t given() const { return given_; } ///< includes repeated answers

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
