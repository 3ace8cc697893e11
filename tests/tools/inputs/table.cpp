/// Fuzz target for tables of the best knobs.

#include "runtime/records/knob_table.h"
#include "tests/tools/inputs/targets.h"

namespace nestsmith::inputs {

void table(const std::string &bytes) {
  refused_or_done([&] {
    records::KnobTable table(bytes, "table.json", "ladder/warps");
    for (const char *dtype : {"f32", "f16"})
      for (const std::string &gpu : table.gpus(dtype))
        for (std::size_t extents = 1; extents < 5; ++extents)
          (void)table.nearest({gpu, dtype, std::vector<std::int64_t>(extents, 100), false});
  });
}

} // namespace nestsmith::inputs
