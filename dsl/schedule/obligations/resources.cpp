#include "dsl/hardware/intrinsics.h"
#include "dsl/hardware/shared_plan.h"
#include "dsl/ir/layout.h"
#include "dsl/ir/roles.h"
#include "dsl/schedule/makers.h"
#include "dsl/schedule/obligations/rules.h"

#include <algorithm>
#include <fmt/format.h>

namespace nestsmith::owed {

namespace {

/// The arrays of the nest in shared memory, in the plan of their memory. If `padded` is false, padding is not
/// counted.
SharedPlan plan_of(NestFacts &nest, bool padded) {
  std::vector<SharedArray> arrays;
  for (const Buffer &buffer : temporaries(nest.program)) {
    if (buffer->scope != Scope::shared)
      continue;
    const Placement &placement = nest.placements.of(buffer);
    std::int64_t elements = placement.elements;
    if (elements == 0) // a buffer that depends on sizes has its own obligation
      continue;
    if (!padded) {
      std::int64_t plain = 1;
      bool overflow = false;
      for (std::int64_t extent : placement.box())
        overflow = overflow || __builtin_mul_overflow(plain, extent, &plain) || plain > elements;
      if (!overflow)
        elements = std::min(elements, elements_of_copies(*buffer, plain, placement.slots.count));
    }
    arrays.push_back({.buffer = buffer, .bytes = elements * byte_size(buffer->dtype)});
  }
  SharedPlan plan = plan_shared(nest.program, std::move(arrays), nest.target);
  plan.bytes += channel_bytes(nest.program);
  return plan;
}

std::string list_of(NestFacts &nest, const SharedPlan &plan) {
  std::string list;
  for (const SharedArray &array : plan.arrays) {
    list += fmt::format("{}{} {}", list.empty() ? "" : ", ", array.buffer->name, array.bytes);
    if (std::int64_t copies = nest.placements.of(array.buffer).slots.count; copies > 1)
      list += fmt::format(" in {} copies", copies);
    if (array.tenancy)
      list += fmt::format(" in the memory of {}", plan.arrays[array.tenancy->host].buffer->name);
  }
  return list;
}

/// The obligation of the array whose layout changed last.
Obligation about_padding(const NestFacts &nest, const SharedPlan &plan, std::string message) {
  Obligation owed{std::move(message), 0, ""};
  for (const SharedArray &array : plan.arrays) {
    std::size_t directive = last_change(
        nest.schedule, [&](const Program &program) { return to_string(layout_in(program, array.buffer)); });
    if (directive > owed.directive) {
      owed.directive = directive;
      owed.culprit = nest.writer_of(array.buffer)->name;
    }
  }
  return owed;
}

} // namespace

std::vector<Obligation> warp_roles(NestFacts &nest) {
  auto breach = find_role_breach(nest.program);
  if (!breach)
    return {};
  return {{std::move(breach->message),
           last_change(nest.schedule, [](const Program &x) { return x.roles.size(); }), breach->culprit}};
}

std::vector<Obligation> shared_memory(NestFacts &nest) {
  const Target &target = nest.target;
  SharedPlan plan = plan_of(nest, true);
  if (plan.bytes <= target.shared_bytes_per_block)
    return {};
  std::string what = fmt::format("a block needs {} bytes of shared memory ({}), but {} has {}", plan.bytes,
                                 list_of(nest, plan), to_string(target.arch), target.shared_bytes_per_block);
  if (plan_of(nest, false).bytes <= target.shared_bytes_per_block)
    return {
        about_padding(nest, plan, what + "; without padding it would fit: use a swizzle, which needs none")};
  BlockId writer;
  for (const SharedArray &array : plan.arrays)
    if (!array.tenancy)
      writer = nest.writer_of(array.buffer);
  return {about_block(nest.schedule, writer,
                      what + "; bring the caches under an inner loop with compute_at, or use smaller tiles")};
}

/// The registers of a thread that matrix units update during their calls; the compiler cannot spill them. 0:
/// the nest has no such calls.
static std::int64_t registers_of_calls(NestFacts &nest) {
  std::int64_t most = 0;
  walk(nest.program.body, [&](const Stmt &stmt) {
    const auto *loop = as<For>(stmt);
    if (!loop || !loop->intrinsic() || !reads_tiles(*loop->intrinsic()))
      return true;
    for (const Block *block : blocks_of(loop->body)) {
      const Buffer &results = block->body.buffer;
      if (in_registers(results->scope))
        most = std::max(most, nest.placements.of(results).elements * byte_size(results->dtype) / 4);
    }
    return false;
  });
  return most;
}

std::vector<Obligation> launch_bounds(NestFacts &nest) {
  std::int64_t blocks = nest.program.min_blocks, threads = threads_of(nest.program);
  const Target &target = nest.target;
  std::vector<Obligation> found;
  auto owe = [&](std::string message) {
    found.push_back(
        {std::move(message), last_change(nest.schedule, [](const Program &x) { return x.min_blocks; }), ""});
  };
  if (blocks * threads > target.threads_per_sm)
    owe(fmt::format(
        "{} blocks of {} threads are {} threads, but an SM of {} holds at most {}; request fewer blocks",
        blocks, threads, blocks * threads, to_string(target.arch), target.threads_per_sm));
  std::int64_t bytes = plan_of(nest, true).bytes, each = bytes + target.shared_bytes_reserved;
  if (blocks > 1 && blocks * each > target.shared_bytes_per_sm)
    owe(fmt::format("{} blocks with {} bytes of shared memory each, {} of them reserved by the system, need "
                    "{}, but an SM of {} has {}; request fewer blocks, or use smaller tiles",
                    blocks, each, target.shared_bytes_reserved, blocks * each, to_string(target.arch),
                    target.shared_bytes_per_sm));
  constexpr std::int64_t others = 26; // that ptxas asks for beside the results of a call (its error C7602)
  const std::int64_t all = std::max<std::int64_t>(1, blocks) * threads,
                     each_thread = registers_of_sm / all / unit_of_registers * unit_of_registers;
  const bool moved =
      std::ranges::any_of(nest.program.roles, [](const WarpRole &role) { return role.registers != 0; });
  if (const std::int64_t of_calls = registers_of_calls(nest);
      of_calls > 0 && !moved && of_calls + others > each_thread)
    owe(fmt::format(
        "{} blocks of {} threads leave {} registers to a thread, but the results of its matrix units take "
        "{}, and their calls {} more; request fewer blocks, or use smaller tiles",
        std::max<std::int64_t>(1, blocks), threads, each_thread, of_calls, others));
  return found;
}

} // namespace nestsmith::owed
