#include "lowering/copies_in_flight.h"

#include <algorithm>

namespace nestsmith {

std::vector<Buffer> tiles_of(const std::vector<const Block *> &copies) {
  std::vector<Buffer> tiles;
  for (const Block *copy : copies)
    if (std::ranges::find(tiles, copy->body.buffer) == tiles.end())
      tiles.push_back(copy->body.buffer);
  return tiles;
}

void add_reads(std::vector<kernel::Hazard> &hazards, const Block &copy, const Stmt &stmt,
               std::vector<const Block *> &ordered) {
  const Buffer &tile = copy.body.buffer;
  for (const Block *reader : blocks_of(stmt))
    if (reads(*reader, tile)) {
      kernel::add_hazards(hazards, {{kernel::Hazard::Kind::read_after_write, tile, reader->body.buffer}});
      ordered.insert(ordered.end(), {&copy, reader});
    }
}

void CopiesInFlight::add(const Stmt &nest) {
  for (const Block *block : blocks_of(nest))
    blocks.push_back(block);
}

bool CopiesInFlight::must_land_before(const Stmt &stmt) const {
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

void CopiesInFlight::land(std::span<const Stmt> rest, std::vector<kernel::Stmt> &stmts) {
  if (blocks.empty())
    return;
  std::vector<kernel::Hazard> hazards;
  std::vector<const Block *> ordered = blocks;
  for (const Block *copy : blocks)
    for (const Stmt &stmt : rest)
      add_reads(hazards, *copy, stmt, ordered);
  stmts.push_back(kernel::make(kernel::Wait{0, hazards}, origin_of(ordered)));
  blocks.clear();
}

} // namespace nestsmith
