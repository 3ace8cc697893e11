#include "dsl/ir/pipeline.h"

#include "dsl/expr/error.h"
#include "dsl/ir/allocation.h"
#include "dsl/ir/region.h"

#include <algorithm>
#include <fmt/format.h>
#include <set>
#include <tuple>

namespace nestsmith {

namespace {

const BlockStage *stage_of(const For &loop, const BlockId &block) {
  auto it = std::find_if(loop.pipeline().begin(), loop.pipeline().end(),
                         [&](const BlockStage &x) { return x.block == block; });
  return it == loop.pipeline().end() ? nullptr : &*it;
}

/// The time at which one iteration of a nest runs: the step, the order of the nest, and the position of the
/// nest in the loop.
using Time = std::tuple<std::int64_t, std::int64_t, std::size_t>;

class Checker {
public:
  Checker(const Program &program, const For &loop)
      : program_(program), loop_(loop), children_(nests_of(loop.body)), all_(blocks_of(program.body)),
        below_(blocks_of(loop.body)) {
    for (const Stmt &child : children_)
      nests_.push_back(blocks_of(child));
    for (const Block *block : all_)
      loads_.push_back(loads_of(*block));
  }

  std::optional<PipelineBreach> run() {
    check_blocks();
    if (!breach_)
      check_nests();
    bool in_steps = !breach_;
    std::vector<Buffer> seen;
    for (const Block *block : below_) {
      if (breach_)
        break;
      const Buffer &buffer = block->body.buffer;
      if (std::find(seen.begin(), seen.end(), buffer) == seen.end())
        check_buffer(buffer);
      seen.push_back(buffer);
    }
    if (breach_)
      breach_->in_steps = in_steps;
    return breach_;
  }

private:
  void fail(const char *requirement, std::string message, std::vector<std::string> culprits) {
    if (!breach_)
      breach_ = {requirement, std::move(message), std::move(culprits), false};
  }

  const std::string &name() const { return loop_.var->name; }

  void check_blocks() {
    for (const Block *block : below_)
      if (!stage_of(loop_, block->id))
        fail("pipeline.blocks",
             fmt::format("block {} is below {} but has no stage; name every block below the loop once, and "
                         "move blocks there before pipeline",
                         block->id->name, name()),
             {block->id->name, name()});
    for (const BlockStage &x : loop_.pipeline())
      if (!find_block(loop_.body, x.block))
        fail_outside(x.block);
  }

  /// Reports a block that is not in the loop. A common mistake has its own message: the block reads a sum over
  /// the loop.
  void fail_outside(const BlockId &id) {
    const Block *outside = find_block(program_.body, id);
    if (outside)
      for (const Block *block : below_)
        if (reads(*outside, block->body.buffer) && sums_over_loop(*block))
          return fail(
              "pipeline.blocks",
              fmt::format(
                  "block {} reads {}, which {} sums over {}: it is complete only after the last iteration, so "
                  "{} does not belong to the loop; keep it after the loop and out of the pipeline",
                  id->name, block->body.buffer->name, block->id->name, name(), id->name),
              {id->name, block->id->name, name()});
    fail("pipeline.blocks",
         fmt::format("block {} is not below {}; name only the blocks below the loop", id->name, name()),
         {id->name, name()});
  }

  bool sums_over_loop(const Block &block) const {
    return std::any_of(block.iters.begin(), block.iters.end(), [&](const IterVar &iter) {
      return iter.kind == IterKind::reduction && nestsmith::uses(iter.binding, loop_.var);
    });
  }

  void check_nests() {
    if (children_.size() < 2)
      return fail("pipeline.nests",
                  fmt::format("the body of {} is one nest, expected at least 2 that can overlap; first move "
                              "the producers of its operands below {} with compute_at",
                              name(), name()),
                  {name()});
    for (const auto &blocks : nests_) {
      const BlockStage &first = *stage_of(loop_, blocks.front()->id);
      for (const Block *block : blocks)
        if (const BlockStage &own = *stage_of(loop_, block->id);
            own.stage != first.stage || own.order != first.order)
          fail("pipeline.together",
               fmt::format("the blocks {} and {} share a nest below {}, so they run together, but have the "
                           "stages {} and {} and the orders {} and {}; give both the same stage and order",
                           blocks.front()->id->name, block->id->name, name(), first.stage, own.stage,
                           first.order, own.order),
               {blocks.front()->id->name, block->id->name});
    }
  }

  Time time(std::size_t child, std::int64_t iteration) const {
    const BlockStage &x = *stage_of(loop_, nests_[child].front()->id);
    return {iteration + x.stage, x.order, child};
  }

  /// Whether each iteration can have its own copy of the buffer: it is a shared or local temporary, and no
  /// block outside of the loop uses it.
  bool is_private(const Buffer &buffer) const {
    if (buffer->role != Role::temporary || buffer->scope == Scope::global)
      return false;
    auto users = [&](const std::vector<const Block *> &blocks) {
      return std::count_if(blocks.begin(), blocks.end(), [&](const Block *x) { return uses(*x, buffer); });
    };
    return users(all_) == users(below_);
  }

  void check_buffer(const Buffer &buffer) {
    bool each_its_own = is_private(buffer);
    for (std::size_t p = 0; p < children_.size(); ++p)
      for (std::size_t q = p + 1; q < children_.size(); ++q) {
        bool turned = time(q, 0) < time(p, 0), overtaken = !each_its_own && time(p, 1) < time(q, 0);
        if (!turned && !overtaken)
          continue;
        for (const Block *first : nests_[p])
          for (const Block *second : nests_[q]) {
            if (breach_ || !conflict(*first, *second, buffer))
              continue;
            if (turned)
              fail_order(*first, *second, buffer, 0);
            else if (!apart(*first, *second, buffer))
              fail_order(*second, *first, buffer, 1);
          }
      }
    if (!breach_ && each_its_own && in_registers(buffer->scope))
      check_registers(buffer);
  }

  bool has_read(const Block &block, const Buffer &buffer) const {
    const auto &loads =
        loads_[static_cast<std::size_t>(std::find(all_.begin(), all_.end(), &block) - all_.begin())];
    return std::any_of(loads.begin(), loads.end(),
                       [&](const Load *access) { return access->buffer == buffer; });
  }
  bool uses(const Block &block, const Buffer &buffer) const {
    return block.body.buffer == buffer || has_read(block, buffer);
  }
  bool conflict(const Block &a, const Block &b, const Buffer &buffer) const {
    return (a.body.buffer == buffer && uses(b, buffer)) || (b.body.buffer == buffer && has_read(a, buffer));
  }

  /// Reports that the steps reverse two accesses. In the program, `early` comes first, and `late` follows
  /// `distance` iterations later.
  void fail_order(const Block &early, const Block &late, const Buffer &buffer, std::int64_t distance) {
    const BlockStage &a = *stage_of(loop_, early.id), &b = *stage_of(loop_, late.id);
    fail(distance == 0 ? "pipeline.order" : "pipeline.carried",
         fmt::format(
             "block {} {} {} in the iteration {} = 0 before block {} {} it in {} = {}, but stage {}, order {} "
             "against stage {}, order {} would reverse the two; {}",
             early.id->name, access_verb(early, buffer), buffer->name, name(), late.id->name,
             access_verb(late, buffer), name(), distance, a.stage, a.order, b.stage, b.order,
             distance == 0
                 ? fmt::format("give {} a later stage, or the same stage and a later order", late.id->name)
                 : fmt::format("{} is shared by all iterations: give both the same stage", buffer->name)),
         {early.id->name, late.id->name});
  }

  /// Whether different iterations touch different elements. This holds if, in some dimension, both blocks touch
  /// the same span, and each iteration moves the span by at least its length.
  bool apart(const Block &a, const Block &b, const Buffer &buffer) const {
    Bounds bounds = loop_bounds(program_.body);
    std::set<Var> inside;
    walk(loop_.body, [&](const Stmt &stmt) {
      if (const auto *loop = as<For>(stmt))
        inside.insert(loop->var);
      return true;
    });
    auto touched = [&](const Block &block) {
      auto varies = [&](const Var &var) { return inside.count(var) > 0; };
      auto read = region_read(make_block(block), buffer, varies, bounds);
      auto written = region_written(make_block(block), buffer, varies, bounds);
      return read && written ? hull(*read, *written, buffer->shape, bounds) : (read ? *read : *written);
    };
    Region x = touched(a), y = touched(b);
    for (std::size_t d = 0; d < x.size(); ++d) {
      auto extent = as_int(x[d].extent);
      if (!extent || !same(x[d].min, y[d].min) || as_int(y[d].extent) != extent)
        continue;
      Expr next =
          substitute(x[d].min, [&](const Var &var) { return var == loop_.var ? Expr(var) + 1 : Expr(); });
      auto step = as_int(simplify(next - x[d].min, bounds));
      if (step && *step >= *extent)
        return true;
    }
    return false;
  }

  void check_registers(const Buffer &buffer) {
    Slots slots = slots_of(buffer, {&loop_});
    if (slots.count > 1 && !loop_.is<Unrolled>())
      fail("pipeline.registers",
           fmt::format("{} is local and would need {} copies, selected by {}, but registers have no dynamic "
                       "index; order its readers before its writers and one stage apart, use the same stage, "
                       "or unroll {} before pipeline",
                       buffer->name, slots.count, name(), name()),
           {name()});
  }

  const Program &program_;
  const For &loop_;
  std::vector<Stmt> children_;
  std::vector<const Block *> all_, below_;        ///< blocks of the program; of the loop
  std::vector<std::vector<const Block *>> nests_; ///< the blocks of each child
  std::vector<std::vector<const Load *>> loads_;  ///< the loads of each block of `all_`
  std::optional<PipelineBreach> breach_;
};

} // namespace

std::vector<StagedNest> staged_nests(const For &loop) {
  std::vector<StagedNest> nests;
  for (const Stmt &child : nests_of(loop.body)) {
    const BlockStage *x = stage_of(loop, blocks_of(child).front()->id);
    internal_check(x != nullptr, "a nest of a pipelined loop has no stage");
    nests.push_back({child, x->stage, x->order});
  }
  std::stable_sort(nests.begin(), nests.end(), [](const auto &a, const auto &b) { return a.order < b.order; });
  return nests;
}

std::int64_t last_stage(const std::vector<StagedNest> &nests) {
  std::int64_t last = 0;
  for (const StagedNest &nest : nests)
    last = std::max(last, nest.stage);
  return last;
}

std::optional<PipelineBreach> find_pipeline_breach(const Program &program, const For &loop) {
  return Checker(program, loop).run();
}

std::optional<PipelineBreach> find_pipeline_breach(const Program &program) {
  std::optional<PipelineBreach> breach;
  walk(program.body, [&](const Stmt &stmt) {
    const auto *loop = as<For>(stmt);
    if (loop && !loop->pipeline().empty() && !breach)
      breach = find_pipeline_breach(program, *loop);
    if (loop && loop->joined() && !breach)
      breach = find_join_breach(program, *loop);
    if (loop && loop->spread() && !breach)
      breach = find_spread_breach(program, *loop);
    return !breach;
  });
  return breach;
}

/// Iteration i writes its copy in step i + w, and reads it, or its calls in flight do, until step i + r.
/// The next iteration that uses the same copy, and every later one, writes it in a later step.
/// [rule.slots.lifetimes] i + r < i + c*(n + 1) + w where n >= 0, 0 <= w, w <= r, r - w + 1 <= c
Slots slots_of(const Buffer &buffer, const std::vector<const For *> &loops, bool of_role) {
  if (loops.empty() || loops.back()->pipeline().empty())
    return {};
  const For &loop = *loops.back();
  const BlockStage *first = nullptr;
  std::vector<const BlockStage *> users;
  for (const Block *block : blocks_of(loop.body))
    if (touches(*block, buffer)) {
      const BlockStage *x = stage_of(loop, block->id);
      internal_check(x != nullptr, "a block of a pipelined loop has no stage");
      users.push_back(x);
      if (block->body.buffer == buffer &&
          (!first || std::tuple(x->stage, x->order) < std::tuple(first->stage, first->order)))
        first = x;
    }
  std::int64_t count = 1;
  for (const BlockStage *x : users) {
    std::int64_t distance = x->stage + x->in_flight - first->stage;
    bool one_more = buffer->scope == Scope::shared || first->order <= x->order;
    count = std::max(count, distance + (distance > 0 && one_more ? 1 : 0));
  }
  if (auto most = of_role ? iterations_of(loops) : as_int(loop.extent))
    count = std::min(count, *most);
  return count > 1 ? Slots{count, loop.var} : Slots{};
}

std::optional<std::int64_t> iterations_of(const std::vector<const For *> &loops) {
  std::int64_t product = 1;
  for (const For *loop : loops)
    if (!loop->axis()) {
      const auto extent = as_int(loop->extent);
      if (!extent || __builtin_mul_overflow(product, *extent, &product))
        return std::nullopt;
    }
  return product;
}

} // namespace nestsmith
