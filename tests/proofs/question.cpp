/// Writes questions as texts, and remembers their answers.

#include "tests/proofs/question.h"

namespace nestsmith::proofs {

namespace {

struct Memory {
  std::unordered_map<std::string, Answered> answers; // compares whole texts
  std::int64_t asked = 0, to_z3 = 0;
};

Memory &memory() {
  static thread_local Memory memory;
  return memory;
}

} // namespace

QuestionText::QuestionText(const std::vector<Formula> &facts, char kind) : text(1, kind) {
  for (const Formula &fact : facts)
    add(fact);
}

/// Appends seven bits per character. The last character of a number has its highest bit clear, so that texts of
/// different numbers differ.
void QuestionText::add(Integer value) {
  auto bits = static_cast<unsigned __int128>(value);
  bits = (bits << 1) ^ (value < 0 ? ~static_cast<unsigned __int128>(0) : 0); // small also if negative
  for (; bits >= 128; bits >>= 7)
    text += static_cast<char>(128 | static_cast<unsigned>(bits & 127));
  text += static_cast<char>(bits);
}

void QuestionText::add(const Formula &f) {
  if (f.kind != Formula::Kind::at_least_0) {
    text += f.kind == Formula::Kind::all ? '&' : '|';
    add(static_cast<Integer>(f.parts.size()));
    for (const Formula &part : f.parts)
      add(part);
    return;
  }
  text += '+';
  add(static_cast<Integer>(f.poly.terms().size()));
  for (const auto &[monomial, coefficient] : f.poly.terms()) {
    add(static_cast<Integer>(monomial.size()));
    for (int atom : monomial) {
      auto [it, is_new] = numbers_.try_emplace(atom, atoms.size());
      if (is_new)
        atoms.push_back(atom);
      add(static_cast<Integer>(it->second));
    }
    add(coefficient);
  }
}

Questions questions() { return {memory().asked, memory().to_z3}; }

Answered answer_of(const std::string &text, FunctionRef<Answered()> ask) {
  ++memory().asked;
  if (auto it = memory().answers.find(text); it != memory().answers.end())
    return it->second;
  ++memory().to_z3;
  Answered answer = ask();
  if (answer.kind != Answered::Kind::unknown) // which depends on the limit of the prover
    memory().answers.emplace(text, answer);
  return answer;
}

} // namespace nestsmith::proofs
