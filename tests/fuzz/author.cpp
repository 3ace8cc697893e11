#include "tests/fuzz/author.h"

#include "dsl/allocation.h"
#include "dsl/error.h"
#include "tests/fuzz/wander.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

namespace nestsmith::fuzz {

namespace {

// --- The setting -------------------------------------------------------------------------------------

DType any_dtype(Random &random) {
  using enum DType;
  return random.pick(
      std::vector{u32, u32, u32, u32, u32, u32, u32, f32, f32, f32, f32, f32, f32, f16, bf16, tf32, tf32, i32});
}

/// Extents that hurt: one, primes, and the numbers around the usual tiles. Now and then such as vectors like.
Shape any_shape(std::size_t rank, Random &random) {
  bool even = random.chance(35);
  static const std::vector<std::int64_t> extents = {1,  1,  2,  3,  4,  4,  5,  7,  8,  8,  8,  9,  11, 12,
                                                    13, 15, 16, 16, 16, 17, 19, 20, 23, 24, 31, 32, 32, 33};
  constexpr std::int64_t most[] = {0, 200, 700, 3000, 3000};
  while (true) {
    Shape shape;
    std::int64_t product = 1;
    for (std::size_t n = 0; n < rank; ++n) {
      shape.push_back(rank == 1 && random.chance(40) ? random.pick({33, 63, 64, 65, 96, 127, 128, 129})
                      : even                         ? random.pick({4, 8, 8, 12, 16, 16, 20, 32})
                                                     : random.pick(extents));
      product *= shape.back();
    }
    if (product <= most[rank])
      return shape;
  }
}

Case any_setting(Random &random) {
  Case it;
  it.computation = &computations()[random.chance(30) ? random.below(2) : random.below(computations().size())];
  it.shape = any_shape(it.computation->rank, random);
  it.dtype = any_dtype(random);
  it.arch = random.pick(std::vector<std::string>{"sm_80", "sm_80", "sm_75", "sm_90a", "sm_120"});
  if (it.computation->symbolic && random.chance(12)) {
    std::int64_t unit = random.pick({1, 1, 4, 8});
    for (std::int64_t &extent : it.shape)
      extent = (extent + unit - 1) / unit * unit;
    it.shape.stated = Size{.max = std::int64_t{1} << 15, .multiple_of = unit};
  }
  return it;
}

// --- The schedule ------------------------------------------------------------------------------------

using Names = std::vector<std::string>;

/// What the parts of the loops of a nest are for.
struct Roles {
  Names blocks, threads, k_outer, k_inner, inner;
  Names all() const {
    Names names;
    for (const Names *part : {&blocks, &threads, &k_outer, &k_inner, &inner})
      names.insert(names.end(), part->begin(), part->end());
    return names;
  }
};

class Author {
public:
  Author(Draft &draft, Random &random, const std::function<void(const Draft &, const Directive &)> &about_to)
      : draft_(draft), s_(draft.schedule), random_(random), about_to_(about_to) {}

  void write() {
    if (chance(8)) {
      for (std::size_t n = 0; n < 50; ++n)
        wander();
      mend();
      return;
    }
    if (chance(12))
      go("compute_inline", {BlockName{any_block()}});
    if (chance(8))
      go("reverse_compute_inline", {BlockName{any_block()}});
    schedule_nest(anchor(), true);
    for (std::size_t n = 0; n < 6; ++n) // what was not brought into the first nest has a nest of its own
      if (const Block *loose = unbound_block())
        schedule_nest(loose->id->name, chance(30));
    while (chance(35))
      wander();
    if (chance(15))
      go("launch_bounds", {random_.pick({1, 1, 2, 3, 4, 8})});
    mend();
  }

private:
  bool chance(std::size_t percent) { return random_.chance(percent); }

  /// Whether it was applied.
  bool go(const std::string &op, std::vector<Argument> arguments) {
    return go(Directive{op, std::move(arguments), {}});
  }
  bool go(const Directive &directive) {
    if (s_.trace().size() >= limit_)
      return false;
    if (about_to_)
      about_to_(draft_, directive);
    Attempts &attempts = draft_.attempts[directive.op];
    ++attempts.tried;
    try {
      apply(s_, directive, "the fuzzer");
      return true;
    } catch (const ScheduleError &) {
      ++attempts.refused;
      return false;
    }
  }
  const Names &results() const { return s_.trace().back().results; }
  void wander() { go(any_directive(s_, random_)); }

  // ---- looking

  const Stmt &body() const { return s_.program().body; }
  const Block &block(const std::string &name) const { return *find_block(body(), s_.block(name).id); }
  bool has_block(const std::string &name) const {
    return std::ranges::any_of(blocks_of(body()), [&](const Block *b) { return b->id->name == name; });
  }
  bool has_loop(const std::string &name) const {
    return std::ranges::any_of(all_loops(body()), [&](const For *loop) { return loop->var->name == name; });
  }
  std::string any_block() { return random_.pick(blocks_of(body()))->id->name; }
  std::vector<const For *> loops(const std::string &name) const {
    return loops_of(path_to(body(), block(name).id));
  }
  std::vector<const For *> serial_loops(const std::string &name) const {
    std::vector<const For *> list = loops(name);
    std::erase_if(list, [](const For *loop) { return loop->kind != LoopKind::serial; });
    return list;
  }
  static bool sums(const Block &block, const Var &loop) {
    return std::ranges::any_of(block.iters, [&](const IterVar &iter) {
      return iter.kind == IterKind::reduction && uses(iter.binding, loop);
    });
  }
  /// The block that a schedule is built around: a sum, if there is one.
  std::string anchor() {
    std::vector<const Block *> all = blocks_of(body()), with_sums;
    for (const Block *b : all)
      if (b->init)
        with_sums.push_back(b);
    return random_.pick(with_sums.empty() || chance(15) ? all : with_sums)->id->name;
  }
  Stmt nest_of(const std::string &name) const {
    for (const Stmt &nest : nests_of(body()))
      if (find_block(nest, s_.block(name).id))
        return nest;
    return body();
  }
  /// Extents of the thread axes in the nest of a block.
  std::map<Axis, std::int64_t> threads_of_nest(const std::string &name) const {
    std::map<Axis, std::int64_t> extents;
    for (const For *loop : all_loops(nest_of(name)))
      if (loop->axis && is_thread(*loop->axis))
        extents[*loop->axis] = as_int(loop->extent).value();
    return extents;
  }
  const Block *unbound_block() const {
    for (const Stmt &nest : nests_of(body()))
      if (std::ranges::none_of(all_loops(nest), [](const For *loop) { return loop->axis.has_value(); }) &&
          !all_loops(nest).empty())
        return blocks_of(nest).back();
    return nullptr;
  }

  // ---- one nest

  void schedule_nest(std::string name, bool elaborate) {
    if (elaborate)
      place_result(name);
    if (elaborate && chance(12))
      name = partial_sums(name);
    Roles roles = tile(name);
    order(roles);
    fuse_some(roles.threads, 45);
    fuse_some(roles.blocks, 15);
    if (elaborate) {
      bring_consumers(name, roles);
      if (chance(18))
        through_cache(name, roles);
    }
    bind(roles.blocks, {Axis::block_x, Axis::block_y, Axis::block_z});
    bind(roles.threads, {Axis::thread_x, Axis::thread_y, Axis::thread_z});
    if (!elaborate)
      return;
    for (const std::string &copy : std::exchange(to_share_, {}))
      if (has_block(copy))
        share(copy);
    std::set<std::string> operands;
    for (const Load *access : loads_of(block(name)))
      if (access->buffer != block(name).body.buffer)
        operands.insert(access->buffer->name);
    for (const std::string &operand : operands)
      if (chance(70))
        fetch(name, operand, roles);
    overlap(roles);
    annotate(name, roles);
  }

  void place_result(const std::string &name) {
    if (block(name).body.buffer->role == Role::temporary && chance(85))
      go("set_scope", {BlockName{name}, Word{chance(70) ? "local" : "shared"}});
    for (const Block *other : blocks_of(body())) // stages before it
      if (other->body.buffer->role == Role::temporary && other->body.buffer->scope == Scope::global &&
          other->id->name != name && chance(40))
        go("set_scope", {BlockName{other->id->name}, Word{chance(30) ? "local" : "shared"}});
  }

  std::string partial_sums(const std::string &name) {
    for (const For *loop : serial_loops(name))
      if (sums(block(name), loop->var)) {
        std::string at = loop->var->name;
        if (chance(80) &&
            go("split", {LoopName{at}, chance(50) ? std::vector<std::int64_t>{infer, random_.pick({2, 4, 8})}
                                                  : std::vector<std::int64_t>{random_.pick({2, 3, 4}), infer}}))
          at = results()[random_.below(2)];
        if (go("rfactor", {LoopName{at}}))
          return results().front();
        break;
      }
    return name;
  }

  Roles tile(const std::string &name) {
    Roles roles;
    std::int64_t threads = 1;
    Names spatial, reduction;
    for (const For *loop : serial_loops(name))
      (sums(block(name), loop->var) ? reduction : spatial).push_back(loop->var->name);
    if (spatial.size() == 2 && chance(12) &&
        go("tile", {LoopName{spatial[0]}, LoopName{spatial[1]},
                    std::vector<std::int64_t>{random_.pick({2, 3, 4, 8}), random_.pick({2, 4, 5, 8})}})) {
      roles.blocks = {results()[0], results()[1]};
      roles.threads = {results()[2], results()[3]};
      spatial.clear();
    }
    for (const std::string &loop : spatial)
      tile_spatial(loop, roles, threads);
    bool both_along_k =
        draft_.setting.computation->name == "gemm_nt" || draft_.setting.computation->name == "accumulate_nt";
    bool dot = chance(both_along_k ? 45 : 8);
    for (const std::string &loop : reduction)
      tile_sum(loop, roles, dot);
    return roles;
  }

  /// block, thread and own part of a loop; some of them.
  void tile_spatial(const std::string &loop, Roles &roles, std::int64_t &threads) {
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

  void tile_sum(const std::string &loop, Roles &roles, bool dot) {
    std::int64_t inner = dot ? 4 : random_.pick({1, 2, 3, 4, 4, 5, 8, 8, 16});
    std::vector<std::int64_t> factors = {infer, inner};
    if (chance(12))
      factors.insert(factors.begin() + 1, random_.pick({2, 3}));
    if (!chance(90) || !go("split", {LoopName{loop}, factors})) {
      roles.k_outer.push_back(loop);
      return;
    }
    roles.k_outer.push_back(results()[0]);
    roles.k_inner.insert(roles.k_inner.end(), results().begin() + 1, results().end());
    if (dot)
      dots_.push_back(results().back());
  }

  void order(Roles &roles) {
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

  void fuse_some(Names &names, std::size_t percent) {
    while (names.size() > 1 && chance(percent) && go("fuse", {LoopName{names[0]}, LoopName{names[1]}}))
      names = [&] {
        Names rest = {results().front()};
        rest.insert(rest.end(), names.begin() + 2, names.end());
        return rest;
      }();
  }

  /// A loop to bring a nest under: mostly where it is of use.
  std::string place(std::initializer_list<const Names *> preferred) {
    for (const Names *names : preferred)
      if (!names->empty() && chance(85))
        return names->back();
    std::vector<const For *> all = all_loops(body());
    return random_.pick(all)->var->name;
  }

  void bring_consumers(const std::string &name, Roles &roles) {
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

  /// The result is computed in faster memory and copied out.
  void through_cache(const std::string &name, const Roles &roles) {
    bool local = chance(75);
    if (!go("cache_write", {BlockName{name}, Word{local ? "local" : "shared"}}))
      return;
    std::string copy = results().front();
    go("reverse_compute_at",
       {BlockName{copy}, LoopName{local ? place({&roles.threads}) : place({&roles.blocks, &roles.threads})}});
    if (!local)
      to_share_.push_back(copy);
  }

  void bind(const Names &names, std::vector<Axis> axes) {
    if (chance(25))
      random_.shuffle(axes);
    std::size_t next = 0;
    for (auto it = names.rbegin(); it != names.rend() && next < axes.size(); ++it)
      if (has_loop(*it) && chance(95))
        go("bind", {LoopName{*it}, Word{std::string(nestsmith::name(axes[next++]))}});
  }

  // ---- caches

  void fetch(const std::string &reader, const std::string &operand, const Roles &roles) {
    bool shared = chance(80);
    if (!go("cache_read", {BlockName{reader}, Word{operand}, Word{shared ? "shared" : "local"}}))
      return;
    std::string tile = results().front();
    bring(tile, shared ? place({&roles.k_outer, &roles.blocks}) : place({&roles.k_inner, &roles.k_outer}),
          shared);
    if (!shared)
      return;
    if (chance(40))
      go(any_storage(s_, tile, random_));
    if (chance(35) && go("cache_read", {BlockName{reader}, Word{tile}, Word{"local"}}))
      bring(results().front(), place({&roles.k_inner, &roles.k_outer}), false);
    if (chance(15) && go("cache_read", {BlockName{tile}, Word{operand}, Word{"local"}}))
      bring(results().front(), place({&roles.k_outer}), true);
  }

  /// Brings a copy under a loop, and gives its elements to the threads, or to each.
  void bring(const std::string &copy, const std::string &at, bool cooperative) {
    if (go("compute_at", {BlockName{copy}, LoopName{at}}) && cooperative)
      share(copy);
  }

  void share(const std::string &copy) {
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
      go(chance(85) ? "vectorize" : "unroll", {LoopName{lanes}});
  }

  /// All elements in one row, dealt out to all threads.
  void share_fused(Names own, const std::map<Axis, std::int64_t> &threads) {
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

  /// An axis for each dimension.
  void share_each(const Names &own, const std::map<Axis, std::int64_t> &threads) {
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

  void overlap(const Roles &roles) {
    for (const std::string &loop : roles.k_outer) {
      if (!has_loop(loop) || !chance(75) || !as<Seq>(find_loop(body(), s_.loop(loop).var)->body))
        continue;
      if (chance(60))
        go("double_buffer", {LoopName{loop}});
      else
        go(any_pipeline(*find_loop(body(), s_.loop(loop).var), random_));
    }
  }

  void annotate(const std::string &name, const Roles &roles) {
    for (const std::string &loop : dots_)
      if (has_loop(loop))
        go("tensorize", {LoopName{loop}, Word{"dot4"}});
    if (chance(12) && !roles.k_outer.empty() && has_loop(roles.k_outer.front()) && has_block(name))
      go("decompose_reduction",
         {BlockName{name}, LoopName{chance(80) ? roles.k_outer.front() : roles.all().front()}});
    Names names;
    for (const For *loop : all_loops(body()))
      names.push_back(loop->var->name);
    for (const std::string &at : names) {
      if (!has_loop(at))
        continue;
      const For *loop = find_loop(body(), s_.loop(at).var);
      auto extent = as_int(loop->extent);
      bool innermost = as<Block>(loop->body) != nullptr;
      if (loop->kind != LoopKind::serial && loop->kind != LoopKind::bound)
        continue;
      if (innermost && extent && (*extent == 2 || *extent == 4) && loop->kind == LoopKind::serial &&
          chance(35) && go("vectorize", {LoopName{at}}))
        continue;
      if (innermost && extent && *extent % 4 == 0 && *extent > 4 && loop->kind == LoopKind::serial &&
          chance(15) && go("split", {LoopName{at}, std::vector<std::int64_t>{infer, 4}})) {
        go("vectorize", {LoopName{results().back()}});
        continue;
      }
      if (extent && *extent <= 16 && loop->kind == LoopKind::serial && chance(10))
        go("unroll", {LoopName{at}});
      else if (chance(4))
        go("partition", {LoopName{at}});
    }
    if (!roles.blocks.empty() && has_loop(roles.blocks.front()) && chance(12))
      go("partition", {LoopName{roles.blocks.front()}});
  }

  // ---- what is owed

  /// A few tries to pay what the schedule owes, as its messages say.
  void mend() {
    limit_ = most_directives;
    std::vector<Obligation> owed = s_.obligations();
    for (int round = 0; round < 10 && s_.trace().size() < limit_ && !owed.empty(); ++round) {
      std::size_t before = s_.trace().size();
      pay(chance(80) ? owed.front() : random_.pick(owed));
      if (s_.trace().size() != before)
        owed = s_.obligations();
    }
  }

  void pay(const Obligation &owed) {
    auto says = [&](const std::string &words) { return owed.message.find(words) != std::string::npos; };
    if (owed.culprit.empty() || !has_block(owed.culprit))
      return wander();
    if (says("in separate nests"))
      return bring_together(owed, Scope::global);
    if (says("outside of the loop bound") || says("on other threads"))
      return bring_together(owed, Scope::shared);
    for (Axis axis : all_axes)
      if (says("to " + std::string(name(axis))))
        return pay_by_binding(owed.culprit, axis);
    wander();
  }

  /// Brings the blocks that use a buffer under common loops, or the buffer into wider memory.
  void bring_together(const Obligation &owed, Scope wider) {
    std::string buffer = owed.message.substr(0, owed.message.find(' '));
    Names writers, readers;
    for (const Block *b : blocks_of(body())) {
      if (b->body.buffer->name == buffer)
        writers.push_back(b->id->name);
      else if (reads(*b, b->body.buffer) || std::ranges::any_of(loads_of(*b), [&](const Load *access) {
                 return access->buffer->name == buffer;
               }))
        readers.push_back(b->id->name);
    }
    if (writers.empty() || readers.empty())
      return;
    for (int tries = 0; tries < 5; ++tries) {
      std::string writer = random_.pick(writers), reader = random_.pick(readers);
      bool forwards = chance(50);
      std::vector<const For *> around = loops(forwards ? reader : writer);
      std::erase_if(around, [&](const For *loop) { return wider == Scope::shared && !loop->axis; });
      if (!around.empty() &&
          go(forwards ? "compute_at" : "reverse_compute_at",
             {BlockName{forwards ? writer : reader}, LoopName{random_.pick(around)->var->name}}))
        return;
    }
    go("set_scope", {BlockName{writers.front()}, Word{std::string(name(wider))}});
  }

  void pay_by_binding(const std::string &culprit, Axis axis) {
    std::vector<const For *> serial = serial_loops(culprit);
    std::erase_if(serial, [&](const For *loop) { return sums(block(culprit), loop->var); });
    if (serial.empty())
      return;
    std::int64_t wanted = 0;
    for (const For *loop : all_loops(nest_of(culprit)))
      if (loop->axis == axis)
        wanted = as_int(loop->extent).value_or(0);
    const For *chosen = chance(70) ? serial.back() : random_.pick(serial);
    std::string at = chosen->var->name;
    auto extent = as_int(chosen->extent);
    if (wanted > 0 && extent != wanted && go("split", {LoopName{at}, std::vector<std::int64_t>{infer, wanted}}))
      at = results().back();
    go("bind", {LoopName{at}, Word{std::string(name(axis))}});
  }

  Draft &draft_;
  Schedule &s_;
  Random &random_;
  const std::function<void(const Draft &, const Directive &)> &about_to_;
  std::size_t limit_ = most_directives - 5; ///< the last ones are for what is owed
  Names dots_;                              ///< loops that an intrinsic may replace
  Names to_share_; ///< blocks on shared memory whose elements the threads are to share, once there are threads
};

} // namespace

Draft draft(std::uint64_t seed, const std::function<void(const Draft &, const Directive &)> &about_to) {
  Random random(seed);
  Case setting = any_setting(random);
  Draft made{setting, Schedule(source_of(setting), make_target(setting.arch)), {}};
  Author(made, random, about_to).write();
  made.setting.directives = made.schedule.trace();
  return made;
}

} // namespace nestsmith::fuzz
