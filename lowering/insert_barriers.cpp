#include "dsl/error.h"
#include "dsl/simplify.h"
#include "lowering/uniform.h"
#include "lowering/unit.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <numeric>
#include <optional>
#include <set>

namespace nestsmith::kernel {

namespace {

/// Which copy of a buffer: number (loop + at) % count, or the constant `at` where `loop` is null.
struct Slot {
  Var loop;
  std::int64_t at, count;
  bool operator==(const Slot &) const = default;
};

/// A shared buffer, or the copy of it that is known.
struct Access {
  Buffer buffer;
  std::optional<Slot> slot;
  bool operator==(const Access &) const = default;
};

/// Whether two accesses may be of one copy, the second made `distance` iterations of `loop` later.
/// [rule.slots.meet] (b + d - a)//c = (i + d + b)//c - (i + a)//c, (b + d - a) % c = 0
///     where c > 0, (i + a) % c = (i + d + b) % c
bool meet(const Access &first, const Access &second, const Var &loop, std::int64_t distance) {
  if (first.buffer != second.buffer)
    return false;
  if (!first.slot || !second.slot || first.slot->loop != second.slot->loop)
    return true;
  std::int64_t later = loop && second.slot->loop == loop ? distance : 0;
  return (second.slot->at + later - first.slot->at) % first.slot->count == 0;
}

/// What a stretch of code without a barrier touches.
struct Accesses {
  std::vector<Access> reads, writes;

  static void add(std::vector<Access> &list, const Access &access) {
    if (std::find(list.begin(), list.end(), access) == list.end())
      list.push_back(access);
  }
  void join(const Accesses &other) {
    for (const Access &access : other.reads)
      add(reads, access);
    for (const Access &access : other.writes)
      add(writes, access);
  }
  /// Seen from outside of the loop: in its iteration `at`, or in any where that is none.
  Accesses outside(const Var &loop, std::optional<std::int64_t> at) const {
    auto leave = [&](Access access) {
      if (access.slot && access.slot->loop == loop) {
        if (at)
          access.slot = Slot{nullptr, (access.slot->at + *at) % access.slot->count, access.slot->count};
        else
          access.slot.reset();
      }
      return access;
    };
    Accesses result;
    for (const Access &access : reads)
      add(result.reads, leave(access));
    for (const Access &access : writes)
      add(result.writes, leave(access));
    return result;
  }
};

/// What must be separated: buffers written before and read after (read_after_write), or read before and
/// written after (overwrite).
struct Hazard {
  std::set<std::string> read_after_write, overwrite;
  explicit operator bool() const { return !read_after_write.empty() || !overwrite.empty(); }
  void join(const Hazard &other) {
    read_after_write.insert(other.read_after_write.begin(), other.read_after_write.end());
    overwrite.insert(other.overwrite.begin(), other.overwrite.end());
  }
};

Hazard between(const Accesses &before, const Accesses &after, const Var &loop = nullptr,
               std::int64_t distance = 0) {
  Hazard hazard;
  auto compare = [&](const std::vector<Access> &earlier, const std::vector<Access> &later, auto &names) {
    for (const Access &a : earlier)
      for (const Access &b : later)
        if (meet(a, b, loop, distance))
          names.insert(a.buffer->name);
  };
  compare(before.writes, after.reads, hazard.read_after_write);
  compare(before.reads, after.writes, hazard.overwrite);
  return hazard;
}

/// What a rewritten stretch looks like from outside: what it touches before its first and after its last
/// barrier. Without a barrier both are all of it.
struct Segment {
  Stmt stmt;
  Accesses head, tail;
  bool certain = false; ///< every way through it has a barrier
};

Stmt barrier(const Hazard &hazard, const std::string &loop) {
  if (!loop.empty() && hazard.read_after_write == hazard.overwrite)
    return make(Barrier{SyncScope::block,
                        fmt::format("{}: the next {} reads what is written above and overwrites what is read",
                                    fmt::join(hazard.overwrite, ", "), loop)});
  std::string note;
  if (!hazard.read_after_write.empty())
    note = fmt::format("{}: written above, read {}", fmt::join(hazard.read_after_write, ", "),
                       loop.empty() ? "below" : "by the next " + loop);
  if (!hazard.overwrite.empty())
    note += fmt::format("{}{}: read above, overwritten {}", note.empty() ? "" : "; ",
                        fmt::join(hazard.overwrite, ", "), loop.empty() ? "below" : "by the next " + loop);
  return make(Barrier{SyncScope::block, note});
}

class Inserter {
public:
  explicit Inserter(const Kernel &kernel) : uniform_(kernel) {
    for (const Allocation &allocation : kernel.shared)
      slots_[allocation.buffer] = allocation.slots;
  }

  Segment rewrite(const Stmt &stmt) {
    return visit(stmt, Overloaded{
                           [&](const Declare &declare) {
                             uniform_.declare(declare);
                             return Segment{stmt, {}, {}};
                           },
                           [&](const Loop &loop) { return rewrite_loop(loop); },
                           [&](const If &branch) { return rewrite_branch(stmt, branch); },
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

private:
  Access access(const Buffer &buffer, const std::vector<Expr> &indices) const {
    std::int64_t count = slots_.at(buffer);
    if (count == 1)
      return {buffer, std::nullopt};
    const Expr &slot = indices.front();
    if (auto at = as_int(slot))
      return {buffer, Slot{nullptr, *at, count}};
    const auto *modulo = slot.as<Binary>();
    if (!modulo || modulo->op != BinaryOp::floormod || as_int(modulo->b) != count)
      return {buffer, std::nullopt};
    Linear iteration = linearize(modulo->a, {});
    const Var *loop = iteration.terms.size() == 1 ? iteration.terms[0].digit.base.as<Var>() : nullptr;
    bool plain = loop && iteration.terms[0].coefficient == 1 && iteration.terms[0].digit.div == 1 &&
                 iteration.terms[0].digit.mod == 0;
    if (!plain)
      return {buffer, std::nullopt};
    return {buffer, Slot{*loop, iteration.constant, count}};
  }

  /// Two writes of one copy need no barrier: the blocks that write it run one after the other over the
  /// same elements in the same threads (an init and its update), or each element once.
  Accesses accesses_of(const Store &store) const {
    Accesses result;
    auto note_reads = [&](const Expr &e) {
      walk(e, [&](const Expr &node) {
        const auto *load = node.as<Load>();
        if (!load || load->buffer->scope != Scope::shared)
          return;
        // A sum reads back the element that the same thread wrote.
        bool own = load->buffer == store.buffer && load->indices.size() == store.indices.size() &&
                   std::equal(load->indices.begin(), load->indices.end(), store.indices.begin(),
                              [](const Expr &a, const Expr &b) { return same(a, b); });
        if (!own)
          Accesses::add(result.reads, access(load->buffer, load->indices));
      });
    };
    for (const Expr &index : store.indices)
      note_reads(index);
    note_reads(store.value);
    if (store.buffer->scope == Scope::shared)
      Accesses::add(result.writes, access(store.buffer, store.indices));
    return result;
  }

  Segment rewrite_seq(const std::vector<Stmt> &stmts) {
    Segment result;
    std::vector<Stmt> out;
    for (const Stmt &child : stmts) {
      Segment part = rewrite(child);
      if (Hazard hazard = between(result.tail, part.head)) {
        out.push_back(barrier(hazard, ""));
        result.certain = true;
        result.tail = {};
      }
      if (!result.certain)
        result.head.join(part.head);
      if (part.certain)
        result.tail = {};
      result.tail.join(part.tail);
      result.certain = result.certain || part.certain;
      out.push_back(part.stmt);
    }
    result.stmt = make_seq(std::move(out));
    return result;
  }

  /// Guards stand right around a store at this stage, but for those that all threads decide alike: into
  /// these a barrier may fall, which is then passed or not.
  Segment rewrite_branch(const Stmt &stmt, const If &branch) {
    Segment body = rewrite(branch.body);
    bool changed = body.stmt != branch.body;
    internal_check(!changed || uniform_.uniform(branch.condition), "a barrier falls below a divergent guard");
    If copy = branch;
    copy.body = body.stmt;
    Segment other{nullptr, {}, {}};
    if (branch.otherwise) {
      other = rewrite(branch.otherwise);
      changed = changed || other.stmt != branch.otherwise;
      copy.otherwise = other.stmt;
    }
    body.head.join(other.head);
    body.tail.join(other.tail);
    return {changed ? make(std::move(copy)) : stmt, body.head, body.tail, body.certain && other.certain};
  }

  Segment rewrite_loop(const Loop &loop) {
    Segment body = rewrite(loop.body);
    // A barrier in each iteration separates all but neighbours; without one, as many iterations meet as there
    // are before the copies come round again.
    std::int64_t around = 1;
    if (!body.certain)
      for (const auto &[buffer, count] : slots_)
        around = std::lcm(around, count);
    Hazard hazard;
    for (std::int64_t distance = 1; distance <= around; ++distance)
      hazard.join(between(body.tail, body.head, loop.var, distance));
    if (hazard) {
      body.stmt = make_seq({body.stmt, barrier(hazard, loop.var->name)});
      body.tail = {};
      body.certain = true;
    }
    auto extent = as_int(loop.extent);
    auto iterations = range_of(loop.extent, {});
    bool runs = iterations && iterations->low > 0;
    std::optional<std::int64_t> first, last;
    if (body.certain && runs) {
      first = 0;
      if (extent)
        last = *extent - 1;
    }
    Segment result{nullptr, body.head.outside(loop.var, first), body.tail.outside(loop.var, last),
                   body.certain && runs};
    Loop copy = loop;
    copy.body = body.stmt;
    result.stmt = make(std::move(copy));
    return result;
  }

  UniformValues uniform_;
  std::map<Buffer, std::int64_t> slots_;
};

} // namespace

void insert_barriers(Unit &unit) {
  if (unit.kernel.threads() > 1)
    unit.kernel.body = Inserter(unit.kernel).rewrite(unit.kernel.body).stmt;
}

} // namespace nestsmith::kernel
