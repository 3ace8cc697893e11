#include "dsl/schedule/primitives/bulk_copy.h"

#include "dsl/hardware/async_copy.h"
#include "dsl/hardware/bulk_copy.h"
#include "dsl/hardware/target.h"
#include "dsl/schedule/primitives/edit.h"

#include <fmt/format.h>

namespace nestsmith {

constinit const Primitive primitives::bulk_copy = primitive<&Schedule::bulk_copy>("bulk_copy", {block("copy")});

void Schedule::bulk_copy(BlockRef handle, Caller caller) {
  Edit edit(*this, caller, primitives::bulk_copy, handle);
  const Block &block = edit.block(handle);
  if (std::string missing = why_not(Feature::tma, target().arch); !missing.empty())
    edit.refuse("bulk_copy.feature", fmt::format("{}; choose another architecture, or use async_copy", missing),
                {block.id->name});
  Block copy = block;
  copy.bulk = true;
  if (block.body.buffer->scope == Scope::global) {
    if (std::string breach = store_breach(block); !breach.empty())
      edit.refuse("bulk_copy.copy", breach, {block.id->name});
  } else {
    if (auto breach = async_breach(block))
      edit.refuse("bulk_copy.copy", breach->message, {block.id->name});
    copy.async = true;
  }
  edit.commit(replace(edit.body(), path_to(edit.body(), block.id).back(), make_block(std::move(copy))));
}

} // namespace nestsmith
