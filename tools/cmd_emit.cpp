#include "codegen/cuda.h"
#include "codegen/names.h"
#include "codegen/standalone.h"
#include "dsl/error.h"
#include "dsl/trace.h"
#include "dsl/workload_info.h"
#include "runtime/check/launch_sizes.h"
#include "schedules/workloads.h"
#include "tools/command.h"
#include "tools/highlight.h"
#include "tools/json.h"
#include "tools/machine.h"
#include "tools/output_file.h"
#include "tools/rung_choice.h"
#include "tools/text_diff.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>

namespace nestsmith::cli {

namespace {

/// The sizes of the kernel for all shapes, so that both launchers have the same interface; none if there is no
/// such kernel.
std::vector<NamedExtent> sizes_of(const Scheduled &scheduled, const Target &target) {
  Shape shape = scheduled.shape;
  shape.stated = Size{};
  Program source = scheduled.source();
  auto named = [&](const std::function<std::optional<Program>()> &symbolic) -> std::vector<NamedExtent> {
    try {
      std::optional<Program> program = symbolic();
      return program ? launch_sizes(source, *program, scheduled.shape) : std::vector<NamedExtent>();
    } catch (const std::exception &) { // it supports one shape only
      return {};
    }
  };
  auto known = named([&] { return find_workload(source.name, shape, scheduled.dtype); });
  return known.empty() ? named([&] { return scheduled.choice.build(shape, scheduled.dtype, target).source(); })
                       : known;
}

EmitInfo info_of(const Scheduled &scheduled, Arch arch) {
  EmitInfo info;
  std::string form =
      scheduled.variant ? fmt::format(" ({}: {})", scheduled.variant->name, scheduled.variant->why) : "";
  info.title = fmt::format("{}{}: {}", scheduled.choice.name, form, scheduled.choice.summary);
  info.target = to_string(arch);
  info.trace = split_lines(trace_to_cpp(scheduled.schedule));
  info.operations = operation_count(scheduled.source());
  if (!scheduled.shape.stated)
    info.sizes = sizes_of(scheduled, make_target(arch));
  return info;
}

/// "sm_90: 12 registers per thread, no spills, 8192 bytes of shared memory per block".
std::string resources_note(const cuda::Compiled &compiled) {
  std::int64_t spilled = compiled.spill_stores + compiled.spill_loads;
  std::string spills = spilled == 0 ? "no spills" : fmt::format("{} bytes of spills", spilled);
  return fmt::format("{}: {} registers per thread, {}, {} bytes of shared memory per block",
                     to_string(compiled.arch), compiled.registers, spills, compiled.shared_bytes);
}

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

/// The plan with the name from --name.
kernel::Plan named(kernel::Plan plan, const Arguments &arguments) {
  auto name = arguments.value("name");
  if (!name)
    return plan;
  if (std::string why = why_not_linked(*name); !why.empty())
    throw UserError(ExitCode::usage,
                    fmt::format("--name '{}' cannot be the name of a kernel: {}; give another", *name, why));
  auto refuse_same = [&](const std::string &what, const std::string &taken) {
    if (taken == *name)
      throw UserError(
          ExitCode::usage,
          fmt::format("--name '{}' is the name of {} of the computation; give another", *name, what));
  };
  for (const Buffer &array : plan.params)
    refuse_same("an array", array->name);
  for (const Var &scalar : plan.scalars)
    refuse_same("a scalar", scalar->name);
  for (const kernel::SizeParameter &size : plan.sizes)
    refuse_same("a size", size.size->name);
  return renamed(std::move(plan), *name);
}

std::string as_json(const Scheduled &scheduled, const kernel::Plan &plan, const EmitInfo &info,
                    const std::string &text, const Arguments &arguments) {
  return json_text([&](llvm::json::OStream &json) {
    json.object([&] {
      json.attribute("rung", scheduled.choice.name);
      json.attribute("shape", llvm::json::Array(scheduled.shape));
      json.attributeArray("kernels", [&] {
        for (const kernel::Kernel &kernel : plan.kernels)
          json.value(entry_name(kernel));
      });
      json.attribute("launcher", launcher_name(plan));
      json.attribute("requirement", requirement_name(plan));
      json.attributeArray("sizes", [&] {
        for (const NamedExtent &size : launcher_sizes(info, plan))
          json.value(size.name);
      });
      json.attribute("workspace_bytes", kernel::workspace_bytes(plan));
      json.attribute("arch", info.target);
      json.attribute("standalone", arguments.has("standalone"));
      if (auto header = arguments.value("header"))
        json.attribute("header", *header);
      if (auto path = arguments.value("output"))
        json.attribute("file", *path);
      else
        json.attribute("source", text);
    });
  });
}

ExitCode run(const Context &context) {
  const Arguments &arguments = context.arguments;
  std::string header = included_header(arguments);
  Arch arch = chosen_arch(context);
  Choice choice = given_rung(context);
  Scheduled scheduled = schedule_choice(context, choice, make_target(arch));
  kernel::Plan plan = named(scheduled.plan(), arguments);
  warn_if_unbound(scheduled, plan);
  EmitInfo info = info_of(scheduled, arch);
  info.header = header;
  std::string note;
  for (const cuda::Compiled &compiled : compile_if_possible(plan, arch, note))
    info.notes.push_back((plan.kernels.size() > 1 ? compiled.kernel_name + ", " : "") +
                         resources_note(compiled));
  std::string text =
      arguments.has("standalone") ? emit_standalone(info, plan, scheduled.source()) : emit(info, plan);

  auto path = arguments.value("output");
  if (path && !header.empty())
    write_files({{*arguments.value("header"), emit_header(info, plan)}, {*path, text}});
  else if (path)
    write_file(*path, text);
  if (context.json())
    out(as_json(scheduled, plan, info, text, arguments));
  else if (!path)
    out(highlight_cuda(text, context.style));
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
       {"standalone", "", "add a main that checks and times the kernel; compiles with nvcc alone"},
       shape_option(),
       symbolic_option("with this option, --shape only sets the shape that the main of --standalone checks"),
       multiple_of_option(),
       dtype_option(),
       set_option(),
       arch_option()},
      "examples:\n"
      "  nestsmith emit deep_dive/shared --shape 1000x777x333 -o shared.cu\n"
      "  nestsmith emit deep_dive/shared --symbolic --name product -o product.cu --header product.h\n"
      "  nestsmith emit ladder/tile1d --standalone -o tile1d.cu\n"
      "  nvcc -O3 -arch=native tile1d.cu && ./a.out\n"
      "docs/use_the_cu.md explains how to call the launcher.\n",
      run};
}

} // namespace nestsmith::cli
