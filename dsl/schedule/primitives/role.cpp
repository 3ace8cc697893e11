#include "dsl/schedule/primitives/role.h"

#include "dsl/hardware/target.h"
#include "dsl/ir/allocation.h"
#include "dsl/ir/roles.h"
#include "dsl/schedule/primitives/edit.h"

#include <fmt/format.h>

namespace nestsmith {

namespace {

void check_registers(const Schedule::Edit &edit, std::int64_t warps, std::int64_t registers,
                     const std::vector<std::string> &names) {
  if (registers == 0)
    return;
  if (std::string missing = why_not(Feature::setmaxnreg, edit.schedule().target().arch); !missing.empty())
    edit.refuse("role.registers",
                fmt::format("{}; state 0 registers, so that all threads have the same number", missing), names);
  if (registers < 24 || registers > 256 || registers % 8 != 0)
    edit.refuse("role.registers",
                fmt::format("got {} registers, expected 0, or a multiple of 8 from 24 to 256", registers),
                names);
  if (warps % 4 != 0)
    edit.refuse("role.registers",
                fmt::format("got {} warps with stated registers, expected a multiple of 4: four warps "
                            "change their registers together",
                            warps),
                names);
}

} // namespace

constinit const Primitive primitives::role =
    primitive<&Schedule::role>("role", {blocks("blocks"), integer("warps", 4), integer("registers", 0)});

void Schedule::role(std::vector<BlockRef> handles, std::int64_t warps, std::int64_t registers, Caller caller) {
  Edit edit(*this, caller, primitives::role, handles, warps, registers);
  std::vector<std::string> names;
  for (const BlockRef &handle : handles)
    names.push_back(edit.block(handle).id->name);
  if (std::string missing = why_not(Feature::mbarrier, target().arch); !missing.empty())
    edit.refuse("role.feature", fmt::format("{}; choose another architecture, or leave out role", missing),
                names);
  if (handles.empty())
    edit.refuse("role.blocks", "got no block, expected the blocks that fill tiles in shared memory");
  WarpRole made{{}, warps, registers};
  for (const BlockRef &handle : handles) {
    const Block &block = edit.block(handle);
    const std::string &name = block.id->name;
    if (block.body.buffer->scope != Scope::shared)
      edit.refuse(
          "role.blocks",
          fmt::format("block {} writes {} memory, but a role fills tiles in shared memory; use cache_read, and "
                      "leave other blocks to the main role",
                      name, nestsmith::name(block.body.buffer->scope)),
          {name});
    if (role_of(program(), block.id) || std::ranges::find(made.blocks, block.id) != made.blocks.end())
      edit.refuse("role.blocks", fmt::format("block {} has a role already, expected one for each block", name),
                  {name});
    made.blocks.push_back(block.id);
  }
  Program next = edit.program();
  next.roles.push_back(std::move(made));
  const std::int64_t most = target().threads_per_block,
                     threads = warps < 1 || warps > most ? 0 : threads_of(next);
  if (warps < 1 || warps > most || threads > most)
    edit.refuse(
        "role.warps",
        fmt::format("got {} warps{}, expected at least 1, and at most {} threads in a thread block", warps,
                    threads == 0 ? "" : fmt::format(", so that the thread block has {} threads", threads),
                    most),
        names);
  check_registers(edit, warps, registers, names);
  edit.commit(std::move(next));
}

} // namespace nestsmith
