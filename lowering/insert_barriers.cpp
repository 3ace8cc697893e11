#include "dsl/expr/error.h"
#include "dsl/expr/simplify.h"
#include "lowering/hazards.h"
#include "lowering/uniform.h"
#include "lowering/unit.h"
#include "lowering/warp_buffers.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>

namespace nestsmith::kernel {

namespace {

/// A barrier of a code region that is reachable from one end of the region without passing another barrier.
struct Reached {
  Stmt barrier;
  /// The accesses on its other side, up to the next barrier or the other end of the region: after it in
  /// `Segment::front`, before it in `Segment::back`.
  Accesses beyond;
};

/// Summary of a rewritten region. `head` contains the accesses before the first barrier, and `tail` the
/// accesses after the last barrier. `front` contains each barrier that may be the first on a path, and `back`
/// each barrier that may be the last. Without barriers, `head` and `tail` contain all accesses.
struct Segment {
  Stmt stmt;
  Accesses head, tail;
  bool certain = false; ///< every path through the region has a barrier
  std::vector<Reached> front = {}, back = {};
};

Reached *find(std::vector<Reached> &list, const Stmt &barrier) {
  auto it = std::find_if(list.begin(), list.end(), [&](const Reached &r) { return r.barrier == barrier; });
  return it == list.end() ? nullptr : &*it;
}

class Inserter {
public:
  /// Inserts barriers of this scope for the hazards of the searched buffers. In a role, those of the block are
  /// barriers of the role. After each wait for asynchronous copies that is not in `lazy`, the pass inserts a
  /// barrier at once. So this barrier also orders the reads of the step before before the copies that follow
  /// the wait.
  Inserter(const Kernel &kernel, SyncScope scope, const SearchedBuffers &searched, const std::set<Stmt> &lazy)
      : uniform_(kernel), of_program_(kernel), between_{scope}, searched_(searched), lazy_(lazy) {
    for (const auto &[one, other] : searched.overlapping)
      tenants_.insert(one);
    for (const Allocation &allocation : kernel.shared) {
      arrays_.push_back(of_program_(allocation.buffer));
      if (searched.buffers.contains(allocation.buffer) || tenants_.contains(allocation.buffer))
        slots_[allocation.buffer] = allocation.slots;
    }
    walk(kernel.body, [&](const Stmt &stmt) {
      Buffer written = written_by(stmt);
      for (const OriginPart &part : written && stmt->origin ? *stmt->origin : std::vector<OriginPart>())
        if (std::holds_alternative<BlockId>(part))
          writers_[of_program_(written)].push_back(part);
    });
  }

  Stmt run(const Stmt &body) {
    Stmt all = rewrite(body).stmt;
    for (const auto &[barrier, wait] : after_waits_)
      if (certificates_[barrier].empty())
        needless.insert(wait);
    return needless.empty() ? with_certificates(all) : nullptr;
  }
  /// Waits whose barrier orders nothing, because other barriers follow. If there are any, `run` returns null.
  std::set<Stmt> needless;

private:
  Segment rewrite(const Stmt &stmt) {
    return visit(stmt,
                 Overloaded{
                     [&](const Declare &declare) {
                       uniform_.declare(declare);
                       return Segment{stmt, {}, {}};
                     },
                     [&](const Loop &loop) { return rewrite_loop(stmt, loop); },
                     [&](const If &branch) { return rewrite_branch(stmt, branch); },
                     [&](const Seq &seq) { return rewrite_seq(seq.stmts); },
                     [&](const Store &store) {
                       Accesses all = accesses_of(store);
                       return Segment{stmt, all, all};
                     },
                     [&](const Call &) -> Segment { internal_error("a call before the pass flatten"); },
                     [&](const BulkCopy &copy) {
                       Accesses reads; // of a store; a channel orders the others
                       if (copy.stores() && slots_.contains(copy.tile))
                         Accesses::add(reads.reads, access(copy.tile, copy.indices, copy.array));
                       return Segment{stmt, reads, reads};
                     },
                     [&](const Sync &sync) {
                       if (sync.orders())
                         return barrier(stmt);
                       if (sync.completes(Queue::stores))
                         return wait_for_stores(stmt, sync);
                       return sync.completes(Queue::copies) ? rewrite_wait(stmt, sync) : Segment{stmt, {}, {}};
                     },
                 });
  }

  static Segment barrier(const Stmt &stmt) { return {stmt, {}, {}, true, {{stmt, {}}}, {{stmt, {}}}}; }
  Segment new_barrier() const { return barrier(make(between_)); }

  Segment rewrite_wait(const Stmt &stmt, const Sync &wait) {
    Accesses landing;
    bool read_by_others = false;
    for (const Hazard &hazard : wait.hazards())
      for (const auto &[buffer, count] : slots_)
        if (of_program_(buffer) == hazard.buffer && hazard.kind != Hazard::Kind::end_after_write) {
          Accesses::add(landing.writes, {buffer, std::nullopt, nullptr, std::nullopt, true});
          read_by_others = read_by_others || searched_.buffers.contains(buffer);
        }
    Segment result{stmt, landing, landing};
    if (!read_by_others || lazy_.contains(stmt))
      return result;
    Segment at_once = new_barrier();
    after_waits_[at_once.stmt] = stmt;
    Stmt both = make_seq({stmt, at_once.stmt});
    join(result, at_once);
    result.stmt = std::move(both);
    return result;
  }

  /// Until the wait, the lane that has issued bulk stores reads their tiles.
  Segment wait_for_stores(const Stmt &stmt, const Sync &wait) const {
    Accesses reads;
    for (const Hazard &hazard : wait.hazards())
      for (const auto &[buffer, count] : slots_)
        if (of_program_(buffer) == hazard.buffer && hazard.kind == Hazard::Kind::write_after_read)
          Accesses::add(reads.reads, {buffer, std::nullopt, hazard.reader});
    return {stmt, reads, reads};
  }

  SharedAccess access(const Buffer &buffer, const std::vector<Expr> &indices, const Buffer &by) const {
    std::int64_t count = slots_.at(buffer);
    if (count == 1)
      return {buffer, std::nullopt, by};
    const Expr &slot = indices.front();
    if (auto at = as_int(slot))
      return {buffer, Slot{nullptr, *at, count}, by};
    const auto *modulo = slot.as<Binary>();
    if (!modulo || modulo->op != BinaryOp::floormod || as_int(modulo->b) != count)
      return {buffer, std::nullopt, by};
    auto iteration = as_shifted_var(modulo->a);
    if (!iteration)
      return {buffer, std::nullopt, by};
    return {buffer, Slot{iteration->var, iteration->shift, count}, by};
  }

  Accesses accesses_of(const Store &store) const {
    const Buffer &by = store.buffer;
    Accesses result;
    auto note_reads = [&](const Expr &e) {
      walk(e, [&](const Expr &node) {
        const auto *load = node.as<Load>();
        if (!load || !slots_.contains(load->buffer))
          return;
        // A sum reads the element that the same thread wrote, so it needs no barrier after this write.
        bool own = load->buffer == store.buffer && load->indices.size() == store.indices.size() &&
                   std::equal(load->indices.begin(), load->indices.end(), store.indices.begin(),
                              [](const Expr &a, const Expr &b) { return same(a, b); });
        SharedAccess read = access(load->buffer, load->indices, by);
        read.own = own;
        if (!own || tenants_.contains(load->buffer))
          Accesses::add(result.reads, read);
      });
    };
    for (const Expr &index : store.indices)
      note_reads(index);
    note_reads(store.value);
    if (slots_.contains(store.buffer))
      Accesses::add(result.writes, access(store.buffer, store.indices, by));
    return result;
  }

  /// Appends `second` to `first`, with a barrier between them if there is a hazard.
  void append(Segment &first, Segment second, std::vector<Stmt> &out) {
    if (!hazards_between(searched_, first.tail, second.head).empty()) {
      Segment between = new_barrier();
      out.push_back(between.stmt);
      join(first, between);
    }
    out.push_back(second.stmt);
    join(first, second);
  }

  /// Updates the summary of `first` to that of the sequence of both. Does not update its statement.
  void join(Segment &first, Segment &second) {
    for (const Reached &barrier : first.back)
      certify(barrier.barrier, barrier.beyond, second.head);
    for (const Reached &barrier : second.front)
      certify(barrier.barrier, first.tail, barrier.beyond);
    for (const Reached &barrier : first.back) // it is the only barrier on a path through `first`
      if (Reached *through = find(first.front, barrier.barrier))
        through->beyond.join(second.head);
    for (const Reached &barrier : second.front)
      if (Reached *through = find(second.back, barrier.barrier))
        through->beyond.join(first.tail);
    if (!first.certain) {
      first.head.join(second.head);
      first.front.insert(first.front.end(), second.front.begin(), second.front.end());
    }
    if (second.certain) {
      first.tail = {};
      first.back.clear();
    }
    first.tail.join(second.tail);
    first.back.insert(first.back.end(), second.back.begin(), second.back.end());
    first.certain = first.certain || second.certain;
  }

  Segment rewrite_seq(const std::vector<Stmt> &stmts) {
    Segment result;
    std::vector<Stmt> out;
    for (const Stmt &child : stmts)
      append(result, rewrite(child), out);
    result.stmt = make_seq(std::move(out));
    return result;
  }

  void enter_role(std::size_t role) {
    if (between_.scope != SyncScope::warp)
      between_ = {SyncScope::role, {}, role};
  }

  /// In this form of the kernel, a divergent guard directly encloses a store, so no barrier is inserted inside
  /// the guard. A barrier may be inserted inside a uniform guard.
  Segment rewrite_branch(const Stmt &stmt, const If &branch) {
    const Barrier outside = between_;
    const auto roles = roles_of_sides(branch);
    if (roles)
      enter_role(roles->body);
    Segment body = rewrite(branch.body);
    limit(body, branch.condition);
    bool changed = body.stmt != branch.body;
    internal_check(!changed || roles || uniform_.uniform(branch.condition),
                   "a barrier falls below a divergent guard");
    If copy = branch;
    copy.body = body.stmt;
    Segment other{nullptr, {}, {}};
    if (branch.otherwise) {
      if (roles && roles->otherwise)
        enter_role(*roles->otherwise);
      other = rewrite(branch.otherwise);
      changed = changed || other.stmt != branch.otherwise;
      copy.otherwise = other.stmt;
    }
    body.head.join(other.head);
    body.tail.join(other.tail);
    body.front.insert(body.front.end(), other.front.begin(), other.front.end());
    body.back.insert(body.back.end(), other.back.begin(), other.back.end());
    body.certain = body.certain && other.certain;
    between_ = outside;
    body.stmt = changed ? make(std::move(copy), stmt->origin) : stmt;
    return body;
  }

  /// The last iteration in which the condition holds, if the condition has the form `loop + c < n`.
  static std::optional<FirstIterations> until_of(const Expr &condition) {
    const auto *less = condition.as<Binary>();
    auto end = less && less->op == BinaryOp::lt ? as_int(less->b) : std::nullopt;
    if (!end)
      return std::nullopt;
    auto sum = as_shifted_var(less->a);
    return sum ? std::optional(FirstIterations{sum->var, *end - sum->shift - 1}) : std::nullopt;
  }

  /// Limits the accesses to the iterations in which the condition holds, as far as `until_of` knows them.
  static void limit(Segment &body, const Expr &condition) {
    const auto until = until_of(condition);
    if (!until)
      return;
    body.head = body.head.guarded(*until);
    body.tail = body.tail.guarded(*until);
    for (auto *list : {&body.front, &body.back})
      for (Reached &barrier : *list)
        barrier.beyond = barrier.beyond.guarded(*until);
  }

  /// The guard of the iterations of a loop that skips tiles, or null. The barrier at the end of an iteration is
  /// inside of it: an iteration that is skipped needs none.
  static const If *guard_of_tiles(const Stmt &body) {
    const auto *guard = as<If>(body);
    return guard && guard->purpose.kind == Purpose::Kind::with_terms && !guard->otherwise ? guard : nullptr;
  }

  /// The segment of a guard that may be false, with this body.
  Segment below_guard(const Stmt &stmt, const If &guard, Segment body) const {
    internal_check(body.stmt == guard.body || uniform_.uniform(guard.condition),
                   "a barrier falls below a divergent guard");
    If copy = guard;
    copy.body = body.stmt;
    body.stmt = make(std::move(copy), stmt->origin);
    body.certain = false;
    return body;
  }

  Segment rewrite_loop(const Stmt &stmt, const Loop &loop) {
    const If *tiles = guard_of_tiles(loop.body);
    Segment body = rewrite(tiles ? tiles->body : loop.body);
    if (tiles)
      limit(body, tiles->condition);
    // If each iteration has a barrier, only adjacent iterations can conflict. Otherwise, iterations can
    // conflict up to the distance at which the copies repeat.
    std::int64_t around = 1;
    for (const auto &[buffer, count] : slots_)
      around = std::lcm(around, count);
    if (auto extent = as_int(loop.extent))
      around = std::min(around, *extent - 1);
    bool hazard = false;
    std::int64_t farthest = body.certain && !tiles ? std::min<std::int64_t>(1, around) : around;
    for (std::int64_t distance = 1; distance <= farthest; ++distance)
      hazard = hazard ||
               !hazards_between(searched_, body.tail, body.head.later(loop.var, distance), {loop.var, distance})
                    .empty();
    if (hazard) {
      Segment last = new_barrier();
      Stmt both = make_seq({body.stmt, last.stmt});
      join(body, last);
      body.stmt = std::move(both);
    }
    if (tiles)
      body = below_guard(loop.body, *tiles, std::move(body));
    if (around > 0)
      certify_iterations(body, loop.var, around);
    return leave(stmt, loop, std::move(body));
  }

  /// Records the hazards between iterations.
  void certify_iterations(Segment &body, const Var &loop, std::int64_t around) {
    for (const Reached &barrier : body.back)
      certify(barrier.barrier, barrier.beyond, body.head.later(loop, 1), {loop, 1});
    for (const Reached &barrier : body.front)
      certify(barrier.barrier, body.tail, barrier.beyond.later(loop, 1), {loop, 1});
    for (Reached &barrier : body.front) {
      Reached *through = find(body.back, barrier.barrier);
      if (!through)
        continue;
      // This is the only barrier on a path through an iteration. Without it, several iterations would overlap.
      Accesses before = through->beyond, all = before;
      all.join(barrier.beyond);
      for (std::int64_t distance = 1; distance <= around; ++distance) {
        certify(barrier.barrier, all, all.later(loop, distance), {loop, distance});
        barrier.beyond.join(all.later(loop, distance));
        through->beyond.join(all.later(loop, -distance));
      }
    }
  }

  /// The summary of the loop for the code around it.
  static Segment leave(const Stmt &stmt, const Loop &loop, Segment body) {
    auto extent = as_int(loop.extent);
    auto iterations = range_of(loop.extent, {});
    bool runs = iterations && iterations->low > 0;
    std::optional<std::int64_t> first, last;
    if (body.certain && runs) {
      first = 0;
      if (extent)
        last = *extent - 1;
    }
    Loop copy = loop;
    copy.body = body.stmt;
    Segment result{make(std::move(copy), stmt->origin),
                   body.head.outside(loop.var, first),
                   body.tail.outside(loop.var, last),
                   body.certain && runs,
                   std::move(body.front),
                   std::move(body.back)};
    for (Reached &barrier : result.front)
      barrier.beyond = barrier.beyond.outside(loop.var, first);
    for (Reached &barrier : result.back)
      barrier.beyond = barrier.beyond.outside(loop.var, last);
    return result;
  }

  void certify(const Stmt &barrier, const Accesses &before, const Accesses &after,
               const Distance &distance = {}) {
    add_hazards(certificates_[barrier], hazards_between(searched_, before, after, distance));
  }

  Stmt with_certificates(const Stmt &stmt) const {
    if (const auto *barrier = as<Barrier>(stmt)) {
      std::vector<Hazard> hazards = barrier->hazards;
      if (auto it = certificates_.find(stmt); it != certificates_.end())
        for (const Hazard &hazard : it->second)
          add_hazards(hazards, {of_program_(hazard)});
      internal_check(!hazards.empty(), "a barrier without a hazard");
      if (!barrier->hazards.empty()) // of the block, with hazards of both kinds of buffers
        std::ranges::stable_sort(hazards, {}, [&](const Hazard &hazard) {
          return std::ranges::find(arrays_, hazard.buffer) - arrays_.begin();
        });
      return make(Barrier{barrier->scope, hazards, barrier->role}, blocks_of(hazards));
    }
    return map_children(stmt, [&](const Stmt &child) { return with_certificates(child); });
  }

  /// The blocks whose accesses the hazards order.
  Origin blocks_of(const std::vector<Hazard> &hazards) const {
    std::vector<OriginPart> blocks;
    for (const Hazard &hazard : hazards)
      for (const Buffer &buffer : {hazard.buffer, hazard.reader})
        if (auto it = writers_.find(buffer); it != writers_.end())
          blocks.insert(blocks.end(), it->second.begin(), it->second.end());
    return origin_of(std::move(blocks));
  }

  UniformValues uniform_;
  OfProgram of_program_;
  Barrier between_;                                   ///< of the code that is rewritten
  std::vector<Buffer> arrays_;                        ///< all shared buffers of the program, in order
  std::map<Buffer, std::vector<OriginPart>> writers_; ///< the blocks that write each buffer of the program
  const SearchedBuffers &searched_;
  std::set<Buffer> tenants_;             ///< share memory with others
  std::map<Buffer, std::int64_t> slots_; ///< of the buffers for which barriers are inserted
  std::map<Stmt, std::vector<Hazard>> certificates_;
  const std::set<Stmt> &lazy_;
  std::map<Stmt, Stmt> after_waits_; ///< for each barrier that was inserted at once: its wait
};

void insert(Kernel &kernel, SyncScope scope, const SearchedBuffers &searched) {
  std::set<Stmt> lazy;
  for (Stmt body; !body && !(searched.buffers.empty() && searched.overlapping.empty());) {
    Inserter inserter(kernel, scope, searched, lazy);
    body = inserter.run(kernel.body);
    lazy.merge(inserter.needless);
    if (body)
      kernel.body = body;
  }
}

/// The pairs of different shared buffers that have bytes in common, in both orders.
std::set<std::pair<Buffer, Buffer>> overlapping_buffers(const Kernel &kernel) {
  std::vector<std::optional<Tenancy>> tenancies = tenancies_of(kernel);
  std::set<std::pair<Buffer, Buffer>> pairs;
  for (std::size_t a = 0; a < tenancies.size(); ++a)
    for (std::size_t b = 0; b < tenancies.size(); ++b)
      if (a != b && share_memory(tenancies, a, b))
        pairs.emplace(kernel.shared[a].buffer, kernel.shared[b].buffer);
  return pairs;
}

} // namespace

/// The barriers of the block are first: they order the accesses of the warps, too. The parts of two buffers
/// that one warp accesses differ, so barriers of the block also separate buffers of warps that share memory.
void insert_barriers(Unit &unit) {
  if (unit.kernel().threads() == 1)
    return;
  SearchedBuffers of_warps{buffers_of_single_warps(unit.kernel()), {}};
  SearchedBuffers of_block{{}, overlapping_buffers(unit.kernel())};
  for (const Allocation &allocation : unit.kernel().shared)
    if (!of_warps.buffers.contains(allocation.buffer))
      of_block.buffers.insert(allocation.buffer);
  insert(unit.kernel(), SyncScope::block, of_block);
  insert(unit.kernel(), SyncScope::warp, of_warps);
}

} // namespace nestsmith::kernel
