#include "dsl/schedule/primitives/vectorize.h"

#include "dsl/hardware/vector_access.h"
#include "dsl/schedule/primitives/edit.h"

#include <algorithm>
#include <fmt/format.h>

namespace nestsmith {

namespace {

/// Whether the lanes access different elements.
bool differs_between_lanes(const std::vector<Expr> &indices, const For &loop, const Block &block) {
  return std::ranges::any_of(block.iters, [&](const IterVar &iter) {
    return uses(iter.binding, loop.var) &&
           std::ranges::any_of(indices, [&](const Expr &index) { return uses(index, iter.var); });
  });
}

void check_numbers(const Schedule::Edit &edit, const For &loop, const Block &block) {
  std::vector<Buffer> accessed = {block.body.buffer};
  for (const Load *access : loads_of(block))
    if (differs_between_lanes(access->indices, loop, block))
      accessed.push_back(access->buffer);
  for (const Buffer &buffer : accessed)
    if (is_tuple(buffer->dtype))
      edit.refuse(
          "vectorize.numbers",
          fmt::format("block {} accesses {}, whose elements are tuples {}, and the lanes of a vector are "
                      "numbers; unroll {} instead",
                      block.id->name, buffer->name, name(buffer->dtype), loop.var->name),
          {loop.var->name, block.id->name});
}

void check_width(const Schedule::Edit &edit, const For &loop, const Block &block) {
  std::int64_t lanes = edit.require_constant("vectorize.width", loop, "vectorized");
  DType dtype = block.body.buffer->dtype;
  if (!is_vector(dtype, lanes))
    edit.refuse(
        "vectorize.width",
        fmt::format("the loop {} has {} iterations, and a vector of {} has {} elements; split it so that "
                    "the inner part has {} iterations",
                    loop.var->name, lanes, name(dtype), vector_lengths(dtype), 16 / byte_size(dtype)),
        {loop.var->name});
}

/// Each lane must write an element of its own, and must not read an element that another lane writes.
void check_lanes(const Schedule::Edit &edit, const For &loop, const Block &block) {
  std::int64_t lanes = as_int(loop.extent).value();
  Bounds bounds = loop_bounds(edit.body());
  bool own = false;
  for (const Expr &index : block.body.indices) {
    auto motion = motion_along(in_loops(index, block, bounds), loop.var, lanes, bounds);
    own = own || (motion && motion->distinct());
  }
  if (!own)
    edit.refuse("vectorize.spatial",
                fmt::format("the iterations of {} do not write distinct elements of {}, as the lanes of a "
                            "vector must; vectorize a loop over one of its dimensions",
                            loop.var->name, block.body.buffer->name),
                {loop.var->name, block.id->name});
  for (const Load *access : loads_of(block)) {
    bool same_element =
        std::equal(access->indices.begin(), access->indices.end(), block.body.indices.begin(),
                   block.body.indices.end(), [](const Expr &a, const Expr &b) { return same(a, b); });
    if (access->buffer == block.body.buffer && !same_element)
      edit.refuse("vectorize.spatial",
                  fmt::format("block {} writes {} and reads other elements of it, which another lane of {} may "
                              "write; vectorize another loop",
                              block.id->name, block.body.buffer->name, loop.var->name),
                  {loop.var->name, block.id->name});
  }
}

void check_memory(const Schedule::Edit &edit, const For &loop, const Block &block) {
  auto loads = loads_of(block);
  bool memory = !in_registers(block.body.buffer->scope) ||
                std::any_of(loads.begin(), loads.end(),
                            [](const Load *access) { return !in_registers(access->buffer->scope); });
  if (!memory)
    edit.refuse(
        "vectorize.memory",
        fmt::format("block {} accesses registers only, and vector accesses need memory; unroll {} instead",
                    block.id->name, loop.var->name),
        {loop.var->name, block.id->name});
}

} // namespace

constinit const Primitive primitives::vectorize = primitive<&Schedule::vectorize>("vectorize", {loop("loop")});

void Schedule::vectorize(Loop handle, Caller caller) {
  Edit edit(*this, caller, primitives::vectorize, handle);
  const For &loop = edit.loop(handle);
  edit.require_serial("vectorize.serial", loop);
  const Block *block = only_block(loop);
  if (!block)
    edit.refuse("vectorize.innermost",
                fmt::format("the loop {} contains other loops or several blocks, but a vectorized loop is the "
                            "innermost loop of a single block; reorder or split so that {} is innermost",
                            loop.var->name, loop.var->name),
                {loop.var->name});
  check_numbers(edit, loop, *block);
  check_width(edit, loop, *block);
  check_lanes(edit, loop, *block);
  check_memory(edit, loop, *block);
  if (auto breach = lasting_breach(edit.program(), loop.var, nullptr))
    edit.refuse(breach->requirement, breach->message, {loop.var->name, block->id->name});
  For copy = loop;
  copy.form = Vectorized{};
  edit.commit(edit.replace_loop(loop, std::move(copy)));
}

} // namespace nestsmith
