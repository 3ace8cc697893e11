#include "dsl/primitives/compute_at.h"

#include "dsl/primitives/move.h"

#include "dsl/error.h"
#include <algorithm>
#include <fmt/format.h>
#include <set>

namespace nestsmith::primitives {

namespace {

void check_readers(const Schedule::Edit &edit, const Block &producer, const For &loop) {
  const Buffer &buffer = producer.body.buffer;
  if (find_block(loop.body, producer.id))
    edit.refuse(
        fmt::format("block {} is already below {}; name a loop of a reader", producer.id->name, loop.var->name),
        {loop.var->name, producer.id->name});
  auto all = readers_of(edit.body(), buffer);
  for (const Block *reader : all)
    if (!find_block(loop.body, reader->id))
      edit.refuse(fmt::format("block {} reads {} but is not below {}; choose a loop that encloses every reader",
                              reader->id->name, buffer->name, loop.var->name),
                  {loop.var->name, reader->id->name});
  if (all.empty())
    edit.refuse(
        fmt::format("nothing reads {}; only what is read can be computed where it is needed", buffer->name),
        {producer.id->name});
}

/// What the producer reads must be complete at the new place: its writers share no loop with the producer, but
/// loops of which it makes, here as there, just what belongs to one iteration.
void check_inputs(const Schedule::Edit &edit, const Block &producer, const std::set<Var> &fixed) {
  for (const For *outer : loops_of(path_to(edit.body(), producer.id))) {
    if (fixed.count(outer->var))
      continue;
    for (const Load *access : loads_of(producer))
      for (const Block *writer : writers_of(outer->body, access->buffer))
        if (writer->id != producer.id)
          edit.refuse(
              fmt::format("block {} reads {}, which {} computes below {}, a loop of its present place; move {} "
                          "first",
                          producer.id->name, access->buffer->name, writer->id->name, outer->var->name,
                          writer->id->name),
              {writer->id->name, producer.id->name});
  }
}

/// What is written, axis by axis: a block may write its axes in another order than it has them.
Region in_axis_order(const Block &producer, const Region &region) {
  Region result;
  for (const IterVar &iter : producer.iters) {
    if (iter.kind != IterKind::spatial)
      continue;
    const auto &indices = producer.body.indices;
    auto at = std::find_if(indices.begin(), indices.end(),
                           [&](const Expr &index) { return same(index, Expr(iter.var)); });
    internal_check(at != indices.end(), "a block writes its temporary at what is none of its axes");
    result.push_back(region[static_cast<std::size_t>(at - indices.begin())]);
  }
  return result;
}

} // namespace

void compute_at(Schedule &schedule, BlockRef handle, Loop at) {
  Schedule::Edit edit(schedule, "compute_at", {BlockName{block_name(handle)}, LoopName{loop_name(at)}});
  const Block &producer = edit.block(handle);
  const For &loop = edit.loop(at);
  const Buffer &buffer = producer.body.buffer;
  if (buffer->role != Role::temporary)
    edit.refuse(
        fmt::format("block {} writes {}, a parameter, all of which is needed; only a temporary can be computed "
                    "where it is read",
                    producer.id->name, buffer->name),
        {producer.id->name});
  if (writers_of(edit.body(), buffer).size() != 1)
    edit.refuse(
        fmt::format(
            "{} has an init and an update, which would have to move together; use decompose_reduction after "
            "this",
            buffer->name),
        {producer.id->name});
  check_readers(edit, producer, loop);
  require_plain_nest(edit, producer);

  Bounds bounds = loop_bounds(edit.body());
  std::set<Var> fixed;
  for (const For *outer : loops_of(path_to(edit.body(), loop.var))) {
    bool shared_by_threads = buffer->scope != Scope::local && outer->axis && is_thread(*outer->axis);
    bool shared_by_blocks = buffer->scope == Scope::global && outer->axis;
    if (!shared_by_threads && !shared_by_blocks)
      fixed.insert(outer->var);
  }
  check_inputs(edit, producer, fixed);
  auto region = region_read(
      loop.body, buffer, [&](const Var &var) { return !fixed.count(var); }, bounds);
  for (std::size_t d = 0; d < region->size(); ++d) // a masked read may begin before the first element
    if (auto first = range_of((*region)[d].min, bounds); !first || first->low < 0)
      (*region)[d] = {Expr(0), buffer->shape[d]};
  Stmt nest = nest_over(edit, producer, in_axis_order(producer, *region), bounds);
  Stmt body = remove_block(edit.body(), producer.id);
  body =
      insert_into(body, loop.var, nest, [&](const Stmt &child) { return !readers_of(child, buffer).empty(); });
  edit.commit(body);
}

} // namespace nestsmith::primitives
