/// The conditions that lowering requires of a schedule: capacity, ownership and placement.

#include "dsl/ir/allocation.h"
#include "dsl/ir/printer.h"
#include "dsl/schedule/obligations/rules.h"
#include "dsl/schedule/trace.h"

#include <iterator>

namespace nestsmith {

namespace owed {

namespace {

constexpr Owed (*rules_of_temporaries[])(NestFacts &, const Buffer &) = {
    used_by_its_owners,  held_by_its_lanes,     of_constant_size,
    laid_out_invertibly, filled_by_its_readers, fitting_in_registers};

constexpr std::vector<Obligation> (*rules_of_nests[])(NestFacts &) = {atomics_in_global_memory,
                                                                      init_in_thread_of_update,
                                                                      blocks_around_last_block,
                                                                      vectors,
                                                                      async_copies,
                                                                      shared_memory,
                                                                      launch_bounds,
                                                                      warp_roles,
                                                                      clusters};

void append(std::vector<Obligation> &found, std::vector<Obligation> more) {
  std::move(more.begin(), more.end(), std::back_inserter(found));
}

std::vector<Obligation> owed_by(NestFacts &nest) {
  // A wrong call of a warp causes the obligations about its buffers, so its own obligation comes first.
  std::vector<Obligation> found = calls_of_warps(nest);
  for (const Buffer &buffer : temporaries(nest.program))
    for (auto rule : rules_of_temporaries)
      if (buffer->scope != Scope::global)
        if (Owed first = rule(nest, buffer)) {
          found.push_back(std::move(*first));
          break;
        }
  for (const Block *block : nest.blocks) {
    if (Owed init = place_for_init(nest, *block))
      found.push_back(std::move(*init));
    append(found, one_writer(nest, *block));
  }
  for (auto rule : rules_of_nests)
    append(found, rule(nest));
  return found;
}

} // namespace

std::vector<Obligation> obligations_of(const Schedule &schedule) {
  std::vector<Obligation> found = temporaries_between_nests(schedule);
  append(found, races_in_global_memory(schedule));
  append(found, shared_launches(schedule));
  for (const Stmt &stmt : nests_of(schedule.program().body)) {
    NestFacts nest(schedule, stmt);
    append(found, owed_by(nest));
  }
  return found;
}

} // namespace owed

ScheduleError to_error(const Schedule &schedule, const Obligation &owed) {
  const std::string by = owed.directive == 0 ? "the computation " + schedule.program().name
                                             : to_cpp(schedule.trace()[owed.directive - 1], "");
  return {"", by, owed.message, print_marked(schedule.program(), {owed.culprit})};
}

std::vector<Obligation> Schedule::obligations() const {
  std::call_once(owed_->computed, [&] { owed_->list = owed::obligations_of(*this); });
  return owed_->list;
}

} // namespace nestsmith
