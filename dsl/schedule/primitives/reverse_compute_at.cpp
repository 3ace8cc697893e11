#include "dsl/schedule/primitives/reverse_compute_at.h"

#include "dsl/expr/expr_text.h"
#include "dsl/ir/loop_digits.h"
#include "dsl/schedule/primitives/move.h"
#include "dsl/schedule/primitives/readers_of_box.h"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>
#include <set>

namespace nestsmith {

namespace {

/// The temporaries that the consumer reads and blocks below the loop write.
std::vector<Buffer> links_of(const Schedule::Edit &edit, const Block &consumer, const For &loop) {
  if (find_block(loop.body, consumer.id))
    edit.refuse("reverse_compute_at.reads",
                fmt::format("block {} is already below {}; name a loop of a producer", consumer.id->name,
                            loop.var->name),
                {loop.var->name, consumer.id->name});
  std::vector<Buffer> links;
  for (const Load *access : loads_of(consumer)) {
    const Buffer &buffer = access->buffer;
    if (buffer->role == Role::temporary && buffer != consumer.body.buffer &&
        !writers_of(loop.body, buffer).empty() && std::ranges::find(links, buffer) == links.end())
      links.push_back(buffer);
  }
  if (links.empty())
    edit.refuse(
        "reverse_compute_at.reads",
        fmt::format("block {} reads no temporary that is written below {}; choose a loop of its producer",
                    consumer.id->name, loop.var->name),
        {loop.var->name, consumer.id->name});
  return links;
}

std::string names(const std::vector<Buffer> &buffers) {
  std::string text;
  for (const Buffer &buffer : buffers)
    text += (text.empty() ? "" : " and ") + buffer->name;
  return text;
}

void check_complete(const Schedule::Edit &edit, const For &loop, const Buffer &link) {
  for (const Block *writer : writers_of(edit.body(), link)) {
    if (!find_block(loop.body, writer->id))
      edit.refuse(
          "reverse_compute_at.complete",
          fmt::format("block {} also writes {} but is not below {}; choose a loop that encloses every writer",
                      writer->id->name, link->name, loop.var->name),
          {loop.var->name, writer->id->name});
    for (const For *outer : edit.loops_around(loop.var))
      for (const IterVar &iter : writer->iters)
        if (sums_over(*writer, iter, outer->var))
          edit.refuse(
              "reverse_compute_at.complete",
              fmt::format(
                  "block {} sums over {}, so {} holds a partial sum inside it; choose a loop outside of {}",
                  writer->id->name, outer->var->name, link->name, outer->var->name),
              {outer->var->name, writer->id->name});
  }
}

/// A writer may have a guard on an axis that indexes nothing. If the guard depends on the loops around the new
/// place, the writer writes nothing in some of their iterations, but the consumer would run in all of them.
void check_guards(const Schedule::Edit &edit, const For &loop, const Buffer &link, const Bounds &bounds) {
  std::vector<const For *> around = edit.loops_around(loop.var);
  for (const Block *writer : writers_of(loop.body, link))
    for (const IterVar &iter : writer->iters) {
      bool indexes =
          std::ranges::any_of(writer->body.indices, [&](const Expr &index) { return uses(index, iter.var); });
      bool depends =
          std::ranges::any_of(around, [&](const For *outer) { return uses(iter.binding, outer->var); });
      bool holds = proves(Expr(0) <= iter.binding, bounds) && proves(iter.binding < iter.extent, bounds);
      if (iter.guarded && !iter.is_summed() && !indexes && depends && !holds)
        edit.refuse(
            "reverse_compute_at.complete",
            fmt::format("block {} runs only where {} < {}, so it writes nothing to {} in some iterations of "
                        "{}; choose a loop outside of the loops in {}",
                        writer->id->name, to_string(iter.binding), to_string(iter.extent), link->name,
                        loop.var->name, to_string(iter.binding)),
            {loop.var->name, writer->id->name});
    }
}

/// Every temporary that is not in `links` must be complete before the nest of the loop.
void check_inputs(const Schedule::Edit &edit, const Block &consumer, const For &loop,
                  const std::vector<Buffer> &links) {
  for (const Load *access : loads_of(consumer)) {
    if (std::ranges::find(links, access->buffer) != links.end() || access->buffer->role != Role::temporary)
      continue;
    const Stmt outermost = path_to(edit.body(), edit.loops_around(loop.var).front()->var).back();
    auto order = blocks_of(edit.body());
    auto position = [&](const BlockId &id) {
      return std::find_if(order.begin(), order.end(), [&](const Block *block) { return block->id == id; }) -
             order.begin();
    };
    auto first = position(blocks_of(outermost).front()->id);
    for (const Block *writer : writers_of(edit.body(), access->buffer))
      if (writer->id != consumer.id && position(writer->id) >= first)
        edit.refuse(
            "reverse_compute_at.inputs",
            fmt::format("block {} also reads {}, which {} writes after the start of {}; move {} there first",
                        consumer.id->name, access->buffer->name, writer->id->name, loop.var->name,
                        writer->id->name),
            {loop.var->name, writer->id->name});
  }
}

/// The instances of the consumer for one iteration of the loop. Every link must give the same.
Instances common_instances(const Schedule::Edit &edit, const Block &consumer, const For &loop,
                           const std::vector<Buffer> &links, const Bounds &bounds, const WholeTiles *tiles) {
  std::set<Var> fixed;
  for (const For *outer : edit.loops_around(loop.var))
    fixed.insert(outer->var);
  auto equal = [&](const Span &a, const Span &b) {
    return as_int(simplify(a.min - b.min, bounds)) == 0 && same(a.extent, b.extent) && a.runs == b.runs;
  };
  std::optional<Instances> instances;
  for (const Buffer &link : links) {
    auto made = region_written(
        loop.body, link, [&](const Var &var) { return !fixed.count(var); }, bounds, tiles);
    auto own = readers_of_box(consumer, link, made.value(), bounds);
    if (!own)
      edit.refuse(
          "reverse_compute_at.identity",
          fmt::format("block {} reads {} so that the elements that it can compute in one iteration of {} "
                      "are not a box of its axes; use compute_at on the producer",
                      consumer.id->name, link->name, loop.var->name),
          {consumer.id->name});
    if (instances && !(std::ranges::equal(instances->box, own->box, equal) &&
                       std::ranges::equal(instances->zeros, own->zeros, same)))
      edit.refuse("reverse_compute_at.inputs",
                  fmt::format("block {} reads {} and {}, and one iteration of {} produces the inputs of "
                              "different elements; choose a loop in which both are complete for the same "
                              "elements",
                              consumer.id->name, links.front()->name, link->name, loop.var->name),
                  {loop.var->name, consumer.id->name});
    instances = std::move(*own);
  }
  return *instances;
}

/// Ends the box where the axes of the consumer end, except for an axis that follows a whole tile of a link.
void end_at_axes(Region &box, const Block &consumer, const std::vector<Buffer> &links, const WholeTiles &tiles,
                 const Bounds &bounds) {
  auto follows_tile = [&](const IterVar &iter) {
    for (const Load *access : loads_of(consumer))
      for (std::size_t d = 0; d < access->indices.size(); ++d)
        if (std::ranges::find(links, access->buffer) != links.end() && uses(access->indices[d], iter.var) &&
            tiles.contains(access->buffer, d))
          return true;
    return false;
  };
  auto span = box.begin();
  for (const IterVar &iter : consumer.iters) {
    if (iter.is_summed() && !takes_parts(consumer))
      continue;
    auto begin = range_of(span->min, bounds);
    auto length = as_int(span->extent), end = as_int(iter.extent);
    if (begin && begin->low >= 0 && length && end && begin->low < *end && *end - begin->low < *length &&
        span->runs.empty() && !follows_tile(iter))
      span->extent = Expr(*end - begin->low);
    ++span;
  }
}

/// The consumer with an axis for each of `zeros`: its guard excludes the iterations in which the value is not
/// 0.
Block with_guards(Block consumer, const std::vector<Expr> &zeros) {
  for (const Expr &zero : zeros)
    consumer.iters.push_back({make_var(consumer.id->name + "_part"), Expr(1), IterKind::spatial, zero});
  return consumer;
}

/// The number of the step in which the sum has the value of its axis, in terms of loops. A sum with a first
/// value advances in equal steps.
Expr step_of(const Block &block, const IterVar &axis, const Bounds &bounds) {
  Linear position = linearize(in_loops(Expr(axis.var) - axis.first, block, bounds), bounds);
  std::int64_t size = position.constant;
  for (const Term &term : position.terms)
    size = std::gcd(size, term.coefficient);
  return simplify(floordiv(to_expr(position), Expr(std::max<std::int64_t>(1, size))), bounds);
}

/// Refuses unless the new nest executes each instance once.
void check_partition(const Schedule::Edit &edit, const Block &consumer, const For &loop, const Stmt &nest,
                     const std::vector<Buffer> &links) {
  Bounds bounds = loop_bounds(make_seq({edit.body(), nest}));
  std::vector<const For *> around = edit.loops_around(loop.var);
  for (const For *x : loops_of(path_to(nest, consumer.id)))
    around.push_back(x);
  const Block &moved = *find_block(nest, consumer.id);
  std::vector<Expr> bindings;
  for (const IterVar &iter : moved.iters)
    bindings.push_back(iter.first.exists() ? step_of(moved, iter, bounds) : iter.binding);
  if (!bijective(bindings, around, bounds))
    edit.refuse("reverse_compute_at.partition",
                fmt::format("the iterations of {} and of the loops around it do not produce disjoint boxes of "
                            "{}, so block {} would run more than once for some elements; choose a loop whose "
                            "iterations each complete a separate tile",
                            loop.var->name, names(links), consumer.id->name),
                {loop.var->name, consumer.id->name});
}

/// The loops of the links may produce only a part of them, if no block reads the rest: a mask excludes it. The
/// moved block still has to compute all of its own elements.
void check_covered(const Schedule::Edit &edit, const Block &moved, const For &loop,
                   const std::vector<Buffer> &links, const Bounds &bounds) {
  for (const IterVar &iter : moved.iters) {
    if ((!iter.is_summed() || takes_parts(moved)) && !covers_extent(iter, bounds))
      edit.refuse(
          "reverse_compute_at.covers",
          fmt::format("the loops around {} produce only a part of {}, so block {} would not compute all of "
                      "its {} elements along {}; use compute_at on the producer",
                      loop.var->name, names(links), moved.id->name, to_string(iter.extent), iter.var->name),
          {loop.var->name});
  }
}

/// The init of a moved sum may have loops of its own, which compute_at made for a part of the sum.
void check_init(const Schedule::Edit &edit, const Block &consumer, const Bounds &bounds) {
  if (!consumer.reduces() || consumer.init || consumer.body.buffer->role != Role::temporary)
    return;
  for (const Block *init : writers_of(edit.body(), consumer.body.buffer))
    if (init->id != consumer.id &&
        !std::ranges::all_of(init->iters, [&](const IterVar &iter) { return covers_extent(iter, bounds); }))
      edit.refuse(
          "reverse_compute_at.covers",
          fmt::format("block {} sets only a part of {}, but block {} would then sum all of its elements; use "
                      "reverse_compute_at before decompose_reduction",
                      init->id->name, consumer.body.buffer->name, consumer.id->name),
          {init->id->name, consumer.id->name});
}

/// The nest of the consumer for one iteration of the loop.
Stmt nest_at(Schedule::Edit &edit, const Block &consumer, const For &loop, const std::vector<Buffer> &links,
             const Bounds &bounds) {
  WholeTiles tiles(edit.body());
  auto nest_of = [&](Schedule::Edit &trial, bool whole) {
    auto [box, zeros] = common_instances(trial, consumer, loop, links, bounds, whole ? nullptr : &tiles);
    if (!whole)
      end_at_axes(box, consumer, links, tiles, bounds);
    Stmt nest = nest_over(trial, with_guards(consumer, zeros), box, bounds, takes_parts(consumer));
    check_partition(trial, consumer, loop, nest, links);
    check_covered(trial, *find_block(nest, consumer.id), loop, links,
                  loop_bounds(make_seq({trial.body(), nest})));
    return nest;
  };
  // A box that ends where the links end may be no multiple of a stride, where the whole tile is.
  bool whole = false;
  try {
    Schedule::Edit trial = edit;
    nest_of(trial, false);
  } catch (const ScheduleError &) {
    whole = true;
  }
  return nest_of(edit, whole);
}

} // namespace

constinit const Primitive primitives::reverse_compute_at = primitive<&Schedule::reverse_compute_at>(
    "reverse_compute_at", {block("consumer"), near_loop("loop", "consumer")});

void Schedule::reverse_compute_at(BlockRef handle, Loop at, Caller caller) {
  Edit edit(*this, caller, primitives::reverse_compute_at, handle, at);
  const Block &consumer = edit.block(handle);
  const For &loop = edit.loop(at);
  std::vector<Buffer> links = links_of(edit, consumer, loop);
  require_no_part(edit, "reverse_compute_at.part", consumer);
  require_plain_nest(edit, "reverse_compute_at.serial", consumer);
  for (const Buffer &link : links)
    check_complete(edit, loop, link);
  check_inputs(edit, consumer, loop, links);

  Bounds bounds = loop_bounds(edit.body());
  for (const Buffer &link : links)
    check_guards(edit, loop, link, bounds);
  check_init(edit, consumer, bounds);
  Stmt nest = nest_at(edit, consumer, loop, links, bounds);
  Stmt body =
      insert_into(remove_block(edit.body(), consumer.id), loop.var, nest, [](const Stmt &) { return false; });
  require_kept_order(edit, "reverse_compute_at.order", consumer.id, body, consumer.id, loop.var->name);
  edit.commit(body);
}

} // namespace nestsmith
