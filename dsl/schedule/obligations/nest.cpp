#include "dsl/schedule/obligations/nest.h"

#include "dsl/ir/fill_tails.h"
#include "dsl/ir/region.h"
#include "dsl/schedule/makers.h"

#include <algorithm>

namespace nestsmith::owed {

namespace {

Program as_program(const Program &program, const Stmt &nest) {
  Program alone = program;
  alone.body = nest;
  return alone;
}

bool is_complete(const Program &nest) {
  std::vector<Buffer> written = temporaries(nest);
  for (const Block *block : blocks_of(nest.body))
    for (const Load *access : loads_of(*block))
      if (access->buffer->scope != Scope::global && std::ranges::find(written, access->buffer) == written.end())
        return false;
  return true;
}

} // namespace

NestFacts::NestFacts(const Schedule &schedule, const Stmt &nest)
    : schedule(schedule), target(schedule.target()), placements(as_program(schedule.program(), nest)),
      program(placements.program()), bounds(placements.bounds()), blocks(blocks_of(program.body)),
      extents(axis_extents(nest)), lasts(find_last_blocks(nest)), complete(is_complete(program)) {}

Placements &NestFacts::after_filling() {
  if (!after_filling_) {
    Program all = with_filled_tails(program);
    bool fills = all.body != program.body;
    after_filling_ = fills ? &filled_.emplace(all) : &placements;
  }
  return *after_filling_;
}

std::vector<const For *> NestFacts::loops_around(const Block &block) const {
  return loops_of(path_to(program.body, block.id));
}

bool NestFacts::is_last_along(const Block &block, Axis axis) const {
  return std::ranges::any_of(
      lasts, [&](const LastBlock &last) { return last.is_one_along(axis) && last.is_after(block); });
}

BlockId NestFacts::writer_of(const Buffer &buffer) const {
  for (const Block *block : blocks)
    if (block->body.buffer == buffer)
      return block->id;
  return nullptr;
}

std::vector<Var> NestFacts::lasting_loops(const Buffer &buffer) {
  std::vector<Var> loops;
  if (buffer->scope == Scope::shared)
    for (const For *loop : placements.of(buffer).loops)
      if (!loop->axis() || !is_thread(*loop->axis()))
        loops.push_back(loop->var);
  return loops;
}

bool is_around(const std::vector<const For *> &loops, Axis axis) {
  return std::ranges::any_of(loops,
                             [&](const For *loop) { return loop->axis() && determines(*loop->axis(), axis); });
}

std::vector<Expr> written_element(const NestFacts &nest, const Block &block) {
  return in_loops(block.body.indices, block, nest.bounds);
}

std::size_t last_to_set_scope(const Schedule &schedule, const BlockId &block) {
  return last_change(schedule, [&](const Program &program) {
    const Block *found = find_block(program.body, block);
    return found ? std::optional(found->body.buffer->scope) : std::nullopt;
  });
}

Obligation about_block(const Schedule &schedule, const BlockId &block, std::string message) {
  return {std::move(message), last_to_set_scope(schedule, block), block ? block->name : ""};
}

Obligation about_loop(const Schedule &schedule, const Var &loop, std::string message) {
  return {std::move(message), last_to_annotate(schedule, loop), loop->name};
}

std::size_t last_to_annotate(const Schedule &schedule, const Var &loop) {
  return last_change(schedule, [&](const Program &program) {
    const For *found = find_loop(program.body, loop);
    bool annotated = found && (found->axis() || found->over_lanes());
    return annotated ? std::optional(std::pair(name(found->form), found->axis())) : std::nullopt;
  });
}

} // namespace nestsmith::owed
