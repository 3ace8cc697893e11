#include "tools/pages/source_machine.h"

#include <algorithm>
#include <vector>

namespace nestsmith {

const SourceMachine *source_machine(const std::string &tutorial) {
  static const std::vector<SourceMachine> machines = {
      {"deep_dive", "RTX 5090", Shape{1024, 1024, 1024}},
      {"transposed", "RTX 3090", std::nullopt},
      {"tiling", "", Shape{1024, 1024, 1024}},
      {"tvm_steps", "RTX A500", Shape{1024, 1024, 1024}},
      {"principles", "A100", std::nullopt},
      {"worklog", "RTX A6000", Shape{4096, 4096, 4096}},
  };
  auto it = std::ranges::find(machines, tutorial, &SourceMachine::tutorial);
  return it == machines.end() ? nullptr : &*it;
}

} // namespace nestsmith
