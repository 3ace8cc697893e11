#include "dsl/primitives/tensorize.h"

#include "dsl/intrinsic.h"
#include "dsl/primitives/edit.h"
#include "dsl/printer.h"
#include "dsl/vector_access.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace nestsmith::primitives {

namespace {

const Intrinsic &declared(const Schedule::Edit &edit, const std::string &name, DType dtype) {
  const Intrinsic *found = find_intrinsic(name, dtype);
  if (!found)
    edit.refuse("tensorize.known",
                fmt::format("there is no intrinsic '{}' for {}; the intrinsics are {}", name,
                            nestsmith::name(dtype), fmt::join(intrinsic_signatures(), ", ")));
  Arch arch = edit.schedule().target().arch;
  if (std::string why = found->feature ? why_not(*found->feature, arch) : ""; !why.empty())
    edit.refuse("tensorize.arch",
                fmt::format("the target lacks the intrinsic {}: {}; choose another target", name, why));
  return *found;
}

/// The operand, with its dtype if the dtypes of both operands differ.
std::string described(const Expr &e, const Expr &other) {
  return to_string(e) + (e.dtype() == other.dtype() ? "" : fmt::format(" ({})", nestsmith::name(e.dtype())));
}

void check_meaning(const Schedule::Edit &edit, const For &loop, const Block &block,
                   const Intrinsic &intrinsic) {
  auto result = value_over(loop, block, loop_bounds(edit.body()));
  if (!result)
    edit.refuse("tensorize.meaning",
                fmt::format("the iterations of {} write different elements of {}, but {} has one result; "
                            "tensorize a loop of a sum",
                            loop.var->name, block.body.buffer->name, intrinsic.name),
                {loop.var->name, block.id->name});
  Difference first;
  if (!match(intrinsic, *result, &first))
    edit.refuse(
        "tensorize.meaning",
        fmt::format(
            "block {} does not compute {}: got {} in each iteration of {}, expected {} from all; the first "
            "difference is {} in place of {}",
            block.id->name, intrinsic.name, to_string(block.body.value), loop.var->name,
            to_string(intrinsic.meaning), described(first.got, first.expected),
            described(first.expected, first.got)),
        {loop.var->name, block.id->name});
}

} // namespace

void tensorize(Schedule &schedule, Loop handle, const std::string &name) {
  Schedule::Edit edit(schedule, "tensorize", {LoopName{loop_name(handle)}, Word{name}});
  const For &loop = edit.loop(handle);
  edit.require_serial("tensorize.serial", loop);
  const Block *block = only_block(loop);
  if (!block)
    edit.refuse("tensorize.innermost",
                fmt::format("the loop {} contains other loops or several blocks, but {} needs the innermost "
                            "loop of a single block; reorder or split so that {} is innermost",
                            loop.var->name, name, loop.var->name),
                {loop.var->name});
  const Intrinsic &intrinsic = declared(edit, name, block->body.buffer->dtype);
  if (as_int(loop.extent) != intrinsic.extent)
    edit.refuse(
        "tensorize.extent",
        fmt::format("the loop {} has {} iterations, and {} takes {}; split it so that the inner part has {}",
                    loop.var->name, to_string(loop.extent), name, intrinsic.extent, intrinsic.extent),
        {loop.var->name});
  check_meaning(edit, loop, *block, intrinsic);
  For copy = loop;
  copy.form = Tensorized{intrinsic};
  if (auto breach = lasting_breach(edit.program(), loop.var, &intrinsic))
    edit.refuse(breach->requirement, breach->message, {loop.var->name, block->id->name});
  edit.commit(replace(edit.body(), path_to(edit.body(), loop.var).back(), make_for(std::move(copy))));
}

} // namespace nestsmith::primitives
