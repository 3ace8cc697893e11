#include "lowering/unit.h"

#include <algorithm>
#include <map>
#include <set>

namespace nestsmith::kernel {

namespace {

/// A scope for declarations: the body of the kernel, of a loop, or of a role.
struct Level {
  std::set<Var> vars; ///< variables that become known in this scope
  std::vector<Stmt> declares;
  bool of_role = false; ///< nothing moves out of it: the warps of the other roles do not need the values
};

class Placer {
public:
  Stmt run(const Kernel &kernel) {
    levels_.emplace_back();
    for (const ThreadIndex &index : kernel.indices)
      levels_.back().vars.insert(index.var);
    Stmt body = close(rewrite(kernel.body));
    return body ? body : make(Seq{});
  }

private:
  /// Null if the statement contains only declarations that were moved or dropped.
  Stmt rewrite(const Stmt &stmt) {
    if (const auto *declare = as<Declare>(stmt))
      return place(*declare, stmt->origin);
    if (const auto *loop = as<Loop>(stmt)) {
      levels_.push_back({{loop->var}, {}});
      Loop copy = *loop;
      copy.body = close(rewrite(loop->body));
      return copy.body ? make(std::move(copy), stmt->origin) : nullptr;
    }
    if (const auto *seq = as<Seq>(stmt)) {
      std::vector<Stmt> stmts;
      for (const Stmt &child : seq->stmts)
        if (Stmt result = rewrite(child))
          stmts.push_back(result);
      return stmts.empty() ? nullptr : make_seq(std::move(stmts));
    }
    if (const auto *branch = as<If>(stmt); branch && branch->purpose.kind == Purpose::Kind::role) {
      auto side = [&](const Stmt &body) {
        levels_.push_back({{}, {}, true});
        return close(rewrite(body));
      };
      If copy = *branch;
      copy.condition = rename(branch->condition);
      copy.body = side(branch->body);
      copy.otherwise = side(branch->otherwise);
      return make(std::move(copy), stmt->origin);
    }
    Stmt renamed = map_exprs(stmt, [&](const Expr &e) { return rename(e); });
    return map_children(renamed, [&](const Stmt &child) { return rewrite(child); });
  }

  Expr rename(const Expr &e) const {
    return substitute(e, [&](const Var &var) {
      auto it = renamed_.find(var);
      return it == renamed_.end() ? Expr() : Expr(it->second);
    });
  }

  /// Moves the declaration to the outermost level in which all variables of its value are known. A value that
  /// reads memory stays in place, because the memory may change, and so does what is computed from it.
  Stmt place(const Declare &declare, const Origin &origin) {
    Expr value = rename(declare.value);
    if (reads_memory(value) || any_node(value, [&](const Expr &e) {
          const Var *var = e.as<Var>();
          return var && in_place_.contains(*var);
        })) {
      in_place_.insert(declare.var);
      return make(Declare{declare.var, value}, origin);
    }
    auto level = levels_.rbegin();
    while (
        std::next(level) != levels_.rend() && !level->of_role &&
        std::none_of(level->vars.begin(), level->vars.end(), [&](const Var &var) { return uses(value, var); }))
      ++level;
    for (const Stmt &stmt : level->declares)
      if (const Declare &earlier = *as<Declare>(stmt); same(earlier.value, value)) {
        renamed_[declare.var] = earlier.var;
        return nullptr;
      }
    level->declares.push_back(make(Declare{declare.var, value}, origin));
    level->vars.insert(declare.var);
    return nullptr;
  }

  /// Closes the innermost level: inserts its used declarations before its body. Drops all of them if there is
  /// no body.
  Stmt close(const Stmt &body) {
    if (!body || levels_.back().declares.empty()) {
      levels_.pop_back();
      return body;
    }
    std::set<Var> used;
    auto note = [&](const Expr &node) {
      if (const Var *var = node.as<Var>())
        used.insert(*var);
    };
    walk_exprs(body, note);
    std::vector<Stmt> stmts;
    auto &declares = levels_.back().declares;
    for (auto stmt = declares.rbegin(); stmt != declares.rend(); ++stmt)
      if (const Declare &declare = *as<Declare>(*stmt); used.count(declare.var)) {
        walk(declare.value, note);
        stmts.push_back(*stmt);
      }
    std::reverse(stmts.begin(), stmts.end());
    levels_.pop_back();
    stmts.push_back(body);
    return make_seq(std::move(stmts));
  }

  std::vector<Level> levels_;
  std::map<Var, Var> renamed_;
  std::set<Var> in_place_; ///< variables of declarations that stay in place
};

} // namespace

void place_declarations(Unit &unit) { unit.kernel().body = Placer().run(unit.kernel()); }

} // namespace nestsmith::kernel
