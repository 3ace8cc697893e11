#include "dsl/schedule/makers.h"

namespace nestsmith {

Makers::Makers(const Schedule &schedule) : schedule_(schedule) {
  for (std::size_t n = 0; n <= schedule.trace().size(); ++n)
    walk(schedule.step(n).body, [&](const Stmt &stmt) {
      if (const auto *loop = as<For>(stmt))
        loops_.emplace(loop->var, n);
      if (const auto *block = as<Block>(stmt)) {
        blocks_.emplace(block->id, n);
        buffers_.emplace(block->body.buffer->name, n);
      }
      return true;
    });
}

std::size_t Makers::directive_of(const OriginPart &part) const {
  auto found = [](const auto &steps, const auto &key) {
    auto it = steps.find(key);
    return it == steps.end() ? std::size_t{0} : it->second;
  };
  return std::visit(Overloaded{[&](const Var &loop) { return found(loops_, loop); },
                               [&](const BlockId &block) { return found(blocks_, block); },
                               [&](const InitOf &init) { return found(blocks_, init.block); },
                               [&](const Buffer &buffer) { return found(buffers_, buffer->name); }},
                    part);
}

Where Makers::where(const OriginPart &part) const {
  if (std::size_t number = directive_of(part); number > 0)
    return schedule_.trace()[number - 1].where;
  auto stage = [](const Stmt &root) {
    std::vector<const Block *> blocks = blocks_of(root);
    return blocks.empty() ? Where() : blocks.front()->id->where;
  };
  return std::visit(Overloaded{[&](const Var &loop) {
                                 Path path = path_to(schedule_.source().body, loop);
                                 return path.empty() ? Where() : stage(path.back());
                               },
                               [](const BlockId &block) { return block->where; },
                               [](const InitOf &init) { return init.block->where; },
                               [&](const Buffer &buffer) {
                                 for (const Block *block : blocks_of(schedule_.source().body))
                                   if (block->body.buffer->name == buffer->name)
                                     return block->id->where;
                                 return Where();
                               }},
                    part);
}

Layout layout_in(const Program &program, const Buffer &buffer) {
  for (const Block *block : blocks_of(program.body))
    if (const Buffer &written = block->body.buffer; written->name == buffer->name && written->layout)
      return *written->layout;
  return {};
}

} // namespace nestsmith
