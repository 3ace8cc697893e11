#include "lowering/share_code.h"

#include "dsl/expr/simplify.h"

#include <algorithm>
#include <fmt/format.h>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace nestsmith::kernel {

namespace {

std::vector<Stmt> stmts_of(const Stmt &stmt) {
  const auto *seq = as<Seq>(stmt);
  return seq ? seq->stmts : std::vector<Stmt>{stmt};
}

bool is_index(const Expr &e) { return e.dtype() == DType::i64 && !e.node().data; }

class CodeSharer {
public:
  explicit CodeSharer(TwoNests &nests) : nests_(nests), known_{.arrays = nests.arrays} {}

  Stmt run() {
    std::vector<Stmt> first = stmts_of(nests_.first), second = stmts_of(nests_.second), stmts;
    take_indices(first, stmts);
    take_indices(second, stmts);
    std::vector<Stmt> shared = match_all(first, second, Otherwise::separate).value();
    stmts.insert(stmts.end(), known_.chosen.begin(), known_.chosen.end());
    stmts.insert(stmts.end(), shared.begin(), shared.end());
    // A side of a branch may have been made before an array in registers got the place of another one.
    known_.vars.clear();
    Stmt body = renamed(make_seq(std::move(stmts)));
    nests_.arrays = std::move(known_.arrays);
    return body;
  }

private:
  /// Statements that differ are put on two sides of a branch, or the match fails.
  enum class Otherwise : std::uint8_t { separate, refuse };

  struct Known {
    std::map<Var, Var> vars = {}; ///< of the second nest: the variable of the first
    std::map<Buffer, Buffer> arrays = {};
    std::vector<Stmt> chosen = {}; ///< declarations of the numbers that differ
    std::vector<std::pair<Expr, Expr>> numbers = {};
  };

  /// The declarations at the start do not vary within a block.
  void take_indices(std::vector<Stmt> &stmts, std::vector<Stmt> &taken) {
    auto end = std::ranges::find_if_not(stmts, [&](const Stmt &stmt) {
      const auto *declare = as<Declare>(stmt);
      const bool uniform = declare && is_pure(stmt) && is_uniform(declare->value);
      if (uniform)
        uniform_.insert(declare->var);
      return uniform;
    });
    taken.insert(taken.end(), stmts.begin(), end);
    stmts.erase(stmts.begin(), end);
  }

  /// Whether it consists of variables that are declared at the start, and so is the same within a block.
  bool is_uniform(const Expr &e) const {
    return !e.node().data && !any_node(e, [&](const Expr &node) {
      const Var *var = node.as<Var>();
      return var && !uniform_.contains(*var) && !uses(nests_.is_first, *var);
    });
  }

  // The statements and expressions of the second nest, in terms of the first.

  Expr renamed(const Expr &e) const {
    return replace_nodes(e, [&](const Expr &node) {
      if (const Var *var = node.as<Var>()) {
        auto found = known_.vars.find(*var);
        return found == known_.vars.end() ? Expr() : Expr(found->second);
      }
      if (const auto *of = node.as<Lane>()) {
        auto found = known_.vars.find(of->vector);
        return found == known_.vars.end() ? Expr() : lane(found->second, of->index);
      }
      const auto *access = node.as<Load>();
      if (!access)
        return Expr();
      std::vector<Expr> indices;
      for (const Expr &index : access->indices)
        indices.push_back(renamed(index));
      return load(array(access->buffer), indices, access->mask.exists() ? renamed(access->mask) : Expr(),
                  access->fill.exists() ? renamed(access->fill) : Expr(), access->lanes);
    });
  }

  Buffer array(const Buffer &buffer) const {
    auto found = known_.arrays.find(buffer);
    return found == known_.arrays.end() ? buffer : found->second;
  }

  Stmt renamed(const Stmt &stmt) const {
    Stmt changed = map_exprs(stmt, [&](const Expr &e) { return renamed(e); });
    if (const auto *store = as<Store>(changed)) {
      Store copy = *store;
      copy.buffer = array(store->buffer);
      return make(std::move(copy), stmt->origin);
    }
    if (const auto *bulk = as<BulkCopy>(changed)) {
      BulkCopy copy = *bulk;
      copy.tile = array(bulk->tile);
      return make(std::move(copy), stmt->origin);
    }
    if (const auto *wait = as<Wait>(changed)) {
      Wait copy = *wait;
      for (Buffer &sum : copy.sums)
        sum = array(sum);
      return make(std::move(copy), stmt->origin);
    }
    return map_children(changed, [&](const Stmt &child) { return renamed(child); });
  }

  /// Calls `f`. If it returns none, nothing is known of the second nest that was not before.
  template <class F> auto attempt(F f) {
    Known before = known_;
    auto result = f();
    if (!result)
      known_ = std::move(before);
    return result;
  }

  // Expressions.

  /// One expression for both nests; none if they differ in more than numbers that do not vary within a block.
  std::optional<Expr> match(const Expr &a, const Expr &b) {
    if (!a.exists() || !b.exists())
      return a.exists() == b.exists() ? std::optional(a) : std::nullopt;
    if (same(a, b))
      return a;
    if (is_index(a) && is_index(b))
      if (auto sum = match_sums(a, renamed(b)))
        return sum;
    const Load *of_a = a.as<Load>(), *of_b = b.as<Load>();
    if (of_a && of_b)
      return match_loads(*of_a, *of_b);
    std::vector<Expr> operands, others;
    map_children(a, [&](const Expr &child) {
      operands.push_back(child);
      return child;
    });
    map_children(b, [&](const Expr &child) {
      others.push_back(child);
      return child;
    });
    if (operands.empty() && others.empty()) {
      Expr other = renamed(b);
      return same(a, other) ? std::optional(a) : std::nullopt;
    }
    if (!match_all(operands, others))
      return std::nullopt;
    auto with_operands = [&](const Expr &e) {
      std::size_t n = 0;
      return map_children(e, [&](const Expr &) { return operands[n++]; });
    };
    Expr matched = with_operands(a);
    return same(matched, with_operands(b)) ? std::optional(matched) : std::nullopt;
  }

  std::optional<Expr> match_loads(const Load &a, const Load &b) {
    name_ = a.buffer->name + "_from";
    std::vector<Expr> indices = a.indices;
    if (a.lanes != b.lanes || !match(a.buffer, b.buffer) || !match_all(indices, b.indices))
      return std::nullopt;
    const auto fill = a.mask.exists() && b.mask.exists() ? match(a.fill, b.fill)
                      : a.mask.exists()                  ? std::optional(a.fill)
                      : b.mask.exists()                  ? std::optional(renamed(b.fill))
                                                         : std::optional(Expr());
    return fill ? std::optional(load(a.buffer, indices, match_masks(a.mask, b.mask), *fill, a.lanes))
                : std::nullopt;
  }

  /// One mask for both. Where only one nest needs a mask, it excludes nothing in the other.
  Expr match_masks(const Expr &a, const Expr &b) {
    if (auto matched = attempt([&] { return match(a, b); }))
      return *matched;
    if (!a.exists())
      return nests_.is_first || renamed(b);
    if (!b.exists())
      return logical_not(nests_.is_first) || a;
    return select(nests_.is_first, a, renamed(b));
  }

  /// The condition of a branch that all threads of a block take, or none may.
  std::optional<Expr> match_conditions(const Expr &a, const Expr &b) {
    if (auto matched = attempt([&] { return match(a, b); }))
      return matched;
    const Expr other = renamed(b);
    name_ = "condition";
    return is_uniform(a) && is_uniform(other) ? std::optional(chosen(a, other)) : std::nullopt;
  }

  /// The terms that both sums have, and a number for those that they do not.
  std::optional<Expr> match_sums(const Expr &a, const Expr &b) {
    if (same(a, b))
      return a;
    Linear of_a = linearize(a, {}), of_b = linearize(b, {}), common;
    std::erase_if(of_a.terms, [&](const Term &term) {
      auto other = std::ranges::find_if(of_b.terms, [&](const Term &x) {
        return x.coefficient == term.coefficient && x.digit.div == term.digit.div &&
               x.digit.mod == term.digit.mod && same(x.digit.base, term.digit.base);
      });
      if (other == of_b.terms.end())
        return false;
      common.terms.push_back(term);
      of_b.terms.erase(other);
      return true;
    });
    const Expr number = to_expr(of_a), other = to_expr(of_b);
    if (!is_uniform(number) || !is_uniform(other))
      return std::nullopt;
    if (same(number, other))
      return a;
    return common.terms.empty() ? chosen(number, other) : to_expr(common) + chosen(number, other);
  }

  /// `number` in the first nest and `other` in the second: conditions, or numbers.
  Expr chosen(const Expr &number, const Expr &other) {
    for (std::size_t n = 0; n < known_.numbers.size(); ++n)
      if (same(known_.numbers[n].first, number) && same(known_.numbers[n].second, other))
        return as<Declare>(known_.chosen[n])->var;
    const Var var = make_var(name_, number.dtype());
    known_.numbers.emplace_back(number, other);
    known_.chosen.push_back(make(Declare{var, select(nests_.is_first, number, other)}));
    return var;
  }

  bool match(const Buffer &a, const Buffer &b) {
    if (array(b) == a)
      return true;
    const bool taken = std::ranges::any_of(known_.arrays, [&](const auto &pair) { return pair.second == a; });
    if (a->scope != Scope::local || b->scope != Scope::local || taken || known_.arrays.contains(b) ||
        a->dtype != b->dtype || a->shape.size() != b->shape.size())
      return false;
    for (std::size_t d = 0; d < a->shape.size(); ++d)
      if (!same(a->shape[d], b->shape[d]))
        return false;
    known_.arrays[b] = a;
    return true;
  }

  bool match(const Var &a, const Var &b) {
    if (a->dtype != b->dtype || a->lanes != b->lanes)
      return false;
    known_.vars[b] = a;
    return true;
  }

  // Statements.

  std::optional<Stmt> match(const Stmt &a, const Stmt &b, Otherwise otherwise) {
    if (a->kind.index() != b->kind.index())
      return std::nullopt;
    return attempt([&] {
      return visit(a, Overloaded{
                          [&](const Declare &x) { return match(x, *as<Declare>(b), a->origin); },
                          [&](const Loop &x) { return match(x, *as<Loop>(b), a->origin); },
                          [&](const If &x) { return match(x, *as<If>(b), a->origin, otherwise); },
                          [&](const Seq &) { return std::optional<Stmt>(); }, // its statements are compared
                          [&](const Store &x) { return match(x, *as<Store>(b), a->origin); },
                          [&](const Call &) { return std::optional<Stmt>(); }, // nests with calls share no code
                          [&](const BulkCopy &x) { return match(x, *as<BulkCopy>(b), a->origin); },
                          [&](const Sync &x) { return match(x, *as<Sync>(b), a->origin); },
                      });
    });
  }

  std::optional<Stmt> match(const Declare &a, const Declare &b, const Origin &origin) {
    name_ = name_in_kernel(*a.var) + "_from";
    const auto value = match(a.value, b.value);
    return value && match(a.var, b.var) ? std::optional(make(Declare{a.var, *value}, origin)) : std::nullopt;
  }

  std::optional<Stmt> match(const Loop &a, const Loop &b, const Origin &origin) {
    const auto *serial = std::get_if<Serial>(&a.form), *other = std::get_if<Serial>(&b.form);
    const bool alike = serial && other ? serial->copies == other->copies
                                       : a.is<Unrolled>() && b.is<Unrolled>() && same(a.extent, b.extent);
    name_ = name_in_kernel(*a.var) + "_end";
    const auto extent = alike ? match(a.extent, b.extent) : std::nullopt;
    if (!extent || !match(a.var, b.var))
      return std::nullopt;
    auto body = match_all(stmts_of(a.body), stmts_of(b.body), Otherwise::refuse);
    return body ? std::optional(make(Loop{a.var, *extent, a.form, make_seq(*std::move(body))}, origin))
                : std::nullopt;
  }

  std::optional<Stmt> match(const If &a, const If &b, const Origin &origin, Otherwise otherwise) {
    const auto condition = a.purpose.kind == b.purpose.kind && a.purpose.iterations == b.purpose.iterations
                               ? match_conditions(a.condition, b.condition)
                               : std::nullopt;
    if (!condition || !a.otherwise != !b.otherwise)
      return std::nullopt;
    auto body = match_all(stmts_of(a.body), stmts_of(b.body), otherwise),
         other = a.otherwise ? match_all(stmts_of(a.otherwise), stmts_of(b.otherwise), otherwise)
                             : std::vector<Stmt>();
    if (!body || !other)
      return std::nullopt;
    return make(If{*condition, make_seq(*std::move(body)), a.otherwise ? make_seq(*std::move(other)) : nullptr,
                   a.purpose},
                origin);
  }

  std::optional<Stmt> match(const Store &a, const Store &b, const Origin &origin) {
    name_ = a.buffer->name + "_from";
    Store matched = a;
    if (a.lanes != b.lanes || a.async != b.async || a.atomic != b.atomic || !match(a.buffer, b.buffer) ||
        !match_all(matched.indices, b.indices))
      return std::nullopt;
    const auto value = match(a.value, b.value), count = match(a.count, b.count);
    if (!value || !count)
      return std::nullopt;
    matched.value = *value;
    matched.count = *count;
    return make(std::move(matched), origin);
  }

  bool match_all(std::vector<Expr> &a, const std::vector<Expr> &b) {
    if (a.size() != b.size())
      return false;
    for (std::size_t n = 0; n < a.size(); ++n) {
      const auto matched = match(a[n], b[n]);
      if (!matched)
        return false;
      a[n] = *matched;
    }
    return true;
  }

  std::optional<Stmt> match(const BulkCopy &a, const BulkCopy &b, const Origin &origin) {
    name_ = a.array->name + "_from";
    const bool same_box =
        a.map == b.map && a.array == b.array && match(a.tile, b.tile) &&
        a.fill.has_value() == b.fill.has_value() &&
        (!a.fill || (a.fill->channel == b.fill->channel && a.fill->to_cluster == b.fill->to_cluster));
    BulkCopy matched = a;
    if (!same_box || !match_all(matched.indices, b.indices) || !match_all(matched.start, b.start))
      return std::nullopt;
    if (a.fill) {
      const auto number = match(a.fill->number, b.fill->number);
      if (!number)
        return std::nullopt;
      matched.fill->number = *number;
    }
    return make(std::move(matched), origin);
  }

  /// Statements of one kind that synchronise the same threads. The certificate names the arrays and the loops
  /// of the first nest, whose code this is.
  std::optional<Stmt> match(const Sync &a, const Sync &b, const Origin &origin) {
    name_ = fmt::format("{}_number", a.name());
    Sync matched = a;
    const bool same_kind = visit(
        b, Overloaded{
               [&](const Barrier &x) {
                 auto *of = std::get_if<Barrier>(&matched.kind);
                 return of && of->scope == x.scope && of->role == x.role && alike(of->hazards, x.hazards);
               },
               [&](const Commit &x) {
                 auto *of = std::get_if<Commit>(&matched.kind);
                 return of && of->queue == x.queue && of->targets.size() == x.targets.size();
               },
               [&](const Wait &x) {
                 auto *of = std::get_if<Wait>(&matched.kind);
                 return of && of->queue == x.queue && of->pending == x.pending && match_all(of->sums, x.sums) &&
                        alike(of->hazards, x.hazards);
               },
               [&](const Begin &x) {
                 auto *of = std::get_if<Begin>(&matched.kind);
                 return of && alike(of->hazards, x.hazards);
               },
               [&](const Arrive &x) {
                 auto *of = std::get_if<Arrive>(&matched.kind);
                 return of && of->counters == x.counters && of->axis == x.axis && of->scope == x.scope &&
                        match(of->last, x.last);
               },
               [&](const Fence &x) {
                 auto *of = std::get_if<Fence>(&matched.kind);
                 return of && alike(of->hazards, x.hazards);
               },
               [&](const Await &x) {
                 auto *of = std::get_if<Await>(&matched.kind);
                 return of && of->channel == x.channel && of->event == x.event && alike(of->hazards, x.hazards);
               },
               [&](const Signal &x) {
                 auto *of = std::get_if<Signal>(&matched.kind);
                 return of && of->channel == x.channel && of->event == x.event && of->copies == x.copies &&
                        of->stores == x.stores && of->bulk_bytes == x.bulk_bytes &&
                        of->newer_groups == x.newer_groups && alike(of->hazards, x.hazards);
               },
               [&](const AwaitKernel &) { return false; }, // a later pass adds them
           });
    const std::vector<const Expr *> others = b.uses();
    std::vector<Expr *> operands = matched.uses();
    if (!same_kind || operands.size() != others.size())
      return std::nullopt;
    for (std::size_t n = 0; n < operands.size(); ++n) {
      const auto operand = match(*operands[n], *others[n]);
      if (!operand)
        return std::nullopt;
      *operands[n] = *operand;
    }
    return make(std::move(matched), origin);
  }

  bool match_all(const std::vector<Buffer> &a, const std::vector<Buffer> &b) {
    return std::ranges::equal(a, b, [&](const Buffer &x, const Buffer &y) { return match(x, y); });
  }

  static bool alike(const std::vector<Hazard> &a, const std::vector<Hazard> &b) {
    return std::ranges::equal(a, b, [](const Hazard &x, const Hazard &y) {
      return x.kind == y.kind && x.distance == y.distance && (x.tenant == nullptr) == (y.tenant == nullptr);
    });
  }

  using Stmts = std::span<const Stmt>; ///< of which a match takes the first ones away

  /// The statements that both have, in their order. A declaration that only one of them has does nothing in the
  /// other. What follows the first other difference is on two sides of a branch.
  std::optional<std::vector<Stmt>> match_all(const std::vector<Stmt> &first, const std::vector<Stmt> &second,
                                             Otherwise otherwise) {
    std::vector<Stmt> out;
    Stmts a = first, b = second;
    match_first(a, b, otherwise, out);
    while (otherwise == Otherwise::separate && !a.empty() && !b.empty() &&
           (match_versions(a, b, Nest::first, out) || match_versions(a, b, Nest::second, out)))
      match_first(a, b, otherwise, out);
    if (a.empty() && b.empty())
      return out;
    if (otherwise == Otherwise::refuse)
      return std::nullopt;
    add_sides(a, b, out);
    return out;
  }

  /// The statements up to the first difference.
  void match_first(Stmts &a, Stmts &b, Otherwise otherwise, std::vector<Stmt> &out) {
    auto take = [](Stmts &from) {
      const auto end = std::ranges::find_if_not(from, is_pure);
      const Stmts taken(from.begin(), end);
      from = Stmts(end, from.end());
      return taken;
    };
    while (true) {
      const Stmts of_a = take(a), of_b = take(b);
      match_declarations(of_a, of_b, out);
      const auto matched =
          a.empty() || b.empty() ? std::optional<Stmt>() : match(a.front(), b.front(), otherwise);
      if (!matched)
        return;
      out.push_back(*matched);
      a = a.subspan(1), b = b.subspan(1);
    }
  }

  enum class Nest : std::uint8_t { first, second };

  /// Only the nest `of` has code of its own for full tiles. The first nest shares the code of its other tiles,
  /// and the second one that of its full tiles, which the first has for all tiles.
  bool match_versions(Stmts &a, Stmts &b, Nest of, std::vector<Stmt> &out) {
    const bool of_first = of == Nest::first;
    const Stmt &branch = of_first ? a.front() : b.front();
    const If *tiles = versions(branch);
    if (!tiles || versions(of_first ? b.front() : a.front()))
      return false;
    return attempt([&] {
             const std::vector<Stmt> inside = stmts_of(of_first ? tiles->otherwise : tiles->body);
             const Stmts all = of_first ? b : a;
             std::vector<Stmt> shared;
             Stmts left = inside, others = all;
             match_first(of_first ? left : others, of_first ? others : left, Otherwise::refuse, shared);
             const Stmts matched = all.first(all.size() - others.size());
             if (matched.empty() || declares(matched))
               return std::optional<bool>();
             add_sides(of_first ? left : Stmts(), of_first ? Stmts() : left, shared);
             Stmt both = make_seq(std::move(shared));
             const Expr &first = nests_.is_first;
             out.push_back(make(of_first
                                    ? If{first && tiles->condition, tiles->body, both}
                                    : If{first || renamed(tiles->condition), both, renamed(tiles->otherwise)},
                                branch->origin));
             (of_first ? b : a) = others;
             (of_first ? a : b) = (of_first ? a : b).subspan(1);
             return std::optional(true);
           })
        .has_value();
  }

  /// A branch with code of its own for full tiles, or null.
  static const If *versions(const Stmt &stmt) {
    const auto *branch = as<If>(stmt);
    const bool two =
        branch && branch->otherwise &&
        (branch->purpose.kind == Purpose::Kind::full_tiles || branch->purpose.kind == Purpose::Kind::no_edge);
    return two ? branch : nullptr;
  }

  /// Whether a statement declares a variable, which statements after it may use.
  static bool declares(Stmts stmts) {
    return std::ranges::any_of(stmts, [](const Stmt &stmt) {
      const Sync *sync = as<Sync>(stmt);
      return as<Declare>(stmt) || (sync && sync->declares());
    });
  }

  /// One declaration for each pair with the same value or, failing that, with another number in each nest; and
  /// the other declarations.
  void match_declarations(std::span<const Stmt> first, std::span<const Stmt> second, std::vector<Stmt> &out) {
    std::vector<Stmt> left(second.begin(), second.end()), matches(first.size());
    for (const bool numbers_differ : {false, true})
      for (std::size_t n = 0; n < first.size(); ++n)
        for (auto other = left.begin(); !matches[n] && other != left.end(); ++other)
          if (auto matched = attempt([&] {
                const std::size_t before = known_.chosen.size();
                auto found = match(first[n], *other, Otherwise::refuse);
                return numbers_differ || known_.chosen.size() == before ? found : std::nullopt;
              })) {
            matches[n] = *matched;
            left.erase(other);
            break;
          }
    for (std::size_t n = 0; n < first.size(); ++n)
      out.push_back(matches[n] ? matches[n] : first[n]);
    for (const Stmt &stmt : left)
      out.push_back(renamed(stmt));
  }

  static bool is_pure(const Stmt &stmt) {
    const auto *declare = as<Declare>(stmt);
    return declare && (is_index(declare->value) ||
                       (declare->value.dtype() == DType::boolean && !declare->value.node().data));
  }

  /// Appends a branch between these statements of the first nest and those of the second.
  void add_sides(Stmts first, Stmts second, std::vector<Stmt> &out) const {
    std::vector<Stmt> others;
    for (const Stmt &stmt : second)
      others.push_back(renamed(stmt));
    const Purpose purpose{Purpose::Kind::first_nest};
    Stmt otherwise = others.empty() ? nullptr : make_seq(std::move(others));
    if (!first.empty())
      out.push_back(make(If{nests_.is_first, make_seq({first.begin(), first.end()}), otherwise, purpose}));
    else if (otherwise)
      out.push_back(make(If{logical_not(nests_.is_first), otherwise, nullptr, purpose}));
  }

  TwoNests &nests_;
  Known known_;
  std::string name_ = "number"; ///< for the next number that differs
  std::set<Var> uniform_;       ///< declared at the start, and the same in all threads of a block
};

} // namespace

Stmt with_shared_code(TwoNests &nests) { return CodeSharer(nests).run(); }

} // namespace nestsmith::kernel
