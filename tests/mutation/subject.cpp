/// Lowers the rungs for a few small shapes, with a pass that seeds a bug.

#include "tests/mutation/subject.h"

#include "dsl/expr/error.h"
#include "dsl/hardware/target.h"
#include "dsl/hardware/verify.h"
#include "runtime/check/stored_array.h"
#include "schedules/workloads.h"
#include "tests/mutation/computations.h"

#include <algorithm>
#include <fmt/format.h>
#include <set>

namespace nestsmith::mutation {

/// The action that the pass `seed_a_bug` executes next.
struct Lowered::Seed {
  const Kind *kind = nullptr;
  Chooser *chooser = nullptr;
};

namespace {

std::vector<std::vector<std::int64_t>> launch_sizes(const Schedule &schedule, const Rung &rung,
                                                    const Shape &shape) {
  if (!shape.stated)
    return {};
  Shape tiles = rung.tile; // full tiles and a partial tile in each dimension, so that all parts of a
                           // partitioned kernel run
  for (std::size_t d = 0; d < tiles.size(); ++d)
    tiles[d] = d + 1 < tiles.size() ? tiles[d] + 1 : 2 * tiles[d] + 1;
  std::vector<std::vector<std::int64_t>> sizes;
  for (const Shape &extents : {shape, rung.tile, tiles, Shape(std::vector<std::int64_t>(shape.size(), 1))})
    sizes.push_back(sizes_for(schedule.source(), extents, 3));
  return sizes;
}

/// The rungs of `hopper` use units that only Hopper has.
Target target_of(const Rung &rung) { return rung.tutorial == "hopper" ? make_target("sm_90a") : Target{}; }

} // namespace

Lowered::Lowered(const Rung &rung, const Shape &shape, DType dtype)
    : schedule_(rung.build(shape, rung.dtype(dtype), target_of(rung))),
      sizes_(launch_sizes(schedule_, rung, shape)), seed_(std::make_shared<Seed>()), extracted_(schedule_, [&] {
        std::vector<Pass> passes = standard_passes();
        auto after =
            std::find_if(passes.begin(), passes.end(), [](const Pass &p) { return p.name == "extract"; });
        auto seed = [state = seed_](Unit &unit) {
          if (state->kind)
            state->kind->apply(unit.kernel(), *state->chooser);
        };
        passes.insert(after + 1, {"seed_a_bug", seed, Form::threads});
        return passes;
      }()) {
  while (extracted_.step().name != "extract") {
  }
  Lowering rest = extracted_;
  while (!rest.done())
    rest.step();
  plan_ = rest.plan();
}

std::vector<kernel::Plan> Lowered::launches(const kernel::Plan &plan) const {
  if (sizes_.empty())
    return {plan};
  std::vector<kernel::Plan> all;
  for (const std::vector<std::int64_t> &sizes : sizes_)
    all.push_back(with_sizes(plan, sizes));
  return all;
}

int Lowered::sites(const Kind &kind) const {
  Chooser counter;
  if (kind.stage == Stage::extracted) {
    *seed_ = {&kind, &counter};
    Lowering copy = extracted_;
    copy.step();
    *seed_ = {};
    return counter.seen();
  }
  if (kind.stage == Stage::scheduled) {
    Program program = schedule_.program();
    kind.apply_program(program, counter);
    return counter.seen();
  }
  final_mutant(kind, counter);
  return counter.seen();
}

Lowered::Mutant Lowered::mutant(const Kind &kind, int site) const {
  Chooser chooser(site);
  if (kind.stage == Stage::extracted) {
    *seed_ = {&kind, &chooser};
    Lowering copy = extracted_;
    std::optional<std::string> breach;
    while (!copy.done() && !breach) {
      copy.step();
      *seed_ = {};
      breach = copy.breach();
    }
    return {breach ? kernel::Plan() : copy.plan(), chooser.where(), breach, {}};
  }
  if (kind.stage == Stage::scheduled)
    return scheduled_mutant(kind, chooser);
  return final_mutant(kind, chooser);
}

Lowered::Mutant Lowered::final_mutant(const Kind &kind, Chooser &chooser) const {
  Mutant mutant{plan_, {}, {}, {}};
  if (kind.apply_plan)
    kind.apply_plan(mutant.plan, chooser);
  else
    for (kernel::Kernel &kernel : mutant.plan.kernels)
      kind.apply_order ? kind.apply_order(kernel, chooser, mutant.weak) : kind.apply(kernel, chooser);
  mutant.where = chooser.where();
  return mutant;
}

/// Changes the program, verifies it, and computes its obligations and its kernel, as after a directive.
Lowered::Mutant Lowered::scheduled_mutant(const Kind &kind, Chooser &chooser) const {
  Program program = schedule_.program();
  kind.apply_program(program, chooser);
  if (auto breach = find_breach(program))
    return {{}, chooser.where(), breach, {}};
  Schedule changed(std::move(program), schedule_.target());
  if (auto owed = changed.obligations(); !owed.empty())
    return {{}, chooser.where(), {}, owed.front().message};
  Lowering lowering(changed);
  while (!lowering.done()) {
    lowering.step();
    if (auto breach = lowering.breach())
      return {{}, chooser.where(), breach, {}};
  }
  return {lowering.plan(), chooser.where(), {}, {}};
}

std::string Subject::name() const { return fmt::format("{} {}", rung->full_name(), label); }

int Subject::sites(const Kind &kind) const {
  return (rung->tutorial == "wrapping") == (kind.group == "wrapping") ? real->sites(kind) : 0;
}

namespace {

/// The dtype of the kernels that are compared in floating point. On tensor cores, tiles depend on the width of
/// the elements. tf32 has the tiles of u32.
DType real_dtype(const Rung &rung) { return rung.dtype(rung.dtypes.empty() ? DType::f32 : DType::tf32); }

std::vector<std::pair<std::string, Shape>> shapes_of(const Rung &rung) {
  const std::int64_t vector = 16 / byte_size(real_dtype(rung));
  Shape edges = rung.tile, odd = rung.tile;
  bool batched = rung.tile.size() == 4;
  for (std::size_t n = batched ? 1 : 0; n < edges.size(); ++n) {
    edges[n] += std::max<std::int64_t>(vector, 4);
    odd[n] += 1;
  }
  if (batched)
    edges[0] += 1, odd[0] += 1;
  if (edges.size() >= 3) { // the numbers of blocks in x and y differ
    std::size_t columns = edges.size() - 2;
    edges.back() += rung.tile.back();
    edges[columns] += rung.tile[columns];
    odd[columns] -= 2;
  }
  Shape sizes = odd;
  sizes.stated = Size{};
  return {{"edges", edges}, {"odd", odd}, {"sizes", sizes}};
}

} // namespace

std::vector<Subject> subjects(const std::vector<std::string> &rungs) {
  std::vector<Subject> all;
  std::set<std::string> known;
  for (const Rung &rung : seeded_rungs()) {
    if (!rungs.empty() && std::find(rungs.begin(), rungs.end(), rung.full_name()) == rungs.end())
      continue;
    for (auto &[label, shape] : shapes_of(rung)) {
      std::unique_ptr<Lowered> ring, real;
      try {
        ring = std::make_unique<Lowered>(rung, shape, DType::u32);
        real = std::make_unique<Lowered>(rung, shape, real_dtype(rung));
      } catch (const UserError &) {
        continue; // the rung refuses this shape, such as symbolic sizes
      }
      if (known.insert(print(real->plan()) + to_string(shape)).second)
        all.push_back({&rung, label, shape, std::move(ring), std::move(real)});
    }
  }
  return all;
}

} // namespace nestsmith::mutation
