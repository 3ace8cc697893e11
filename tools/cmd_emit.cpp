#include "codegen/cuda.h"
#include "codegen/standalone.h"
#include "dsl/error.h"
#include "dsl/trace.h"
#include "runtime/workload_info.h"
#include "tools/command.h"
#include "tools/highlight.h"
#include "tools/json.h"
#include "tools/machine.h"
#include "tools/output_file.h"
#include "tools/rung_choice.h"
#include "tools/text_diff.h"

#include <fmt/format.h>

namespace nestsmith::cli {

namespace {

EmitInfo info_of(const Scheduled &it, const std::string &arch) {
  EmitInfo info;
  std::string form = it.variant ? fmt::format(" ({}: {})", it.variant->name, it.variant->why) : "";
  info.title = fmt::format("{}{}: {}", it.choice.name, form, it.choice.summary);
  info.target = arch;
  info.trace = split_lines(trace_to_cpp(it.schedule));
  info.operations = operation_count(it.source());
  if (auto gemm = as_gemm(it.source()))
    info.shape = {{"M", gemm->product.m}, {"N", gemm->product.n}, {"K", gemm->product.k}};
  return info;
}

/// "sm_90: 12 registers a thread, no spills, 8192 bytes of shared memory a block".
std::string resources_note(const cuda::Compiled &compiled) {
  std::int64_t spilled = compiled.spill_stores + compiled.spill_loads;
  std::string spills = spilled == 0 ? "no spills" : fmt::format("{} bytes of spills", spilled);
  return fmt::format("{}: {} registers a thread, {}, {} bytes of shared memory a block", compiled.arch,
                     compiled.registers, spills, compiled.shared_bytes);
}

ExitCode run(const Context &context) {
  const Arguments &arguments = context.arguments;
  std::string arch = chosen_arch(context);
  Choice choice = choose_rung(context.rungs, arguments.positional()[0]);
  Scheduled it = schedule_choice(context, choice, make_target(arch));
  kernel::Plan plan = it.plan();
  warn_if_unbound(it, plan);
  EmitInfo info = info_of(it, arch);
  std::string note;
  for (const cuda::Compiled &compiled : compile_if_possible(plan, arch, note))
    info.notes.push_back((plan.kernels.size() > 1 ? compiled.kernel_name + ", " : "") +
                         resources_note(compiled));
  std::string text = arguments.has("standalone") ? emit_standalone(info, plan, it.source()) : emit(info, plan);

  auto path = arguments.value("output");
  if (path)
    write_file(*path, text);
  if (context.json()) {
    out(json_text([&](llvm::json::OStream &json) {
      json.object([&] {
        json.attribute("rung", it.choice.name);
        json.attribute("shape", llvm::json::Array(it.shape));
        json.attributeArray("kernels", [&] {
          for (const kernel::Kernel &kernel : plan.kernels)
            json.value(entry_name(kernel));
        });
        json.attribute("launcher", launcher_name(plan));
        json.attribute("workspace_bytes", kernel::workspace_bytes(plan));
        json.attribute("arch", arch);
        json.attribute("standalone", arguments.has("standalone"));
        if (path)
          json.attribute("file", *path);
        else
          json.attribute("source", text);
      });
    }));
  } else if (!path) {
    out(highlight_cuda(text, context.style));
  }
  return ExitCode::good;
}

} // namespace

Command emit_command() {
  return {"emit",
          "CUDA C: the kernels and their launcher",
          "RUNG",
          1,
          1,
          {{"output", "FILE", "write there and not to stdout; whole or not at all", 'o'},
           {"standalone", "", "with a main that checks and times it, for nvcc alone"},
           shape_option(),
           symbolic_option(),
           multiple_of_option(),
           dtype_option(),
           arch_option()},
          "examples:\n  nestsmith emit deep_dive/shared --shape 1000x777x333 -o shared.cu\n"
          "  nestsmith emit deep_dive/shared --symbolic -o shared.cu\n"
          "  nestsmith emit ladder/tile1d --standalone -o tile1d.cu\n"
          "  nvcc -O3 -arch=native tile1d.cu && ./a.out\n",
          run};
}

} // namespace nestsmith::cli
