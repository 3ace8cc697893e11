#include "codegen/emit.h"

#include "codegen/cuda.h"
#include "codegen/launcher.h"
#include "codegen/names.h"
#include "codegen/requirements.h"
#include "codegen/tensor_maps.h"
#include "codegen/text.h"
#include "dsl/ir/printer.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace nestsmith {

namespace {

/// ", A and B aligned to 16 bytes".
std::string alignment_text(const kernel::Plan &plan) {
  std::map<std::int64_t, std::vector<std::string>> names;
  auto bytes = alignments(plan);
  for (const Buffer &buffer : plan.params)
    if (bytes.count(buffer))
      names[bytes[buffer]].push_back(buffer->name);
  std::string text;
  for (const auto &[alignment, list] : names)
    text += fmt::format(", {} aligned to {} bytes", fmt::join(list, " and "), alignment);
  return text;
}

/// A CUDA extent list: "dim3(25, 32)", "512".
std::string dim3_text(const std::array<Expr, 3> &extents, const ExprSpeller &speller) {
  std::vector<std::string> texts;
  for (const Expr &extent : extents)
    texts.push_back(as_int(extent) ? std::to_string(*as_int(extent)) : speller(cast(DType::u32, extent)));
  while (texts.size() > 1 && as_int(extents[texts.size() - 1]) == 1)
    texts.pop_back();
  std::string list = fmt::format("{}", fmt::join(texts, ", "));
  return texts.size() == 1 ? list : fmt::format("dim3({})", list);
}

std::array<Expr, 3> exprs(const std::array<std::int64_t, 3> &values) {
  return {Expr(values[0]), Expr(values[1]), Expr(values[2])};
}

void launch_comments(TextWriter &out, const kernel::Plan &plan) {
  for (const kernel::Kernel &kernel : plan.kernels) {
    std::string which = plan.kernels.size() > 1 ? entry_name(kernel) + ", " : "";
    std::string shared =
        kernel.shared_bytes ? fmt::format(", {} bytes of shared memory per block", kernel.shared_bytes) : "";
    std::array<Expr, 3> grid = kernel.grid_exprs();
    std::string extents;
    if (plan.sizes.empty())
      extents = extents_text(kernel.grid());
    else
      for (std::size_t n = 0; n < 3 && (n == 0 || as_int(grid[n]) != 1); ++n)
        extents += (n == 0 ? "" : " x ") + to_string(grid[n]);
    out.comment(
        fmt::format("Launch: {}grid {}, block {}{}", which, extents, extents_text(kernel.block()), shared));
  }
}

/// One line for each subject of an assumption.
void assumption_comments(TextWriter &out, const kernel::Plan &plan) {
  std::vector<std::pair<std::string, std::string>> lines;
  for (const kernel::Assumption &assumption : plan.assumptions()) {
    if (lines.empty() || lines.back().first != assumption.what)
      lines.emplace_back(assumption.what, "");
    lines.back().second += (lines.back().second.empty() ? "" : ", ") + assumption.text;
  }
  for (const auto &[what, text] : lines)
    out.comment(fmt::format("Requires: {} {}", what, text));
}

} // namespace

std::string emit_header_comment(const EmitInfo &info, const kernel::Plan &plan) {
  TextWriter out;
  out.comment(info.title.empty() ? linked_identifier(plan.name) : info.title);
  out.comment("");
  for (const Buffer &buffer : plan.params)
    out.comment(fmt::format("{}: {}", buffer->name, array_text(buffer)));
  for (const Var &scalar : plan.scalars)
    out.comment(fmt::format("{}: {}", scalar->name, c_type(scalar->dtype)));
  for (const kernel::Workspace &workspace : plan.workspaces)
    out.comment(fmt::format("{}: {}", workspace.buffer->name, array_text(workspace.buffer)));
  out.comment("");
  launch_comments(out, plan);
  if (!plan.workspaces.empty())
    out.comment(fmt::format("Workspace: {} bytes", to_string(plan.workspace_bytes)));
  assumption_comments(out, plan);
  bool gaps = std::ranges::any_of(plan.params, [](const Buffer &buffer) { return buffer->strides != nullptr; });
  std::string shapes = plan.sizes.empty() ? "exactly these shapes, " : "";
  if (plan.sizes.empty() && !gaps)
    shapes += "contiguous rows, ";
  out.comment("Requires: " + shapes + "no overlap of a written array with another" + alignment_text(plan));
  if (std::string empty = requirements_of(Launcher(info, plan)).empty_text; !empty.empty())
    out.comment(fmt::format("If {}, nothing is launched", empty));
  if (!info.target.empty())
    out.comment("Target: " + info.target);
  for (const std::string &note : info.notes)
    out.comment(note);
  if (!info.trace.empty()) {
    out.comment("");
    out.comment("Schedule:");
    for (const std::string &line : info.trace)
      out.verbatim("//   " + one_line(line) + "\n"); // not wrapped, so that it can be copied and compiled
  }
  return out.take();
}

/// Source: CUDA Programming Guide, "Programmatic Dependent Launch and Synchronization".
constexpr std::string_view early_launch_function =
    R"(/// Launches a kernel that may start while the kernel before it in the stream ends: it waits for that one before it
/// accesses memory that the other one may use. The launcher returns an error of the launch.
template <class... Parameters, class... Arguments>
static void launch_early(dim3 grid, dim3 block, size_t shared_bytes, cudaStream_t stream,
                         void (*kernel)(Parameters...), const Arguments &...arguments) {
  cudaLaunchAttribute early = {};
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = grid;
  config.blockDim = block;
  config.dynamicSmemBytes = shared_bytes;
  config.stream = stream;
  config.attrs = &early;
  config.numAttrs = 1;
  cudaLaunchKernelEx(&config, kernel, Parameters(arguments)...);
}

)";

std::string launcher_functions(const kernel::Plan &plan) {
  const bool early = std::ranges::any_of(plan.kernels, &kernel::Kernel::launches_early);
  return fmt::format("{}{}", has_tensor_maps(plan) ? tensor_map_function : "",
                     early ? early_launch_function : "");
}

namespace {

class LauncherWriter {
public:
  LauncherWriter(const EmitInfo &info, const kernel::Plan &plan)
      : plan_(plan), launcher_(info, plan), requirements_(requirements_of(launcher_)),
        dispatched_(!info.workspace_function.empty()), linkage_(dispatched_ ? "static" : "extern \"C\"") {}

  std::string write() {
    if (requirements_.check_overlaps() && !dispatched_)
      out_.verbatim(overlap_function);
    if (!dispatched_)
      out_.verbatim(launcher_functions(plan_));
    if (!plan_.workspaces.empty() && !dispatched_)
      workspace_function();
    requirement_function();
    comment();
    out_.call(fmt::format("{} cudaError_t {}", linkage_, launcher_name(plan_)), launcher_.parameters(), " {");
    out_.indent();
    out_.open(
        fmt::format("if ({}({}) != nullptr)", requirement_name(plan_), joined_names(launcher_.checked())));
    out_.line("return cudaErrorInvalidValue;");
    out_.close();
    if (!requirements_.empty.empty()) {
      out_.open(fmt::format("if ({})", requirements_.empty));
      out_.line("return cudaSuccess;", "there is nothing to compute");
      out_.close();
    }
    workspaces();
    for (const kernel::Kernel &kernel : plan_.kernels)
      launch(kernel);
    out_.line("return cudaGetLastError();");
    out_.close();
    return out_.take();
  }

private:
  /// NAME_workspace_bytes, a function of the sizes, if any.
  void workspace_function() {
    std::string divides; // no size that may be a divisor is 0
    for (const Var &size : chosen_sizes(plan_))
      divides += fmt::format("{} < {} ? 0 : ", launcher_.names.at(size), size->size->min);
    out_.verbatim(fmt::format("extern \"C\" size_t {}({}) {{ return {}{}; }}\n\n", launcher_.workspace_function,
                              fmt::join(declarations(launcher_.of_workspace_bytes()), ", "), divides,
                              launcher_.spell(plan_.workspace_bytes)));
  }

  void require(const Requirement &requirement) {
    out_.line(fmt::format("if ({})", requirement.broken));
    out_.verbatim(fmt::format("    return \"{}\";\n", requirement.sentence)); // a string literal is not wrapped
  }

  void requirement_function() {
    out_.verbatim("/// Returns the first requirement that these arguments violate, as a sentence, or null if "
                  "none.\n");
    out_.call(fmt::format("{} const char *{}", linkage_, requirement_name(plan_)),
              declarations(launcher_.checked()), " {");
    out_.indent();
    for (const Requirement &requirement : requirements_.sizes)
      require(requirement);
    if (!requirements_.empty.empty()) {
      out_.line(fmt::format("if ({})", requirements_.empty));
      out_.line("  return nullptr;", "nothing is launched, so the arrays are not checked");
    }
    for (const Requirement &requirement : requirements_.rest)
      require(requirement);
    out_.line("return nullptr;");
    out_.close();
    out_.blank();
  }

  /// The comment above the launcher.
  void comment() {
    bool one = plan_.kernels.size() == 1;
    out_.verbatim(fmt::format("/// Launches {} on `stream` and does not wait.{}\n"
                              "/// If a requirement is violated (see {}), it launches\n"
                              "/// nothing and returns cudaErrorInvalidValue.\n",
                              one ? entry_name(plan_.only()) : "all kernels in order",
                              plan_.sizes.empty() ? " It supports one shape only." : "",
                              requirement_name(plan_)));
    if (!requirements_.empty.empty())
      out_.verbatim(
          fmt::format("/// If {}, it launches nothing and returns cudaSuccess.\n", requirements_.empty_text));
    if (!plan_.workspaces.empty())
      out_.verbatim(fmt::format("/// `{}` holds intermediate results: at least {} bytes, aligned to {}.\n",
                                launcher_.workspace.name, launcher_.workspace_call(),
                                kernel::workspace_alignment));
    if (std::string counters = counters_text(plan_); !counters.empty() && !dispatched_)
      out_.doc("", counters);
  }

  void workspaces() {
    for (std::size_t n = 0; n < plan_.workspaces.size(); ++n) {
      const Parameter &part = launcher_.workspaces[n];
      const Expr &offset = plan_.workspaces[n].byte_offset;
      const std::string &memory = launcher_.workspace.name;
      std::string start =
          as_int(offset) == 0 ? memory : fmt::format("((char *){} + {})", memory, launcher_.spell(offset));
      out_.line(fmt::format("{} = ({}){};", part.declaration(), part.type, start));
    }
  }

  void launch(const kernel::Kernel &kernel) {
    if (std::int64_t bytes = kernel.dynamic_shared_bytes()) {
      out_.line("// A kernel must opt in to more than 48 KB of shared memory.");
      std::string allowed = entry_name(kernel) + "_allowed";
      out_.call(fmt::format("cudaError_t {} = cudaFuncSetAttribute", allowed),
                {entry_name(kernel), "cudaFuncAttributeMaxDynamicSharedMemorySize", std::to_string(bytes)},
                ";");
      out_.open(fmt::format("if ({} != cudaSuccess)", allowed));
      out_.line(fmt::format("return {};", allowed));
      out_.close();
    }
    make_tensor_maps(out_, launcher_, kernel);
    const std::string grid = dim3_text(kernel.grid_exprs(), launcher_.spell),
                      block = dim3_text(exprs(kernel.block()), launcher_.spell);
    if (!kernel.launches_early) {
      out_.line(fmt::format("{}<<<{}, {}, {}, stream>>>({});", entry_name(kernel), grid, block,
                            kernel.dynamic_shared_bytes(), launcher_.arguments(kernel)));
      return;
    }
    out_.call("launch_early",
              {grid, block, std::to_string(kernel.dynamic_shared_bytes()), "stream", entry_name(kernel),
               launcher_.arguments(kernel)},
              ";");
  }

  const kernel::Plan &plan_;
  Launcher launcher_;
  Requirements requirements_;
  bool dispatched_; ///< the plan is one of a `ChoiceFile`, which calls this launcher
  std::string linkage_;
  TextWriter out_;
};

} // namespace

std::string emit_launcher(const EmitInfo &info, const kernel::Plan &plan) {
  return LauncherWriter(info, plan).write();
}

std::string runtime_includes(const kernel::Plan &plan) {
  return "#include <cuda_runtime.h>\n" + std::string(has_tensor_maps(plan) ? tensor_map_include : "");
}

std::string emit(const EmitInfo &info, const kernel::Plan &plan) {
  std::string header = info.header.empty() ? "" : fmt::format("#include \"{}\"\n\n", info.header);
  return emit_header_comment(info, plan) + "\n" + header + runtime_includes(plan) + "\n" +
         cuda_kernels(plan, info.source_lines) + "\n" + emit_launcher(info, plan);
}

} // namespace nestsmith
