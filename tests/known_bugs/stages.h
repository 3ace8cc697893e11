#pragma once
/// Pipelines with one or more stages for the small product of tests/lowering/tiled_gemm.h.

#include "tests/lowering/tiled_gemm.h"

#include <array>

namespace nestsmith::test {

/// The stages of the tile of A, the tile of B and the sum. The four entries below have one, two, two and three
/// stages.
struct Stages {
  std::int64_t A, B, AB;
};
inline constexpr std::array<Stages, 4> all_stages = {Stages{0, 0, 0}, {0, 0, 1}, {0, 1, 1}, {0, 1, 2}};

inline void pipeline(TiledGemm &t, Stages stages) {
  if (stages.AB > 0)
    t.s.pipeline(t.k_outer, {{t.A, stages.A, 0}, {t.B, stages.B, 1}, {t.AB, stages.AB, 2}});
}

enum class Factor : std::uint8_t { A, B };

/// Returns a pipeline of at least three stages. The tile of `first` is filled in the first stage and read in
/// the last. Each stage needs a nest, so the other operand passes through a chain of registers with a nest in
/// each stage between.
inline TiledGemm deep_pipeline(TiledGemm t, std::int64_t stages, Factor first) {
  bool first_is_A = first == Factor::A;
  std::vector<BlockRef> other = {first_is_A ? t.B : t.A}; // from the tile to the parameter
  while (static_cast<std::int64_t>(other.size()) < stages - 2) {
    other.push_back(t.s.cache_read(other.back(), first_is_A ? "B" : "A", Scope::local));
    t.fetch(other.back());
  }
  std::vector<Stage> staged;
  std::int64_t order = 0; // registers are read before they are written again
  for (BlockRef block : other) {
    staged.push_back({block, stages - 2 - order, order});
    ++order;
  }
  staged.push_back({first_is_A ? t.A : t.B, 0, order});
  staged.push_back({t.AB, stages - 1, order + 1});
  t.s.pipeline(t.k_outer, staged);
  return t;
}

} // namespace nestsmith::test
