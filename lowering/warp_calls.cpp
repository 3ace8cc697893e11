#include "lowering/warp_calls.h"

#include "dsl/expr/error.h"
#include "dsl/hardware/match.h"

#include <algorithm>

namespace nestsmith::kernel {

namespace {

class CallMaker {
public:
  CallMaker(Kernel &kernel, const Intrinsic &intrinsic, Bounds bounds)
      : kernel_(kernel), intrinsic_(intrinsic), bounds_(std::move(bounds)) {}

  Stmt run(const Loop &loop) {
    read(loop);
    auto found = match(intrinsic_, nest_, bounds_);
    internal_check(found.has_value(), "a nest does not mean what its intrinsic means");
    match_ = std::move(*found);
    Call call{intrinsic_, {}};
    for (const Operand &operand : intrinsic_.operands) {
      const auto &access = *match_.operands.at(operand.formal).as<Load>();
      align(access.buffer, operand.alignment);
      call.places.push_back({access.buffer, operand.as<Rows>()     ? row(operand, access)
                                            : operand.as<InTile>() ? first(access)
                                                                   : start(operand, access)});
    }
    Stmt made = make(std::move(call), origin_);
    for (auto guard = guards_.rbegin(); guard != guards_.rend(); ++guard)
      made = make(If{guard->first, made, nullptr, guard->second});
    return made;
  }

private:
  /// Collects the nest, with its own declarations expanded, and the guards inside of it. A guard has one value
  /// for all iterations, so that it can enclose the call.
  void read(const Loop &loop) {
    nest_.loops.push_back({loop.var, as_int(loop.extent).value()});
    bounds_.set_extent(loop.var, loop.extent);
    read(loop.body);
  }
  void read(const Stmt &stmt) {
    if (const auto *declare = as<Declare>(stmt)) {
      definitions_[declare->var] = expanded(declare->value);
    } else if (const auto *inner = as<Loop>(stmt)) {
      read(*inner);
    } else if (const auto *seq = as<Seq>(stmt)) {
      for (const Stmt &child : seq->stmts)
        read(child);
    } else if (const auto *guard = as<If>(stmt)) {
      internal_check(!guard->otherwise, "a call of a warp has one store");
      std::map<Var, Expr> first;
      for (const NestLoop &loop : nest_.loops)
        first[loop.var] = Expr(0);
      guards_.emplace_back(simplify(substitute(expanded(guard->condition), first), bounds_), guard->purpose);
      read(guard->body);
    } else {
      const auto *store = as<Store>(stmt);
      internal_check(store && store->lanes == 1 && !nest_.body.buffer, "a call of a warp has one store");
      origin_ = stmt->origin;
      nest_.body = {store->buffer, {expanded(store->indices[0])}, expanded(store->value)};
    }
  }
  Expr expanded(const Expr &e) const { return substitute(e, definitions_); }

  /// The first element. The first row of a tile has no swizzle: its number is a multiple of 8.
  Expr first(const Load &access) const {
    std::map<Var, Expr> zero;
    for (const NestLoop &loop : nest_.loops)
      zero[loop.var] = Expr(0);
    return simplify(substitute(access.indices[0], zero), bounds_);
  }

  /// The first register. The obligations have shown the lanes, so the registers determine the layout.
  Expr start(const Operand &operand, const Load &access) const {
    Expr first = this->first(access);
    std::vector<Expr> loops = loops_of(intrinsic_, match_, operand);
    const IndexMap &map = operand.as<InRegisters>()->map;
    if (map.logical().size() > loops.size())
      loops.emplace_back(0);
    Expr distance = simplify(access.indices[0] - first - map(loops)[1], bounds_);
    internal_check(as_int(distance) == 0, "a fragment in other registers than its intrinsic takes");
    return first;
  }

  /// The address that a lane supplies.
  Expr row(const Operand &operand, const Load &access) const {
    const auto &rows = *operand.as<Rows>();
    std::vector<Expr> loops = loops_of(intrinsic_, match_, operand);
    std::map<Var, Expr> values;
    for (std::size_t d = 0; d < loops.size(); ++d)
      values[*loops[d].as<Var>()] = substitute(rows.start[d], {{rows.lane, lane()}});
    return simplify(substitute(access.indices[0], values), bounds_);
  }

  Expr lane() const {
    for (const ThreadIndex &index : kernel_.indices)
      if (index.axis == Axis::thread_x)
        return floormod(Expr(index.var), Expr(lanes_per_warp));
    internal_error("a call of a warp in a kernel without threads");
  }

  void align(const Buffer &buffer, std::int64_t bytes) {
    for (auto *list : {&kernel_.shared, &kernel_.local})
      for (Allocation &allocation : *list)
        if (allocation.buffer == buffer)
          allocation.alignment = std::max(allocation.alignment, bytes);
  }

  Kernel &kernel_;
  const Intrinsic &intrinsic_;
  Bounds bounds_;
  Nest nest_;
  std::map<Var, Expr> definitions_; ///< declared in the nest
  std::vector<std::pair<Expr, Purpose>> guards_;
  Match match_;
  Origin origin_; ///< of the store
};

} // namespace

void make_warp_calls(Kernel &kernel) {
  Bounds bounds = bounds_of(kernel);
  std::function<Stmt(const Stmt &)> rewrite = [&](const Stmt &stmt) {
    const auto *loop = as<Loop>(stmt);
    const auto *form = loop ? std::get_if<Tensorized>(&loop->form) : nullptr;
    if (form && form->intrinsic.get().group == Group::warp)
      return CallMaker(kernel, form->intrinsic, bounds).run(*loop);
    return map_children(stmt, rewrite);
  };
  kernel.body = rewrite(kernel.body);
}

} // namespace nestsmith::kernel
