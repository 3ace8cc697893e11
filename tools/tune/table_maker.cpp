#include "tools/tune/table_maker.h"

#include "runtime/model/analyse.h"
#include "runtime/records/fields.h"
#include "runtime/sim/workers.h"
#include "schedules/kernels/kernel_selection.h"
#include "schedules/library/tile_knobs.h"
#include "tools/options/any_size.h"
#include "tools/results/record_of.h"
#include "tools/tune/interrupt.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <fmt/format.h>
#include <future>
#include <mutex>
#include <numeric>
#include <random>
#include <set>

namespace nestsmith::cli {

namespace {

constexpr int rounds = 5;
/// Kernels that are compiled while others are measured.
constexpr std::size_t points_at_once = 64;
constexpr std::int64_t most_spilled_bytes = 256;
/// The sizes for which the points of a table are chosen, and the loss that is accepted for fewer points.
constexpr int drawn_sizes = 2000;
constexpr double accepted_loss = 0.002;
constexpr double most_operations = 1.2e12; // of a size

Shape exact_shape(const records::Extents &extents) { return Shape(extents.begin(), extents.end()); }

/// The message without the program and the advice.
std::string reason_of(const UserError &error) {
  const auto *refusal = dynamic_cast<const ScheduleError *>(&error);
  return refusal ? refusal->message() : error.what();
}

} // namespace

std::vector<std::size_t> useful_points(const records::KernelModel &model, double loss) {
  std::mt19937_64 random(1);
  auto random_number = [&] { return random(); };
  const std::size_t points = model.table().points.size();
  std::vector<std::vector<double>> times; // of each size, the least of each point
  for (int n = 0; n < drawn_sizes; ++n) {
    std::vector<double> &row = times.emplace_back(points, std::numeric_limits<double>::infinity());
    for (const records::KernelChoice &choice :
         model.rank(records::drawn_size(random_number, most_operations), model.table().sms))
      row[choice.point] = std::min(row[choice.point], choice.ms);
  }
  std::vector<double> best, now(times.size(), std::numeric_limits<double>::infinity());
  for (const std::vector<double> &row : times)
    best.push_back(*std::ranges::min_element(row));
  // Adds the point with the greatest gain until the mean loss is accepted.
  std::vector<std::size_t> kept;
  auto mean_log = [&](std::size_t point) {
    double sum = 0;
    for (std::size_t n = 0; n < times.size(); ++n)
      sum += std::log(std::min(now[n], times[n][point]) / best[n]);
    return sum / static_cast<double>(times.size());
  };
  while (kept.size() < points) {
    std::size_t next = points;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t point = 0; point < points; ++point)
      if (std::ranges::find(kept, point) == kept.end())
        if (double mean = mean_log(point); mean < least)
          least = mean, next = point;
    if (next == points)
      break;
    kept.push_back(next);
    for (std::size_t n = 0; n < times.size(); ++n)
      now[n] = std::min(now[n], times[n][next]);
    if (least <= loss)
      break;
  }
  return kept;
}

void check_has_points(const ChosenRung &choice) {
  if (!choice.kernels)
    throw UserError(ExitCode::usage,
                    fmt::format("'{}' states no points for a kernel table; set Rung::kernels "
                                "(schedules/rung.h), or name a rung that has them, such as fast/gemm",
                                choice.name));
}

TableMaker::TableMaker(const Context &context, ChosenRung choice, DType dtype, ChosenGpu gpu,
                       TuneOptions options)
    : context_(context), choice_(std::move(choice)), dtype_(dtype), gpu_(std::move(gpu)), options_(options) {
  check_has_points(choice_);
  add_candidates();
}

/// The size of a job, with the limits of the kernel for all sizes: its rows are those of the form.
Shape TableMaker::shape_of(const Job &job) const {
  if (!job.any_size)
    return exact_shape(job.probe.extents);
  Shape shape =
      any_size_shape(job.probe.extents, job.rows == records::Rows::vectors ? 16 / byte_size(dtype_) : 1, false);
  shape.parts_of_run = job.probe.parts;
  return shape;
}

/// The point of the job with the number of parts. A knob that is not asked for at this size, or for which the
/// value is no candidate, has its default, as `chosen_knobs` does.
Scheduled TableMaker::scheduled(Job &job) const {
  KnobValues wanted = candidates_[job.point].knobs;
  if (job.probe.parts > 1) {
    wanted[choice_.kernels.parts] = std::to_string(job.probe.parts);
    if (!job.probe.with.empty())
      wanted.merge(parse_knobs(job.probe.with));
  }
  if (job.any_size)
    wanted = any_size_knobs(std::move(wanted), choice_.kernels.parts, job.probe.parts > 1);
  Knobs knobs;
  knobs.prefer(wanted);
  Scheduled found = schedule_at(choice_, shape_of(job), dtype_, target_of(gpu_.gpu), knobs);
  job.knobs = knobs.chosen();
  if (job.probe.parts > 1 && !job.any_size &&
      job.knobs[choice_.kernels.parts] != std::to_string(job.probe.parts))
    throw UserError(ExitCode::usage, fmt::format("{} parts are no candidate at {}", job.probe.parts,
                                                 to_text(exact_shape(job.probe.extents))));
  return found;
}

void TableMaker::add_candidates() {
  for (const std::string &text : choice_.kernels.points) {
    Candidate candidate;
    candidate.knobs = parse_knobs(text);
    // The values of the other knobs, at a size that has all of them: with partial tiles.
    Knobs knobs(candidate.knobs);
    try {
      schedule_at(choice_, {4095, 4080, 4096}, dtype_, target_of(gpu_.gpu), knobs);
      knobs.refuse_unknown();
      candidate.knobs = knobs.chosen();
      candidate.knobs.erase(choice_.kernels.parts);
      candidate.knobs.erase(choice_.kernels.even);
      if (!parse_knobs(text).contains("blocks"))
        candidate.knobs.erase("blocks"); // each form has a usual number of its own
      candidate.tile = choice_.kernels.tile(candidate.knobs, dtype_);
    } catch (const UserError &error) {
      notes_.push_back(fmt::format("{} is refused: {}", text, reason_of(error)));
      continue;
    }
    if (std::ranges::find(candidates_, candidate.knobs, &Candidate::knobs) == candidates_.end())
      candidates_.push_back(std::move(candidate));
  }
}

/// Compiles each point once for each form, and drops the points that spill registers.
void TableMaker::find_resident() {
  std::vector<std::pair<std::size_t, records::Rows>> forms;
  for (std::size_t n = 0; n < candidates_.size(); ++n)
    if (options_.shard.has(n))
      for (records::Rows rows : records::all_rows)
        forms.emplace_back(n, rows);
  std::mutex mutex;
  std::size_t done = 0;
  sim::for_each_index(0, forms.size(), [&](std::size_t n) {
    auto [point, rows] = forms[n];
    if (interrupt_requested != 0)
      return;
    Candidate &candidate = candidates_[point];
    std::string refused;
    std::int64_t resident = 0, warps = 0;
    try {
      Job job{point,
              rows,
              records::probes(candidate.tile, 1, gpu_.gpu.sms, 0, rows, 16 / byte_size(dtype_), {}).front(),
              {}};
      Scheduled found = scheduled(job);
      kernel::Plan plan = found.plan();
      std::string ignored;
      std::vector<KernelResources> compiled = resources_if_possible(plan, gpu_.gpu, ignored);
      internal_check(plan.kernels.size() == 1, "one kernel without parts");
      if (compiled.size() != 1)
        throw UserError(ExitCode::no_device, ignored);
      if (compiled[0].spill_stores + compiled[0].spill_loads > most_spilled_bytes)
        refused = "registers spill";
      const LaunchResources launch = launch_of(plan.kernels[0], compiled[0].registers);
      resident = occupancy(gpu_.gpu, launch).blocks;
      warps = (launch.threads + 31) / 32;
      if (resident == 0)
        refused = "does not fit on a multiprocessor";
    } catch (const UserError &error) {
      refused = reason_of(error);
    }
    std::lock_guard lock(mutex);
    if (refused.empty())
      candidate.resident[rows] = resident, candidate.warps = warps;
    else
      notes_.push_back(fmt::format("{} with rows at {} is left out: {}", to_string(candidate.knobs),
                                   rows == records::Rows::any ? "any address" : name(rows), refused));
    show(fmt::format("{} of {} kernels compiled", ++done, forms.size()));
  });
}

void TableMaker::add_jobs() {
  for (std::size_t n = 0; n < candidates_.size(); ++n)
    for (auto [rows, resident] : candidates_[n].resident)
      for (const records::Probe &probe : records::probes(
               candidates_[n].tile, resident, gpu_.gpu.sms, gpu_.gpu.l2_bytes, rows, 16 / byte_size(dtype_),
               choice_.kernels.parts.empty() ? std::vector<std::string>{} : choice_.kernels.with_parts))
        jobs_.push_back({n, rows, probe, {}});
  add_jobs_of_any_size();
  // Jobs of the same size are measured in turns.
  std::ranges::stable_sort(jobs_, {}, [](const Job &job) {
    return std::tuple(job.probe.extents, job.any_size, job.probe.parts * (job.any_size ? 1 : 0));
  });
}

/// The kernel for all sizes, of each form and number of parts, at three of its sizes: those with the fewest
/// products, with the most, and between. The last of the blocks that share a tile adds the parts. A rung
/// without such a kernel has none.
void TableMaker::add_jobs_of_any_size() {
  std::map<std::tuple<std::size_t, records::Rows, std::int64_t>, std::vector<records::Extents>> sizes;
  for (const Job &job : jobs_)
    if (job.probe.with.empty() && job.rows != records::Rows::lines &&
        std::ranges::max(job.probe.extents) <= records::most_of_narrow)
      sizes[{job.point, job.rows, job.probe.parts}].push_back(job.probe.extents);
  for (auto &[kernel, list] : sizes) {
    const auto &[point, rows, parts] = kernel;
    std::ranges::sort(list, {}, [](const records::Extents &e) { return e[0] * e[1] * e[2]; });
    for (const records::Extents &extents :
         std::set<records::Extents>{list.front(), list[list.size() / 2], list.back()}) {
      Job job{point, rows, {.extents = extents, .parts = parts}, {}, std::nullopt, true};
      if (any_size_schedule(choice_, any_size_knobs(candidates_[point].knobs, choice_.kernels.parts, parts > 1),
                            shape_of(job), dtype_, target_of(gpu_.gpu))) {
        scheduled(job); // sets its knobs
        jobs_.push_back(std::move(job));
      }
    }
  }
}

std::size_t TableMaker::compile(const std::vector<std::size_t> &jobs) {
  std::atomic<std::size_t> compiled = 0;
  sim::for_each_index(0, jobs.size(), [&](std::size_t n) {
    if (interrupt_requested != 0)
      return;
    Job &job = jobs_[jobs[n]];
    try {
      std::string ignored;
      compiled += resources_if_possible(scheduled(job).plan(), gpu_.gpu, ignored).empty() ? 0 : 1;
    } catch (const UserError &) { // `measure` reports it
    }
  });
  return compiled;
}

records::Record TableMaker::record_of(Job &job, const TuneMachine &machine) const {
  Scheduled found = scheduled(job);
  records::Record record =
      point_of(found, found.plan(), options_.setting, {machine.gpu, machine.driver, machine.nvrtc});
  record.knobs = job.knobs;
  record.peer = machine.peer;
  return record;
}

void TableMaker::reuse(const TuneMachine &machine, const records::Database &database) {
  std::multimap<std::string, records::Record> stored;
  for (records::Record &record :
       database.find({.rung = choice_.name, .shape = "", .dtype = "", .gpu = machine.gpu}))
    if (record.outcome == records::Outcome::measured)
      stored.emplace(record.shape, std::move(record));
  std::size_t found = 0;
  for (Job &job : jobs_) {
    auto [begin, end] = stored.equal_range(to_text(exact_shape(job.probe.extents)));
    if (begin == end)
      continue;
    try {
      records::Record wanted = record_of(job, machine);
      for (auto known = begin; known != end; ++known)
        if (records::same_identity(known->second, wanted))
          job.ms = known->second.median_ms;
    } catch (const UserError &) { // the schedule has changed since
    }
    found += job.ms ? 1 : 0;
  }
  if (found > 0)
    notes_.push_back(fmt::format("{} times are from the database", found));
}

void TableMaker::measure(const std::vector<std::size_t> &batch, TuneMeasurer &measurer,
                         records::Database *database) {
  for (std::size_t begin = 0; begin < batch.size() && interrupt_requested == 0;) {
    std::size_t end = begin;
    const Job &first = jobs_[batch[begin]];
    const Shape shape = shape_of(first);
    auto is_same = [&](const Job &job) {
      return job.probe.extents == first.probe.extents && job.any_size == first.any_size &&
             (!job.any_size || (job.rows == first.rows && job.probe.parts == first.probe.parts));
    };
    std::vector<Job *> same;
    std::vector<KnobValues> points;
    for (; end < batch.size() && is_same(jobs_[batch[end]]); ++end)
      if (Job &job = jobs_[batch[end]]; !job.knobs.empty())
        same.push_back(&job), points.push_back(job.knobs);
    begin = end;
    if (points.empty())
      continue;
    std::vector<records::Measurement> results = measurer.measure(points, rounds, shape);
    std::vector<records::Record> stored;
    for (std::size_t n = 0; n < same.size(); ++n) {
      records::Record record = record_of(*same[n], measurer.machine());
      static_cast<records::Measurement &>(record) = results[n];
      record.samples = record.outcome == records::Outcome::measured ? rounds : 0;
      record.measured_at = now_text();
      if (record.outcome == records::Outcome::measured)
        same[n]->ms = record.median_ms;
      else
        notes_.push_back(fmt::format("{} at {}: {}: {}", to_string(same[n]->knobs), record.shape,
                                     records::name(record.outcome), record.message));
      stored.push_back(std::move(record));
    }
    if (database)
      database->add(stored);
  }
}

void TableMaker::measure(TuneMeasurer &measurer, records::Database *database) {
  CatchInterrupt catch_interrupt;
  find_resident();
  add_jobs();
  if (database)
    reuse(measurer.machine(), *database);
  measurer.on_step = [this](const std::string &step) { show(step); };
  constexpr int most_repeats = 2;
  std::vector<std::size_t> missing;
  for (std::size_t n = 0; n < jobs_.size(); ++n)
    if (!jobs_[n].ms)
      missing.push_back(n);
  measure_in_batches(missing, measurer, database);
  for (int repeat = 0; repeat < most_repeats && interrupt_requested == 0; ++repeat)
    measure_in_batches(doubtful(), measurer, database);
  interrupted_ = interrupt_requested != 0;
  progress_.clear();
}

std::size_t TableMaker::compile_only() {
  CatchInterrupt catch_interrupt;
  find_resident();
  add_jobs();
  std::size_t compiled = 0;
  for (std::size_t begin = 0; begin < jobs_.size() && interrupt_requested == 0;) {
    std::vector<std::size_t> some(std::min(points_at_once, jobs_.size() - begin));
    std::iota(some.begin(), some.end(), begin);
    compiled += compile(some);
    begin += some.size();
    show(fmt::format("{} of {} kernels compiled", begin, jobs_.size()));
  }
  interrupted_ = interrupt_requested != 0;
  progress_.clear();
  if (compiled < jobs_.size() && !interrupted_)
    notes_.push_back(fmt::format("{} of {} kernels were not compiled; the measurement says why",
                                 jobs_.size() - compiled, jobs_.size()));
  return compiled;
}

/// A kernel cannot take less time for more products: something else disturbed the one time or the other.
std::vector<std::size_t> TableMaker::doubtful() const {
  constexpr double noise = 1.1;
  std::set<std::size_t> found;
  auto is_larger = [](const Job &a, const Job &b) {
    return a.point == b.point && a.rows == b.rows && a.any_size == b.any_size &&
           a.probe.parts == b.probe.parts && a.probe.with == b.probe.with &&
           a.probe.extents != b.probe.extents &&
           std::ranges::equal(a.probe.extents, b.probe.extents, std::greater_equal());
  };
  for (std::size_t a = 0; a < jobs_.size(); ++a)
    for (std::size_t b = 0; b < jobs_.size(); ++b)
      if (jobs_[a].ms && jobs_[b].ms && noise * *jobs_[a].ms < *jobs_[b].ms && is_larger(jobs_[a], jobs_[b]))
        found.insert({a, b});
  return {found.begin(), found.end()};
}

/// Jobs of the same size, which are neighbours, are in the same batch.
void TableMaker::measure_in_batches(const std::vector<std::size_t> &jobs, TuneMeasurer &measurer,
                                    records::Database *database) {
  std::vector<std::vector<std::size_t>> batches(1);
  for (std::size_t n : jobs) {
    bool other =
        !batches.back().empty() && jobs_[batches.back().back()].probe.extents != jobs_[n].probe.extents;
    if (other && batches.back().size() >= points_at_once)
      batches.emplace_back();
    batches.back().push_back(n);
  }
  std::size_t done = 0;
  compile(batches.front());
  for (std::size_t n = 0; n < batches.size() && interrupt_requested == 0; ++n) {
    // The next batch is compiled while this one is measured.
    std::future<void> compiling;
    if (n + 1 < batches.size())
      compiling = std::async(std::launch::async, [&, n] { compile(batches[n + 1]); });
    measure(batches[n], measurer, database);
    if (compiling.valid())
      compiling.get();
    done += batches[n].size();
    show(fmt::format("{} of {} kernels measured", done, jobs.size()));
  }
}

/// The geometric mean over the sizes at which the kernel for all sizes was measured.
void TableMaker::set_any_size(std::size_t point, records::KernelForm &form) const {
  double sum = 0;
  int count = 0;
  for (const Job &job : jobs_) {
    if (!job.any_size || job.point != point || job.rows != form.rows || job.probe.parts != form.parts ||
        job.probe.with != form.with)
      continue;
    const auto time = std::ranges::find(form.times, job.probe.extents, &records::KernelTime::extents);
    internal_check(time != form.times.end(), "a form has the time of the size of its kernel for all sizes");
    // A kernel that failed has the largest factor, so that it is not chosen.
    sum += job.ms ? std::log(*job.ms / time->ms) : std::numeric_limits<double>::infinity();
    ++count;
  }
  if (count > 0)
    form.any_size = std::clamp(std::exp(sum / count), 1 / records::most_any_size, records::most_any_size);
}

/// The points of the kernels that a file for every shape would have; none if the rung has no kernel for all
/// sizes.
std::set<std::size_t> TableMaker::points_for_all_sizes(const records::KernelModel &model) const {
  const Target target = target_of(gpu_.gpu);
  auto legal = [&](const records::AnySizeKernel &kernel) {
    return any_size_schedule(choice_, model.table(), kernel, dtype_, target).has_value();
  };
  std::set<std::size_t> points;
  for (const records::AnySizeKernel &kernel :
       records::select_kernels(model, gpu_.gpu.sms, most_kernels_of_file, legal).kernels)
    points.insert(kernel.point);
  return points;
}

records::KernelTable TableMaker::table(const TuneMachine &machine) {
  records::KernelTable table{.rung = choice_.name,
                             .parts_knob = choice_.kernels.parts,
                             .even_knob = choice_.kernels.even,
                             .dtype = std::string(name(dtype_)),
                             .gpu = machine.gpu,
                             .sms = gpu_.gpu.sms,
                             .elements = 16 / byte_size(dtype_),
                             .l2_bytes = gpu_.gpu.l2_bytes,
                             .bytes_per_ms = gpu_.gpu.dram_bytes_per_s / 1000,
                             .driver = machine.driver,
                             .nvrtc = machine.nvrtc,
                             .launch = name(options_.setting.launch),
                             .nestsmith = version_text(),
                             .measured_at = now_text(),
                             .points = {}};
  for (std::size_t n = 0; n < candidates_.size(); ++n) {
    std::map<std::tuple<records::Rows, std::int64_t, std::string>, records::KernelForm> forms;
    std::set<records::Rows> incomplete;
    for (const Job &job : jobs_) {
      if (job.point != n || job.any_size)
        continue;
      if (!job.ms)
        incomplete.insert(job.rows);
      records::KernelForm &form = forms[{job.rows, job.probe.parts, job.probe.with}];
      form.rows = job.rows;
      form.parts = job.probe.parts;
      form.with = job.probe.with;
      form.resident = candidates_[n].resident.at(job.rows);
      if (job.ms)
        form.times.push_back({job.probe.extents, *job.ms});
    }
    records::KernelPoint point{candidates_[n].knobs, candidates_[n].tile, {}, candidates_[n].warps};
    for (auto &[key, form] : forms)
      if (!incomplete.contains(form.rows)) {
        set_any_size(n, form);
        point.forms.push_back(std::move(form));
      }
    if (!point.forms.empty())
      table.points.push_back(std::move(point));
    else if (!candidates_[n].resident.empty())
      notes_.push_back(
          fmt::format("{} is left out: not all of its times are known", to_string(candidates_[n].knobs)));
  }
  if (table.points.empty())
    throw UserError(ExitCode::usage, fmt::format("no point of '{}' has all of its times; repeat the command, "
                                                 "which continues with the missing ones",
                                                 choice_.name));
  records::KernelModel model(table, "the new table");
  std::vector<std::size_t> useful = useful_points(model, accepted_loss);
  for (std::size_t n : points_for_all_sizes(model))
    if (std::ranges::find(useful, n) == useful.end())
      useful.push_back(n);
  std::vector<records::KernelPoint> kept;
  for (std::size_t n : useful)
    kept.push_back(table.points[n]);
  notes_.push_back(
      fmt::format("{} of {} points are kept: the model chooses them for sizes with extents from 48 "
                  "to 8192, or emit --dispatch among all of them",
                  kept.size(), table.points.size()));
  table.points = std::move(kept);
  return table;
}

} // namespace nestsmith::cli
