#include "dsl/expr/expr_text.h"
#include "dsl/hardware/fragment_rules.h"
#include "dsl/ir/layout.h"
#include "dsl/schedule/makers.h"
#include "dsl/schedule/obligations/rules.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace nestsmith::owed {

namespace {

Obligation about_temporary(const NestFacts &nest, const Buffer &buffer, std::string message) {
  return about_block(nest.schedule, nest.writer_of(buffer), std::move(message));
}

/// The first block that uses the buffer and has no loop bound to the axis around it, or all blocks.
std::string outside_of(const NestFacts &nest, Axis axis, const Buffer &buffer) {
  for (const Block *block : nest.blocks)
    if (touches(*block, buffer) && !is_around(nest.loops_around(*block), axis))
      return block->id->name;
  return "its blocks";
}

/// Whether only the last block along the axis uses the buffer.
bool is_only_in_last_block(const NestFacts &nest, const Buffer &buffer, Axis axis) {
  return std::ranges::all_of(nest.blocks, [&](const Block *block) {
    return !touches(*block, buffer) || nest.is_last_along(*block, axis);
  });
}

/// Whether every index on the thread axis writes its own copy of the whole buffer: no loop around a block that
/// writes it is bound to a part of the axis, so all threads execute these blocks.
bool is_written_along(const NestFacts &nest, const Buffer &buffer, Axis axis) {
  return in_registers(buffer->scope) && is_thread(axis) &&
         std::ranges::all_of(nest.blocks, [&](const Block *block) {
           return block->body.buffer != buffer ||
                  std::ranges::none_of(nest.loops_around(*block), [&](const For *loop) {
                    return loop->axis() && overlap(*loop->axis(), axis);
                  });
         });
}

/// Whether every block that uses the buffer has a loop around it that is bound to the axis. Then each thread
/// uses the elements of its own iterations, and `filled_by_its_readers` requires that it wrote them.
bool is_shared_out_along(const NestFacts &nest, const Buffer &buffer, Axis axis) {
  return buffer->scope == Scope::local && is_thread(axis) &&
         std::ranges::all_of(nest.blocks, [&](const Block *block) {
           return !touches(*block, buffer) || is_around(nest.loops_around(*block), axis);
         });
}

std::string box_text(const Region &region) {
  std::string text;
  for (const Span &span : region)
    text += fmt::format("{}{}", text.empty() ? "" : " x ", to_string(span.extent));
  return text;
}

} // namespace

Owed used_by_its_owners(NestFacts &nest, const Buffer &buffer) {
  const Placement &placement = nest.placements.of(buffer);
  for (auto [axis, extent] : nest.extents) {
    bool needed = buffer->scope == Scope::local || !is_thread(axis) ||
                  (buffer->scope == Scope::warp && axis == Axis::warp);
    if (needed && !is_around(placement.loops, axis) && extent > 1 &&
        !is_only_in_last_block(nest, buffer, axis) && !is_written_along(nest, buffer, axis) &&
        !is_shared_out_along(nest, buffer, axis))
      return about_temporary(
          nest, buffer,
          fmt::format("{0} is {1}, one copy for each {2}, but it is used outside of the loop bound to {3}; "
                      "split and bind the loops of {4} to {3} like those of its other blocks, or bring them "
                      "below one such loop with reverse_compute_at or compute_at",
                      buffer->name, name(buffer->scope), owner_of(buffer->scope), name(axis),
                      outside_of(nest, axis, buffer)));
  }
  return std::nullopt;
}

Owed held_by_its_lanes(NestFacts &nest, const Buffer &buffer) {
  auto message = buffer->scope == Scope::warp ? fragment_breach(nest.placements, buffer) : std::nullopt;
  return message ? Owed(about_temporary(nest, buffer, *message)) : std::nullopt;
}

Owed of_constant_size(NestFacts &nest, const Buffer &buffer) {
  const Placement &placement = nest.placements.of(buffer);
  if (placement.elements != 0)
    return std::nullopt;
  return about_temporary(
      nest, buffer,
      fmt::format("{} has {} elements in {} memory, which depends on sizes known only at launch; split the "
                  "loops of its readers, then move it below a loop over a constant tile with compute_at",
                  buffer->name, box_text(placement.region), name(buffer->scope)));
}

Owed laid_out_invertibly(NestFacts &nest, const Buffer &buffer) {
  if (buffer->scope == Scope::warp || !buffer->layout || !buffer->layout->map)
    return std::nullopt;
  std::vector<std::int64_t> box = nest.placements.of(buffer).box();
  auto collision = not_invertible(*buffer->layout->map, box);
  if (!collision)
    return std::nullopt;
  std::size_t directive = last_change(nest.schedule, [&](const Program &program) {
    Layout layout = layout_in(program, buffer);
    return to_string(Layout{.map = layout.map});
  });
  BlockId writer = nest.writer_of(buffer);
  return Obligation{
      fmt::format("the layout of {} is not invertible over the {} elements in memory at one time: {}; use "
                  "transform_layout after compute_at, or keep the remainder of each division in the map",
                  buffer->name, fmt::join(box, " x "), *collision),
      directive, writer ? writer->name : ""};
}

/// If a loop below the placement of the buffer is bound to a thread axis again, other threads run its
/// iterations. Each of these threads must have filled the elements that it reads. The lanes of a warp share a
/// fragment.
Owed filled_by_its_readers(NestFacts &nest, const Buffer &buffer) {
  const Placement &placement = nest.placements.of(buffer);
  if (!in_registers(buffer->scope) || placement.filled_by_owner)
    return std::nullopt;
  for (const Block *block : nest.blocks) {
    if (!touches(*block, buffer))
      continue;
    auto loops = nest.loops_around(*block);
    for (std::size_t n = placement.loops.size(); n < loops.size(); ++n) {
      std::optional<Axis> axis = loops[n]->axis();
      if (!axis || (buffer->scope == Scope::warp && axis == Axis::lane))
        continue;
      std::string_view owner = owner_of(buffer->scope);
      const std::string &loop = loops[n]->var->name;
      return about_block(
          nest.schedule, block->id,
          fmt::format("{} is {}, one copy for each {}, but block {} uses it below {}, which "
                      "is bound to {} again and runs on other {}s; use shared memory, leave {} "
                      "serial, or fuse, split and bind the loops of all blocks that use {} in the "
                      "same way, so that each {} reads only elements that it wrote",
                      buffer->name, name(buffer->scope), owner, block->id->name, loop, name(*axis), owner, loop,
                      buffer->name, owner));
    }
  }
  return std::nullopt;
}

Owed fitting_in_registers(NestFacts &nest, const Buffer &buffer) {
  std::int64_t bytes = nest.placements.of(buffer).elements * byte_size(buffer->dtype);
  std::int64_t limit = nest.target.register_bytes_per_thread;
  if (!in_registers(buffer->scope) || bytes <= limit)
    return std::nullopt;
  return about_temporary(
      nest, buffer,
      fmt::format("{} takes {} bytes for each thread, but {} has {} bytes of registers; bring it "
                  "under an inner loop with compute_at, or use smaller tiles",
                  buffer->name, bytes, to_string(nest.target.arch), limit));
}

} // namespace nestsmith::owed
