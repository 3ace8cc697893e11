#include "schedules/library/results.h"

#include "schedules/library/accesses.h"

#include "dsl/expr/error.h"
#include "dsl/ir/allocation.h"

#include <algorithm>
#include <optional>
#include <set>

namespace nestsmith::library {

namespace {

/// The block reads the buffer with its own axes as indices, each once, and has no others.
bool reads_each_once(const Block &block, const Buffer &buffer) {
  std::size_t spatial = block.iters.size();
  for (const Load *access : loads_of(block)) {
    if (access->buffer != buffer)
      continue;
    std::vector<Var> seen;
    for (const Expr &index : access->indices) {
      const Var *axis = index.as<Var>();
      if (!axis || std::ranges::find(seen, *axis) != seen.end())
        return false;
      seen.push_back(*axis);
    }
    if (access->mask.exists() || seen.size() != spatial)
      return false;
  }
  return !block.reduces();
}

/// One pass of `computed_at`, for stages that are not inlined.
std::set<Buffer> computed_beside(const Schedule &s, const Buffer &sum, const std::set<Buffer> &stored) {
  std::set<Buffer> here, later = stored;
  for (const Block *block : blocks_of(s.program().body)) {
    const Buffer &written = block->body.buffer;
    if (written == sum) {
      here.insert(written);
      continue;
    }
    auto is_read = [&](const Buffer &buffer) { return buffer != written && reads(*block, buffer); };
    auto by_element = [&](const Buffer &buffer) { return !is_read(buffer) || reads_each_once(*block, buffer); };
    const bool may_be = std::ranges::any_of(here, is_read) && std::ranges::none_of(later, is_read) &&
                        std::ranges::all_of(here, by_element);
    if (!here.empty())
      (may_be ? here : later).insert(written);
  }
  return here;
}

/// The buffers that may be computed where the sum is complete. A stage that reads the sum element by element
/// may be, or one that reads such a stage, if that one is inlined into all of its readers. A stage that also
/// reads another buffer that is written after the sum may not be.
std::set<Buffer> computed_at(const Schedule &s, const Buffer &sum) {
  for (std::set<Buffer> stored;;) {
    const std::set<Buffer> here = computed_beside(s, sum, stored);
    const std::size_t known = stored.size();
    bool after = false; // the sum
    for (const Block *block : blocks_of(s.program().body)) {
      after = after || block->body.buffer == sum;
      for (const Buffer &stage : here)
        if (after && stage != sum && stage != block->body.buffer && reads(*block, stage) &&
            (stage->role != Role::temporary || !here.contains(block->body.buffer)))
          stored.insert(stage);
    }
    if (stored.size() == known)
      return here;
  }
}

/// Whether each reader of the stage can be computed where the sum is, so that the stage may be inlined.
/// Otherwise, it is stored, such as the activation between two products.
bool may_be_inlined(const Schedule &s, const Block &stage, const std::set<Buffer> &here) {
  const Buffer &buffer = stage.body.buffer;
  bool read = false;
  for (const Block *block : blocks_of(s.program().body))
    if (block->body.buffer != buffer && reads(*block, buffer)) {
      read = true;
      if (!reads_each_once(*block, buffer) || !here.contains(block->body.buffer))
        return false;
    }
  return read;
}

/// Inlines the stages between the sum and its results, and returns the results. None if one of them cannot be
/// computed where the sum is.
std::optional<std::vector<BlockRef>> results_of(Schedule &s, const Buffer &sum) {
  std::vector<BlockRef> results;
  for (bool again = true; again;) {
    again = false;
    results.clear();
    const std::set<Buffer> here = computed_at(s, sum);
    for (const Block *block : blocks_of(s.program().body)) {
      if (block->body.buffer == sum || !reads(*block, sum))
        continue;
      if (!reads_each_once(*block, sum))
        return std::nullopt;
      if (!here.contains(block->body.buffer))
        return std::nullopt;
      bool inner = block->body.buffer->role == Role::temporary;
      if (inner && block->body.buffer->scope == Scope::global && may_be_inlined(s, *block, here)) {
        s.compute_inline({block->id});
        again = true;
        break;
      }
      results.push_back({block->id});
    }
  }
  return results.empty() ? std::nullopt : std::optional(results);
}

/// Makes a cache of the sum, and returns its results: what stores it, and the stages that can read the cache
/// instead of what was stored.
std::vector<BlockRef> stored_and_read(Schedule &s, BlockRef sum, Scope scope) {
  const Buffer buffer = block_of(s, sum).body.buffer;
  BlockRef stored = s.cache_write(sum, scope);
  Schedule trial = s;
  try {
    for (const Block *block : blocks_of(s.program().body))
      if (block->body.buffer != buffer && reads(*block, buffer) && reads_each_once(*block, buffer))
        trial.share_cache({block->id}, stored);
  } catch (const ScheduleError &) { // it reads what was stored, in a kernel of its own
    return {stored};
  }
  auto results = results_of(trial, block_of(trial, sum).body.buffer);
  if (!results)
    return {stored};
  s = std::move(trial);
  return *results;
}

} // namespace

std::vector<BlockRef> results_of_sum(Schedule &s, BlockRef sum, Scope scope, bool apart) {
  if (apart)
    return {s.cache_write(sum, scope)};
  const Buffer buffer = block_of(s, sum).body.buffer;
  if (buffer->role == Role::temporary) {
    Schedule trial = s;
    if (const auto results = results_of(trial, buffer)) {
      s = std::move(trial);
      return *results;
    }
  }
  return stored_and_read(s, sum, scope);
}

} // namespace nestsmith::library
