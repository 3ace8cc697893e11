#include "dsl/ir/roles.h"

#include "dsl/expr/error.h"
#include "dsl/ir/allocation.h"
#include "dsl/ir/last_block.h"

#include <algorithm>
#include <fmt/format.h>
#include <set>

namespace nestsmith {

static bool has(const WarpRole &role, const BlockId &block) {
  return std::ranges::any_of(role.blocks, [&](const BlockId &id) {
    return id == block || id == block->part_of || id == block->init_of;
  });
}

std::optional<std::size_t> role_of(const Program &program, const BlockId &block) {
  for (std::size_t n = 0; n < program.roles.size(); ++n)
    if (has(program.roles[n], block))
      return n;
  return std::nullopt;
}

bool has_block(const Stmt &nest, const WarpRole &role) {
  return std::ranges::any_of(blocks_of(nest), [&](const Block *block) { return has(role, block->id); });
}

std::optional<std::size_t> role_of(const Program &program, const For &loop) {
  if (program.roles.empty())
    return std::nullopt;
  std::set<std::optional<std::size_t>> roles;
  for (const Block *block : blocks_of(loop.body))
    roles.insert(role_of(program, block->id));
  return roles.size() == 1 ? *roles.begin() : std::nullopt;
}

Stmt only_role(const Program &program, const Stmt &stmt, std::optional<std::size_t> role) {
  if (const auto *block = as<Block>(stmt))
    return role_of(program, block->id) == role ? stmt : nullptr;
  return map_children(stmt, [&](const Stmt &child) { return only_role(program, child, role); });
}

std::map<Axis, std::int64_t> thread_extents(const Program &program, const Stmt &nest,
                                            std::optional<std::size_t> role) {
  std::map<Axis, std::int64_t> extents = axis_extents(
      nest, [&](const For &loop) { return is_thread(*loop.axis()) && role_of(program, loop) == role; });
  std::erase_if(extents, [](const auto &axis) { return !is_thread(axis.first); });
  return extents;
}

std::int64_t threads_of_role(const Program &program, const Stmt &nest, std::optional<std::size_t> role) {
  std::int64_t threads = 1;
  for (auto [axis, extent] : thread_extents(program, nest, role))
    threads *= extent;
  return threads;
}

std::int64_t threads_of_roles(const Program &program, const Stmt &nest) {
  std::int64_t threads = threads_of_role(program, nest, std::nullopt);
  for (const WarpRole &role : program.roles)
    if (has_block(nest, role))
      threads += role.warps * lanes_per_warp;
  return threads;
}

RoleRegisters role_registers(const Program &nest, std::int64_t main, std::int64_t all) {
  constexpr std::int64_t unit = unit_of_registers, most = 240;
  RoleRegisters registers{.at_launch = std::min(registers_of_sm / all / unit * unit, most + unit)};
  if (std::ranges::all_of(nest.roles, [](const WarpRole &role) { return role.registers == 0; }))
    return registers;
  for (const WarpRole &role : nest.roles)
    registers.of_roles +=
        (role.registers != 0 ? role.registers : registers.at_launch) * role.warps * lanes_per_warp;
  const std::int64_t left = registers.at_launch * all - registers.of_roles;
  registers.main = std::min(left / main / unit * unit, most);
  return registers;
}

namespace {

/// The blocks of the nest in the role.
std::vector<const Block *> blocks_in(const Program &program, std::optional<std::size_t> role) {
  std::vector<const Block *> blocks = blocks_of(program.body);
  std::erase_if(blocks, [&](const Block *block) { return role_of(program, block->id) != role; });
  return blocks;
}

/// The innermost pipelined loop around the block; null if there is none.
const For *pipeline_around(const Program &program, const Block &block) {
  const For *found = nullptr;
  for (const For *loop : loops_of(path_to(program.body, block.id)))
    if (!loop->pipeline().empty())
      found = loop;
  return found;
}

std::string describe(std::size_t role, const Program &program) {
  std::string list;
  for (const BlockId &id : program.roles[role].blocks)
    list += (list.empty() ? "" : ", ") + id->name;
  return fmt::format("the role of {}", list);
}

class Finder {
public:
  explicit Finder(const Program &program) : program_(program) {}

  std::optional<RoleBreach> run() {
    std::set<Buffer> passed;
    for (std::size_t role = 0; role < program_.roles.size() && !breach_; ++role)
      if (has_block(program_.body, program_.roles[role]))
        check_role(role, passed);
    if (breach_ || passed.empty())
      return breach_;
    for (const LastBlock &last : find_last_blocks(program_.body))
      for (const Block *block : last.after)
        if (role_of(program_, block->id))
          fail(block->id->name,
               "block {} of a role follows the loop {}, whose last thread block continues, but only the main "
               "role knows which one that is; leave it out of role",
               block->id->name, last.loop->var->name);
    check_main();
    return breach_;
  }

private:
  template <class... Arguments>
  void fail(const std::string &culprit, fmt::format_string<Arguments...> text, Arguments &&...arguments) {
    if (!breach_)
      breach_ = RoleBreach{fmt::format(text, std::forward<Arguments>(arguments)...), culprit};
  }

  void check_role(std::size_t role, std::set<Buffer> &passed) {
    const For *pipelined = nullptr;
    for (const Block *block : blocks_in(program_, role)) {
      const Buffer &tile = block->body.buffer;
      const std::string &name = block->id->name;
      passed.insert(tile);
      if (tile->scope != Scope::shared || block->reduces())
        fail(name,
             "block {} writes {} ({} memory), but a role only copies to shared memory; leave it out of role",
             name, tile->name, nestsmith::name(tile->scope));
      for (const Load *access : loads_of(*block))
        if (access->buffer->scope != Scope::global)
          fail(
              name,
              "block {} reads {} ({} memory), but a role only copies from global memory, because registers and "
              "shared arrays do not pass to it; bring the elements with async_copy, or leave it out of role",
              name, access->buffer->name, nestsmith::name(access->buffer->scope));
      const For *around = pipeline_around(program_, *block);
      if (!around)
        fail(
            name,
            "no loop around block {} is pipelined, so its tile has one copy and its warps would not run ahead; "
            "use pipeline",
            name);
      else if (pipelined && around != pipelined)
        fail(
            name,
            "block {} fills a tile of {}, and another block of its role one of {}, expected one pipelined loop",
            name, around->var->name, pipelined->var->name);
      pipelined = around;
      check_users(role, *block, around);
    }
    if (pipelined)
      check_stages(role, *pipelined);
    check_threads(role);
  }

  void check_users(std::size_t role, const Block &copy, const For *pipelined) {
    for (const Block *block : blocks_of(program_.body)) {
      const bool own = role_of(program_, block->id) == role;
      if (touches(*block, copy.body.buffer) &&
          (own ? reads(*block, copy.body.buffer) : !reads(*block, copy.body.buffer)))
        fail(block->id->name,
             "block {} {} {}, which {} fills, expected that only it writes the tile, and only other "
             "blocks read it",
             block->id->name, access_verb(*block, copy.body.buffer), copy.body.buffer->name,
             describe(role, program_));
      if (!own && reads(*block, copy.body.buffer)) {
        if (role_of(program_, block->id))
          fail(block->id->name,
               "block {} of a role reads {}, which {} fills, expected readers in the main role",
               block->id->name, copy.body.buffer->name, describe(role, program_));
        if (pipelined && !find_block(pipelined->body, block->id))
          fail(block->id->name,
               "block {} reads {} outside of the pipelined loop {}, which fills it; move it there",
               block->id->name, copy.body.buffer->name, pipelined->var->name);
      }
    }
  }

  /// The nests of the main role execute one iteration at a time, and no copy is in a later stage.
  void check_stages(std::size_t role, const For &pipelined) {
    std::optional<std::int64_t> main;
    for (const StagedNest &nest : staged_nests(pipelined))
      for (const Block *block : blocks_of(nest.stmt)) {
        if (role_of(program_, block->id))
          continue;
        if (main && *main != nest.stage)
          fail(block->id->name,
               "the blocks of the main role below {} have the stages {} and {}, expected one stage: its "
               "warps execute one iteration at a time",
               pipelined.var->name, *main, nest.stage);
        main = nest.stage;
      }
    for (const StagedNest &nest : staged_nests(pipelined))
      for (const Block *block : blocks_of(nest.stmt))
        if (role_of(program_, block->id) == role && main && nest.stage >= *main)
          fail(block->id->name,
               "block {} has stage {} as the readers of its tile, so its warps could not run ahead; give "
               "the readers a later stage",
               block->id->name, nest.stage);
  }

  void check_threads(std::size_t role) {
    const WarpRole &stated = program_.roles[role];
    const std::string &first = stated.blocks.front()->name;
    for (const Block *block : blocks_in(program_, role)) {
      if (block->bulk) // one thread issues it
        continue;
      std::int64_t threads = 1;
      for (const For *loop : loops_of(path_to(program_.body, block->id)))
        if (loop->axis() && is_thread(*loop->axis()) && role_of(program_, *loop) == role) {
          threads *= as_int(loop->extent).value();
          if (dimension(*loop->axis()) != 0)
            fail(block->id->name,
                 "the loop {} is bound to {}, expected threadIdx.x, warp or lane in a nest with roles",
                 loop->var->name, nestsmith::name(*loop->axis()));
        }
      if (threads != stated.warps * lanes_per_warp)
        fail(block->id->name,
             "block {} has {} threads of its own, but {} has {} warps; bind one of its loops of {} "
             "iterations to threadIdx.x",
             block->id->name, threads, describe(role, program_), stated.warps, stated.warps * lanes_per_warp);
    }
    if (stated.registers != 0 && program_.min_blocks > 1)
      fail(first,
           "{} states {} registers, and launch_bounds {} blocks on an SM, expected 1 block: its threads "
           "start with all registers of the SM; leave out launch_bounds, or state 0 registers",
           describe(role, program_), stated.registers, program_.min_blocks);
    const std::int64_t main = threads_of_role(program_, program_.body, std::nullopt);
    if (stated.registers != 0 && (stated.warps % 4 != 0 || main % (4 * lanes_per_warp) != 0))
      fail(first,
           "{} has {} warps and the main role {} threads, expected whole groups of 4 warps, because their "
           "registers are stated",
           describe(role, program_), stated.warps, main);
  }

  void check_main() {
    for (auto [axis, extent] : thread_extents(program_, program_.body, std::nullopt))
      if (dimension(axis) != 0 && extent > 1)
        fail("",
             "the main role has {} threads on {}, expected threads on threadIdx.x, warp or lane only in a "
             "nest with roles",
             extent, nestsmith::name(axis));
    const std::int64_t main = threads_of_role(program_, program_.body, std::nullopt),
                       all = threads_of_roles(program_, program_.body);
    if (main % lanes_per_warp != 0)
      fail("", "the main role has {} threads, expected whole warps in a nest with roles", main);
    if (breach_)
      return;
    const RoleRegisters registers = role_registers(program_, main, all);
    if (registers.of_roles != 0 && registers.main < fewest_registers)
      fail(program_.roles.front().blocks.front()->name,
           "a thread block of {} threads starts with {} registers; {} of them are those of the roles, and the "
           "{} threads of the main role need {} each, at least, which are {}; state fewer registers, or fewer "
           "warps",
           all, registers.at_launch * all, registers.of_roles, main, fewest_registers, main * fewest_registers);
  }

  const Program &program_;
  std::optional<RoleBreach> breach_;
};

} // namespace

std::optional<RoleBreach> find_role_breach(const Program &program) {
  return program.roles.empty() ? std::nullopt : Finder(program).run();
}

RoleChannel channel_of(const Program &program, const WarpRole &role) {
  RoleChannel channel{nullptr, {}, 0, 0};
  for (const BlockId &id : role.blocks)
    for (const Block *block : blocks_of(program.body))
      if (block->id == id || block->id->part_of == id) {
        const For *loop = pipeline_around(program, *block);
        internal_check(loop && (!channel.loop || channel.loop == loop), "a role has one pipelined loop");
        channel.loop = loop;
        const Buffer &tile = block->body.buffer;
        if (std::ranges::find(channel.tiles, tile) == channel.tiles.end())
          channel.tiles.push_back(tile);
        const std::int64_t slots = slots_of(tile, loops_of(path_to(program.body, loop->var)), true).count;
        channel.slots = channel.slots == 0 ? slots : std::min(channel.slots, slots);
      }
  internal_check(channel.loop != nullptr, "a role has blocks in its nest");
  for (const BlockStage &stage : channel.loop->pipeline())
    channel.in_flight = std::max(channel.in_flight, stage.in_flight);
  internal_check(channel.in_flight < channel.slots ||
                     iterations_of(loops_of(path_to(program.body, channel.loop->var))) == channel.slots,
                 "a slot stays free while calls are in flight");
  return channel;
}

std::int64_t channel_bytes(const Program &program) {
  std::int64_t bytes = 0;
  for (const WarpRole &role : program.roles)
    if (has_block(program.body, role) && !find_role_breach(program))
      bytes += 16 * channel_of(program, role).slots;
  return bytes;
}

} // namespace nestsmith
