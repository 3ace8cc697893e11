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

/// Removes the reads from certificates that do not follow the wait, if a later wait is for the landing of the
/// tile itself, and waits without a certificate.
class Waits {
public:
  explicit Waits(const Kernel &kernel) : of_program_(kernel) {}

  Stmt without_needless(const Stmt &body) const {
    Later later;
    return rewrite(body, later);
  }

private:
  /// Buffers of the program that are read after a statement, and those whose copies must land after it.
  struct Later {
    std::set<Buffer> read, landed;
  };

  /// Null if nothing remains. Adds what the statement does to `later`.
  Stmt rewrite(const Stmt &stmt, Later &later) const {
    if (const auto *seq = as<Seq>(stmt))
      return rewrite_seq(stmt, *seq, later);
    if (const auto *wait = as<Wait>(stmt))
      return rewrite_wait(stmt, *wait, later);
    Later after = later;
    add_reads(stmt, later.read);
    if (as<Loop>(stmt)) // its next iteration follows
      after.read = later.read;
    return map_children(stmt, [&](const Stmt &child) {
      Later of_side = after;
      return rewrite(child, of_side);
    });
  }

  Stmt rewrite_seq(const Stmt &stmt, const Seq &seq, Later &later) const {
    std::vector<Stmt> stmts;
    bool changed = false;
    for (auto child = seq.stmts.rbegin(); child != seq.stmts.rend(); ++child) {
      Stmt left = rewrite(*child, later);
      changed = changed || left != *child;
      if (left)
        stmts.push_back(std::move(left));
    }
    std::ranges::reverse(stmts);
    return !changed ? stmt : stmts.empty() ? nullptr : make_seq(std::move(stmts));
  }

  static Stmt rewrite_wait(const Stmt &stmt, const Wait &wait, Later &later) {
    if (wait.queue != Queue::copies)
      return stmt;
    Wait copy = wait;
    std::erase_if(copy.hazards, [&](const Hazard &hazard) {
      return hazard.kind == Hazard::Kind::read_after_write && !later.read.contains(hazard.buffer) &&
             later.landed.contains(hazard.buffer);
    });
    for (const Hazard &hazard : wait.hazards)
      if (hazard.kind == Hazard::Kind::end_after_write)
        later.landed.insert(hazard.buffer);
    if (copy.hazards.size() == wait.hazards.size())
      return stmt;
    return copy.hazards.empty() ? nullptr : make(std::move(copy), stmt->origin);
  }

  void add_reads(const Stmt &stmt, std::set<Buffer> &reads) const {
    walk_exprs(stmt, [&](const Expr &e) {
      if (const auto *access = e.as<Load>())
        reads.insert(of_program_(access->buffer));
    });
    walk(stmt, [&](const Stmt &child) {
      if (const auto *copy = as<BulkCopy>(child); copy && copy->stores())
        reads.insert(of_program_(copy->tile));
    });
  }

  OfProgram of_program_;
};

} // namespace

Stmt without_needless_parts(const Kernel &kernel) {
  return Waits(kernel).without_needless(without_optional_guards(kernel.body));
}

} // namespace nestsmith::kernel
