#include "dsl/allocation.h"
#include "dsl/async_copy.h"
#include "dsl/error.h"
#include "dsl/printer.h"
#include "lowering/hazards.h"
#include "lowering/launch_axes.h"
#include "lowering/unit.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <span>

namespace nestsmith {

namespace {

using kernel::Kernel;

class Extractor {
public:
  Extractor(const Program &program, const Target &target) : program_(program), target_(target) {}

  Kernel run() {
    kernel_.name = program_.name;
    kernel_.params = program_.params;
    kernel_.scalars = program_.scalars;
    kernel_.min_blocks = program_.min_blocks;
    for (const Var &size : program_.sizes)
      kernel_.sizes.push_back({size, size});
    kernel_.indices = indices_of(program_, target_);
    kernel_.assumptions = assumptions_of(program_, kernel_.indices);
    for (const kernel::ThreadIndex &index : kernel_.indices)
      set_range(bounds_, index);
    walk(program_.body, [&](const Stmt &stmt) {
      if (const auto *loop = as<For>(stmt); loop && loop->axis())
        loops_[loop->var] = index_of(*loop);
      return true;
    });
    Placements placements(program_);
    for (const Buffer &buffer : temporaries(program_))
      if (buffer->scope != Scope::global) // global temporaries are parameters
        allocate(placements.of(buffer));
    const auto *seq = as<Seq>(program_.body);
    kernel::Stmt body = seq ? emit_all(seq->stmts) : emit_all({&program_.body, 1});
    declared_.push_back(std::move(body));
    kernel_.body = kernel::make_seq(std::move(declared_));
    return std::move(kernel_);
  }

private:
  using Values = std::map<Var, Expr>;

  void allocate(const Placement &placement) {
    const Buffer &buffer = placement.buffer;
    std::vector<Expr> shape;
    std::vector<std::int64_t> tile = placement.box();
    if (placement.slots.count > 1)
      shape.emplace_back(placement.slots.count);
    shape.insert(shape.end(), tile.begin(), tile.end());
    std::string layout = describe(buffer->layout);
    auto shrunk = std::make_shared<const BufferNode>(
        BufferNode{buffer->name, buffer->dtype, shape, buffer->scope, Role::temporary, buffer->layout});
    (buffer->scope == Scope::shared ? kernel_.shared : kernel_.local)
        .push_back(
            {shrunk, 0, note_of(buffer, tile, layout, placement.slots.count), tile, 0, placement.slots.count});
    shrunk_[buffer] = shrunk;
    placements_.emplace(buffer, placement);
  }

  /// "64 x 8 tile of A" if a copy of A fills the buffer, "… part of C" if a copy writes it to C.
  std::string note_of(const Buffer &buffer, const std::vector<std::int64_t> &tile, const std::string &layout,
                      std::int64_t slots) const {
    return what_it_holds(buffer, tile) + (layout.empty() ? "" : ", " + layout) +
           (slots > 1 ? fmt::format(", for {} iterations in flight", slots) : "");
  }

  std::string what_it_holds(const Buffer &buffer, const std::vector<std::int64_t> &tile) const {
    for (const Block *block : blocks_of(program_.body)) {
      const auto *access = block->body.value.as<Load>();
      if (access && block->body.buffer == buffer)
        return fmt::format("{} tile of {}", fmt::join(tile, " x "), origin(access->buffer)->name);
      if (access && access->buffer == buffer)
        return fmt::format("{} part of {}", fmt::join(tile, " x "), block->body.buffer->name);
    }
    return fmt::format("{} results of one {}", fmt::join(tile, " x "),
                       buffer->scope == Scope::local  ? "thread"
                       : buffer->scope == Scope::warp ? "warp"
                                                      : "block");
  }

  /// The source of a tile that is copied through registers.
  Buffer origin(const Buffer &buffer) const {
    for (const Block *block : blocks_of(program_.body))
      if (const auto *access = block->body.value.as<Load>();
          access && block->body.buffer == buffer && access->buffer != buffer)
        return in_registers(buffer->scope) ? origin(access->buffer) : buffer;
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
    Copies copies;
    for (std::size_t n = 0; n < children.size(); ++n) {
      bool issues = !issues_ && is_async_nest(children[n]);
      if (!issues && copies.must_land_before(children[n]))
        land(copies, children.subspan(n), stmts);
      issues_ = issues_ || issues;
      stmts.push_back(emit(children[n]));
      issues_ = issues_ && !issues;
      if (issues) {
        copies.add(children[n]);
        if (n + 1 == children.size() || !is_async_nest(children[n + 1]))
          stmts.push_back(kernel::make(kernel::Commit{copies.names()}));
      }
      const auto *loop = as<For>(children[n]);
      if (!loop || !loop->last_block() || n + 1 == children.size())
        continue;
      kernel::Arrive arrive = arrival(*loop);
      kernel::Stmt rest = emit_all(children.subspan(n + 1));
      stmts.push_back(kernel::make(arrive));
      stmts.push_back(
          kernel::make(kernel::If{arrive.last, "all blocks of " + loop->var->name + " have arrived", rest}));
      break;
    }
    land(copies, {}, stmts);
    return kernel::make_seq(std::move(stmts));
  }

  /// Asynchronous copies in flight, outside of a pipeline.
  struct Copies {
    std::vector<const Block *> blocks;

    void add(const Stmt &nest) {
      for (const Block *block : blocks_of(nest))
        blocks.push_back(block);
    }
    std::string names() const { return names_of(blocks); }

    /// Whether the statement uses a tile in flight, writes the source of a copy, or has groups of its own.
    bool must_land_before(const Stmt &stmt) const {
      if (blocks.empty())
        return false;
      const auto *loop = as<For>(stmt);
      return (loop && loop->last_block()) || std::ranges::any_of(blocks_of(stmt), [&](const Block *block) {
               return block->async || std::ranges::any_of(blocks, [&](const Block *copy) {
                        return touches(*block, copy->body.buffer) ||
                               block->body.buffer == copy->body.value.as<Load>()->buffer;
                      });
             });
    }
  };

  static std::string names_of(const std::vector<const Block *> &copies) {
    std::vector<std::string> names;
    for (const Block *copy : copies)
      if (std::ranges::find(names, copy->body.buffer->name) == names.end())
        names.push_back(copy->body.buffer->name);
    return fmt::format("{}", fmt::join(names, ", "));
  }

  /// Waits for all copies, before the statements `rest`.
  static void land(Copies &copies, std::span<const Stmt> rest, std::vector<kernel::Stmt> &stmts) {
    if (copies.blocks.empty())
      return;
    std::vector<kernel::Hazard> hazards;
    for (const Block *copy : copies.blocks)
      for (const Stmt &stmt : rest)
        add_reads(hazards, *copy, stmt);
    stmts.push_back(kernel::make(kernel::Wait{0, kernel::describe(hazards, "copied"), hazards}));
    copies.blocks.clear();
  }

  /// Adds the reads of the tile of `copy` below `stmt`.
  static void add_reads(std::vector<kernel::Hazard> &hazards, const Block &copy, const Stmt &stmt) {
    const Buffer &tile = copy.body.buffer;
    for (const Block *reader : blocks_of(stmt))
      if (reads(*reader, tile))
        kernel::add_hazards(
            hazards, {{kernel::Hazard::Kind::read_after_write, tile->name, reader->body.buffer->name, "", 0}});
  }

  /// The arrival after the loop. There is one counter for each iteration of the loops around it, which are
  /// bound to the other block axes.
  kernel::Arrive arrival(const For &loop) {
    Expr index = 0, count = 1;
    for (auto other = kernel_.indices.rbegin(); other != kernel_.indices.rend(); ++other)
      if (!is_thread(other->axis) && other->axis != *loop.axis()) {
        index = index * other->extent + Expr(other->var);
        count = count * other->extent;
      }
    auto counters = std::make_shared<const BufferNode>(
        BufferNode{"arrived", DType::u32, {simplify(count)}, Scope::global, Role::temporary});
    kernel_.params.push_back(counters);
    return {make_var("last", DType::boolean), counters, simplify(index, bounds_), loop.extent, *loop.axis()};
  }

  kernel::Stmt emit_loop(const For &loop) {
    if (as_int(loop.extent) == 1) {
      loops_[loop.var] = Expr(0);
      return emit(loop.body);
    }
    if (loop.axis())
      return emit(loop.body);
    Var var = make_var(loop.var->name);
    bounds_.set_extent(var, loop.extent);
    kernel::Loop made{var, loop.extent, form_of(loop), nullptr};
    if (!loop.pipeline().empty())
      return emit_pipeline(loop, std::move(made));
    loops_[loop.var] = var;
    made.body = loop.reversed_by() ? emit_reversed(loop, var) : emit(loop.body);
    return kernel::make(std::move(made));
  }

  /// The body of a loop that runs backwards in odd iterations of an outer loop.
  /// [rule.snake] 0 <= e - 1 - x, e - 1 - x < e, e - 1 - (e - 1 - x) = x where 0 <= x, x < e
  kernel::Stmt emit_reversed(const For &loop, const Var &var) {
    Var turned = make_var(loop.var->name);
    bounds_.set_extent(turned, loop.extent);
    loops_[loop.var] = turned;
    Expr forwards = equal(floormod(loops_.at(loop.reversed_by()), Expr(2)), Expr(0));
    Expr backwards = Expr(as_int(loop.extent).value() - 1) - var;
    kernel::Stmt index = kernel::make(kernel::Declare{turned, select(forwards, var, backwards)});
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
    return index_on(*loop.axis());
  }
  /// 0 if the axis has one index only.
  Expr index_on(Axis axis) const {
    for (const kernel::ThreadIndex &index : kernel_.indices)
      if (index.axis == axis)
        return index.var;
    return 0;
  }

  /// The variable of the warp or of the lane, which is declared at the start of the kernel.
  Expr part_of_warps(Axis axis) {
    if (auto known = parts_.find(axis); known != parts_.end())
      return known->second;
    std::int64_t warps = kernel_.extent(Axis::thread_x) / lanes_per_warp;
    if (axis == Axis::warp && warps == 1)
      return 0;
    Expr thread = index_on(Axis::thread_x);
    Var part = make_var(axis == Axis::warp ? "warp" : "lane");
    bounds_.set_extent(part, Expr(axis == Axis::warp ? warps : lanes_per_warp));
    Expr value =
        axis == Axis::warp ? floordiv(thread, Expr(lanes_per_warp)) : floormod(thread, Expr(lanes_per_warp));
    declared_.push_back(kernel::make(kernel::Declare{part, simplify(value, bounds_)}));
    return parts_[axis] = part;
  }
  /// A nest of stage s executes iteration t - s in step t. The steps before the last stage's first iteration
  /// are the prologue. In the loop (the steady state) earlier stages run ahead while iterations remain.
  kernel::Stmt emit_pipeline(const For &loop, kernel::Loop made) {
    std::vector<StagedNest> nests = staged_nests(loop);
    std::int64_t last = last_stage(nests);
    std::vector<kernel::Stmt> stmts, steady;
    for (std::int64_t step = 0; step < last; ++step)
      emit_step(loop, nests, nullptr, step, stmts);
    if (const StagedNest *joined = find_joined(nests))
      emit_begin_of_joined(loop, nests, *joined, stmts);
    emit_step(loop, nests, &made.var, last, steady);
    made.body = kernel::make_seq(std::move(steady));
    stmts.push_back(kernel::make(std::move(made)));
    return kernel::make_seq(std::move(stmts));
  }

  /// Step number `step` of the prologue, or step `*var + step` of the steady state. A step with asynchronous
  /// copies first waits for the tiles that it reads. It ends one group, which is empty if there is no iteration
  /// left to copy for: so the waits can count groups.
  void emit_step(const For &loop, const std::vector<StagedNest> &nests, const Var *var, std::int64_t step,
                 std::vector<kernel::Stmt> &stmts) {
    std::vector<const Block *> copies;
    const StagedNest *last = nullptr;
    for (const StagedNest &nest : nests)
      if (!issues_ && is_async_nest(nest.stmt)) {
        std::ranges::copy(blocks_of(nest.stmt), std::back_inserter(copies));
        last = &nest;
      }
    const StagedNest *joined = find_joined(nests);
    wait_for_stages(
        nests, step, [&](const StagedNest &reader) { return &reader != joined; }, stmts);
    auto commit_after = [&](const StagedNest *nest) {
      if (last && nest == last)
        stmts.push_back(kernel::make(kernel::Commit{names_of(copies)}));
    };
    for (const StagedNest &nest : nests) {
      if (&nest == joined && var) {
        emit_whole_steps(loop, nest, {&nest + 1, &nests.back() + 1}, *var, step, stmts);
        commit_after(last > &nest ? last : nullptr);
        return emit_last_steps(loop, nests, nest, *var, stmts);
      }
      if (nest.stage <= step)
        stmts.push_back(emit_staged(loop, nest, nest.stmt, var, step));
      commit_after(&nest);
    }
  }

  /// A nest of a pipeline, or a part of it, in a step as above.
  kernel::Stmt emit_staged(const For &loop, const StagedNest &nest, const Stmt &part, const Var *var,
                           std::int64_t step) {
    bool issues = !issues_ && is_async_nest(nest.stmt);
    issues_ = issues_ || issues;
    kernel::Stmt made = emit_iteration(loop, part, var, step - nest.stage);
    issues_ = issues_ && !issues;
    return made;
  }

  /// The nest of a loop that is joined with the pipeline; null if there is none.
  static const StagedNest *find_joined(const std::vector<StagedNest> &nests) {
    for (const StagedNest &nest : nests)
      if (const auto *inner = as<For>(nest.stmt); inner && inner->joined())
        return &nest;
    return nullptr;
  }

  /// The prologue of the joined loop for the first iteration of the loop around it.
  void emit_begin_of_joined(const For &loop, const std::vector<StagedNest> &nests, const StagedNest &joined,
                            std::vector<kernel::Stmt> &stmts) {
    const For &inner = *as<For>(joined.stmt);
    std::vector<StagedNest> steps = staged_nests(inner);
    wait_for_stages(
        nests, joined.stage, [&](const StagedNest &reader) { return &reader == &joined; }, stmts);
    for (std::int64_t step = 0; step < last_stage(steps); ++step)
      for (const StagedNest &nest : steps)
        if (nest.stage <= step) {
          loops_[inner.var] = Expr(step - nest.stage);
          stmts.push_back(emit_iteration(loop, nest.stmt, nullptr, 0));
        }
  }

  /// The nests of a step of the joined loop that execute iteration `var` of the loop around it.
  void emit_nests(const For &loop, const For &inner, std::span<const StagedNest> nests, const Expr &step,
                  const Var &var, std::vector<kernel::Stmt> &stmts) {
    std::int64_t ahead = last_stage(staged_nests(inner));
    for (const StagedNest &nest : nests) {
      loops_[inner.var] = step + Expr(ahead - nest.stage);
      stmts.push_back(emit_iteration(loop, nest.stmt, &var, 0));
    }
  }

  /// The steps of the joined loop that execute only iteration `var` of the loop around it. The nests `later` of
  /// the outer pipeline execute after the nests that run ahead: in the last of these steps, or spread over
  /// them.
  void emit_whole_steps(const For &loop, const StagedNest &joined, std::span<const StagedNest> later,
                        const Var &var, std::int64_t step, std::vector<kernel::Stmt> &stmts) {
    const For &inner = *as<For>(joined.stmt);
    std::vector<StagedNest> nests = staged_nests(inner);
    std::int64_t ahead = last_stage(nests), whole = as_int(inner.extent).value() - ahead;
    auto last_stage = std::ranges::find(nests, ahead, &StagedNest::stage);
    auto emit_one = [&](const Expr &at, bool last, std::vector<kernel::Stmt> &body) {
      emit_nests(loop, inner, {nests.begin(), last_stage}, at, var, body);
      for (const StagedNest &nest : later)
        if (const auto *spread = as<For>(nest.stmt); spread && spread->spread())
          emit_part(*spread, at, whole, body,
                    [&] { return emit_staged(loop, nest, spread->body, &var, step); });
        else if (last)
          body.push_back(emit_staged(loop, nest, nest.stmt, &var, step));
      emit_nests(loop, inner, {last_stage, nests.end()}, at, var, body);
    };
    bool last_differs = std::ranges::any_of(later, [](const StagedNest &nest) {
      const auto *child = as<For>(nest.stmt);
      return !child || !child->spread();
    });
    if (std::int64_t n = last_differs ? whole - 1 : whole; n == 1)
      emit_one(Expr(0), false, stmts);
    else if (n > 1) {
      kernel::Loop made{make_var(inner.var->name), Expr(n), kernel::Unrolled{}, nullptr};
      bounds_.set_extent(made.var, made.extent);
      std::vector<kernel::Stmt> body;
      emit_one(Expr(made.var), false, body);
      made.body = kernel::make_seq(std::move(body));
      stmts.push_back(kernel::make(std::move(made)));
    }
    if (last_differs)
      emit_one(Expr(whole - 1), true, stmts);
  }

  /// The iterations of a spread loop that belong to step `at` of `steps`.
  void emit_part(const For &spread, const Expr &at, std::int64_t steps, std::vector<kernel::Stmt> &stmts,
                 FunctionRef<kernel::Stmt()> emit_body) {
    std::int64_t count = as_int(spread.extent).value();
    std::int64_t each = (count + steps - 1) / steps, distance = std::max<std::int64_t>(steps / count, 1);
    kernel::Loop several{make_var(spread.var->name), Expr(each), kernel::Unrolled{}, nullptr};
    bounds_.set_extent(several.var, several.extent);
    Expr number = each == 1 ? floordiv(at, Expr(distance)) : at * Expr(each) + Expr(several.var);
    Expr exists = simplify(number < Expr(count) && equal(floormod(at, Expr(distance)), Expr(0)), bounds_);
    number = simplify(number, bounds_);
    if (proves(logical_not(exists), bounds_))
      return;
    std::vector<kernel::Stmt> body;
    loops_[spread.var] = number;
    if (!as_int(number)) {
      Var var = make_var(spread.var->name);
      bounds_.set_extent(var, spread.extent);
      body.push_back(kernel::make(kernel::Declare{var, number}));
      loops_[spread.var] = var;
    }
    body.push_back(emit_body());
    several.body = kernel::make_seq(std::move(body));
    if (!proves(exists, bounds_))
      several.body = kernel::make(kernel::If{exists, "a part of " + spread.var->name, several.body});
    stmts.push_back(each == 1 ? several.body : kernel::make(std::move(several)));
  }

  /// The last steps of the joined loop. They execute nests of the next iteration of the loop around it, and so
  /// wait for the tiles of that iteration.
  void emit_last_steps(const For &loop, const std::vector<StagedNest> &nests, const StagedNest &joined,
                       const Var &var, std::vector<kernel::Stmt> &stmts) {
    const For &inner = *as<For>(joined.stmt);
    std::vector<StagedNest> steps = staged_nests(inner);
    std::int64_t ahead = last_stage(steps), extent = as_int(inner.extent).value();
    wait_for_stages(
        nests, joined.stage, [&](const StagedNest &reader) { return &reader == &joined; }, stmts);
    for (std::int64_t step = extent - ahead; step < extent; ++step)
      for (const StagedNest &nest : steps) {
        std::int64_t at = step + ahead - nest.stage;
        loops_[inner.var] = Expr(at % extent);
        stmts.push_back(emit_iteration(loop, nest.stmt, &var, at / extent));
      }
  }

  static std::int64_t last_stage(const std::vector<StagedNest> &nests) {
    std::int64_t last = 0;
    for (const StagedNest &nest : nests)
      last = std::max(last, nest.stage);
    return last;
  }

  /// Waits for the tiles that the nests read for which `reads` is true. A copy of stage w for iteration i is in
  /// the group of step i + w. A nest of stage r reads it in step i + r. At the begin of this step, r - w - 1
  /// later groups exist.
  void wait_for_stages(const std::vector<StagedNest> &nests, std::int64_t step,
                       FunctionRef<bool(const StagedNest &)> reads, std::vector<kernel::Stmt> &stmts) {
    kernel::Wait wait;
    std::optional<std::int64_t> pending;
    for (const StagedNest &copy : nests)
      for (const StagedNest &reader : nests)
        if (!issues_ && is_async_nest(copy.stmt) && reader.stage <= step && reads(reader))
          for (const Block *block : blocks_of(copy.stmt)) {
            std::size_t known = wait.hazards.size();
            add_reads(wait.hazards, *block, reader.stmt);
            std::int64_t later = reader.stage - copy.stage - 1;
            if (wait.hazards.size() != known)
              pending = std::min(pending.value_or(later), later);
          }
    if (!pending)
      return;
    internal_check(*pending >= 0, "a tile is read in the step in which it is copied");
    wait.pending = *pending;
    wait.note = kernel::describe(wait.hazards, "copied");
    stmts.push_back(kernel::make(std::move(wait)));
  }

  /// A nest of a pipelined loop for the iteration `ahead`, or for the iteration `*step + ahead`, guarded unless
  /// that iteration provably exists. Below the guard, the range of the step is shorter.
  kernel::Stmt emit_iteration(const For &loop, const Stmt &nest, const Var *step, std::int64_t ahead) {
    Expr iteration = step ? Expr(*step) + Expr(ahead) : Expr(ahead);
    Expr exists = iteration < loop.extent;
    if (proves(logical_not(exists), bounds_))
      return nullptr;
    bool guarded = !proves(exists, bounds_);
    loops_[loop.var] = iteration;
    if (step && guarded)
      bounds_.set_extent(*step, simplify(loop.extent - Expr(ahead)));
    kernel::Stmt stmt = emit(nest);
    if (step)
      bounds_.set_extent(*step, loop.extent);
    return guarded ? kernel::make(kernel::If{exists, "", stmt}) : stmt;
  }

  kernel::Stmt emit_block(const Block &block) {
    internal_check(!block.init, "an init is left after lower_init");
    std::vector<kernel::Stmt> stmts;
    Values axes;
    Expr guard;
    std::string guarded;
    for (const IterVar &iter : block.iters) {
      Expr value = simplify(substitute(iter.binding, loops_), bounds_);
      if (!value.as<Var>() && !as_int(value)) {
        Var var = make_var(iter.var->name);
        bounds_.set(var, range_of(value, bounds_).value());
        stmts.push_back(kernel::make(kernel::Declare{var, value}));
        value = var;
      }
      axes[iter.var] = value;
      if (!iter.guarded)
        continue;
      Expr inside = value < iter.extent;
      if (Expr begun = Expr(0) <= value; !proves(begun, bounds_))
        inside = begun && inside;
      guard = guard.exists() ? guard && inside : inside;
      guarded += (guarded.empty() ? "" : ", ") + iter.var->name;
    }
    kernel::Stmt store = kernel::make(
        kernel::Store{storage(block.body.buffer), indices(block.body.buffer, block.body.indices, block, axes),
                      value(block.body.value, block, axes, axes), "", 1, block.async});
    stmts.push_back(guard.exists() ? kernel::make(kernel::If{guard, "", store}) : store);
    return kernel::make_seq(std::move(stmts));
  }

  Buffer storage(const Buffer &buffer) const {
    auto it = shrunk_.find(buffer);
    return it == shrunk_.end() ? buffer : it->second;
  }

  /// The indices of a global buffer are those of the block. Other temporaries are indexed relative to the start
  /// of their box.
  std::vector<Expr> indices(const Buffer &buffer, const std::vector<Expr> &logical, const Block &block,
                            const Values &axes) {
    std::vector<Expr> result;
    auto placement = placements_.find(buffer);
    if (placement != placements_.end() && placement->second.slots.count > 1) {
      const Slots &slots = placement->second.slots;
      Expr slot = floormod(loops_.at(slots.loop), Expr(slots.count));
      result.push_back(as_int(simplify(slot)) ? simplify(slot) : slot);
    }
    if (placement == placements_.end()) {
      for (const Expr &index : logical)
        result.push_back(simplify(value(index, block, axes, axes), bounds_));
      return result;
    }
    Values bindings;
    for (const IterVar &iter : block.iters)
      bindings[iter.var] = substitute(iter.binding, loops_);
    for (std::size_t d = 0; d < logical.size(); ++d) {
      Expr start = substitute(placement->second.region[d].min, loops_);
      Expr distance = simplify(value(logical[d], block, axes, bindings) - start, bounds_);
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
  Expr value(const Expr &e, const Block &block, const Values &axes, const Values &vars) {
    return replace_nodes(e, [&](const Expr &node) {
      if (const auto *access = node.as<Load>()) {
        Expr mask = access->mask.exists() ? simplify(value(access->mask, block, axes, axes), bounds_) : Expr();
        Expr fill = access->fill.exists() ? value(access->fill, block, axes, axes) : Expr();
        return load(storage(access->buffer), indices(access->buffer, access->indices, block, axes), mask, fill);
      }
      const Var *var = node.as<Var>();
      auto it = var ? vars.find(*var) : vars.end();
      return it == vars.end() ? Expr() : it->second;
    });
  }

  const Program &program_;
  const Target &target_;
  Kernel kernel_;
  bool issues_ = false; ///< inside of a nest that only issues asynchronous copies
  Values loops_;
  Bounds bounds_;
  std::map<Axis, Expr> parts_;         ///< variables of the warp and the lane
  std::vector<kernel::Stmt> declared_; ///< their declarations
  std::map<Buffer, Buffer> shrunk_;
  std::map<Buffer, Placement> placements_;
};

} // namespace

void extract(Unit &unit) {
  unit.kernel = Extractor(unit.program, unit.schedule.target()).run();
  unit.extracted = true;
}

} // namespace nestsmith
