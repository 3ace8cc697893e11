#include "dsl/expr/error.h"
#include "dsl/expr/shared_results.h"
#include "dsl/hardware/bulk_copy.h"
#include "dsl/ir/allocation.h"
#include "dsl/ir/layout.h"
#include "lowering/arena.h"
#include "lowering/calls_in_flight.h"
#include "lowering/combine_lanes.h"
#include "lowering/fences.h"
#include "lowering/split_tuples.h"
#include "lowering/unit.h"
#include "lowering/warp_calls.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>

namespace nestsmith::kernel {

namespace {

/// Divisions and remainders in the expression.
int divisions_in(const Expr &e) {
  int count = 0;
  walk_up(e, [&](const Expr &node) {
    const auto *binary = node.as<Binary>();
    count += binary && (binary->op == BinaryOp::floordiv || binary->op == BinaryOp::floormod);
  });
  return count;
}

/// The sum, or its simplified form if that has fewer divisions: i//50*50 + i%50 is i, for the indices i//50 and
/// i%50 of a loop that was fused.
Expr join_digits(const Expr &sum, const Bounds &bounds) {
  int divisions = divisions_in(sum);
  if (divisions == 0)
    return sum;
  Expr simple = simplify(sum, bounds);
  return divisions_in(simple) < divisions ? simple : sum;
}

/// The row-major offset.
Expr offset(const Buffer &buffer, const std::vector<Expr> &indices, const Bounds &bounds) {
  Expr result = indices.empty() ? Expr(0) : indices[0];
  if (buffer->strides) {
    result = 0;
    for (std::size_t d = 0; d < indices.size(); ++d)
      result = result + indices[d] * (*buffer->strides)[d];
    return join_digits(result, bounds);
  }
  for (std::size_t d = 1; d < indices.size(); ++d)
    result = join_digits(result * buffer->shape[d] + indices[d], bounds);
  return result;
}

class Flattener {
public:
  explicit Flattener(const Kernel &kernel) : bounds_(bounds_of(kernel)) {}

  void add(Allocation &allocation) {
    const Buffer &tile = allocation.buffer;
    std::vector<std::int64_t> box;
    for (const Expr &extent : tile->shape)
      box.push_back(as_int(extent).value());
    if (allocation.slots > 1)
      box.erase(box.begin());
    if (tile->scope != Scope::warp) // the obligations check the layout of a fragment
      check_invertible(*tile, box);
    PlacedLayout layout(*tile, box);
    allocation.tile = layout.extents();
    if (allocation.slots > 1)
      allocation.tile.insert(allocation.tile.begin(), allocation.slots);
    BufferNode flat = *tile;
    std::int64_t elements = elements_of_copies(*tile, layout.elements(), allocation.slots);
    flat.shape = {Expr(elements)};
    flat.layout = nullptr;
    if (flat.scope == Scope::warp) // a lane's part of it
      flat.scope = Scope::local;
    auto node = std::make_shared<const BufferNode>(std::move(flat));
    flat_.emplace(tile, Flat{node, std::move(layout), allocation.slots, elements / allocation.slots});
    allocation.buffer = node;
  }

  Expr rewrite(const Expr &e) const {
    SharedResults<Expr> done;
    return rewrite(e, done);
  }

  Stmt rewrite(const Stmt &stmt) const {
    if (const auto *store = as<Store>(stmt)) {
      Store flat = *store;
      flat.indices = {rewrite(flat_offset(store->buffer, store->indices))};
      flat.buffer = storage(store->buffer);
      flat.value = rewrite(store->value);
      return make(std::move(flat), stmt->origin);
    }
    if (const auto *bulk = as<BulkCopy>(stmt)) {
      BulkCopy flat = *bulk;
      flat.indices = {flat_offset(bulk->tile, bulk->indices)};
      flat.tile = storage(bulk->tile);
      return make(std::move(flat), stmt->origin);
    }
    Stmt result = map_exprs(stmt, [&](const Expr &e) { return rewrite(e); });
    return map_children(result, [&](const Stmt &child) { return rewrite(child); });
  }

private:
  Expr rewrite(const Expr &e, SharedResults<Expr> &done) const {
    if (!e.node().data) // no load is below it
      return e;
    return done(e, [&] {
      Expr node = map_children(e, [&](const Expr &child) { return rewrite(child, done); });
      const auto *access = node.as<Load>();
      if (!access)
        return node;
      return load(storage(access->buffer), {flat_offset(access->buffer, access->indices)}, access->mask,
                  access->fill);
    });
  }

  struct Flat {
    Buffer buffer;
    PlacedLayout layout;
    std::int64_t slots, stride; ///< copies for the iterations in flight, and their distance
  };

  /// Checks the layout again, because filling tails may have made the box larger than the obligations assumed.
  static void check_invertible(const BufferNode &tile, const std::vector<std::int64_t> &box) {
    if (!tile.layout || !tile.layout->map)
      return;
    if (auto collision = not_invertible(*tile.layout->map, box))
      throw UserError(ExitCode::illegal_schedule,
                      fmt::format("the layout of {} ({}) is not invertible over its tile of {}: {}", tile.name,
                                  to_string(*tile.layout), fmt::join(box, " x "), *collision));
  }

  /// Simplifies offsets into tiles, so that a fetch by consecutive threads accesses `tile[tid]`. Offsets into
  /// parameters keep the form row * columns + column for readability.
  Expr flat_offset(const Buffer &buffer, const std::vector<Expr> &indices) const {
    auto it = flat_.find(buffer);
    if (it == flat_.end())
      return offset(buffer, indices, bounds_);
    const Flat &flat = it->second;
    if (flat.slots == 1)
      return flat.layout.offset(indices, bounds_);
    Expr in_copy = flat.layout.offset({indices.begin() + 1, indices.end()}, bounds_);
    return simplify(indices.front() * Expr(flat.stride) + in_copy, bounds_);
  }

  Buffer storage(const Buffer &buffer) const {
    auto it = flat_.find(buffer);
    return it == flat_.end() ? buffer : it->second.buffer;
  }
  std::map<Buffer, Flat> flat_;
  Bounds bounds_;
};

} // namespace

/// The arrays that bulk copies fill get the alignment that these need.
static void align_bulk_tiles(Kernel &kernel) {
  walk(kernel.body, [&](const Stmt &stmt) {
    if (const auto *copy = as<BulkCopy>(stmt))
      for (Allocation &allocation : kernel.shared)
        if (allocation.buffer == copy->tile)
          allocation.alignment = std::max(allocation.alignment, box_alignment(kernel.maps[copy->map].swizzle));
  });
}

/// Places the shared arrays, as `plan_shared` has planned them.
static void place_shared(Kernel &kernel) {
  for (const Allocation &guest : kernel.shared)
    if (guest.tenancy)
      if (std::int64_t &needed = kernel.shared[guest.tenancy->host].alignment;
          guest.alignment > shared_alignment)
        needed = std::max(needed, guest.alignment);
  for (bool large : {true, false})
    for (Allocation &allocation : kernel.shared)
      if (!allocation.tenancy && (allocation.alignment > shared_alignment) == large) {
        const std::int64_t alignment = std::max(allocation.alignment, shared_alignment);
        allocation.byte_offset = rounded_up(kernel.shared_bytes, alignment);
        kernel.shared_bytes = allocation.byte_offset + bytes_of(allocation);
      }
  for (Channel &channel : kernel.channels) {
    channel.byte_offset = rounded_up(kernel.shared_bytes, std::int64_t{8});
    kernel.shared_bytes = channel.byte_offset + channel.bytes();
  }
  for (Allocation &allocation : kernel.shared)
    if (const auto &tenancy = allocation.tenancy) {
      internal_check(tenancy->bytes == bytes_of(allocation), "the size of a shared array is that of the plan");
      allocation.byte_offset = kernel.shared[tenancy->host].byte_offset + tenancy->at;
    }
}

void flatten(Unit &unit) {
  Kernel &kernel = unit.kernel();
  Flattener flattener(kernel);
  for (Allocation &allocation : kernel.local)
    flattener.add(allocation);
  for (Allocation &allocation : kernel.shared)
    flattener.add(allocation);
  kernel.body = flattener.rewrite(kernel.body);
  make_warp_calls(kernel); // without the lane in their indices, nests over fragments have no meaning
  order_calls(kernel);
  add_fences(kernel);
  align_bulk_tiles(kernel);
  place_shared(kernel); // with the alignments that calls need
  combine_lanes(kernel);
  split_tuples(kernel);
}

} // namespace nestsmith::kernel
