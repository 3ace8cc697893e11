#include "dsl/schedule/primitives/tensorize.h"

#include "dsl/expr/expr_text.h"
#include "dsl/hardware/intrinsics.h"
#include "dsl/hardware/match.h"
#include "dsl/hardware/target.h"
#include "dsl/hardware/vector_access.h"
#include "dsl/schedule/primitives/edit.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace nestsmith {

namespace {

/// Whether the block reads a buffer of the dtype of each operand.
bool has_dtypes(const Block &block, const Intrinsic &intrinsic) {
  auto loads = loads_of(block);
  return std::ranges::all_of(intrinsic.operands, [&](const Operand &operand) {
    return std::ranges::any_of(loads, [&](const Load *x) { return x->buffer->dtype == operand.formal->dtype; });
  });
}

/// The intrinsic of this name for the dtypes of the block.
const Intrinsic &declared(const Schedule::Edit &edit, const std::string &name, const Block &block) {
  DType dtype = block.body.buffer->dtype;
  std::vector<const Intrinsic *> found = find_intrinsics(name, dtype);
  if (found.empty())
    edit.refuse("tensorize.known",
                fmt::format("there is no intrinsic '{}' for {}; the most similar ones are {}", name,
                            nestsmith::name(dtype), fmt::join(similar_intrinsics(name, dtype), ", ")));
  auto best = std::ranges::find_if(found, [&](const Intrinsic *x) { return has_dtypes(block, *x); });
  const Intrinsic &intrinsic = **(best == found.end() ? found.begin() : best);
  Arch arch = edit.schedule().target().arch;
  if (std::string why = intrinsic.feature ? why_not(*intrinsic.feature, arch) : ""; !why.empty())
    edit.refuse("tensorize.arch",
                fmt::format("the target lacks the intrinsic {}: {}; choose another target", name, why));
  return intrinsic;
}

/// The only block below the loop.
const Block &block_below(const Schedule::Edit &edit, const For &loop, const std::string &name) {
  const For *inner = &loop;
  while (const auto *next = as<For>(inner->body))
    inner = next;
  if (const auto *block = as<Block>(inner->body))
    return *block;
  edit.refuse("tensorize.innermost",
              fmt::format("the loop {0} contains several blocks, but {1} replaces the loops of a single block; "
                          "choose a loop around one block, or move the other blocks out of {0}",
                          loop.var->name, name),
              {loop.var->name});
}

/// "k < 4", "i < 16, j < 8, k < 16".
std::string loops_text(const Nest &nest) {
  std::string text;
  for (const NestLoop &loop : nest.loops)
    text += fmt::format("{}{} < {}", text.empty() ? "" : ", ", loop.var->name, loop.extent);
  return text;
}

Nest checked_nest(const Schedule::Edit &edit, const For &loop, const Intrinsic &intrinsic) {
  const std::vector<NestLoop> &expected = intrinsic.meaning.loops;
  auto nest = nest_below(loop, loop_bounds(edit.body()));
  if (expected.size() == 1 && !only_block(loop))
    edit.refuse("tensorize.innermost",
                fmt::format("the loop {} contains other loops or several blocks, but {} needs the innermost "
                            "loop of a single block; reorder or split so that {} is innermost",
                            loop.var->name, intrinsic.name, loop.var->name),
                {loop.var->name});
  if (expected.size() == 1 && as_int(loop.extent) != expected.front().extent)
    edit.refuse(
        "tensorize.extent",
        fmt::format("the loop {} has {} iterations, and {} takes {}; split it so that the inner part has {}",
                    loop.var->name, to_string(loop.extent), intrinsic.name, expected.front().extent,
                    expected.front().extent),
        {loop.var->name});
  auto extents = [](const Nest &x) {
    std::vector<std::int64_t> list;
    for (const NestLoop &one : x.loops)
      list.push_back(one.extent);
    std::ranges::sort(list);
    return list;
  };
  if (!nest || extents(*nest) != extents(intrinsic.meaning))
    edit.refuse("tensorize.extent",
                fmt::format("the nest of {} has {}, but {} takes the serial loops {} in any order; split and "
                            "reorder the loops so that the innermost loops have these extents",
                            loop.var->name,
                            nest ? "the loops " + loops_text(*nest) : "loops that are not serial and constant",
                            intrinsic.name, loops_text(intrinsic.meaning)),
                {loop.var->name});
  return *nest;
}

/// The operand, with its dtype if the dtypes of both operands differ.
std::string described(const Expr &e, const Expr &other) {
  return to_string(e) + (e.dtype() == other.dtype() ? "" : fmt::format(" ({})", nestsmith::name(e.dtype())));
}

void check_meaning(const Schedule::Edit &edit, const For &loop, const Block &block, const Nest &nest,
                   const Intrinsic &intrinsic) {
  Difference first;
  if (match(intrinsic, nest, loop_bounds(edit.body()), &first))
    return;
  const std::string &stored = block.body.buffer->name, &name = intrinsic.name;
  if (first.expected.as<Load>() &&
      same(first.expected, load(intrinsic.meaning.body.buffer, intrinsic.meaning.body.indices)) &&
      intrinsic.group == Group::thread && same(first.got, load(nest.body.buffer, nest.body.indices)))
    edit.refuse("tensorize.meaning",
                fmt::format("the iterations of {} write different elements of {}, but {} has one result; "
                            "tensorize a loop of a sum",
                            loop.var->name, stored, name),
                {loop.var->name, block.id->name});
  edit.refuse(
      "tensorize.meaning",
      fmt::format("block {} does not compute {}: got {} in each iteration of {}, expected {}; the first "
                  "difference is {} in place of {}",
                  block.id->name, name, to_string(block.body.value), loops_text(nest),
                  to_string(intrinsic.meaning.body.value), described(first.got, first.expected),
                  described(first.expected, first.got)),
      {loop.var->name, block.id->name});
}

} // namespace

constinit const Primitive primitives::tensorize =
    primitive<&Schedule::tensorize>("tensorize", {loop("loop"), intrinsic("intrinsic")});

void Schedule::tensorize(Loop handle, const std::string &name, Caller caller) {
  Edit edit(*this, caller, primitives::tensorize, handle, name);
  const For &loop = edit.loop(handle);
  edit.require_serial("tensorize.serial", loop);
  const Block &block = block_below(edit, loop, name);
  const Intrinsic &intrinsic = declared(edit, name, block);
  Nest nest = checked_nest(edit, loop, intrinsic);
  check_meaning(edit, loop, block, nest, intrinsic);
  For copy = loop;
  copy.form = Tensorized{intrinsic};
  Program next = edit.program();
  next.body = edit.replace_loop(loop, std::move(copy));
  if (auto breach = lasting_breach(next, loop.var, &intrinsic))
    edit.refuse(breach->requirement, breach->message, {loop.var->name, block.id->name});
  edit.commit(std::move(next));
}

} // namespace nestsmith
