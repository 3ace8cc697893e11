#pragma once
/// Seeds a bug: walks a kernel and changes one of the places where a kind of bug applies.

#include "lowering/plan.h"

#include <functional>
#include <string>
#include <vector>

namespace nestsmith::mutation {

/// Counts the places where a kind of bug applies, and selects one of them.
class Chooser {
public:
  explicit Chooser(int target = -1) : target_(target) {}
  /// Whether the next place is the selected one. `where` returns a description of the change.
  bool take(const std::function<std::string()> &where) {
    if (seen_++ != target_)
      return false;
    where_ = where();
    return true;
  }
  int seen() const { return seen_; }
  const std::string &where() const { return where_; }

private:
  int target_, seen_ = 0;
  std::string where_;
};

/// The role of an expression.
enum class SeedPlace : std::uint8_t { load_offset, store_offset, guard, mask, fill, extent, declared, value };
struct Spot {
  SeedPlace place;
  Buffer buffer; ///< the buffer of the offset, mask or fill; else null
  int lanes = 1; ///< lanes of the access
  bool root;     ///< whether the expression is the whole offset, mask, …, and not a part of it
};

/// Returns the changed forms of a node or a statement; empty if the kind of bug does not apply.
using ExprBug = std::function<std::vector<Expr>(const Expr &, const Spot &)>;
using StmtBug = std::function<std::vector<kernel::Stmt>(const kernel::Stmt &)>;
/// Returns the changed forms of a sequence at its statement `at`.
using SeqBug =
    std::function<std::vector<std::vector<kernel::Stmt>>(const std::vector<kernel::Stmt> &, std::size_t at)>;

void on_exprs(kernel::Kernel &kernel, Chooser &chooser, const ExprBug &bug);
void on_stmts(kernel::Kernel &kernel, Chooser &chooser, const StmtBug &bug);
void on_seqs(kernel::Kernel &kernel, Chooser &chooser, const SeqBug &bug);

/// Applies `f` to the offsets into `buffer`: of loads, of stores, or of both. Operands of calls count as loads.
enum class Side : std::uint8_t { loads, stores, both };
using OffsetRewrite = std::function<Expr(const Expr &)>;
kernel::Stmt rewrite_offsets(const kernel::Stmt &body, const Buffer &buffer, Side side, const OffsetRewrite &f);
/// Applies `f` to each node of an offset in post-order.
Expr rewrite_nodes(const Expr &e, const std::function<Expr(const Expr &)> &f);

kernel::Stmt nothing(); ///< a statement that does nothing
bool uses(const kernel::Stmt &stmt, const Var &var);
bool touches_shared(const kernel::Stmt &stmt);
std::string brief(const kernel::Stmt &stmt); ///< the first line of its text
/// Returns e + n in the type of e.
Expr plus(const Expr &e, std::int64_t n);

} // namespace nestsmith::mutation
