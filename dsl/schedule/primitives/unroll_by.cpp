#include "dsl/schedule/primitives/unroll_by.h"

#include "dsl/schedule/primitives/edit.h"

#include <fmt/format.h>

namespace nestsmith {

constinit const Primitive primitives::unroll_by =
    primitive<&Schedule::unroll_by>("unroll_by", {loop("loop"), integer("factor", 2)});

void Schedule::unroll_by(Loop handle, std::int64_t factor, Caller caller) {
  Edit edit(*this, caller, primitives::unroll_by, handle, factor);
  const For &loop = edit.loop(handle);
  if (!loop.is<Serial>())
    edit.refuse(
        "unroll_by.serial",
        fmt::format("the loop {} is {}, expected a serial loop; unroll a serial loop inside or around it",
                    loop.var->name, nestsmith::name(loop.form)),
        {loop.var->name});
  For copy = loop;
  std::int64_t &copies = std::get<Serial>(copy.form).copies;
  if (copies > 1)
    edit.refuse("unroll_by.once",
                fmt::format("the loop {} is already unrolled by {}; unroll it once", loop.var->name, copies),
                {loop.var->name});
  if (factor < 2 || factor > 1024)
    edit.refuse(
        "unroll_by.factor",
        fmt::format("the loop {} cannot be unrolled by {}, expected a number from 2 to 1024; {}",
                    loop.var->name, factor,
                    factor < 2 ? "leave unroll_by out" : "a longer body does not fit in the instruction cache"),
        {loop.var->name});
  copies = factor;
  edit.commit(edit.replace_loop(loop, std::move(copy)));
}

} // namespace nestsmith
