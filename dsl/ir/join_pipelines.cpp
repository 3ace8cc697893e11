#include "dsl/ir/allocation.h"
#include "dsl/ir/pipeline.h"

#include <algorithm>
#include <fmt/format.h>

namespace nestsmith {

namespace {

/// Checks the loop `inner`, which is directly below `outer`.
class JoinChecker {
public:
  JoinChecker(const Program &program, const For &outer, const For &inner)
      : outer_(outer), inner_(inner), nests_(staged_nests(outer)), steps_(staged_nests(inner)),
        all_(blocks_of(program.body)), inside_(blocks_of(inner.body)) {
    last_ = last_stage(steps_);
  }

  std::optional<PipelineBreach> run() {
    check_place();
    check_steps();
    for (const StagedNest &nest : steps_)
      if (nest.stage < last_)
        for (const Block *block : blocks_of(nest.stmt))
          check_early(*block);
    return breach_;
  }

private:
  void fail(const char *requirement, std::string message, std::vector<std::string> culprits) {
    if (!breach_)
      breach_ = {requirement, std::move(message), std::move(culprits), false};
  }
  const std::string &name() const { return inner_.var->name; }

  const StagedNest &own() const {
    return *std::ranges::find_if(nests_, [&](const StagedNest &nest) { return as<For>(nest.stmt) == &inner_; });
  }

  void check_place() {
    for (const StagedNest &nest : nests_) {
      if (&nest == &own())
        continue;
      const Block &block = *blocks_of(nest.stmt).front();
      if (nest.stage >= own().stage)
        fail("join_pipelines.last",
             fmt::format(
                 "in the pipeline of {}, the nest of {} has the stage {}, and block {} has {}; give {} the "
                 "last stage",
                 outer_.var->name, name(), own().stage, block.id->name, nest.stage, name()),
             {name(), block.id->name});
      if (nest.order > own().order)
        for (const Block *late : blocks_of(nest.stmt))
          check_between(*late);
    }
  }

  /// The block executes before the last steps of this loop, and so must not conflict with them.
  void check_between(const Block &block) {
    for (const Block *step : inside_)
      for (const Buffer &buffer : {block.body.buffer, step->body.buffer})
        if (touches(block, buffer) && touches(*step, buffer) && !each_iteration_its_own(buffer))
          fail("join_pipelines.between",
               fmt::format(
                   "block {} would {} {} before the last steps of {}, in which block {} {} it; give {} an "
                   "earlier order of {} than {}",
                   block.id->name, block.body.buffer == buffer ? "write" : "read", buffer->name, name(),
                   step->id->name, access_verb(*step, buffer), block.id->name, outer_.var->name, name()),
               {block.id->name, step->id->name});
  }

  /// Steps that overlap use different copies of the buffer.
  bool each_iteration_its_own(const Buffer &buffer) const {
    return buffer->scope == Scope::shared && is_private(buffer, blocks_of(outer_.body));
  }

  void check_steps() {
    std::int64_t extent = *as_int(inner_.extent), copies = 1;
    for (const Block *block : inside_)
      if (in_registers(block->body.buffer->scope) && is_private(block->body.buffer))
        copies = std::max(copies, slots_of(block->body.buffer, {&inner_}).count);
    if (extent <= last_ || extent % copies != 0)
      fail("join_pipelines.steps",
           fmt::format(
               "the loop {} has {} iterations, {} stages and {} cop{} of its registers; expected at least {} "
               "iterations, and a multiple of {}",
               name(), extent, last_ + 1, copies, copies == 1 ? "y" : "ies", last_ + 1, copies),
           {name()});
  }

  bool is_private(const Buffer &buffer) const { return is_private(buffer, inside_); }
  /// Whether only these blocks access the buffer.
  bool is_private(const Buffer &buffer, const std::vector<const Block *> &blocks) const {
    return std::ranges::all_of(all_, [&](const Block *block) {
      return !touches(*block, buffer) || std::ranges::find(blocks, block) != blocks.end();
    });
  }

  /// The block runs ahead, in the iteration of the outer loop before its own.
  void check_early(const Block &block) {
    const Buffer &buffer = block.body.buffer;
    if (!in_registers(buffer->scope) || !is_private(buffer))
      fail("join_pipelines.early",
           fmt::format(
               "block {} would write {} ({} memory) for the next iteration of {} while this one may use it; "
               "expected registers that only blocks below {} use",
               block.id->name, buffer->name, nestsmith::name(buffer->scope), outer_.var->name, name()),
           {block.id->name});
    for (const Load *access : loads_of(block))
      if (const Block *writer = late_writer(access->buffer))
        fail("join_pipelines.early",
             fmt::format(
                 "block {} would read {} for the next iteration of {} before block {} writes it; give {} an "
                 "earlier stage of {} than {}",
                 block.id->name, access->buffer->name, outer_.var->name, writer->id->name, writer->id->name,
                 outer_.var->name, name()),
             {block.id->name, writer->id->name});
  }

  /// A block that may write the buffer too late, or null.
  const Block *late_writer(const Buffer &buffer) const {
    for (const Block *writer : all_) {
      if (writer->body.buffer != buffer)
        continue;
      bool inside = std::ranges::find(inside_, writer) != inside_.end();
      bool before = std::ranges::any_of(nests_, [&](const StagedNest &nest) {
        return nest.stage < own().stage && find_block(nest.stmt, writer->id);
      });
      bool private_copy = buffer->role == Role::temporary && buffer->scope != Scope::global;
      if (!(private_copy && (before || (inside && is_private(buffer)))))
        return writer;
    }
    return nullptr;
  }

  const For &outer_, &inner_;
  std::vector<StagedNest> nests_, steps_; ///< of the outer loop; of the inner loop
  std::vector<const Block *> all_, inside_;
  std::int64_t last_ = 0; ///< stage of the inner loop
  std::optional<PipelineBreach> breach_;
};

/// The pipelined loop of which `loop` is the outermost loop of a nest; null if there is none.
const For *pipeline_around(const Program &program, const For &loop) {
  std::vector<const For *> around = loops_of(path_to(program.body, loop.var));
  around.pop_back();
  const For *outer = around.empty() ? nullptr : around.back();
  bool direct =
      outer && !outer->pipeline().empty() &&
      std::ranges::any_of(nests_of(outer->body), [&](const Stmt &nest) { return as<For>(nest) == &loop; });
  return direct ? outer : nullptr;
}

/// The iterations of the spread nest would execute before the nest `earlier`, which executes in the last step
/// of the joined loop or is spread too. So the two nests must not conflict. In one step, nests of different
/// stages execute different iterations of the outer loop, and these use different copies of private shared
/// memory.
std::optional<PipelineBreach> find_overtaking(const Program &program, const For &outer,
                                              const StagedNest &earlier, const StagedNest &spread) {
  std::vector<const Block *> all = blocks_of(program.body), below = blocks_of(outer.body);
  auto has_copies = [&](const Buffer &buffer) {
    return buffer->scope == Scope::shared && earlier.stage != spread.stage &&
           std::ranges::all_of(all, [&](const Block *block) {
             return !touches(*block, buffer) || std::ranges::find(below, block) != below.end();
           });
  };
  for (const Block *first : blocks_of(earlier.stmt))
    for (const Block *second : blocks_of(spread.stmt))
      for (const Buffer &buffer : {first->body.buffer, second->body.buffer})
        if (touches(*first, buffer) && touches(*second, buffer) && !has_copies(buffer))
          return PipelineBreach{
              "spread.order",
              fmt::format("parts of {} would execute before block {}, but block {} {} {}, which block {} {}; "
                          "leave the loop {} as it is",
                          as<For>(spread.stmt)->var->name, first->id->name, second->id->name,
                          access_verb(*second, buffer), buffer->name, first->id->name,
                          first->body.buffer == buffer ? "writes" : "reads", as<For>(spread.stmt)->var->name),
              {second->id->name, first->id->name}};
  return std::nullopt;
}

bool is_joined(const StagedNest &nest) {
  const auto *loop = as<For>(nest.stmt);
  return loop && loop->joined();
}

} // namespace

PipelineStep pipeline_step(const For &loop) {
  std::vector<StagedNest> nests = staged_nests(loop);
  PipelineStep step;
  step.last_stage = last_stage(nests);
  auto joined = std::ranges::find_if(nests, is_joined);
  for (auto nest = nests.begin(); nest != joined; ++nest)
    step.nests.push_back({*nest});
  step.begin_of_joined = step.nests.size();
  if (joined == nests.end())
    return step;
  step.joined = as<For>(joined->stmt);
  std::vector<StagedNest> inner = staged_nests(*step.joined);
  step.last_inner = last_stage(inner);
  auto computing = std::ranges::find(inner, step.last_inner, &StagedNest::stage);
  auto add_inner = [&](auto begin, auto end) {
    for (auto nest = begin; nest != end; ++nest)
      step.nests.push_back({{nest->stmt, joined->stage, nest->order}, nest->stage});
  };
  add_inner(inner.begin(), computing);
  for (auto nest = std::next(joined); nest != nests.end(); ++nest) {
    const auto *outermost = as<For>(nest->stmt);
    step.nests.push_back({*nest, std::nullopt, outermost && outermost->spread() ? outermost : nullptr});
  }
  add_inner(computing, inner.end());
  return step;
}

std::optional<PipelineBreach> find_join_breach(const Program &program, const For &inner) {
  const For *outer = pipeline_around(program, inner);
  if (!outer)
    return PipelineBreach{
        "join_pipelines.nested",
        fmt::format("the loop {} is not directly below a pipelined loop; use pipeline for the loop "
                    "around it first",
                    inner.var->name),
        {inner.var->name},
        false};
  return JoinChecker(program, *outer, inner).run();
}

std::optional<PipelineBreach> find_spread_breach(const Program &program, const For &loop) {
  const std::string &name = loop.var->name;
  const For *outer = pipeline_around(program, loop);
  if (!outer)
    return PipelineBreach{
        "spread.nest",
        fmt::format("the loop {} is not the outermost loop of a nest in a pipelined loop; name a loop directly "
                    "below the loop of the pipeline",
                    name),
        {name}};
  std::vector<StagedNest> nests = staged_nests(*outer);
  auto own = std::ranges::find_if(nests, [&](const StagedNest &nest) { return as<For>(nest.stmt) == &loop; });
  auto joined = std::find_if(nests.begin(), own, is_joined);
  if (joined == own)
    return PipelineBreach{"spread.joined",
                          fmt::format("in the pipeline of {}, no nest with an earlier order than that of {} is "
                                      "joined; give {} a later order, and use join_pipelines first",
                                      outer->var->name, name, name),
                          {outer->var->name, name}};
  for (auto earlier = std::next(joined); earlier != own; ++earlier)
    if (auto breach = find_overtaking(program, *outer, *earlier, *own))
      return breach;
  return std::nullopt;
}

} // namespace nestsmith
