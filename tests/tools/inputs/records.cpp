#include "runtime/records/text.h"
#include "tests/tools/inputs/targets.h"

namespace nestsmith::inputs {

void records(const std::string &bytes) {
  refused_or_done([&] {
    const std::string written = records::to_text(records::parse_records(bytes, "records.json"));
    internal_check(records::to_text(records::parse_records(written, "records.json")) == written,
                   "records read as they are written");
  });
}

} // namespace nestsmith::inputs
