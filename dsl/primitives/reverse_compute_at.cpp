#include "dsl/primitives/reverse_compute_at.h"

#include "dsl/primitives/move.h"

#include <algorithm>
#include <fmt/format.h>
#include <set>

namespace nestsmith::primitives {

namespace {

/// The temporary that the consumer reads and a block below the loop writes.
Buffer link_of(const Schedule::Edit &edit, const Block &consumer, const For &loop) {
  if (find_block(loop.body, consumer.id))
    edit.refuse("reverse_compute_at.reads",
                fmt::format("block {} is already below {}; name a loop of a producer", consumer.id->name,
                            loop.var->name),
                {loop.var->name, consumer.id->name});
  Buffer link;
  for (const Load *access : loads_of(consumer))
    if (access->buffer != consumer.body.buffer && !writers_of(loop.body, access->buffer).empty())
      link = access->buffer;
  if (!link || link->role != Role::temporary)
    edit.refuse(
        "reverse_compute_at.reads",
        fmt::format("block {} reads no temporary that is written below {}; choose a loop of its producer",
                    consumer.id->name, loop.var->name),
        {loop.var->name, consumer.id->name});
  return link;
}

void check_complete(const Schedule::Edit &edit, const Block &consumer, const For &loop, const Buffer &link) {
  for (const Block *writer : writers_of(edit.body(), link)) {
    if (!find_block(loop.body, writer->id))
      edit.refuse(
          "reverse_compute_at.complete",
          fmt::format("block {} also writes {} but is not below {}; choose a loop that encloses every writer",
                      writer->id->name, link->name, loop.var->name),
          {loop.var->name, writer->id->name});
    for (const For *outer : loops_of(path_to(edit.body(), loop.var)))
      for (const IterVar &iter : writer->iters)
        if (sums_over(*writer, iter, outer->var))
          edit.refuse(
              "reverse_compute_at.complete",
              fmt::format(
                  "block {} sums over {}, so {} holds a partial sum inside it; choose a loop outside of {}",
                  writer->id->name, outer->var->name, link->name, outer->var->name),
              {outer->var->name, writer->id->name});
  }
  for (const Load *access : loads_of(consumer)) {
    if (access->buffer == link || access->buffer->role != Role::temporary)
      continue;
    const Stmt outermost = path_to(edit.body(), loops_of(path_to(edit.body(), loop.var)).front()->var).back();
    auto order = blocks_of(edit.body());
    auto position = [&](const BlockId &id) {
      return std::find_if(order.begin(), order.end(), [&](const Block *block) { return block->id == id; }) -
             order.begin();
    };
    auto first = position(blocks_of(outermost).front()->id);
    for (const Block *writer : writers_of(edit.body(), access->buffer))
      if (position(writer->id) >= first)
        edit.refuse(
            "reverse_compute_at.inputs",
            fmt::format("block {} also reads {}, which {} writes after the start of {}; move {} there first",
                        consumer.id->name, access->buffer->name, writer->id->name, loop.var->name,
                        writer->id->name),
            {loop.var->name, writer->id->name});
  }
}

/// For each axis of the consumer, the dimension of the link that it indexes.
std::vector<std::size_t> identity_map(const Schedule::Edit &edit, const Block &consumer, const Buffer &link) {
  std::vector<std::size_t> map(consumer.iters.size(), link->shape.size());
  bool good = std::all_of(consumer.iters.begin(), consumer.iters.end(),
                          [](const IterVar &iter) { return iter.kind == IterKind::spatial; });
  for (const Load *access : loads_of(consumer)) {
    if (access->buffer != link)
      continue;
    for (std::size_t axis = 0; axis < consumer.iters.size(); ++axis) {
      std::size_t found = link->shape.size();
      for (std::size_t d = 0; d < access->indices.size(); ++d)
        if (const Var *var = access->indices[d].as<Var>(); var && *var == consumer.iters[axis].var)
          found = d;
      good = good && found < link->shape.size() && (map[axis] == link->shape.size() || map[axis] == found);
      map[axis] = found;
    }
    good = good && access->indices.size() == consumer.iters.size();
  }
  if (!good)
    edit.refuse("reverse_compute_at.identity",
                fmt::format("block {} does not read {} at exactly its own axes, so the elements that it can "
                            "compute in one iteration are not a box; use compute_at on the producer",
                            consumer.id->name, link->name),
                {consumer.id->name});
  return map;
}

} // namespace

void reverse_compute_at(Schedule &schedule, BlockRef handle, Loop at) {
  Schedule::Edit edit(schedule, "reverse_compute_at", {BlockName{block_name(handle)}, LoopName{loop_name(at)}});
  const Block &consumer = edit.block(handle);
  const For &loop = edit.loop(at);
  Buffer link = link_of(edit, consumer, loop);
  require_plain_nest(edit, "reverse_compute_at.serial", consumer);
  check_complete(edit, consumer, loop, link);
  std::vector<std::size_t> map = identity_map(edit, consumer, link);

  Bounds bounds = loop_bounds(edit.body());
  auto outer = loops_of(path_to(edit.body(), loop.var));
  std::set<Var> fixed;
  for (const For *x : outer)
    fixed.insert(x->var);
  auto made = region_written(
      loop.body, link, [&](const Var &var) { return !fixed.count(var); }, bounds);
  Region region;
  for (std::size_t axis = 0; axis < map.size(); ++axis)
    region.push_back(made.value()[map[axis]]);
  Stmt nest = nest_over(edit, consumer, region, bounds);

  std::vector<const For *> around = outer;
  std::vector<Expr> bindings;
  for (const For *x : loops_of(path_to(nest, consumer.id)))
    around.push_back(x);
  for (const IterVar &iter : find_block(nest, consumer.id)->iters)
    bindings.push_back(iter.binding);
  if (!bijective(bindings, around, loop_bounds(make_seq({edit.body(), nest}))))
    edit.refuse("reverse_compute_at.partition",
                fmt::format("the iterations of {} and of the loops around it do not produce disjoint boxes of "
                            "{}, so block {} would run more than once for some elements; choose a loop whose "
                            "iterations each complete a separate tile",
                            loop.var->name, link->name, consumer.id->name),
                {loop.var->name, consumer.id->name});
  Stmt body =
      insert_into(remove_block(edit.body(), consumer.id), loop.var, nest, [](const Stmt &) { return false; });
  require_kept_order(edit, "reverse_compute_at.order", consumer.id, body, consumer.id, loop.var->name);
  edit.commit(body);
}

} // namespace nestsmith::primitives
