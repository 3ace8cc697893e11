#include "dsl/expr/error.h"
#include "dsl/hardware/async_copy.h"
#include "dsl/hardware/bulk_copy.h"
#include "dsl/hardware/cluster.h"
#include "dsl/hardware/shared_plan.h"
#include "dsl/ir/allocation.h"
#include "dsl/ir/last_block.h"
#include "dsl/ir/roles.h"
#include "dsl/ir/skip_tiles.h"
#include "lowering/channels.h"
#include "lowering/copies_in_flight.h"
#include "lowering/launch_axes.h"
#include "lowering/pipelines.h"
#include "lowering/stores_in_flight.h"
#include "lowering/unit.h"
#include "lowering/warp_buffers.h"

#include <algorithm>
#include <map>
#include <span>

namespace nestsmith {

namespace {

using kernel::Kernel;

/// The thread blocks whose code is made: those with one value of a loop. All of them use the same counters.
struct SomeBlocks {
  Var loop;
  std::int64_t value;
  std::map<Var, Buffer> &counters;
};

class Extractor {
public:
  Extractor(const Unit &unit, const Program &program, const std::optional<SomeBlocks> &blocks)
      : program_(program), schedule_(unit.schedule), copied_from_(unit.copied_from), blocks_(blocks) {}

  Kernel run() {
    // If a pass has filled tails, guards that excluded an iteration are gone, so the iteration is not skipped.
    auto breach = find_skip_breach(program_);
    internal_check(!breach || std::string_view(breach->requirement) != "skip_tiles.joined",
                   "a loop that skips single tiles is not joined");
    kernel_.name = program_.name;
    kernel_.params = program_.params;
    kernel_.scalars = program_.scalars;
    kernel_.cluster = blocks_of_cluster(program_.body);
    kernel_.min_blocks = program_.min_blocks;
    kernel_.launches_early = program_.launches_early;
    for (const Var &size : program_.sizes)
      kernel_.sizes.push_back({size, size});
    kernel_.indices = indices_of(program_, schedule_.target());
    if (blocks_)
      std::erase_if(kernel_.indices, [&](const kernel::ThreadIndex &index) {
        return index.axis == whole_of(*find_loop(program_.body, blocks_->loop)->axis());
      });
    kernel_.assumptions = assumptions_of(program_, schedule_.source(), kernel_.indices);
    for (kernel::ThreadIndex &index : kernel_.indices) {
      index.origin = in_schedule(index.origin);
      set_range(bounds_, index);
    }
    walk(program_.body, [&](const Stmt &stmt) { // those of threads again for each role, if there are roles
      if (const auto *loop = as<For>(stmt);
          loop && loop->axis() && (program_.roles.empty() || !is_thread(*loop->axis())))
        loops_[loop->var] = index_of(*loop);
      return true;
    });
    if (blocks_)
      loops_[blocks_->loop] = Expr(blocks_->value);
    Placements placements(program_);
    for (const Buffer &buffer : temporaries(program_))
      if (buffer->scope != Scope::global) // global temporaries are parameters
        allocate(placements.of(buffer));
    find_boxes();
    kernel_.body = program_.roles.empty() ? emit_whole(program_.body) : emit_roles();
    share_memory();
    return std::move(kernel_);
  }

private:
  using Values = std::map<Var, Expr>;

  kernel::Stmt emit_whole(const Stmt &nest) {
    const auto *seq = as<Seq>(nest);
    stores_.emplace(program_, role_);
    kernel::Stmt body = seq ? emit_all(seq->stmts) : emit_all({&nest, 1});
    declared_.push_back(std::move(body));
    if (kernel::Stmt wait = stores_->wait_at_end())
      declared_.push_back(std::move(wait));
    return kernel::make_seq(std::exchange(declared_, {}));
  }

  /// One branch for each role. The warps of the main role are the first ones.
  kernel::Stmt emit_roles() {
    auto tid = std::ranges::find(kernel_.indices, Axis::thread_x, &kernel::ThreadIndex::axis);
    if (tid == kernel_.indices.end())
      tid = kernel_.indices.insert(kernel_.indices.begin(), {Axis::thread_x, make_var("tid"), Expr(1), 1});
    const Expr thread = tid->var;
    const std::int64_t main = threads_of_role(program_, program_.body, std::nullopt),
                       all = threads_of(program_);
    tid->extent = Expr(all);
    tid->most = all;
    set_range(bounds_, *tid);
    for (const WarpRole &role : program_.roles) {
      channels_.push_back(plan_channel(program_, role, channels_.size(), main));
      kernel_.channels.push_back(channels_.back().channel);
    }
    kernel_.roles = plan_roles(program_, main, all);
    if (std::ranges::any_of(kernel_.roles, &kernel::RoleOfWarps::registers))
      kernel_.min_blocks =
          std::max<std::int64_t>(kernel_.min_blocks, 1); // its threads have all registers of the SM
    kernel::Stmt others;
    std::int64_t first = all;
    for (std::size_t role = program_.roles.size(); role-- > 0;) {
      const std::int64_t threads = program_.roles[role].warps * lanes_per_warp;
      first -= threads;
      others = with_role(first, emit_role(role, first, threads, thread), others);
    }
    return with_role(0, emit_role(std::nullopt, 0, main, thread), others);
  }

  /// The branch of the warps from `first` to those that `others` is for.
  kernel::Stmt with_role(std::int64_t first, kernel::Stmt body, kernel::Stmt others) {
    if (!others)
      return body;
    const auto next =
        std::ranges::upper_bound(kernel_.roles, first / lanes_per_warp, {}, &kernel::RoleOfWarps::first_warp);
    Expr warp = floordiv(index_on(Axis::thread_x), Expr(lanes_per_warp));
    return kernel::make(kernel::If{warp < Expr(next->first_warp),
                                   std::move(body),
                                   std::move(others),
                                   {kernel::Purpose::Kind::role, {}, next - kernel_.roles.begin() - 1}},
                        origin_of(blocks_of(program_.body)));
  }

  kernel::Stmt emit_role(std::optional<std::size_t> role, std::int64_t first, std::int64_t threads,
                         const Expr &tid) {
    role_ = role;
    threads_ = threads;
    thread_ = tid;
    parts_.clear();
    if (first > 0) {
      Var own = make_var("thread");
      Expr value = floormod(tid - Expr(first), Expr(threads));
      bounds_.set_extent(own, Expr(threads));
      declared_.push_back(kernel::make(kernel::Declare{own, simplify(value, bounds_)},
                                       origin_of(blocks_of(only_role(program_, program_.body, role)))));
      thread_ = own;
    } else {
      bounds_.set_extent(*tid.as<Var>(), Expr(threads));
    }
    walk(program_.body, [&](const Stmt &stmt) {
      if (const auto *loop = as<For>(stmt);
          loop && loop->axis() && is_thread(*loop->axis()) && role_of(program_, *loop) == role)
        loops_[loop->var] = as_int(loop->extent) == 1 ? Expr(0) : index_of(*loop);
      return true;
    });
    issues_ = role.has_value(); // the events of its channel count its copies, and it has no groups
    kernel::Stmt body = emit_whole(only_role(program_, program_.body, role));
    issues_ = false;
    return body;
  }

  /// The sides of the role that is emitted, of the channels of a pipelined loop.
  std::vector<ChannelSide> sides_of(const For &loop) const {
    std::vector<ChannelSide> sides;
    for (const PlannedChannel &planned : channels_)
      if (planned.loop == loop.var && (!role_ || *role_ == planned.side.channel)) {
        sides.push_back(planned.side);
        sides.back().fills = role_.has_value();
      }
    return sides;
  }

  bool has_channel(const Var &loop) const {
    return std::ranges::any_of(channels_, [&](const PlannedChannel &planned) { return planned.loop == loop; });
  }

  /// The number of the fill in an iteration of a pipelined loop: the iterations of the serial loops around it
  /// that are complete count too.
  Expr number_of_fill(const Var &loop, const Expr &iteration) const {
    Expr number = 0;
    for (const For *around : loops_of(path_to(program_.body, loop)))
      if (!around->axis() && as_int(around->extent) != 1)
        number = number * around->extent + (around->var == loop ? iteration : loops_.at(around->var));
    return simplify(number, bounds_);
  }

  void allocate(const Placement &placement) {
    const Buffer &buffer = placement.buffer;
    std::vector<Expr> shape;
    std::vector<std::int64_t> tile = placement.box();
    if (placement.slots.count > 1)
      shape.emplace_back(placement.slots.count);
    shape.insert(shape.end(), tile.begin(), tile.end());
    auto shrunk = std::make_shared<const BufferNode>(
        BufferNode{buffer->name, buffer->dtype, shape, buffer->scope, Role::temporary, buffer->layout});
    (buffer->scope == Scope::shared ? kernel_.shared : kernel_.local)
        .push_back({.buffer = shrunk,
                    .tile = tile,
                    .slots = placement.slots.count,
                    .origin = origin_of({OriginPart(buffer)}),
                    .content = content_of(buffer, tile)});
    shrunk_[buffer] = shrunk;
    placements_.emplace(buffer, placement);
    if (buffer->scope == Scope::shared)
      shared_.push_back({.buffer = buffer, .bytes = placement.elements * byte_size(buffer->dtype)});
  }

  /// Lets arrays whose lifetimes do not meet lie in the same memory.
  void share_memory() {
    if (shared_.size() < 2)
      return;
    std::set<Buffer> of_warps = kernel::buffers_of_single_warps(kernel_);
    for (SharedArray &array : shared_)
      array.of_warps = of_warps.contains(shrunk_.at(array.buffer));
    SharedPlan plan = plan_shared(program_, std::move(shared_), schedule_.target());
    for (std::size_t n = 0; n < plan.arrays.size(); ++n)
      kernel_.shared[n].tenancy = plan.arrays[n].tenancy;
  }

  kernel::Content content_of(const Buffer &buffer, const std::vector<std::int64_t> &box) const {
    using Kind = kernel::Content::Kind;
    for (const Block *block : blocks_of(program_.body)) {
      const auto *access = block->body.value.as<Load>();
      if (access && block->body.buffer == buffer)
        return {Kind::tile, box, source_of(access->buffer)};
      if (access && access->buffer == buffer)
        return {Kind::part, box, block->body.buffer};
    }
    return {Kind::results, box};
  }

  /// The source of a tile that is copied through registers.
  Buffer source_of(const Buffer &buffer) const {
    for (const Block *block : blocks_of(program_.body))
      if (const auto *access = block->body.value.as<Load>();
          access && block->body.buffer == buffer && access->buffer != buffer)
        return in_registers(buffer->scope) ? source_of(access->buffer) : buffer;
    return buffer;
  }

  kernel::Stmt emit(const Stmt &stmt) {
    return visit(stmt, Overloaded{
                           [&](const For &loop) { return emit_loop(loop); },
                           [&](const Seq &seq) { return emit_all(seq.stmts); },
                           [&](const Block &block) { return emit_block(block); },
                       });
  }

  kernel::Stmt emit_all(std::span<const Stmt> children) {
    std::vector<kernel::Stmt> stmts;
    CopiesInFlight copies;
    for (std::size_t n = 0; n < children.size(); ++n) {
      bool issues = !issues_ && is_async_nest(children[n]);
      if (!issues && copies.must_land_before(children[n]))
        copies.land(children.subspan(n), stmts);
      issues_ = issues_ || issues;
      if (kernel::Stmt wait = stores_->wait_before(children[n]))
        stmts.push_back(std::move(wait));
      const auto *loop = as<For>(children[n]);
      bool marked = loop && loop->last_block() && n + 1 < children.size();
      if (marked && !axes_that_continue_below(*loop).empty()) {
        after_groups_.push_back(
            {loop, children.subspan(n + 1)}); // only the last blocks below the loop continue
        stmts.push_back(emit(children[n]));
        break;
      }
      stmts.push_back(emit(children[n]));
      issues_ = issues_ && !issues;
      if (issues) {
        copies.add(children[n]);
        if (n + 1 == children.size() || !is_async_nest(children[n + 1]))
          stmts.push_back(kernel::make(kernel::Commit{tiles_of(copies.blocks)}, origin_of(copies.blocks)));
      }
      if (!marked)
        continue;
      emit_arrival(*loop, children.subspan(n + 1), stmts);
      break;
    }
    copies.land({}, stmts);
    return kernel::make_seq(std::move(stmts));
  }

  /// The axes of the marked loops below the loop that statements follow.
  static std::vector<Axis> axes_that_continue_below(const For &loop) {
    std::vector<Axis> axes;
    for (const LastBlock &below : find_last_blocks(loop.body))
      if (!below.after.empty())
        axes.push_back(*below.loop->axis());
    return axes;
  }

  /// The arrival after the loop, and the statements that only its last block executes: those after the loop,
  /// and the arrivals of the marked loops around it with their statements.
  void emit_arrival(const For &loop, std::span<const Stmt> after, std::vector<kernel::Stmt> &stmts) {
    kernel::Arrive arrive = arrival(loop);
    std::vector<kernel::Stmt> rest = {emit_all(after)};
    if (!after_groups_.empty()) {
      auto [outer, after_outer] = after_groups_.back();
      after_groups_.pop_back();
      emit_arrival(*outer, after_outer, rest);
    }
    Origin origin = origin_of(std::vector{&loop});
    stmts.push_back(kernel::make(arrive, origin));
    stmts.push_back(kernel::make(kernel::If{arrive.last,
                                            kernel::make_seq(std::move(rest)),
                                            nullptr,
                                            {kernel::Purpose::Kind::arrived, {loop.var}}},
                                 origin));
  }

  /// The arrival after the loop. There is one counter for each iteration of the loops around it, which are
  /// bound to the block axes other than those of the loop and of the marked loops below it.
  kernel::Arrive arrival(const For &loop) {
    std::vector<Axis> counted = axes_that_continue_below(loop);
    counted.push_back(*loop.axis());
    std::ranges::transform(counted, counted.begin(), whole_of); // a cluster is along blockIdx.z
    Expr index = 0, count = 1;
    for (auto other = kernel_.indices.rbegin(); other != kernel_.indices.rend(); ++other)
      if (!is_thread(other->axis) && std::ranges::find(counted, other->axis) == counted.end()) {
        index = index * other->extent + Expr(other->var);
        count = count * other->extent;
      }
    if (blocks_) // their index is no variable, and all use the same counters
      if (const For &by = *find_loop(program_.body, blocks_->loop);
          std::ranges::find(counted, whole_of(*by.axis())) == counted.end()) {
        index = index * by.extent + Expr(blocks_->value);
        count = count * by.extent;
      }
    bool groups = counted.size() > 1;
    Buffer counters = blocks_ ? blocks_->counters[loop.var] : nullptr;
    if (!counters)
      counters = std::make_shared<const BufferNode>(BufferNode{groups ? "arrived_groups" : "arrived",
                                                               DType::u32,
                                                               {simplify(count)},
                                                               Scope::global,
                                                               Role::temporary});
    if (blocks_)
      blocks_->counters[loop.var] = counters;
    kernel_.params.push_back(counters);
    return {make_var(groups ? "last_group" : "last", DType::boolean),
            counters,
            simplify(index, bounds_),
            loop.extent,
            whole_of(*loop.axis()),
            program_.roles.empty() ? kernel::SyncScope::block : kernel::SyncScope::role};
  }

  kernel::Stmt emit_loop(const For &loop) {
    // The condition of an iteration is that of all roles.
    const For &whole = role_ || !program_.roles.empty() ? *find_loop(program_.body, loop.var) : loop;
    Expr skipped_unless = loop.skipping() ? condition_of_iteration(program_, whole) : Expr();
    auto emit_nest = [&](const Stmt &nest) { return emit_iteration(nest, loop, skipped_unless); };
    if (auto box = boxes_.find(loop.var); box != boxes_.end())
      return emit_bulk_copy(*box->second.block, box->second.box);
    const bool passes = has_channel(loop.var);
    if (as_int(loop.extent) == 1 && !passes) {
      loops_[loop.var] = Expr(0);
      return emit_nest(loop.body);
    }
    if (loop.axis())
      return emit(loop.body);
    Var var = make_var(name_in_kernel(*loop.var));
    bounds_.set_extent(var, loop.extent);
    kernel::Loop made{var, loop.extent, form_of(loop), nullptr};
    auto number = [&](const Expr &iteration) { return number_of_fill(loop.var, iteration); };
    if (!loop.pipeline().empty())
      return emit_pipeline(
          loop, std::move(made),
          {program_, emit_nest, loops_, bounds_, issues_, loops_around_ == 0, number, sides_of(loop)});
    loops_[loop.var] = var;
    ++loops_around_;
    made.body = loop.reversed_by() ? emit_reversed(loop, var) : emit_nest(loop.body);
    --loops_around_;
    return kernel::make(std::move(made), in_schedule(origin_of(std::vector{&loop})));
  }

  /// The nest below the condition of the iteration of a loop that skips tiles. A null condition always holds.
  kernel::Stmt emit_iteration(const Stmt &nest, const For &loop, const Expr &condition) {
    if (!condition.exists())
      return emit(nest);
    kernel::Purpose purpose{kernel::Purpose::Kind::with_terms, {loop.var}};
    Origin origin = in_schedule(origin_of(std::vector{&loop}));
    const For &whole = *find_loop(program_.body, loop.var);
    if (auto tail = loop.pipeline().empty() ? skipped_tail(program_, whole, condition) : std::nullopt)
      return kernel::make(emit_tile(nest, loop, *tail, std::move(purpose)), origin);
    Expr needed = simplify(substitute(condition, loops_), bounds_);
    kernel::Stmt made = emit(nest);
    if (proves(needed, bounds_))
      return made;
    return kernel::make(kernel::If{needed, made, nullptr, std::move(purpose)}, origin);
  }

  /// The nest of one tile of a wave. In it, the number of the tile has a variable, whose range ends with the
  /// last tile: this decides the guards.
  kernel::If emit_tile(const Stmt &nest, const For &wave, const SkippedTail &tail, kernel::Purpose purpose) {
    Var tile = make_var("tile");
    Expr blocks(tail.blocks), wave_before = loops_.at(wave.var), block_before = loops_.at(tail.block->var);
    Expr number = simplify(wave_before * blocks + block_before, bounds_);
    bounds_.set(tile, {0, tail.tiles - 1});
    loops_[wave.var] = floordiv(Expr(tile), blocks);
    loops_[tail.block->var] = floormod(Expr(tile), blocks);
    kernel::Stmt declared =
        kernel::make(kernel::Declare{tile, number}, in_schedule(origin_of(std::vector{&wave, tail.block})));
    kernel::Stmt body = kernel::make_seq({declared, emit(nest)});
    loops_[wave.var] = wave_before;
    loops_[tail.block->var] = block_before;
    return {number < Expr(tail.tiles), body, nullptr, std::move(purpose)};
  }

  /// The body of a loop that runs backwards in odd iterations of an outer loop.
  /// [rule.snake] 0 <= e - 1 - x, e - 1 - x < e, e - 1 - (e - 1 - x) = x where 0 <= x, x < e
  kernel::Stmt emit_reversed(const For &loop, const Var &var) {
    Var turned = make_var(name_in_kernel(*loop.var));
    bounds_.set_extent(turned, loop.extent);
    loops_[loop.var] = turned;
    Expr forwards = equal(floormod(loops_.at(loop.reversed_by()), Expr(2)), Expr(0));
    Expr backwards = Expr(as_int(loop.extent).value() - 1) - var;
    kernel::Stmt index =
        kernel::make(kernel::Declare{turned, select(forwards, var, backwards)}, origin_of(std::vector{&loop}));
    return kernel::make_seq({index, emit(loop.body)});
  }

  static kernel::LoopForm form_of(const For &loop) {
    using Form = kernel::LoopForm;
    return std::visit(Overloaded{
                          [](const Serial &x) -> Form {
                            return kernel::Serial{x.partitioned, x.copies};
                          },
                          [](const Unrolled &) -> Form { return kernel::Unrolled{}; },
                          [](const Vectorized &) -> Form { return kernel::Vectorized{}; },
                          [](const Tensorized &x) -> Form { return kernel::Tensorized{x.intrinsic}; },
                          [](const BoundTo &) -> Form {
                            internal_error("a bound loop is an index, not a loop of the kernel");
                          },
                      },
                      loop.form);
  }

  /// The index of the axis to which the loop is bound.
  Expr index_of(const For &loop) {
    if (is_part_of_warps(*loop.axis()))
      return part_of_warps(*loop.axis());
    if (*loop.axis() == Axis::thread_x && thread_.exists())
      return thread_;
    return index_on(*loop.axis());
  }

  /// 0 if the axis has one index only.
  Expr index_on(Axis axis) const {
    const Axis whole = is_block(axis) ? whole_of(axis) : axis;
    for (const kernel::ThreadIndex &index : kernel_.indices)
      if (index.axis == whole)
        return index.var;
    return 0;
  }

  /// The variable of the warp or of the lane, which is declared at the start of the kernel.
  Expr part_of_warps(Axis axis) {
    if (auto known = parts_.find(axis); known != parts_.end())
      return known->second;
    std::int64_t threads = threads_ ? *threads_ : kernel_.extent(Axis::thread_x),
                 warps = threads / lanes_per_warp;
    if (axis == Axis::warp && warps == 1)
      return 0;
    Expr thread = thread_.exists() ? thread_ : index_on(Axis::thread_x);
    Var part = make_var(axis == Axis::warp ? "warp" : "lane");
    bounds_.set_extent(part, Expr(axis == Axis::warp ? warps : lanes_per_warp));
    Expr value =
        axis == Axis::warp ? floordiv(thread, Expr(lanes_per_warp)) : floormod(thread, Expr(lanes_per_warp));
    declared_.push_back(kernel::make(kernel::Declare{part, simplify(value, bounds_)}, loops_on(axis)));
    return parts_[axis] = part;
  }

  /// The origin with the loops of the schedule in place of copies that the passes made.
  Origin in_schedule(const Origin &origin) const {
    std::vector<OriginPart> parts = origin ? *origin : std::vector<OriginPart>();
    for (OriginPart &part : parts)
      if (const Var *loop = std::get_if<Var>(&part))
        if (auto it = copied_from_.find(*loop); it != copied_from_.end())
          part = it->second;
    return origin_of(std::move(parts));
  }

  Origin loops_on(Axis axis) const {
    std::vector<OriginPart> parts;
    walk(program_.body, [&](const Stmt &stmt) {
      if (const auto *loop = as<For>(stmt); loop && loop->axis() == axis)
        parts.emplace_back(loop->var);
      return true;
    });
    return in_schedule(origin_of(std::move(parts)));
  }

  kernel::Stmt emit_block(const Block &block) {
    internal_check(!block.init, "an init is left after lower_init");
    std::vector<kernel::Stmt> stmts;
    Values axes, bindings; // of the axes: as they are declared, and in terms of the loops
    Expr guard;
    Origin origin = origin_of(std::vector{&block});
    for (const IterVar &iter : block.iters) {
      const Expr &binding = bindings[iter.var] = substitute(iter.binding, loops_);
      Expr value = simplify(binding, bounds_);
      if (!value.as<Var>() && !as_int(value)) {
        Var var = make_var(name_in_kernel(*iter.var));
        bounds_.set(var, range_of(value, bounds_).value());
        stmts.push_back(kernel::make(kernel::Declare{var, value}, origin));
        value = var;
      }
      axes[iter.var] = value;
      if (!iter.guarded)
        continue;
      Expr inside = value < iter.extent;
      if (Expr begun = Expr(0) <= value; !proves(begun, bounds_))
        inside = begun && inside;
      if (proves(inside, bounds_)) // below the condition of a tile
        continue;
      guard = guard.exists() ? guard && inside : inside;
    }
    Expr written = block.atomic ? term_of(block).value() : without_reducer_calls(block.body.value);
    Expr stored = value(written, bindings, axes, axes);
    kernel::Store made{storage(block.body.buffer),
                       indices(block.body.buffer, block.body.indices, bindings, axes),
                       block.async ? with_masked_address(stored) : stored, 1, block.async};
    if (block.atomic)
      made.atomic = block.reducer;
    kernel::Stmt store = kernel::make(std::move(made), origin);
    stmts.push_back(guard.exists() ? kernel::make(kernel::If{guard, store}, origin) : store);
    return kernel::make_seq(std::move(stmts));
  }

  void find_boxes() {
    if (std::ranges::none_of(blocks_of(program_.body), &Block::bulk))
      return;
    Placements placements(program_);
    for (const Block *block : blocks_of(program_.body))
      if (block->bulk) {
        auto found = copied_box(placements, *block);
        internal_check(std::holds_alternative<CopiedBox>(found), "the nest of a bulk copy is a box");
        CopiedBox &box = std::get<CopiedBox>(found);
        const Var first = box.loops.front();
        boxes_.emplace(first, Box{block, std::move(box)});
      }
  }

  /// The copy of a box in place of its loops, without a mask and without a guard. What is outside of the source
  /// is filled with zeros, and nothing reads it where the block has a guard. Of a store, what is outside of the
  /// array is not written, and a guard excludes nothing else.
  kernel::Stmt emit_bulk_copy(const Block &block, const CopiedBox &box) {
    for (const Var &loop : box.loops)
      loops_[loop] = Expr(0);
    for (const For *loop : loops_of(path_to(program_.body, block.id))) // between them, of one iteration
      loops_.emplace(loop->var, Expr(0));
    Values bindings;
    for (const IterVar &iter : block.iters)
      bindings[iter.var] = substitute(iter.binding, loops_);
    const auto &load = *block.body.value.as<Load>();
    const bool stores = is_bulk_store(block);
    const Buffer &array = stores ? block.body.buffer : load.buffer, &tile = tile_of_bulk(block);
    kernel::BulkCopy copy{.map = map_of(array, box),
                          .array = array,
                          .tile = storage(tile),
                          .indices =
                              indices(tile, stores ? load.indices : block.body.indices, bindings, bindings),
                          .start = {}};
    for (const Expr &index : stores ? block.body.indices : load.indices)
      copy.start.push_back(simplify(substitute(index, bindings), bounds_));
    const Origin origin = origin_of(std::vector{&block});
    if (stores)
      return kernel::make_seq({kernel::make(std::move(copy), origin),
                               kernel::make(kernel::Commit{{array}, kernel::Queue::stores}, origin)});
    const Var &pipelined = channels_[*role_].loop;
    copy.fill = {*role_, number_of_fill(pipelined, loops_.at(pipelined)),
                 multicast_loop(program_.body, block) != nullptr};
    return kernel::make(std::move(copy), origin);
  }

  std::size_t map_of(const Buffer &source, const CopiedBox &box) {
    std::int64_t &aligned = kernel_.aligned[source];
    aligned = std::max(aligned, bulk_alignment);
    return position_of({source, box.extents, box.swizzle}, kernel_.maps);
  }

  /// An asynchronous copy computes its address also where its mask is false, so the loads in the address need
  /// the mask, too.
  static Expr with_masked_address(const Expr &copy) {
    const auto *access = copy.as<Load>();
    if (!access || !access->mask.exists())
      return copy;
    std::vector<Expr> indices;
    for (const Expr &index : access->indices)
      indices.push_back(replace_nodes(index, [&](const Expr &node) {
        const auto *inner = node.as<Load>();
        if (!inner)
          return Expr();
        bool masked = inner->mask.exists();
        return load(inner->buffer, inner->indices, masked ? access->mask && inner->mask : access->mask,
                    masked ? inner->fill : constant(inner->buffer->dtype, 0));
      }));
    return load(access->buffer, indices, access->mask, access->fill);
  }

  Buffer storage(const Buffer &buffer) const {
    auto it = shrunk_.find(buffer);
    return it == shrunk_.end() ? buffer : it->second;
  }

  /// The indices of a global buffer are those of the block. Other temporaries are indexed relative to the start
  /// of their box.
  std::vector<Expr> indices(const Buffer &buffer, const std::vector<Expr> &logical, const Values &bindings,
                            const Values &axes) {
    std::vector<Expr> result;
    auto placement = placements_.find(buffer);
    if (placement != placements_.end() && placement->second.slots.count > 1) {
      const Slots &slots = placement->second.slots;
      Expr number = loops_.at(slots.loop);
      if (has_channel(slots.loop))
        number = number_of_fill(slots.loop, number);
      Expr slot = floormod(number, Expr(slots.count));
      result.push_back(as_int(simplify(slot)) ? simplify(slot) : slot);
    }
    if (placement == placements_.end()) {
      for (const Expr &index : logical)
        result.push_back(simplify(value(index, bindings, axes, axes), bounds_));
      return result;
    }
    for (std::size_t d = 0; d < logical.size(); ++d) {
      Expr start = substitute(placement->second.region[d].min, loops_);
      Expr distance = simplify(value(logical[d], bindings, axes, bindings) - start, bounds_);
      result.push_back(packed(distance, placement->second.region[d].runs));
    }
    return result;
  }

  /// The position of an element among the elements of the runs.
  /// [rule.runs.digit] (s*a + r)//s = a, (s*a + r) % s = r where s > 0, 0 <= r, r < s
  Expr packed(const Expr &distance, const std::vector<Run> &runs) const {
    if (runs.empty())
      return distance;
    Expr number = 0, rest = distance;
    for (const Run &run : runs) {
      number = number * Expr(run.count) + floordiv(rest, Expr(run.step));
      rest = floormod(rest, Expr(run.step));
    }
    return simplify(number, bounds_);
  }

  /// Loads become loads of the storage, in terms of `axes`. Outside of loads, variables become `vars`.
  Expr value(const Expr &e, const Values &bindings, const Values &axes, const Values &vars) {
    return replace_nodes(e, [&](const Expr &node) {
      if (const auto *access = node.as<Load>()) {
        Expr mask =
            access->mask.exists() ? simplify(value(access->mask, bindings, axes, axes), bounds_) : Expr();
        Expr fill = access->fill.exists() ? value(access->fill, bindings, axes, axes) : Expr();
        return load(storage(access->buffer), indices(access->buffer, access->indices, bindings, axes), mask,
                    fill);
      }
      const Var *var = node.as<Var>();
      auto it = var ? vars.find(*var) : vars.end();
      return it == vars.end() ? Expr() : it->second;
    });
  }

  const Program &program_;
  const Schedule &schedule_;
  const std::map<Var, Var> &copied_from_;
  const std::optional<SomeBlocks> &blocks_; ///< none: all of them
  Kernel kernel_;
  /// Of the role that is emitted: its position, its number of threads, and the index of a thread among them.
  /// All of them are empty in a nest without roles.
  std::optional<std::size_t> role_;
  std::optional<std::int64_t> threads_;
  Expr thread_;
  std::vector<PlannedChannel> channels_;
  struct Box {
    const Block *block;
    CopiedBox box;
  };
  std::map<Var, Box> boxes_;             ///< of bulk copies, by the outermost loop that each replaces
  std::optional<StoresInFlight> stores_; ///< of the role that is emitted
  bool issues_ = false;                  ///< inside of a nest that only issues asynchronous copies
  int loops_around_ = 0;
  /// The marked loops around this place whose last block is one of the last blocks of a marked loop below, and
  /// the statements after each.
  std::vector<std::pair<const For *, std::span<const Stmt>>> after_groups_;
  Values loops_;
  Bounds bounds_;
  std::map<Axis, Expr> parts_;         ///< variables of the warp and the lane
  std::vector<kernel::Stmt> declared_; ///< their declarations
  std::map<Buffer, Buffer> shrunk_;
  std::map<Buffer, Placement> placements_;
  std::vector<SharedArray> shared_; ///< in the order of `kernel_.shared`
};

} // namespace

/// The program of the thread blocks with this value, in which these loops have fewer iterations, and skip none.
static Program program_of(const Unit &unit, const std::vector<ShortenedLoop> &loops, std::size_t value) {
  Program program = unit.program();
  for (const ShortenedLoop &ends : loops) {
    const Path path = path_to(program.body, ends.loop->var);
    For loop = *as<For>(path.back());
    loop.extent = Expr(ends.extents[value]);
    std::get<Serial>(loop.form).skipping = false;
    program.body = replace(program.body, path.back(), make_for(std::move(loop)));
  }
  return program;
}

void extract(std::vector<Unit> &units) {
  std::vector<Unit> kernels;
  for (Unit &unit : units) {
    // The guards are those of the schedule: `fill_tails` may have removed them.
    const std::vector<ShortenedLoop> loops = shortened_loops(unit.schedule.program(), unit.program().body);
    if (loops.empty()) {
      unit.nest = Extractor(unit, unit.program(), std::nullopt).run();
      kernels.push_back(std::move(unit));
      continue;
    }
    std::map<Var, Buffer> counters;
    for (std::size_t value = 0; value < loops.front().extents.size(); ++value) {
      const Program program = program_of(unit, loops, value);
      const SomeBlocks blocks{loops.front().by->var, static_cast<std::int64_t>(value), counters};
      kernels.push_back({unit.schedule, Extractor(unit, program, blocks).run(), value > 0 || unit.shares_launch,
                         unit.copied_from});
    }
  }
  units = std::move(kernels);
}

} // namespace nestsmith
