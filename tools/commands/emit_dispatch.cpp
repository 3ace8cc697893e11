#include "tools/commands/emit_dispatch.h"

#include "dsl/expr/error.h"
#include "dsl/hardware/gpus.h"
#include "schedules/library/tile_knobs.h"
#include "tools/commands/emit_info.h"
#include "tools/options/any_size.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <optional>
#include <tuple>

namespace nestsmith::cli {

namespace {

[[noreturn]] void refuse_dispatch(const std::string &message) { throw UserError(ExitCode::usage, message); }

void check_options(const Context &context, const ChosenRung &choice) {
  for (const auto &[option, why] :
       std::map<std::string, std::string>{{"shape", "the file has kernels for every shape"},
                                          {"symbolic", "all of its kernels are symbolic"},
                                          {"multiple-of", "it has kernels for rows of every alignment"},
                                          {"rows-multiple-of", "it has kernels for rows of every alignment"},
                                          {"set", "the kernel table has the knobs of its kernels"},
                                          {"standalone", "its launcher is called by a program of yours"}})
    if (context.arguments.has(option))
      refuse_dispatch(
          fmt::format("--dispatch emits one file for every shape, and --{} contradicts it: {}; leave --{} out",
                      option, why, option));
  if (choice.fixed_shape)
    refuse_dispatch(
        fmt::format("'{}' is a trace file, which contains the schedule for one shape; --dispatch needs a rung "
                    "with a kernel table",
                    choice.name));
}

Transposed chosen_storage(const Context &context) {
  const std::string operands = context.arguments.value("transposed").value_or("");
  return {.a = operands.starts_with('a'), .b = operands.ends_with('b')};
}

/// Whether the program has the operands A and B, with the sizes M, N and K, stored so.
bool stores(const Program &program, const Transposed &transposed) {
  auto has_rows_of = [&](std::size_t operand, std::size_t size) {
    const Var *row =
        operand < program.params.size() ? program.params[operand]->shape.back().as<Var>() : nullptr;
    return row && *row == program.sizes[size];
  };
  return has_rows_of(0, transposed.a ? 0 : 2) && has_rows_of(1, transposed.b ? 2 : 1);
}

std::string storage_text(const Transposed &transposed) {
  return fmt::format("A as {} and B as {}", transposed.a ? "K x M" : "M x K", transposed.b ? "N x K" : "K x N");
}

std::string label_of(const records::KernelTable &table, const records::AnySizeKernel &kernel,
                     std::size_t number) {
  const records::Extents &tile = table.points[kernel.point].tile;
  return fmt::format("{}_{}x{}x{}{}{}{}", number, tile[0], tile[1], tile[2], kernel.in_parts ? "_in_parts" : "",
                     kernel.width == 1               ? "_scalars"
                     : kernel.width < table.elements ? "_half"
                                                     : "",
                     kernel.wide ? "_wide" : "");
}

} // namespace

Option transposed_option() {
  return {"transposed",
          "WHICH",
          "with --dispatch: the operands that are stored transposed, A as K x M for 'a' and B as N x K for 'b'",
          0,
          {"a", "b", "ab"}};
}

EmittedDispatch emitted_dispatch(const Context &context, const ChosenRung &choice, const Target &target,
                                 const std::string &header) {
  check_options(context, choice);
  const DType dtype = chosen_dtype(context, choice);
  const records::KernelModel *model = serving_model(choice, dtype, target);
  if (!model)
    refuse_dispatch(fmt::format(
        "'{}' has no kernel table for {}, by which the file chooses its kernels; take a rung and a "
        "type with one, such as fast/best in f32, or give one by --table FILE, as `nestsmith tune RUNG "
        "--table -o FILE` makes it",
        choice.name, name(dtype)));
  const records::KernelTable &table = model->table();
  const Transposed transposed = chosen_storage(context);
  const Gpu *gpu = known_gpu(target.gpu);
  const std::int64_t sms = gpu ? gpu->sms : table.sms;
  auto key = [](const records::AnySizeKernel &kernel) {
    return std::tuple(kernel.point, kernel.width, kernel.in_parts, kernel.wide);
  };
  std::map<decltype(key({})), std::optional<ChosenKnobs>> schedules;
  auto schedule = [&](const records::AnySizeKernel &kernel) -> std::optional<ChosenKnobs> & {
    auto [at, added] = schedules.try_emplace(key(kernel));
    if (added)
      at->second = any_size_schedule(choice, table, kernel, dtype, target, transposed);
    if (at->second && context.arguments.has("transposed") && !stores(at->second->schedule.source(), transposed))
      refuse_dispatch(fmt::format(
          "'{}' does not store {}, as --transposed {} says; take a rung whose schedule takes operands in any "
          "order, such as fast/best, or leave --transposed out",
          choice.name, storage_text(transposed), *context.arguments.value("transposed")));
    return at->second;
  };
  EmittedDispatch result;
  result.gpu = table.gpu;
  result.transposed = transposed;
  result.selection = records::select_kernels(*model, sms, most_kernels_of_file,
                                             [&](const auto &kernel) { return schedule(kernel).has_value(); });
  if (result.selection.kernels.empty())
    refuse_dispatch(fmt::format(
        "'{}' has no symbolic kernel for {} at the points of its kernel table of {}, so no file serves every "
        "shape; emit kernels for one shape each, or choose an architecture that has what the points need, such "
        "as sm_80 for asynchronous copies",
        choice.name, to_string(target.arch), table.gpu));
  // The last plan serves all sizes: the selection begins with the wide kernels.
  std::ranges::reverse(result.selection.kernels);
  ChoiceFile &file = result.file;
  std::vector<records::choice::Kernel> kernels;
  for (const records::AnySizeKernel &kernel : result.selection.kernels) {
    ChosenKnobs &chosen = *schedule(kernel);
    Scheduled scheduled = schedule_at(choice, any_size_shape(kernel, transposed), dtype, chosen);
    ChoicePlan part{label_of(table, kernel, file.plans.size()), to_string(chosen.values),
                    info_of(scheduled, target.arch), lower(scheduled.schedule)};
    part.depth = kernel.in_parts ? table.points[kernel.point].tile[2] : 0;
    part.half = kernel.width > 1 && kernel.width < table.elements;
    part.info.trace.clear(); // the file has many schedules
    if (context.arguments.has("line-info"))
      part.info.source_lines = source_lines(scheduled.schedule);
    kernels.push_back(records::kernel_for_choice(*model, kernel));
    result.knobs.push_back(chosen.values);
    file.plans.push_back(std::move(part));
  }
  file.name = context.arguments.value("name").value_or(file.plans.back().plan.name);
  if (context.arguments.has("name"))
    check_name(file.name, file.plans.back().plan);
  file.info.title = fmt::format("{}: {}", choice.name, choice.summary);
  file.info.target = to_string(target.arch);
  file.info.header = header;
  file.notes = {
      fmt::format("{} kernels for every shape. The launcher takes those with the least time, as the kernel "
                  "table of {} predicts it for {} multiprocessors.",
                  file.plans.size(), table.gpu, sms),
      fmt::format("Predicted over a sample of shapes, they take {:.3f} of the time of the best points of "
                  "the table in the geometric mean, and {:.3f} at worst.",
                  result.selection.mean, result.selection.worst)};
  if (transposed != Transposed{})
    file.notes.insert(
        file.notes.begin(),
        fmt::format("The operands are stored row-major, {}. The kernel table has times of products "
                    "with A as M x K and B as K x N, and they are taken as they are.",
                    storage_text(transposed)));
  file.most_workspace = records::choice::most_bytes_of_parts;
  file.formula = records::kernel_choice_text;
  file.data = records::kernel_choice_data(kernels, model->machine(sms));
  file = named(std::move(file));
  return result;
}

} // namespace nestsmith::cli
