#include "tests/proofs/rungs.h"

#include "dsl/expr/error.h"
#include "lowering/passes.h"
#include "schedules/workloads.h"
#include "tests/proofs/covered.h"
#include "tests/proofs/kernel_proof.h"
#include "tests/proofs/skipped.h"
#include "tests/proofs/tails.h"

#include <fmt/format.h>
#include <set>
#include <stdexcept>

namespace nestsmith::proofs {

namespace {

Shape stated(Shape shape, const Size &size) {
  shape.stated = size;
  return shape;
}

} // namespace

std::vector<Case> cases_of(const Rung &rung) {
  Shape tiles = rung.tile, ragged = rung.tile;
  for (std::int64_t &extent : tiles)
    extent *= 3;
  for (std::int64_t &extent : ragged)
    extent += 1;
  std::vector<Case> cases;
  for (const Shape &shape : {tiles, ragged, Shape{1000, 777, 333}, Shape{70000, 70000, 64},
                             Shape{70000, 64, 70000}, Shape{64, 70000, 70000}, Shape{3, 1000, 777, 333}})
    if (shape.size() == rung.tile.size())
      cases.push_back({to_string(shape), shape, rung.dtype()});
  const Case any = {"any size", stated(rung.tile, {}), rung.dtype()};
  const Case wide = {"multiples of 128 up to 32768",
                     stated(rung.tile, {.min = 128, .max = 32768, .multiple_of = 128}), rung.dtype()};
  cases.push_back(any);
  cases.push_back({"sizes up to 46340", stated(rung.tile, {.max = 46340}), rung.dtype()});
  cases.push_back(
      {"multiples of 4", stated(rung.tile, {.min = 4, .max = 1 << 20, .multiple_of = 4}), rung.dtype()});
  cases.push_back(wide);
  std::set<std::int64_t> widths = {byte_size(rung.dtype())};
  for (DType dtype : rung.dtypes)
    if (widths.insert(byte_size(dtype)).second)
      for (Case at : {Case{to_string(ragged), ragged, dtype}, any, wide})
        cases.push_back({fmt::format("{} in {}", at.name, name(dtype)), at.shape, dtype});
  const bool tuned = rung.full_name() == "tensor/tuned" || rung.full_name() == "tensor/nt";
  const Shape aligned = {1000, 776, 328}, large = {2048, 2048, 2048};
  if (tuned || rung.tutorial == "hopper")
    for (Case at : {Case{to_string(ragged), ragged}, Case{to_string(aligned), aligned},
                    Case{to_string(large), large}, any, wide}) {
      at.name += " on sm_90a";
      at.dtype = rung.dtype();
      at.target = make_target("sm_90a");
      if (tuned)
        at.knobs = parse_knobs("wgmma=true,roles=true");
      cases.push_back(at);
    }
  return cases;
}

Lowered::Lowered(const Schedule &schedule) {
  Lowering lowering(schedule);
  while (!lowering.done()) {
    const Pass &pass = lowering.step();
    if (auto breach = lowering.breach())
      throw std::logic_error(*breach);
    if (pass.name == "lower_init")
      before = lowering.program();
    if (pass.name == "fill_tails")
      after = lowering.program();
    if (pass.form == Form::ordered)
      ordered = lowering.plan();
  }
  plan = lowering.plan();
}

std::optional<Lowered> lowered(const Rung &rung, const Case &at) {
  try {
    Knobs knobs(at.knobs);
    return Lowered(rung.build(at.shape, at.dtype, at.target, knobs));
  } catch (const UserError &) {
    if (!at.shape.stated)
      throw;
    return std::nullopt;
  }
}

Proof Lowered::prove() const {
  Proof result = proofs::prove(plan);
  for (const kernel::Kernel &kernel : ordered.kernels)
    result.add(prove_dimensions(kernel));
  result.add(prove_tails(before, after));
  result.add(prove_covered(after));
  result.add(prove_skipped(after));
  return result;
}

} // namespace nestsmith::proofs
