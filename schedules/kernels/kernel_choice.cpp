#include "schedules/kernels/kernel_choice.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace nestsmith::records {

/// A number has the shortest text that reads as the same number.
static std::string text_of(const choice::Form &form) {
  std::vector<std::string> ways;
  for (const choice::Parts &way : form.way)
    ways.push_back(fmt::format("{{{}, {}, {}, {}}}", way.known, way.of_all_tiles, way.constant, way.slope));
  return fmt::format("{{{}, {}, {},\n      {{{}}},\n      {{{}}},\n      {{{}}}}}", form.known, form.warps,
                     form.counts, fmt::join(form.count, ", "), fmt::join(form.coefficient, ", "),
                     fmt::join(ways, ", "));
}

std::string kernel_choice_data(const std::vector<choice::Kernel> &kernels, const choice::Machine &machine) {
  std::string text = "static const struct Kernel kernels[] = {\n";
  for (const choice::Kernel &kernel : kernels)
    text +=
        fmt::format("  {{{{{}}}, {}, {}, {},\n   {{{},\n    {},\n    {}}}}},\n", fmt::join(kernel.tile, ", "),
                    kernel.parts, kernel.width, kernel.in_bulk, text_of(kernel.form[choice::rows_anywhere]),
                    text_of(kernel.form[choice::rows_at_vectors]), text_of(kernel.form[choice::rows_at_lines]));
  return text + fmt::format("}};\n\nstatic const struct Machine machine = {{{}, {}, {}, {}}};\n", machine.sms,
                            machine.elements, machine.l2_bytes, machine.bytes_per_ms);
}

} // namespace nestsmith::records
