#include "dsl/expr/error.h"
#include "tools/bench/bench.h"
#include "tools/bench/bench_chart.h"
#include "tools/bench/bench_json.h"
#include "tools/bench/bench_table.h"
#include "tools/command.h"
#include "tools/output_file.h"

#include <algorithm>
#include <fmt/format.h>

namespace nestsmith::cli {

namespace {

Option list_option(const std::string &name, const std::string &help, std::vector<std::string> choices = {}) {
  Option option{name, "LIST", help};
  option.choices = std::move(choices);
  option.list = true;
  return option;
}

std::vector<BenchSetting> chosen_settings(const Context &context) {
  std::vector<BenchSetting> settings;
  for (const std::string &launch : context.arguments.list("launch", "back-to-back"))
    for (const std::string &l2 : context.arguments.list("l2", "warm"))
      settings.push_back({launch_mode(launch), l2 == "cold"});
  return settings;
}

std::vector<Shape> chosen_shapes(const Context &context, const std::vector<ChosenRung> &choices) {
  const ChosenRung &first = choices.front();
  for (const ChosenRung &choice : choices)
    if (choice.gpu_shape.size() != first.gpu_shape.size())
      throw UserError(
          ExitCode::usage,
          fmt::format("the shape of '{}' has {} extents and that of '{}' {}, so they have no common shape; "
                      "measure them with two commands",
                      first.name, first.gpu_shape.size(), choice.name, choice.gpu_shape.size()));
  std::vector<Shape> shapes;
  if (context.arguments.has("shapes")) {
    for (const std::string &text : context.arguments.list("shapes", ""))
      if (Shape shape = parse_listed_shape(text, first.gpu_shape.size());
          std::ranges::find(shapes, shape) == shapes.end())
        shapes.push_back(shape);
    return shapes;
  }
  for (const ChosenRung &choice : choices)
    if (to_text(choice.gpu_shape) != to_text(first.gpu_shape))
      throw UserError(ExitCode::usage,
                      fmt::format("the shape of '{}' is {} and that of '{}' is {}; give --shapes", first.name,
                                  to_text(first.gpu_shape), choice.name, to_text(choice.gpu_shape)));
  return {first.gpu_shape};
}

int chosen_rounds(const Context &context) {
  std::int64_t rounds = context.arguments.number("rounds").value_or(BenchOptions{}.rounds);
  if (rounds < 1 || rounds > 10000)
    throw UserError(ExitCode::usage,
                    fmt::format("option '--rounds' must be a number from 1 to 10000, got '{}'", rounds));
  return static_cast<int>(rounds);
}

std::unique_ptr<cuda::Device> open_gpu() {
  std::unique_ptr<cuda::Device> device;
  try {
    device = cuda::Device::open();
  } catch (const UserError &error) {
    if (error.code() != ExitCode::no_device)
      throw;
    throw UserError(ExitCode::no_device,
                    "bench measures on a GPU, and there is none that can be used; `nestsmith doctor` says what "
                    "was found, and `nestsmith explain RUNG` predicts the time without a GPU");
  }
  cuda::Nvrtc::get();
  return device;
}

/// A library that is not found is an error if --against names it, otherwise a note.
BenchLibraries open_libraries(const Context &context, const cuda::Device &device,
                              const std::vector<std::string> &peers, std::vector<std::string> &notes) {
  BenchLibraries libraries;
  auto open = [&](const char *name, auto &library, const auto &opener) {
    if (std::ranges::find(peers, name) == peers.end())
      return;
    try {
      library = opener();
    } catch (const UserError &error) {
      if (context.arguments.has("against"))
        throw;
      notes.push_back(fmt::format("no comparison: {}", error.what()));
    }
  };
  open("cublas", libraries.cublas, [&] { return cuda::Cublas::open(device); });
  open("cublaslt", libraries.cublaslt, [&] { return cuda::CublasLt::open(device); });
  std::string note;
  libraries.nvml = cuda::Nvml::open(device, note);
  if (!note.empty())
    notes.push_back(note);
  return libraries;
}

std::vector<Planned> plan_all(const Context &context, const std::vector<ChosenRung> &choices,
                              const Shape &shape, const Target &target) {
  std::vector<Planned> planned;
  for (ChosenRung choice : choices) {
    Shape asked = shape;
    asked.stated = choice.default_shape.stated; // a trace file's
    choice.default_shape = asked;
    Planned rung{choice, shape, chosen_dtype(context, choice), std::nullopt, {}};
    rung.failure = failure_of([&] {
      Scheduled scheduled = schedule_choice(context, choice, target);
      check_memory(scheduled.source(), scheduled.shape);
      rung.scheduled = std::move(scheduled);
    });
    planned.push_back(std::move(rung));
  }
  if (std::ranges::all_of(planned, [](const Planned &rung) { return rung.failure.code == ExitCode::usage; }))
    throw UserError(ExitCode::usage, planned.front().failure.message);
  return planned;
}

void print_as_text(const Context &context, const BenchShape &shape, const BenchOptions &options) {
  for (std::size_t n = 0; n < options.settings.size(); ++n)
    out(bench_table(shape, options.settings[n], n, context.style) + "\n");
}

/// Prints the part after the tables of all shapes.
void finish(const Context &context, const std::vector<BenchShape> &shapes, const BenchOptions &options,
            const std::string &device, const std::vector<std::string> &notes) {
  if (context.json()) {
    out(bench_end(shapes, device, notes));
  } else {
    std::string text;
    if (shapes.size() > 1)
      for (std::size_t n = 0; n < options.settings.size(); ++n)
        text += bench_summary(shapes, options.settings[n], n, context.style) + "\n";
    for (const std::string &note : notes)
      text += context.style.dim(folded_lines(note)) + "\n";
    out(text);
  }
  if (auto path = context.arguments.value("output"))
    write_file(*path, bench_chart(shapes, options.settings, "on " + device));
}

ExitCode run(const Context &context) {
  std::vector<ChosenRung> choices;
  for (ChosenRung &choice : choose_rungs(context.rungs, context.arguments.positional())) {
    choices.push_back(with_given_knobs(context, std::move(choice)));
    if (context.arguments.has("set"))
      choices.back().name += fmt::format(" ({})", to_string(choices.back().knobs));
  }
  std::vector<Shape> shapes = chosen_shapes(context, choices);
  BenchOptions options;
  options.settings = chosen_settings(context);
  options.rounds = chosen_rounds(context);
  std::vector<std::string> peers = context.arguments.list("against", "cublas,cublaslt");
  if (peers.size() > 1 && std::ranges::find(peers, "none") != peers.end())
    throw UserError(ExitCode::usage, "option '--against' has 'none' beside a library; give only one of them");

  std::unique_ptr<cuda::Device> device = open_gpu();
  std::vector<std::string> notes;
  BenchLibraries libraries = open_libraries(context, *device, peers, notes);
  GpuExecutor executor(*device);
  std::string where = fmt::format("{}, driver for CUDA {}", device->info().name,
                                  cuda::version_text(device->info().driver_version));
  if (!context.json())
    out(fmt::format("{}, {} rounds\n\n", where, options.rounds));
  std::vector<BenchShape> results;
  Progress progress;
  for (const Shape &shape : shapes) {
    results.push_back(bench(*device, executor, libraries,
                            plan_all(context, choices, shape, device->info().target()), options,
                            [&](const std::string &step) {
                              progress.step(fmt::format("{} ({} of {}): {} …", to_text(shape),
                                                        results.size() + 1, shapes.size(), step));
                            }));
    progress.clear();
    for (const std::string &note : results.back().notes)
      if (std::ranges::find(notes, note) == notes.end())
        notes.push_back(note);
    if (context.json())
      out(bench_rows(results.back(), options));
    else
      print_as_text(context, results.back(), options);
  }
  finish(context, results, options, where, notes);
  return code_of(results);
}

} // namespace

Command bench_command() {
  return {
      "bench",
      "measure rungs and libraries beside each other on a GPU",
      "RUNG or TUTORIAL …",
      1,
      1000,
      {list_option("shapes",
                   "shapes with commas between them, such as 512,1024 or 64x4096x4096; default: the GPU "
                   "shape of the rungs"),
       list_option("against", "cublas, cublaslt or none; default: cublas,cublaslt",
                   {"cublas", "cublaslt", "none"}),
       dtype_option(),
       symbolic_option("the kernel is measured at each of the --shapes"),
       multiple_of_option(),
       set_option(),
       table_option(),
       list_option("launch", "single, back-to-back, graph; default: back-to-back",
                   {"single", "back-to-back", "graph"}),
       list_option("l2", "warm, cold; default: warm", {"warm", "cold"}),
       {"rounds", "N", fmt::format("samples of each competitor; default: {}", BenchOptions{}.rounds)},
       {"output", "FILE", "also write a chart to FILE, in SVG", 'o'}},
      "All competitors take turns in one process, in rounds, with random inputs. Before, each rung computes on "
      "small integers, and all elements are compared with those of cuBLAS, or of the first rung if there is no "
      "library. A rung with a wrong result is not measured, and the exit code is 1.\n\n"
      "Launches:\n"
      "  single        one launch between two events\n"
      "  back-to-back  launches for 5 ms between two events\n"
      "  graph         the same launches in one CUDA graph\n"
      "With a cold L2, each launch uses another copy of the operands; the copies are larger than L2.\n\n"
      "Columns:\n"
      "  ms       the median time of a launch; a wide table has the minimum, the quartiles and the maximum, "
      "too\n"
      "  spread   the distance of the quartiles, as a part of the median\n"
      "  ratio    the speed relative to the fastest library in the same table\n"
      "  host µs  the time of the host to enqueue a launch\n"
      "  MHz, W   the SM clock during the samples, and the power of the competitor alone, by NVML\n"
      "cuBLAS is the faster of its default and its pedantic mode, and cuBLASLt the fastest of up to 8 "
      "algorithms with 32 MiB of workspace. In f32, both compute in true fp32.\n\n"
      "--json prints one object for each row; the last object has the key \"passed\".\n\n"
      "examples:\n"
      "  nestsmith bench ladder/warps --shapes 512,1024,2048,4096\n"
      "  nestsmith bench ladder --shapes 1024 --launch single,back-to-back,graph --l2 warm,cold\n"
      "  nestsmith bench gemm/nn mine.json --dtype bf16 -o chart.svg\n",
      run};
}

} // namespace nestsmith::cli
