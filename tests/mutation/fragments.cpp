/// Bugs in fragments: the lanes and registers that hold their elements, and their initial values.

#include "dsl/hardware/intrinsics.h"
#include "dsl/ir/printer.h"
#include "tests/mutation/catalogue.h"

#include <fmt/format.h>
#include <map>
#include <tuple>

namespace nestsmith::mutation {

using kernel::Call;
using kernel::Kernel;
using kernel::Stmt;

namespace {

enum class Exchange : std::uint8_t { lanes, registers };

/// Returns the other number of the pair (0, 1), (2, 3), … that contains e.
Expr neighbour(const Expr &e) {
  Expr one = int_imm(1, e.dtype()), two = int_imm(2, e.dtype());
  return floordiv(e, two) * two + one - floormod(e, two);
}

/// Exchanges adjacent lanes or registers of the operand, or returns none if it has one register.
std::optional<Operand> exchanged(const Operand &operand, Exchange what) {
  Operand result = operand;
  if (const auto *rows = operand.as<Rows>(); rows && what == Exchange::lanes) {
    for (Expr &start : std::get<Rows>(result.place).start)
      start = substitute(start, {{rows->lane, neighbour(rows->lane)}});
    return result;
  }
  const auto *fragment = operand.as<InRegisters>();
  if (!fragment || (what == Exchange::registers && elements_per_lane(operand) % 2 != 0))
    return std::nullopt;
  std::vector<Expr> physical = fragment->map.physical();
  Expr &changed = physical[what == Exchange::lanes ? 0 : 1];
  changed = neighbour(changed);
  std::string text;
  for (const Var &var : fragment->map.logical())
    text += (text.empty() ? "" : ", ") + var->name;
  result.place = InRegisters{text + " -> " + to_string(physical[0]) + ", " + to_string(physical[1])};
  return result;
}

/// Returns the intrinsic with its operand number `n` changed. The result is never freed, because kernels refer
/// to it.
const Intrinsic *with_exchange(const Intrinsic &intrinsic, std::size_t n, Exchange what) {
  static std::map<std::tuple<const Intrinsic *, std::size_t, Exchange>, std::optional<Intrinsic>> all;
  auto [it, fresh] = all.try_emplace({&intrinsic, n, what});
  if (std::optional<Operand> operand = fresh ? exchanged(intrinsic.operands[n], what) : std::nullopt) {
    it->second = intrinsic;
    it->second->name += fmt::format(" with other {} of {}", what == Exchange::lanes ? "lanes" : "registers",
                                    operand->formal->name);
    it->second->operands[n] = std::move(*operand);
  }
  return it->second ? &*it->second : nullptr;
}

std::function<void(Kernel &, Chooser &)> in_operands(Exchange what) {
  return [what](Kernel &kernel, Chooser &chooser) {
    on_stmts(kernel, chooser, [&](const Stmt &stmt) {
      std::vector<Stmt> result;
      const auto *call = kernel::as<Call>(stmt);
      for (std::size_t n = 0; call && n < call->places.size(); ++n)
        if (const Intrinsic *changed = with_exchange(call->intrinsic, n, what))
          result.push_back(kernel::make(Call{*changed, call->places}));
      return result;
    });
  };
}

bool has_calls(const Kernel &kernel) {
  bool found = false;
  kernel::walk(kernel.body, [&](const Stmt &stmt) { found = found || kernel::as<Call>(stmt); });
  return found;
}

/// Replaces an offset in global or shared memory by that of an adjacent thread.
void wrong_lane(Kernel &kernel, Chooser &chooser) {
  if (!has_calls(kernel))
    return;
  std::map<Var, Expr> values;
  for (const kernel::ThreadIndex &index : kernel.indices)
    if (index.axis == Axis::thread_x)
      values[index.var] = neighbour(index.var);
  kernel::walk(kernel.body, [&](const Stmt &stmt) {
    if (const auto *declare = kernel::as<kernel::Declare>(stmt); declare && is_index(declare->var->dtype))
      if (Expr value = substitute(declare->value, values); value.get() != declare->value.get())
        values[declare->var] = value;
  });
  on_exprs(kernel, chooser, [&](const Expr &e, const Spot &spot) {
    bool offset = spot.place == SeedPlace::load_offset || spot.place == SeedPlace::store_offset;
    if (!offset || !spot.root || spot.buffer->scope == Scope::local)
      return std::vector<Expr>{};
    Expr changed = substitute(e, values);
    return changed.get() == e.get() ? std::vector<Expr>{} : std::vector{changed};
  });
}

/// Leaves one lane out of a call: its shuffles or its matrix instruction then wait for this lane for ever.
void lane_left_out(Kernel &kernel, Chooser &chooser) {
  Expr lane;
  for (const kernel::ThreadIndex &index : kernel.indices)
    if (index.axis == Axis::thread_x)
      lane = floormod(Expr(index.var), int_imm(lanes_per_warp, index.var->dtype));
  on_stmts(kernel, chooser, [&](const Stmt &stmt) {
    if (!lane.exists() || !kernel::as<Call>(stmt))
      return std::vector<Stmt>{};
    return std::vector{kernel::make(kernel::If{not_equal(lane, int_imm(5, lane.dtype())), stmt})};
  });
}

/// Removes a store that initialises a buffer that a call updates.
void not_initialised(Kernel &kernel, Chooser &chooser) {
  std::set<Buffer> updated;
  kernel::walk(kernel.body, [&](const Stmt &stmt) {
    if (const auto *call = kernel::as<Call>(stmt))
      updated.insert(call->result().buffer);
  });
  on_stmts(kernel, chooser, [&](const Stmt &stmt) {
    const auto *store = kernel::as<kernel::Store>(stmt);
    bool constant = store && (store->value.as<FloatImm>() || store->value.as<IntImm>());
    return constant && updated.contains(store->buffer) ? std::vector{nothing()} : std::vector<Stmt>{};
  });
}

} // namespace

std::vector<Kind> fragment_kinds() {
  using namespace errors;
  const Errors other = {wrong_value}, access = {race, out_of_bounds, unwritten_read, wrong_value};
  return {
      {"fragments", "lanes_exchanged", "neighbouring lanes are exchanged in the operand of a call", other,
       in_operands(Exchange::lanes)},
      {"fragments", "registers_exchanged", "neighbouring registers are exchanged in the operand of a call",
       other, in_operands(Exchange::registers)},
      {"fragments", "element_of_another_lane", "a lane loads or stores the elements of its neighbour", access,
       wrong_lane},
      {"fragments", "lane_left_out", "a lane is left out of a call", {breach}, lane_left_out},
      {"fragments",
       "accumulator_not_initialised",
       "the accumulator of a call is not initialised",
       {unwritten_read},
       not_initialised},
  };
}

} // namespace nestsmith::mutation
