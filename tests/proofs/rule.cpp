/// Reads rules from comments, tries them with numbers, and proves them by Z3.

#include "tests/proofs/rule.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <stdexcept>
#include <z3++.h>

namespace nestsmith::proofs {

namespace {

[[noreturn]] void fail(const Rule &rule, const std::string &what) {
  throw std::runtime_error(fmt::format("{}: [{}] {}: {}", rule.where, rule.name, rule.text, what));
}

struct Term {
  std::string op; ///< an operator or a function; "": a number; "name": a name
  std::int64_t number = 0;
  std::string name;
  std::vector<Term> operands;
};
struct Condition {
  std::string relation;
  Term a, b;
};
struct Statement {
  std::vector<Condition> claims, known;
  std::vector<std::string> names;
  bool bits = false; ///< whether it contains operators on bits
};

class Parser {
public:
  explicit Parser(const Rule &rule) : rule_(rule) {}

  Statement run() {
    statement_.claims = conditions();
    if (take("where"))
      statement_.known = conditions();
    skip();
    if (at_ != text().size())
      fail(rule_, fmt::format("expected the end at character {}", at_ + 1));
    return std::move(statement_);
  }

private:
  const std::string &text() const { return rule_.text; }
  void skip() {
    while (at_ < text().size() && text()[at_] == ' ')
      ++at_;
  }
  bool take(std::string_view token) {
    skip();
    if (text().compare(at_, token.size(), token) != 0)
      return false;
    at_ += token.size();
    return true;
  }

  std::vector<Condition> conditions() {
    std::vector<Condition> list;
    do
      list.push_back(condition());
    while (take(","));
    return list;
  }
  Condition condition() {
    Term a = binary(0);
    for (const char *relation : {"<=", ">=", "!=", "<", ">", "="})
      if (take(relation))
        return {relation, std::move(a), binary(0)};
    fail(rule_, fmt::format("expected a comparison at character {}", at_ + 1));
  }
  Term binary(std::size_t level) {
    static const std::array<std::vector<const char *>, 6> levels = {
        {{"|"}, {"^"}, {"&"}, {"<<", ">>"}, {"+", "-"}, {"*", "//", "%"}}};
    if (level == levels.size())
      return unary();
    Term result = binary(level + 1);
    for (bool found = true; found;) {
      found = false;
      for (const char *op : levels[level])
        if (!found && take(op)) {
          found = true;
          statement_.bits = statement_.bits || level < 4;
          result = Term{op, 0, "", {result, binary(level + 1)}};
        }
    }
    return result;
  }
  Term unary() {
    if (take("-"))
      return Term{"-", 0, "", {Term{}, unary()}};
    if (take("(")) {
      Term inside = binary(0);
      if (!take(")"))
        fail(rule_, fmt::format("expected ) at character {}", at_ + 1));
      return inside;
    }
    skip();
    std::string word;
    while (at_ < text().size() && (std::isalnum(static_cast<unsigned char>(text()[at_])) || text()[at_] == '_'))
      word += text()[at_++];
    if (word.empty() || word == "where")
      fail(rule_, fmt::format("expected a term at character {}", at_ + 1));
    if (std::isdigit(static_cast<unsigned char>(word[0])))
      return Term{"", std::stoll(word), "", {}};
    if (take("("))
      return function(word);
    if (std::find(statement_.names.begin(), statement_.names.end(), word) == statement_.names.end())
      statement_.names.push_back(word);
    return Term{"name", 0, word, {}};
  }
  Term function(const std::string &name) {
    Term call{name, 0, "", {}};
    do
      call.operands.push_back(binary(0));
    while (take(","));
    bool known = ((name == "min" || name == "max") && call.operands.size() == 2) ||
                 (name == "select" && call.operands.size() == 3);
    if (!take(")") || !known)
      fail(rule_, fmt::format("{} is no function of {} terms", name, call.operands.size()));
    return call;
  }

  const Rule &rule_;
  std::size_t at_ = 0;
  Statement statement_;
};

// ---- trial with numbers

using Numbers = std::map<std::string, std::int64_t>;

/// Returns none if a divisor is not positive or a shift is out of range.
std::optional<std::int64_t> value(const Term &term, const Numbers &numbers) {
  if (term.op.empty())
    return term.number;
  if (term.op == "name")
    return numbers.at(term.name);
  std::vector<std::int64_t> x;
  for (const Term &operand : term.operands) {
    auto known = value(operand, numbers);
    if (!known)
      return std::nullopt;
    x.push_back(*known);
  }
  if (term.op == "//" || term.op == "%") {
    if (x[1] <= 0)
      return std::nullopt;
    std::int64_t rest = (x[0] % x[1] + x[1]) % x[1];
    return term.op == "%" ? rest : (x[0] - rest) / x[1];
  }
  if (term.op == "<<" || term.op == ">>") {
    if (x[1] < 0 || x[1] > 40)
      return std::nullopt;
    return term.op == "<<" ? x[0] * (std::int64_t{1} << x[1]) : x[0] >> x[1];
  }
  return term.op == "+"     ? x[0] + x[1]
         : term.op == "-"   ? x[0] - x[1]
         : term.op == "*"   ? x[0] * x[1]
         : term.op == "^"   ? x[0] ^ x[1]
         : term.op == "&"   ? x[0] & x[1]
         : term.op == "|"   ? x[0] | x[1]
         : term.op == "min" ? std::min(x[0], x[1])
         : term.op == "max" ? std::max(x[0], x[1])
                            : (x[0] ? x[1] : x[2]);
}

std::optional<bool> holds(const Condition &condition, const Numbers &numbers) {
  auto a = value(condition.a, numbers), b = value(condition.b, numbers);
  if (!a || !b)
    return std::nullopt;
  const std::string &relation = condition.relation;
  return relation == "="    ? *a == *b
         : relation == "!=" ? *a != *b
         : relation == "<"  ? *a < *b
         : relation == "<=" ? *a <= *b
         : relation == ">"  ? *a > *b
                            : *a >= *b;
}

/// Returns numbers for which the rule is false, or "".
std::string try_numbers(const Rule &rule, const Statement &statement) {
  std::mt19937 random(1);
  int applied = 0;
  for (int n = 0; n < 60000 && applied < 2000; ++n) {
    Numbers numbers;
    for (const std::string &name : statement.names)
      numbers[name] = static_cast<std::int64_t>(random() % 16) - (random() % 2 ? 0 : 8);
    if (!std::all_of(statement.known.begin(), statement.known.end(),
                     [&](const Condition &c) { return holds(c, numbers).value_or(false); }))
      continue;
    ++applied;
    for (const Condition &claim : statement.claims) {
      auto result = holds(claim, numbers);
      if (result == true)
        continue;
      std::string list;
      for (const auto &[name, number] : numbers)
        list += fmt::format("{}{} = {}", list.empty() ? "" : ", ", name, number);
      if (!result)
        fail(rule, "it is not defined for " + list);
      return list;
    }
  }
  if (applied == 0)
    fail(rule, "no small numbers satisfy what it asks for");
  return "";
}

// ---- proof over all integers

class OverIntegers {
public:
  OverIntegers(const Rule &rule, const Statement &statement)
      : rule_(rule), statement_(statement), prover_(40'000'000) {
    for (const std::string &name : statement.names)
      names_[name] = prover_.fresh(name);
  }

  Verdict run() {
    for (const Condition &condition : statement_.known)
      assume(condition);
    for (const Condition &condition : statement_.claims) { // each claim helps to prove the following claims
      Formula claim = translate(condition);
      if (!prover_.divides_surely())
        fail(rule_, "a divisor is not shown to be positive by what comes before it");
      if (Verdict verdict = prover_.prove(claim); !verdict.proved())
        return verdict;
      assume(condition);
    }
    return {Verdict::Kind::proved, ""};
  }

private:
  void assume(const Condition &condition) {
    if (condition.relation == "=")
      prover_.assume_zero(translate(condition.a) - translate(condition.b));
    else
      prover_.assume(translate(condition));
  }
  Formula translate(const Condition &condition) {
    Poly a = translate(condition.a), b = translate(condition.b);
    const std::string &relation = condition.relation;
    return relation == "="    ? equal(a, b)
           : relation == "!=" ? negate(equal(a, b))
           : relation == "<"  ? less(a, b)
           : relation == "<=" ? less_equal(a, b)
           : relation == ">"  ? less(b, a)
                              : less_equal(b, a);
  }

  Poly translate(const Term &term) {
    if (term.op.empty())
      return Poly(term.number);
    if (term.op == "name")
      return prover_.normal(names_.at(term.name));
    Poly a = translate(term.operands[0]), b = translate(term.operands[1]);
    if (term.op == "select")
      return prover_.choose(negate(equal(a, Poly(0))), b, translate(term.operands[2]));
    return term.op == "+"     ? a + b
           : term.op == "-"   ? a - b
           : term.op == "*"   ? a * b
           : term.op == "//"  ? prover_.quotient(a, b)
           : term.op == "%"   ? prover_.remainder(a, b)
           : term.op == "min" ? prover_.min(a, b)
                              : prover_.max(a, b);
  }

  const Rule &rule_;
  const Statement &statement_;
  Prover prover_;
  std::map<std::string, Poly> names_;
};

// ---- proof over all words

class OverBits {
public:
  OverBits(const Rule &rule, const Statement &statement, unsigned width)
      : rule_(rule), statement_(statement), width_(width) {}

  Verdict run() {
    z3::solver solver(context_);
    z3::params params(context_);
    params.set("timeout", 20000u);
    solver.set(params);
    for (const Condition &condition : statement_.known)
      solver.add(translate(condition));
    z3::expr_vector claims(context_);
    for (const Condition &condition : statement_.claims)
      claims.push_back(translate(condition));
    z3::params sorted(context_);
    sorted.set("som", true); // write sums of products in a fixed order
    solver.add((!z3::mk_and(claims)).simplify(sorted));
    z3::check_result result = solver.check();
    if (result == z3::unknown)
      return {};
    if (result == z3::unsat)
      return {Verdict::Kind::proved, ""};
    Verdict verdict{Verdict::Kind::refuted, ""};
    for (const std::string &name : statement_.names)
      verdict.counterexample +=
          fmt::format("{}{} = {}", verdict.counterexample.empty() ? "" : ", ", name,
                      solver.get_model().eval(context_.bv_const(name.c_str(), width_), true).to_string());
    return verdict;
  }

private:
  z3::expr translate(const Condition &condition) {
    z3::expr a = translate(condition.a), b = translate(condition.b);
    const std::string &relation = condition.relation;
    return relation == "="    ? a == b
           : relation == "!=" ? a != b
           : relation == "<"  ? a < b
           : relation == "<=" ? a <= b
           : relation == ">"  ? a > b
                              : a >= b;
  }

  z3::expr translate(const Term &term) {
    if (term.op.empty())
      return context_.bv_val(term.number, width_);
    if (term.op == "name")
      return context_.bv_const(term.name.c_str(), width_);
    z3::expr a = translate(term.operands[0]), b = translate(term.operands[1]);
    if (term.op == "+")
      return a + b;
    if (term.op == "-")
      return a - b;
    if (term.op == "*")
      return a * b;
    if (term.op == "^")
      return a ^ b;
    if (term.op == "&")
      return a & b;
    if (term.op == "|")
      return a | b;
    if (term.op == "min")
      return z3::ite(a < b, a, b);
    if (term.op == "max")
      return z3::ite(a < b, b, a);
    if (term.op == "<<")
      return z3::shl(a, b);
    if (term.op == ">>")
      return z3::ashr(a, b);
    fail(rule_, "a rule of bits has no " + term.op);
  }

  const Rule &rule_;
  const Statement &statement_;
  unsigned width_;
  z3::context context_;
};

// ---- reading of rules

/// Returns the text of a comment after `//` or `///` on this line, or none.
std::optional<std::string> comment_of(const std::string &line) {
  std::size_t at = line.find("//");
  while (at != std::string::npos && at > 0 && line[at - 1] != ' ')
    at = line.find("//", at + 2);
  if (at == std::string::npos)
    return std::nullopt;
  at = line.find_first_not_of('/', at);
  return at == std::string::npos ? std::string() : line.substr(at);
}

void read(const std::filesystem::path &path, const std::string &name, std::vector<Rule> &rules) {
  std::ifstream file(path);
  bool open = false; // the previous line belongs to a rule
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    auto comment = comment_of(line);
    std::size_t tag = comment ? comment->find("[rule.") : std::string::npos;
    if (tag != std::string::npos) {
      std::size_t end = comment->find(']', tag);
      if (end == std::string::npos)
        throw std::runtime_error(fmt::format("{}:{}: a rule's name does not end", name, number));
      rules.push_back({comment->substr(tag + 1, end - tag - 1), comment->substr(end + 1),
                       fmt::format("{}:{}", name, number)});
      open = true;
    } else if (open && comment && comment->rfind("     ", 0) == 0)
      rules.back().text += " " + comment->substr(5);
    else
      open = false;
  }
}

} // namespace

std::vector<Rule> rules_in(const std::string &root) {
  std::vector<std::filesystem::path> files;
  for (const char *room : {"dsl", "lowering"})
    for (const auto &entry : std::filesystem::recursive_directory_iterator(std::filesystem::path(root) / room))
      if (entry.path().extension() == ".cpp" || entry.path().extension() == ".h")
        files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  std::vector<Rule> rules;
  for (const auto &path : files)
    read(path, std::filesystem::relative(path, root).string(), rules);
  std::map<std::string, std::string> seen;
  for (const Rule &rule : rules)
    if (auto [it, first] = seen.emplace(rule.name, rule.where); !first)
      throw std::runtime_error(fmt::format("{}: {} stands in {} too", rule.where, rule.name, it->second));
  return rules;
}

Verdict prove(const Rule &rule) {
  Statement statement = Parser(rule).run();
  if (std::string numbers = try_numbers(rule, statement); !numbers.empty())
    return {Verdict::Kind::refuted, numbers};
  if (rule.name.starts_with("rule.data."))
    for (unsigned width : {8U, 16U, 32U, 64U})
      if (Verdict verdict = OverBits(rule, statement, width).run(); width == 64 || !verdict.proved())
        return verdict;
  return statement.bits ? OverBits(rule, statement, 64).run() : OverIntegers(rule, statement).run();
}

} // namespace nestsmith::proofs
