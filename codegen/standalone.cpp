#include "codegen/standalone.h"

#include "codegen/check_text.h"
#include "codegen/cuda.h"
#include "codegen/launcher.h"
#include "codegen/names.h"
#include "codegen/text.h"
#include "dsl/expr/error.h"

#include <fmt/format.h>

namespace nestsmith {

namespace {

constexpr std::string_view build_comment =
    "//\n// Build and run: nvcc -O3 -arch=native FILE.cu -o a.out && ./a.out\n\n";
constexpr std::string_view includes = "\n#include <algorithm>\n#include <cmath>\n#include <cstdio>\n"
                                      "#include <cstdlib>\n#include <cstring>\n#include <vector>\n\n";

void open_main(TextWriter &out, const std::string &name) {
  out.open("int main()");
  out.line("cudaDeviceProp device;");
  out.line("must(cudaGetDeviceProperties(&device, 0), \"no usable device\");");
  out.line(fmt::format(R"c(printf("{} on %s (sm_%d%d)\n", device.name, device.major, device.minor);)c", name));
}

LauncherCalls calls_of(const EmitInfo &info, const kernel::Plan &plan) {
  LauncherCalls calls{.name = linked_identifier(plan.name),
                      .launcher = launcher_name(plan),
                      .requirement = requirement_name(plan),
                      .workspace_bytes = workspace_bytes_name(plan),
                      .sizes = {},
                      .workspace = !plan.workspaces.empty(),
                      .counters = !counters_text(plan).empty(),
                      .of_workspace_bytes = plan.values,
                      .operations = info.operations};
  for (const NamedExtent &size : launcher_sizes(info, plan))
    calls.sizes.push_back(size.value);
  return calls;
}

} // namespace

std::string emit_standalone(const EmitInfo &info, const kernel::Plan &plan, const Program &source) {
  internal_check(plan.params.size() == source.params.size() && plan.scalars.size() == source.scalars.size(),
                 "a plan has the parameters of its program");
  LauncherCalls calls = calls_of(info, plan);
  CheckText check = check_text(calls, source);
  TextWriter main;
  open_main(main, calls.name);
  main.verbatim(check.body);
  main.close();
  return emit_header_comment(info, plan) + std::string(build_comment) + runtime_includes(plan) +
         std::string(includes) + cuda_kernels(plan, info.source_lines) + "\n" + emit_launcher(info, plan) +
         "\n" + check.reference + check_support(source) + "\n" + check.comparisons + "\n" + main.take();
}

} // namespace nestsmith
