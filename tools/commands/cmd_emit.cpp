#include "codegen/cuda.h"
#include "codegen/standalone.h"
#include "dsl/expr/error.h"
#include "dsl/expr/math.h"
#include "tools/commands/emit_dispatch.h"
#include "tools/commands/emit_info.h"
#include "tools/options/command.h"
#include "tools/options/machine.h"
#include "tools/options/scheduled.h"
#include "tools/output/highlight.h"
#include "tools/output/json.h"
#include "tools/output/output_file.h"
#include "tools/output/terminal.h"
#include "tools/results/analysed.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <functional>

namespace nestsmith::cli {

namespace {

/// The header's path relative to the folder of the .cu, for its #include. Throws UserError (usage) if the
/// options contradict each other.
std::string included_header(const Arguments &arguments) {
  auto header = arguments.value("header"), output = arguments.value("output");
  if (!header)
    return "";
  auto refuse = [](const std::string &message) { throw UserError(ExitCode::usage, message); };
  if (!output)
    refuse("--header needs a .cu file to declare, but the .cu goes to stdout; give -o FILE too");
  if (arguments.has("standalone"))
    refuse(
        "--standalone has its own main, so its launcher needs no header; leave out --header or --standalone");
  if (is_same_file(*header, *output))
    refuse(fmt::format("-o '{}' and --header '{}' are one file; give two", *output, *header));
  namespace fs = std::filesystem;
  auto folder = [](const std::string &path) { return fs::weakly_canonical(fs::absolute(path).parent_path()); };
  std::string path =
      (folder(*header) / fs::path(*header).filename()).lexically_relative(folder(*output)).generic_string();
  if (path.find_first_of("\"\\\n") != std::string::npos)
    refuse(fmt::format("--header '{}' cannot stand in an #include: its path has a quote, a backslash or a line "
                       "break; give another",
                       path));
  return path;
}

/// The files of the command, for one plan or for several.
struct Emitted {
  std::string text, header;
  kernel::Plan interface; ///< has the names and parameters of the functions, and all kernels
  EmitInfo info;
  std::function<void(llvm::json::OStream &)>
      describe; ///< writes the attributes of the shape, or of the choices
};

llvm::json::Array kernel_names(const kernel::Plan &plan) {
  llvm::json::Array names;
  for (const kernel::Kernel &kernel : plan.kernels)
    names.push_back(entry_name(kernel));
  return names;
}

std::string as_json(const std::string &rung, const Emitted &emitted, const Arguments &arguments) {
  return json_text([&](llvm::json::OStream &json) {
    json.object([&] {
      json.attribute("rung", rung);
      emitted.describe(json);
      json.attribute("kernels", kernel_names(emitted.interface));
      json.attribute("launcher", launcher_name(emitted.interface));
      json.attribute("requirement", requirement_name(emitted.interface));
      json.attributeArray("sizes", [&] {
        for (const NamedExtent &size : launcher_sizes(emitted.info, emitted.interface))
          json.value(size.name);
      });
      json.attribute("arch", emitted.info.target);
      json.attribute("standalone", arguments.has("standalone"));
      if (auto header = arguments.value("header"))
        json.attribute("header", *header);
      if (auto path = arguments.value("output"))
        json.attribute("file", *path);
      else
        json.attribute("source", emitted.text);
    });
  });
}

/// The file of --dispatch.
Emitted every_shape(const Context &context, const ChosenRung &choice, const Target &target,
                    const std::string &header) {
  EmittedDispatch dispatch = emitted_dispatch(context, choice, target, header);
  Emitted emitted{emit(dispatch.file), emit_header(dispatch.file), interface(dispatch.file), dispatch.file.info,
                  nullptr};
  to_stderr(
      fmt::format("nestsmith: {} kernels of the kernel table of {} serve every shape. Predicted over a sample "
                  "of shapes, they take {:.3f} of the time of the best points in the geometric mean, and "
                  "{:.3f} at worst",
                  dispatch.file.plans.size(), dispatch.gpu, dispatch.selection.mean, dispatch.selection.worst));
  emitted.describe = [dispatch](llvm::json::OStream &json) {
    json.attribute("gpu", dispatch.gpu);
    json.attribute("a_transposed", dispatch.transposed.a);
    json.attribute("b_transposed", dispatch.transposed.b);
    json.attribute("predicted_loss_mean", dispatch.selection.mean);
    json.attribute("predicted_loss_worst", dispatch.selection.worst);
    json.attributeArray("choices", [&] {
      for (std::size_t n = 0; n < dispatch.knobs.size(); ++n)
        json.object([&] {
          json.attribute("name", dispatch.file.plans[n].plan.name);
          json.attribute("kernels", kernel_names(dispatch.file.plans[n].plan));
          json.attributeBegin("knobs");
          write_knobs(json, dispatch.knobs[n]);
          json.attributeEnd();
        });
    });
  };
  return emitted;
}

Emitted one_shape(const Context &context, const ChosenRung &choice, const Target &target,
                  const std::string &header) {
  Scheduled scheduled = schedule_choice(context, choice, target);
  kernel::Plan plan = scheduled.plan();
  if (auto name = context.arguments.value("name")) {
    check_name(*name, plan);
    plan = renamed(std::move(plan), *name);
  }
  warn_if_unbound(scheduled, plan);
  EmitInfo info = info_of(scheduled, target.arch);
  if (!scheduled.shape.stated)
    info.sizes = sizes_of(scheduled, target);
  info.header = header;
  info.notes = resource_notes(plan, target.arch);
  if (std::ranges::any_of(blocks_of(scheduled.source().body),
                          [](const Block *block) { return has_ring_hash(block->body.value); }))
    info.notes.insert(info.notes.begin(),
                      fmt::format("For tests only: on {}, a hash stands in for functions such as exp and relu "
                                  "(ring mode)",
                                  name(scheduled.dtype)));
  if (context.arguments.has("line-info"))
    info.source_lines = source_lines(scheduled.schedule);
  bool standalone = context.arguments.has("standalone");
  Emitted emitted{standalone ? emit_standalone(info, plan, scheduled.source()) : emit(info, plan),
                  emit_header(info, plan), plan, info, nullptr};
  emitted.describe = [shape = scheduled.shape, use = scheduled.use,
                      bytes = kernel::workspace_bytes(plan)](llvm::json::OStream &json) {
    json.attribute("shape", llvm::json::Array(shape));
    if (use)
      write_use(json, *use);
    json.attribute("workspace_bytes", bytes);
  };
  return emitted;
}

ExitCode run_emit(const Context &context) {
  const Arguments &arguments = context.arguments;
  std::string header = included_header(arguments);
  Target target = chosen_target(context);
  ChosenRung choice = given_rung(context);
  if (arguments.has("transposed") && !arguments.has("dispatch"))
    throw UserError(ExitCode::usage,
                    "--transposed says how the operands of --dispatch are stored; give --dispatch too");
  Emitted emitted = arguments.has("dispatch") ? every_shape(context, choice, target, header)
                                              : one_shape(context, choice, target, header);

  auto path = arguments.value("output");
  if (arguments.has("line-info")) {
    if (emitted.text.find("\n#line ") == std::string::npos)
      to_stderr(fmt::format(
          "nestsmith: --line-info adds nothing to {}: a schedule from a trace file has no lines of source",
          choice.name));
    std::string file = path.value_or(emitted.interface.name + ".cu");
    emitted.text = with_own_lines(emitted.text, std::filesystem::path(file).filename().string());
  }
  if (path && !header.empty())
    write_files({{*arguments.value("header"), emitted.header}, {*path, emitted.text}});
  else if (path)
    write_file(*path, emitted.text);
  if (context.json())
    out(as_json(choice.name, emitted, arguments));
  else if (!path)
    out(highlight_cuda(emitted.text, context.style));
  return ExitCode::good;
}

} // namespace

Command emit_command() {
  return {
      "emit",
      "emit CUDA C: the kernels and their launcher",
      "RUNG",
      1,
      1,
      {{"output", "FILE", "write to FILE instead of stdout; an error leaves no partial file", 'o'},
       {"header", "FILE",
        "with -o, write a header with the declarations of the launcher functions to FILE, for C and C++"},
       {"name", "NAME",
        "name of the kernel; the launcher is NAME_launch; default: the name of the computation"},
       {"line-info", "",
        "add #line directives that name the lines of the schedule's source, for profilers and debuggers"},
       {"standalone", "", "add a main that checks and times the kernel; compiles with nvcc alone"},
       shape_option(),
       {"dispatch", "",
        "emit at most 12 symbolic kernels and a launcher that chooses one of them for every shape, by the "
        "kernel "
        "table of the rung"},
       transposed_option(),
       symbolic_option("with this option, --shape only sets the shape that the main of --standalone checks"),
       multiple_of_option(),
       rows_multiple_of_option(),
       dtype_option(),
       set_option(),
       table_option(),
       gpu_option("the GPU of this machine"),
       arch_option()},
      "examples:\n"
      "  nestsmith emit deep_dive/shared --shape 1000x777x333 -o shared.cu\n"
      "  nestsmith emit deep_dive/shared --symbolic --name product -o product.cu --header product.h\n"
      "  nestsmith emit fast/best --dispatch --gpu H100 --name product -o product.cu --header product.h\n"
      "  nestsmith emit fast/best --dispatch --transposed b --dtype bf16 --gpu H100 -o gemm_nt.cu\n"
      "  nestsmith emit ladder/tile1d --standalone -o tile1d.cu\n"
      "  nvcc -O3 -arch=native tile1d.cu && ./a.out\n"
      "  ./my_kernels emit row --line-info --standalone -o row.cu && nvcc -lineinfo -O3 row.cu\n"
      "docs/use_the_cu.md explains how to call the launcher.\n",
      run_emit};
}

} // namespace nestsmith::cli
