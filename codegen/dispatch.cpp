#include "codegen/dispatch.h"

#include "codegen/cuda.h"
#include "codegen/launcher.h"
#include "codegen/names.h"
#include "codegen/requirements.h"
#include "codegen/text.h"
#include "dsl/expr/error.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace nestsmith {

namespace {

std::vector<std::int64_t> values_of(const ShapePlan &part) {
  std::vector<std::int64_t> values;
  for (const NamedExtent &size : launcher_sizes(part.info, part.plan))
    values.push_back(size.value);
  return values;
}

/// The parameters that all launchers of a file have in common: "const float *A, long long M, float alpha".
std::string signature(const ShapePlan &part) {
  kernel::Plan plan = part.plan;
  plan.workspaces.clear();
  return fmt::format("{}", fmt::join(Launcher(part.info, plan).parameters(), ", "));
}

kernel::Plan interface_of(const std::string &name, const std::vector<const ShapePlan *> &parts) {
  const kernel::Plan &last = parts.back()->plan; // a plan with sizes, if there is one
  kernel::Plan plan;
  plan.name = name;
  plan.params = last.params;
  plan.sizes = last.sizes;
  plan.scalars = last.scalars;
  plan.workspaces = last.workspaces;
  for (const ShapePlan *part : parts) {
    plan.kernels.insert(plan.kernels.end(), part->plan.kernels.begin(), part->plan.kernels.end());
    if (plan.workspaces.empty())
      plan.workspaces = part->plan.workspaces;
  }
  return plan;
}

} // namespace

std::string plan_name(const std::string &name, const std::string &shape) {
  return fmt::format("{}_{}", name, shape.empty() ? "symbolic" : shape);
}

std::string symbolic_label(const std::vector<std::int64_t> &near) {
  return fmt::format("symbolic_{}", fmt::join(near, "x"));
}

Dispatch::Dispatch(const std::string &name, EmitInfo info, std::vector<ShapePlan> shapes,
                   std::vector<ShapePlan> symbolic)
    : info_(std::move(info)), shapes_(std::move(shapes)), symbolic_(std::move(symbolic)) {
  internal_check(!shapes_.empty(), "a file for several shapes lists at least one");
  check_parameters();
  check_distinct();
  auto rename = [&](ShapePlan &part, const std::string &own) {
    part.plan = renamed(std::move(part.plan), own);
    part.info.target.clear(); // the comment of the file names it
    part.info.title = part.shape + (part.note.empty() ? "" : ": " + part.note);
  };
  for (ShapePlan &part : shapes_) {
    internal_check(part.plan.sizes.empty(), "a plan for one shape has no sizes");
    rename(part, plan_name(name, part.shape));
  }
  for (ShapePlan &part : symbolic_) {
    internal_check(!part.plan.sizes.empty(), "a plan for other shapes has sizes");
    internal_check(symbolic_.size() == 1 || !part.near.empty(), "each of several plans with sizes has a shape");
    std::vector<std::string> near;
    for (const std::vector<std::int64_t> &extents : part.near)
      near.push_back(fmt::format("{}", fmt::join(extents, "x")));
    bool only = symbolic_.size() == 1;
    part.shape = "any other shape" + (only ? "" : fmt::format(" nearest to {}", fmt::join(near, " or ")));
    rename(part, plan_name(name, only ? "" : symbolic_label(part.near.front())));
  }
  if (symbolic_.empty())
    info_.sizes = launcher_sizes(shapes_.back().info, shapes_.back().plan);
  interface_ = interface_of(name, all());
  for (ShapePlan &part : shapes_)
    part.info.workspace_function = workspace_bytes_name(interface_);
  for (ShapePlan &part : symbolic_)
    part.info.workspace_function = workspace_bytes_name(interface_);
}

std::vector<const ShapePlan *> Dispatch::all() const {
  std::vector<const ShapePlan *> parts;
  for (const ShapePlan &part : shapes_)
    parts.push_back(&part);
  for (const ShapePlan &part : symbolic_)
    parts.push_back(&part);
  return parts;
}

void Dispatch::check_parameters() const {
  const ShapePlan &first = shapes_.front();
  for (const ShapePlan *part : all())
    if (std::string own = signature(*part), expected = signature(first); own != expected)
      throw UserError(
          ExitCode::usage,
          fmt::format("the launcher of {} takes ({}), and that of {} takes ({}), so they cannot be one "
                      "launcher; emit them as two files",
                      first.shape, expected, part->shape.empty() ? "the symbolic kernel" : part->shape, own));
}

void Dispatch::check_distinct() const {
  for (std::size_t a = 0; a < shapes_.size(); ++a)
    for (std::size_t b = a + 1; b < shapes_.size(); ++b)
      if (values_of(shapes_[a]) == values_of(shapes_[b]))
        throw UserError(ExitCode::usage,
                        fmt::format("the launcher takes the same sizes for {} and {}, so it cannot "
                                    "distinguish them; emit them as two files",
                                    shapes_[a].shape, shapes_[b].shape));
}

bool Dispatch::has_gaps() const {
  return std::ranges::any_of(interface_.params, [](const Buffer &buffer) {
    return buffer->strides && !as_int((*buffer->strides)[buffer->shape.size() - 2]);
  });
}

std::vector<std::string> Dispatch::selection() const {
  std::vector<std::string> lines;
  for (const ShapePlan *part : all()) {
    std::vector<std::string> kernels;
    for (const kernel::Kernel &kernel : part->plan.kernels)
      kernels.push_back(entry_name(kernel));
    bool other = !part->plan.sizes.empty();
    std::string rows = !has_gaps() ? "" : other ? ", and rows with gaps" : " with contiguous rows";
    lines.push_back(fmt::format("{}{}: {}{}", part->shape, rows, fmt::join(kernels, ", "),
                                part->note.empty() ? "" : fmt::format(" ({})", part->note)));
  }
  return lines;
}

std::string Dispatch::refusal() const {
  std::vector<std::string> shapes;
  for (const ShapePlan &part : shapes_)
    shapes.push_back(part.shape);
  return fmt::format("the sizes must be those of {}, for which the kernels were generated",
                     fmt::join(shapes, " or "));
}

namespace {

class DispatchWriter {
public:
  explicit DispatchWriter(const Dispatch &dispatch)
      : dispatch_(dispatch), plan_(dispatch.interface()), launcher_(dispatch.info(), plan_),
        shape_function_(function_name(plan_, "_shape")), nearest_function_(function_name(plan_, "_nearest")) {}

  std::string write() {
    if (has_nearest())
      nearest();
    shape();
    if (!plan_.workspaces.empty())
      workspace_bytes();
    if (std::ranges::any_of(dispatch_.all(), [](const ShapePlan *part) {
          return requirements_of(Launcher(part->info, part->plan)).check_overlaps();
        }))
      out_.verbatim(overlap_function);
    for (const ShapePlan *part : dispatch_.all())
      out_.verbatim(emit_header_comment(part->info, part->plan) + "\n" +
                    cuda_definitions(part->plan, part->info.source_lines) + "\n" +
                    emit_launcher(part->info, part->plan) + "\n");
    requirement();
    launcher();
    return out_.take();
  }

private:
  /// NAME_shape, the only function that compares the sizes with those of the shapes.
  void shape() {
    out_.verbatim(
        has_nearest()
            ? "/// The number of the kernels for these sizes: of the listed shape, or of the nearest one.\n"
            : "/// The number of the listed shape that has these sizes, from 1. 0: any other shape.\n");
    out_.call("static int " + shape_function_, declarations(launcher_.sizes), " {");
    out_.indent();
    for (std::size_t n = 0; n < dispatch_.shapes().size(); ++n) {
      std::vector<std::int64_t> values = values_of(dispatch_.shapes()[n]);
      std::vector<std::string> equal;
      for (std::size_t size = 0; size < values.size(); ++size)
        equal.push_back(fmt::format("{} == {}", launcher_.sizes[size].name, values[size]));
      out_.line(fmt::format("if ({})", fmt::join(equal, " && ")));
      out_.line(fmt::format("  return {};", n + 1), dispatch_.shapes()[n].shape);
    }
    if (has_nearest()) {
      std::vector<std::string> sizes;
      for (std::size_t n = 0; n < rank(); ++n)
        sizes.push_back(fmt::format("(double){}", launcher_.sizes[n].name));
      out_.line(fmt::format("return {}({{{}}});", nearest_function_, fmt::join(sizes, ", ")));
    } else {
      out_.line("return 0;");
    }
    out_.close();
    out_.blank();
  }

  bool has_nearest() const { return dispatch_.symbolic().size() > 1; }
  /// The number of extents of a shape.
  std::size_t rank() const { return dispatch_.symbolic().front().near.front().size(); }

  /// NAME_nearest, which selects one of several plans with sizes.
  void nearest() {
    out_.verbatim(
        "/// The number of the kernels for other sizes: those of the nearest shape. For each extent, take the\n"
        "/// ratio of the larger to the smaller of extent and size: the nearest shape has the least product "
        "of\n"
        "/// these ratios.\n");
    out_.open(fmt::format("static int {}(const double (&sizes)[{}])", nearest_function_, rank()));
    out_.open(fmt::format("static const struct {{ double extents[{}]; int number; }} shapes[] =", rank()));
    std::size_t number = dispatch_.shapes().size();
    for (const ShapePlan &part : dispatch_.symbolic()) {
      ++number;
      for (const std::vector<std::int64_t> &extents : part.near)
        out_.line(fmt::format("{{{{{}}}, {}}},", fmt::join(extents, ", "), number));
    }
    out_.dedent();
    out_.line("};");
    for (const char *line : {"int number = 0;", "double least = 0;"})
      out_.line(line);
    out_.open("for (const auto &shape : shapes)");
    out_.line("double product = 1;");
    out_.open(fmt::format("for (int n = 0; n < {}; ++n)", rank()));
    out_.line("double ratio = sizes[n] / shape.extents[n];");
    out_.line("product *= ratio < 1 ? 1 / ratio : ratio;");
    out_.close();
    out_.open("if (number == 0 || product < least)");
    out_.line("number = shape.number;");
    out_.line("least = product;");
    out_.close();
    out_.close();
    out_.line("return number;");
    out_.close();
    out_.blank();
  }

  /// `switch` over the shapes; `result` is the value to return for a plan, and `refused` without a plan.
  template <class F> void select(const F &result, const std::string &refused) {
    out_.indent();
    out_.open(fmt::format("switch ({}({}))", shape_function_, joined_names(launcher_.sizes)));
    std::vector<const ShapePlan *> parts = dispatch_.all();
    std::size_t cases = parts.size() - (dispatch_.symbolic().empty() ? 0 : 1); // the last one is the default
    for (std::size_t n = 0; n < cases; ++n) {
      out_.line(fmt::format("case {}:", n + 1), parts[n]->shape);
      out_.line(fmt::format("  return {};", result(*parts[n])));
    }
    out_.line("default:", has_nearest() ? parts.back()->shape : "");
    out_.line("  return " + (cases < parts.size() ? result(*parts.back()) : refused) + ";");
    out_.close();
    out_.close();
  }

  void workspace_bytes() {
    out_.verbatim("/// The bytes of workspace for a launch of these sizes.\n");
    out_.call("extern \"C\" size_t " + launcher_.workspace_function, declarations(launcher_.sizes), " {");
    select([&](const ShapePlan &part) { return launcher_.spell(part.plan.workspace_bytes); }, "0");
    out_.blank();
  }

  void requirement() {
    out_.verbatim("/// Returns the first requirement that these arguments violate, as a sentence, or null if "
                  "none.\n");
    out_.call(fmt::format("extern \"C\" const char *{}", requirement_name(plan_)),
              declarations(launcher_.checked()), " {");
    select(
        [&](const ShapePlan &part) {
          return fmt::format("{}({})", requirement_name(part.plan), arguments_for(launcher_, part.plan, false));
        },
        fmt::format("\"{}\"", dispatch_.refusal()));
    out_.blank();
  }

  void launcher() {
    out_.doc("", "Launches the kernels for the sizes on `stream` and does not wait for them:");
    out_.doc("", "");
    for (const std::string &line : dispatch_.selection())
      out_.doc("  ", line);
    out_.doc("", "");
    out_.doc("", fmt::format("If a requirement is violated (see {}), it launches nothing and returns "
                             "cudaErrorInvalidValue.",
                             requirement_name(plan_)));
    if (std::string counters = counters_text(plan_); !counters.empty())
      out_.doc("", counters);
    out_.call(fmt::format("extern \"C\" cudaError_t {}", launcher_name(plan_)), launcher_.parameters(), " {");
    select(
        [&](const ShapePlan &part) {
          return fmt::format("{}({})", launcher_name(part.plan), arguments_for(launcher_, part.plan, true));
        },
        "cudaErrorInvalidValue");
  }

  const Dispatch &dispatch_;
  const kernel::Plan &plan_;
  Launcher launcher_;
  std::string shape_function_, nearest_function_;
  TextWriter out_;
};

} // namespace

std::string emit_comment(const Dispatch &dispatch) {
  const EmitInfo &info = dispatch.info();
  TextWriter out;
  out.comment(info.title.empty() ? linked_identifier(dispatch.interface().name) : info.title);
  out.comment("");
  std::vector<std::string> shapes;
  for (const ShapePlan &part : dispatch.shapes())
    shapes.push_back(part.shape);
  out.comment(fmt::format(
      "Kernels for {}{}. The launcher, {}, selects them by its sizes.", fmt::join(shapes, ", "),
      dispatch.symbolic().empty() ? "" : ", and for any other shape", launcher_name(dispatch.interface())));
  if (!info.target.empty())
    out.comment("Target: " + info.target);
  return out.take();
}

std::string emit_functions(const Dispatch &dispatch) {
  return cuda_helpers(dispatch.interface().kernels) + DispatchWriter(dispatch).write();
}

std::string emit(const Dispatch &dispatch) {
  const std::string &header = dispatch.info().header;
  return emit_comment(dispatch) + "\n" + (header.empty() ? "" : fmt::format("#include \"{}\"\n\n", header)) +
         "#include <cuda_runtime.h>\n\n" + emit_functions(dispatch);
}

} // namespace nestsmith
