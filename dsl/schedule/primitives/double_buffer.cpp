#include "dsl/schedule/primitives/double_buffer.h"

#include "dsl/ir/allocation.h"
#include "dsl/schedule/primitives/edit.h"

#include <algorithm>
#include <fmt/format.h>

namespace nestsmith {

namespace {

struct NestInLoop {
  std::vector<const Block *> blocks;
  std::int64_t stage = 0;
  bool late = false; ///< fills a tile from registers that another nest loads
};

/// Whether `nest` reads what `from` writes in memory of this scope.
bool feeds(const NestInLoop &from, const NestInLoop &nest, Scope scope) {
  for (const Block *writer : from.blocks)
    for (const Block *reader : nest.blocks)
      if (writer->body.buffer->role == Role::temporary && writer->body.buffer->scope == scope &&
          reads(*reader, writer->body.buffer))
        return true;
  return false;
}

/// A nest follows the nests that feed it, so one pass in the order of the program is enough.
std::vector<NestInLoop> staged(const For &loop) {
  std::vector<NestInLoop> nests;
  for (const Stmt &child : nests_of(loop.body)) {
    NestInLoop nest{blocks_of(child)};
    for (const NestInLoop &earlier : nests) {
      bool shared = feeds(earlier, nest, Scope::shared), local = feeds(earlier, nest, Scope::local);
      if (shared || ((shared || local) && earlier.stage == 1))
        nest.stage = 1;
      nest.late = nest.late || local;
    }
    nests.push_back(std::move(nest));
  }
  return nests;
}

} // namespace

constinit const Primitive primitives::double_buffer =
    primitive<&Schedule::double_buffer>("double_buffer", {loop("loop")});

void Schedule::double_buffer(Loop handle, Caller caller) {
  Edit edit(*this, caller, primitives::double_buffer, handle);
  const For &loop = edit.loop(handle);
  if (!loop.is<Unrolled>() || !loop.pipeline().empty())
    edit.require_serial("double_buffer.serial", loop);
  std::vector<NestInLoop> nests = staged(loop);
  if (std::all_of(nests.begin(), nests.end(), [](const NestInLoop &nest) { return nest.stage == 0; }))
    edit.refuse("double_buffer.tiles",
                fmt::format("no nest below {} writes a shared tile that another nest reads, so there is "
                            "nothing to prefetch; move shared caches below the loop with compute_at",
                            loop.var->name),
                {loop.var->name});
  std::vector<BlockStage> stages;
  std::int64_t order = 0;
  auto add = [&](auto &&wanted) {
    for (const NestInLoop &nest : nests)
      if (wanted(nest)) {
        for (const Block *block : nest.blocks)
          stages.push_back({block->id, nest.stage, order});
        ++order;
      }
  };
  add([](const NestInLoop &nest) { return nest.stage == 0 && !nest.late; });
  add([](const NestInLoop &nest) { return nest.stage == 1; });
  add([](const NestInLoop &nest) { return nest.stage == 0 && nest.late; });
  edit.commit(edit.replace_loop(loop, with_pipeline(loop, std::move(stages))));
}

} // namespace nestsmith
