#include "dsl/ir/reducer.h"

#include "dsl/expr/numbers.h"

#include <algorithm>
#include <limits>

namespace nestsmith {

namespace {

struct ReducerInfo {
  Reducer reducer;
  std::string_view name;
  BinaryOp op;
};
constexpr ReducerInfo table[] = {
    {Reducer::sum, "sum", BinaryOp::add},
    {Reducer::product, "product", BinaryOp::mul},
    {Reducer::max, "max", BinaryOp::max},
    {Reducer::min, "min", BinaryOp::min},
};

const ReducerInfo &info(Reducer reducer) { return table[static_cast<std::size_t>(reducer)]; }

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

} // namespace

std::string_view name(Reducer reducer) { return info(reducer).name; }

std::optional<Reducer> parse_reducer(std::string_view text) {
  const auto *found = std::ranges::find(table, text, &ReducerInfo::name);
  return found == std::end(table) ? std::nullopt : std::optional(found->reducer);
}

BinaryOp op_of(Reducer reducer) { return info(reducer).op; }

Expr identity_of(Reducer reducer, DType dtype) {
  switch (reducer) {
  case Reducer::sum:
    return constant(dtype, 0);
  case Reducer::product:
    return constant(dtype, 1);
  case Reducer::max:
    return limit_of(dtype, true);
  case Reducer::min:
    return limit_of(dtype, false);
  }
  internal_error("a reducer of the closed set");
}

bool has_term_first(Reducer reducer) { return reducer == Reducer::min; }

Expr combine(Reducer reducer, Expr element, Expr term) {
  if (has_term_first(reducer))
    std::swap(element, term);
  return binary(op_of(reducer), std::move(element), std::move(term));
}

} // namespace nestsmith
