#pragma once
/// Questions to Z3, and a memory of their verdicts. Many claims about kernels differ only in the names of their
/// unknowns.

#include "dsl/expr/function_ref.h"
#include "tests/proofs/poly.h"

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace nestsmith::proofs {

/// The text of a question, with numbers in place of the names of its unknowns. Two questions with equal texts
/// have the same formulas, and other names. The text has every term of every fact, so it is no hash. The
/// unknowns are numbered in the order of their first occurrence.
struct QuestionText {
  /// `kind` distinguishes questions about the same facts.
  QuestionText(const std::vector<Formula> &facts, char kind);

  std::string text;
  std::vector<int> atoms; ///< the unknown of each number in the text

private:
  void add(Integer value);
  void add(const Formula &f);
  std::unordered_map<int, std::size_t> numbers_;
};

/// The answer to a question. `values` are those of a counterexample, in the order of `QuestionText::atoms`.
struct Answered {
  enum class Kind : std::uint8_t { unsatisfiable, satisfiable, unknown } kind = Kind::unknown;
  std::vector<std::string> values;
};

/// The numbers of questions of this thread, and of those that Z3 has answered. The others differ from an
/// earlier question only in the names of their unknowns.
struct Questions {
  std::int64_t asked = 0, to_z3 = 0;
};
Questions questions();

/// Returns the answer that this thread remembers for the text. If there is none, returns the result of `ask`,
/// and remembers it if it is not `unknown`.
Answered answer_of(const std::string &text, FunctionRef<Answered()> ask);

} // namespace nestsmith::proofs
