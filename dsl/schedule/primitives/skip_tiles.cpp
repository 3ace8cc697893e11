#include "dsl/schedule/primitives/skip_tiles.h"

#include "dsl/schedule/primitives/edit.h"

#include <fmt/format.h>

namespace nestsmith {

constinit const Primitive primitives::skip_tiles =
    primitive<&Schedule::skip_tiles>("skip_tiles", {loop("loop")});

/// The other requirements hold for each later directive, too: `Edit::commit` checks them (dsl/ir/skip_tiles.h).
void Schedule::skip_tiles(Loop handle, Caller caller) {
  Edit edit(*this, caller, primitives::skip_tiles, handle);
  const For &loop = edit.loop(handle);
  if (loop.skipping())
    edit.refuse("skip_tiles.serial",
                fmt::format("the loop {} already skips tiles; call skip_tiles once", loop.var->name),
                {loop.var->name});
  if (!loop.is<Serial>())
    edit.refuse("skip_tiles.serial",
                fmt::format("the loop {} is {}, expected a serial loop; choose the loop over tiles around it",
                            loop.var->name, form_of(loop)),
                {loop.var->name});
  For copy = loop;
  std::get<Serial>(copy.form).skipping = true;
  edit.commit(edit.replace_loop(loop, std::move(copy)));
}

} // namespace nestsmith
