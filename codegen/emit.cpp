#include "codegen/emit.h"

#include "codegen/cuda.h"
#include "codegen/names.h"
#include "codegen/spell.h"
#include "codegen/text.h"
#include "dsl/error.h"
#include "dsl/printer.h"
#include "dsl/simplify.h"

#include <algorithm>
#include <cctype>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <limits>
#include <map>

namespace nestsmith {

namespace {

std::vector<std::int64_t> extents(const Buffer &buffer) {
  std::vector<std::int64_t> result;
  for (const Expr &extent : buffer->shape) {
    internal_check(as_int(extent).has_value(), "the shape of a parameter is constant");
    result.push_back(*as_int(extent));
  }
  return result;
}

std::string_view role_text(Role role) {
  switch (role) {
  case Role::input:
    return "read";
  case Role::output:
    return "written";
  case Role::inout:
    return "read and written";
  case Role::temporary:
    return "workspace";
  }
  internal_error("unknown role");
}

/// `{"A", "B"}` as `A op && B op`, each through `condition`.
template <class Range, class F>
std::string joined(const Range &range, std::string_view separator, const F &condition) {
  std::vector<std::string> parts;
  for (const auto &item : range)
    parts.push_back(condition(item));
  return fmt::format("{}", fmt::join(parts, separator));
}

/// Expressions of sizes, in 64 bits.
class SizeSpeller : public ExprSpeller {
public:
  explicit SizeSpeller(const std::map<Var, std::string> &names) : names_(names) {}

private:
  std::string variable(const Var &var) const override { return names_.at(var); }
  std::string element(const Load &) const override { internal_error("a size that is read from memory"); }
  const std::map<Var, std::string> &names_;
};

/// What the launcher's text names.
struct Launcher {
  std::vector<Parameter> pointers, sizes, scalars;
  std::vector<std::int64_t> values; ///< of the sizes
  std::string workspace, workspace_bytes;
  std::vector<Parameter> workspaces; ///< the parts of the workspace
  std::map<Var, std::string> names;  ///< of the plan's sizes

  std::vector<std::string> declarations() const {
    std::vector<std::string> result;
    for (const auto *group : {&pointers, &sizes, &scalars})
      for (const Parameter &parameter : *group)
        result.push_back(parameter.declaration());
    if (!workspaces.empty()) {
      result.push_back("void *" + workspace);
      result.push_back("size_t " + workspace_bytes);
    }
    result.push_back("cudaStream_t stream"); // no array has this name: see codegen/names.cpp
    return result;
  }
  /// What is passed to a kernel of the plan.
  std::string arguments(const kernel::Plan &plan, const kernel::Kernel &kernel) const {
    std::vector<std::string> names;
    for (std::size_t n : plan.arguments(kernel))
      names.push_back((n < pointers.size() ? pointers[n] : workspaces[n - pointers.size()]).name);
    if (!plan.sizes.empty())
      for (const Parameter &size : sizes)
        names.push_back(size.name);
    for (std::size_t n : plan.scalar_arguments(kernel))
      names.push_back(scalars[n].name);
    return fmt::format("{}", fmt::join(names, ", "));
  }
};

Launcher launcher_of(const EmitInfo &info, const kernel::Plan &plan) {
  Launcher result{pointer_parameters(plan), {}, scalar_parameters(plan), {}, {}, {}, {}, {}};
  NameTable names;
  for (const kernel::Kernel &kernel : plan.kernels)
    names.claim(entry_name(kernel));
  for (const auto *group : {&result.pointers, &result.scalars})
    for (const Parameter &parameter : *group)
      names.claim(parameter.name);
  for (const NamedExtent &size : launcher_sizes(info, plan)) {
    // What is to be checked must not have been cut off on its way here.
    bool small = plan.sizes.empty() && size.value <= std::numeric_limits<std::int32_t>::max();
    result.sizes.push_back({small ? "int" : "long long", names.claim(size.name)});
    result.values.push_back(size.value);
  }
  for (std::size_t n = 0; n < plan.sizes.size(); ++n)
    result.names[plan.sizes[n].size] = result.sizes[n].name;
  result.workspace = names.claim("workspace");
  result.workspace_bytes = names.claim("workspace_bytes");
  for (const kernel::Workspace &workspace : plan.workspaces)
    result.workspaces.push_back(
        {fmt::format("{} *", c_type(workspace.buffer->dtype)), names.claim(workspace.buffer->name)});
  return result;
}

/// Pairs of arrays of which one is written: they must not overlap.
std::vector<std::string> overlaps(const kernel::Plan &plan, const Launcher &launcher) {
  std::vector<std::string> conditions;
  SizeSpeller speller(launcher.names);
  auto bytes_text = [&](const Expr &bytes) {
    return as_int(bytes) ? std::to_string(*as_int(bytes)) : speller(bytes);
  };
  auto bytes = [&](std::size_t n) {
    const Buffer &buffer = plan.params[n];
    Expr elements = simplify(span_of(*buffer));
    std::string count = as_int(elements) ? fmt::format("{}LL", *as_int(elements)) : speller(elements);
    if (elements.as<Binary>())
      count = "(" + count + ")";
    return fmt::format("{} * sizeof({})", count, c_type(buffer->dtype));
  };
  for (std::size_t a = 0; a < plan.params.size(); ++a) {
    for (std::size_t b = a + 1; b < plan.params.size(); ++b)
      if (plan.params[a]->role != Role::input || plan.params[b]->role != Role::input)
        conditions.push_back(fmt::format("overlap({}, {}, {}, {})", launcher.pointers[a].name, bytes(a),
                                         launcher.pointers[b].name, bytes(b)));
    if (!plan.workspaces.empty())
      conditions.push_back(fmt::format("overlap({}, {}, {}, {})", launcher.pointers[a].name, bytes(a),
                                       launcher.workspace, bytes_text(plan.workspace_bytes)));
  }
  return conditions;
}

constexpr std::string_view overlap_function =
    R"(/// Whether two arrays share a byte.
static bool overlap(const void *a, size_t a_bytes, const void *b, size_t b_bytes) {
  const char *a_begin = (const char *)a, *b_begin = (const char *)b;
  return a_begin < b_begin + b_bytes && b_begin < a_begin + a_bytes;
}

)";

/// Bytes of which a parameter's address must be a multiple, for those that are accessed by vectors.
std::map<Buffer, std::int64_t> alignments(const kernel::Plan &plan) {
  std::map<Buffer, std::int64_t> result;
  for (const kernel::Kernel &kernel : plan.kernels)
    for (const auto &[buffer, bytes] : kernel.aligned)
      result[buffer] = std::max(result[buffer], bytes);
  return result;
}

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

/// Conditions under which an address does not suit the vectors.
std::vector<std::string> misalignments(const kernel::Plan &plan, const Launcher &launcher) {
  std::vector<std::string> conditions;
  auto bytes = alignments(plan);
  for (std::size_t n = 0; n < plan.params.size(); ++n)
    if (bytes.count(plan.params[n]))
      conditions.push_back(
          fmt::format("(size_t){} % {} != 0", launcher.pointers[n].name, bytes[plan.params[n]]));
  return conditions;
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

/// What holds where the condition does not.
Expr opposite(const Expr &condition) {
  const auto *op = condition.as<Binary>();
  if (op && op->op == BinaryOp::le)
    return op->b < op->a;
  if (op && op->op == BinaryOp::eq)
    return not_equal(op->a, op->b);
  return logical_not(condition);
}

} // namespace

/// A name for a function of the file that no kernel has.
static std::string function_name(const kernel::Plan &plan, const char *suffix) {
  std::string name = linked_identifier(plan.name) + suffix;
  while (std::ranges::any_of(plan.kernels, [&](const auto &kernel) { return entry_name(kernel) == name; }))
    name += "_";
  return name;
}

std::string launcher_name(const kernel::Plan &plan) { return function_name(plan, "_launch"); }
std::string workspace_bytes_name(const kernel::Plan &plan) { return function_name(plan, "_workspace_bytes"); }

std::vector<NamedExtent> launcher_sizes(const EmitInfo &info, const kernel::Plan &plan) {
  std::vector<NamedExtent> sizes;
  for (std::size_t n = 0; n < plan.sizes.size(); ++n)
    sizes.push_back({plan.sizes[n].size->name, plan.values.empty() ? 0 : plan.values[n]});
  if (!sizes.empty())
    return sizes;
  sizes = info.shape;
  for (const Buffer &buffer : plan.params) {
    std::vector<std::int64_t> shape = extents(buffer);
    if (info.shape.empty()) {
      for (std::size_t n = 0; n < shape.size(); ++n)
        sizes.push_back({fmt::format("{}_{}", buffer->name, n), shape[n]});
    } else if (shape.size() == 2) {
      std::string name = "ld" + buffer->name;
      for (char &c : name)
        c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      sizes.push_back({name, shape[1]});
    }
  }
  return sizes;
}

namespace {

std::string array_text(const Buffer &buffer) {
  std::string shape, rows = "row-major";
  for (const Expr &extent : buffer->shape)
    shape += (shape.empty() ? "" : ", ") + to_string(extent);
  if (buffer->strides)
    rows += fmt::format(", rows {} apart", to_string((*buffer->strides)[buffer->shape.size() - 2]));
  return fmt::format("{}: {} [{}], {}, {}", buffer->name, c_type(buffer->dtype), shape, rows,
                     role_text(buffer->role));
}

void launch_comments(TextWriter &out, const kernel::Plan &plan) {
  for (const kernel::Kernel &kernel : plan.kernels) {
    std::string which = plan.kernels.size() > 1 ? entry_name(kernel) + ", " : "";
    std::string shared =
        kernel.shared_bytes ? fmt::format(", {} bytes of shared memory a block", kernel.shared_bytes) : "";
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

/// A line for each thing that something is assumed of.
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
    out.comment(array_text(buffer));
  for (const Var &scalar : plan.scalars)
    out.comment(fmt::format("{}: {}", scalar->name, c_type(scalar->dtype)));
  for (const kernel::Workspace &workspace : plan.workspaces)
    out.comment(array_text(workspace.buffer));
  out.comment("");
  launch_comments(out, plan);
  if (!plan.workspaces.empty())
    out.comment(fmt::format("Workspace: {} bytes", to_string(plan.workspace_bytes)));
  assumption_comments(out, plan);
  std::string shapes = plan.sizes.empty() ? "exactly these shapes, rows without gaps, " : "";
  out.comment("Requires: " + shapes + "no written array overlapping another" + alignment_text(plan));
  if (!info.target.empty())
    out.comment("Target: " + info.target);
  for (const std::string &note : info.notes)
    out.comment(note);
  if (!info.trace.empty()) {
    out.comment("");
    out.comment("Schedule:");
    for (const std::string &line : info.trace)
      out.verbatim("//   " + line + "\n"); // never broken: it can be copied out and compiled
  }
  return out.take();
}

namespace {

class LauncherWriter {
public:
  LauncherWriter(const EmitInfo &info, const kernel::Plan &plan)
      : plan_(plan), launcher_(launcher_of(info, plan)), speller_(launcher_.names) {}

  std::string write() {
    std::vector<std::string> shared = overlaps(plan_, launcher_);
    if (!shared.empty())
      out_.verbatim(overlap_function);
    if (!plan_.workspaces.empty())
      workspace_function();
    comment(!shared.empty());
    out_.call(fmt::format("extern \"C\" cudaError_t {}", launcher_name(plan_)), launcher_.declarations(), " {");
    out_.indent();
    refusals(shared);
    workspaces();
    for (const kernel::Kernel &kernel : plan_.kernels)
      launch(kernel);
    out_.line("return cudaGetLastError();");
    out_.close();
    return out_.take();
  }

private:
  /// Of the sizes where there are any.
  void workspace_function() {
    std::vector<std::string> sizes;
    for (const Parameter &size : launcher_.sizes)
      if (!plan_.sizes.empty())
        sizes.push_back(size.declaration());
    out_.verbatim(fmt::format("extern \"C\" size_t {}({}) {{ return {}; }}\n\n", workspace_bytes_name(plan_),
                              fmt::join(sizes, ", "), speller_(plan_.workspace_bytes)));
  }
  std::string workspace_call() const {
    std::vector<std::string> sizes;
    for (const Parameter &size : launcher_.sizes)
      if (!plan_.sizes.empty())
        sizes.push_back(size.name);
    return fmt::format("{}({})", workspace_bytes_name(plan_), fmt::join(sizes, ", "));
  }

  /// What stands above the launcher.
  void comment(bool overlaps) {
    bool one = plan_.kernels.size() == 1;
    std::string first = fmt::format("/// Launches {} on `stream` and does not wait.",
                                    one ? entry_name(plan_.only()) : "all kernels in order");
    std::string end = overlaps ? ", and where an array\n/// that is written overlaps another" : "";
    std::string misaligned = alignments(plan_).empty() ? "" : "or misaligned ";
    out_.verbatim(
        plan_.sizes.empty()
            ? fmt::format("{} {} generated for one\n"
                          "/// shape: returns cudaErrorInvalidValue for any other, for a null {}pointer{}.\n",
                          first, one ? "The kernel was" : "They were", misaligned, end)
            : fmt::format(
                  "{} Returns\n/// cudaErrorInvalidValue for sizes that break a requirement, for a null "
                  "{}pointer{}.\n",
                  first, misaligned, end));
    if (!plan_.workspaces.empty())
      out_.verbatim(fmt::format("/// `{}` is for what the kernels hand on: {} bytes or more, aligned to {}.\n",
                                launcher_.workspace, workspace_call(), kernel::workspace_alignment));
  }

  void refuse_if(const std::string &condition, const std::string &unless = {}) {
    if (condition.empty())
      return;
    out_.open(fmt::format("if ({})", condition), unless);
    out_.line("return cudaErrorInvalidValue;");
    out_.close();
  }

  void refusals(const std::vector<std::string> &shared) {
    std::vector<std::string> mismatches;
    for (std::size_t n = 0; n < launcher_.sizes.size() && plan_.sizes.empty(); ++n)
      mismatches.push_back(fmt::format("{} != {}{}", launcher_.sizes[n].name, launcher_.values[n],
                                       launcher_.sizes[n].type == "int" ? "" : "LL"));
    refuse_if(joined(launcher_.pointers, " || ", [](const Parameter &p) { return p.name + " == nullptr"; }));
    refuse_if(fmt::format("{}", fmt::join(mismatches, " || ")));
    assumptions();
    if (!plan_.workspaces.empty())
      refuse_if(fmt::format("{} == nullptr || (size_t){} % {} != 0 || {} < {}", launcher_.workspace,
                            launcher_.workspace, kernel::workspace_alignment, launcher_.workspace_bytes,
                            workspace_call()));
    refuse_if(fmt::format("{}", fmt::join(misalignments(plan_, launcher_), " || ")));
    refuse_if(fmt::format("{}", fmt::join(shared, " || ")));
  }

  /// Ranges and divisibility together, what relates sizes to each other with its reason.
  void assumptions() {
    std::vector<std::string> ranges;
    for (const kernel::Assumption &assumption : plan_.assumptions()) {
      std::string broken = speller_(opposite(assumption.holds));
      if (assumption.got.as<Var>() && assumption.what == (*assumption.got.as<Var>())->name)
        ranges.push_back(broken);
    }
    refuse_if(fmt::format("{}", fmt::join(ranges, " || ")));
    for (const kernel::Assumption &assumption : plan_.assumptions())
      if (!assumption.got.as<Var>() || assumption.what != (*assumption.got.as<Var>())->name)
        refuse_if(speller_(opposite(assumption.holds)), fmt::format("{} {}", assumption.what, assumption.text));
  }

  void workspaces() {
    for (std::size_t n = 0; n < plan_.workspaces.size(); ++n) {
      const Parameter &part = launcher_.workspaces[n];
      const Expr &offset = plan_.workspaces[n].byte_offset;
      std::string start = as_int(offset) == 0
                              ? launcher_.workspace
                              : fmt::format("((char *){} + {})", launcher_.workspace, speller_(offset));
      out_.line(fmt::format("{} = ({}){};", part.declaration(), part.type, start));
    }
  }

  void launch(const kernel::Kernel &kernel) {
    if (std::int64_t bytes = kernel.dynamic_shared_bytes()) {
      out_.line("// More than 48 KB of shared memory: the kernel must be allowed to have it.");
      std::string allowed = entry_name(kernel) + "_allowed";
      out_.call(fmt::format("cudaError_t {} = cudaFuncSetAttribute", allowed),
                {entry_name(kernel), "cudaFuncAttributeMaxDynamicSharedMemorySize", std::to_string(bytes)},
                ";");
      out_.open(fmt::format("if ({} != cudaSuccess)", allowed));
      out_.line(fmt::format("return {};", allowed));
      out_.close();
    }
    out_.line(fmt::format("{}<<<{}, {}, {}, stream>>>({});", entry_name(kernel),
                          dim3_text(kernel.grid_exprs(), speller_), dim3_text(exprs(kernel.block()), speller_),
                          kernel.dynamic_shared_bytes(), launcher_.arguments(plan_, kernel)));
  }

  const kernel::Plan &plan_;
  Launcher launcher_;
  SizeSpeller speller_;
  TextWriter out_;
};

} // namespace

std::string emit_launcher(const EmitInfo &info, const kernel::Plan &plan) {
  return LauncherWriter(info, plan).write();
}

std::string emit(const EmitInfo &info, const kernel::Plan &plan) {
  return emit_header_comment(info, plan) + "\n#include <cuda_runtime.h>\n\n" + cuda_kernels(plan) + "\n" +
         emit_launcher(info, plan);
}

} // namespace nestsmith
