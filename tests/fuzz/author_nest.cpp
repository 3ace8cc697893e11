#include "dsl/ir/allocation.h"
#include "dsl/schedule/primitives/edit.h"
#include "schedules/workloads.h"
#include "tests/fuzz/author_steps.h"

#include <algorithm>
#include <set>
#include <utility>

namespace nestsmith::fuzz {

void Author::schedule_nest(std::string name, bool elaborate) {
  if (elaborate && block(name).reduces() && chance(has_shared_operand(name) ? 40 : 8) &&
      reduce_across_threads(name))
    return;
  if (elaborate)
    place_result(name);
  std::string sum = name;
  if (elaborate && chance(12))
    name = partial_sums(name);
  bool by_atomics = elaborate && block(sum).reduces() && block(sum).body.buffer->scope == Scope::global &&
                    chance(name == sum ? 8 : 40) && go("nondeterministic_atomics", {BlockName{sum}});
  ahead_ = elaborate && chance(22);
  Roles roles = tile(name);
  order(roles);
  fuse_some(roles.threads, 45);
  fuse_some(roles.blocks, 15);
  if (elaborate) {
    bring_consumers(name, roles);
    if (chance(18))
      through_cache(name, roles);
  }
  Names blocks = roles.blocks;
  blocks.insert(blocks.end(), roles.parts.begin(), roles.parts.end());
  if (by_atomics && name == sum && !roles.k_outer.empty() && chance(80)) {
    blocks.push_back(roles.k_outer.front());
    roles.k_outer.erase(roles.k_outer.begin());
  }
  bind(blocks, {Axis::block_x, Axis::block_y, Axis::block_z});
  bind(roles.threads, {Axis::thread_x, Axis::thread_y, Axis::thread_z});
  if (!elaborate)
    return;
  if (by_atomics && !roles.parts.empty())
    add_by_atomics(sum, roles);
  else if (!roles.parts.empty())
    sum_in_last_block(sum, roles);
  for (const std::string &copy : std::exchange(to_share_, {}))
    if (has_block(copy))
      share(copy);
  std::set<std::string> operands;
  for (const Load *access : loads_of(block(name)))
    if (access->buffer != block(name).body.buffer)
      operands.insert(access->buffer->name);
  bool ahead = ahead_ && !roles.k_inner.empty() && !roles.k_outer.empty();
  for (const std::string &operand : operands)
    if (ahead && has_loop(roles.k_inner.back()) && has_loop(roles.k_outer.back()))
      fetch_ahead(name, operand, roles);
    else if (chance(70))
      fetch(name, operand, roles);
  cut_some(roles);
  overlap(roles);
  annotate(name, roles);
}

void Author::add_by_atomics(const std::string &sum, const Roles &roles) {
  if (!go("reverse_compute_at", {BlockName{sum}, LoopName{roles.parts.front()}}))
    return;
  Names own;
  for (const For *loop : serial_loops(sum))
    if (loop->var->name != roles.parts.front())
      own.push_back(loop->var->name);
  std::map<Axis, std::int64_t> threads = threads_of_nest(sum);
  if (!own.empty() && !threads.empty())
    chance(60) ? share_fused(own, threads) : share_each(own, threads);
}

void Author::sum_in_last_block(const std::string &sum, const Roles &roles) {
  if (roles.blocks.empty() || !has_loop(roles.blocks.back()) ||
      !go("reverse_compute_at", {BlockName{sum}, LoopName{roles.blocks.back()}}) ||
      !go("last_block", {LoopName{roles.parts.front()}}))
    return;
  Names own;
  for (const For *loop : serial_loops(sum))
    if (!sums(block(sum), loop->var))
      own.push_back(loop->var->name);
  std::map<Axis, std::int64_t> threads = threads_of_nest(sum);
  if (!own.empty() && !threads.empty() && chance(80))
    chance(60) ? share_fused(own, threads) : share_each(own, threads);
  const Buffer result = block(sum).body.buffer;
  std::vector<const For *> around = loops(sum);
  std::erase_if(around, [&](const For *loop) { return sums(block(sum), loop->var); });
  for (const Block *reader : readers_of(body(), result))
    go("reverse_compute_at", {BlockName{reader->id->name}, LoopName{around.back()->var->name}});
}

void Author::place_result(const std::string &name) {
  if (block(name).body.buffer->role == Role::temporary && chance(85))
    go("set_scope", {BlockName{name}, Word{chance(70) ? "local" : "shared"}});
  for (const Block *other : blocks_of(body())) // stages before it
    if (other->body.buffer->role == Role::temporary && other->body.buffer->scope == Scope::global &&
        other->id->name != name && chance(40))
      go("set_scope", {BlockName{other->id->name}, Word{chance(30) ? "local" : "shared"}});
}

std::string Author::partial_sums(const std::string &name) {
  for (const For *loop : serial_loops(name))
    if (sums(block(name), loop->var)) {
      std::string at = loop->var->name;
      const std::vector<Var> &sizes = s_.program().sizes;
      const bool has_part = std::ranges::find(sizes, size_of_part, &Symbol::name) != sizes.end();
      if (has_part && apart_.below(3) > 0 && go("split_by", {LoopName{at}, Word{size_of_part}}))
        at = results()[0];
      else if (chance(80) &&
               go("split",
                  {LoopName{at}, chance(50) ? std::vector<std::int64_t>{infer, random_.pick({2, 4, 8})}
                                            : std::vector<std::int64_t>{random_.pick({2, 3, 4}), infer}}))
        at = results()[random_.below(2)];
      if (go("rfactor", {LoopName{at}})) {
        part_ = chance(60) ? at : "";
        return results().front();
      }
      break;
    }
  return name;
}

bool Author::reduce_across_threads(const std::string &name) {
  Names spatial, reduction;
  for (const For *loop : serial_loops(name))
    (sums(block(name), loop->var) ? reduction : spatial).push_back(loop->var->name);
  if (spatial.empty() || reduction.empty())
    return false;
  const Buffer result = block(name).body.buffer;
  struct Threads {
    Axis axis;
    std::int64_t count;
    Axis rows; ///< of the rows of one block
  };
  const std::vector<Threads> groups = {{Axis::lane, 32, Axis::warp},
                                       {Axis::thread_x, random_.pick({32, 64, 96}), Axis::thread_y},
                                       {Axis::thread_x, random_.pick({1, 2, 8, 20}), Axis::thread_y},
                                       {Axis::thread_y, random_.pick({2, 4, 8}), Axis::thread_x},
                                       {Axis::warp, random_.pick({1, 2, 3}), Axis::lane}};
  auto [axis, count, rows] = random_.pick(groups);
  bool by_rows = axis == Axis::warp || chance(50);
  std::string around = spatial.back(), block_loop = spatial.front();
  if (by_rows &&
      go("split", {LoopName{block_loop},
                   std::vector<std::int64_t>{infer, rows == Axis::lane ? 32 : random_.pick({2, 3, 4})}})) {
    block_loop = results()[0];
    around = spatial.size() == 1 ? results()[1] : around;
    if (chance(80))
      go("bind", {LoopName{results()[1]}, Word{std::string(nestsmith::name(rows))}});
  }
  go("bind", {LoopName{block_loop}, Word{"blockIdx.x"}});
  if (result->role == Role::temporary && chance(70))
    go("set_scope", {BlockName{name}, Word{chance(80) ? "local" : "shared"}});
  if (!by_rows && spatial.size() == 1 && chance(30) &&
      go("split", {LoopName{reduction.back()}, std::vector<std::int64_t>{random_.pick({2, 3}), infer}})) {
    std::string part = results()[0];
    reduction.back() = results()[1];
    go("reduce_across", {LoopName{part}, Word{"blockIdx.y"}});
  }
  std::string copy = chance(40) ? copy_of_operand(name) : "";
  std::vector<std::int64_t> factors{infer, count};
  if (chance(30))
    factors.push_back(random_.pick({2, 4}));
  if (!go("split", {LoopName{reduction.back()}, std::move(factors)}))
    return true;
  std::string loop = results()[1];
  if (!go("reduce_across", {LoopName{loop}, Word{std::string(nestsmith::name(axis))}}))
    return true;
  auto share_out = [&](const std::string &block) {
    Names own = loops_inside(block, around);
    if (own.empty())
      return;
    bool by_warps = axis == Axis::thread_x && count % 32 == 0 && chance(70);
    Names parts = by_warps ? split(own.back(), {infer, count / 32, 32}) : split(own.back(), {infer, count});
    if (by_warps && !parts.empty())
      go("bind", {LoopName{parts[2]}, Word{"lane"}});
    if (!parts.empty())
      go("bind", {LoopName{parts[1]}, Word{by_warps ? "warp" : std::string(nestsmith::name(axis))}});
  };
  Names others;
  for (const Block *other : blocks_of(body()))
    if (!is_below(other->id->name, around))
      others.push_back(other->id->name);
  for (const std::string &other : others) {
    if (other == copy || !has_loop(around) || !chance(80) ||
        !go("reverse_compute_at", {BlockName{other}, LoopName{around}}))
      continue;
    if (block(other).body.buffer->role == Role::temporary && chance(60))
      go("set_scope", {BlockName{other}, Word{"local"}});
    Names own = loops_inside(other, around);
    if (!block(other).reduces())
      share_out(other);
    else if (Names parts = own.empty() ? Names{} : split(own.back(), {infer, count}); !parts.empty())
      go("reduce_across", {LoopName{parts[1]}, Word{std::string(nestsmith::name(axis))}});
  }
  if (!copy.empty() && has_loop(around) && go("compute_at", {BlockName{copy}, LoopName{around}}))
    share_out(copy);
  return true;
}

/// Whether a block that comes later reads the last operand of this one.
bool Author::has_shared_operand(const std::string &name) const {
  std::vector<const Load *> loads = loads_of(block(name));
  return !loads.empty() && readers_of(body(), loads.back()->buffer).back() != &block(name);
}

/// Copies an operand of the block into registers, from which its other readers then read too.
std::string Author::copy_of_operand(const std::string &name) {
  const Buffer operand = loads_of(block(name)).back()->buffer;
  if (!go("cache_read", {BlockName{name}, Word{operand->name}, Word{"local"}}))
    return "";
  std::string copy = results().front();
  Names others;
  for (const Block *reader : readers_of(body(), operand))
    others.push_back(reader->id->name);
  for (const std::string &other : others)
    if (other != copy && chance(80))
      go("share_cache", {BlockName{other}, BlockName{copy}});
  return copy;
}

Roles Author::tile(const std::string &name) {
  Roles roles;
  std::int64_t threads = 1;
  Names spatial, reduction;
  for (const For *loop : serial_loops(name)) {
    bool is_part = !part_.empty() && loop->var->name == part_;
    Names &names = is_part ? roles.parts : sums(block(name), loop->var) ? reduction : spatial;
    names.push_back(loop->var->name);
  }
  part_.clear();
  if (spatial.size() == 2 && chance(12) &&
      go("tile", {LoopName{spatial[0]}, LoopName{spatial[1]},
                  std::vector<std::int64_t>{random_.pick({2, 3, 4, 8}), random_.pick({2, 4, 5, 8})}})) {
    roles.blocks = {results()[0], results()[1]};
    roles.threads = {results()[2], results()[3]};
    spatial.clear();
  }
  for (const std::string &loop : spatial)
    tile_spatial(loop, roles, threads);
  const Fit *fit = fit_of(name);
  bool call = chance(fit ? 80 : is_dot(block(name)) ? 45 : 8);
  for (const std::string &loop : reduction)
    tile_sum(loop, roles, !call ? 0 : fit ? fit->width : 4);
  return roles;
}

void Author::tile_spatial(const std::string &loop, Roles &roles, std::int64_t &threads) {
  if (chance(7)) {
    (chance(50) ? roles.blocks : roles.inner).push_back(loop);
    return;
  }
  std::int64_t thread = 1, own = 1;
  do
    thread = random_.pick({1, 2, 3, 4, 4, 5, 7, 8, 8, 16, 32});
  while (threads * thread > 64);
  threads *= thread;
  if (chance(55))
    own = random_.pick({2, 2, 3, 4, 4, 8});
  std::vector<std::int64_t> factors = {infer, thread};
  std::vector<Names *> parts = {&roles.blocks, &roles.threads};
  if (own > 1) {
    factors.push_back(own);
    parts.push_back(&roles.inner);
  }
  if (chance(10)) { // half a tile apart
    factors.insert(factors.begin() + 1, 2);
    parts.insert(parts.begin() + 1, &roles.inner);
  }
  if (chance(10)) {
    factors.erase(factors.begin() + 1);
    parts.erase(parts.begin() + 1);
  }
  if (!go("split", {LoopName{loop}, factors})) {
    roles.blocks.push_back(loop);
    return;
  }
  for (std::size_t n = 0; n < parts.size(); ++n)
    parts[n]->push_back(results()[n]);
}

void Author::tile_sum(const std::string &loop, Roles &roles, std::int64_t width) {
  std::int64_t inner = width > 0 ? width : random_.pick({1, 2, 3, 4, 4, 5, 8, 8, 16});
  if (ahead_ && width == 0) // two copies of the registers of a step
    inner = random_.pick({2, 2, 4, 4, 6, 8});
  std::vector<std::int64_t> factors = {infer, inner};
  if (!ahead_ && chance(12))
    factors.insert(factors.begin() + 1, random_.pick({2, 3}));
  if (!chance(ahead_ ? 98 : 90) || !go("split", {LoopName{loop}, factors})) {
    roles.k_outer.push_back(loop);
    return;
  }
  roles.k_outer.push_back(results()[0]);
  roles.k_inner.insert(roles.k_inner.end(), results().begin() + 1, results().end());
  if (width > 0)
    dots_.push_back(results().back());
}

void Author::order(Roles &roles) {
  Names wanted = roles.all();
  if (!dots_.empty() || chance(10)) { // the own part outside of the sum's tile
    Roles other = roles;
    std::swap(other.k_inner, other.inner);
    wanted = other.all();
  }
  if (chance(10))
    random_.shuffle(wanted);
  if (wanted.size() < 2)
    return;
  std::vector<LoopName> list;
  for (const std::string &name : wanted)
    list.push_back({name});
  go("reorder", {list});
}

void Author::fuse_some(Names &names, std::size_t percent) {
  while (names.size() > 1 && chance(percent) && go("fuse", {LoopName{names[0]}, LoopName{names[1]}}))
    names = [&] {
      Names rest = {results().front()};
      rest.insert(rest.end(), names.begin() + 2, names.end());
      return rest;
    }();
}

std::string Author::place(std::initializer_list<const Names *> preferred) {
  for (const Names *names : preferred)
    if (!names->empty() && chance(85))
      return names->back();
  std::vector<const For *> all = all_loops(body());
  return random_.pick(all)->var->name;
}

void Author::bring_consumers(const std::string &name, Roles &roles) {
  Buffer buffer = block(name).body.buffer;
  if (buffer->role != Role::temporary)
    return;
  Names readers;
  for (const Block *other : blocks_of(body()))
    if (other->id->name != name && reads(*other, buffer))
      readers.push_back(other->id->name);
  for (const std::string &reader : readers) {
    if (buffer->scope == Scope::global && chance(80))
      continue;
    for (int tries = 0; tries < 2; ++tries)
      if (go("reverse_compute_at",
             {BlockName{reader},
              LoopName{buffer->scope == Scope::shared ? place({&roles.blocks, &roles.threads})
                                                      : place({&roles.threads, &roles.blocks})}})) {
        if (buffer->scope == Scope::shared)
          to_share_.push_back(reader);
        break;
      }
  }
  for (const Block *other : blocks_of(body())) { // and what it reads
    const Buffer &made = other->body.buffer;
    if (made->role == Role::temporary && made->scope != Scope::global && has_block(name) &&
        reads(block(name), made) && other->id->name != name && chance(85)) {
      std::string producer = other->id->name;
      bool shared = made->scope == Scope::shared;
      if (go("compute_at", {BlockName{producer}, LoopName{place({&roles.k_outer, &roles.blocks})}}) && shared)
        to_share_.push_back(producer);
      break;
    }
  }
}

void Author::through_cache(const std::string &name, const Roles &roles) {
  bool local = chance(75);
  if (!go("cache_write", {BlockName{name}, Word{local ? "local" : "shared"}}))
    return;
  std::string copy = results().front();
  go("reverse_compute_at",
     {BlockName{copy}, LoopName{local ? place({&roles.threads}) : place({&roles.blocks, &roles.threads})}});
  if (!local)
    to_share_.push_back(copy);
}

void Author::bind(const Names &names, std::vector<Axis> axes) {
  if (chance(25))
    random_.shuffle(axes);
  std::size_t next = 0;
  for (auto it = names.rbegin(); it != names.rend() && next < axes.size(); ++it)
    if (has_loop(*it) && chance(95))
      go("bind", {LoopName{*it}, Word{std::string(nestsmith::name(axes[next++]))}});
}

// ---- caches

void Author::fetch(const std::string &reader, const std::string &operand, const Roles &roles) {
  bool shared = chance(80);
  if (!go("cache_read", {BlockName{reader}, Word{operand}, Word{shared ? "shared" : "local"}}))
    return;
  std::string tile = results().front();
  if (shared && chance(35) && go("cache_read", {BlockName{reader}, Word{tile}, Word{"local"}}))
    bring(results().front(), place({&roles.k_inner, &roles.k_outer}), false);
  bring(tile, shared ? place({&roles.k_outer, &roles.blocks}) : place({&roles.k_inner, &roles.k_outer}),
        shared);
  if (!shared)
    return;
  if (chance(40))
    go(any_storage(s_, tile, random_));
  if (chance(byte_size(block(tile).body.buffer->dtype) >= 4 ? 30 : 8) && go("async_copy", {BlockName{tile}}))
    return;
  if (chance(30) && go("cache_read", {BlockName{tile}, Word{operand}, Word{"local"}}))
    bring(results().front(), place({&roles.k_outer}), true);
}

void Author::bring(const std::string &copy, const std::string &at, bool cooperative) {
  if (go("compute_at", {BlockName{copy}, LoopName{at}}) && cooperative)
    share(copy);
}

void Author::share(const std::string &copy) {
  std::map<Axis, std::int64_t> threads = threads_of_nest(copy);
  Names own;
  for (const For *loop : serial_loops(copy))
    own.push_back(loop->var->name);
  std::size_t rank = std::min(own.size(), block(copy).iters.size());
  own.erase(own.begin(), own.end() - static_cast<std::ptrdiff_t>(rank));
  if (own.empty() || threads.empty())
    return;
  std::string lanes;
  if (chance(30) &&
      go("split", {LoopName{own.back()}, std::vector<std::int64_t>{infer, random_.pick({4, 4, 2, 8})}})) {
    lanes = results().back();
    own.back() = results().front();
  }
  if (threads.size() == 1 || chance(60))
    share_fused(own, threads);
  else
    share_each(own, threads);
  if (!lanes.empty() && has_loop(lanes))
    by_lanes(copy, lanes);
}

void Author::by_lanes(const std::string &copy, const std::string &lanes) {
  const bool vectors = chance(85);
  if (go(vectors ? "vectorize" : "unroll", {LoopName{lanes}}) || !vectors)
    return;
  if (block(copy).body.buffer->scope == Scope::shared && apart_.chance(70) &&
      go("async_copy", {BlockName{copy}}))
    go("vectorize", {LoopName{lanes}});
}

void Author::share_fused(Names own, const std::map<Axis, std::int64_t> &threads) {
  while (own.size() > 1) {
    if (!go("fuse", {LoopName{own[own.size() - 2]}, LoopName{own.back()}}))
      return;
    own.pop_back();
    own.back() = results().front();
  }
  std::vector<std::int64_t> factors = {infer};
  for (auto it = threads.rbegin(); it != threads.rend(); ++it)
    factors.push_back(it->second);
  if (!go("split", {LoopName{own.back()}, factors}))
    return;
  Names parts = results();
  std::size_t n = parts.size();
  for (auto [axis, extent] : threads)
    go("bind", {LoopName{parts[--n]}, Word{std::string(name(axis))}});
  if (chance(30))
    go("unroll", {LoopName{parts.front()}});
}

void Author::share_each(const Names &own, const std::map<Axis, std::int64_t> &threads) {
  auto loop = own.rbegin();
  for (auto [axis, extent] : threads) {
    if (loop == own.rend())
      return;
    std::string at = *loop++;
    if (as_int(find_loop(body(), s_.loop(at).var)->extent) != extent) {
      if (!go("split", {LoopName{at}, std::vector<std::int64_t>{infer, extent}}))
        return;
      at = results().back();
    }
    go("bind", {LoopName{at}, Word{std::string(name(axis))}});
  }
}

// ---- time and annotations

const Fit *Author::fit_of(const std::string &name) const {
  for (const Fit &fit : draft_.setting.fits)
    if (name == fit.stage || name.starts_with(fit.stage + "_"))
      return &fit;
  return nullptr;
}

bool Author::reads_bytes(const std::string &name) const {
  return has_block(name) && std::ranges::any_of(loads_of(block(name)), [](const Load *access) {
           return access->buffer->dtype == DType::i8 || access->buffer->dtype == DType::u8;
         });
}

void Author::annotate(const std::string &name, const Roles &roles) {
  for (const std::string &loop : dots_)
    if (has_loop(loop))
      go("tensorize", {LoopName{loop}, Word{fit_of(name)        ? fit_of(name)->intrinsic
                                            : reads_bytes(name) ? "dp4a"
                                                                : "dot4"}});
  if (chance(12) && !roles.k_outer.empty() && has_loop(roles.k_outer.front()) && has_block(name))
    go("decompose_reduction",
       {BlockName{name}, LoopName{chance(80) ? roles.k_outer.front() : roles.all().front()}});
  if (chance(15) && has_block(name))
    snake(name);
  Names names;
  for (const For *loop : all_loops(body()))
    names.push_back(loop->var->name);
  for (const std::string &at : names) {
    if (!has_loop(at))
      continue;
    const For *loop = find_loop(body(), s_.loop(at).var);
    auto extent = as_int(loop->extent);
    bool innermost = as<Block>(loop->body) != nullptr;
    if (!loop->is<Serial>() && !loop->is<BoundTo>())
      continue;
    if (loop->is<Serial>() && !innermost && chance(50) && go("skip_tiles", {LoopName{at}}))
      continue;
    if (innermost && extent && (*extent == 2 || *extent == 4) && loop->is<Serial>() && chance(35) &&
        go("vectorize", {LoopName{at}}))
      continue;
    if (innermost && extent && *extent % 4 == 0 && *extent > 4 && loop->is<Serial>() && chance(15) &&
        go("split", {LoopName{at}, std::vector<std::int64_t>{infer, 4}})) {
      go("vectorize", {LoopName{results().back()}});
      continue;
    }
    if (extent && *extent <= 16 && loop->is<Serial>() && chance(10))
      go("unroll", {LoopName{at}});
    else if (chance(extent.value_or(0) > 1000 ? 30 : 4))
      go("partition", {LoopName{at}});
  }
  if (!roles.blocks.empty() && has_loop(roles.blocks.front()) && chance(12))
    go("partition", {LoopName{roles.blocks.front()}});
}

void Author::snake(const std::string &name) {
  std::vector<const For *> around = loops_of(path_to(body(), s_.block(name).id));
  std::erase_if(around, [](const For *loop) { return !loop->is<Serial>(); });
  if (around.size() < 2)
    return;
  std::string inner = around.back()->var->name, outer = around[around.size() - 2]->var->name;
  if (go("unroll", {LoopName{inner}}) && go("unroll", {LoopName{outer}}))
    go("snake", {LoopName{outer}, LoopName{inner}});
}

} // namespace nestsmith::fuzz
