#include "lowering/parts_of_pipelines.h"

#include "lowering/hazards.h"

#include <algorithm>
#include <set>

namespace nestsmith::kernel {

namespace {

Stmt without_optional_guards(const Stmt &stmt) {
  const auto *guard = as<If>(stmt);
  return guard && guard->purpose.kind == Purpose::Kind::past ? without_optional_guards(guard->body)
                                                             : map_children(stmt, without_optional_guards);
}

/// Removes waits after which nothing reads the tiles.
class Waits {
public:
  explicit Waits(const Kernel &kernel) : of_program_(kernel) {}

  Stmt without_needless(const Stmt &body) const {
    Buffers read_later;
    return rewrite(body, read_later);
  }

private:
  using Buffers = std::set<Buffer>; ///< of the program

  /// Null if nothing remains. Adds what the statement reads to `read_later`: the buffers that are read after
  /// it.
  Stmt rewrite(const Stmt &stmt, Buffers &read_later) const {
    if (const auto *seq = as<Seq>(stmt)) {
      std::vector<Stmt> stmts;
      for (auto child = seq->stmts.rbegin(); child != seq->stmts.rend(); ++child)
        if (Stmt left = rewrite(*child, read_later))
          stmts.insert(stmts.begin(), std::move(left));
      return stmts.empty() ? nullptr : make_seq(std::move(stmts));
    }
    if (const auto *wait = as<Wait>(stmt))
      return is_needless(*wait, read_later) ? nullptr : stmt;
    Buffers after = read_later;
    add_reads(stmt, read_later);
    if (as<Loop>(stmt)) // its next iteration follows
      after = read_later;
    return map_children(stmt, [&](const Stmt &child) {
      Buffers of_side = after;
      return rewrite(child, of_side);
    });
  }

  void add_reads(const Stmt &stmt, Buffers &reads) const {
    walk_exprs(stmt, [&](const Expr &e) {
      if (const auto *access = e.as<Load>())
        reads.insert(of_program_(access->buffer));
    });
    walk(stmt, [&](const Stmt &child) {
      if (const auto *copy = as<BulkCopy>(child); copy && copy->stores())
        reads.insert(of_program_(copy->tile));
    });
  }

  static bool is_needless(const Wait &wait, const Buffers &read_later) {
    return wait.queue == Queue::copies && !wait.hazards.empty() &&
           std::ranges::all_of(wait.hazards, [&](const Hazard &hazard) {
             return hazard.kind == Hazard::Kind::read_after_write && !read_later.contains(hazard.buffer);
           });
  }

  OfProgram of_program_;
};

} // namespace

Stmt without_needless_parts(const Kernel &kernel) {
  return Waits(kernel).without_needless(without_optional_guards(kernel.body));
}

} // namespace nestsmith::kernel
