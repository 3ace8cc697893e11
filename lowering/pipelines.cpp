#include "lowering/pipelines.h"

#include "dsl/expr/conjuncts.h"
#include "dsl/expr/error.h"
#include "dsl/hardware/async_copy.h"
#include "dsl/ir/pipeline.h"
#include "lowering/copies_in_flight.h"

#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <span>

namespace nestsmith {

namespace {

class PipelineEmitter {
public:
  PipelineEmitter(const For &loop, NestEmitter &nests)
      : program_(nests.program), loop_(loop), nests_(staged_nests(loop)), step_(pipeline_step(loop)),
        emit_(nests.emit), loops_(nests.loops), bounds_(nests.bounds), issues_(nests.issues),
        number_(nests.number), sides_(std::move(nests.sides)),
        runs_past_(nests.once && !as_int(loop.extent) && tiles_are_alone()) {}

  /// A nest of stage s executes iteration t - s in step t. The steps before the last stage's first iteration
  /// are the prologue. In the loop (the steady state) earlier stages run ahead while iterations remain.
  kernel::Stmt run(kernel::Loop made) {
    if (!sides_.empty() && sides_.front().fills)
      return fill(std::move(made));
    std::vector<kernel::Stmt> stmts, steady;
    for (std::int64_t number = 0; number < step_.last_stage; ++number)
      emit_step(nullptr, number, stmts);
    if (step_.joined) { // its prologue for the first iteration of the loop around it
      wait_for_stages(step_.last_stage, true, stmts);
      await_tiles(Expr(0), stmts);
      emit_inner_steps(0, step_.last_inner, nullptr, stmts);
    }
    emit_step(&made.var, step_.last_stage, steady);
    made.body = kernel::make_seq(std::move(steady));
    stmts.push_back(kernel::make(std::move(made), origin_of(std::vector{&loop_})));
    wait_for_fills(stmts);
    for (std::int64_t back = in_flight(); back > 0; --back) // the last groups of calls
      free_slot(loop_.extent, back, 0, stmts);
    return kernel::make_seq(std::move(stmts));
  }

private:
  /// The loop of a role that fills tiles. Each iteration waits for a free slot and fills it. The copies of
  /// several iterations are in flight; the last ones arrive while the other role awaits them.
  kernel::Stmt fill(kernel::Loop made) {
    const ChannelSide &side = sides_.front();
    loops_[loop_.var] = made.var;
    const Expr number = number_(made.var);
    const Origin origin = origin_of(blocks_of(loop_.body));
    std::vector<kernel::Stmt> body;
    if (side.reused)
      body.push_back(
          kernel::make(kernel::Await{side.channel, kernel::Event::freed, number, side.freed}, origin));
    const bool outside = std::exchange(issues_, true); // the signal ends the group
    for (const StagedNest &nest : nests_)
      body.push_back(emit_(nest.stmt));
    issues_ = outside;
    body.push_back(kernel::make(kernel::Signal{.channel = side.channel,
                                               .event = kernel::Event::filled,
                                               .number = number,
                                               .copies = side.copies,
                                               .stores = side.stores,
                                               .bulk_bytes = side.bulk_bytes},
                                origin));
    made.body = kernel::make_seq(std::move(body));
    return kernel::make(std::move(made), origin_of(std::vector{&loop_}));
  }

  /// Waits until the tiles of this iteration are filled by the other roles.
  void await_tiles(const Expr &iteration, std::vector<kernel::Stmt> &stmts) {
    std::vector<kernel::Stmt> awaits;
    for (const ChannelSide &side : sides_)
      awaits.push_back(
          kernel::make(kernel::Await{side.channel, kernel::Event::filled, number_(iteration), side.filled},
                       origin_of(blocks_of(loop_.body))));
    guard(iteration < loop_.extent, std::move(awaits), stmts);
  }

  /// Frees the slots of the iteration `end` - `back`, if there is one. `newer` groups of calls read other
  /// tiles.
  void free_slot(const Expr &end, std::int64_t back, std::int64_t newer, std::vector<kernel::Stmt> &stmts) {
    std::vector<kernel::Stmt> signals;
    for (const ChannelSide &side : sides_)
      if (side.reused)
        signals.push_back(kernel::make(kernel::Signal{.channel = side.channel,
                                                      .event = kernel::Event::freed,
                                                      .number = number_(end - Expr(back)),
                                                      .newer_groups = newer,
                                                      .hazards = side.freed},
                                       origin_of(blocks_of(loop_.body))));
    guard(Expr(back - 1) < end, std::move(signals), stmts);
  }

  /// Appends the statements, below the condition unless it provably holds.
  void guard(const Expr &condition, std::vector<kernel::Stmt> of, std::vector<kernel::Stmt> &stmts) {
    if (of.empty() || proves(logical_not(condition), bounds_))
      return;
    kernel::Stmt all = kernel::make_seq(std::move(of));
    stmts.push_back(proves(condition, bounds_)
                        ? all
                        : kernel::make(kernel::If{condition, all}, origin_of(blocks_of(loop_.body))));
  }

  std::int64_t in_flight() const {
    std::int64_t most = 0;
    for (const ChannelSide &side : sides_)
      most = std::max(most, side.in_flight);
    return most;
  }

  /// Whether the last steps of the joined loop only compute with registers, so that the whole steps have read
  /// the tiles.
  bool reads_first() const {
    return std::ranges::none_of(of_joined(), [&](const StepNest &x) {
      return x.inner_stage.value_or(0) > 0 &&
             std::ranges::any_of(blocks_of(x.nest.stmt), [&](const Block *block) {
               return std::ranges::any_of(
                   loads_of(*block), [](const Load *load) { return load->buffer->scope == Scope::shared; });
             });
    });
  }

  /// Step `number` of the prologue, or step `*var + number` of the steady state. A step with asynchronous
  /// copies first waits for the tiles that it reads. It ends one group, which is empty if there is no iteration
  /// left to copy for: so the waits can count groups. The nests of the joined loop come last. Its last steps
  /// execute nests of the next iteration of the loop around it, and so wait for the tiles of that iteration.
  void emit_step(const Var *var, std::int64_t number, std::vector<kernel::Stmt> &stmts) {
    std::vector<const Block *> copies;
    const StepNest *last = nullptr;
    for (const StepNest &x : step_.nests)
      if (!issues_ && !x.inner_stage && is_async_nest(x.nest.stmt)) {
        std::ranges::copy(blocks_of(x.nest.stmt), std::back_inserter(copies));
        last = &x;
      }
    auto commit = [&] { stmts.push_back(kernel::make(kernel::Commit{tiles_of(copies)}, origin_of(copies))); };
    wait_for_stages(number, false, stmts);
    if (var && !step_.joined)
      await_tiles(*var, stmts);
    for (const StepNest &x : var ? before_joined() : std::span<const StepNest>(step_.nests)) {
      if (!x.inner_stage && x.nest.stage <= number)
        stmts.push_back(emit_staged(x.nest, x.nest.stmt, var, number));
      if (&x == last)
        commit();
    }
    if (var && !step_.joined)
      free_slot(*var, in_flight(), in_flight(), stmts);
    if (!step_.joined || !var)
      return;
    emit_whole_steps(*var, number, stmts);
    if (last && last >= of_joined().data())
      commit();
    wait_for_stages(step_.last_stage, true, stmts);
    const bool early = reads_first();
    if (early)
      free_slot(*var, 0, 0, stmts);
    await_tiles(*var + Expr(1), stmts);
    std::int64_t extent = as_int(step_.joined->extent).value();
    emit_inner_steps(extent, extent + step_.last_inner, var, stmts);
    if (!early)
      free_slot(*var, 0, 0, stmts);
  }

  std::span<const StepNest> before_joined() const {
    return std::span(step_.nests).first(step_.begin_of_joined);
  }
  std::span<const StepNest> of_joined() const { return std::span(step_.nests).subspan(step_.begin_of_joined); }

  /// A nest of a pipeline, or a part of it, in a step as above.
  kernel::Stmt emit_staged(const StagedNest &nest, const Stmt &part, const Var *var, std::int64_t number) {
    bool issues = !issues_ && is_async_nest(nest.stmt);
    issues_ = issues_ || issues;
    kernel::Stmt made = emit_iteration(part, var, number - nest.stage);
    issues_ = issues_ && !issues;
    return made;
  }

  /// The nests of the joined loop in these steps. Iterations past its end are those of the next iteration of
  /// the loop around it.
  void emit_inner_steps(std::int64_t begin, std::int64_t end, const Var *var,
                        std::vector<kernel::Stmt> &stmts) {
    std::int64_t extent = as_int(step_.joined->extent).value();
    for (std::int64_t number = begin; number < end; ++number)
      for (const StepNest &x : of_joined())
        if (x.inner_stage && *x.inner_stage <= number) {
          std::int64_t iteration = number - *x.inner_stage;
          loops_[step_.joined->var] = Expr(iteration % extent);
          stmts.push_back(emit_iteration(x.nest.stmt, var, iteration / extent));
        }
  }

  /// The steps of the joined loop that execute only iteration `var` of the loop around it. The other nests
  /// among them execute after the nests that run ahead: in the last of these steps, or spread over them.
  void emit_whole_steps(const Var &var, std::int64_t number, std::vector<kernel::Stmt> &stmts) {
    const For &inner = *step_.joined;
    std::int64_t ahead = step_.last_inner, whole = as_int(inner.extent).value() - ahead;
    auto emit_one = [&](const Expr &at, bool last, std::vector<kernel::Stmt> &body) {
      for (const StepNest &x : of_joined())
        if (x.inner_stage) {
          loops_[inner.var] = at + Expr(ahead - *x.inner_stage);
          body.push_back(emit_iteration(x.nest.stmt, &var, 0));
        } else if (x.spread) {
          emit_part(*x.spread, at, whole, body,
                    [&] { return emit_staged(x.nest, x.spread->body, &var, number); });
        } else if (last) {
          body.push_back(emit_staged(x.nest, x.nest.stmt, &var, number));
        }
    };
    bool last_differs =
        std::ranges::any_of(of_joined(), [](const StepNest &x) { return !x.inner_stage && !x.spread; });
    if (std::int64_t n = last_differs ? whole - 1 : whole; n == 1)
      emit_one(Expr(0), false, stmts);
    else if (n > 1) {
      kernel::Loop made{make_var(name_in_kernel(*inner.var)), Expr(n), kernel::Unrolled{}, nullptr};
      bounds_.set_extent(made.var, made.extent);
      std::vector<kernel::Stmt> body;
      emit_one(Expr(made.var), false, body);
      made.body = kernel::make_seq(std::move(body));
      stmts.push_back(kernel::make(std::move(made), origin_of(std::vector{&inner})));
    }
    if (last_differs)
      emit_one(Expr(whole - 1), true, stmts);
  }

  /// The iterations of a spread loop that belong to step `at` of `steps`.
  void emit_part(const For &spread, const Expr &at, std::int64_t steps, std::vector<kernel::Stmt> &stmts,
                 FunctionRef<kernel::Stmt()> emit_body) {
    std::int64_t count = as_int(spread.extent).value();
    std::int64_t each = (count + steps - 1) / steps, distance = std::max<std::int64_t>(steps / count, 1);
    kernel::Loop several{make_var(name_in_kernel(*spread.var)), Expr(each), kernel::Unrolled{}, nullptr};
    bounds_.set_extent(several.var, several.extent);
    Expr number = each == 1 ? floordiv(at, Expr(distance)) : at * Expr(each) + Expr(several.var);
    Expr exists = simplify(number < Expr(count) && equal(floormod(at, Expr(distance)), Expr(0)), bounds_);
    number = simplify(number, bounds_);
    if (proves(logical_not(exists), bounds_))
      return;
    std::vector<kernel::Stmt> body;
    Origin origin = origin_of(std::vector{&spread});
    loops_[spread.var] = number;
    if (!as_int(number)) {
      Var var = make_var(name_in_kernel(*spread.var));
      bounds_.set_extent(var, spread.extent);
      body.push_back(kernel::make(kernel::Declare{var, number}, origin));
      loops_[spread.var] = var;
    }
    body.push_back(emit_body());
    several.body = kernel::make_seq(std::move(body));
    if (!proves(exists, bounds_))
      several.body = kernel::make(
          kernel::If{exists, several.body, nullptr, {kernel::Purpose::Kind::part, {spread.var}}}, origin);
    stmts.push_back(each == 1 ? several.body : kernel::make(std::move(several), origin));
  }

  /// Waits for the tiles that the joined loop reads, or those that the other nests read. A copy of stage w for
  /// iteration i is in the group of step i + w. A nest of stage r reads it in step i + r. At the begin of this
  /// step, r - w - 1 later groups exist.
  void wait_for_stages(std::int64_t number, bool joined, std::vector<kernel::Stmt> &stmts) {
    kernel::Wait wait;
    std::vector<const Block *> ordered;
    std::optional<std::int64_t> pending;
    for (const StagedNest &copy : nests_)
      for (const StagedNest &reader : nests_)
        if (!issues_ && is_async_nest(copy.stmt) && reader.stage <= number &&
            joined == (step_.joined && as<For>(reader.stmt) == step_.joined))
          for (const Block *block : blocks_of(copy.stmt)) {
            std::size_t known = wait.hazards.size();
            add_reads(wait.hazards, *block, reader.stmt, ordered);
            std::int64_t later = reader.stage - copy.stage - 1;
            if (wait.hazards.size() != known)
              pending = std::min(pending.value_or(later), later);
          }
    if (!pending)
      return;
    internal_check(*pending >= 0, "a tile is read in the step in which it is copied");
    wait.pending = *pending;
    stmts.push_back(kernel::make(std::move(wait), origin_of(ordered)));
  }

  /// Whether the nests of the loop copy to all shared arrays of the program. Then nothing accesses such an
  /// array after the loop.
  bool tiles_are_alone() const {
    return std::ranges::all_of(temporaries(program_), [&](const Buffer &buffer) {
      return buffer->scope != Scope::shared || std::ranges::any_of(nests_, [&](const StagedNest &nest) {
               return is_async_nest(nest.stmt) &&
                      std::ranges::any_of(blocks_of(nest.stmt),
                                          [&](const Block *block) { return block->body.buffer == buffer; });
             });
    });
  }

  /// Whether the copies of each iteration past the end of a loop, whose extent is known at launch, only fill:
  /// their mask excludes all elements. They need no guard then, which would be a branch between the products.
  /// No iteration reads what they fill.
  bool only_fills_past_end(const Stmt &nest) const {
    if (!runs_past_ || !is_async_nest(nest))
      return false;
    Var past = make_var("past");
    Bounds bounds = loop_bounds(program_.body);
    bounds.set(past, {0, std::numeric_limits<std::int32_t>::max()});
    auto past_end = [&](const Var &var) { return var == loop_.var ? loop_.extent + Expr(past) : Expr(); };
    return std::ranges::all_of(blocks_of(nest), [&](const Block *block) {
      const auto *access = block->body.value.as<Load>();
      if (!access || !access->mask.exists() || reads_memory(access->mask)) // past an end
        return false;
      Expr mask = substitute(access->mask, [&](const Var &var) {
        auto axis = std::ranges::find(block->iters, var, &IterVar::var);
        return axis == block->iters.end() ? Expr() : substitute(axis->binding, past_end);
      });
      return is_never_true(mask, bounds);
    });
  }

  /// Whether the condition of the guard can become a part of the masks of the copies: each executes in any
  /// case, and copies zeros past the end. A copy computes its address also where it copies zeros, so the
  /// address must not depend on memory.
  bool may_be_masked(const Stmt &nest) const {
    return runs_past_ && is_async_nest(nest) && std::ranges::all_of(blocks_of(nest), [](const Block *block) {
             const auto *access = block->body.value.as<Load>();
             return block->async && !block->bulk && access &&
                    std::ranges::none_of(access->indices, reads_memory);
           });
  }

  static kernel::Stmt with_mask(const kernel::Stmt &stmt, const Expr &condition) {
    const auto *copy = kernel::as<kernel::Store>(stmt);
    if (!copy || !copy->async)
      return kernel::map_children(stmt, [&](const kernel::Stmt &child) { return with_mask(child, condition); });
    const auto &access = *copy->value.as<Load>();
    kernel::Store masked = *copy;
    masked.value = load(access.buffer, access.indices, under_guard(condition, access.mask),
                        access.mask.exists() ? access.fill : constant(access.buffer->dtype, 0));
    return kernel::make(std::move(masked), stmt->origin);
  }

  static bool is_never_true(const Expr &condition, const Bounds &bounds) {
    return std::ranges::any_of(conjuncts_of(condition),
                               [&](const Expr &part) { return proves(logical_not(part), bounds); });
  }

  /// Waits until the copies of iterations past the end have filled their tiles.
  void wait_for_fills(std::vector<kernel::Stmt> &stmts) const {
    kernel::Wait wait;
    for (const Buffer &tile : tiles_of(filling_))
      wait.hazards.push_back({.kind = kernel::Hazard::Kind::end_after_write, .buffer = tile});
    if (!wait.hazards.empty())
      stmts.push_back(kernel::make(std::move(wait), origin_of(filling_)));
  }

  /// A nest of a pipelined loop for the iteration `ahead`, or for the iteration `*step + ahead`, guarded unless
  /// that iteration provably exists. Below the guard, the range of the step is shorter, unless the guard may be
  /// left out.
  kernel::Stmt emit_iteration(const Stmt &nest, const Var *step, std::int64_t ahead) {
    Expr iteration = step ? Expr(*step) + Expr(ahead) : Expr(ahead);
    Expr exists = iteration < loop_.extent;
    if (proves(logical_not(exists), bounds_))
      return nullptr;
    bool guarded = !proves(exists, bounds_);
    const bool has_mask = guarded && only_fills_past_end(nest),
               fills = has_mask || (guarded && may_be_masked(nest));
    if (fills) {
      guarded = false;
      std::ranges::copy(blocks_of(nest), std::back_inserter(filling_));
    }
    loops_[loop_.var] = iteration;
    if (step && guarded)
      bounds_.set_extent(*step, simplify(loop_.extent - Expr(ahead)));
    kernel::Stmt stmt = emit_(nest);
    if (fills && !has_mask)
      stmt = with_mask(stmt, exists);
    if (step)
      bounds_.set_extent(*step, loop_.extent);
    const kernel::Purpose purpose{fills ? kernel::Purpose::Kind::past : kernel::Purpose::Kind::none};
    return guarded || fills
               ? kernel::make(kernel::If{exists, stmt, nullptr, purpose}, origin_of(blocks_of(nest)))
               : stmt;
  }

  const Program &program_;
  const For &loop_;
  std::vector<StagedNest> nests_;
  PipelineStep step_;
  FunctionRef<kernel::Stmt(const Stmt &)> emit_;
  std::map<Var, Expr> &loops_;
  Bounds &bounds_;
  bool &issues_;
  FunctionRef<Expr(const Expr &)> number_;
  std::vector<ChannelSide> sides_;     ///< of the roles of the loop; empty: one role executes all nests
  std::vector<const Block *> filling_; ///< their copies of iterations past the end execute, and only fill
  bool runs_past_;                     ///< copies of iterations past the end may execute
};

} // namespace

kernel::Stmt emit_pipeline(const For &loop, kernel::Loop made, NestEmitter nests) {
  return PipelineEmitter(loop, nests).run(std::move(made));
}

} // namespace nestsmith
