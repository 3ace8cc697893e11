#include "lowering/step_sources.h"

#include "dsl/expr/simplify.h"
#include "lowering/unit.h"

#include <functional>
#include <map>
#include <optional>

namespace nestsmith::kernel {

namespace {

/// The offset in each iteration of a loop: `step * loop + rest`, where `rest` does not depend on the loop.
struct Steps {
  Expr step, rest;
};

class Stepper {
public:
  explicit Stepper(const Kernel &kernel) : bounds_(bounds_of(kernel)) {}

  Stmt rewrite(const Stmt &stmt) {
    if (const auto *declare = as<Declare>(stmt); declare && !loop_.empty())
      values_[declare->var] = substitute(declare->value, values_);
    if (const auto *loop = as<Loop>(stmt); loop && loop->is<Serial>()) {
      const std::map<Var, Expr> around = std::exchange(values_, {});
      loop_.push_back(loop->var);
      Stmt made = map_children(stmt, [&](const Stmt &child) { return rewrite(child); });
      loop_.pop_back();
      values_ = around;
      return made;
    }
    const auto *store = as<Store>(stmt);
    const auto *source = store && store->async && !loop_.empty() ? store->value.as<Load>() : nullptr;
    if (!source)
      return map_children(stmt, [&](const Stmt &child) { return rewrite(child); });
    const std::optional<Steps> steps = steps_of(source->indices.front());
    if (!steps)
      return stmt;
    Store copy = *store;
    copy.value = load(source->buffer, {binary(BinaryOp::add, Expr(loop_.back()) * steps->step, steps->rest)},
                      source->mask, source->fill, source->lanes);
    return make(std::move(copy), stmt->origin);
  }

private:
  std::optional<Steps> steps_of(const Expr &offset) const {
    const Var &loop = loop_.back();
    auto uses_loop = [&](const Var &var) { return values_.contains(var) && uses(values_.at(var), loop); };
    const Expr whole =
        substitute(offset, [&](const Var &var) { return uses_loop(var) ? values_.at(var) : Expr(); });
    if (!uses(whole, loop))
      return std::nullopt;
    auto at = [&](std::int64_t n) {
      return simplify(substitute(whole, std::map<Var, Expr>{{loop, Expr(n)}}), bounds_);
    };
    const Expr rest = at(0), step = simplify(at(1) - rest, bounds_);
    const bool linear = as_int(step) && as_int(simplify(whole - (Expr(loop) * step + rest), bounds_)) == 0;
    return linear ? std::optional(Steps{step, rest}) : std::nullopt;
  }

  Bounds bounds_;
  std::vector<Var> loop_;      ///< the serial loops around the statement
  std::map<Var, Expr> values_; ///< of the variables that are declared in the innermost of them
};

} // namespace

bool steps_sources(const Kernel &kernel) { return !kernel.channels.empty() && !tiles_of_units(kernel).empty(); }

void step_sources(Unit &unit) {
  Kernel &kernel = unit.kernel();
  if (!steps_sources(kernel))
    return;
  kernel.body = Stepper(kernel).rewrite(kernel.body);
  place_declarations(unit); // some are no longer used
}

} // namespace nestsmith::kernel
