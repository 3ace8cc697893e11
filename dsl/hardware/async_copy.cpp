#include "dsl/hardware/async_copy.h"

#include "dsl/expr/dtype.h"
#include "dsl/expr/expr_text.h"
#include "dsl/hardware/vector_access.h"
#include "dsl/ir/array.h"

#include <algorithm>
#include <fmt/format.h>

namespace nestsmith {

namespace {

bool is_zero(const Expr &e) {
  if (const auto *real = e.as<FloatImm>())
    return Scalar::from_double(real->dtype, real->value).bits == 0;
  return as_int(e) == 0;
}

/// The number of consecutive elements that one copy moves.
std::int64_t elements_of_copy(Placements &filled, const Block &block) {
  Path path = path_to(filled.program().body, block.id);
  for (const For *loop : loops_of(path))
    if (loop->is<Vectorized>() && is_vector_copy(filled, *loop, block))
      return as_int(loop->extent).value();
  return 1;
}

std::optional<std::string> narrow_pieces(Placements &filled, const Block &block) {
  DType dtype = block.body.buffer->dtype;
  if (is_tuple(dtype))
    return fmt::format("block {} copies tuples {}, whose parts are in arrays of their own, but an asynchronous "
                       "copy moves 4, 8 or 16 bytes of one array; leave the copy synchronous",
                       block.id->name, name(dtype));
  std::int64_t elements = elements_of_copy(filled, block), bytes = elements * byte_size(dtype);
  if (is_async_piece(bytes))
    return std::nullopt;
  return fmt::format(
      "block {} copies {} element{} of {} at a time, which {} {} bytes, but an asynchronous copy has "
      "4, 8 or 16 bytes; vectorize a loop along which both {} and its source are contiguous and "
      "aligned, with {} iterations",
      block.id->name, elements, elements == 1 ? "" : "s", name(dtype), elements == 1 ? "has" : "have", bytes,
      block.body.buffer->name, vector_lengths(dtype));
}

std::int64_t stage_of(const For &loop, const Block &block) {
  auto staged = std::ranges::find(loop.pipeline(), block.id, &BlockStage::block);
  return staged == loop.pipeline().end() ? 0 : staged->stage;
}

/// The obligations of the pipelined loop whose nest the copies are.
std::optional<std::string> in_pipeline(const Program &program, const For &loop, const Block &block) {
  const auto *source = block.body.value.as<Load>();
  std::vector<const Block *> below = blocks_of(loop.body);
  for (const Block *other : blocks_of(program.body)) {
    bool inside = std::ranges::find(below, other) != below.end();
    if (!inside && reads(*other, block.body.buffer))
      return fmt::format(
          "block {} reads {} outside of the pipelined loop {}, in which asynchronous copies fill it; "
          "move {} below {}, or leave the copy synchronous",
          other->id->name, block.body.buffer->name, loop.var->name, other->id->name, loop.var->name);
    if (inside && reads(*other, block.body.buffer) && stage_of(loop, *other) <= stage_of(loop, block))
      return fmt::format(
          "block {} reads {} in the stage {} of {}, in which it is copied asynchronously, so it would "
          "wait for the copies of all stages; give {} a later stage",
          other->id->name, block.body.buffer->name, stage_of(loop, *other), loop.var->name, other->id->name);
    if (inside && other->body.buffer == source->buffer)
      return fmt::format(
          "block {} writes {} while asynchronous copies of later iterations of {} may read it; leave "
          "the copy of {} synchronous",
          other->id->name, source->buffer->name, loop.var->name, source->buffer->name);
  }
  for (const Stmt &nest : nests_of(loop.body))
    for (const Block *other : blocks_of(nest))
      if (other->async && !is_async_nest(nest))
        return fmt::format(
            "block {} copies asynchronously in a loop inside of {}, whose own asynchronous copies are "
            "in flight: a wait for the inner copies also waits for those; leave the copies of one "
            "of the two loops synchronous",
            other->id->name, loop.var->name);
  return std::nullopt;
}

} // namespace

std::optional<AsyncBreach> async_breach(const Block &block) {
  const Buffer &tile = block.body.buffer;
  if (tile->scope != Scope::shared)
    return AsyncBreach{
        "async_copy.shared",
        fmt::format("block {} writes {} in {} memory, expected shared memory; copy the operand to a "
                    "tile with cache_read(…, Scope::shared)",
                    block.id->name, tile->name, name(tile->scope))};
  const auto *source = block.body.value.as<Load>();
  if (!source || source->buffer->scope != Scope::global || source->buffer->dtype != tile->dtype)
    return AsyncBreach{
        "async_copy.copy",
        fmt::format(
            "block {} stores {}{}, expected one load of {} from global memory: an asynchronous copy does not "
            "compute, convert, or read registers; {}",
            block.id->name, to_string(block.body.value),
            source ? fmt::format(" from {} memory", name(source->buffer->scope)) : "", name(tile->dtype),
            source ? "copy directly from global memory, without a cache_read in between"
                   : "compute where the tile is read")};
  if (source->mask.exists() && !is_zero(source->fill))
    return AsyncBreach{
        "async_copy.fill",
        fmt::format("block {} stores {} where {} is false, but an asynchronous copy fills with 0 only; "
                    "leave the copy synchronous",
                    block.id->name, to_string(source->fill), to_string(source->mask))};
  return std::nullopt;
}

bool is_async_nest(const Stmt &stmt) {
  return std::ranges::all_of(blocks_of(stmt), [](const Block *block) { return block->async; });
}

std::optional<std::string> async_obligation(Placements &filled, const Block &block) {
  if (auto breach = async_breach(block))
    return std::move(breach->message);
  if (auto message = narrow_pieces(filled, block))
    return message;
  const Program &program = filled.program();
  const Buffer &tile = block.body.buffer;
  if (std::ranges::none_of(blocks_of(program.body), [&](const Block *other) { return reads(*other, tile); }))
    return fmt::format(
        "no block in the nest of {} reads {}, so the kernel never waits for its asynchronous copies; "
        "move a reader into the nest, or leave the copy synchronous",
        block.id->name, tile->name);
  Path path = path_to(program.body, block.id);
  for (std::size_t n = 0; n < path.size(); ++n) {
    const auto *loop = as<For>(path[n]);
    if (!loop || loop->pipeline().empty())
      continue;
    for (const Stmt &nest : nests_of(loop->body))
      if (find_block(nest, block.id) && is_async_nest(nest))
        return in_pipeline(program, *loop, block);
  }
  return std::nullopt;
}

} // namespace nestsmith
