#include "lowering/arena.h"
#include "lowering/hazards.h"
#include "lowering/one_launch.h"
#include "lowering/share_code.h"
#include "lowering/unit.h"

#include "dsl/expr/error.h"
#include "dsl/ir/allocation.h"

#include <algorithm>
#include <fmt/format.h>
#include <set>

namespace nestsmith::kernel {

namespace {

std::int64_t blocks_of_grid(const Kernel &kernel) {
  std::int64_t blocks = 1;
  for (std::int64_t extent : kernel.grid())
    blocks *= extent;
  return blocks;
}

/// The body with declarations of its block indices. `number` is the number of the thread block in the grid,
/// along x first.
Stmt with_declared_blocks(const Kernel &kernel, const Expr &number) {
  std::vector<Stmt> stmts;
  std::int64_t before = 1;
  const std::int64_t all = blocks_of_grid(kernel);
  for (Axis axis : block_axes)
    for (const ThreadIndex &index : kernel.indices)
      if (index.axis == axis) {
        std::int64_t extent = *as_int(index.extent);
        Expr value = before == 1 ? number : floordiv(number, Expr(before));
        before *= extent;
        stmts.push_back(
            make(Declare{index.var, before == all ? value : floormod(value, Expr(extent))}, index.origin));
      }
  stmts.push_back(kernel.body);
  return make_seq(std::move(stmts));
}

/// The statement with other variables for some.
Stmt renamed(const Stmt &stmt, const std::map<Var, Var> &vars) {
  Stmt changed = map_exprs(stmt, [&](const Expr &e) {
    return substitute(e, [&](const Var &var) {
      auto found = vars.find(var);
      return found == vars.end() ? Expr() : Expr(found->second);
    });
  });
  return map_children(changed, [&](const Stmt &child) { return renamed(child, vars); });
}

/// Gives the shared arrays of the second nest places in those of the first, which another thread block uses. An
/// array that fits in none gets memory of its own.
void add_shared(Kernel &kernel, const Kernel &second) {
  std::vector<std::int64_t> used(kernel.shared.size(), 0); // of each array of the first nest
  std::vector<Tenancy> places;                             // of each array of the second one
  for (const Allocation &array : second.shared) {
    const std::int64_t bytes = bytes_of(array), unit = std::max(shared_alignment, array.alignment);
    Allocation placed = array;
    if (array.tenancy) {
      const Tenancy &host = places[array.tenancy->host];
      placed.tenancy = Tenancy{host.host, host.at + array.tenancy->at, bytes};
    } else {
      for (std::size_t n = 0; n < used.size() && !placed.tenancy; ++n) {
        const Allocation &host = kernel.shared[n];
        std::int64_t at = rounded_up(used[n], unit);
        if (!host.tenancy && at + bytes <= bytes_of(host) && (host.byte_offset + at) % unit == 0)
          placed.tenancy = Tenancy{n, at, bytes};
      }
      if (placed.tenancy)
        used[placed.tenancy->host] = placed.tenancy->at + bytes;
    }
    if (placed.tenancy) {
      Allocation &host = kernel.shared[placed.tenancy->host];
      host.alignment = std::max(host.alignment, array.alignment);
      placed.byte_offset = host.byte_offset + placed.tenancy->at;
    } else {
      placed.byte_offset = rounded_up(kernel.shared_bytes, unit);
      kernel.shared_bytes = placed.byte_offset + bytes;
    }
    places.push_back(placed.tenancy.value_or(Tenancy{kernel.shared.size(), 0, bytes}));
    kernel.shared.push_back(std::move(placed));
  }
}

template <class T> void add_missing(std::vector<T> &to, const std::vector<T> &from) {
  for (const T &x : from)
    if (std::ranges::find(to, x) == to.end())
      to.push_back(x);
}

/// Channels and tensor maps of the second nest that are like one of the first take its place: a thread block
/// executes one nest. Others get memory of their own.
class Appended {
public:
  Appended(Kernel &kernel, const Kernel &second) {
    for (const Channel &channel : second.channels) {
      auto like = std::ranges::find_if(kernel.channels, [&](const Channel &known) {
        return known.role == channel.role && known.slots == channel.slots && known.filled == channel.filled &&
               known.freed == channel.freed && known.blocks == channel.blocks;
      });
      channels_.push_back(static_cast<std::size_t>(like - kernel.channels.begin()));
      if (like != kernel.channels.end()) {
        add_missing(like->tiles, channel.tiles);
        continue;
      }
      kernel.channels.push_back(channel);
      Channel &added = kernel.channels.back();
      added.byte_offset = rounded_up(kernel.shared_bytes, std::int64_t{8});
      kernel.shared_bytes = added.byte_offset + added.bytes();
    }
    for (const TensorMap &map : second.maps)
      maps_.push_back(position_of(map, kernel.maps));
  }

  /// The statement of the second nest, with the positions in the joined kernel.
  Stmt operator()(const Stmt &stmt) const {
    if (const auto *copy = as<BulkCopy>(stmt)) {
      BulkCopy moved = *copy;
      moved.map = maps_[copy->map];
      if (moved.fill)
        moved.fill->channel = channels_[copy->fill->channel];
      return make(std::move(moved), stmt->origin);
    }
    if (const auto *await = as<Await>(stmt)) {
      Await moved = *await;
      moved.channel = channels_[await->channel];
      return make(std::move(moved), stmt->origin);
    }
    if (const auto *signal = as<Signal>(stmt)) {
      Signal moved = *signal;
      moved.channel = channels_[signal->channel];
      return make(std::move(moved), stmt->origin);
    }
    return map_children(stmt, [&](const Stmt &child) { return (*this)(child); });
  }

private:
  std::vector<std::size_t> channels_, maps_; ///< positions of those of the second nest
};

/// For the shared arrays of the second nest: that of the first nest which has their place and size. Empty
/// unless all have one.
std::map<Buffer, Buffer> arrays_in_place(const Kernel &kernel, std::size_t begin) {
  std::map<Buffer, Buffer> arrays;
  std::set<Buffer> taken;
  const auto end = kernel.shared.begin() + static_cast<std::ptrdiff_t>(begin);
  for (auto array = end; array != kernel.shared.end(); ++array) {
    auto like = std::find_if(kernel.shared.begin(), end, [&](const Allocation &other) {
      return !taken.contains(other.buffer) && other.byte_offset == array->byte_offset &&
             bytes_of(other) == bytes_of(*array) && other.tile == array->tile && other.slots == array->slots &&
             other.buffer->dtype == array->buffer->dtype;
    });
    if (like == end)
      return {};
    taken.insert(like->buffer);
    arrays[array->buffer] = like->buffer;
  }
  return arrays;
}

/// Whether the nest calls matrix units. Such a call is one instruction, so that loops over k are small, and two
/// of them fit in the cache of instructions.
bool calls_units(const Stmt &nest) {
  bool found = false;
  walk(nest, [&](const Stmt &stmt) { found = found || as<Call>(stmt); });
  return found;
}

/// Removes the arrays that have others in their place.
void remove_arrays(std::vector<Allocation> &from, const std::map<Buffer, Buffer> &replaced) {
  std::erase_if(from, [&](const Allocation &array) { return replaced.contains(array.buffer); });
}

} // namespace

Kernel in_one_launch(Kernel first, const Kernel &second) {
  const std::int64_t begin = blocks_of_grid(first), blocks = begin + blocks_of_grid(second);
  const Var block = make_var("block");
  // The ranges of the indices follow from the declarations alone.
  Stmt body = with_declared_blocks(first, min(Expr(block), Expr(begin - 1)));
  Stmt otherwise = with_declared_blocks(second, max(Expr(block) - Expr(begin), Expr(0)));
  std::vector<ThreadIndex> indices = {{Axis::block_x, block, Expr(blocks)}};
  std::map<Var, Var> threads;
  for (const ThreadIndex &index : first.indices)
    if (is_thread(index.axis)) {
      indices.push_back(index);
      for (const ThreadIndex &other : second.indices)
        if (other.axis == index.axis)
          threads[other.var] = index.var;
    }
  Kernel kernel = std::move(first);
  kernel.indices = std::move(indices);
  const Appended appended(kernel, second);
  const Expr is_first = Expr(block) < Expr(begin);
  otherwise = appended(renamed(otherwise, threads));
  add_missing(kernel.params, second.params);
  add_missing(kernel.scalars, second.scalars);
  kernel.assumptions.insert(kernel.assumptions.end(), second.assumptions.begin(), second.assumptions.end());
  const std::size_t shared = kernel.shared.size();
  add_shared(kernel, second);
  internal_check(kernel.roles.size() == second.roles.size(), "nests of one launch have the same roles");
  kernel.local.insert(kernel.local.end(), second.local.begin(), second.local.end());
  for (const auto &[buffer, bytes] : second.aligned) {
    std::int64_t &known = kernel.aligned[buffer];
    known = std::max(known, bytes);
  }
  std::map<Buffer, Buffer> arrays = arrays_in_place(kernel, shared);
  if (!kernel.roles.empty() && !arrays.empty() && !calls_units(body)) {
    TwoNests nests{is_first, body, otherwise, std::move(arrays)};
    kernel.body = with_shared_code(nests);
    const OfProgram of_program(kernel);
    for (Channel &channel : kernel.channels)
      std::erase_if(channel.tiles, [&](const Buffer &tile) {
        return std::ranges::any_of(nests.arrays,
                                   [&](const auto &pair) { return of_program(pair.first) == tile; });
      });
    remove_arrays(kernel.shared, nests.arrays);
    remove_arrays(kernel.local, nests.arrays);
  } else {
    kernel.body = make(If{is_first, body, otherwise, {Purpose::Kind::first_nest}});
  }
  return kernel;
}

void share_launches(std::vector<Unit> &units) {
  std::vector<Unit> kernels; // the last one first: nests of one program are alike, and come last
  for (std::size_t n = units.size(); n-- > 0;) {
    Unit &unit = units[n];
    if (n + 1 == units.size() || !units[n + 1].shares_launch) {
      kernels.push_back(std::move(unit));
      continue;
    }
    kernels.back().shares_launch = unit.shares_launch;
    Kernel &kernel = kernels.back().kernel();
    kernel = in_one_launch(std::move(unit.kernel()), kernel);
    if (std::int64_t most = unit.schedule.target().grid_extent[0]; blocks_of_grid(kernel) > most)
      throw UserError(
          ExitCode::illegal_schedule,
          fmt::format("share_launch: the nests of the kernel {} have {} thread blocks in one launch, "
                      "expected at most {}; leave out share_launch, or use larger tiles",
                      kernel.name, blocks_of_grid(kernel), most));
    if (std::int64_t most = unit.schedule.target().shared_bytes_per_block; kernel.shared_bytes > most)
      throw UserError(
          ExitCode::illegal_schedule,
          fmt::format("share_launch: the nests of the kernel {} need {} bytes of shared memory in one "
                      "launch, expected at most {}; leave out share_launch, or use smaller tiles",
                      kernel.name, kernel.shared_bytes, most));
  }
  units.clear();
  for (auto unit = kernels.rbegin(); unit != kernels.rend(); ++unit)
    units.push_back(std::move(*unit));
}

} // namespace nestsmith::kernel
