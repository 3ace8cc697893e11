/// Draws the computation, the shape and the target of a random schedule, and writes the schedule.

#include "tests/fuzz/author_steps.h"

#include "dsl/expr/error.h"
#include "dsl/ir/allocation.h"
#include "dsl/ir/dependence.h"
#include "dsl/schedule/trace.h"
#include "schedules/workloads.h"

#include <algorithm>
#include <fmt/format.h>

namespace nestsmith::fuzz {

namespace {

// ---- the computation, its shape and its target

DType any_dtype(Random &random) {
  using enum DType;
  return random.pick(std::vector{u32, u32, u32, u32,  u32,  u32,  u32, f32, f32, f32, f32,
                                 f32, f32, f16, bf16, tf32, tf32, i32, i8,  i8,  u8,  f64});
}

/// Draws extents that often expose errors: 1, primes, and numbers around the usual tile sizes. In one of three
/// shapes, all extents suit vectors.
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

Case any_setting(Random &random, std::uint64_t generated) {
  std::string arch = random.pick(std::vector<std::string>{"sm_80", "sm_80", "sm_75", "sm_90a", "sm_120"});
  if (generated > 0 && random.chance(50))
    return case_of_generated(1 + random.below(generated), arch);
  const Computation &computation =
      computations()[random.chance(30) ? random.below(2) : random.below(computations().size())];
  Shape shape = any_shape(computation.rank, random);
  DType dtype = any_dtype(random);
  if (computation.symbolic && random.chance(12)) {
    std::int64_t unit = random.pick({1, 1, 4, 8});
    for (std::int64_t &extent : shape)
      extent = (extent + unit - 1) / unit * unit;
    shape.stated = Size{.max = std::int64_t{1} << 15, .multiple_of = unit};
    // Of the computations that declare it. Drawn from the shape, so that other seeds stay as they are.
    const std::int64_t part = std::int64_t{1} << shape[0] % 4;
    shape.part = Size{
        .min = part, .max = std::int64_t{1} << 15, .multiple_of = part, .usual = part * (1 + shape.back() % 3)};
  }
  return case_of(computation, shape, dtype, arch);
}

/// Draws a computation for warps: a matrix product on tensor cores, or sums of rows.
Case setting_for_warps(Random &random) {
  using enum DType;
  std::string arch =
      random.pick(std::vector<std::string>{"sm_80", "sm_80", "sm_90a", "sm_86", "sm_90a", "sm_120", "sm_75"});
  bool product = random.chance(85);
  static const Names products = {"gemm",    "gemm",           "gemm_nt", "gemm_nt",      "gemm_tn",
                                 "gemm_tt", "gemm_bias_relu", "matmul",  "batched_gemm", "accumulate_nt"};
  std::string name = product ? random.pick(products) : random.chance(60) ? "broadcast" : "column_sums";
  const Computation &computation = *std::ranges::find(computations(), name, &Computation::name);
  DType dtype = product ? random.pick(std::vector{f16, f16, f16, bf16, tf32, tf32, i8, i8, u8, f32, u32})
                        : random.pick(std::vector{f32, i32, u32});
  Shape shape;
  if (product) {
    constexpr std::int64_t most = 30000;
    do
      shape = {random.pick({1, 7, 8, 15, 16, 16, 17, 24, 31, 32, 33, 40, 48, 64}),
               random.pick({1, 2, 4, 7, 8, 8, 9, 16, 16, 17, 24, 32, 33, 40}),
               random.pick({1, 4, 8, 15, 16, 16, 17, 24, 31, 32, 33, 40, 48, 64, 96})};
    while (shape[0] * shape[1] * shape[2] > most);
  } else {
    shape = {random.pick({1, 2, 3, 4, 7, 8}), random.pick({1, 4, 8, 31, 32, 33, 40}),
             random.pick({1, 16, 31, 32, 33, 64, 65, 96})};
  }
  if (name == "column_sums")
    shape = {shape[2], shape[0]};
  if (computation.rank == 4)
    shape.insert(shape.begin(), random.pick({1, 2}));
  if (computation.symbolic && random.chance(12)) {
    std::int64_t unit = random.pick({1, 1, 8});
    for (std::int64_t &extent : shape)
      extent = (extent + unit - 1) / unit * unit;
    shape.stated = Size{.max = std::int64_t{1} << 15, .multiple_of = unit};
  }
  return case_of(computation, shape, dtype, arch);
}

} // namespace

// ---- the schedule

void Author::write() {
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
  if (chance(tangled() ? 70 : 25))
    weave();
  if (chance(20))
    sum_at_its_reader();
  if (apart_.chance(30))
    divide_a_loop();
  if (apart_.chance(12))
    cut_terms();
  split_at_launch();
  if (apart_.chance(10))
    cut_to_blocks();
  schedule_nest(anchor(), true);
  for (std::size_t n = 0; n < 6; ++n) // blocks that were not moved into the first nest get nests of their own
    if (const Block *loose = unbound_block())
      schedule_nest(loose->id->name, chance(30));
  if (chance(50))
    bind_inits();
  while (chance(35))
    wander();
  if (chance(15))
    go("launch_bounds", {random_.pick({1, 1, 2, 3, 4, 8})});
  if (chance(6))
    go("launch_early", {});
  mend();
  share_launches();
}

void Author::go_on(std::size_t arbitrary) {
  most_ = limit_ = s_.trace().size() + arbitrary + 6;
  for (; arbitrary > 0; --arbitrary)
    wander();
  mend();
}

/// Names for the results of a directive, which nothing has.
static std::vector<std::string> names_for(const Directive &directive, std::size_t number) {
  const std::vector<std::int64_t> *factors = nullptr;
  for (const Argument &argument : directive.arguments)
    if (const auto *list = std::get_if<std::vector<std::int64_t>>(&argument))
      factors = list;
  std::size_t results = directive.op == "split" && factors ? factors->size() : 1;
  std::vector<std::string> names;
  for (std::size_t n = 0; n < results; ++n)
    names.push_back(fmt::format("chosen_{}_{}", number, n));
  return names;
}

bool Author::go(const std::string &op, std::vector<Argument> arguments) {
  Directive directive{op, std::move(arguments), {}};
  if ((op == "split" || op == "fuse" || op == "cache_read") && chance(5))
    directive.named = names_for(directive, s_.trace().size());
  return go(directive);
}

bool Author::go(const Directive &directive) {
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

bool Author::tangled() const {
  std::vector<const Block *> blocks = blocks_of(body());
  for (std::size_t n = 1; n < blocks.size(); ++n)
    for (std::size_t earlier = 0; earlier < n; ++earlier)
      if (!conflicts(*blocks[earlier], *blocks[n]).empty())
        return true;
  return false;
}

void Author::one_nest() {
  Names names;
  for (const Block *block : blocks_of(body())) {
    names.push_back(block->id->name);
    if (block->body.buffer->role == Role::temporary && block->body.buffer->scope != Scope::local)
      go("set_scope", {BlockName{names.back()}, Word{"local"}});
  }
  std::vector<const For *> around = loops(random_.pick(names));
  if (around.empty())
    return;
  std::string at = random_.pick(around)->var->name;
  for (const std::string &name : names)
    if (!is_below(name, at))
      go(chance(70) ? "reverse_compute_at" : "compute_at", {BlockName{name}, LoopName{at}});
}

void Author::sum_at_its_reader() {
  for (const Block *sum : blocks_of(body())) {
    if (!sum->init || sum->body.buffer->role != Role::temporary)
      continue;
    std::string name = sum->id->name;
    std::vector<const Block *> readers = blocks_of(body());
    std::erase_if(readers,
                  [&](const Block *block) { return block == sum || !reads(*block, sum->body.buffer); });
    if (readers.empty())
      continue;
    std::vector<const For *> around = loops(random_.pick(readers)->id->name);
    if (around.empty())
      continue;
    std::string at = random_.pick(around)->var->name;
    go("set_scope", {BlockName{name}, Word{chance(75) ? "shared" : "local"}});
    if (!go("compute_at", {BlockName{name}, LoopName{at}}))
      continue;
    std::vector<const For *> own = loops(name);
    go("decompose_reduction", {BlockName{name}, LoopName{chance(60) ? at : random_.pick(own)->var->name}});
    return;
  }
}

void Author::bind_inits() {
  Names inits;
  for (const Block *block : blocks_of(body()))
    for (const Block *update : blocks_of(body()))
      if (block != update && !block->init && block->body.buffer == update->body.buffer &&
          reads(*update, update->body.buffer) && !reads(*block, block->body.buffer))
        inits.push_back(block->id->name);
  for (const std::string &init : inits) {
    std::vector<const For *> serial = serial_loops(init);
    std::map<Axis, std::int64_t> threads = threads_of_nest(init);
    if (serial.empty() || threads.empty() || chance(40))
      continue;
    std::string at = random_.pick(serial)->var->name;
    auto [axis, extent] =
        *std::next(threads.begin(), static_cast<std::ptrdiff_t>(random_.below(threads.size())));
    if (chance(70)) {
      bool outer = chance(30);
      if (go("split", {LoopName{at}, outer ? std::vector<std::int64_t>{extent, infer}
                                           : std::vector<std::int64_t>{infer, extent}}))
        at = outer ? results().front() : results().back();
    }
    go("bind", {LoopName{at}, Word{std::string(name(axis))}});
  }
}

void Author::weave() {
  for (const Block *block : blocks_of(body()))
    if (block->body.buffer->role == Role::temporary && chance(60))
      go("set_scope", {BlockName{block->id->name}, Word{chance(80) ? "local" : "shared"}});
  if (chance(50))
    return one_nest();
  for (std::size_t tries = 2 + random_.below(6); tries > 0; --tries) {
    std::vector<const Block *> blocks = blocks_of(body());
    const Block *writer = random_.pick(blocks);
    std::erase_if(blocks,
                  [&](const Block *block) { return block == writer || !reads(*block, writer->body.buffer); });
    if (writer->body.buffer->role != Role::temporary || blocks.empty())
      continue;
    const Block *reader = random_.pick(blocks);
    bool forwards = chance(50);
    std::vector<const For *> around = loops((forwards ? reader : writer)->id->name);
    if (!around.empty())
      go(forwards ? "compute_at" : "reverse_compute_at",
         {BlockName{(forwards ? writer : reader)->id->name}, LoopName{random_.pick(around)->var->name}});
  }
  for (const Block *block : blocks_of(body()))
    if (block->init && chance(30))
      if (std::vector<const For *> around = loops(block->id->name); !around.empty())
        go("decompose_reduction", {BlockName{block->id->name}, LoopName{random_.pick(around)->var->name}});
}

// ---- queries

bool Author::has_block(const std::string &name) const {
  return std::ranges::any_of(blocks_of(body()), [&](const Block *b) { return b->id->name == name; });
}

bool Author::has_loop(const std::string &name) const {
  return std::ranges::any_of(all_loops(body()), [&](const For *loop) { return loop->var->name == name; });
}

std::vector<const For *> Author::loops(const std::string &name) const {
  return loops_of(path_to(body(), block(name).id));
}

bool Author::is_below(const std::string &name, const std::string &loop) const {
  return std::ranges::any_of(loops(name), [&](const For *each) { return each->var->name == loop; });
}

std::vector<const For *> Author::serial_loops(const std::string &name) const {
  std::vector<const For *> list = loops(name);
  std::erase_if(list, [](const For *loop) { return !loop->is<Serial>(); });
  return list;
}

bool Author::sums(const Block &block, const Var &loop) {
  return std::ranges::any_of(block.iters, [&](const IterVar &iter) {
    return iter.kind == IterKind::reduction && uses(iter.binding, loop);
  });
}

bool Author::is_dot(const Block &block) {
  std::size_t operands = 0;
  for (const Load *access : loads_of(block))
    for (const IterVar &iter : block.iters)
      operands += iter.kind == IterKind::reduction && same(access->indices.back(), Expr(iter.var));
  return operands > 1;
}

std::string Author::anchor() {
  if (const auto &fits = draft_.setting.fits; !fits.empty() && chance(50))
    if (const std::string &stage = random_.pick(fits).stage; has_block(stage))
      return stage;
  std::vector<const Block *> all = blocks_of(body()), with_sums;
  for (const Block *b : all)
    if (b->init)
      with_sums.push_back(b);
  return random_.pick(with_sums.empty() || chance(15) ? all : with_sums)->id->name;
}

Stmt Author::nest_of(const std::string &name) const {
  for (const Stmt &nest : nests_of(body()))
    if (find_block(nest, s_.block(name).id))
      return nest;
  return body();
}

std::map<Axis, std::int64_t> Author::threads_of_nest(const std::string &name) const {
  std::map<Axis, std::int64_t> extents;
  for (const For *loop : all_loops(nest_of(name)))
    if (loop->axis() && is_thread(*loop->axis()))
      extents[*loop->axis()] = as_int(loop->extent).value();
  return extents;
}

const Block *Author::unbound_block() const {
  for (const Stmt &nest : nests_of(body()))
    if (std::ranges::none_of(all_loops(nest), [](const For *loop) { return loop->axis().has_value(); }) &&
        !all_loops(nest).empty())
      return blocks_of(nest).back();
  return nullptr;
}

// ---- obligations

void Author::mend() {
  limit_ = most_;
  std::vector<Obligation> owed = s_.obligations();
  for (int round = 0; round < 10 && s_.trace().size() < limit_ && !owed.empty(); ++round) {
    std::size_t before = s_.trace().size();
    pay(chance(80) ? owed.front() : random_.pick(owed));
    if (s_.trace().size() != before)
      owed = s_.obligations();
  }
}

void Author::divide_a_loop() {
  Names several;
  walk(body(), [&](const Stmt &stmt) {
    if (const auto *loop = as<For>(stmt); loop && as<Seq>(loop->body))
      several.push_back(loop->var->name);
    return true;
  });
  if (!several.empty())
    go("fission", {LoopName{apart_.pick(several)}});
}

void Author::cut_terms() {
  for (const Block *block : blocks_of(body())) {
    if (block->body.buffer->role != Role::temporary)
      continue;
    for (const For *loop : serial_loops(block->id->name))
      if (auto extent = as_int(loop->extent); extent && *extent > 1 && sums(*block, loop->var)) {
        const auto last = static_cast<std::size_t>(*extent - 1);
        go("cut_sum", {LoopName{loop->var->name}, 1 + static_cast<std::int64_t>(apart_.below(last))});
        return;
      }
  }
}

void Author::split_at_launch() {
  const std::vector<Var> &sizes = s_.program().sizes;
  if (std::ranges::find(sizes, size_of_part, &Symbol::name) == sizes.end())
    return;
  const std::string name = apart_.pick(blocks_of(body()))->id->name;
  const std::vector<const For *> around = serial_loops(name);
  if (around.empty())
    return;
  const For *loop = apart_.pick(around);
  const bool of_sum = sums(block(name), loop->var);
  if (go("split_by", {LoopName{loop->var->name}, Word{size_of_part}}) && of_sum && apart_.chance(70))
    go("rfactor", {LoopName{results()[0]}});
}

void Author::cut_to_blocks() {
  const Stmt nest = nest_of(apart_.pick(blocks_of(body()))->id->name);
  const auto *loop = as<For>(nest);
  auto extent = loop ? as_int(loop->extent) : std::nullopt;
  if (!extent || *extent < 2 ||
      std::ranges::any_of(blocks_of(nest), [&](const Block *b) { return sums(*b, loop->var); }))
    return;
  const std::int64_t point = 1 + static_cast<std::int64_t>(apart_.below(static_cast<std::size_t>(*extent - 1)));
  if (!go("cut", {LoopName{loop->var->name}, std::vector<std::int64_t>{point}}))
    return;
  const Names parts = results();
  for (const std::string &part : parts)
    go("bind", {LoopName{part}, Word{std::string(name(Axis::block_x))}});
}

void Author::share_launches() {
  for (const Stmt &nest : nests_of(body())) {
    const auto *loop = as<For>(nest);
    if (!loop || !loop->axis() || !is_block(*loop->axis()) || !apart_.chance(40))
      continue;
    const Schedule apart = s_;
    if (go("share_launch", {LoopName{loop->var->name}}) && !s_.obligations().empty())
      s_ = apart;
  }
}

void Author::pay(const Obligation &owed) {
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

void Author::bring_together(const Obligation &owed, Scope wider) {
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
    std::erase_if(around, [&](const For *loop) { return wider == Scope::shared && !loop->axis(); });
    if (!around.empty() &&
        go(forwards ? "compute_at" : "reverse_compute_at",
           {BlockName{forwards ? writer : reader}, LoopName{random_.pick(around)->var->name}}))
      return;
  }
  go("set_scope", {BlockName{writers.front()}, Word{std::string(name(wider))}});
}

void Author::pay_by_binding(const std::string &culprit, Axis axis) {
  std::vector<const For *> serial = serial_loops(culprit);
  std::erase_if(serial, [&](const For *loop) { return sums(block(culprit), loop->var); });
  if (serial.empty())
    return;
  std::int64_t wanted = 0;
  for (const For *loop : all_loops(nest_of(culprit)))
    if (loop->axis() == axis)
      wanted = as_int(loop->extent).value_or(0);
  const For *chosen = chance(70) ? serial.back() : random_.pick(serial);
  std::string at = chosen->var->name;
  auto extent = as_int(chosen->extent);
  if (wanted > 0 && extent != wanted && go("split", {LoopName{at}, std::vector<std::int64_t>{infer, wanted}}))
    at = results().back();
  go("bind", {LoopName{at}, Word{std::string(name(axis))}});
}

bool is_for_warps(std::uint64_t seed) { return Random(seed).chance(12); }

Draft draft(std::uint64_t seed, std::uint64_t computations,
            const std::function<void(const Draft &, const Directive &)> &about_to, const std::string &arch) {
  Random random(seed);
  bool warps = random.chance(12);
  Case setting = warps ? setting_for_warps(random) : any_setting(random, computations);
  if (!arch.empty())
    setting.arch = arch;
  Draft made{setting, Schedule(setting.source, make_target(setting.arch)), {}};
  Author author(made, random, about_to);
  warps ? author.write_for_warps() : author.write();
  made.setting.directives = made.schedule.trace();
  return made;
}

void go_on(Draft &draft, Random &random, std::size_t arbitrary,
           const std::function<void(const Draft &, const Directive &)> &about_to) {
  Author(draft, random, about_to).go_on(arbitrary);
  draft.setting.directives = draft.schedule.trace();
}

} // namespace nestsmith::fuzz
