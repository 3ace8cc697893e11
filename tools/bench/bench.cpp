#include "tools/bench/bench.h"

#include "dsl/ir/printer.h"
#include "tools/bench/bench_form.h"
#include "tools/options/scheduled.h"

#include <algorithm>
#include <chrono>
#include <fmt/format.h>
#include <list>
#include <map>

namespace nestsmith::cli {

namespace {

using Memories = std::vector<cuda::Memory>;

Memories upload(const cuda::Device &device, const std::vector<Array> &arrays) {
  Memories memory;
  for (const Array &array : arrays) {
    memory.emplace_back(device, array.bytes());
    memory.back().write(0, array.data(), array.bytes());
  }
  return memory;
}

std::vector<cuda::Address> addresses(const Memories &params, const Memories &workspaces) {
  std::vector<cuda::Address> list;
  for (const Memories *group : {&params, &workspaces})
    for (const cuda::Memory &memory : *group)
      list.push_back(memory.address());
  return list;
}

/// One execution of `bench`.
class Bench {
public:
  Bench(const cuda::Device &device, GpuExecutor &executor, const BenchLibraries &libraries,
        const BenchOptions &options, const std::function<void(const std::string &)> &progress)
      : device_(device), executor_(executor), libraries_(libraries), options_(options), progress_(progress) {}

  BenchShape run(const std::vector<Planned> &rungs) {
    result_.shape = rungs.front().shape;
    result_.dtype = std::string(name(rungs.front().dtype));
    std::vector<std::string> texts;
    for (const Planned &rung : rungs)
      if (rung.scheduled)
        if (std::string text = print(rung.scheduled->source()); std::ranges::find(texts, text) == texts.end()) {
          texts.push_back(text);
          run(rung.scheduled->source(), text, rungs);
        }
    for (const Planned &rung : rungs)
      if (!rung.scheduled) {
        result_.rows.push_back({});
        result_.rows.back().name = rung.choice.name;
        result_.rows.back().failure = rung.failure;
      }
    measure();
    return std::move(result_);
  }

private:
  struct Entry {
    std::size_t row;
    Computation *computation;
    Form form;
  };

  /// Checks the rungs of one computation and its peers. The rows of the rungs come first, but the rungs are
  /// compared with the peers.
  void run(const Program &source, const std::string &text, const std::vector<Planned> &rungs) {
    progress_("inputs of " + source.name);
    Computation &computation = computations_.emplace_back(source);
    result_.computations.push_back(source.name);
    std::size_t first = result_.rows.size();
    std::vector<const Scheduled *> own;
    for (const Planned &rung : rungs)
      if (rung.scheduled && print(rung.scheduled->source()) == text) {
        result_.dtype = dtype_name(source, rung.dtype);
        own.push_back(&*rung.scheduled);
        add_row(rung.choice.name, false);
      }
    if (is_of_cublas(computation) && libraries_.cublas)
      add_peer("cuBLAS " + libraries_.cublas->version(), computation,
               [&] { return forms_of(*libraries_.cublas, computation); });
    if (computation.gemm && libraries_.cublaslt)
      add_peer("cuBLASLt " + libraries_.cublaslt->version(), computation,
               [&] { return forms_of(*libraries_.cublaslt, computation); });
    if (!computation.gemm && (libraries_.cublas || libraries_.cublaslt))
      result_.notes.push_back(fmt::format("no peer for {}: the libraries do not compute it", source.name));
    else if (!is_of_cublas(computation) && libraries_.cublas && !libraries_.cublaslt)
      result_.notes.push_back(
          fmt::format("no peer for {}: cuBLASLt computes it, cuBLAS does not", source.name));
    for (std::size_t n = 0; n < own.size(); ++n)
      check_rung(*own[n], computation, first + n);
  }

  std::size_t add_row(const std::string &name, bool peer) {
    BenchRow row;
    row.name = name;
    row.peer = peer;
    row.computation = computations_.size() - 1;
    row.operations = operation_count(computations_.back().source);
    result_.rows.push_back(std::move(row));
    return result_.rows.size() - 1;
  }

  /// A peer is measured in all forms that give the right result.
  void add_peer(const std::string &name, Computation &computation,
                const std::function<std::vector<Form>()> &make_forms) {
    std::size_t row = add_row(name, true), before = entries_.size();
    std::vector<Form> forms;
    Failure failure = failure_of([&] { forms = make_forms(); });
    if (forms.empty() && failure.code == ExitCode::good)
      failure = {"the library proposes no algorithm for this product", "", "", ExitCode::no_device};
    for (Form &form : forms) {
      std::string label = fmt::format("{}, {}", name, form.variant);
      Failure of_form = checked(label, [&] {
        Memories memory = upload(device_, computation.integers.arrays);
        form.enqueue(addresses(memory, {}), computation.integers.scalars);
        device_.synchronize(label + " failed");
        std::vector<Array> got = computation.integers.arrays;
        for (std::size_t n = 0; n < got.size(); ++n)
          memory[n].read(0, got[n].data(), got[n].bytes());
        return computation.compare(std::move(got), label);
      });
      if (of_form.code == ExitCode::good) {
        entries_.push_back({row, &computation, std::move(form)});
      } else {
        result_.notes.push_back(fmt::format("{} is not measured: {}", label, of_form.message));
        failure = of_form;
      }
    }
    if (entries_.size() == before)
      result_.rows[row].failure = failure;
  }

  void check_rung(const Scheduled &scheduled, Computation &computation, std::size_t row) {
    const std::string label = result_.rows[row].name;
    result_.rows[row].failure = checked(label, [&]() -> std::string {
      kernel::Plan plan = scheduled.plan();
      warn_if_unbound(scheduled, plan);
      std::vector<Array> got = computation.integers.arrays;
      Execution execution = executor_.run(plan, got, computation.integers.scalars);
      if (!execution.diagnostics.empty())
        return execution.diagnostics.front();
      std::string difference = computation.compare(std::move(got), label);
      if (difference.empty()) {
        const cuda::GpuPlan &loaded = executor_.loaded(plan);
        entries_.push_back(
            {row,
             &computation,
             {form_text(scheduled), [&loaded](Addresses at, Scalars scalars) { loaded.enqueue(at, scalars); },
              loaded.allocate_workspaces()}});
      }
      return difference;
    });
  }

  /// `check` returns the reason why the result is wrong, or an empty string.
  Failure checked(const std::string &label, const std::function<std::string()> &check) {
    progress_("checking " + label);
    std::string wrong;
    Failure failure = failure_of([&] { wrong = check(); });
    if (failure.code == ExitCode::wrong_result)
      throw UserError(ExitCode::wrong_result,
                      fmt::format("{}: {}; the GPU executes nothing more in this process, so run bench again "
                                  "without {}",
                                  label, failure.message, label));
    return wrong.empty() ? failure : Failure{wrong, "", "", ExitCode::wrong_result};
  }

  std::size_t copies_for_cold_l2() const {
    std::size_t copies = 1;
    for (const Computation &computation : computations_) {
      std::size_t bytes = 0;
      for (const Array &array : computation.random.arrays)
        bytes += array.bytes();
      copies = std::max(copies, cuda::copies_for_cold_l2(device_, bytes));
    }
    return copies;
  }

  void measure() {
    if (entries_.empty())
      return;
    bool cold = std::ranges::any_of(options_.settings, &BenchSetting::cold_l2);
    std::size_t copies = cold ? copies_for_cold_l2() : 1;
    std::map<const Computation *, std::vector<Memories>> buffers;
    for (const Computation &computation : computations_)
      for (std::size_t n = 0; n < copies; ++n)
        buffers[&computation].push_back(upload(device_, computation.random.arrays));
    if (options_.most_ms > 0)
      std::erase_if(entries_,
                    [&](const Entry &entry) { return is_slow(entry, buffers[entry.computation].front()); });
    if (entries_.empty())
      return;
    std::vector<cuda::Competitor> competitors;
    for (const Entry &entry : entries_) {
      std::vector<std::vector<cuda::Address>> places;
      for (const Memories &memory : buffers[entry.computation])
        places.push_back(addresses(memory, entry.form.workspaces));
      competitors.push_back(
          {result_.rows[entry.row].name, [&entry, places = std::move(places)](std::size_t copy) {
             entry.form.enqueue(places[copy], entry.computation->random.scalars);
           }});
    }
    for (const BenchSetting &setting : options_.settings)
      measure(setting, competitors, setting.cold_l2 ? copies : 1);
    measure_power(competitors);
  }

  /// Whether one launch of a rung takes more than the limit. Then its row has a failure.
  bool is_slow(const Entry &entry, const Memories &memory) {
    BenchRow &row = result_.rows[entry.row];
    if (row.peer)
      return false;
    device_.synchronize(row.name + " failed");
    auto begin = std::chrono::steady_clock::now();
    entry.form.enqueue(addresses(memory, entry.form.workspaces), entry.computation->random.scalars);
    device_.synchronize(row.name + " failed");
    double ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
    if (ms <= options_.most_ms)
      return false;
    row.failure = {fmt::format("one launch takes {:.4g} ms, expected at most {:g} ms", ms, options_.most_ms),
                   "", "", ExitCode::usage};
    return true;
  }

  void measure(const BenchSetting &setting, const std::vector<cuda::Competitor> &competitors,
               std::size_t copies) {
    progress_("measuring " + to_text(setting));
    cuda::MeasureOptions options;
    options.launch = setting.launch;
    options.rounds = options_.rounds;
    options.pause_ms = options_.pause_ms;
    options.copies = copies;
    std::vector<cuda::Measured> measured = cuda::measure(device_, competitors, options, libraries_.nvml.get());
    for (BenchRow &row : result_.rows)
      if (row.failure.code == ExitCode::good)
        row.times.emplace_back();
    for (std::size_t n = 0; n < entries_.size(); ++n) {
      BenchTime time{entries_[n].form.variant, cuda::spread_of(measured[n].ms), measured[n].launches,
                     cuda::spread_of(measured[n].host_us).median, std::nullopt};
      if (!measured[n].sm_mhz.empty())
        time.sm_mhz = cuda::spread_of(measured[n].sm_mhz).median;
      BenchTime &best = result_.rows[entries_[n].row].times.back();
      if (best.ms.median == 0 || time.ms.median < best.ms.median)
        best = time;
    }
  }

  void measure_power(const std::vector<cuda::Competitor> &competitors) {
    if (!libraries_.nvml || options_.power_seconds == 0)
      return;
    for (std::size_t n = 0; n < entries_.size(); ++n) {
      BenchRow &row = result_.rows[entries_[n].row];
      if (entries_[n].form.variant != row.times.front().variant)
        continue;
      progress_("power of " + row.name);
      row.watts = cuda::watts_of(device_, competitors[n], *libraries_.nvml, options_.power_seconds);
    }
  }

  const cuda::Device &device_;
  GpuExecutor &executor_;
  const BenchLibraries &libraries_;
  const BenchOptions &options_;
  const std::function<void(const std::string &)> &progress_;
  std::list<Computation> computations_; ///< the entries point to them
  std::vector<Entry> entries_;
  BenchShape result_;
};

} // namespace

std::optional<double> BenchShape::ratio(const BenchRow &row, std::size_t setting) const {
  std::optional<double> best;
  for (const BenchRow &other : rows)
    if (other.peer && other.computation == row.computation && !other.times.empty())
      best = std::min(best.value_or(other.times[setting].ms.median), other.times[setting].ms.median);
  if (!best || row.times.empty())
    return std::nullopt;
  return *best / row.times[setting].ms.median;
}

ExitCode code_of(const std::vector<BenchShape> &shapes) {
  for (ExitCode code :
       {ExitCode::wrong_result, ExitCode::illegal_schedule, ExitCode::usage, ExitCode::no_device})
    for (const BenchShape &shape : shapes)
      for (const BenchRow &row : shape.rows)
        if (row.failure.code == code)
          return code;
  return ExitCode::good;
}

BenchShape bench(const cuda::Device &device, GpuExecutor &executor, const BenchLibraries &libraries,
                 const std::vector<Planned> &rungs, const BenchOptions &options,
                 const std::function<void(const std::string &)> &progress) {
  internal_check(!rungs.empty() && !options.settings.empty(), "a bench without rungs or settings");
  return Bench(device, executor, libraries, options, progress).run(rungs);
}

} // namespace nestsmith::cli
