#include "tests/fuzz/wander.h"

#include "dsl/hardware/intrinsics.h"
#include "dsl/ir/allocation.h"
#include "dsl/ir/layout.h"

#include <algorithm>
#include <numeric>

namespace nestsmith::fuzz {

namespace {

/// Draws arguments from a schedule's program.
class Arguments {
public:
  Arguments(const Schedule &schedule, Random &random)
      : schedule_(schedule), random_(random), loops_(all_loops(schedule.program().body)),
        blocks_(blocks_of(schedule.program().body)) {}

  const For &any_loop() { return *random_.pick(loops_); }
  LoopName loop() { return {any_loop().var->name}; }
  const Block &any_block() { return *random_.pick(blocks_); }
  BlockName block() { return {any_block().id->name}; }
  Word axis() { return {std::string(name(all_axes[random_.below(all_axes.size())]))}; }
  Word scope() {
    return {std::string(name(random_.pick(std::vector{Scope::shared, Scope::local, Scope::global})))};
  }
  std::int64_t number() { return random_.pick({0, 1, 2, 2, 3, 4, 4, 5, 7, 8, 16, 17, 32, 33}); }
  std::int64_t factor() {
    if (random_.chance(2))
      return random_.pick({0, -2, 1024, 4096, std::int64_t{1} << 40});
    return random_.pick({1, 2, 2, 3, 4, 4, 5, 7, 8, 16, 32});
  }
  /// So many factors, or any number of them, of which one is mostly inferred.
  std::vector<std::int64_t> factors(std::size_t count) {
    std::vector<std::int64_t> list;
    for (std::size_t n = count > 0 ? count : 1 + random_.below(4); n > 0; --n)
      list.push_back(factor());
    if (count == 0 && !random_.chance(15))
      list[random_.chance(85) ? 0 : random_.below(list.size())] = infer;
    return list;
  }
  /// Points in ascending order, mostly inside of the loop.
  std::vector<std::int64_t> points(const For &loop) {
    std::vector<std::int64_t> list;
    auto extent = static_cast<std::size_t>(as_int(loop.extent).value_or(8));
    for (std::size_t n = 1 + random_.below(3); n > 0; --n)
      list.push_back(random_.chance(4) ? number() - 4 : static_cast<std::int64_t>(random_.below(extent + 1)));
    std::ranges::sort(list);
    if (random_.chance(30))
      list.back() = -1 - static_cast<std::int64_t>(random_.below(2));
    return list;
  }
  /// Loops of one nest in a random order, or any.
  std::vector<LoopName> loops() {
    std::vector<const For *> around = loops_of(path_to(schedule_.program().body, any_block().id));
    if (around.empty() || random_.chance(10))
      around = loops_;
    random_.shuffle(around);
    around.resize(std::min(around.size(), 1 + random_.below(4)));
    std::vector<LoopName> names;
    for (const For *loop : around)
      names.push_back({loop->var->name});
    return names;
  }
  Word buffer_read_by(const Block &block) {
    std::vector<const Load *> loads = loads_of(block);
    if (loads.empty() || random_.chance(3))
      return {random_.pick(schedule_.program().params)->name};
    return {random_.pick(loads)->buffer->name};
  }
  /// A loop that stands around a block which uses what `block` makes or reads: where compute_at is likely.
  LoopName loop_near(const Block &block) {
    if (random_.chance(20))
      return loop();
    std::vector<const For *> near;
    for (const Block *other : blocks_)
      if (other != &block && (reads(*other, block.body.buffer) || reads(block, other->body.buffer)))
        for (const For *loop : loops_of(path_to(schedule_.program().body, other->id)))
          near.push_back(loop);
    return near.empty() ? loop() : LoopName{random_.pick(near)->var->name};
  }
  /// A loop around several nests, if there is one.
  LoopName loop_of_nests() {
    std::vector<const For *> found = loops_;
    std::erase_if(found, [](const For *loop) { return as<Seq>(loop->body) == nullptr; });
    return found.empty() || random_.chance(10) ? loop() : LoopName{random_.pick(found)->var->name};
  }
  /// A loop in which another stands right inside of it, if a few tries find one.
  LoopName outer_loop() {
    for (int tries = 0; tries < 4; ++tries)
      if (const For &outer = any_loop(); as<For>(outer.body))
        return {outer.var->name};
    return loop();
  }
  LoopName loop_inside(const For &outer) {
    const auto *inner = as<For>(outer.body);
    return inner ? LoopName{inner->var->name} : loop();
  }
  Word intrinsic() {
    if (random_.chance(30))
      return {random_.pick(all_intrinsics())->name};
    return {random_.chance(25) ? "dp4a" : "dot4"};
  }
  Word map() {
    static const std::vector<std::string> maps = {"a -> a",
                                                  "a -> a//2, a%2",
                                                  "a, b -> b, a",
                                                  "a, b -> a//2, b, a%2",
                                                  "a, b -> b//2, a, b%2",
                                                  "a, b -> a, b//4, b%4",
                                                  "a, b -> b, a//3, a%3",
                                                  "a, b -> a + b",
                                                  "a, b, c -> c, a, b",
                                                  "a, b, c -> a, c, b//2, b%2"};
    std::string text = random_.pick(maps);
    for (char &digit : text)
      if (digit >= '2' && digit <= '4' && random_.chance(20))
        digit = static_cast<char>('1' + random_.below(9));
    return {to_string(IndexMap(text))};
  }

  Argument size() {
    const std::vector<Var> &sizes = schedule_.program().sizes;
    return Word{sizes.empty() ? "none" : random_.chance(50) ? sizes.back()->name : random_.pick(sizes)->name};
  }

  /// An argument for the parameter, for which those before it are drawn.
  Argument any(const primitives::Parameter &parameter, const Argument *of) {
    switch (parameter.kind) {
    case ParameterKind::loop:
      return loop();
    case ParameterKind::outer_loop:
      return outer_loop();
    case ParameterKind::inner_loop:
    case ParameterKind::next_loop:
      return loop_inside(loop_named(*of));
    case ParameterKind::near_loop:
      return loop_near(block_named(*of));
    case ParameterKind::loop_of_nests:
      return loop_of_nests();
    case ParameterKind::loops:
      return loops();
    case ParameterKind::block:
      return block();
    case ParameterKind::blocks:
      return std::vector{block()};
    case ParameterKind::stages:
      return any_pipeline(loop_named(*of), random_).arguments.back();
    case ParameterKind::integer:
      return parameter.below > 0 ? number() % parameter.below : number();
    case ParameterKind::factors:
      return factors(parameter.count);
    case ParameterKind::points:
      return points(loop_named(*of));
    case ParameterKind::axis:
      return axis();
    case ParameterKind::scope:
      return scope();
    case ParameterKind::size:
      return size();
    case ParameterKind::buffer:
      return buffer_read_by(block_named(*of));
    case ParameterKind::intrinsic:
      return intrinsic();
    case ParameterKind::index_map:
      return map();
    }
    internal_error("not a kind of parameter");
  }

private:
  const For &loop_named(const Argument &argument) {
    return *find_loop(schedule_.program().body, schedule_.loop(std::get<LoopName>(argument).name).var);
  }
  const Block &block_named(const Argument &argument) {
    return *find_block(schedule_.program().body, schedule_.block(std::get<BlockName>(argument).name).id);
  }

  const Schedule &schedule_;
  Random &random_;
  std::vector<const For *> loops_;
  std::vector<const Block *> blocks_;
};

} // namespace

std::vector<const For *> all_loops(const Stmt &stmt) {
  std::vector<const For *> loops;
  walk(stmt, [&](const Stmt &node) {
    if (const auto *loop = as<For>(node))
      loops.push_back(loop);
    return true;
  });
  return loops;
}

Directive directive_of(const Primitive &primitive, const Schedule &schedule, Random &random) {
  Arguments arguments(schedule, random);
  std::vector<Argument> drawn;
  for (const primitives::Parameter &parameter : primitive.parameters())
    drawn.push_back(
        arguments.any(parameter, parameter.of.empty() ? nullptr : &drawn[primitive.position_of(parameter)]));
  return {std::string(primitive.name), drawn, {}};
}

Directive any_directive(const Schedule &schedule, Random &random) {
  return directive_of(random.pick(all_primitives()), schedule, random);
}

Directive any_storage(const Schedule &schedule, const std::string &block, Random &random) {
  const Block *writer = find_block(schedule.program().body, schedule.block(block).id);
  std::size_t rank = writer->body.buffer->shape.size();
  std::size_t kind = random.below(3);
  if (kind == 0) {
    static const std::vector<std::string> flat = {"a -> a//4, a%4", "a -> a%2, a//2"},
                                          square = {"a, b -> b, a", "a, b -> b, a", "a, b -> a//2, b, a%2",
                                                    "a, b -> b//4, a, b%4", "a, b -> b, a//4%2, a//8, a%4"},
                                          cube = {"a, b, c -> a, c, b", "a, b, c -> c, b, a"};
    const auto &maps = rank == 1 ? flat : rank == 2 ? square : cube;
    return {"transform_layout", {BlockName{block}, Word{to_string(IndexMap(random.pick(maps)))}}, {}};
  }
  if (kind == 1)
    return {"storage_align",
            {BlockName{block}, static_cast<std::int64_t>(random.below(rank > 1 ? rank - 1 : 1)),
             random.pick({32, 32, 8, 4, 3, 2}), random.pick({1, 0, 1, 2, 3, 4})},
            {}};
  return {
      "swizzle",
      {BlockName{block}, random.pick({1, 2, 2, 3}), random.pick({0, 0, 1, 2, 2}), random.pick({2, 3, 3, 4, 5})},
      {}};
}

Directive any_pipeline(const For &loop, Random &random) {
  std::vector<Stmt> nests = nests_of(loop.body);
  std::vector<std::int64_t> stages(nests.size()), orders(nests.size());
  std::iota(orders.begin(), orders.end(), 0);
  if (random.chance(40))
    random.shuffle(orders);
  auto feeds = [](const Stmt &from, const Stmt &to) {
    for (const Block *writer : blocks_of(from))
      for (const Block *reader : blocks_of(to))
        if (reads(*reader, writer->body.buffer))
          return true;
    return false;
  };
  std::vector<StageName> list;
  for (std::size_t n = 0; n < nests.size(); ++n) {
    for (std::size_t earlier = 0; earlier < n; ++earlier)
      if (feeds(nests[earlier], nests[n]))
        stages[n] = std::max(stages[n], stages[earlier] + (random.chance(70) ? 1 : random.pick({0, 2})));
    for (const Block *block : blocks_of(nests[n]))
      list.push_back({block->id->name, stages[n], orders[n]});
  }
  return {"pipeline", {LoopName{loop.var->name}, list}, {}};
}

} // namespace nestsmith::fuzz
