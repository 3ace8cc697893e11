/// The header of an emitted file.

#include "codegen/emit.h"
#include "codegen/launcher.h"
#include "codegen/names.h"
#include "codegen/requirements.h"
#include "codegen/text.h"
#include "dsl/ir/workload_info.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <set>

namespace nestsmith {

namespace {

class HeaderWriter {
public:
  HeaderWriter(const EmitInfo &info, const kernel::Plan &plan)
      : info_(info), plan_(plan), launcher_(info, plan), requirements_(requirements_of(launcher_)) {}

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

  /// Describes size `n` by the arrays for which it is an extent or the leading dimension.
  std::string of_size(std::size_t n) const {
    if (plan_.sizes.empty())
      return fmt::format("in elements: {}", launcher_.values[n]);
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
    if (!is_of_array(plan_.params, size))
      return "a size that no array has, chosen by the caller; parts of a loop that are longer than "
             "the loop cost time";
    return of.empty() ? "a size, in elements"
                      : fmt::format("an extent of {}, in elements", fmt::join(of, " and of "));
  }

  std::vector<std::pair<std::string, std::string>> parameters() const {
    std::vector<std::pair<std::string, std::string>> list;
    for (std::size_t n = 0; n < plan_.params.size(); ++n)
      list.emplace_back(launcher_.pointers[n].name,
                        array_text(plan_.params[n], shape_text(plan_.params[n])) + "; in device memory");
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
    const bool one = plan_.kernels.size() == 1;
    out_.doc("", fmt::format("Launches {} on `stream` and does not wait for {}.",
                             one ? "the kernel" : "the kernels, one after the other,", one ? "it" : "them"));
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
    out_.doc("", "Requires:");
    for (const Requirement &requirement : requirements_.all())
      out_.doc("  - ", requirement.sentence);
    out_.doc("", "");
    out_.doc(
        "",
        fmt::format(
            "Returns cudaErrorInvalidValue, and launches nothing, if a requirement is violated: {} "
            "returns the requirement.{} Any other error comes from the CUDA runtime.",
            requirement_name(plan_),
            requirements_.empty_text.empty()
                ? ""
                : fmt::format(" If {}, nothing is launched, no array is accessed, and cudaSuccess is returned.",
                              requirements_.empty_text)));
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
    auto parameters = declarations(launcher_.of_workspace_bytes());
    out_.doc("", fmt::format("The minimum `{}` for {}.", launcher_.workspace_bytes.name,
                             parameters.empty() ? "a launch" : "a launch of these sizes"));
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
  Requirements requirements_;
  TextWriter out_;
};

} // namespace

std::string emit_header(const EmitInfo &info, const kernel::Plan &plan) {
  return HeaderWriter(info, plan).write();
}

} // namespace nestsmith
