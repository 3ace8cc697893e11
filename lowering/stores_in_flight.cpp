#include "lowering/stores_in_flight.h"

#include "dsl/hardware/bulk_copy.h"
#include "dsl/ir/roles.h"
#include "lowering/hazards.h"

#include <algorithm>

namespace nestsmith {

using Kind = kernel::Hazard::Kind;

StoresInFlight::StoresInFlight(const Program &nest, std::optional<std::size_t> role)
    : nest_(nest), stores_(blocks_of(nest.body)) {
  std::erase_if(stores_,
                [&](const Block *block) { return !is_bulk_store(*block) || role_of(nest, block->id) != role; });
}

/// Whether the block writes its tile after the store has been issued: in the next iteration of a loop around
/// both, or because it follows the store.
bool StoresInFlight::writes_again(const Block &block, const Block &store) const {
  for (const Var &loop : common_loops(path_to(nest_.body, block.id), path_to(nest_.body, store.id)))
    if (const For &common = *find_loop(nest_.body, loop); !common.axis() && as_int(common.extent) != 1)
      return true;
  for (const Block *each : blocks_of(nest_.body))
    if (each->id == block.id || each->id == store.id)
      return each->id == store.id;
  return false;
}

kernel::Stmt StoresInFlight::wait_before(const Stmt &stmt) const {
  kernel::Wait wait{.pending = 0, .hazards = {}, .queue = kernel::Queue::stores};
  std::vector<const Block *> awaited;
  for (const Block *store : stores_) {
    const Buffer &tile = tile_of_bulk(*store);
    const std::vector<const Block *> blocks = blocks_of(stmt);
    const auto writer = std::ranges::find(blocks, tile, [](const Block *block) { return block->body.buffer; });
    if (writer == blocks.end() || find_block(stmt, store->id) || !writes_again(**writer, *store))
      continue;
    kernel::add_hazards(wait.hazards, {{Kind::write_after_read, tile, store->body.buffer}});
    awaited.push_back(store);
  }
  return awaited.empty() ? nullptr : kernel::make(std::move(wait), origin_of(awaited));
}

kernel::Stmt StoresInFlight::wait_at_end() const {
  kernel::Wait wait{.pending = 0, .hazards = {}, .queue = kernel::Queue::stores};
  for (const Block *store : stores_)
    kernel::add_hazards(wait.hazards, {{Kind::end_after_write, tile_of_bulk(*store), store->body.buffer}});
  return stores_.empty() ? nullptr : kernel::make(std::move(wait), origin_of(stores_));
}

} // namespace nestsmith
