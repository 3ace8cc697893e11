#include "runtime/sim/orders.h"

#include "runtime/sim/cluster.h"
#include "runtime/sim/report.h"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>
#include <set>

namespace nestsmith::sim {

namespace {

constexpr std::int64_t few_blocks = 8, few_along_axis = 16;

/// The coordinate of a block on a dimension of the grid.
std::int64_t coordinate(const DecodedKernel &decoded, std::uint64_t block, std::size_t dimension) {
  auto rest = static_cast<std::int64_t>(block);
  for (std::size_t n = 0; n < dimension; ++n)
    rest /= decoded.grid[n];
  return rest % decoded.grid[dimension];
}

} // namespace

std::vector<BlockOrder> block_orders(const DecodedKernel &decoded, bool each_last) {
  std::vector<std::uint64_t> ascending(static_cast<std::size_t>(decoded.clusters()));
  std::iota(ascending.begin(), ascending.end(), 0);
  std::vector<BlockOrder> orders = {{"the blocks start in ascending order", ascending},
                                    {"the blocks start in descending order", ascending}};
  std::ranges::reverse(orders.back().blocks);
  if (!each_last)
    return orders;
  if (decoded.blocks <= few_blocks) { // the ascending and the descending order have two of them last
    for (std::int64_t last = 1; last < decoded.blocks - 1; ++last) {
      std::vector<std::uint64_t> turned = ascending;
      std::ranges::rotate(turned, turned.begin() + last + 1);
      orders.push_back(
          {fmt::format("{} starts last", block_text(decoded, static_cast<std::uint64_t>(last))), turned});
    }
    return orders;
  }
  std::set<std::size_t> dimensions;
  for (const Arrival &arrival : decoded.arrivals)
    dimensions.insert(arrival.dimension);
  for (std::size_t dimension : dimensions) {
    std::int64_t extent = decoded.grid[dimension];
    for (std::int64_t last = 1; extent <= few_along_axis && last < extent - 1; ++last) {
      std::vector<std::uint64_t> turned = ascending;
      auto turn = [&](std::uint64_t block) {
        return (coordinate(decoded, block, dimension) + extent - last - 1) % extent;
      };
      std::ranges::stable_sort(turned, {}, turn);
      orders.push_back(
          {fmt::format("the blocks with index {} on blockIdx.{} start last", last, "xyz"[dimension]),
           std::move(turned)});
    }
  }
  return orders;
}

OrderedRun run_in_order(const DecodedKernel &decoded, const std::vector<GlobalBuffer> &globals,
                        std::vector<std::vector<std::byte>> memory, const BlockOrder &order) {
  std::vector<GlobalBuffer> own(globals.size());
  for (std::size_t n = 0; n < own.size(); ++n) {
    own[n].data = memory[n].empty() ? globals[n].data : memory[n].data();
    own[n].elements = globals[n].elements;
    own[n].starts_written = globals[n].starts_written;
    own[n].written.assign(static_cast<std::size_t>(own[n].elements), 0);
  }
  Cluster cluster(decoded, own);
  for (std::uint64_t number : order.blocks)
    cluster.run(number);
  return {std::move(memory)};
}

} // namespace nestsmith::sim
