/// Bugs in guards and masks: dropped, weakened or tightened conditions, and wrong fill values.

#include "tests/mutation/catalogue.h"

namespace nestsmith::mutation {

using kernel::If;
using kernel::Kernel;
using kernel::Stmt;

namespace {

bool of_scalars(const Expr &condition) {
  return any_node(condition, [](const Expr &e) {
    const auto *op = e.as<Binary>();
    return op && is_comparison(op->op) && !is_index(op->a.dtype());
  });
}

using NodeBug = std::function<std::vector<Expr>(const Expr &)>;

/// Returns a bug in a condition of a guard or of a mask. Conditions on scalars are skipped.
std::function<void(Kernel &, Chooser &)> in(SeedPlace place, const NodeBug &bug) {
  return [place, bug](Kernel &kernel, Chooser &chooser) {
    on_exprs(kernel, chooser, [&](const Expr &e, const Spot &spot) {
      return spot.place == place && e.dtype() == DType::boolean && !of_scalars(e) ? bug(e)
                                                                                  : std::vector<Expr>{};
    });
  };
}

const Binary *op_of(const Expr &e, BinaryOp op) {
  const auto *node = e.as<Binary>();
  return node && node->op == op ? node : nullptr;
}

std::vector<Expr> weaker(const Expr &e) {
  const Binary *less = op_of(e, BinaryOp::lt);
  return less ? std::vector{less->a <= less->b} : std::vector<Expr>{};
}
std::vector<Expr> tighter(const Expr &e) {
  const Binary *less = op_of(e, BinaryOp::lt);
  return less ? std::vector{plus(less->a, 1) < less->b} : std::vector<Expr>{};
}
std::vector<Expr> one_side(const Expr &e) {
  const Binary *both = op_of(e, BinaryOp::logical_and);
  return both ? std::vector{both->a, both->b} : std::vector<Expr>{};
}
std::vector<Expr> either(const Expr &e) {
  const Binary *both = op_of(e, BinaryOp::logical_and);
  return both ? std::vector{both->a || both->b} : std::vector<Expr>{};
}
std::vector<Expr> inverted(const Expr &e) {
  return op_of(e, BinaryOp::lt) ? std::vector{logical_not(e)} : std::vector<Expr>{};
}

void drop_guard(Kernel &kernel, Chooser &chooser) {
  on_stmts(kernel, chooser, [](const Stmt &stmt) {
    const auto *branch = kernel::as<If>(stmt);
    if (!branch)
      return std::vector<Stmt>{};
    return branch->otherwise ? std::vector{branch->body, branch->otherwise} : std::vector{branch->body};
  });
}

void never(Kernel &kernel, Chooser &chooser) {
  on_stmts(kernel, chooser, [](const Stmt &stmt) {
    return kernel::as<If>(stmt) ? std::vector{nothing()} : std::vector<Stmt>{};
  });
}

void swap_sides(Kernel &kernel, Chooser &chooser) {
  on_stmts(kernel, chooser, [](const Stmt &stmt) {
    const auto *branch = kernel::as<If>(stmt);
    if (!branch || !branch->otherwise)
      return std::vector<Stmt>{};
    If copy = *branch;
    std::swap(copy.body, copy.otherwise);
    return std::vector{kernel::make(std::move(copy))};
  });
}

/// Returns a bug in a load with a mask. `scalars`: the condition of the mask compares scalars (beta != 0).
std::function<void(Kernel &, Chooser &)> at_masked_load(bool scalars, std::vector<Expr> (*bug)(const Load &)) {
  return [scalars, bug](Kernel &kernel, Chooser &chooser) {
    on_exprs(kernel, chooser, [&](const Expr &e, const Spot &) {
      const auto *access = e.as<Load>();
      bool fits = access && access->mask.exists() && of_scalars(access->mask) == scalars;
      return fits ? bug(*access) : std::vector<Expr>{};
    });
  };
}

std::vector<Expr> unmasked(const Load &x) { return {load(x.buffer, x.indices, {}, {}, x.lanes)}; }
std::vector<Expr> filled_by_one(const Load &x) {
  return {load(x.buffer, x.indices, x.mask, constant(x.buffer->dtype, 1), x.lanes)};
}
/// Reads the nearest existing element or vector by a clamped offset.
std::vector<Expr> filled_by_edge(const Load &x) {
  auto elements = as_int(simplify(span_of(*x.buffer)));
  if (!elements)
    return {};
  Expr last = int_imm(*elements - x.lanes, x.indices[0].dtype());
  return {load(x.buffer, {min(x.indices[0], last)}, {}, {}, x.lanes)};
}
/// Fills all masked loads by 1, so that products contain pairs of fill values.
void all_filled_by_one(Kernel &kernel, Chooser &chooser) {
  bool fits = false;
  std::function<Expr(const Expr &)> in = [&](const Expr &e) -> Expr {
    Expr result = map_children(e, in);
    const auto *access = result.as<Load>();
    if (!access || !access->mask.exists() || of_scalars(access->mask))
      return result;
    fits = true;
    return filled_by_one(*access)[0];
  };
  std::function<Stmt(const Stmt &)> rewrite = [&](const Stmt &stmt) -> Stmt {
    return kernel::map_children(kernel::map_exprs(stmt, in), rewrite);
  };
  Stmt changed = rewrite(kernel.body);
  if (fits && chooser.take([] { return std::string("all masked loads"); }))
    kernel.body = changed;
}

std::vector<Expr> inverted_scalar(const Load &x) {
  return {load(x.buffer, x.indices, logical_not(x.mask), x.fill, x.lanes)};
}

} // namespace

std::vector<Kind> guard_kinds() {
  using namespace errors;
  const Errors outside = {race, out_of_bounds, unwritten_read, wrong_value},
               // if the lost array shares memory, reads of it give the elements of another array, which is a
               // breach
      lost = {unwritten_read, wrong_value, breach}, value = {wrong_value},
               addresses = {out_of_bounds, wrong_value, unwritten_read};
  std::vector<Kind> kinds = {
      {"guards", "guard_dropped", "a guard is removed, or one side of an if/else is always taken", outside,
       drop_guard},
      {"guards", "guard_never", "the body of a guard is never executed", lost, never},
      {"guards", "guard_sides_swapped", "the sides of an if/else are swapped", outside, swap_sides},
      {"guards", "guard_weakened", "< becomes <= in a guard", outside, in(SeedPlace::guard, weaker)},
      {"guards", "guard_tightened", "x < n becomes x + 1 < n in a guard: the tail is cut", outside,
       in(SeedPlace::guard, tighter)},
      {"guards", "guard_half", "one side of && is dropped in a guard", outside, in(SeedPlace::guard, one_side)},
      {"guards", "guard_or", "&& becomes || in a guard", outside, in(SeedPlace::guard, either)},
      {"guards", "guard_inverted", "x < n becomes its opposite in a guard", outside,
       in(SeedPlace::guard, inverted)},
      {"masks", "mask_dropped", "a load has no mask", addresses, at_masked_load(false, unmasked)},
      {"masks", "mask_weakened", "< becomes <= in a mask", addresses, in(SeedPlace::mask, weaker)},
      {"masks", "mask_tightened", "x < n becomes x + 1 < n in a mask: the tail is cut", value,
       in(SeedPlace::mask, tighter)},
      {"masks", "mask_half", "one side of && is dropped in a mask", addresses, in(SeedPlace::mask, one_side)},
      {"masks", "mask_or", "&& becomes || in a mask", addresses, in(SeedPlace::mask, either)},
      {"masks", "mask_inverted", "x < n becomes its opposite in a mask", addresses,
       in(SeedPlace::mask, inverted)},
      {"masks", "filled_by_one", "masked elements of one load are 1, not 0", value,
       at_masked_load(false, filled_by_one)},
      {"masks", "all_filled_by_one", "masked elements are 1 in all tiles", value, all_filled_by_one},
      {"masks", "filled_by_edge", "masked elements repeat the edge: the offset is clamped", addresses,
       at_masked_load(false, filled_by_edge)},
      {"masks", "beta_read_where_0", "C is read whatever beta is", value, at_masked_load(true, unmasked)},
      {"masks", "beta_inverted", "C is read exactly where beta is 0", value,
       at_masked_load(true, inverted_scalar)},
      {"extraction", "extracted_guard_dropped", "extraction forgets a guard", outside, drop_guard},
      {"extraction", "extracted_guard_weakened", "extraction uses <= instead of < in a guard", outside,
       in(SeedPlace::guard, weaker)},
      {"extraction", "extracted_mask_dropped", "a tail is not filled: the load has no mask", addresses,
       at_masked_load(false, unmasked)},
      {"extraction", "extracted_mask_weakened", "extraction uses <= instead of < in a mask", addresses,
       in(SeedPlace::mask, weaker)},
      {"extraction", "extracted_fill_of_one", "the tail of one load is filled by 1", value,
       at_masked_load(false, filled_by_one)},
  };
  for (Kind &kind : kinds)
    if (kind.group == "extraction") {
      kind.stage = Stage::extracted;
      kind.right.insert({refused, breach, misaligned});
    }
  return kinds;
}

} // namespace nestsmith::mutation
