#include "tests/proofs/rungs.h"

#include "dsl/error.h"
#include "lowering/passes.h"
#include "schedules/workloads.h"
#include "tests/proofs/covered.h"
#include "tests/proofs/kernel_proof.h"
#include "tests/proofs/tails.h"

#include <fmt/format.h>
#include <stdexcept>

namespace nestsmith::proofs {

std::vector<Case> cases_of(const Rung &rung) {
  std::vector<Case> cases;
  auto constant = [&](Shape shape) {
    if (shape.size() == rung.tile.size())
      cases.push_back({to_string(shape), shape});
  };
  auto symbolic = [&](std::string name, Size stated) {
    Shape shape = rung.tile;
    shape.stated = stated;
    cases.push_back({std::move(name), std::move(shape)});
  };
  Shape tiles = rung.tile, ragged = rung.tile;
  for (std::int64_t &extent : tiles)
    extent *= 3;
  for (std::int64_t &extent : ragged)
    extent += 1;
  constant(tiles);
  constant(ragged);
  constant({1000, 777, 333});
  constant({70000, 70000, 64});
  constant({70000, 64, 70000});
  constant({64, 70000, 70000});
  constant({3, 1000, 777, 333});
  symbolic("any size", {});
  symbolic("sizes up to 46340", {.max = 46340});
  symbolic("multiples of 4", {.min = 4, .max = 1 << 20, .multiple_of = 4});
  symbolic("multiples of 128 up to 32768", {.min = 128, .max = 32768, .multiple_of = 128});
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
    return Lowered(rung.build(at.shape, rung.dtype(), Target{}));
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
  return result;
}

} // namespace nestsmith::proofs
