#include "dsl/hardware/cluster.h"

#include "dsl/hardware/bulk_copy.h"
#include "dsl/ir/allocation.h"
#include "dsl/ir/last_block.h"

#include <fmt/format.h>
#include <map>

namespace nestsmith {

std::int64_t blocks_of_cluster(const Stmt &nest) {
  const std::map<Axis, std::int64_t> extents = axis_extents(nest);
  const auto cluster = extents.find(Axis::cluster);
  return cluster == extents.end() ? 1 : cluster->second;
}

const For *multicast_loop(const Stmt &nest, const Block &block) {
  const For *outer = nullptr;
  for (const For *loop : loops_of(path_to(nest, block.id)))
    if (loop->axis() == Axis::cluster && as_int(loop->extent) != 1) {
      if (outer)
        return loop;
      outer = loop;
    }
  return nullptr;
}

std::optional<ClusterBreach> find_cluster_breach(const Stmt &nest) {
  if (blocks_of_cluster(nest) == 1)
    return std::nullopt;
  for (const Block *block : blocks_of(nest)) {
    const For *loop = multicast_loop(nest, *block);
    if (!loop)
      continue;
    const std::string &name = block->id->name;
    if (!block->bulk || is_bulk_store(*block))
      return ClusterBreach{
          fmt::format(
              "block {} is below two loops that are bound to cluster, so each thread block would write a "
              "part of {} for all of its cluster, but only bulk copies to shared memory can; use "
              "bulk_copy, or leave {} serial",
              name, block->body.buffer->name, loop->var->name),
          block->id};
    if (const std::vector<LastBlock> lasts = find_last_blocks(nest); !lasts.empty())
      return ClusterBreach{
          fmt::format("the blocks of a cluster copy parts of {} for each other, and the last block of {} "
                      "continues after them, expected no last block in such a nest; leave {} serial",
                      block->body.buffer->name, lasts.front().loop->var->name, loop->var->name),
          block->id};
  }
  return std::nullopt;
}

} // namespace nestsmith
