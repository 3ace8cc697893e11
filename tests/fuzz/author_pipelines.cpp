/// Schedules in which steps of a sum overlap: pipelines, and tiles that are loaded ahead of their use.

#include "dsl/ir/allocation.h"
#include "tests/fuzz/author_steps.h"

#include <algorithm>

namespace nestsmith::fuzz {

void Author::fetch_ahead(const std::string &reader, const std::string &operand, const Roles &roles) {
  if (!go("cache_read", {BlockName{reader}, Word{operand}, Word{"shared"}}))
    return;
  std::string tile = results().front(), staged;
  if (go("cache_read", {BlockName{reader}, Word{tile}, Word{"local"}}))
    go("compute_at", {BlockName{results().front()}, LoopName{roles.k_inner.back()}});
  if (chance(70) && go("cache_read", {BlockName{tile}, Word{operand}, Word{"local"}}))
    staged = results().front();
  bool whole = chance(80); // distribute the copies over the threads
  for (const std::string &copy : {tile, staged})
    if (!copy.empty() && go("compute_at", {BlockName{copy}, LoopName{roles.k_outer.back()}}) && whole) {
      Names own = loops_inside(copy, roles.k_outer.back());
      if (std::map<Axis, std::int64_t> threads = threads_of_nest(copy); !own.empty() && !threads.empty())
        share_fused(own, threads);
    }
}

void Author::cut_some(Roles &roles) {
  std::vector<const For *> serial = all_loops(body());
  std::erase_if(serial, [](const For *loop) { return !loop->is<Serial>() || as_int(loop->extent) == 1; });
  if (serial.empty() || !chance(15))
    return;
  bool steps = !roles.k_outer.empty() && has_loop(roles.k_outer.front()) && chance(75);
  std::string at = steps ? roles.k_outer.front() : random_.pick(serial)->var->name;
  std::int64_t extent = as_int(find_loop(body(), s_.loop(at).var)->extent).value_or(8);
  using Points = std::vector<std::int64_t>;
  if (go("cut",
         {LoopName{at}, random_.pick(std::vector{Points{-1}, Points{1}, Points{1, -1}, Points{extent / 2}})}) &&
      steps)
    roles.k_outer.front() = random_.pick(results());
}

void Author::overlap(const Roles &roles) {
  for (const std::string &loop : roles.k_outer) {
    if (!has_loop(loop) || !chance(ahead_ ? 95 : 75) || !as<Seq>(find_loop(body(), s_.loop(loop).var)->body))
      continue;
    if (chance(95) && join(loop))
      continue;
    if (chance(60))
      go("double_buffer", {LoopName{loop}});
    else
      go(any_pipeline(*find_loop(body(), s_.loop(loop).var), random_));
  }
}

/// Pipelines a loop and the last nest below it, in two stages each, and joins the pipelines. In each, the last
/// nest computes. The other nests may be spread over the steps.
bool Author::join(const std::string &loop) {
  auto in_two_stages = [&](const std::string &at, bool late) {
    std::vector<Stmt> nests = nests_of(find_loop(body(), s_.loop(at).var)->body);
    std::vector<StageName> list;
    for (std::size_t n = 0; n < nests.size(); ++n)
      for (const Block *each : blocks_of(nests[n]))
        if (std::int64_t order = static_cast<std::int64_t>(n); n + 1 == nests.size())
          list.push_back({each->id->name, 1, late ? 0 : order});
        else
          list.push_back({each->id->name, 0, late ? order + 1 : order});
    return go("pipeline", {LoopName{at}, list});
  };
  const auto *inner = as<For>(nests_of(find_loop(body(), s_.loop(loop).var)->body).back());
  if (!inner || !inner->is<Serial>() || !as<Seq>(inner->body))
    return false;
  std::string at = inner->var->name;
  bool late = chance(90);
  if (!go("unroll", {LoopName{at}}) || !in_two_stages(at, false) || !in_two_stages(loop, late) ||
      !go("join_pipelines", {LoopName{at}}))
    return false;
  Names parts;
  for (const Stmt &nest : nests_of(find_loop(body(), s_.loop(loop).var)->body))
    if (const auto *child = as<For>(nest);
        child && (child->is<Serial>() || child->is<Unrolled>()) && child->var->name != at && late && chance(90))
      parts.push_back(child->var->name);
  if (chance(30))
    random_.shuffle(parts);
  for (const std::string &part : parts)
    if (find_loop(body(), s_.loop(part).var)->is<Unrolled>() || go("unroll", {LoopName{part}}))
      go("spread", {LoopName{part}});
  return true;
}

} // namespace nestsmith::fuzz
