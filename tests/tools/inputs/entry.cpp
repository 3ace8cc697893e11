#include "runtime/cuda/compiled.h"
#include "tests/tools/inputs/targets.h"
#include "tools/results/stored_results.h"

namespace nestsmith::inputs {

void entry(const std::string &bytes) {
  refused_or_done([&] {
    if (auto compiled = cuda::read_entry(bytes, "f", *Arch::parse("sm_90")))
      internal_check(cuda::read_entry(cuda::write_entry(*compiled), "f", compiled->arch).has_value(),
                     "an entry reads as it is written");
    if (auto check = cli::read_check(bytes))
      (void)cli::check_text(*check);
    if (auto figures = cli::read_figures(bytes))
      (void)cli::figures_text(*figures);
  });
}

} // namespace nestsmith::inputs
