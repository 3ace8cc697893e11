#include "lowering/unit.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <set>

namespace nestsmith::kernel {

namespace {

/// Shared buffers that a stretch of code without a barrier touches.
struct Accesses {
  std::set<Buffer> reads, writes;
  void join(const Accesses &other) {
    reads.insert(other.reads.begin(), other.reads.end());
    writes.insert(other.writes.begin(), other.writes.end());
  }
};

/// What must be separated: buffers written before and read after (read_after_write), or read or written
/// before and written after (overwrite).
struct Hazard {
  std::set<std::string> read_after_write, overwrite;
  explicit operator bool() const { return !read_after_write.empty() || !overwrite.empty(); }
};

Hazard between(const Accesses &before, const Accesses &after) {
  Hazard hazard;
  for (const Buffer &buffer : after.reads)
    if (before.writes.count(buffer))
      hazard.read_after_write.insert(buffer->name);
  for (const Buffer &buffer : after.writes)
    if (before.reads.count(buffer))
      hazard.overwrite.insert(buffer->name);
  return hazard;
}

/// What a rewritten stretch looks like from outside: what it touches before its first and after its last
/// barrier. Without a barrier both are all of it.
struct Segment {
  Stmt stmt;
  Accesses head, tail;
  bool has_barrier = false;
};

/// Two writes of one buffer need no barrier: the blocks that write it run one after the other over the
/// same elements in the same threads (an init and its update), or each element once.
Accesses accesses_of(const Store &store) {
  Accesses result;
  auto note_reads = [&](const Expr &e) {
    walk(e, [&](const Expr &node) {
      const auto *access = node.as<Load>();
      if (!access || access->buffer->scope != Scope::shared)
        return;
      // A sum reads back the element that the same thread wrote.
      bool own = access->buffer == store.buffer && access->indices.size() == store.indices.size() &&
                 std::equal(access->indices.begin(), access->indices.end(), store.indices.begin(),
                            [](const Expr &a, const Expr &b) { return same(a, b); });
      if (!own)
        result.reads.insert(access->buffer);
    });
  };
  for (const Expr &index : store.indices)
    note_reads(index);
  note_reads(store.value);
  if (store.buffer->scope == Scope::shared)
    result.writes.insert(store.buffer);
  return result;
}

Stmt barrier(const Hazard &hazard, const std::string &loop) {
  std::string note;
  if (!hazard.read_after_write.empty())
    note = fmt::format("{}: written above, read {}", fmt::join(hazard.read_after_write, ", "),
                       loop.empty() ? "below" : "by the next " + loop);
  if (!hazard.overwrite.empty())
    note += fmt::format("{}{}: read above, overwritten {}", note.empty() ? "" : "; ",
                        fmt::join(hazard.overwrite, ", "), loop.empty() ? "below" : "by the next " + loop);
  return make(Barrier{SyncScope::block, note});
}

Segment rewrite(const Stmt &stmt);

Segment rewrite_seq(const std::vector<Stmt> &stmts) {
  Segment result;
  std::vector<Stmt> out;
  Accesses pending;
  for (const Stmt &child : stmts) {
    Segment part = rewrite(child);
    if (Hazard hazard = between(pending, part.head)) {
      out.push_back(barrier(hazard, ""));
      if (!result.has_barrier)
        result.head = pending;
      result.has_barrier = true;
      pending = {};
    }
    if (part.has_barrier) {
      if (!result.has_barrier) {
        result.head = pending;
        result.head.join(part.head);
      }
      result.has_barrier = true;
      pending = part.tail;
    } else {
      pending.join(part.head);
    }
    out.push_back(part.stmt);
  }
  if (!result.has_barrier)
    result.head = pending;
  result.tail = pending;
  result.stmt = make_seq(std::move(out));
  return result;
}

Segment rewrite_loop(const Loop &loop) {
  Segment body = rewrite(loop.body);
  if (Hazard hazard = between(body.tail, body.head)) {
    body.stmt = make_seq({body.stmt, barrier(hazard, loop.var->name)});
    body.tail = {};
    body.has_barrier = true;
  }
  Loop copy = loop;
  copy.body = body.stmt;
  body.stmt = make(std::move(copy));
  return body;
}

Segment rewrite(const Stmt &stmt) {
  return visit(stmt, Overloaded{
                         [&](const Declare &) {
                           return Segment{stmt, {}, {}};
                         },
                         [&](const Loop &loop) { return rewrite_loop(loop); },
                         [&](const If &branch) {
                           // Guards stand right around a store at this stage: no barrier can fall inside.
                           Segment body = rewrite(branch.body);
                           body.stmt = stmt;
                           return body;
                         },
                         [&](const Seq &seq) { return rewrite_seq(seq.stmts); },
                         [&](const Store &store) {
                           Accesses all = accesses_of(store);
                           return Segment{stmt, all, all};
                         },
                         [&](const Barrier &) {
                           return Segment{stmt, {}, {}, true};
                         },
                     });
}

} // namespace

void insert_barriers(Unit &unit) {
  if (unit.kernel.threads() > 1)
    unit.kernel.body = rewrite(unit.kernel.body).stmt;
}

} // namespace nestsmith::kernel
