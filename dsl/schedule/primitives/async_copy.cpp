#include "dsl/schedule/primitives/async_copy.h"

#include "dsl/hardware/async_copy.h"
#include "dsl/hardware/target.h"
#include "dsl/schedule/primitives/edit.h"

#include <fmt/format.h>

namespace nestsmith {

constinit const Primitive primitives::async_copy =
    primitive<&Schedule::async_copy>("async_copy", {block("copy")});

void Schedule::async_copy(BlockRef handle, Caller caller) {
  Edit edit(*this, caller, primitives::async_copy, handle);
  const Block &block = edit.block(handle);
  if (std::string missing = why_not(Feature::cp_async, target().arch); !missing.empty())
    edit.refuse("async_copy.feature",
                fmt::format("{}; choose another architecture, or leave the copy synchronous", missing),
                {block.id->name});
  if (auto breach = async_breach(block))
    edit.refuse(breach->requirement, breach->message, {block.id->name});
  Block copy = block;
  copy.async = true;
  copy.bulk = false;
  edit.commit(replace(edit.body(), path_to(edit.body(), block.id).back(), make_block(std::move(copy))));
}

} // namespace nestsmith
