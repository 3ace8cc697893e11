#pragma once
/// Seeding a bug: a kernel is walked, and one of the places where a kind of bug fits is changed.

#include "lowering/plan.h"

#include <functional>
#include <string>
#include <vector>

namespace nestsmith::mutation {

/// Counts the places where a kind of bug fits, and picks one of them.
class Chooser {
public:
  explicit Chooser(int target = -1) : target_(target) {}
  /// Whether the next place is the one. `where` tells what is changed there.
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
enum class Place : std::uint8_t { load_offset, store_offset, guard, mask, fill, extent, declared, value };
struct Spot {
  Place place;
  Buffer buffer; ///< whose offset, mask or fill it is; else null
  int lanes = 1; ///< of that access
  bool root;     ///< the whole offset, mask, … and not a part of it
};

/// Each gives what the bug makes of a node or statement; nothing where the kind does not fit.
using ExprBug = std::function<std::vector<Expr>(const Expr &, const Spot &)>;
using StmtBug = std::function<std::vector<kernel::Stmt>(const kernel::Stmt &)>;
/// Of a sequence, about its statement `at`.
using SeqBug =
    std::function<std::vector<std::vector<kernel::Stmt>>(const std::vector<kernel::Stmt> &, std::size_t at)>;

void on_exprs(kernel::Kernel &kernel, Chooser &chooser, const ExprBug &bug);
void on_stmts(kernel::Kernel &kernel, Chooser &chooser, const StmtBug &bug);
void on_seqs(kernel::Kernel &kernel, Chooser &chooser, const SeqBug &bug);

/// `f` on every offset into a buffer that `applies` to: of its loads, of its stores, or of both. Operands of
/// calls count as loads.
enum class Side : std::uint8_t { loads, stores, both };
using OffsetRewrite = std::function<Expr(const Expr &)>;
kernel::Stmt rewrite_offsets(const kernel::Stmt &body, const Buffer &buffer, Side side, const OffsetRewrite &f);
/// One node of an offset after the other, from the leaves.
Expr rewrite_nodes(const Expr &e, const std::function<Expr(const Expr &)> &f);

kernel::Stmt nothing(); ///< a statement that does nothing
bool uses(const kernel::Stmt &stmt, const Var &var);
bool touches_shared(const kernel::Stmt &stmt);
std::string brief(const kernel::Stmt &stmt); ///< its first line
/// The constant one larger or smaller, of the same type.
Expr plus(const Expr &e, std::int64_t n);

} // namespace nestsmith::mutation
