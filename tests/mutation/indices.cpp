/// Bugs in index arithmetic: strides, offsets, divisors, operands, widths.

#include "tests/mutation/catalogue.h"

#include <algorithm>

namespace nestsmith::mutation {

using kernel::Kernel;
using kernel::Stmt;

namespace {

bool is_offset(const Spot &spot) {
  return spot.place == SeedPlace::load_offset || spot.place == SeedPlace::store_offset;
}
bool is_address(const Spot &spot) { return is_offset(spot) || spot.place == SeedPlace::declared; }

using NodeBug = std::function<std::vector<Expr>(const Expr &)>;

std::function<void(Kernel &, Chooser &)> in_addresses(const NodeBug &bug) {
  return [bug](Kernel &kernel, Chooser &chooser) {
    on_exprs(kernel, chooser, [&](const Expr &e, const Spot &spot) {
      return is_address(spot) && is_index(e.dtype()) ? bug(e) : std::vector<Expr>{};
    });
  };
}

/// Returns a bug that adds `by` to a whole scalar offset. vectors.cpp changes the offsets of vectors.
std::function<void(Kernel &, Chooser &)> on_offset(SeedPlace place, std::int64_t by) {
  return [place, by](Kernel &kernel, Chooser &chooser) {
    on_exprs(kernel, chooser, [&](const Expr &e, const Spot &spot) {
      return spot.root && spot.place == place && spot.lanes == 1 ? std::vector{plus(e, by)}
                                                                 : std::vector<Expr>{};
    });
  };
}

/// Returns a bug that changes x op c to x op (c + by), where c + by is still a valid divisor or stride.
NodeBug constant_off(BinaryOp op, std::int64_t by) {
  return [op, by](const Expr &e) {
    const auto *node = e.as<Binary>();
    auto c = node && node->op == op ? as_int(node->b) : std::nullopt;
    if (!c || *c < 2)
      return std::vector<Expr>{};
    return std::vector{binary(op, node->a, int_imm(*c + by, node->b.dtype()))};
  };
}

std::vector<Expr> term_dropped(const Expr &e) {
  const auto *sum = e.as<Binary>();
  return sum && sum->op == BinaryOp::add ? std::vector{sum->a, sum->b} : std::vector<Expr>{};
}

std::vector<Expr> terms_subtracted(const Expr &e) {
  const auto *sum = e.as<Binary>();
  return sum && sum->op == BinaryOp::add && !as_int(sum->b) ? std::vector{binary(BinaryOp::sub, sum->a, sum->b)}
                                                            : std::vector<Expr>{};
}

std::vector<Var> variables(const Expr &e) {
  std::vector<Var> vars;
  walk(e, [&](const Expr &node) {
    const Var *var = node.as<Var>();
    if (var && std::find(vars.begin(), vars.end(), *var) == vars.end())
      vars.push_back(*var);
  });
  return vars;
}

/// Exchanges two variables of an offset or of a declared value.
void swapped(Kernel &kernel, Chooser &chooser) {
  on_exprs(kernel, chooser, [](const Expr &e, const Spot &spot) {
    std::vector<Expr> result;
    if (!is_address(spot) || !spot.root)
      return result;
    std::vector<Var> vars = variables(e);
    for (std::size_t m = 1; m < vars.size(); ++m)
      for (std::size_t n = 0; n < m; ++n)
        result.push_back(substitute(e, [&](const Var &var) {
          return var == vars[n]   ? cast(var->dtype, vars[m])
                 : var == vars[m] ? cast(var->dtype, vars[n])
                                  : Expr();
        }));
    return result;
  });
}

/// Exchanges two dimensions of an access before `flatten` computes its offset.
void dimensions_swapped(Kernel &kernel, Chooser &chooser) {
  auto turned = [](std::vector<Expr> indices, std::size_t n) {
    std::swap(indices[n], indices[n + 1]);
    return indices;
  };
  on_exprs(kernel, chooser, [&](const Expr &e, const Spot &) {
    std::vector<Expr> result;
    const auto *x = e.as<Load>();
    for (std::size_t n = 0; x && n + 1 < x->indices.size(); ++n)
      result.push_back(load(x->buffer, turned(x->indices, n), x->mask, x->fill, x->lanes));
    return result;
  });
  on_stmts(kernel, chooser, [&](const Stmt &stmt) {
    std::vector<Stmt> result;
    const auto *x = kernel::as<kernel::Store>(stmt);
    for (std::size_t n = 0; x && n + 1 < x->indices.size(); ++n) {
      kernel::Store copy = *x;
      copy.indices = turned(copy.indices, n);
      result.push_back(kernel::make(std::move(copy)));
    }
    return result;
  });
}

/// Adds one to an index of an access before `flatten` computes its offset.
void dimension_off(Kernel &kernel, Chooser &chooser) {
  on_exprs(kernel, chooser, [&](const Expr &e, const Spot &spot) {
    return is_offset(spot) && spot.root ? std::vector{plus(e, 1)} : std::vector<Expr>{};
  });
}

/// Computes the same value in 32 bits.
Expr narrow(const Expr &e) {
  if (e.dtype() != DType::i64)
    return e;
  if (const auto *imm = e.as<IntImm>())
    return int_imm(static_cast<std::int32_t>(imm->value), DType::i32);
  if (const auto *wide = e.as<Cast>(); wide && wide->a.dtype() == DType::i32)
    return wide->a;
  if (const auto *op = e.as<Binary>())
    return binary(op->op, narrow(op->a), narrow(op->b));
  return cast(DType::i32, e);
}

void in_32_bits(Kernel &kernel, Chooser &chooser) {
  on_exprs(kernel, chooser, [](const Expr &e, const Spot &spot) {
    bool computes = any_node(e, [](const Expr &node) { return node.as<Binary>() != nullptr; });
    if (!is_address(spot) || e.dtype() != DType::i64 || !e.as<Binary>() || !computes)
      return std::vector<Expr>{};
    return std::vector{cast(DType::i64, narrow(e))};
  });
}

} // namespace

std::vector<Kind> index_kinds() {
  using namespace errors;
  const Errors wrong = {race, out_of_bounds, unwritten_read, misaligned, wrong_value};
  Errors operands = wrong;
  operands.insert(breach); // a divisor that may be negative, or a variable that is used outside of its scope
  std::vector<Kind> kinds = {
      {"indices", "load_offset_plus_1", "a load takes the next element", wrong,
       on_offset(SeedPlace::load_offset, 1)},
      {"indices", "load_offset_minus_1", "a load takes the element before", wrong,
       on_offset(SeedPlace::load_offset, -1)},
      {"indices", "store_offset_plus_1", "a store hits its neighbour", wrong,
       on_offset(SeedPlace::store_offset, 1)},
      {"indices", "store_offset_minus_1", "a store hits the element before", wrong,
       on_offset(SeedPlace::store_offset, -1)},
      {"indices", "stride_plus_1", "a stride is one too large", wrong,
       in_addresses(constant_off(BinaryOp::mul, 1))},
      {"indices", "stride_minus_1", "a stride is one too small", wrong,
       in_addresses(constant_off(BinaryOp::mul, -1))},
      {"indices", "divisor_plus_1", "x / n becomes x / (n + 1)", operands,
       in_addresses(constant_off(BinaryOp::floordiv, 1))},
      {"indices", "divisor_minus_1", "x / n becomes x / (n - 1)", operands,
       in_addresses(constant_off(BinaryOp::floordiv, -1))},
      {"indices", "modulus_plus_1", "x % n becomes x % (n + 1)", operands,
       in_addresses(constant_off(BinaryOp::floormod, 1))},
      {"indices", "modulus_minus_1", "x % n becomes x % (n - 1)", operands,
       in_addresses(constant_off(BinaryOp::floormod, -1))},
      {"indices", "term_dropped", "a summand of an index is dropped", wrong, in_addresses(term_dropped)},
      {"indices", "term_subtracted", "a summand of an index is subtracted", operands,
       in_addresses(terms_subtracted)},
      {"indices", "indices_swapped", "two variables of an index change places", operands, swapped},
      {"indices", "in_32_bits", "an offset that needs 64 bits is computed in 32", {breach}, in_32_bits},
      {"extraction", "dimensions_swapped", "two dimensions of one access change places: transposed on one side",
       operands, dimensions_swapped, Stage::extracted},
      {"extraction", "dimension_plus_1", "one index of an access is one too large", operands, dimension_off,
       Stage::extracted},
  };
  for (Kind &kind : kinds)
    if (kind.stage == Stage::extracted)
      kind.right.insert(refused);
  return kinds;
}

} // namespace nestsmith::mutation
