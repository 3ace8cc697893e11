#include "dsl/schedule/primitives/reverse_compute_inline.h"

#include "dsl/expr/expr_limits.h"
#include "dsl/ir/loop_digits.h"
#include "dsl/schedule/primitives/inline.h"
#include "dsl/schedule/primitives/move.h"

#include <algorithm>
#include <fmt/format.h>

namespace nestsmith {

namespace {

bool is_sum(const Block &block) {
  return std::any_of(block.iters.begin(), block.iters.end(),
                     [](const IterVar &iter) { return iter.kind == IterKind::reduction; });
}

/// A load of the temporary that only the consumer reads. All of its loads must have the same indices.
const Load &find_link(const Schedule::Edit &edit, const Block &consumer) {
  const std::string &name = consumer.id->name;
  if (consumer.init || is_sum(consumer))
    edit.refuse("reverse_compute_inline.elementwise",
                fmt::format("block {} is a sum, expected an elementwise block; use reverse_compute_at", name),
                {name});
  const Load *link = nullptr;
  for (const Load *access : loads_of(consumer)) {
    if (access->buffer->role != Role::temporary || access->buffer == consumer.body.buffer ||
        readers_of(edit.body(), access->buffer).size() != 1)
      continue;
    if (link && link->buffer != access->buffer)
      edit.refuse("reverse_compute_inline.reads",
                  fmt::format("block {} reads both {} and {}, but can be inlined into one producer only; use "
                              "compute_inline for the other first",
                              name, link->buffer->name, access->buffer->name),
                  {name});
    if (!(is_plain(consumer, access->buffer, access->indices) ||
          invert(consumer, access->buffer, access->indices, access->indices)) ||
        (link && !std::equal(link->indices.begin(), link->indices.end(), access->indices.begin(), same)))
      edit.refuse("reverse_compute_inline.reads",
                  fmt::format("block {} does not read {} at exactly its own axes, each once and over its whole "
                              "extent, and its indices do not determine one instance for each element; use "
                              "compute_inline",
                              name, access->buffer->name),
                  {name});
    link = access;
  }
  if (!link)
    edit.refuse("reverse_compute_inline.reads",
                fmt::format("block {} is not the only reader of any temporary; use compute_inline on the "
                            "producers of its operands",
                            name),
                {name});
  return *link;
}

const Block &find_producer(const Schedule::Edit &edit, const Block &consumer, const Buffer &link) {
  std::vector<const Block *> writers = writers_of(edit.body(), link);
  const Block &producer = *writers.back();
  if (writers.size() > 1 || producer.init || is_sum(producer))
    edit.refuse(
        "reverse_compute_inline.complete",
        fmt::format("block {} accumulates {}, and {} would be applied to partial sums; use reverse_compute_at",
                    producer.id->name, link->name, consumer.id->name),
        {producer.id->name, consumer.id->name});
  std::vector<Expr> bindings;
  for (const IterVar &iter : producer.iters)
    bindings.push_back(iter.binding);
  if (!is_plain(producer, link, producer.body.indices) ||
      !bijective(bindings, edit.loops_around(producer.id), loop_bounds(edit.body())))
    edit.refuse("reverse_compute_inline.once",
                fmt::format("block {} does not compute each element of {} exactly once, at its own axes, so {} "
                            "would run more than once for some elements; use reverse_compute_at",
                            producer.id->name, link->name, consumer.id->name),
                {producer.id->name, consumer.id->name});
  return producer;
}

/// The consumer moves up to the producer. Its inputs must be complete there, and the buffer that it writes must
/// not be in use.
void check_between(const Schedule::Edit &edit, const Block &producer, const Block &consumer,
                   const Buffer &link) {
  std::vector<const Block *> order = blocks_of(edit.body());
  const Stmt nest = edit.nest_of(producer.id);
  auto first = std::find_if(order.begin(), order.end(),
                            [&](const Block *block) { return block->id == blocks_of(nest).front()->id; });
  auto last =
      std::find_if(order.begin(), order.end(), [&](const Block *block) { return block->id == consumer.id; });
  for (auto block = first; block < last; ++block) {
    if ((*block)->id == producer.id)
      continue;
    const std::string &name = (*block)->id->name;
    for (const Load *access : loads_of(consumer))
      if (access->buffer != link && (*block)->body.buffer == access->buffer)
        edit.refuse(
            "reverse_compute_inline.inputs",
            fmt::format("block {} also reads {}, which {} writes after the start of {}; move {} before it",
                        consumer.id->name, access->buffer->name, name, producer.id->name, name),
            {consumer.id->name, name});
    if ((*block)->body.buffer == consumer.body.buffer || reads(**block, consumer.body.buffer))
      edit.refuse("reverse_compute_inline.inputs",
                  fmt::format("block {} uses {}, which {} would overwrite first; compute into another tensor",
                              name, consumer.body.buffer->name, consumer.id->name),
                  {consumer.id->name, name});
  }
}

/// The axes of the consumer in terms of the producer's axes, where each is an index of the link.
Values axes_in_producer(const Block &consumer, const Load &link, const Block &producer) {
  Values axes;
  for (const IterVar &iter : consumer.iters)
    for (std::size_t d = 0; d < link.indices.size(); ++d)
      if (same(link.indices[d], Expr(iter.var)))
        axes[iter.var] = producer.body.indices[d];
  return axes;
}

/// The value of the element that the consumer reads, in terms of the axes of the consumer.
Expr value_at(const Block &producer, const Load &link) {
  Values axes;
  for (std::size_t d = 0; d < link.indices.size(); ++d)
    axes[*producer.body.indices[d].as<Var>()] = link.indices[d];
  return substitute(producer.body.value, axes);
}

/// The producer with the axes of the consumer. Separate axes guard the elements that the consumer does not
/// read.
Block with_axes_of(const Block &consumer, const Load &link, const Block &producer, const Bounds &bounds) {
  std::vector<Expr> element = in_loops(producer.body.indices, producer, bounds);
  Inverse inverse = *invert(consumer, link.buffer, link.indices, element);
  Block block{producer.id, consumer.iters, {}, {}};
  for (IterVar &iter : block.iters)
    iter.binding = inverse.axes.at(iter.var);
  for (const IterVar &iter : producer.iters)
    if (iter.guarded)
      inverse.conditions.push_back({iter.binding, iter.extent});
  for (const auto &[value, extent] : inverse.conditions)
    if (!proves(Expr(0) <= value, bounds) || !proves(value < extent, bounds))
      block.iters.push_back({make_var(link.buffer->name + "_part"), extent, IterKind::spatial, value});
  return block;
}

} // namespace

constinit const Primitive primitives::reverse_compute_inline =
    primitive<&Schedule::reverse_compute_inline>("reverse_compute_inline", {block("consumer")});

void Schedule::reverse_compute_inline(BlockRef handle, Caller caller) {
  Edit edit(*this, caller, primitives::reverse_compute_inline, handle);
  const Block &consumer = edit.block(handle);
  require_no_part(edit, "reverse_compute_inline.part", consumer);
  const Load &link = find_link(edit, consumer);
  const Block &producer = find_producer(edit, consumer, link.buffer);
  check_between(edit, producer, consumer, link.buffer);

  Bounds bounds = loop_bounds(edit.body());
  bool plain = is_plain(consumer, link.buffer, link.indices);
  Values axes = plain ? axes_in_producer(consumer, link, producer) : Values{};
  Expr value = plain ? producer.body.value : value_at(producer, link);
  auto moved = [&](const Expr &e) {
    return replace_loads(substitute(e, axes), link.buffer, [&](const Load &access) {
      return access.mask.exists() ? select(access.mask, value, access.fill) : value;
    });
  };
  Block fused = plain ? producer : with_axes_of(consumer, link, producer, bounds);
  fused.body = {consumer.body.buffer, {}, moved(consumer.body.value)};
  for (const Expr &index : consumer.body.indices)
    fused.body.indices.push_back(moved(index));
  for (const Load *access : loads_of(fused))
    if (access->buffer == fused.body.buffer &&
        !std::equal(access->indices.begin(), access->indices.end(), fused.body.indices.begin(), same))
      edit.refuse(
          "reverse_compute_inline.inputs",
          fmt::format("block {} reads other elements of {} than the one that {} overwrites; compute into "
                      "another tensor",
                      producer.id->name, access->buffer->name, consumer.id->name),
          {producer.id->name, consumer.id->name});
  if (auto reason = too_large(fused.body.value))
    edit.refuse(
        "reverse_compute_inline.limits",
        fmt::format("with {} in it, the value of block {} {}", consumer.id->name, producer.id->name, *reason),
        {producer.id->name, consumer.id->name});
  Stmt body = remove_block(edit.body(), consumer.id);
  Stmt block = make_block(std::move(fused));
  if (!plain)
    block = refresh_bindings(block, bounds);
  edit.commit(replace(body, path_to(body, producer.id).back(), block));
}

} // namespace nestsmith
