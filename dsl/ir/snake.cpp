#include "dsl/ir/snake.h"

#include "dsl/ir/region.h"

#include <algorithm>
#include <fmt/format.h>

namespace nestsmith {

namespace {

/// Whether different iterations of the loop write different elements, while the loops around it are fixed. A
/// block reads no element of its buffer but the one that it writes (Workload::update), so no iteration then
/// reads a result of another one.
bool writes_distinct(const Stmt &root, const For &loop, const Block &block) {
  Bounds bounds = loop_bounds(root);
  return determine(
      in_loops(block.body.indices, block, bounds), {loop.var},
      [&](const Var &var) { return var != loop.var && !find_loop(loop.body, var); }, bounds);
}

/// Whether `other` has the same loop with the same body, below loops with the same variables and extents: what
/// `find_breach_of` decides depends on nothing else.
bool stands_in(const Program &other, const Program &program, const For &loop) {
  if (find_loop(other.body, loop.var) != &loop)
    return false;
  return std::ranges::equal(
      loops_of(path_to(other.body, loop.var)), loops_of(path_to(program.body, loop.var)),
      [](const For *a, const For *b) { return a->var == b->var && a->extent.get() == b->extent.get(); });
}

std::optional<SnakeBreach> find_breach_of(const Program &program, const For &loop, const Var &around) {
  const std::string &name = loop.var->name;
  const For *outer = find_loop(program.body, around);
  if (!outer || outer->var == loop.var || !find_loop(outer->body, loop.var))
    return SnakeBreach{
        "snake.nested",
        fmt::format("the loop {} is not below {}, and only an outer loop can reverse it; name the "
                    "outer loop first, and keep the order of the loops",
                    name, around->name),
        {around->name, name}};
  auto blocks = blocks_of(loop.body);
  if (blocks.size() != 1)
    return SnakeBreach{
        "snake.alone",
        fmt::format("the loop {} contains {} blocks, and a loop that runs backwards contains exactly "
                    "one; choose a loop inside of {}",
                    name, blocks.size(), name),
        {name}};
  const Block &block = *blocks.front();
  if (!writes_distinct(program.body, loop, block))
    return SnakeBreach{
        "snake.distinct",
        fmt::format("the iterations of {} do not provably write distinct elements of {}, so their "
                    "order matters; choose a loop over one of its dimensions",
                    name, block.body.buffer->name),
        {name, block.id->name}};
  return std::nullopt;
}

} // namespace

std::optional<SnakeBreach> find_snake_breach(const Program &program, const Program *checked) {
  std::optional<SnakeBreach> breach;
  walk(program.body, [&](const Stmt &stmt) {
    const auto *loop = as<For>(stmt);
    if (Var around = loop ? loop->reversed_by() : nullptr;
        around && !breach && !(checked && stands_in(*checked, program, *loop)))
      breach = find_breach_of(program, *loop, around);
    return !breach;
  });
  return breach;
}

} // namespace nestsmith
