/// Bugs in vector accesses: misaligned, too wide, too narrow, lanes in the wrong order.

#include "tests/mutation/catalogue.h"

namespace nestsmith::mutation {

using kernel::Kernel;
using kernel::Stmt;

namespace {

void vector_off_alignment(Kernel &kernel, Chooser &chooser) {
  on_exprs(kernel, chooser, [](const Expr &e, const Spot &spot) {
    bool offset = spot.place == SeedPlace::load_offset || spot.place == SeedPlace::store_offset;
    return offset && spot.root && spot.lanes > 1 ? std::vector{plus(e, 1)} : std::vector<Expr>{};
  });
}

Stmt replace_vector(const Stmt &stmt, const Var &from, const Var &to) {
  std::function<Expr(const Expr &)> in = [&](const Expr &e) -> Expr {
    if (const auto *element = e.as<Lane>(); element && element->vector == from)
      return element->index < to->lanes ? lane(to, element->index) : lane(to, 0);
    if (const Var *var = e.as<Var>(); var && *var == from)
      return to;
    return map_children(e, in);
  };
  return kernel::map_children(kernel::map_exprs(stmt, in),
                              [&](const Stmt &child) { return replace_vector(child, from, to); });
}

/// Changes the number of lanes of a declared vector. Uses of lanes that no longer exist read the first lane.
void load_width(Kernel &kernel, Chooser &chooser, bool wider) {
  on_seqs(kernel, chooser, [&](const std::vector<Stmt> &stmts, std::size_t at) {
    std::vector<std::vector<Stmt>> result;
    const auto *declare = kernel::as<kernel::Declare>(stmts[at]);
    const auto *access = declare ? declare->value.as<Load>() : nullptr;
    if (!access || access->lanes < 2 || (!wider && access->lanes < 4))
      return result;
    int lanes = wider ? 2 * access->lanes : access->lanes / 2;
    Var var = make_var(declare->var->name, declare->var->dtype, lanes);
    std::vector<Stmt> changed = stmts;
    changed[at] = kernel::make(
        kernel::Declare{var, load(access->buffer, access->indices, access->mask, access->fill, lanes)});
    for (std::size_t n = at + 1; n < changed.size(); ++n)
      changed[n] = replace_vector(changed[n], declare->var, var);
    result.push_back(std::move(changed));
    return result;
  });
}

/// Doubles the lanes of a vector store by repeating them, or keeps only their first half.
void store_width(Kernel &kernel, Chooser &chooser, bool wider) {
  on_stmts(kernel, chooser, [&](const Stmt &stmt) {
    const auto *store = kernel::as<kernel::Store>(stmt);
    const auto *made = store && store->lanes > 1 ? store->value.as<Pack>() : nullptr;
    if (!made || (!wider && store->lanes < 4))
      return std::vector<Stmt>{};
    kernel::Store copy = *store;
    std::vector<Expr> lanes = made->lanes;
    if (wider)
      lanes.insert(lanes.end(), made->lanes.begin(), made->lanes.end());
    else
      lanes.resize(lanes.size() / 2);
    copy.lanes = static_cast<int>(lanes.size());
    copy.value = pack(std::move(lanes));
    return std::vector{kernel::make(std::move(copy))};
  });
}

void wrong_lane(Kernel &kernel, Chooser &chooser) {
  on_exprs(kernel, chooser, [](const Expr &e, const Spot &) {
    const auto *element = e.as<Lane>();
    return element ? std::vector{lane(element->vector, (element->index + 1) % element->vector->lanes)}
                   : std::vector<Expr>{};
  });
}

void lanes_swapped(Kernel &kernel, Chooser &chooser) {
  on_exprs(kernel, chooser, [](const Expr &e, const Spot &) {
    const auto *made = e.as<Pack>();
    if (!made)
      return std::vector<Expr>{};
    std::vector<Expr> lanes = made->lanes;
    std::swap(lanes[0], lanes[1]);
    return std::vector{pack(std::move(lanes))};
  });
}

} // namespace

std::vector<Kind> vector_kinds() {
  using namespace errors;
  const Errors width = {breach, misaligned, out_of_bounds, race}, lost = {unwritten_read, wrong_value};
  return {
      {"vectors",
       "vector_off_alignment",
       "a vector starts one element later",
       {misaligned},
       vector_off_alignment},
      {"vectors", "vector_load_too_wide", "a vector of twice the lanes is loaded", width,
       [](Kernel &k, Chooser &c) { load_width(k, c, true); }},
      {"vectors",
       "vector_load_too_narrow",
       "a vector of half the lanes is loaded",
       {wrong_value, breach},
       [](Kernel &k, Chooser &c) { load_width(k, c, false); }},
      {"vectors", "vector_store_too_wide", "a vector of twice the lanes is stored", width,
       [](Kernel &k, Chooser &c) { store_width(k, c, true); }},
      {"vectors", "vector_store_too_narrow", "the first half of a vector is stored", lost,
       [](Kernel &k, Chooser &c) { store_width(k, c, false); }},
      {"vectors", "wrong_lane", "another lane of a vector is taken", {wrong_value}, wrong_lane},
      {"vectors",
       "lanes_swapped",
       "two lanes of a vector that is made are swapped",
       {wrong_value},
       lanes_swapped},
  };
}

} // namespace nestsmith::mutation
