/// Walks the roles of a kernel and counts the events of one channel.

#include "tests/proofs/channels.h"

#include "dsl/hardware/bulk_copy.h"
#include "dsl/hardware/intrinsics.h"
#include "dsl/ir/printer.h"
#include "lowering/hazards.h"
#include "tests/proofs/counts.h"

#include <algorithm>
#include <fmt/format.h>
#include <set>
#include <utility>

namespace nestsmith::proofs {

namespace {

/// The things that are counted. Those from `elements` on are the elements that boxes bring to each tile of the
/// channel.
enum Counted : std::size_t { awaits_free, fills, awaits_filled, frees, bytes, elements };

/// PTX ISA, "mbarrier": the limits of the pending arrivals and of the announced bytes of a phase.
constexpr std::int64_t most_of_phase = (1 << 20) - 1;

class ChannelProof {
  using Allocation = kernel::Allocation;
  using BulkCopy = kernel::BulkCopy;
  using Event = kernel::Event;
  using Loop = kernel::Loop;
  using Stmt = kernel::Stmt;

public:
  ChannelProof(const kernel::Kernel &kernel, std::size_t channel)
      : kernel_(kernel), number_(channel), channel_(kernel.channels[channel]), translator_(prover_),
        counter_(translator_, [this](const Stmt &stmt) { return unit(stmt); }) {
    const kernel::OfProgram of_program(kernel);
    for (const Allocation &allocation : kernel.shared)
      if (std::ranges::find(channel_.tiles, of_program(allocation.buffer)) != channel_.tiles.end())
        tiles_.push_back({allocation.buffer, &allocation});
  }

  Proof run() {
    for (const kernel::SizeParameter &size : kernel_.sizes)
      translator_.set(size.var, translator_.define(size.size));
    for (const kernel::Assumption &assumption : kernel_.assumptions)
      prover_.assume(translator_.condition(assumption.holds));
    for (const kernel::ThreadIndex &index : kernel_.indices) {
      Poly value = translator_.define(index.var, index.range());
      prover_.assume(all({at_least_0(value), less(value, translator_.integer(index.extent))}));
      const bool in_cluster = whole_of(index.axis) == Axis::block_z && kernel_.cluster > 1;
      if (is_thread(index.axis) || in_cluster)
        varying_.insert(index.var);
      if (index.axis == Axis::thread_x)
        thread_ = value;
      if (in_cluster)
        rank_ = index.var;
    }
    check_parts();
    check(kernel_.body);
    return std::move(result_);
  }

private:
  struct Tile {
    Buffer buffer;
    const Allocation *allocation;

    std::int64_t elements() const { // without the padding between slots
      std::int64_t product = 1;
      for (std::int64_t extent : allocation->tile)
        product *= extent;
      return product / allocation->slots;
    }
    std::int64_t stride() const { return as_int(buffer->shape.front()).value() / allocation->slots; }
  };
  /// A box of the current fill.
  struct Box {
    const BulkCopy *copy;
    std::vector<const Loop *> loops; ///< around it
    std::size_t tile;
    Expr first; ///< its first element, without declared variables
  };

  std::optional<std::size_t> tile_of(const Buffer &buffer) const {
    auto it = std::ranges::find(tiles_, buffer, &Tile::buffer);
    return it == tiles_.end() ? std::nullopt : std::optional(static_cast<std::size_t>(it - tiles_.begin()));
  }
  /// The box of a fill of this channel; null for other statements.
  const BulkCopy *box_in(const Stmt &stmt) const {
    const auto *copy = kernel::as<BulkCopy>(stmt);
    return copy && copy->fill && copy->fill->channel == number_ ? copy : nullptr;
  }
  std::int64_t copies_of(const BulkCopy &copy) const { return copy.fill->to_cluster ? channel_.blocks : 1; }

  std::map<std::size_t, std::int64_t> unit(const Stmt &stmt) const {
    if (const auto *await = kernel::as<kernel::Await>(stmt); await && await->channel == number_)
      return {{await->event == Event::freed ? awaits_free : awaits_filled, 1}};
    if (const auto *signal = kernel::as<kernel::Signal>(stmt); signal && signal->channel == number_)
      return {{signal->event == Event::freed ? frees : fills, 1}};
    const BulkCopy *copy = box_in(stmt);
    if (!copy)
      return {};
    // Each block of a cluster copies its part to all, so the copies of one stand for those of all to one.
    const kernel::TensorMap &map = kernel_.maps[copy->map];
    std::map<std::size_t, std::int64_t> found = {{bytes, map.bytes() * copies_of(*copy)}};
    if (auto tile = tile_of(copy->tile))
      found[elements + *tile] = map.elements() * copies_of(*copy);
    return found;
  }

  // ---- claims

  void ask(Claim kind, const std::string &where, const std::vector<Formula> &formulas) {
    std::vector<Proof::Question> questions;
    for (const Formula &formula : formulas)
      questions.push_back({formula, fmt::format("{}: {} in `{}`", kernel_.name, proofs::name(kind), where)});
    result_.ask(prover_, kind, questions);
  }
  /// Reports an event that no warp executes: every claim about it could be proved.
  void ask_event(Claim kind, const std::string &where, const std::vector<Formula> &formulas) {
    if (prover_.contradictory())
      result_.unreached.push_back(fmt::format("{}: no warp executes `{}`", kernel_.name, where));
    ask(kind, where, formulas);
  }
  Poly count(std::size_t what) { return counter_.value(before_, what); }
  std::string text(const char *what, Event event, const Expr &number) const {
    return fmt::format("{} {} {} of channel {}", what, kernel::name(event), nestsmith::to_string(number),
                       number_);
  }

  /// The parts of the kernel that do not depend on statements.
  void check_parts() {
    std::int64_t warps = 0;
    bool in_order = true;
    for (const kernel::RoleOfWarps &role : kernel_.roles) {
      in_order = in_order && role.first_warp == warps;
      warps += role.warps;
    }
    std::vector<Formula> parts = {truth(in_order && warps * lanes_per_warp == kernel_.threads()),
                                  truth(channel_.role > 0 && channel_.role < kernel_.roles.size()),
                                  truth(channel_.blocks == 1 || channel_.blocks == kernel_.cluster),
                                  truth(!tiles_.empty() && tiles_.size() == channel_.tiles.size()),
                                  truth(counter_.counts(kernel_.body))};
    for (const Tile &tile : tiles_)
      parts.push_back(truth(tile.allocation->slots == channel_.slots));
    ask(Claim::slots, fmt::format("channel {}", number_), parts);
    ask(Claim::arena, fmt::format("channel {}", number_), {truth(has_own_memory())});
  }
  /// Whether the mbarriers share no memory with arrays, or with those of other channels.
  bool has_own_memory() const {
    const std::int64_t begin = channel_.byte_offset, end = begin + channel_.bytes();
    auto apart = [&](std::int64_t other, std::int64_t size) { return other + size <= begin || end <= other; };
    return begin % 8 == 0 && end <= kernel_.shared_bytes &&
           std::ranges::all_of(kernel_.shared,
                               [&](const Allocation &allocation) {
                                 const BufferNode &array = *allocation.buffer;
                                 return apart(allocation.byte_offset,
                                              as_int(array.shape.front()).value() * byte_size(array.dtype));
                               }) &&
           std::ranges::all_of(kernel_.channels, [&](const kernel::Channel &other) {
             return &other == &channel_ || apart(other.byte_offset, other.bytes());
           });
  }

  /// The number is the count of the events before this one, in the role that has the event.
  std::vector<Formula> counted(const Expr &number, std::size_t what, std::size_t role) {
    const Poly n = translator_.integer(number);
    const Poly most((Integer(1) << 32) - 1); // the text passes numbers as unsigned int
    return {equal(n, count(what)), at_least_0(n), less_equal(n, most), truth(role == role_),
            truth(is_uniform(number))};
  }

  void check_event(const kernel::Await &await) {
    const bool fills_next = await.event == Event::freed;
    std::vector<Formula> right =
        counted(await.number, fills_next ? awaits_free : awaits_filled, fills_next ? channel_.role : 0);
    const Poly n = translator_.integer(await.number);
    if (fills_next) // all earlier fills have been signalled, and so the readers need not wait for them
      right.push_back(equal(n, count(fills)));
    else if (reused_) // the readers have freed the slot that this fill needs
      right.push_back(less(n, count(frees) + Poly(channel_.slots)));
    ask_event(Claim::slots, text("await", await.event, await.number), right);
  }

  void check_event(const kernel::Signal &signal) {
    const std::string where = text("signal", signal.event, signal.number);
    const Poly n = translator_.integer(signal.number);
    if (signal.event == Event::freed) {
      std::vector<Formula> right = counted(signal.number, frees, 0);
      right.push_back(less(n, count(awaits_filled))); // only what they have awaited
      ask_event(Claim::slots, where, right);
      return ask(Claim::bytes, where,
                 {truth(channel_.freed == kernel_.roles.front().warps * channel_.blocks),
                  truth(channel_.freed <= most_of_phase)});
    }
    std::vector<Formula> right = counted(signal.number, fills, channel_.role);
    if (reused_)
      right.push_back(equal(count(awaits_free), n + Poly(1)));
    ask_event(Claim::slots, where, right);
    const std::int64_t threads = kernel_.roles[channel_.role].warps * lanes_per_warp;
    const std::int64_t arrivals = threads * (signal.copies + signal.stores) + (signal.bulk_bytes != 0 ? 1 : 0);
    ask(Claim::bytes, where,
        {truth(channel_.filled == arrivals), truth(arrivals <= most_of_phase),
         truth(signal.copies == side_.copies), truth(signal.stores == side_.stores),
         truth((signal.bulk_bytes != 0) == side_.boxes), truth(signal.bulk_bytes <= most_of_phase),
         equal(count(bytes), (count(fills) + Poly(1)) * Poly(signal.bulk_bytes))});
    check_tiles(count(fills));
    boxes_.clear();
  }

  // ---- boxes

  /// Whether these elements are those of the fill in its slot.
  Formula in_slot(const Tile &tile, const Poly &first, std::int64_t count, const Poly &fill) {
    const Poly slot = prover_.remainder(fill, Poly(channel_.slots)), start = slot * Poly(tile.stride());
    return all({less_equal(start, first), less_equal(first + Poly(count), start + Poly(tile.elements()))});
  }

  void check_box(const BulkCopy &copy) {
    const kernel::TensorMap &map = kernel_.maps[copy.map];
    const std::string where =
        fmt::format("box of {}[{}]", copy.tile->name, nestsmith::to_string(copy.indices[0]));
    const Poly n = translator_.integer(copy.fill->number), first = translator_.integer(copy.indices[0]);
    std::vector<Formula> right = {equal(n, count(fills)), truth(role_ == channel_.role),
                                  truth(is_uniform(copy.fill->number))};
    if (reused_)
      right.push_back(equal(count(awaits_free), n + Poly(1)));
    ask_event(Claim::slots, where, right);
    const auto tile = tile_of(copy.tile);
    if (!tile)
      return ask(Claim::boxes, where, {truth(false)});
    const Allocation &allocation = *tiles_[*tile].allocation;
    const Poly place = Poly(allocation.byte_offset) + first * Poly(byte_size(copy.tile->dtype));
    const Poly aligned(box_alignment(map.swizzle));
    ask(Claim::boxes, where,
        {in_slot(tiles_[*tile], first, map.elements(), n), equal(prover_.remainder(place, aligned), Poly(0)),
         truth(copy.tile->dtype == map.source->dtype), truth(map.source == copy.array),
         truth(!copy.fill->to_cluster || (rank_ && channel_.blocks == kernel_.cluster))});
    boxes_.push_back({&copy, loops_, *tile, substitute(copy.indices[0], values_)});
  }

  /// The boxes of a fill cover each tile: they have as many elements, and share none.
  void check_tiles(const Poly &fill) {
    for (std::size_t n = 0; n < tiles_.size(); ++n) {
      if (std::ranges::none_of(boxes_, [&](const Box &box) { return box.tile == n; }))
        continue;
      ask(Claim::boxes, tiles_[n].buffer->name,
          {equal(count(elements + n), (fill + Poly(1)) * Poly(tiles_[n].elements()))});
    }
    for (std::size_t a = 0; a < boxes_.size(); ++a)
      for (std::size_t b = a; b < boxes_.size(); ++b)
        if (boxes_[a].tile == boxes_[b].tile)
          check_disjoint(boxes_[a], boxes_[b], a == b);
  }

  /// One execution of a box within a fill: by one of the blocks, in one iteration of the loops inside.
  struct Instance {
    Poly first;
    std::vector<Poly> values; ///< that distinguish it
  };
  Instance instance_of(const Box &box) {
    std::map<Var, Expr> values;
    Instance made;
    auto define = [&](const Var &var, const Expr &extent) {
      const Var own = make_var(var->name, var->dtype);
      values[var] = own;
      made.values.push_back(translator_.define(own));
      prover_.assume(all({at_least_0(made.values.back()),
                          less(made.values.back(), translator_.integer(substitute(extent, values)))}));
    };
    if (box.copy->fill->to_cluster && rank_)
      define(*rank_, Expr(kernel_.cluster));
    for (std::size_t n = loops_.size(); n < box.loops.size(); ++n)
      define(box.loops[n]->var, substitute(box.loops[n]->extent, values_));
    made.first = translator_.integer(substitute(box.first, values));
    return made;
  }

  void check_disjoint(const Box &a, const Box &b, bool one) {
    Prover::Scope scope(prover_);
    const Instance x = instance_of(a), y = instance_of(b);
    std::vector<Formula> distinct;
    for (std::size_t n = 0; one && n < x.values.size(); ++n)
      distinct.push_back(negate(equal(x.values[n], y.values[n])));
    if (one && distinct.empty())
      return;
    if (one)
      prover_.assume(any(std::move(distinct)));
    const Poly of_a(kernel_.maps[a.copy->map].elements()), of_b(kernel_.maps[b.copy->map].elements());
    ask(Claim::boxes,
        fmt::format("{} of {} and {}", a.copy->tile->name, nestsmith::to_string(a.first),
                    nestsmith::to_string(b.first)),
        {any({less_equal(x.first + of_a, y.first), less_equal(y.first + of_b, x.first)})});
  }

  // ---- accesses of threads

  /// Consecutive elements that a read touches, from the start of a row of this length on.
  struct Read {
    std::int64_t count = 1, row = 1;
  };
  /// A matrix unit reads parts of consecutive rows, or of consecutive rows in each block of columns.
  Read read_of(const Operand &operand, const Buffer &buffer) const {
    if (operand.as<Rows>())
      return {elements_per_lane(operand)};
    const auto *unit = operand.as<InTile>();
    const auto tile = tile_of(buffer);
    if (!unit || !tile)
      return {};
    const std::vector<std::int64_t> &extents = tiles_[*tile].allocation->tile;
    const std::int64_t row = extents.back(), rows = as_int(operand.formal->shape[0]).value(),
                       columns = as_int(operand.formal->shape[1]).value();
    const std::int64_t blocks = unit->across ? (columns + row - 1) / row : 1;
    return {(blocks - 1) * extents.at(extents.size() - 2) * row + rows * row, row};
  }

  /// The readers read the latest fill that they have awaited, or an earlier one that they have not freed.
  void check_read(const Buffer &buffer, const Expr &offset, const Read &read) {
    const auto tile = tile_of(buffer);
    if (!tile)
      return;
    const Poly at = translator_.integer(offset), awaited = count(awaits_filled);
    const Poly first = at - prover_.remainder(at, Poly(read.row));
    std::vector<Formula> in_any;
    for (std::int64_t back = 1; back <= channel_.slots; ++back) {
      const Poly fill = awaited - Poly(back);
      in_any.push_back(all({less_equal(reused_ ? count(frees) : Poly(0), fill),
                            in_slot(tiles_[*tile], first, read.count, fill)}));
      if (back == 1 && prover_.prove_at_once(in_any.front()))
        break;
    }
    ask_event(Claim::slots, fmt::format("read of {}[{}]", buffer->name, nestsmith::to_string(offset)),
              {in_any.size() == 1 ? in_any.front() : any(std::move(in_any)), truth(role_ == 0)});
  }
  void check_reads(const Expr &e) {
    walk(e, [&](const Expr &node) {
      const auto *access = node.as<Load>();
      if (!access || !tile_of(access->buffer))
        return;
      Prover::Scope scope(prover_);
      if (access->mask.exists())
        prover_.assume(translator_.condition(access->mask));
      check_read(access->buffer, access->indices.front(), {access->lanes});
    });
  }

  void check_write(const kernel::Store &store, std::size_t tile) {
    const Poly fill = count(fills), first = translator_.integer(store.indices.front());
    std::vector<Formula> right = {in_slot(tiles_[tile], first, store.lanes, fill),
                                  truth(role_ == channel_.role)};
    if (reused_)
      right.push_back(equal(count(awaits_free), fill + Poly(1)));
    ask_event(Claim::slots,
              fmt::format("write of {}[{}]", store.buffer->name, nestsmith::to_string(store.indices.front())),
              right);
  }

  // ---- statements

  /// Whether all warps of a role, and all blocks of a cluster, compute the same value.
  bool is_uniform(const Expr &e) const {
    bool uniform = true;
    walk(e, [&](const Expr &node) {
      const Var *var = node.as<Var>();
      uniform = uniform && !node.as<Load>() && !(var && varying_.contains(*var));
    });
    return uniform;
  }
  void ask_uniform(const Stmt &around, const Expr &e) {
    if (counter_.counts(around))
      ask(Claim::slots, nestsmith::to_string(e), {truth(is_uniform(e))});
  }

  /// Whether the statement has an event of the channel, or accesses its tiles.
  bool concerns(const Stmt &stmt) {
    if (auto known = concerns_.find(stmt.get()); known != concerns_.end())
      return known->second;
    bool found = counter_.counts(stmt);
    auto note = [&](const Buffer &buffer) { found = found || tile_of(buffer); };
    kernel::walk(stmt, [&](const Stmt &inner) {
      kernel::each_access(inner, [&](const Buffer &buffer, const Buffer &) { note(buffer); });
      if (const auto *call = kernel::as<kernel::Call>(inner)) // also an asynchronous one
        for (const kernel::OperandAddress &place : call->places)
          note(place.buffer);
    });
    return concerns_[stmt.get()] = found;
  }

  void check(const Stmt &stmt) {
    if (const auto *declare = kernel::as<kernel::Declare>(stmt))
      return note(*declare);
    if (const auto *seq = kernel::as<kernel::Seq>(stmt)) {
      for (const Stmt &child : seq->stmts)
        check(child);
      return;
    }
    if (const auto *sync = kernel::as<kernel::Sync>(stmt); sync && sync->declares())
      varying_.insert(sync->declares());
    if (!concerns(stmt))
      return;
    const Counts outside = before_;
    const auto *branch = kernel::as<kernel::If>(stmt);
    const bool roles = branch && kernel::roles_of_sides(*branch), inside = in_roles_;
    if (roles && !inside)
      reused_ = has_free_events(stmt);
    in_roles_ = roles || inside;
    if (const auto *loop = kernel::as<Loop>(stmt))
      check_loop(stmt, *loop);
    else if (branch)
      check_branch(stmt, *branch);
    else
      check_leaf(stmt);
    before_ = outside;
    if (counter_.counts(stmt))
      add(before_, counter_.of(stmt));
    if (roles && !inside)
      check_totals();
    in_roles_ = inside;
  }

  void check_loop(const Stmt &stmt, const Loop &loop) {
    ask_uniform(stmt, loop.extent);
    const Counts of_iterations = counter_.counts(stmt) ? counter_.iterations(loop).before : Counts();
    Prover::Scope scope(prover_);
    counter_.assume_range(loop);
    translator_.set(loop.var, counter_.variable(loop));
    add(before_, of_iterations);
    ++counter_.depth;
    loops_.push_back(&loop);
    check(loop.body);
    loops_.pop_back();
    --counter_.depth;
  }

  void check_branch(const Stmt &stmt, const kernel::If &branch) {
    const auto roles = kernel::roles_of_sides(branch);
    const Formula condition = translator_.condition(branch.condition);
    if (!roles)
      ask_uniform(stmt, branch.condition);
    const Counts outside = before_;
    auto side = [&](const Stmt &body, const Formula &holds, std::optional<std::size_t> role) {
      if (!body)
        return;
      Prover::Scope scope(prover_);
      prover_.assume(holds);
      before_ = outside;
      const std::size_t around = role_;
      if (role)
        enter_role(*role, body);
      check(body);
      role_ = around;
    };
    side(branch.body, condition, roles ? std::optional(roles->body) : std::nullopt);
    side(branch.otherwise, negate(condition), roles ? roles->otherwise : std::nullopt);
  }

  /// Whether the nest has events of free slots. Without them, no slot may have two fills.
  bool has_free_events(const Stmt &nest) const {
    bool found = false;
    kernel::walk(nest, [&](const Stmt &stmt) {
      const std::map<std::size_t, std::int64_t> counted = unit(stmt);
      found = found || counted.contains(awaits_free) || counted.contains(frees);
    });
    return found;
  }

  void enter_role(std::size_t role, const Stmt &body) {
    role_ = role;
    const auto &[first, warps, registers, change] = kernel_.roles.at(role);
    const Poly begin(first * lanes_per_warp), end((first + warps) * lanes_per_warp);
    ask(Claim::slots, fmt::format("role {}", role), {less_equal(begin, thread_), less(thread_, end)});
    side_ = {};
    kernel::walk(body, [&](const Stmt &stmt) {
      const auto *store = kernel::as<kernel::Store>(stmt);
      const bool fills = store && tile_of(store->buffer);
      side_.copies = side_.copies || (fills && store->async);
      side_.stores = side_.stores || (fills && !store->async);
      side_.boxes = side_.boxes || box_in(stmt);
    });
  }

  /// The two sides count alike.
  void check_totals() {
    const Poly filled = count(fills);
    std::vector<Formula> right = {equal(filled, count(awaits_filled))};
    if (reused_) {
      right.push_back(equal(filled, count(awaits_free)));
      right.push_back(equal(filled, count(frees)));
    } else {
      right.push_back(less_equal(filled, Poly(channel_.slots)));
    }
    for (const std::string &loop : counter_.uncounted)
      ask(Claim::slots, loop + " is not counted", {truth(false)});
    ask(Claim::slots, fmt::format("all of channel {}", number_), right);
  }

  void check_leaf(const Stmt &stmt) {
    if (const auto *await = kernel::as<kernel::Await>(stmt); await && await->channel == number_)
      check_event(*await);
    if (const auto *signal = kernel::as<kernel::Signal>(stmt); signal && signal->channel == number_)
      check_event(*signal);
    if (const BulkCopy *copy = box_in(stmt))
      check_box(*copy);
    if (const auto *store = kernel::as<kernel::Store>(stmt))
      if (auto tile = tile_of(store->buffer))
        check_write(*store, *tile);
    kernel::each_expr(stmt, [&](const Expr &e) { check_reads(e); });
    if (const auto *call = kernel::as<kernel::Call>(stmt))
      for (std::size_t n = 0; n < call->places.size(); ++n) {
        const auto &[buffer, offset] = call->places[n];
        check_read(buffer, offset, read_of(call->intrinsic.get().operands[n], buffer));
      }
  }

  void note(const kernel::Declare &declare) {
    check_reads(declare.value);
    if (!is_uniform(declare.value))
      varying_.insert(declare.var);
    if (!is_index(declare.var->dtype) || declare.var->lanes != 1)
      return;
    translator_.set(declare.var, translator_.integer(declare.value));
    values_[declare.var] = substitute(declare.value, values_);
  }

  static constexpr std::size_t no_role = static_cast<std::size_t>(-1);

  const kernel::Kernel &kernel_;
  std::size_t number_;
  const kernel::Channel &channel_;
  Prover prover_;
  Translator translator_;
  Counter counter_;
  std::vector<Tile> tiles_;
  Poly thread_;
  std::optional<Var> rank_;    ///< of the block in its cluster
  std::set<Var> varying_;      ///< differ in the warps of a role, or in the blocks of a cluster
  std::map<Var, Expr> values_; ///< of declared variables
  Counts before_;              ///< what was counted before the current statement
  std::size_t role_ = no_role; ///< of the current statement
  bool in_roles_ = false;      ///< below a branch for roles
  bool reused_ = false;        ///< the slots of the current nest have more than one fill
  struct {
    bool copies = false, stores = false, boxes = false;
  } side_;                          ///< how the current role fills tiles
  std::vector<const Loop *> loops_; ///< around the current statement
  std::vector<Box> boxes_;          ///< of the current fill
  std::map<const kernel::StmtNode *, bool> concerns_;
  Proof result_;
};

} // namespace

Proof prove_channels(const kernel::Kernel &kernel) {
  Proof result;
  for (std::size_t channel = 0; channel < kernel.channels.size(); ++channel)
    result.add(ChannelProof(kernel, channel).run());
  return result;
}

} // namespace nestsmith::proofs
