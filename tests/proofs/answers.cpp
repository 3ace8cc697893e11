/// Collects the answers of index arithmetic, and proves or refutes them.

#include "tests/proofs/answers.h"

#include "dsl/ir/printer.h"
#include "tests/proofs/translate.h"

#include <algorithm>
#include <fmt/format.h>

namespace nestsmith::proofs {

namespace {

/// Appends the variables of an expression, and of their extents, in the order of their first occurrence.
void collect(const Expr &e, const Bounds &bounds, std::vector<Var> &vars) {
  walk(e, [&](const Expr &node) {
    const Var *var = node.as<Var>();
    if (!var || std::find(vars.begin(), vars.end(), *var) != vars.end())
      return;
    vars.push_back(*var);
    if (const Expr *extent = bounds.find_extent(*var))
      collect(*extent, bounds, vars);
  });
}

} // namespace

const char *name(Answer::Kind kind) {
  static constexpr const char *names[] = {"expressions simplified", "conditions decided", "ranges",
                                          "largest values", "multiples"};
  return names[static_cast<std::size_t>(kind)];
}

/// Returns text such as "i//4*4 is i, where i in 0 … 7".
std::string to_string(const Answer &answer) {
  std::map<Var, Var> renamed;
  std::string where;
  auto text = [&](const Expr &e) {
    return nestsmith::to_string(substitute(e, [&](const Var &var) {
      auto it = renamed.find(var);
      return it == renamed.end() ? Expr() : Expr(it->second);
    }));
  };
  std::vector<Var> vars;
  Bounds bounds;
  for (const auto &[var, known] : answer.known)
    if (known.extent)
      bounds.set_extent(var, *known.extent);
  collect(answer.question, bounds, vars);
  if (answer.result.exists())
    collect(answer.result, bounds, vars);
  for (const Var &var : vars)
    renamed[var] = make_var(fmt::format("{}{}", var->size ? "S" : "v", renamed.size()), var->dtype, var->lanes);
  for (const Var &var : vars) {
    const Answer::Known &known = answer.known.at(var);
    if (known.range)
      where += fmt::format(", {} in {} … {}", renamed[var]->name, known.range->low, known.range->high);
    if (known.extent)
      where += fmt::format(", {} < {}", renamed[var]->name, text(*known.extent));
    if (var->size && var->size->multiple_of != 1)
      where += fmt::format(", {} a multiple of {}", renamed[var]->name, var->size->multiple_of);
  }
  std::string what = text(answer.question);
  switch (answer.kind) {
  case Answer::Kind::simplified:
  case Answer::Kind::condition:
    what += " is " + text(answer.result);
    break;
  case Answer::Kind::bounded:
    what += fmt::format(" in {} … {}", answer.range.low, answer.range.high);
    break;
  case Answer::Kind::at_most:
    what += " <= " + text(answer.result);
    break;
  case Answer::Kind::multiple:
    what += fmt::format(" is a multiple of {}", answer.factor);
    break;
  }
  return what + where;
}

void Answers::add(Answer answer, const Bounds &bounds) {
  ++given_;
  std::vector<Var> vars;
  collect(answer.question, bounds, vars);
  if (answer.result.exists())
    collect(answer.result, bounds, vars);
  for (const Var &var : vars) {
    const Expr *extent = bounds.find_extent(var);
    answer.known[var] = {bounds.find(var), extent ? std::optional(*extent) : std::nullopt};
  }
  if (seen_.insert(proofs::to_string(answer)).second)
    answers_.push_back(std::move(answer));
}

void Answers::simplified(const Expr &e, const Expr &result, const Bounds &bounds) {
  if (e.exists() && !same(e, result)) {
    bool decided = e.dtype() == DType::boolean && as_int(result);
    add({decided ? Answer::Kind::condition : Answer::Kind::simplified, e, result, {0, 0}, 1, {}}, bounds);
  }
}
void Answers::bounded(const Expr &e, Range range, const Bounds &bounds) {
  if (!as_int(e))
    add({Answer::Kind::bounded, e, {}, range, 1, {}}, bounds);
}
void Answers::at_most(const Expr &e, const Expr &most, const Bounds &bounds) {
  if (!as_int(e))
    add({Answer::Kind::at_most, e, most, {0, 0}, 1, {}}, bounds);
}
void Answers::multiple(const Expr &e, std::int64_t n, const Bounds &bounds) {
  if (!as_int(e))
    add({Answer::Kind::multiple, e, {}, {0, 0}, n, {}}, bounds);
}

Verdict prove(const Answer &answer) {
  Prover prover;
  Translator translator(prover, [&](Translator &t, const Var &var) {
    const Answer::Known &known = answer.known.at(var);
    Poly value = known.range && !var->size ? t.define(var, *known.range) : t.define(var);
    if (const auto &extent = known.extent)
      prover.assume(all({less_equal(Poly(0), value), less(value, t.integer(*extent))}));
  });
  switch (answer.kind) {
  case Answer::Kind::simplified:
  case Answer::Kind::condition:
    return translator.equal(answer.question, answer.result);
  case Answer::Kind::bounded: {
    Poly value = translator.integer(answer.question);
    return prover.prove(
        all({less_equal(Poly(answer.range.low), value), less_equal(value, Poly(answer.range.high))}));
  }
  case Answer::Kind::at_most:
    return prover.prove(less_equal(translator.integer(answer.question), translator.integer(answer.result)));
  case Answer::Kind::multiple:
    break;
  }
  return prover.prove(
      equal(prover.remainder(translator.integer(answer.question), Poly(answer.factor)), Poly(0)));
}

} // namespace nestsmith::proofs
