#include "dsl/expr/expr_text.h"
#include "dsl/hardware/cluster.h"
#include "dsl/ir/allocation.h"
#include "dsl/ir/dependence.h"
#include "dsl/ir/executed_tiles.h"
#include "dsl/ir/roles.h"
#include "dsl/schedule/makers.h"
#include "dsl/schedule/obligations/rules.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>

namespace nestsmith::owed {

namespace {

/// The nests that use each buffer, in order, so that the time does not depend on pairs of nests and buffers.
using Users = std::map<const BufferNode *, std::vector<Stmt>>;

Users users_of(const Program &program) {
  Users users;
  auto add = [&](const Buffer &buffer, const Stmt &nest) {
    std::vector<Stmt> &nests = users[buffer.get()];
    if (nests.empty() || nests.back() != nest)
      nests.push_back(nest);
  };
  for (const Stmt &nest : nests_of(program.body))
    for (const Block *block : blocks_of(nest)) {
      add(block->body.buffer, nest);
      for (const Load *load : loads_of(*block))
        add(load->buffer, nest);
    }
  return users;
}

/// Whether only the last block reads the buffer, after all blocks have written it.
bool is_read_by_last_block(const Stmt &nest, const Buffer &buffer) {
  return std::ranges::any_of(find_last_blocks(nest), [&](const LastBlock &last) {
    return std::ranges::all_of(blocks_of(nest), [&](const Block *block) {
      if (!touches(*block, buffer))
        return true;
      bool writes = block->body.buffer == buffer;
      return writes ? find_block(last.loop->body, block->id) != nullptr : last.is_after(*block);
    });
  });
}

Owed exchanged_in_nest(const Schedule &schedule, const Stmt &nest, const Buffer &buffer) {
  const Block *writer = nullptr, *reader = nullptr;
  for (const Block *block : blocks_of(nest))
    if (touches(*block, buffer))
      (block->body.buffer == buffer ? writer : reader) = block;
  if (!writer || !reader || is_read_by_last_block(nest, buffer))
    return std::nullopt;
  return about_block(schedule, writer->id,
                     fmt::format("the temporary {} is in global memory, and block {} reads it in the "
                                 "nest in which block {} writes it, but the thread blocks of a grid "
                                 "are unordered; move it to shared or local memory with set_scope",
                                 buffer->name, reader->id->name, writer->id->name));
}

Owed used_in_nests(const Schedule &schedule, const std::vector<Stmt> &nests, const Buffer &buffer) {
  std::vector<const Block *> users;
  for (const Stmt &nest : nests)
    for (const Block *block : blocks_of(nest))
      if (touches(*block, buffer))
        users.push_back(block);
  if (nests.size() < 2)
    return std::nullopt;
  auto age = [&](const Block *block) { // of two blocks that one directive changed, the one that it made
    std::size_t made = last_change(
        schedule, [&](const Program &program) { return find_block(program.body, block->id) != nullptr; });
    return std::pair(last_to_set_scope(schedule, block->id), made);
  };
  const Block *latest = *std::ranges::max_element(users, {}, age);
  return about_block(
      schedule, latest->id,
      fmt::format("{} is in {} memory, which does not outlive its kernel, but the blocks {} and {} use it in "
                  "separate nests, and each nest is a kernel; move them into one nest with compute_at or "
                  "reverse_compute_at",
                  buffer->name, name(buffer->scope), users.front()->id->name, users.back()->id->name));
}

/// The directive that last bound a loop of the nest to the axis.
std::size_t last_bind(const Schedule &schedule, const Stmt &nest, Axis axis) {
  std::size_t last = 0;
  walk(nest, [&](const Stmt &stmt) {
    const auto *loop = as<For>(stmt);
    if (loop && loop->axis() && overlap(*loop->axis(), axis))
      last = std::max(last, last_to_annotate(schedule, loop->var));
    return true;
  });
  return last;
}

/// The threads of the main role.
std::map<Axis, std::int64_t> threads_of_nest(const Program &program, const Stmt &nest) {
  std::map<Axis, std::int64_t> threads = thread_extents(program, nest, std::nullopt);
  std::erase_if(threads, [](const auto &axis) { return axis.second == 1; });
  return threads;
}

std::string to_text(const std::map<Axis, std::int64_t> &threads) {
  std::string text;
  for (const auto &[axis, extent] : threads)
    text += fmt::format("{}{} on {}", text.empty() ? "" : ", ", extent, name(axis));
  return text.empty() ? "1" : text;
}

/// A loop of the nest on a block axis whose extent depends on sizes; null if there is none.
const For *grid_of_sizes(const Stmt &nest) {
  const For *found = nullptr;
  walk(nest, [&](const Stmt &stmt) {
    const auto *loop = as<For>(stmt);
    if (loop && loop->axis() && is_block(*loop->axis()) && !as_int(loop->extent))
      found = loop;
    return !found;
  });
  return found;
}

/// The other roles of a nest: "4 warps with 40 registers".
std::string roles_of_nest(const Program &program, const Stmt &nest) {
  std::string text;
  for (const WarpRole &role : program.roles)
    if (has_block(nest, role))
      text += fmt::format("{}{} warps with {} registers", text.empty() ? "" : ", ", role.warps, role.registers);
  return text.empty() ? "none" : text;
}

/// Why the nests cannot be parts of one kernel; empty if they can. `tiles` are those that loops of waves
/// execute.
std::string hinders_launch(const Program &program, const ExecutedTiles &tiles, std::size_t n, std::size_t m) {
  const std::vector<Stmt> nests = nests_of(program.body), executed = nests_of(tiles.program.body);
  const Stmt &first = nests[n], &second = nests[m];
  if (auto a = threads_of_nest(program, first), b = threads_of_nest(program, second); a != b)
    return fmt::format("has {} threads, and the nest before, of block {}, has {}, expected the same number on "
                       "each axis",
                       to_text(b), blocks_of(first).front()->id->name, to_text(a));
  if (auto a = roles_of_nest(program, first), b = roles_of_nest(program, second); a != b)
    return fmt::format("has the roles: {}; and the nest before, of block {}: {}; expected the same ones", b,
                       blocks_of(first).front()->id->name, a);
  for (const Stmt &nest : {first, second})
    if (blocks_of_cluster(nest) > 1)
      return fmt::format("cannot be launched with the nest before, because the blocks of {} form clusters "
                         "along blockIdx.z, and those of a shared launch are along blockIdx.x; leave out "
                         "share_launch",
                         blocks_of(nest).front()->id->name);
  for (const Stmt &nest : {first, second})
    if (const For *loop = grid_of_sizes(nest))
      return fmt::format(
          "cannot be launched with the nest before, because the extent of {}, {}, depends on sizes, "
          "expected constant extents of both grids",
          loop->var->name, to_string(loop->extent));
  if (auto common = common_element(tiles.bounds, executed[n], executed[m]))
    return fmt::format(
        "may access elements of {} that the other nest writes, in blocks {} and {}, and the thread "
        "blocks of one launch are unordered; leave out share_launch",
        common->buffer->name, common->first->name, common->second->name);
  return "";
}

} // namespace

std::vector<Obligation> temporaries_between_nests(const Schedule &schedule) {
  std::vector<Obligation> found;
  Users users = users_of(schedule.program());
  auto add = [&](Owed owed) {
    if (owed)
      found.push_back(std::move(*owed));
  };
  for (const Buffer &buffer : temporaries(schedule.program()))
    if (const std::vector<Stmt> &nests = users[buffer.get()]; buffer->scope == Scope::global)
      for (const Stmt &nest : nests)
        add(exchanged_in_nest(schedule, nest, buffer));
    else
      add(used_in_nests(schedule, nests, buffer));
  return found;
}

std::vector<Obligation> races_in_global_memory(const Schedule &schedule) {
  std::vector<Obligation> found;
  for (const Stmt &nest : nests_of(schedule.program().body)) {
    auto race = unordered_accesses(schedule.program(), nest);
    if (!race)
      continue;
    auto verb = [&](const BlockId &id) { return access_verb(*find_block(nest, id), race->buffer); };
    found.push_back(
        {fmt::format(
             "block {} {} an element of {} that block {} {} at another index of {}, in the same kernel, "
             "where nothing orders the two; bind the loops of both so that one index makes both "
             "accesses, or leave the blocks in nests of their own",
             race->second->name, verb(race->second), race->buffer->name, race->first->name, verb(race->first),
             name(race->axis)),
         last_bind(schedule, nest, race->axis), race->second->name});
  }
  return found;
}

std::vector<Obligation> shared_launches(const Schedule &schedule) {
  std::vector<Obligation> found;
  const std::vector<Stmt> nests = nests_of(schedule.program().body);
  std::optional<ExecutedTiles> tiles;
  std::size_t first = 0; // of the launch
  for (std::size_t n = 0; n < nests.size(); ++n) {
    const auto *loop = as<For>(nests[n]);
    if (!loop || !loop->shares_launch())
      first = n;
    for (std::size_t before = first; before < n; ++before) {
      if (!tiles)
        tiles = over_executed_tiles(schedule.program(), GuardsOfResults::follow);
      if (std::string why = hinders_launch(schedule.program(), *tiles, before, n); !why.empty()) {
        found.push_back(
            about_loop(schedule, loop->var, fmt::format("the nest of {} {}", loop->var->name, why)));
        break;
      }
    }
  }
  return found;
}

} // namespace nestsmith::owed
