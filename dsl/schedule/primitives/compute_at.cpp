#include "dsl/schedule/primitives/compute_at.h"

#include "dsl/schedule/primitives/move.h"

#include "dsl/expr/expr_text.h"
#include <algorithm>
#include <fmt/format.h>
#include <set>

namespace nestsmith {

namespace {

void check_readers(const Schedule::Edit &edit, const Block &producer, const For &loop) {
  const Buffer &buffer = producer.body.buffer;
  if (find_block(loop.body, producer.id))
    edit.refuse(
        "compute_at.encloses",
        fmt::format("block {} is already below {}; name a loop of a reader", producer.id->name, loop.var->name),
        {loop.var->name, producer.id->name});
  auto all = readers_of(edit.body(), buffer);
  for (const Block *reader : all)
    if (!find_block(loop.body, reader->id))
      edit.refuse("compute_at.encloses",
                  fmt::format("block {} reads {} but is not below {}; choose a loop that encloses every reader",
                              reader->id->name, buffer->name, loop.var->name),
                  {loop.var->name, reader->id->name});
  if (all.empty())
    edit.refuse(
        "compute_at.read",
        fmt::format("no block reads {}, so there is no reader to move the producer to; leave it in place",
                    buffer->name),
        {producer.id->name});
}

/// The inputs of the producer must be complete at its new place. So the producer may share a loop with a writer
/// of an input only if the loop is in `fixed`: it also encloses the new place, and its iterations are not
/// threads that share the buffer.
void check_inputs(const Schedule::Edit &edit, const Block &producer, const std::set<Var> &fixed) {
  for (const For *outer : edit.loops_around(producer.id)) {
    if (fixed.count(outer->var))
      continue;
    for (const Load *access : loads_of(producer))
      for (const Block *writer : writers_of(outer->body, access->buffer))
        if (writer->id != producer.id)
          edit.refuse(
              "compute_at.inputs",
              fmt::format("block {} reads {}, which {} computes in the same nest, below {}; move {} first",
                          producer.id->name, access->buffer->name, writer->id->name, outer->var->name,
                          writer->id->name),
              {writer->id->name, producer.id->name});
  }
}

/// Whether `inner` is part of `outer`, apart from indices outside of an array of this extent.
bool lies_in(const Span &inner, const Span &outer, const Expr &shape, const Bounds &bounds) {
  Expr end = inner.min + inner.extent, outer_end = outer.min + outer.extent;
  bool begins = proves(outer.min <= inner.min, bounds) || proves(outer.min <= Expr(0), bounds);
  bool ends = proves(end <= outer_end, bounds) || proves(shape <= outer_end, bounds);
  bool like = same(inner.min, outer.min) && inner.runs == outer.runs; // then the gaps coincide
  return begins && ends && (outer.runs.empty() || like);
}

/// If a temporary is produced piece by piece, the new nest may read only the piece that exists. The loops of
/// the readers may run past the elements that they read, where a split left a tail on another axis. A reader of
/// the producer that overwrites a parameter in place produces nothing for it: `compute_at.order` is about it.
void check_pieces(const Schedule::Edit &edit, const Block &producer, const For &loop, const Stmt &nest,
                  const WholeTiles &tiles) {
  Bounds bounds = loop_bounds(make_seq({edit.body(), nest}));
  for (const Load *access : loads_of(producer))
    for (const Block *writer : writers_of(edit.body(), access->buffer)) {
      std::vector<Var> common = common_loops(path_to(edit.body(), loop.var), path_to(edit.body(), writer->id));
      if (writer->id == producer.id || common.empty()) // without common loops, the whole temporary exists
        continue;
      if (access->buffer->role != Role::temporary && reads(*writer, producer.body.buffer))
        continue;
      auto varies = [&](const Var &var) { return std::ranges::find(common, var) == common.end(); };
      const Buffer &buffer = access->buffer;
      Region made = *region_written(path_to(edit.body(), writer->id).back(), buffer, varies, bounds);
      Region read = *region_read(nest, buffer, varies, bounds, &tiles);
      for (std::size_t d = 0; d < read.size(); ++d)
        if (!lies_in(read[d], made[d], buffer->shape[d], bounds))
          edit.refuse("compute_at.pieces",
                      fmt::format("block {0} would read {1} elements of {2} from index {3} in dimension {4}, "
                                  "but {5} produces only {6} from index {7} in each iteration of {8}; move {0} "
                                  "to {9} before moving {5} below {8}",
                                  producer.id->name, to_string(read[d].extent), buffer->name,
                                  to_string(read[d].min), d, writer->id->name, to_string(made[d].extent),
                                  to_string(made[d].min),
                                  edit.loops_around(writer->id)[common.size() - 1]->var->name, loop.var->name),
                      {writer->id->name, producer.id->name});
    }
}

/// The region in the order of the block's axes. A block may write its axes in another order.
Region in_axis_order(const Schedule::Edit &edit, const Block &producer, const Region &region) {
  Region result;
  const auto &indices = producer.body.indices;
  for (const IterVar &iter : producer.iters) {
    if (iter.is_summed())
      continue;
    auto at = std::ranges::find_if(indices, [&](const Expr &index) { return same(index, Expr(iter.var)); });
    if (at == indices.end())
      edit.refuse("compute_at.index",
                  fmt::format("block {} writes {}, where its axis {} is not an index by itself, so the loops "
                              "that compute a box of {} are unknown; leave the block in place",
                              producer.id->name, to_string(load(producer.body.buffer, indices)), iter.var->name,
                              producer.body.buffer->name),
                  {producer.id->name});
    result.push_back(region[static_cast<std::size_t>(at - indices.begin())]);
  }
  return result;
}

/// The part of the span inside of the array. A masked read may begin before the first element: if the loops fix
/// the begin, the span begins at 0, otherwise a guard excludes the elements.
Span clipped(const Span &span, const Expr &shape, const Bounds &bounds) {
  auto begin = range_of(span.min, bounds);
  auto extent = as_int(span.extent), size = as_int(shape);
  if (!begin || !extent || (begin->low < 0 && size && *extent >= *size))
    return {Expr(0), shape};
  if (begin->low >= 0 || begin->low != begin->high)
    return span;
  std::int64_t end = begin->low + *extent;
  end = std::max<std::int64_t>(1, size ? std::min(end, *size) : end);
  return {Expr(0), Expr(end)};
}

} // namespace

constinit const Primitive primitives::compute_at =
    primitive<&Schedule::compute_at>("compute_at", {block("producer"), near_loop("loop", "producer")});

void Schedule::compute_at(BlockRef handle, Loop at, Caller caller) {
  Edit edit(*this, caller, primitives::compute_at, handle, at);
  const Block &producer = edit.block(handle);
  const For &loop = edit.loop(at);
  const Buffer &buffer = producer.body.buffer;
  if (buffer->role != Role::temporary)
    edit.refuse(
        "compute_at.temporary",
        fmt::format(
            "block {} writes {}, a parameter that must be computed in full; use compute_at on a temporary",
            producer.id->name, buffer->name),
        {producer.id->name});
  if (writers_of(edit.body(), buffer).size() != 1)
    edit.refuse("compute_at.whole",
                fmt::format("{} has separate blocks for init and update, which would have to move together; "
                            "use compute_at before decompose_reduction",
                            buffer->name),
                {producer.id->name});
  check_readers(edit, producer, loop);
  require_plain_nest(edit, "compute_at.serial", producer);

  Bounds bounds = loop_bounds(edit.body());
  std::set<Var> fixed;
  for (const For *outer : edit.loops_around(loop.var)) {
    bool of_warp = buffer->scope == Scope::warp && outer->axis() == Axis::warp;
    bool shared_by_threads =
        buffer->scope != Scope::local && outer->axis() && is_thread(*outer->axis()) && !of_warp;
    if (!shared_by_threads)
      fixed.insert(outer->var);
  }
  check_inputs(edit, producer, fixed);
  WholeTiles tiles(edit.body());
  auto region = region_read(
      loop.body, buffer, [&](const Var &var) { return !fixed.count(var); }, bounds, &tiles);
  for (std::size_t d = 0; d < region->size(); ++d)
    (*region)[d] = clipped((*region)[d], buffer->shape[d], bounds);
  Stmt nest = nest_over(edit, producer, in_axis_order(edit, producer, *region), bounds);
  check_pieces(edit, producer, loop, nest, tiles);
  Stmt body = remove_block(edit.body(), producer.id);
  body =
      insert_into(body, loop.var, nest, [&](const Stmt &child) { return !readers_of(child, buffer).empty(); });
  require_kept_order(edit, "compute_at.order", producer.id, body, producer.id, loop.var->name);
  edit.commit(body);
}

} // namespace nestsmith
