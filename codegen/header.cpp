/// The header of an emitted file.

#include "codegen/dispatch.h"
#include "codegen/emit.h"
#include "codegen/launcher.h"
#include "codegen/names.h"
#include "codegen/requirements.h"
#include "codegen/text.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <set>

namespace nestsmith {

namespace {

/// The parts of the text that depend on the number of plans in the file.
struct Contents {
  std::string effect;                 ///< the first sentence about the launcher
  std::vector<std::string> selection; ///< which kernels it launches; may be empty
  std::vector<std::pair<std::string, std::vector<std::string>>> required; ///< headings with requirements
  std::string empty_text;                                                 ///< of `Requirements`
  std::vector<std::vector<std::string>> shapes;  ///< for each array: its extents in each plan
  std::vector<std::vector<std::int64_t>> values; ///< of the sizes in each plan for one shape
  std::vector<Parameter> of_workspace_bytes;
};

std::vector<std::string> sentences(const std::vector<Requirement> &requirements) {
  std::vector<std::string> list;
  for (const Requirement &requirement : requirements)
    list.push_back(requirement.sentence);
  return list;
}

std::vector<std::string> shapes_of(const kernel::Plan &plan) {
  std::vector<std::string> shapes;
  for (const Buffer &buffer : plan.params)
    shapes.push_back(shape_text(buffer));
  return shapes;
}

Contents contents_of(const EmitInfo &info, const kernel::Plan &plan) {
  Launcher launcher(info, plan);
  Requirements requirements = requirements_of(launcher);
  bool one = plan.kernels.size() == 1;
  return {.effect = fmt::format("Launches {} on `stream` and does not wait for {}.",
                                one ? "the kernel" : "the kernels, one after the other,", one ? "it" : "them"),
          .selection = {},
          .required = {{"Requires:", sentences(requirements.all())}},
          .empty_text = requirements.empty_text,
          .shapes = {shapes_of(plan)},
          .values = {launcher.values},
          .of_workspace_bytes = launcher.of_workspace_bytes()};
}

/// The requirements of each plan, once for plans with the same requirements.
Contents contents_of(const Dispatch &dispatch) {
  Contents contents{.effect = "Launches the kernels for the sizes on `stream` and does not wait for them:",
                    .selection = dispatch.selection(),
                    .required = {},
                    .empty_text = "",
                    .shapes = {},
                    .values = {},
                    .of_workspace_bytes = Launcher(dispatch.info(), dispatch.interface()).sizes};
  for (const ShapePlan &part : dispatch.shapes()) {
    Launcher launcher(part.info, part.plan);
    std::vector<std::string> required = sentences(requirements_of(launcher).rest);
    auto same = std::ranges::find(contents.required, required, [](const auto &entry) { return entry.second; });
    if (same == contents.required.end())
      contents.required.emplace_back(part.shape, required);
    else
      same->first += ", " + part.shape;
    contents.shapes.push_back(shapes_of(part.plan));
    contents.values.push_back(launcher.values);
  }
  for (auto &[heading, required] : contents.required)
    heading = fmt::format("Requires, for {}{}:", heading, dispatch.has_gaps() ? " with contiguous rows" : "");
  if (dispatch.symbolic().empty()) {
    contents.required.insert(contents.required.begin(), {"Requires:", {dispatch.refusal()}});
    return contents;
  }
  std::vector<std::pair<std::string, std::vector<std::string>>> others;
  for (const ShapePlan &part : dispatch.symbolic()) {
    Requirements requirements = requirements_of(Launcher(part.info, part.plan));
    std::vector<std::string> required = sentences(requirements.all());
    auto same = std::ranges::find(others, required, [](const auto &entry) { return entry.second; });
    if (same == others.end())
      others.emplace_back(part.shape, required);
    else
      same->first += ", " + part.shape;
    contents.empty_text = requirements.empty_text;
  }
  for (auto &[heading, required] : others)
    heading = fmt::format("Requires, for {}:", others.size() == 1 ? "any other sizes" : heading);
  contents.required.insert(contents.required.end(), others.begin(), others.end());
  contents.shapes = {shapes_of(dispatch.symbolic().front().plan)};
  return contents;
}

class HeaderWriter {
public:
  HeaderWriter(const EmitInfo &info, const kernel::Plan &plan, Contents contents)
      : info_(info), plan_(plan), launcher_(info, plan), contents_(std::move(contents)) {}

  std::string write() {
    std::string guard = fmt::format("NESTSMITH_{}_H", linked_identifier(plan_.name));
    out_.comment(info_.title.empty() ? linked_identifier(plan_.name) : info_.title);
    if (!info_.target.empty())
      out_.comment("Target: " + info_.target);
    out_.verbatim(fmt::format("\n#ifndef {0}\n#define {0}\n\n#include <cuda_runtime_api.h>\n", guard));
    types();
    out_.verbatim("\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n");
    launcher();
    requirement();
    if (!plan_.workspaces.empty())
      workspace_bytes();
    out_.verbatim("#ifdef __cplusplus\n}\n#endif\n\n#endif\n");
    return out_.take();
  }

private:
  /// The includes and types for the parameters.
  void types() {
    std::set<DType> used;
    for (const Buffer &buffer : plan_.params)
      used.insert(buffer->dtype);
    for (const Var &scalar : plan_.scalars)
      used.insert(scalar->dtype);
    out_.verbatim("#include <stddef.h>\n");
    if (used.count(DType::boolean))
      out_.verbatim("#ifndef __cplusplus\n#include <stdbool.h>\n#endif\n");
    for (auto [type, header] : {std::pair{DType::f16, "cuda_fp16.h"}, {DType::bf16, "cuda_bf16.h"}})
      if (used.count(type))
        out_.verbatim(fmt::format("#ifdef __cplusplus\n"
                                  "#include <{0}>\n"
                                  "#else\n"
                                  "typedef struct {1} {1}; /* opaque in C, used through pointers */\n"
                                  "#endif\n",
                                  header, c_type(type)));
  }

  /// The different elements number `n` of the lists: "64 or 512".
  template <class T> static std::string alternatives(const std::vector<std::vector<T>> &lists, std::size_t n) {
    std::vector<T> different;
    for (const std::vector<T> &list : lists)
      if (std::ranges::find(different, list[n]) == different.end())
        different.push_back(list[n]);
    return fmt::format("{}", fmt::join(different, " or "));
  }

  /// Describes size `n` by the arrays for which it is an extent or the leading dimension.
  std::string of_size(std::size_t n) const {
    if (plan_.sizes.empty())
      return fmt::format("in elements: {}", alternatives(contents_.values, n));
    const Var &size = plan_.sizes[n].size;
    auto is_it = [&](const Expr &e) { return e.as<Var>() && *e.as<Var>() == size; };
    std::vector<std::string> of, apart;
    for (const Buffer &buffer : plan_.params) {
      if (std::ranges::any_of(buffer->shape, is_it))
        of.push_back(buffer->name);
      if (buffer->strides && is_it((*buffer->strides)[buffer->shape.size() - 2]))
        apart.push_back(buffer->name);
    }
    if (!apart.empty())
      return fmt::format("elements between the starts of consecutive rows of {}", fmt::join(apart, " and of "));
    return of.empty() ? "a size, in elements"
                      : fmt::format("an extent of {}, in elements", fmt::join(of, " and of "));
  }

  std::vector<std::pair<std::string, std::string>> parameters() const {
    std::vector<std::pair<std::string, std::string>> list;
    for (std::size_t n = 0; n < plan_.params.size(); ++n)
      list.emplace_back(launcher_.pointers[n].name,
                        array_text(plan_.params[n], alternatives(contents_.shapes, n)) + "; in device memory");
    for (std::size_t n = 0; n < launcher_.sizes.size(); ++n)
      list.emplace_back(launcher_.sizes[n].name, of_size(n));
    for (const Parameter &scalar : launcher_.scalars)
      list.emplace_back(scalar.name, fmt::format("a {} by value", scalar.type));
    if (!plan_.workspaces.empty()) {
      list.emplace_back(launcher_.workspace.name,
                        std::string("device memory for intermediate results; ") +
                            (counters_text(plan_).empty() ? "its initial content does not matter"
                                                          : "zero before the first launch"));
      list.emplace_back(launcher_.workspace_bytes.name, "the size of the workspace, in bytes");
    }
    list.emplace_back("stream", "the stream of the kernels; 0 is the default stream");
    return list;
  }

  void launcher() {
    out_.doc("", contents_.effect);
    out_.doc("", "");
    for (const std::string &line : contents_.selection)
      out_.doc("  ", line);
    if (!contents_.selection.empty())
      out_.doc("", "");
    std::size_t width = 0;
    auto list = parameters();
    for (const auto &[name, what] : list)
      width = std::max(width, name.size());
    for (const auto &[name, what] : list)
      out_.doc(fmt::format("  {:<{}}  ", name, width), what);
    out_.doc("", "");
    if (std::string counters = counters_text(plan_); !counters.empty()) {
      out_.doc("", counters);
      out_.doc("", "");
    }
    for (const auto &[heading, required] : contents_.required) {
      out_.doc("", heading);
      for (const std::string &sentence : required)
        out_.doc("  - ", sentence);
      out_.doc("", "");
    }
    out_.doc(
        "",
        fmt::format(
            "Returns cudaErrorInvalidValue, and launches nothing, if a requirement is violated: {} "
            "returns the requirement.{} Any other error comes from the CUDA runtime.",
            requirement_name(plan_),
            contents_.empty_text.empty()
                ? ""
                : fmt::format(" If {}, nothing is launched, no array is accessed, and cudaSuccess is returned.",
                              contents_.empty_text)));
    declare("cudaError_t " + launcher_name(plan_), launcher_.parameters());
  }

  void requirement() {
    out_.doc("", fmt::format(
                     "Returns the first requirement of {} that these arguments violate, as a sentence without "
                     "a full stop, or null if there is none. The function needs no device and keeps no state: "
                     "any thread may call it at any time, and the string lives as long as the program.",
                     launcher_name(plan_)));
    declare(fmt::format("const char *{}", requirement_name(plan_)), declarations(launcher_.checked()));
  }

  void workspace_bytes() {
    out_.doc("", fmt::format("The minimum `{}` for {}.", launcher_.workspace_bytes.name,
                             contents_.of_workspace_bytes.empty() ? "a launch" : "a launch of these sizes"));
    auto parameters = declarations(contents_.of_workspace_bytes);
    if (parameters.empty())
      parameters.push_back("void");
    declare("size_t " + workspace_bytes_name(plan_), parameters);
  }

  void declare(const std::string &head, const std::vector<std::string> &parameters) {
    out_.call(head, parameters, ";");
    out_.blank();
  }

  const EmitInfo &info_;
  const kernel::Plan &plan_;
  Launcher launcher_;
  Contents contents_;
  TextWriter out_;
};

} // namespace

std::string emit_header(const EmitInfo &info, const kernel::Plan &plan) {
  return HeaderWriter(info, plan, contents_of(info, plan)).write();
}

std::string emit_header(const Dispatch &dispatch) {
  return HeaderWriter(dispatch.info(), dispatch.interface(), contents_of(dispatch)).write();
}

} // namespace nestsmith
