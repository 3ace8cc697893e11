#include "dsl/expr/error.h"
#include "tools/bench/bench.h"
#include "tools/bench/bench_chart.h"
#include "tools/bench/bench_json.h"
#include "tools/bench/bench_record.h"
#include "tools/bench/bench_table.h"
#include "tools/options/command.h"
#include "tools/output/output_file.h"

#include <algorithm>
#include <fmt/format.h>

namespace nestsmith::cli {

namespace {

/// Of --record. A table of all rungs takes minutes.
constexpr int recorded_rounds = 9;
constexpr std::int64_t most_pause_ms = 10'000;
constexpr double recorded_most_ms = 400;

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

/// The power of a competitor takes half a second.
constexpr std::size_t most_shapes_with_power = 16;

double chosen_pause(const Context &context) {
  const std::int64_t ms = context.arguments.number("pause").value_or(0);
  if (ms > most_pause_ms)
    throw UserError(ExitCode::usage, fmt::format("option '--pause' must be at most {} milliseconds, got '{}'",
                                                 most_pause_ms, ms));
  return static_cast<double>(ms);
}

int chosen_rounds(const Context &context, int usual) {
  std::int64_t rounds = context.arguments.number("rounds").value_or(usual);
  if (rounds < 1 || rounds > 10000)
    throw UserError(ExitCode::usage,
                    fmt::format("option '--rounds' must be a number from 1 to 10000, got '{}'", rounds));
  return static_cast<int>(rounds);
}

std::vector<std::string> chosen_peers(const Context &context, const std::string &usual) {
  std::vector<std::string> peers = context.arguments.list("against", usual);
  if (peers.size() > 1 && std::ranges::find(peers, "none") != peers.end())
    throw UserError(ExitCode::usage, "option '--against' has 'none' beside a library; give only one of them");
  return peers;
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

/// The plans of the rungs that were scheduled.
std::vector<kernel::Plan> plans_of(const std::vector<std::vector<Planned>> &planned) {
  std::vector<kernel::Plan> plans;
  for (const std::vector<Planned> &rungs : planned)
    for (const Planned &rung : rungs)
      if (rung.scheduled)
        try {
          plans.push_back(rung.scheduled->plan());
        } catch (const UserError &) { // `bench` reports it
        }
  return plans;
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

/// The rungs of --all, or those that the arguments name.
std::vector<const Rung *> recorded_rungs(const Context &context) {
  std::vector<const Rung *> rungs;
  if (context.arguments.has("all")) {
    for (const Rung &rung : context.rungs)
      rungs.push_back(&rung);
    return rungs;
  }
  for (const ChosenRung &choice : choose_rungs(context.rungs, context.arguments.positional())) {
    auto rung =
        std::ranges::find_if(context.rungs, [&](const Rung &each) { return each.full_name() == choice.name; });
    if (rung == context.rungs.end())
      throw UserError(ExitCode::usage,
                      fmt::format("'{}' is a trace file, and --record keeps the times of rungs; leave it out",
                                  choice.name));
    if (std::ranges::find(rungs, &*rung) == rungs.end())
      rungs.push_back(&*rung);
  }
  return rungs;
}

ExitCode record(const Context &context) {
  for (const char *option : {"set", "table", "output", "pause"})
    if (context.arguments.has(option))
      throw UserError(ExitCode::usage,
                      fmt::format("--record keeps the times of rungs with their usual knobs, as a table; leave "
                                  "--{} out",
                                  option));
  std::vector<RecordBatch> batches = batches_of(context, recorded_rungs(context));
  RecordRun run;
  run.file = *context.arguments.value("record");
  run.commit = context.arguments.value("commit").value_or("");
  run.options = {.settings = chosen_settings(context),
                 .rounds = chosen_rounds(context, recorded_rounds),
                 .power_seconds = 0,
                 .most_ms = context.arguments.real("most-ms").value_or(recorded_most_ms)};
  std::vector<std::string> peers = chosen_peers(context, "cublas"), notes;
  std::unique_ptr<cuda::Device> device = open_gpu();
  BenchLibraries libraries = open_libraries(context, *device, peers, notes);
  Precompiled compiled(nestsmith::compile);
  GpuExecutor executor(*device, [&](const kernel::Plan &plan, Arch arch) { return compiled(plan, arch); });
  run.target = device->info().target();
  run.machine = {device->info().name, cuda::version_text(device->info().driver_version),
                 cuda::Nvrtc::get().version()};
  Progress progress;
  std::size_t number = 0;
  run.prepare = [&](const std::vector<kernel::Plan> &plans) {
    progress.show(fmt::format("compiling {} plans …", plans.size()));
    compiled.add(plans, device->info().arch());
  };
  run.measure = [&](const std::vector<Planned> &planned) {
    ++number;
    return bench(*device, executor, libraries, planned, run.options, [&](const std::string &step) {
      progress.step(fmt::format("table {}, {}: {} …", number, planned.front().problem(), step));
    });
  };
  run.show = [&](const BenchShape &measured) {
    progress.clear();
    if (context.json())
      out(bench_rows(measured, run.options));
    else
      print_as_text(context, measured, run.options);
  };
  Recorded recorded = record_batches(context, batches, run);
  std::ranges::copy(recorded.notes, std::back_inserter(notes));
  ExitCode code = recorded.wrong ? ExitCode::wrong_result : ExitCode::good;
  if (context.json()) {
    out(recorded_end(recorded, run.file, code == ExitCode::good, notes));
    return code;
  }
  std::string text;
  for (const std::string &note : notes)
    text += context.style.dim(folded_lines(note)) + "\n";
  out(text + fmt::format("{}: {} measured, {} known before\n", run.file, recorded.measured, recorded.known));
  return code;
}

ExitCode run_bench(const Context &context) {
  bool all = context.arguments.has("all");
  if (!all && context.arguments.positional().empty() && context.rungs.size() != 1)
    throw UserError(ExitCode::usage, "'bench' needs a RUNG: nestsmith bench RUNG or TUTORIAL …");
  if (all && !context.arguments.positional().empty())
    throw UserError(ExitCode::usage, fmt::format("--all means every rung, got '{}' too; leave one of them out",
                                                 context.arguments.positional().front()));
  if (context.arguments.has("record"))
    return record(context);
  for (const char *option : {"all", "commit", "most-ms"})
    if (context.arguments.has(option))
      throw UserError(ExitCode::usage,
                      fmt::format("option '--{}' belongs to --record; give --record FILE too", option));
  std::vector<ChosenRung> choices;
  for (ChosenRung &choice : choose_rungs(context.rungs, context.arguments.positional())) {
    choices.push_back(with_given_knobs(context, std::move(choice)));
    if (context.arguments.has("set"))
      choices.back().name += fmt::format(" ({})", to_string(choices.back().knobs));
  }
  std::vector<Shape> shapes = chosen_shapes(context, choices);
  BenchOptions options;
  options.settings = chosen_settings(context);
  options.rounds = chosen_rounds(context, options.rounds);
  options.pause_ms = chosen_pause(context);
  if (shapes.size() > most_shapes_with_power)
    options.power_seconds = 0;
  std::vector<std::string> peers = chosen_peers(context, "cublas,cublaslt");

  std::unique_ptr<cuda::Device> device = open_gpu();
  std::vector<std::string> notes;
  BenchLibraries libraries = open_libraries(context, *device, peers, notes);
  Precompiled compiled(nestsmith::compile);
  GpuExecutor executor(*device, [&](const kernel::Plan &plan, Arch arch) { return compiled(plan, arch); });
  std::string where = fmt::format("{}, driver for CUDA {}", device->info().name,
                                  cuda::version_text(device->info().driver_version));
  if (!context.json())
    out(fmt::format("{}, {} rounds{}\n\n", where, options.rounds,
                    options.pause_ms > 0 ? fmt::format(", pauses of {:g} ms", options.pause_ms) : ""));
  std::vector<BenchShape> results;
  Progress progress;
  std::vector<std::vector<Planned>> planned;
  for (const Shape &shape : shapes)
    planned.push_back(plan_all(context, choices, shape, device->info().target()));
  progress.show(fmt::format("compiling for {} shape{} …", shapes.size(), shapes.size() == 1 ? "" : "s"));
  compiled.add(plans_of(planned), device->info().arch());
  for (const Shape &shape : shapes) {
    results.push_back(
        bench(*device, executor, libraries, planned[results.size()], options, [&](const std::string &step) {
          progress.step(
              fmt::format("{} ({} of {}): {} …", to_text(shape), results.size() + 1, shapes.size(), step));
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
      0,
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
       {"pause", "MS",
        "the GPU is idle for this time before each sample, so that its power limit does not lower the clock; "
        "default: 0"},
       {"output", "FILE", "also write a chart to FILE, in SVG", 'o'},
       {"record", "FILE", "keep the times in FILE, a table of records; continues an existing one"},
       {"all", "", "with --record: every rung"},
       {"commit", "NAME", "with --record: the commit of the sources, stored with the version"},
       {"most-ms", "MS",
        fmt::format("with --record: skip a rung whose launch takes longer; default: {:g}", recorded_most_ms)}},
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
      "  MHz, W   the SM clock during the samples, and, for up to 16 shapes, the power of the competitor "
      "alone, "
      "by NVML\n"
      "cuBLAS is the faster of its default and its pedantic mode, and cuBLASLt the fastest of up to 8 "
      "algorithms with 32 MiB of workspace. In f32, both compute in true fp32.\n\n"
      "--json prints one object for each row; the last object has the key \"passed\".\n\n"
      "--record FILE keeps the time of each rung with its usual knobs, at each shape, in each dtype: without "
      "--shapes, at 512, 1024, 2048, 4096 and its GPU shape. FILE is written after each table. A second run "
      "measures what FILE lacks: a rung that is new, or whose CUDA text, GPU, driver or compiler is another "
      "one. "
      "A rung that is refused at a shape, or has a wrong result, is not recorded. The default of --against is "
      "cublas here, and that of --rounds 9. The tables of schedules/measured are a part of nestsmith: "
      "explain, compare and report show their times.\n\n"
      "examples:\n"
      "  nestsmith bench ladder/warps --shapes 512,1024,2048,4096\n"
      "  nestsmith bench ladder --shapes 1024 --launch single,back-to-back,graph --l2 warm,cold\n"
      "  nestsmith bench gemm/nn mine.json --dtype bf16 -o chart.svg\n"
      "  nestsmith bench --all --record schedules/measured/h200.json\n",
      run_bench};
}

} // namespace nestsmith::cli
