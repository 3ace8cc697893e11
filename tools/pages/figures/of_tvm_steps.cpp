#include "tools/pages/figures/measure.h"
#include "tools/pages/figures/posts.h"
#include "tools/pages/mistakes/examples.h"

namespace nestsmith::figure {

std::vector<Figure> of_tvm_steps() {
  RungCounts step2 = measure("tvm_steps/step2", {512, 512, 512}),
             step3 = measure("tvm_steps/step3", {512, 512, 512});
  RungCounts printed = measure(mistake::consecutive_elements());
  std::vector<Figure> list;
  auto add = [&](const std::string &what, double published, double ours, const std::string &note = "") {
    list.push_back({"tvm_steps", what, published, published, ours, FigureSource::counted, 0, note});
  };
  double threads = static_cast<double>(step2.counters.blocks) * static_cast<double>(step2.kernel.threads());
  add("step2: results per thread", 32, 512.0 * 512 / threads);
  add("step2: threads of a block", 32, static_cast<double>(step2.kernel.threads()));
  add("step3: uses of an element that is fetched", 32,
      static_cast<double>(step3.counters.multiply_adds.threads) /
          static_cast<double>(step3.access("A").threads));
  const char *mended = "consecutive elements for each thread are not neighbours for a warp; in step3, "
                       "neighbouring threads fetch neighbouring elements";
  add("32 consecutive elements per thread: sectors of a request for A", 32,
      printed.access("A").sectors_per_request(), mended);
  add("32 consecutive elements per thread: wavefronts of a store to A's tile", 32,
      printed.access("A_shared", true).wavefronts_per_request(), mended);
  add("step3: sectors of a request for A", 4, step3.access("A").sectors_per_request());
  add("step3: wavefronts of a store to A's tile", 1, step3.access("A_shared", true).wavefronts_per_request());
  return list;
}

} // namespace nestsmith::figure
