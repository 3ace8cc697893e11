#include "tools/pages/figures/measure.h"
#include "tools/pages/figures/posts.h"
#include "tools/results/published.h"

#include <cmath>
#include <fmt/format.h>

namespace nestsmith::figure {

/// The post has times, and no counts. They are of an unknown GPU, so there is no prediction, but the rates say
/// how small that GPU is.
std::vector<Figure> of_tiling() {
  constexpr std::int64_t edge = 1024;
  RungCounts naive = measure("tiling/naive", {edge, edge, edge}),
             shared = measure("tiling/shared", {edge, edge, edge});
  std::vector<Figure> list;
  auto add = [&](const std::string &what, double published, double ours, const std::string &note) {
    list.push_back({"tiling", what, published, published, ours, FigureSource::counted, 0.001, note});
  };
  double giga = 2e-9 * std::pow(static_cast<double>(edge), 3);
  for (auto [name, counts, ms] : {std::tuple{"naive", &naive, 2.163}, {"shared", &shared, 1.758}})
    add(fmt::format("{}: GFLOP/s, from its {} ms", name, ms), giga / (ms * 1e-3),
        2e-9 * static_cast<double>(counts->counters.multiply_adds.threads) / (ms * 1e-3),
        "ours: the counted operations in the published time; the post does not name its GPU");
  auto requests = [](const RungCounts &counts) {
    return static_cast<double>(counts.access("A").requests + counts.access("B").requests);
  };
  add("loads of global memory of shared over those of naive", 1.0 / 32, requests(shared) / requests(naive),
      "a tile of 32 x 32 elements; the post's time falls to 0.81 only");
  return list;
}

} // namespace nestsmith::figure
