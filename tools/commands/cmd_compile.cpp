#include "lowering/lower.h"
#include "tools/options/command.h"
#include "tools/options/machine.h"
#include "tools/options/scheduled.h"
#include "tools/output/json.h"
#include "tools/results/analysed.h"

#include <fmt/format.h>

namespace nestsmith::cli {

namespace {

void write_json(const Scheduled &scheduled, const std::vector<cuda::Compiled> &kernels) {
  out(json_text([&](llvm::json::OStream &json) {
    json.object([&] {
      json.attribute("rung", scheduled.choice.name);
      json.attribute("shape", llvm::json::Array(scheduled.shape));
      json.attribute("dtype", dtype_name(scheduled.schedule.source(), scheduled.dtype));
      json.attribute("arch", to_string(kernels.front().arch));
      json.attributeArray("kernels", [&] {
        for (const cuda::Compiled &compiled : kernels)
          json.object([&] {
            json.attribute("kernel", compiled.kernel_name);
            json.attribute("registers", compiled.registers);
            json.attribute("spill_stores_bytes", compiled.spill_stores);
            json.attribute("spill_loads_bytes", compiled.spill_loads);
            json.attribute("stack_bytes", compiled.stack_bytes);
            json.attribute("shared_bytes", compiled.shared_bytes);
            json.attribute("cubin_bytes", static_cast<std::int64_t>(compiled.cubin.size()));
            json.attribute("seconds", compiled.seconds);
            json.attribute("from_cache", compiled.from_cache);
            json.attribute("log", compiled.log);
          });
      });
    });
  }));
}

std::string kernel_text(const cuda::Compiled &compiled, const Style &style) {
  std::string spills = compiled.spill_stores + compiled.spill_loads == 0
                           ? "none"
                           : style.red(fmt::format("{} bytes stored, {} bytes loaded", compiled.spill_stores,
                                                   compiled.spill_loads));
  std::string text = fmt::format("  registers      {} per thread\n", compiled.registers);
  text += fmt::format("  spills         {}\n", spills);
  text += fmt::format("  stack          {} bytes per thread\n", compiled.stack_bytes);
  text += fmt::format("  shared memory  {} bytes per block\n", compiled.shared_bytes);
  text += fmt::format("  code           {} bytes of CUBIN, {} {:.0f} ms\n", compiled.cubin.size(),
                      compiled.from_cache ? "read from the cache in" : "compiled in", compiled.seconds * 1000);
  if (!compiled.log.empty())
    text += "\n" + style.dim(folded_lines(compiled.log)) + (compiled.log.ends_with("\n") ? "" : "\n");
  return text;
}

ExitCode run_compile(const Context &context) {
  ChosenRung choice = given_rung(context);
  Target target = chosen_target(context);
  Scheduled scheduled = schedule_choice(context, choice, target);
  kernel::Plan plan = lower(scheduled.schedule);
  warn_if_unbound(scheduled, plan);
  std::vector<cuda::Compiled> kernels = compile(plan, target.arch);
  if (context.json()) {
    write_json(scheduled, kernels);
    return ExitCode::good;
  }
  std::string text;
  for (const cuda::Compiled &compiled : kernels)
    text += (text.empty() ? "" : "\n") +
            folded(fmt::format("{}  {}  {}", context.style.bold(title(scheduled)), to_string(compiled.arch),
                               compiled.kernel_name),
                   "  ", "") +
            "\n" + kernel_text(compiled, context.style);
  out(text);
  return ExitCode::good;
}

} // namespace

Command compile_command() {
  return {"compile",
          "compile with NVRTC; print registers, spills, shared memory and the compiler's log",
          "RUNG",
          1,
          1,
          {shape_option(), symbolic_option("with this option, --shape has no effect on the code"),
           multiple_of_option(), rows_multiple_of_option(), dtype_option(), set_option(), table_option(),
           arch_option()},
          "",
          run_compile};
}

} // namespace nestsmith::cli
