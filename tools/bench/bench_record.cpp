#include "tools/bench/bench_record.h"

#include "codegen/cuda.h"
#include "dsl/expr/error.h"
#include "dsl/expr/outside.h"
#include "dsl/expr/printable.h"
#include "dsl/schedule/extents.h"
#include "runtime/records/text.h"
#include "runtime/sim/workers.h"
#include "tools/output/output_file.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fmt/format.h>
#include <mutex>

namespace nestsmith::cli {

namespace {

constexpr std::size_t product_extents = 3; ///< M, N and K
/// More rungs of one shape are measured in several turns, so that a fault loses few results.
constexpr std::size_t rungs_at_once = 16;

std::vector<std::int64_t> recorded_sizes() { return {512, 1024, 2048, 4096}; }

/// Unsigned integers serve checks, and f64 is recorded on request.
bool is_left_out(DType dtype) { return dtype == DType::u8 || dtype == DType::u32 || dtype == DType::f64; }

std::vector<DType> recorded_dtypes(const Context &context, const Rung &rung) {
  if (auto given = context.arguments.value("dtype"))
    return {*parse_dtype(*given)};
  std::vector<DType> dtypes = rung.dtypes;
  std::erase_if(dtypes, is_left_out);
  return dtypes.empty() ? std::vector{rung.dtype()} : dtypes;
}

/// The shapes of --shapes. One number is a product.
std::vector<Shape> listed_shapes(const Context &context) {
  std::vector<Shape> shapes;
  for (const std::string &text : context.arguments.list("shapes", "")) {
    std::string why;
    Shape shape = parse_extents(text, why);
    if (!why.empty())
      throw UserError(ExitCode::usage,
                      fmt::format("shape '{}': {}; give MxNxK such as 512x512x512", text, why));
    shapes.push_back(shape.size() == 1 ? Shape(product_extents, shape.front()) : shape);
  }
  return shapes;
}

std::vector<Shape> recorded_shapes(const Context &context, const ChosenRung &rung) {
  std::vector<Shape> shapes;
  bool listed = context.arguments.has("shapes");
  if (listed)
    shapes = listed_shapes(context);
  else if (rung.gpu_shape.size() == product_extents)
    for (std::int64_t size : recorded_sizes())
      shapes.push_back(Shape(product_extents, size));
  std::erase_if(shapes, [&](const Shape &shape) { return shape.size() != rung.gpu_shape.size(); });
  if ((!listed || shapes.empty()) && std::ranges::find(shapes, rung.gpu_shape) == shapes.end())
    shapes.push_back(rung.gpu_shape);
  return shapes;
}

double volume_of(const Shape &shape) {
  double product = 1;
  for (std::int64_t extent : shape)
    product *= static_cast<double>(extent);
  return product;
}

/// The text of a plan and what the compiler needs in addition.
std::string compiled_key(const kernel::Plan &plan, Arch arch) {
  std::string key = to_string(arch) + "\n" + cuda_kernels(plan);
  for (const kernel::Kernel &kernel : plan.kernels)
    key += fmt::format("{} ", kernel.dynamic_shared_bytes());
  return key;
}

records::MeasuredTable table_in(const std::string &file) {
  if (!std::filesystem::exists(file))
    return {};
  return {read_outside(file, "table", records::most_text_bytes), printable(file)};
}

} // namespace

std::vector<RecordBatch> batches_of(const Context &context, const std::vector<const Rung *> &rungs) {
  std::vector<RecordBatch> batches;
  for (const Rung *rung : rungs) {
    ChosenRung choice = choose_rung(context.rungs, rung->full_name());
    for (DType dtype : recorded_dtypes(context, *rung))
      for (const Shape &shape : recorded_shapes(context, choice)) {
        auto open = std::ranges::find_if(batches, [&](const RecordBatch &batch) {
          return batch.shape == shape && batch.dtype == dtype && batch.rungs.size() < rungs_at_once;
        });
        if (open == batches.end())
          open = batches.insert(batches.end(), RecordBatch{shape, dtype, {}});
        open->rungs.push_back(choice);
      }
  }
  std::ranges::stable_sort(batches, {}, [](const RecordBatch &batch) { return volume_of(batch.shape); });
  return batches;
}

void Precompiled::add(const std::vector<kernel::Plan> &plans, Arch arch) {
  std::mutex mutex;
  sim::for_each_index(0, plans.size(), [&](std::size_t n) {
    std::string key = compiled_key(plans[n], arch);
    {
      std::lock_guard lock(mutex);
      if (known_.contains(key))
        return;
    }
    std::vector<cuda::Compiled> compiled;
    if (failure_of([&] { compiled = compile_(plans[n], arch); }).code != ExitCode::good)
      return; // the row of this rung says why
    std::lock_guard lock(mutex);
    known_[key] = std::move(compiled);
  });
}

std::vector<cuda::Compiled> Precompiled::operator()(const kernel::Plan &plan, Arch arch) const {
  auto found = known_.find(compiled_key(plan, arch));
  return found != known_.end() ? found->second : compile_(plan, arch);
}

namespace {

/// One batch, without the rungs that are refused or known.
class RecordedBatch {
public:
  RecordedBatch(const RecordRun &run, const records::MeasuredTable &table, Recorded &result)
      : run_(run), table_(table), result_(result) {}

  void plan(const Context &context, const RecordBatch &batch) {
    for (ChosenRung choice : batch.rungs) {
      Shape asked = batch.shape;
      asked.stated = choice.default_shape.stated;
      choice.default_shape = asked;
      choice.default_dtype = batch.dtype;
      Planned rung{choice, batch.shape, batch.dtype, std::nullopt, {}};
      rung.failure = failure_of([&] {
        Scheduled scheduled = schedule_choice(context, choice, run_.target);
        check_memory(scheduled.source(), scheduled.shape);
        add(std::move(scheduled), rung);
      });
      if (rung.failure.code != ExitCode::good)
        note(choice.name, batch, rung.failure.message);
    }
  }

  bool empty() const { return planned_.empty(); }
  const std::vector<Planned> &planned() const { return planned_; }
  const std::vector<kernel::Plan> &plans() const { return plans_; }

  /// The records of the rows that were measured.
  std::vector<records::Record> records(const BenchShape &measured, const RecordBatch &batch) {
    std::vector<records::Record> list;
    for (const BenchRow &row : measured.rows) {
      auto at = std::ranges::find(planned_, row.name,
                                  [](const Planned &rung) -> const std::string & { return rung.choice.name; });
      if (row.peer || at == planned_.end())
        continue;
      result_.wrong = result_.wrong || row.failure.code == ExitCode::wrong_result;
      if (row.failure.code != ExitCode::good || row.times.empty()) {
        note(row.name, batch, row.failure.message);
        continue;
      }
      for (std::size_t n = 0; n < run_.options.settings.size(); ++n)
        list.push_back(record(measured, row, n, points_[static_cast<std::size_t>(at - planned_.begin())][n]));
    }
    return list;
  }

private:
  void add(Scheduled scheduled, Planned &rung) {
    kernel::Plan plan = scheduled.plan();
    std::vector<records::Record> points;
    for (const BenchSetting &setting : run_.options.settings)
      points.push_back(point_of(scheduled, plan, setting, run_.machine));
    if (std::ranges::all_of(points, [&](const records::Record &point) { return table_.has(point); })) {
      result_.known += points.size();
      return;
    }
    rung.scheduled = std::move(scheduled);
    planned_.push_back(rung);
    plans_.push_back(std::move(plan));
    points_.push_back(std::move(points));
  }

  void note(const std::string &name, const RecordBatch &batch, const std::string &why) {
    result_.notes.push_back(fmt::format("{} at {} in {} is not recorded: {}", name, to_text(batch.shape),
                                        nestsmith::name(batch.dtype), why));
  }

  records::Record record(const BenchShape &measured, const BenchRow &row, std::size_t setting,
                         records::Record point) const {
    const BenchTime &time = row.times[setting];
    point.min_ms = time.ms.min, point.lower_quartile_ms = time.ms.lower_quartile;
    point.median_ms = time.ms.median;
    point.upper_quartile_ms = time.ms.upper_quartile, point.max_ms = time.ms.max;
    point.samples = run_.options.rounds;
    point.sm_mhz = time.sm_mhz;
    for (const BenchRow &other : measured.rows)
      if (other.peer && other.computation == row.computation && !other.times.empty())
        if (double ms = other.times[setting].ms.median; ms < point.peer_ms.value_or(INFINITY)) {
          point.peer_ms = ms;
          point.peer = other.name;
        }
    if (!run_.commit.empty())
      point.nestsmith += "+" + run_.commit;
    point.measured_at = now_text();
    return point;
  }

  const RecordRun &run_;
  const records::MeasuredTable &table_;
  Recorded &result_;
  std::vector<Planned> planned_;
  std::vector<kernel::Plan> plans_;
  std::vector<std::vector<records::Record>> points_; ///< of each planned rung, one for each setting
};

} // namespace

Recorded record_batches(const Context &context, const std::vector<RecordBatch> &batches, const RecordRun &run) {
  records::MeasuredTable table = table_in(run.file);
  check_writable(run.file);
  Recorded result;
  for (const RecordBatch &batch : batches) {
    RecordedBatch recorded(run, table, result);
    recorded.plan(context, batch);
    if (recorded.empty())
      continue;
    run.prepare(recorded.plans());
    BenchShape measured = run.measure(recorded.planned());
    for (records::Record &record : recorded.records(measured, batch)) {
      table.put(std::move(record));
      ++result.measured;
    }
    write_file(run.file, table.text());
    run.show(measured);
  }
  return result;
}

} // namespace nestsmith::cli
