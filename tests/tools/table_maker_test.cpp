/// Tests `tune --table` with a child process that answers times of a known formula in the place of a GPU.

#include "tools/tune/table_maker.h"

#include "dsl/expr/error.h"
#include "schedules/kernels/kernel_model.h"
#include "schedules/kernels/kernel_selection.h"
#include "schedules/workloads.h"
#include "tests/files.h"
#include "tests/tools/call_main.h"

#include <csignal>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <llvm/Support/JSON.h>
#include <unistd.h>

namespace nestsmith::cli {
namespace {

using testing::Contains;
using testing::HasSubstr;

/// The environment variables of the child: the file in which it notes each point, and the number of requests
/// after which it interrupts the test. If the third is set, the first time of a shallow product is disturbed,
/// and if the fourth is, kernels for all sizes are wrong.
constexpr const char *log_variable = "NESTSMITH_TEST_LOG", *interrupt_variable = "NESTSMITH_TEST_INTERRUPT",
                     *disturb_variable = "NESTSMITH_TEST_DISTURB", *fail_variable = "NESTSMITH_TEST_FAIL";

/// Large tiles take less time for each element, and small ones fill the multiprocessors for small results.
double formula(std::int64_t rows, const std::vector<std::int64_t> &shape, std::int64_t parts) {
  std::int64_t tiles = (shape[0] + rows - 1) / rows * ((shape[1] + 31) / 32) * parts;
  double waves = static_cast<double>((tiles + 131) / 132), depth = static_cast<double>((shape[2] + 15) / 16);
  return 0.002 + waves * depth / static_cast<double>(parts) * (0.0001 + 0.00001 * static_cast<double>(rows)) +
         (parts > 1 ? 0.001 * static_cast<double>(parts) : 0);
}

[[noreturn]] void answer(tune::Parent &parent) {
  parent.send(R"({"gpu": "NVIDIA H100 80GB HBM3", "driver": "13.0", "nvrtc": "13.1", "peer": "cuBLAS 1"})");
  const char *log = std::getenv(log_variable), *interrupt = std::getenv(interrupt_variable);
  bool disturb = std::getenv(disturb_variable) != nullptr;
  for (int requests = 1; auto line = parent.receive(); ++requests) {
    auto request = llvm::json::parse(*line);
    std::vector<std::int64_t> shape;
    for (const llvm::json::Value &extent : *request->getAsObject()->getArray("shape"))
      shape.push_back(*extent.getAsInteger());
    const llvm::json::Array &points = *request->getAsObject()->getArray("points");
    std::string rows;
    for (std::size_t n = 0; n < points.size(); ++n) {
      parent.send("{\"step\": \"checking point " + std::to_string(n) + "\"}");
      const llvm::json::Object &point = *points[n].getAsObject();
      std::int64_t tile = std::stoll(point.getString("rows")->str());
      auto parts = point.getString("parts");
      if (log)
        std::ofstream(log, std::ios::app) << fmt::format("{} {}\n", tile, fmt::join(shape, "x"));
      if (tile == 8 && shape[2] > 500)
        raise(SIGKILL);
      bool disturbed = disturb && shape[2] < 500 && (!parts || *parts == "1");
      disturb = disturb && !disturbed;
      const double any_size = request->getAsObject()->get("max") ? 1.25 : 1;
      if (any_size > 1 && std::getenv(fail_variable)) {
        rows += std::string(rows.empty() ? "" : ", ") + R"({"outcome": "wrong", "message": "C[0] is 3"})";
        continue;
      }
      rows += std::string(rows.empty() ? "" : ", ") +
              (tile == 16 && shape[2] < 500
                   ? R"({"outcome": "wrong", "message": "C[0] is 2"})"
                   : fmt::format(R"({{"outcome": "measured", "median_ms": {}, "peer_ms": 1}})",
                                 (disturbed ? 100 : 1) * any_size *
                                     formula(tile, shape,
                                             any_size > 1 ? *request->getAsObject()->getInteger("parts")
                                             : parts      ? std::stoll(parts->str())
                                                          : 1)));
    }
    if (interrupt && requests == std::stoi(interrupt))
      kill(getppid(), SIGINT);
    parent.send("{\"rows\": [" + rows + "]}");
  }
  _exit(0);
}

TEST(TableMaker, ChildMeasures) {
  if (std::optional<tune::Parent> parent = tune::Parent::connect())
    answer(*parent);
}

tune::Child start_measuring_child() {
  std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  return tune::Child::start(self, {self, "--gtest_filter=TableMaker.ChildMeasures"});
}

/// A rung whose kernel is the same for all shapes, so that it is compiled once for each point.
Rung rung_with_points(const std::vector<std::string> &points) {
  auto build = [](const Shape &shape, DType dtype, const Target &target, Knobs &knobs) {
    std::int64_t rows = knobs.choose("rows", {32, 128, 8, 16, 64});
    if (shape[2] >= 4)
      knobs.choose("parts", {1, 2, 4, 8, 16, 32, 64});
    Workload w("fixed");
    Tensor x = w.placeholder("X", {4096}, dtype);
    Tensor y = w.compute("Y", {4096}, {"i"}, [&](Expr i) -> Definition { return x(i); });
    Schedule s(w.output({y}), target);
    auto [i] = s.loops<1>(s.block("Y"));
    auto [block, thread] = s.split(i, {infer, rows == 128 ? 512 : 1024});
    s.bind(block, Axis::block_x);
    s.bind(thread, Axis::thread_x);
    return s;
  };
  Rung rung;
  rung.name = "fixed", rung.summary = "for tables", rung.build = build;
  rung.kernels = {.tile = [](const KnobValues &knobs, DType) -> std::array<std::int64_t, 3> {
                    return {std::stoll(knobs.at("rows")), 32, 16};
                  },
                  .parts = "parts",
                  .points = points};
  return rung;
}

/// The same, which also has one kernel for all sizes.
Rung rung_for_all_sizes() {
  Rung rung = rung_with_points({"rows=32"});
  rung.build = [fixed = rung.build](const Shape &shape, DType dtype, const Target &target, Knobs &knobs) {
    if (!shape.stated)
      return fixed(shape, dtype, target, knobs);
    const bool wide = shape.stated->max == Size{}.max; // only a file for every shape has such a kernel
    EXPECT_TRUE(wide || shape.stated->max == records::most_of_narrow) << shape.stated->max;
    knobs.choose("rows", {32, 128});
    knobs.choose("parts", std::vector<std::int64_t>{1, 0}); // 0: the launch chooses
    Schedule s(matmul(shape, dtype), target);
    auto [i, j, k] = s.loops<3>(s.block("C"));
    s.bind(i, Axis::block_x);
    s.bind(s.split(j, {infer, 32})[1], Axis::thread_x);
    return s;
  };
  return rung;
}

/// `tune --table` in this process.
class MadeTable : public testing::Test {
protected:
  MadeTable() { setenv(log_variable, (folder_ / "log").c_str(), 1); }
  ~MadeTable() override {
    unsetenv(log_variable);
    unsetenv(interrupt_variable);
    unsetenv(disturb_variable);
    unsetenv(fail_variable);
  }

  TableMaker maker(Shard shard = {}) {
    TuneOptions options;
    options.shard = shard;
    return {
        context_, choose_rung(rungs_, "fixed"), DType::f32, {*known_gpu("NVIDIA H100 80GB HBM3"), ""}, options};
  }
  records::Database database(const std::string &name) { return records::Database::open(folder_ / name); }
  std::size_t measured() const {
    std::string text = test::read_file(folder_ / "log");
    return static_cast<std::size_t>(std::ranges::count(text, '\n'));
  }
  /// The table without the time of its making.
  static std::string text_of(TableMaker &maker, TuneMeasurer &measurer) {
    records::KernelTable table = maker.table(measurer.machine());
    table.measured_at = "";
    return records::to_text(table);
  }

  test::TemporaryFolder folder_;
  std::vector<Rung> rungs_ = {rung_with_points({"rows=32", "rows=128"})};
  Arguments arguments_{"tune", {"fixed"}, {}};
  Context context_{rungs_, arguments_, Style(Colour::never)};
};

TEST_F(MadeTable, HasTheTimesOfAllPointsAndPredictsOtherSizes) {
  TuneMeasurer measurer(start_measuring_child);
  TableMaker made = maker();
  made.measure(measurer, nullptr);
  EXPECT_FALSE(made.interrupted());
  records::KernelTable table = made.table(measurer.machine());
  EXPECT_EQ(table.rung, "fixed");
  EXPECT_EQ(table.gpu, "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(table.nvrtc, "13.1");
  EXPECT_EQ(table.parts_knob, "parts");
  EXPECT_EQ(table.sms, 132);
  ASSERT_EQ(table.points.size(), 2U);
  std::size_t times = 0;
  for (const records::KernelPoint &point : table.points)
    for (const records::KernelForm &form : point.forms)
      for (const records::KernelTime &time : form.times) {
        ++times;
        EXPECT_NEAR(time.ms, formula(point.tile[0], {time.extents.begin(), time.extents.end()}, form.parts),
                    1e-6);
      }
  EXPECT_EQ(times, measured());
  EXPECT_EQ(records::to_text(records::parse_kernel_table(records::to_text(table), "made")),
            records::to_text(table));
  records::KernelModel model(table, "made");
  EXPECT_EQ(table.points[model.rank({64, 32, 64}, 132).front().point].tile[0], 32) << "one wave";
  EXPECT_EQ(table.points[model.rank({8192, 8192, 64}, 132).front().point].tile[0], 128) << "many waves";
  EXPECT_THAT(made.notes(), Contains(HasSubstr("2 of 2 points are kept")));
}

/// Of rows at any place, and at vectors, where rows at lines take the same kernel.
TEST_F(MadeTable, MeasuresTheKernelForAllSizesAtThreeSizesOfEachForm) {
  rungs_ = {rung_for_all_sizes()};
  records::Database results = database("a.db");
  TuneMeasurer measurer(start_measuring_child);
  TableMaker made = maker();
  made.measure(measurer, &results);
  const std::size_t once = measured();
  const records::KernelTable table = made.table(measurer.machine());
  ASSERT_EQ(table.points.size(), 1U);
  std::size_t jobs = 0, times = 0;
  for (const records::KernelForm &form : table.points[0].forms) {
    const bool has = form.rows != records::Rows::lines && form.with.empty();
    EXPECT_NEAR(form.any_size, has ? 1.25 : 1, 1e-6) << records::name(form.rows) << " " << form.parts;
    jobs += !has ? 0 : form.parts == 1 ? 3 : 1, times += form.times.size();
  }
  EXPECT_GT(jobs, 6U) << "also with parts";
  EXPECT_EQ(once, times + jobs);
  TableMaker again = maker();
  again.measure(measurer, &results);
  EXPECT_EQ(measured(), once);
  EXPECT_EQ(text_of(again, measurer), text_of(made, measurer));
}

/// So `emit --dispatch` does not choose it.
TEST_F(MadeTable, AWrongKernelForAllSizesHasTheLargestFactor) {
  rungs_ = {rung_for_all_sizes()};
  setenv(fail_variable, "1", 1);
  TuneMeasurer measurer(start_measuring_child);
  TableMaker made = maker();
  made.measure(measurer, nullptr);
  const records::KernelTable table = made.table(measurer.machine());
  for (const records::KernelForm &form : table.points.at(0).forms)
    EXPECT_EQ(form.any_size,
              form.rows != records::Rows::lines && form.with.empty() ? records::most_any_size : 1);
  EXPECT_THAT(made.notes(), Contains(HasSubstr("wrong: C[0] is 3")));
  EXPECT_NO_THROW(records::parse_kernel_table(records::to_text(table), "made"));
}

/// A rung of a user's program with a kernel table chooses by it. The rung that is measured keeps its defaults.
TEST_F(MadeTable, ChoosesForTheRungThatHasIt) {
  TuneMeasurer measurer(start_measuring_child);
  TableMaker made = maker();
  made.measure(measurer, nullptr);
  rungs_[0].kernel_tables = {records::to_text(made.table(measurer.machine()))};
  EXPECT_THAT(test::call_main({"show", "fixed", "--shape", "64x32x64"}, rungs_).out,
              testing::Not(HasSubstr("predicted")));
  rungs_[0].kernels = {};
  auto shown = [&](const std::vector<std::string> &words) {
    std::vector<std::string> all = {"show", "fixed", "--arch", "sm_90a"};
    all.insert(all.end(), words.begin(), words.end());
    return test::call_main(all, rungs_);
  };
  EXPECT_THAT(shown({"--shape", "64x32x64"}).out,
              HasSubstr("as predicted for NVIDIA H100 80GB HBM3: parts=1, rows=32"));
  EXPECT_THAT(shown({"--shape", "8192x8192x64"}).out, HasSubstr("rows=128"));
  EXPECT_THAT(shown({"--shape", "64x32x64", "--dtype", "f16"}).out, HasSubstr("default knobs"));
  // --table takes the text from a file. The rung that is measured takes its own table, too.
  const std::string text = rungs_[0].kernel_tables[0], path = (folder_ / "mine.json").string();
  test::write_file(path, text);
  rungs_[0].kernel_tables = {};
  EXPECT_THAT(shown({"--table", path}).err,
              HasSubstr("mine.json is a kernel table of 'fixed', but 'fixed' takes no kernel table"));
  rungs_[0].kernels = rung_with_points({"rows=32"}).kernels;
  EXPECT_THAT(shown({"--shape", "64x32x64", "--table", path}).out,
              HasSubstr("as predicted for NVIDIA H100 80GB HBM3: parts=1, rows=32"));
  EXPECT_THAT(shown({"--shape", "8192x8192x64", "--table", path}).out, HasSubstr("rows=128"));
  // With --gpu, the times of another one are refused.
  const std::vector<std::string> on_h200 = {"explain", "fixed",    "--gpu",   "H200",
                                            "--shape", "64x32x64", "--table", path};
  EXPECT_THAT(
      test::call_main(on_h200, rungs_).err,
      HasSubstr(
          "mine.json has the times of NVIDIA H100 80GB HBM3, expected those of NVIDIA H200, as --gpu says; "
          "make a table with `nestsmith tune fixed --table` on that GPU, or leave --table out"));
  const std::vector<std::string> on_h100 = {"explain", "fixed",    "--gpu",   "H100",
                                            "--shape", "64x32x64", "--table", path};
  EXPECT_EQ(test::call_main(on_h100, rungs_).err, "");
  EXPECT_THAT(shown({"--shape", "64x32x64", "--dtype", "f16", "--table", path}).err,
              HasSubstr("the kernel table of --table is of f32, expected one of f16; make it with"));
  test::write_file(path, text.substr(0, 500));
  EXPECT_THAT(shown({"--table", path}).err, HasSubstr("mine.json: not JSON: "));
  rungs_[0].kernels = {}, rungs_[0].kernel_tables = {text};
  rungs_[0].kernel_tables[0].resize(500);
  test::Called cut = shown({});
  EXPECT_EQ(cut.code, 2);
  EXPECT_THAT(cut.err, HasSubstr("a kernel table of fixed: not JSON: "));
}

TEST_F(MadeTable, TakesTimesFromTheDatabase) {
  records::Database results = database("a.db");
  TuneMeasurer measurer(start_measuring_child);
  TableMaker first = maker();
  first.measure(measurer, &results);
  std::size_t once = measured();
  EXPECT_EQ(results.find().size(), once);
  TableMaker second = maker();
  second.measure(measurer, &results);
  EXPECT_EQ(measured(), once) << "nothing is measured again";
  EXPECT_THAT(second.notes(), Contains(fmt::format("{} times are from the database", once)));
  EXPECT_EQ(text_of(first, measurer), text_of(second, measurer));
}

TEST_F(MadeTable, MeasuresTimesAgainThatFallWithTheDepth) {
  TuneMeasurer measurer(start_measuring_child);
  TableMaker quiet = maker();
  quiet.measure(measurer, nullptr);
  std::size_t once = measured();
  setenv(disturb_variable, "1", 1);
  TuneMeasurer other(start_measuring_child);
  TableMaker disturbed = maker();
  disturbed.measure(other, nullptr);
  EXPECT_GT(measured(), 2 * once + 1) << "the disturbed time, and those that it contradicts";
  EXPECT_LT(measured(), 3 * once);
  EXPECT_EQ(text_of(disturbed, other), text_of(quiet, measurer));
}

TEST_F(MadeTable, ContinuesAfterCtrlC) {
  setenv(interrupt_variable, "3", 1);
  records::Database results = database("a.db");
  std::size_t before = 0;
  {
    TuneMeasurer measurer(start_measuring_child);
    TableMaker stopped = maker();
    stopped.measure(measurer, &results);
    EXPECT_TRUE(stopped.interrupted());
    before = measured();
    EXPECT_EQ(results.find().size(), before) << "what was measured is stored";
    try {
      stopped.table(measurer.machine());
      ADD_FAILURE() << "expected a refusal";
    } catch (const UserError &error) {
      EXPECT_STREQ(error.what(),
                   "no point of 'fixed' has all of its times; repeat the command, which continues with "
                   "the missing ones");
    }
  }
  unsetenv(interrupt_variable);
  TuneMeasurer measurer(start_measuring_child);
  TableMaker again = maker();
  again.measure(measurer, &results);
  EXPECT_FALSE(again.interrupted());
  EXPECT_THAT(again.notes(), Contains(fmt::format("{} times are from the database", before)));
  EXPECT_EQ(measured(), results.find().size()) << "each point once";
  EXPECT_EQ(again.table(measurer.machine()).points.size(), 2U);
}

TEST_F(MadeTable, LeavesOutPointsThatAreWrongOrEndTheProcess) {
  rungs_ = {rung_with_points({"rows=32", "rows=16", "rows=8", "rows=5"})};
  TuneMeasurer measurer(start_measuring_child);
  TableMaker made = maker();
  made.measure(measurer, nullptr);
  records::KernelTable table = made.table(measurer.machine());
  ASSERT_EQ(table.points.size(), 1U);
  EXPECT_EQ(table.points[0].tile[0], 32);
  for (const char *note : {"rows=5 is refused: the knob 'rows' is '5', expected one of 32, 128, 8, 16, 64",
                           "wrong: C[0] is 2", "crashed: the process ended with signal 9 (Killed)",
                           "rows=16 is left out: not all of its times are known",
                           "rows=8 is left out: not all of its times are known"})
    EXPECT_THAT(made.notes(), Contains(HasSubstr(note)));
}

TEST_F(MadeTable, OfTwoProcessesIsThatOfOne) {
  records::Database merged = database("merged.db");
  TuneMeasurer measurer(start_measuring_child);
  TableMaker one = maker();
  one.measure(measurer, nullptr);
  std::size_t alone = measured();
  for (std::int64_t index : {0, 1}) {
    records::Database own = database(fmt::format("{}.db", index));
    Shard half;
    half.index = index, half.count = 2;
    TableMaker part = maker(half);
    part.measure(measurer, &own);
    merged.add(own.find());
  }
  std::size_t after = measured();
  EXPECT_GT(after, alone);
  TableMaker joined = maker();
  joined.measure(measurer, &merged);
  EXPECT_EQ(measured(), after) << "all times are from the databases";
  EXPECT_EQ(text_of(joined, measurer), text_of(one, measurer));
}

TEST_F(MadeTable, CompilesWithoutAGpuWhatItMeasuresLater) {
  TableMaker compiled = maker(), measured_one = maker();
  const std::size_t kernels = compiled.compile_only();
  EXPECT_FALSE(compiled.interrupted());
  EXPECT_FALSE(std::filesystem::exists(folder_ / "log")) << "nothing was measured";
  TuneMeasurer measurer(start_measuring_child);
  measured_one.measure(measurer, nullptr);
  EXPECT_EQ(kernels, measured());
}

TEST_F(MadeTable, NeedsPoints) {
  rungs_[0].kernels = {};
  try {
    maker();
    ADD_FAILURE() << "expected a refusal";
  } catch (const UserError &error) {
    EXPECT_EQ(error.code(), ExitCode::usage);
    EXPECT_THAT(error.what(), HasSubstr("'fixed' states no points for a kernel table; set Rung::kernels"));
  }
}

/// A point that another one beats at every size is not kept.
TEST(UsefulPoints, AreThoseThatTheModelChooses) {
  records::KernelTable table{.rung = "r",
                             .parts_knob = "",
                             .even_knob = "",
                             .dtype = "f32",
                             .gpu = "g",
                             .sms = 132,
                             .elements = 4,
                             .l2_bytes = std::int64_t{1} << 40,
                             .bytes_per_ms = 1e9,
                             .driver = "",
                             .nvrtc = "",
                             .launch = "",
                             .nestsmith = "",
                             .measured_at = "",
                             .points = {}};
  for (auto [rows, factor] : {std::pair{32, 1.0}, std::pair{128, 1.0}, std::pair{128, 1.5}}) {
    records::KernelPoint point{{{"rows", std::to_string(rows)}}, {rows, 32, 16}, {}};
    records::KernelForm form;
    for (const records::Probe &probe : records::probes(point.tile, 1, 132, 0, records::Rows::vectors, 4, {}))
      form.times.push_back(
          {probe.extents, factor * formula(rows, {probe.extents.begin(), probe.extents.end()}, 1)});
    point.forms.push_back(form);
    table.points.push_back(point);
  }
  std::vector<std::size_t> kept = useful_points(records::KernelModel(table, "t"), 0.002);
  EXPECT_THAT(kept, testing::UnorderedElementsAre(0U, 1U));
  EXPECT_EQ(useful_points(records::KernelModel(table, "t"), 10).size(), 1U) << "any loss is accepted";
}

} // namespace
} // namespace nestsmith::cli
