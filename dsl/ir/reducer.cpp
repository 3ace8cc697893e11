#include "dsl/ir/reducer.h"

#include "dsl/expr/error.h"
#include "dsl/expr/expr_limits.h"
#include "dsl/expr/expr_text.h"
#include "dsl/expr/identifier.h"
#include "dsl/expr/math.h"
#include "dsl/expr/numbers.h"
#include "dsl/ir/reducer_laws.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <fmt/format.h>
#include <limits>
#include <mutex>

namespace nestsmith {

namespace {

struct ReducerInfo {
  Reducer::Kind kind;
  std::string_view name;
  BinaryOp op;
};
constexpr ReducerInfo table[] = {
    {Reducer::sum, "sum", BinaryOp::add},
    {Reducer::product, "product", BinaryOp::mul},
    {Reducer::max, "max", BinaryOp::max},
    {Reducer::min, "min", BinaryOp::min},
};

const ReducerInfo &info(Reducer reducer) {
  internal_check(!reducer.definition(), "a reducer that a program defines has no operator");
  return table[static_cast<std::size_t>(reducer.kind())];
}

Expr limit_of(DType dtype, bool lowest) {
  if (is_float(dtype)) {
    double infinity = std::numeric_limits<double>::infinity();
    return constant(dtype, lowest ? -infinity : infinity);
  }
  return with_arithmetic(dtype, [&]<class T>() {
    using Limits = std::numeric_limits<T>;
    return int_imm(static_cast<std::int64_t>(lowest ? Limits::lowest() : Limits::max()), dtype);
  });
}

[[noreturn]] void refuse(std::string_view reducer, const std::string &reason) {
  throw UserError(ExitCode::usage, fmt::format("the reducer '{}' {}", reducer, reason));
}

/// The reducers that programs have defined. A deque, so that references to its elements stay valid.
struct OwnReducers {
  static constexpr std::size_t most = 10000;
  std::mutex mutex;
  std::deque<OwnReducer> all;
};
OwnReducers &own_reducers() {
  static OwnReducers reducers;
  return reducers;
}

bool is_constant(const Expr &e) {
  std::vector<Expr> parts = parts_of(e);
  return std::ranges::all_of(parts, [](const Expr &part) { return part.as<IntImm>() || part.as<FloatImm>(); });
}

/// Whether both combine alike and have the same identity.
bool are_alike(const OwnReducer &a, const OwnReducer &b) {
  std::map<Var, Expr> renamed;
  for (std::size_t n = 0; n < 2; ++n)
    renamed[b.combine.parameters[n]] = Expr(a.combine.parameters[n]);
  return a.commutative == b.commutative && same(a.identity, b.identity) &&
         same(a.combine.meaning, substitute(b.combine.meaning, renamed));
}

void check_meaning(const OwnReducer &reducer) {
  const Expr &meaning = reducer.combine.meaning;
  DType dtype = reducer.identity.dtype();
  if (auto reason = too_large(meaning))
    refuse(reducer.name, fmt::format("has a combination that {}", *reason));
  if (meaning.dtype() != dtype)
    refuse(reducer.name, fmt::format("combines to {}, expected the type of its identity, {}",
                                     name(meaning.dtype()), name(dtype)));
  walk(meaning, [&](const Expr &e) {
    if (const auto *access = e.as<Load>())
      refuse(reducer.name,
             fmt::format("reads '{}', expected a function of its two operands", access->buffer->name));
    if (const Var *var = e.as<Var>(); var && std::ranges::count(reducer.combine.parameters, *var) == 0)
      refuse(reducer.name, fmt::format("uses {}, expected a function of its two operands", (*var)->name));
  });
}

/// Whether the operation rounds its result.
bool rounds(const Expr &e) {
  if (!is_float(e.dtype()))
    return false;
  if (const auto *op = e.as<Binary>())
    return op->op != BinaryOp::min && op->op != BinaryOp::max && !negated(*op);
  const auto *conversion = e.as<Cast>();
  return e.as<Call>() || (conversion && conversion->a.dtype() != e.dtype());
}

/// The operator of n-th parts, if the n-th part of a combination is its result: a.n + b.n.
std::optional<BinaryOp> operator_of_part(const Function &combine, std::size_t n) {
  const Expr meaning = parts_of(combine.meaning)[n];
  const auto *op = meaning.as<Binary>();
  auto is_part_of = [&](const Expr &e, std::size_t operand) {
    return same(e, parts_of(Expr(combine.parameters[operand]))[n]);
  };
  bool alone =
      op && ((is_part_of(op->a, 0) && is_part_of(op->b, 1)) || (is_part_of(op->a, 1) && is_part_of(op->b, 0)));
  return alone ? std::optional(op->op) : std::nullopt;
}

OrderEffect effect_of(std::optional<BinaryOp> op, DType dtype) {
  if (!is_float(dtype) || op == BinaryOp::max || op == BinaryOp::min)
    return OrderEffect::none;
  return op == BinaryOp::add   ? OrderEffect::sum
         : op == BinaryOp::mul ? OrderEffect::product
                               : OrderEffect::unknown;
}

/// The best element and its index. `dtype` of the element decides whether there is NaN.
Reducer arg_best(const char *name, DType dtype, Reducer best) {
  Expr none = tuple({{"value", identity_of(best, dtype)},
                     {"index", int_imm(std::numeric_limits<std::int32_t>::max(), DType::i32)}});
  return define_reducer(name, none, [&](const Expr &a, const Expr &b) {
    Expr x = part(a, "value"), y = part(b, "value");
    Expr better = best == Reducer::max ? x < y : y < x;
    Expr alike = equal(x, y);
    if (is_float(dtype)) { // NaN is the only value that differs from itself
      Expr x_nan = not_equal(x, x), y_nan = not_equal(y, y);
      better = better || (y_nan && !x_nan);
      alike = alike || (x_nan && y_nan);
    }
    return select(better || (alike && part(b, "index") < part(a, "index")), b, a);
  });
}

} // namespace

Reducer define_reducer(std::string name, const Expr &identity,
                       const std::function<Expr(Expr a, Expr b)> &combine, ReducerLaws laws) {
  check_identifier(name, "a reducer's name");
  if (parse_reducer(name))
    refuse(name, "has a name that is taken; give it another one");
  if (!is_constant(identity))
    refuse(name, fmt::format("has the identity {}, expected a constant or a tuple of constants",
                             to_string(identity)));
  DType dtype = identity.dtype();
  Var a = make_data("a", dtype), b = make_data("b", dtype);
  OwnReducer made{name, identity, Function{name, dtype, {a, b}, combine(a, b), ""}, laws.commutative};
  check_meaning(made);
  auto find = [&](const OwnReducers &known) {
    return std::ranges::find_if(known.all, [&](const OwnReducer &other) {
      return other.name == name && other.identity.dtype() == dtype;
    });
  };
  OwnReducers &known = own_reducers();
  auto found = [&] {
    std::scoped_lock lock(known.mutex);
    auto at = find(known);
    return at == known.all.end() ? nullptr : &*at;
  }();
  if (!found) {
    if (auto broken = broken_law(made))
      refuse(name, *broken);
    std::scoped_lock lock(known.mutex);
    auto at = find(known);
    if (known.all.size() >= OwnReducers::most)
      refuse(name, fmt::format("is one too many: a process has at most {} reducers", OwnReducers::most));
    found = at == known.all.end() ? &known.all.emplace_back(made) : &*at;
  }
  if (!are_alike(*found, made))
    refuse(name, fmt::format("of {} is defined twice in different ways; give each definition its own name",
                             nestsmith::name(dtype)));
  return Reducer(*found);
}

const OwnReducer *find_own_reducer(std::string_view name, DType dtype) {
  OwnReducers &known = own_reducers();
  std::scoped_lock lock(known.mutex);
  auto at = std::ranges::find_if(
      known.all, [&](const OwnReducer &x) { return x.name == name && x.identity.dtype() == dtype; });
  return at == known.all.end() ? nullptr : &*at;
}

bool is_own_reducer(std::string_view name) {
  OwnReducers &known = own_reducers();
  std::scoped_lock lock(known.mutex);
  return std::ranges::find(known.all, name, &OwnReducer::name) != known.all.end();
}

Reducer argmax(DType dtype) { return arg_best("argmax", dtype, Reducer::max); }
Reducer argmin(DType dtype) { return arg_best("argmin", dtype, Reducer::min); }

Reducer moments(DType dtype) {
  Expr zero = constant(dtype, 0), none = tuple({{"count", zero}, {"mean", zero}, {"squares", zero}});
  return define_reducer("moments", none, [](const Expr &a, const Expr &b) {
    Expr count = part(a, "count") + part(b, "count"), distance = part(b, "mean") - part(a, "mean");
    auto share = [&](const Expr &x) { return part(x, "count") / count; };
    Expr both = tuple({{"count", count},
                       {"mean", part(a, "mean") * share(a) + part(b, "mean") * share(b)},
                       {"squares", part(a, "squares") + part(b, "squares") +
                                       distance * distance * (part(a, "count") * share(b))}});
    // Without terms on one side, the other one stays as it is.
    return select(part(b, "count") > 0.0F, select(part(a, "count") > 0.0F, both, b), a);
  });
}

Reducer sum_of_exp(DType dtype) {
  Expr none = tuple({{"largest", limit_of(dtype, true)}, {"sum", constant(dtype, 0)}});
  return define_reducer("sum_of_exp", none, [](const Expr &a, const Expr &b) {
    Expr largest = max(part(a, "largest"), part(b, "largest"));
    auto rescaled = [&](const Expr &x) { // infinity - infinity would be NaN
      return part(x, "sum") *
             select(equal(part(x, "largest"), largest), 1.0F, exp(part(x, "largest") - largest));
    };
    return tuple({{"largest", largest}, {"sum", rescaled(a) + rescaled(b)}});
  });
}

std::vector<OrderEffect> order_effects(Reducer reducer, DType dtype) {
  const OwnReducer *own = reducer.definition();
  if (!own)
    return {effect_of(op_of(reducer), dtype)};
  std::vector<Expr> meanings = parts_of(own->combine.meaning);
  std::vector<OrderEffect> effects;
  for (std::size_t n = 0; n < meanings.size(); ++n)
    effects.push_back(any_node(meanings[n], rounds)
                          ? effect_of(operator_of_part(own->combine, n), meanings[n].dtype())
                          : OrderEffect::none);
  auto reads_rounded = [&](std::size_t n) {
    return any_node(meanings[n], [&](const Expr &e) {
      const auto *read = e.as<Part>();
      auto other = read ? static_cast<std::size_t>(read->index) : n;
      return other != n && effects[other] != OrderEffect::none;
    });
  };
  for (std::size_t pass = 0; pass < meanings.size(); ++pass) // a part may read another one through others
    for (std::size_t n = 0; n < meanings.size(); ++n)
      if (effects[n] != OrderEffect::unknown && reads_rounded(n))
        effects[n] = OrderEffect::unknown;
  return effects;
}

bool is_commutative(Reducer reducer) {
  const OwnReducer *own = reducer.definition();
  return !own || own->commutative;
}

std::string_view name(Reducer reducer) {
  return reducer.definition() ? std::string_view(reducer.definition()->name) : info(reducer).name;
}

std::optional<Reducer> parse_reducer(std::string_view text) {
  const auto *found = std::ranges::find(table, text, &ReducerInfo::name);
  return found == std::end(table) ? std::nullopt : std::optional(Reducer(found->kind));
}

BinaryOp op_of(Reducer reducer) { return info(reducer).op; }

Expr identity_of(Reducer reducer, DType dtype) {
  switch (reducer.kind()) {
  case Reducer::sum:
    return constant(dtype, 0);
  case Reducer::product:
    return constant(dtype, 1);
  case Reducer::max:
    return limit_of(dtype, true);
  case Reducer::min:
    return limit_of(dtype, false);
  case Reducer::own:
    return reducer.definition()->identity;
  }
  internal_error("a reducer of the closed set");
}

std::optional<Expr> before_cast(const Expr &identity, DType from) {
  if (const auto *real = identity.as<FloatImm>()) {
    bool kept = real->value == 0 || real->value == 1 || (std::isinf(real->value) && is_float(from));
    return kept ? std::optional(constant(from, real->value)) : std::nullopt;
  }
  auto integer = as_int(identity);
  return integer == 0 || integer == 1 ? std::optional(constant(from, *integer)) : std::nullopt;
}

bool has_term_first(Reducer reducer) { return reducer == Reducer::min; }

Expr combine(Reducer reducer, Expr element, Expr term) {
  if (const OwnReducer *own = reducer.definition()) {
    if (term.dtype() != own->identity.dtype())
      refuse(own->name,
             fmt::format("combines {}, got a term of {}", name(own->identity.dtype()), name(term.dtype())));
    return call(own->combine, {std::move(element), std::move(term)});
  }
  if (has_term_first(reducer))
    std::swap(element, term);
  return binary(op_of(reducer), std::move(element), std::move(term));
}

} // namespace nestsmith
