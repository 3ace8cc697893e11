#include "lowering/pipelines.h"

#include "dsl/expr/error.h"
#include "dsl/hardware/async_copy.h"
#include "dsl/ir/pipeline.h"
#include "lowering/copies_in_flight.h"

#include <algorithm>
#include <fmt/format.h>
#include <span>

namespace nestsmith {

namespace {

class PipelineEmitter {
public:
  PipelineEmitter(const For &loop, NestEmitter &nests)
      : loop_(loop), emit_(nests.emit), loops_(nests.loops), bounds_(nests.bounds), issues_(nests.issues) {}

  /// A nest of stage s executes iteration t - s in step t. The steps before the last stage's first iteration
  /// are the prologue. In the loop (the steady state) earlier stages run ahead while iterations remain.
  kernel::Stmt run(kernel::Loop made) {
    std::vector<StagedNest> nests = staged_nests(loop_);
    std::int64_t last = last_stage(nests);
    std::vector<kernel::Stmt> stmts, steady;
    for (std::int64_t step = 0; step < last; ++step)
      emit_step(nests, nullptr, step, stmts);
    if (const StagedNest *joined = find_joined(nests))
      emit_begin_of_joined(nests, *joined, stmts);
    emit_step(nests, &made.var, last, steady);
    made.body = kernel::make_seq(std::move(steady));
    stmts.push_back(kernel::make(std::move(made), origin_of(std::vector{&loop_})));
    return kernel::make_seq(std::move(stmts));
  }

private:
  /// Step number `step` of the prologue, or step `*var + step` of the steady state. A step with asynchronous
  /// copies first waits for the tiles that it reads. It ends one group, which is empty if there is no iteration
  /// left to copy for: so the waits can count groups.
  void emit_step(const std::vector<StagedNest> &nests, const Var *var, std::int64_t step,
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
        stmts.push_back(kernel::make(kernel::Commit{names_of(copies)}, origin_of(copies)));
    };
    for (const StagedNest &nest : nests) {
      if (&nest == joined && var) {
        emit_whole_steps(nest, {&nest + 1, &nests.back() + 1}, *var, step, stmts);
        commit_after(last > &nest ? last : nullptr);
        return emit_last_steps(nests, nest, *var, stmts);
      }
      if (nest.stage <= step)
        stmts.push_back(emit_staged(nest, nest.stmt, var, step));
      commit_after(&nest);
    }
  }

  /// A nest of a pipeline, or a part of it, in a step as above.
  kernel::Stmt emit_staged(const StagedNest &nest, const Stmt &part, const Var *var, std::int64_t step) {
    bool issues = !issues_ && is_async_nest(nest.stmt);
    issues_ = issues_ || issues;
    kernel::Stmt made = emit_iteration(part, var, step - nest.stage);
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

  /// The outermost loop of the nest if it is spread, else null.
  static const For *spread_loop(const StagedNest &nest) {
    const auto *loop = as<For>(nest.stmt);
    return loop && loop->spread() ? loop : nullptr;
  }

  /// The prologue of the joined loop for the first iteration of the loop around it.
  void emit_begin_of_joined(const std::vector<StagedNest> &nests, const StagedNest &joined,
                            std::vector<kernel::Stmt> &stmts) {
    const For &inner = *as<For>(joined.stmt);
    std::vector<StagedNest> steps = staged_nests(inner);
    wait_for_stages(
        nests, joined.stage, [&](const StagedNest &reader) { return &reader == &joined; }, stmts);
    for (std::int64_t step = 0; step < last_stage(steps); ++step)
      for (const StagedNest &nest : steps)
        if (nest.stage <= step) {
          loops_[inner.var] = Expr(step - nest.stage);
          stmts.push_back(emit_iteration(nest.stmt, nullptr, 0));
        }
  }

  /// The nests of a step of the joined loop that execute iteration `var` of the loop around it.
  void emit_nests(const For &inner, std::span<const StagedNest> nests, const Expr &step, const Var &var,
                  std::vector<kernel::Stmt> &stmts) {
    std::int64_t ahead = last_stage(staged_nests(inner));
    for (const StagedNest &nest : nests) {
      loops_[inner.var] = step + Expr(ahead - nest.stage);
      stmts.push_back(emit_iteration(nest.stmt, &var, 0));
    }
  }

  /// The steps of the joined loop that execute only iteration `var` of the loop around it. The nests `later` of
  /// the outer pipeline execute after the nests that run ahead: in the last of these steps, or spread over
  /// them.
  void emit_whole_steps(const StagedNest &joined, std::span<const StagedNest> later, const Var &var,
                        std::int64_t step, std::vector<kernel::Stmt> &stmts) {
    const For &inner = *as<For>(joined.stmt);
    std::vector<StagedNest> nests = staged_nests(inner);
    std::int64_t ahead = last_stage(nests), whole = as_int(inner.extent).value() - ahead;
    auto computing = std::ranges::find(nests, ahead, &StagedNest::stage); // the nests of the last stage
    auto emit_one = [&](const Expr &at, bool last, std::vector<kernel::Stmt> &body) {
      emit_nests(inner, {nests.begin(), computing}, at, var, body);
      for (const StagedNest &nest : later)
        if (const For *spread = spread_loop(nest))
          emit_part(*spread, at, whole, body, [&] { return emit_staged(nest, spread->body, &var, step); });
        else if (last)
          body.push_back(emit_staged(nest, nest.stmt, &var, step));
      emit_nests(inner, {computing, nests.end()}, at, var, body);
    };
    bool last_differs = !std::ranges::all_of(later, spread_loop);
    if (std::int64_t n = last_differs ? whole - 1 : whole; n == 1)
      emit_one(Expr(0), false, stmts);
    else if (n > 1) {
      kernel::Loop made{make_var(inner.var->name), Expr(n), kernel::Unrolled{}, nullptr};
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
    kernel::Loop several{make_var(spread.var->name), Expr(each), kernel::Unrolled{}, nullptr};
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
      Var var = make_var(spread.var->name);
      bounds_.set_extent(var, spread.extent);
      body.push_back(kernel::make(kernel::Declare{var, number}, origin));
      loops_[spread.var] = var;
    }
    body.push_back(emit_body());
    several.body = kernel::make_seq(std::move(body));
    if (!proves(exists, bounds_))
      several.body = kernel::make(kernel::If{exists, "a part of " + spread.var->name, several.body}, origin);
    stmts.push_back(each == 1 ? several.body : kernel::make(std::move(several), origin));
  }

  /// The last steps of the joined loop. They execute nests of the next iteration of the loop around it, and so
  /// wait for the tiles of that iteration.
  void emit_last_steps(const std::vector<StagedNest> &nests, const StagedNest &joined, const Var &var,
                       std::vector<kernel::Stmt> &stmts) {
    const For &inner = *as<For>(joined.stmt);
    std::vector<StagedNest> steps = staged_nests(inner);
    std::int64_t ahead = last_stage(steps), extent = as_int(inner.extent).value();
    wait_for_stages(
        nests, joined.stage, [&](const StagedNest &reader) { return &reader == &joined; }, stmts);
    for (std::int64_t step = extent - ahead; step < extent; ++step)
      for (const StagedNest &nest : steps) {
        std::int64_t at = step + ahead - nest.stage;
        loops_[inner.var] = Expr(at % extent);
        stmts.push_back(emit_iteration(nest.stmt, &var, at / extent));
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
    std::vector<const Block *> ordered;
    std::optional<std::int64_t> pending;
    for (const StagedNest &copy : nests)
      for (const StagedNest &reader : nests)
        if (!issues_ && is_async_nest(copy.stmt) && reader.stage <= step && reads(reader))
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
    wait.note = kernel::describe(wait.hazards, "copied");
    stmts.push_back(kernel::make(std::move(wait), origin_of(ordered)));
  }

  /// A nest of a pipelined loop for the iteration `ahead`, or for the iteration `*step + ahead`, guarded unless
  /// that iteration provably exists. Below the guard, the range of the step is shorter.
  kernel::Stmt emit_iteration(const Stmt &nest, const Var *step, std::int64_t ahead) {
    Expr iteration = step ? Expr(*step) + Expr(ahead) : Expr(ahead);
    Expr exists = iteration < loop_.extent;
    if (proves(logical_not(exists), bounds_))
      return nullptr;
    bool guarded = !proves(exists, bounds_);
    loops_[loop_.var] = iteration;
    if (step && guarded)
      bounds_.set_extent(*step, simplify(loop_.extent - Expr(ahead)));
    kernel::Stmt stmt = emit_(nest);
    if (step)
      bounds_.set_extent(*step, loop_.extent);
    return guarded ? kernel::make(kernel::If{exists, "", stmt}, origin_of(blocks_of(nest))) : stmt;
  }

  const For &loop_;
  FunctionRef<kernel::Stmt(const Stmt &)> emit_;
  std::map<Var, Expr> &loops_;
  Bounds &bounds_;
  bool &issues_;
};

} // namespace

kernel::Stmt emit_pipeline(const For &loop, kernel::Loop made, NestEmitter nests) {
  return PipelineEmitter(loop, nests).run(std::move(made));
}

} // namespace nestsmith
