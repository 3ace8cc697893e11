#include "codegen/choice_file.h"

#include "codegen/cuda.h"
#include "codegen/launcher.h"
#include "codegen/names.h"
#include "codegen/requirements.h"
#include "codegen/tensor_maps.h"
#include "codegen/text.h"
#include "dsl/expr/error.h"
#include "dsl/ir/workload_info.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>

namespace nestsmith {

namespace {

/// The plan without the sizes that the choice gives.
kernel::Plan without_chosen_sizes(kernel::Plan plan) {
  std::erase_if(plan.sizes,
                [&](const kernel::SizeParameter &size) { return !is_of_array(plan.params, size.size); });
  return plan;
}

/// The parameters that the launchers have in common.
std::string signature(const ChoicePlan &part) {
  kernel::Plan plan = without_chosen_sizes(part.plan);
  plan.workspaces.clear();
  return fmt::format("{}", fmt::join(Launcher(part.info, plan).parameters(), ", "));
}

class ChoiceWriter {
public:
  explicit ChoiceWriter(const ChoiceFile &file)
      : file_(file), plan_(interface(file)), launcher_(file.info, plan_), choice_(choice_name(file)) {}

  std::string write() {
    for (const ChoicePlan &part : file_.plans)
      out_.verbatim(emit_header_comment(part.info, part.plan) + "\n" +
                    cuda_definitions(part.plan, part.info.source_lines) + "\n");
    out_.verbatim("#ifndef __CUDACC_RTC__\n\n");
    out_.verbatim(fmt::format("namespace {}_choice {{\n\n{}\n{}\n}} // namespace {}_choice\n\n", plan_.name,
                              file_.formula, file_.data, plan_.name));
    choice();
    if (!plan_.workspaces.empty())
      workspace_bytes();
    out_.verbatim(overlap_function);
    out_.verbatim(launcher_functions(plan_));
    for (const ChoicePlan &part : file_.plans)
      out_.verbatim(emit_launcher(part.info, part.plan) + "\n");
    requirement();
    launcher();
    out_.verbatim("#endif // __CUDACC_RTC__\n");
    return out_.take();
  }

private:
  /// The conditions under which each plan does not serve: those that some other plan does not have. What
  /// concerns the workspace is no property of the arguments that choose.
  std::vector<std::vector<std::string>> own_conditions() const {
    std::vector<std::vector<std::string>> all;
    std::map<std::string, std::size_t> count;
    for (const ChoicePlan &part : file_.plans) {
      Launcher launcher(part.info, part.plan);
      all.emplace_back();
      for (const Requirement &requirement : requirements_of(launcher).all())
        if (requirement.broken.find(launcher.workspace.name) == std::string::npos &&
            !is_of_chosen_size(part, launcher, requirement.broken))
          if (std::ranges::find(all.back(), requirement.broken) == all.back().end()) {
            all.back().push_back(requirement.broken);
            ++count[requirement.broken];
          }
    }
    for (std::vector<std::string> &conditions : all)
      std::erase_if(conditions,
                    [&](const std::string &condition) { return count[condition] == file_.plans.size(); });
    for (std::size_t n = 0; n < file_.plans.size(); ++n) // last: the sizes are in their ranges
      if (const kernel::Plan &plan = file_.plans[n].plan; !plan.workspaces.empty()) {
        const Launcher launcher(file_.plans[n].info, plan);
        if (plan.has_counters())
          all[n].push_back(fmt::format("{} < {}", file_.counter_bytes, launcher.spell(plan.counter_bytes())));
        if (file_.plans[n].depth == 0) // otherwise the choice limits the number of parts
          all[n].push_back(fmt::format("{} < {}", file_.most_workspace, launcher.spell(plan.workspace_bytes)));
      }
    return all;
  }

  /// The choice takes values for which such conditions do not hold.
  static bool is_of_chosen_size(const ChoicePlan &part, const Launcher &launcher,
                                const std::string &condition) {
    auto is_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
    return std::ranges::any_of(chosen_sizes(part.plan), [&](const Var &size) {
      const std::string &name = launcher.names.at(size);
      for (std::size_t at = condition.find(name); at != std::string::npos; at = condition.find(name, at + 1))
        if ((at == 0 || !is_word(condition[at - 1])) &&
            (at + name.size() == condition.size() || !is_word(condition[at + name.size()])))
          return true;
      return false;
    });
  }

  /// The value of the size that the choice gives; empty if the plan has none.
  std::string chosen_size(const ChoicePlan &part) const {
    return part.depth == 0 ? ""
                           : fmt::format("{}_choice::terms_of_part({}, {}, chosen.parts)", plan_.name,
                                         launcher_.sizes[2].name, part.depth);
  }
  std::string candidate() const { return plan_.name + "_choice::Candidate"; }

  std::vector<Parameter> choosing() const {
    std::vector<Parameter> list = launcher_.pointers;
    list.insert(list.end(), launcher_.sizes.begin(), launcher_.sizes.end());
    return list;
  }

  /// The length of the rows of an array, or a leading dimension. Those are the sizes after M, N and K.
  bool is_of_rows(std::size_t size) const {
    return size >= 3 || std::ranges::any_of(plan_.params, [&](const Buffer &param) {
             const Var *row = param->shape.back().as<Var>();
             return row && *row == plan_.sizes[size].size;
           });
  }

  /// NAME_kernel.
  void choice() {
    out_.verbatim("/// The kernels with the least predicted time for these arguments, and the number of parts "
                  "of a tile.\n");
    out_.call("static " + candidate() + " " + choice_, declarations(choosing()), " {");
    out_.indent();
    out_.line(fmt::format("using namespace {}_choice;", plan_.name));
    out_.line(fmt::format("int serves[{}], widest = 1, best = 0;", file_.plans.size()));
    std::vector<std::vector<std::string>> conditions = own_conditions();
    for (std::size_t n = 0; n < file_.plans.size(); ++n) {
      std::string broken;
      for (const std::string &condition : conditions[n])
        broken += fmt::format("{}({})", broken.empty() ? "" : " || ", condition);
      out_.line(fmt::format("serves[{}] = {};", n, broken.empty() ? "1" : "!(" + broken + ")"));
    }
    out_.line(fmt::format("Candidate list[{} * most_candidates_of_kernel];", file_.plans.size()));
    out_.line(fmt::format("for (int n = 0; n < {}; ++n)", file_.plans.size()));
    out_.line("  widest = serves[n] && kernels[n].width > widest ? kernels[n].width : widest;");
    // All rows begin at multiples of this number of elements: their lengths and leading dimensions are ones.
    out_.line("int along = 8 * machine.elements;", "a line");
    for (std::size_t n = 0; n < launcher_.sizes.size(); ++n)
      if (is_of_rows(n))
        out_.line(fmt::format("along = multiple_of_row({}, along);", launcher_.sizes[n].name));
    out_.line("if (along < widest || widest < machine.elements)");
    out_.line("  along = widest;", "what is read is aligned so");
    out_.line(fmt::format("const Size size = {{{{{}, {}, {}}}, along, along}};", launcher_.sizes[0].name,
                          launcher_.sizes[1].name, launcher_.sizes[2].name));
    out_.line(fmt::format("const int found = candidates(kernels, {}, serves, &size, &machine, list);",
                          file_.plans.size()));
    out_.line("if (found == 0)");
    out_.line(fmt::format("  return {{{}, 0, 1, 0}};", file_.plans.size() - 1),
              "it says which requirement is not met");
    out_.line("for (int n = 1; n < found; ++n)");
    out_.line("  if (list[n].ms < list[best].ms)");
    out_.line("    best = n;");
    out_.line("return list[best];");
    out_.close();
    out_.blank();
  }

  void workspace_bytes() {
    out_.verbatim(
        "/// The bytes of workspace for a launch of these sizes, for every alignment of the arrays.\n");
    out_.call("extern \"C\" size_t " + launcher_.workspace_function, declarations(launcher_.sizes), " {");
    out_.indent();
    // Also for sizes without parts, so that the caller always finds the counters to set to zero.
    out_.line(fmt::format("size_t most = {};", plan_.has_counters() ? file_.counter_bytes : 0));
    // Of each array: at 16 bytes, at those of an element and, if a plan takes them, at 8 bytes.
    const bool half = std::ranges::any_of(file_.plans, &ChoicePlan::half);
    const int alignments = half ? 3 : 2;
    std::vector<std::string> arguments;
    int all = 1;
    for (std::size_t n = 0; n < launcher_.pointers.size(); ++n) {
      const std::string number = fmt::format("aligned / {} % {}", all, alignments);
      const std::int64_t odd = 256 + byte_size(plan_.params[n]->dtype);
      arguments.push_back(
          half ? fmt::format("({})(size_t)({} == 0 ? 256 : {} == 1 ? 264 : {})", launcher_.pointers[n].type,
                             number, number, odd)
               : fmt::format("({})(size_t)({} == 0 ? 256 : {})", launcher_.pointers[n].type, number, odd));
      all *= alignments;
    }
    out_.open(fmt::format("for (int aligned = 0; aligned < {}; ++aligned)", all));
    out_.line("size_t bytes = 0;");
    arguments.push_back(joined_names(launcher_.sizes));
    out_.call(fmt::format("const {} chosen = {}", candidate(), choice_), arguments, ";");
    out_.open("switch (chosen.kernel)");
    for (std::size_t n = 0; n < file_.plans.size(); ++n)
      if (!file_.plans[n].plan.workspaces.empty()) {
        const Launcher launcher(file_.plans[n].info, file_.plans[n].plan);
        const std::string bytes = launcher.spell(file_.plans[n].plan.workspace_bytes);
        out_.line(fmt::format("case {}:", n));
        if (const std::string size = chosen_size(file_.plans[n]); !size.empty()) {
          for (const Var &chosen : chosen_sizes(file_.plans[n].plan))
            out_.line(fmt::format("  {{ const long long {} = {};", launcher.names.at(chosen), size));
          out_.line(fmt::format("  bytes = {}; }}", bytes));
        } else {
          out_.line(fmt::format("  bytes = {};", bytes));
        }
        out_.line("  break;");
      }
    out_.line("default:");
    out_.line("  break;");
    out_.close();
    out_.line("most = bytes > most ? bytes : most;");
    out_.close();
    out_.line("return most;");
    out_.close();
    out_.blank();
  }

  /// `switch` over the plans.
  template <class F> void select(const F &result) {
    out_.indent();
    out_.line(fmt::format("const {} chosen = {}({});", candidate(), choice_, joined_names(choosing())));
    out_.open("switch (chosen.kernel)");
    for (std::size_t n = 0; n + 1 < file_.plans.size(); ++n) {
      out_.line(fmt::format("case {}:", n), file_.plans[n].label);
      out_.line(fmt::format("  return {};", result(file_.plans[n])));
    }
    out_.line("default:", file_.plans.back().label);
    out_.line("  return " + result(file_.plans.back()) + ";");
    out_.close();
    out_.close();
    out_.blank();
  }

  void requirement() {
    out_.verbatim("/// Returns the first requirement that these arguments violate, as a sentence, or null if "
                  "none.\n");
    out_.call(fmt::format("extern \"C\" const char *{}", requirement_name(plan_)),
              declarations(launcher_.checked()), " {");
    select([&](const ChoicePlan &part) {
      return fmt::format("{}({})", requirement_name(part.plan),
                         arguments_for(launcher_, part.plan, chosen_size(part), false));
    });
  }

  void launcher() {
    out_.doc("",
             fmt::format("Launches the kernels with the least predicted time on `stream` and does not wait for "
                         "them. If a requirement is violated (see {}), it launches nothing and returns "
                         "cudaErrorInvalidValue.",
                         requirement_name(plan_)));
    if (!plan_.workspaces.empty())
      out_.doc("", fmt::format("`{}` holds intermediate results: at least {} bytes, aligned to {}. {}",
                               launcher_.workspace.name, launcher_.workspace_call(),
                               kernel::workspace_alignment, counters_text(plan_)));
    out_.call(fmt::format("extern \"C\" cudaError_t {}", launcher_name(plan_)), launcher_.parameters(), " {");
    select([&](const ChoicePlan &part) {
      return fmt::format("{}({})", launcher_name(part.plan),
                         arguments_for(launcher_, part.plan, chosen_size(part), true));
    });
  }

  const ChoiceFile &file_;
  kernel::Plan plan_;
  Launcher launcher_;
  std::string choice_;
  TextWriter out_;
};

} // namespace

ChoiceFile named(ChoiceFile file) {
  internal_check(!file.plans.empty(), "a file of a choice has a plan");
  for (ChoicePlan &part : file.plans) {
    internal_check(part.plan.sizes.size() >= 3, "a plan of a choice has the sizes M, N and K");
    if (std::string own = signature(part), expected = signature(file.plans.front()); own != expected)
      throw UserError(ExitCode::usage,
                      fmt::format("the launcher of {} takes ({}), and that of {} takes ({}), so "
                                  "they cannot be one launcher",
                                  file.plans.front().label, expected, part.label, own));
    part.plan = renamed(std::move(part.plan), file.name + "_" + part.label);
    part.info.target.clear(); // the comment of the file names it
    part.info.title = part.label + (part.note.empty() ? "" : ": " + part.note);
  }
  const std::string workspace_function = workspace_bytes_name(interface(file));
  for (ChoicePlan &part : file.plans) {
    part.info.workspace_function = workspace_function;
    if (!part.plan.workspaces.empty())
      part.plan.reserve_counters(file.counter_bytes);
  }
  return file;
}

kernel::Plan interface(const ChoiceFile &file) {
  kernel::Plan plan = without_chosen_sizes(file.plans.back().plan);
  plan.name = file.name;
  plan.kernels.clear();
  for (const ChoicePlan &part : file.plans) {
    plan.kernels.insert(plan.kernels.end(), part.plan.kernels.begin(), part.plan.kernels.end());
    if (plan.workspaces.empty() || (!plan.has_counters() && part.plan.has_counters())) {
      plan.workspaces = part.plan.workspaces;
      plan.reserved_counter_bytes = part.plan.reserved_counter_bytes;
    }
  }
  return plan;
}

std::string choice_name(const ChoiceFile &file) { return function_name(interface(file), "_kernel"); }

std::string emit(const ChoiceFile &file) {
  const kernel::Plan plan = interface(file);
  TextWriter out;
  out.comment(file.info.title.empty() ? linked_identifier(plan.name) : file.info.title);
  out.comment("");
  for (const std::string &note : file.notes)
    out.comment(note);
  if (!file.info.target.empty())
    out.comment("Target: " + file.info.target);
  out.blank();
  out.verbatim(fmt::format("#ifndef __CUDACC_RTC__\n{}{}#include <math.h>\n#endif\n\n",
                           file.info.header.empty() ? "" : fmt::format("#include \"{}\"\n", file.info.header),
                           runtime_includes(plan)));
  return out.take() + cuda_helpers(plan) + ChoiceWriter(file).write();
}

std::string emit_header(const ChoiceFile &file) {
  kernel::Plan plan =
      without_chosen_sizes(file.plans.back().plan); // its requirements are those of every launch
  plan.name = file.name;
  const kernel::Plan all = interface(file);
  plan.workspaces = all.workspaces;
  plan.reserved_counter_bytes = all.reserved_counter_bytes;
  return emit_header(file.info, plan);
}

} // namespace nestsmith
