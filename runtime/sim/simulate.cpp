#include "runtime/sim/simulate.h"

#include "dsl/expr/error.h"
#include "lowering/hazards.h"
#include "runtime/sim/cluster.h"
#include "runtime/sim/decode.h"
#include "runtime/sim/machine.h"
#include "runtime/sim/observer.h"
#include "runtime/sim/orders.h"
#include "runtime/sim/report.h"
#include "runtime/sim/trace.h"
#include "runtime/sim/workers.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstring>
#include <fmt/format.h>
#include <numeric>
#include <random>

namespace nestsmith::sim {

namespace {

/// The outcome of one run of all blocks.
struct Outcome {
  /// For each kind and source, the first event in the lowest block. Sorted by block and kind.
  std::vector<Event> events;
  Stats stats;
  Executions executions;
  std::vector<std::unique_ptr<Observation>> observations;
};

class Simulation {
public:
  Simulation(const kernel::Kernel &kernel, std::span<const Argument> arguments, std::span<const Scalar> scalars,
             const Options &options);
  Result run();

private:
  void start_shadows();
  void start_written(std::size_t n, GlobalBuffer &buffer) const;
  bool counts_arrivals(std::size_t param) const {
    return std::ranges::any_of(decoded_.arrivals, [&](const Arrival &x) { return x.counters == param; });
  }
  std::vector<std::uint64_t> order_of_blocks() const;
  void check_counters(std::vector<Diagnostic> &diagnostics) const;
  void check_counter_accesses(std::vector<CounterAccess> accesses, std::vector<Event> &events) const;
  void check_orders(const Stats &stats, std::vector<Diagnostic> &diagnostics) const;
  std::optional<std::string> difference(const OrderedRun &first, const OrderedRun &other,
                                        const std::string &first_text, const std::string &other_text) const;
  void save();
  void restore();
  Outcome run_blocks(unsigned threads);
  std::vector<Diagnostic> explain(const std::vector<Event> &events);
  void run_before(const Event &event, std::vector<GlobalBuffer> &globals) const;
  void explain_race(const Event &event, std::vector<Diagnostic> &diagnostics);

  const kernel::Kernel &kernel_;
  std::span<const Scalar> scalars_;
  const Options &options_;
  std::vector<GlobalBuffer> globals_;
  DecodedKernel decoded_;
  std::vector<std::vector<bool>> earlier_;      ///< of each parameter: elements stored by earlier kernels
  std::vector<std::size_t> bytes_;              ///< of each parameter
  std::vector<std::vector<std::byte>> initial_; ///< of each parameter that the kernel stores
  std::set<std::pair<std::uint64_t, std::uint64_t>> explained_; ///< pairs of blocks
  std::set<std::pair<int, int>> reported_;                      ///< pairs of sources
};

Simulation::Simulation(const kernel::Kernel &kernel, std::span<const Argument> arguments,
                       std::span<const Scalar> scalars, const Options &options)
    : kernel_(kernel), scalars_(scalars), options_(options), globals_(arguments.size()) {
  internal_check(arguments.size() == kernel.params.size(),
                 "a kernel is simulated with the wrong number of buffers");
  for (std::size_t n = 0; n < arguments.size(); ++n) {
    Array *array = arguments[n].array;
    internal_check(array && array->dtype() == kernel.params[n]->dtype,
                   "an array of another dtype than the kernel's");
    for (std::size_t m = 0; m < n; ++m)
      internal_check(arguments[m].array != array, "two parameters of a kernel share an array");
    globals_[n].data = array->data();
    globals_[n].elements = array->size();
    const std::vector<bool> &written = arguments[n].written;
    internal_check(written.empty() || written.size() == static_cast<std::size_t>(array->size()),
                   "what is written is known of another number of elements");
    bool all_written = !written.empty() && std::find(written.begin(), written.end(), false) == written.end();
    bool own = kernel.params[n]->role != Role::output && kernel.params[n]->role != Role::temporary;
    globals_[n].starts_written = all_written || (arguments[n].initialised && own);
    earlier_.push_back(written);
    bytes_.push_back(array->bytes());
  }
  decoded_ = decode(kernel, scalars, globals_,
                    {.check = options.check,
                     .baseline = options.baseline,
                     .arithmetic = options.arithmetic,
                     .arrivals = true,
                     .weak = options.weak,
                     .observer = options.observer});
}

/// Of the blocks, or of the clusters. Empty: in ascending order.
std::vector<std::uint64_t> Simulation::order_of_blocks() const {
  std::vector<std::uint64_t> order;
  if ((decoded_.arrivals.empty() && !decoded_.has_atomics()) || options_.order == 0)
    return order;
  order.resize(static_cast<std::size_t>(decoded_.clusters()));
  std::iota(order.begin(), order.end(), 0);
  std::mt19937_64 random(options_.order);
  for (std::size_t n = order.size(); n > 1; --n) // std::shuffle depends on the library
    std::swap(order[n - 1], order[random() % n]);
  return order;
}

void Simulation::check_counters(std::vector<Diagnostic> &diagnostics) const {
  for (std::size_t n = 0; n < globals_.size(); ++n)
    for (std::int64_t at = 0; counts_arrivals(n) && at < globals_[n].elements; ++at)
      if (std::uint32_t left = reinterpret_cast<const std::uint32_t *>(globals_[n].data)[at])
        return diagnostics.push_back(
            {ErrorKind::counter_left,
             fmt::format(
                 "counter {} of the arrivals is {} at the end of the kernel, expected 0, so the next launch "
                 "counts from there",
                 at, left)});
}

void Simulation::start_shadows() {
  for (std::size_t n = 0; n < globals_.size(); ++n) {
    GlobalBuffer &buffer = globals_[n];
    auto elements = static_cast<std::size_t>(buffer.elements);
    start_written(n, buffer);
    buffer.counts_arrivals = counts_arrivals(n);
    buffer.arrivals.clear();
    buffer.reads.of_blocks.clear();
    buffer.updates.of_blocks.clear();
    if (!options_.check || !decoded_.stored[n])
      continue;
    buffer.writes = std::vector<std::atomic<std::uint64_t>>(elements);
    if (decoded_.loaded[n])
      buffer.reads.entries = std::vector<std::atomic<std::uint64_t>>(elements);
    if (decoded_.updated[n])
      buffer.updates.entries = std::vector<std::atomic<std::uint64_t>>(elements);
  }
}

void Simulation::start_written(std::size_t n, GlobalBuffer &buffer) const {
  buffer.written.assign(static_cast<std::size_t>(buffer.elements), 0);
  std::copy(earlier_[n].begin(), earlier_[n].end(), buffer.written.begin());
}

void Simulation::save() {
  initial_.resize(globals_.size());
  if (!options_.check)
    return;
  for (std::size_t n = 0; n < globals_.size(); ++n)
    if (decoded_.stored[n])
      initial_[n].assign(globals_[n].data, globals_[n].data + bytes_[n]);
}

void Simulation::restore() {
  for (std::size_t n = 0; n < globals_.size(); ++n)
    std::copy(initial_[n].begin(), initial_[n].end(), globals_[n].data);
}

void add_stats(Stats &stats, const Machine &m) {
  auto add = [&](const RegionCounts &counts, std::uint64_t threads, std::uint64_t warps) {
    stats.multiply_adds += counts.multiply_adds * threads;
    stats.loads_global += counts.loads_global * threads;
    stats.stores_global += counts.stores_global * threads;
    stats.loads_shared += counts.loads_shared * threads;
    stats.stores_shared += counts.stores_shared * threads;
    stats.barriers += counts.barriers * warps;
  };
  m.executions.each(
      m.decoded, [&](std::uint32_t region, std::uint32_t, std::uint32_t mask, std::uint64_t times) {
        add(m.decoded.regions[region], static_cast<std::uint64_t>(std::popcount(mask)) * times, times);
      });
  add(m.masked, 1, 1);
}

Outcome Simulation::run_blocks(unsigned threads) {
  start_shadows();
  struct Worker {
    std::vector<Event> events;
    std::vector<CounterAccess> counter_accesses;
    Stats stats;
    Executions executions;
    std::unique_ptr<Observation> observation;
  };
  std::vector<Worker> workers;
  for (unsigned n = 0; n < threads; ++n)
    workers.push_back(
        {{}, {}, {}, Executions(decoded_), options_.observer ? options_.observer->start(decoded_) : nullptr});
  std::atomic<std::uint64_t> next = 0;
  std::vector<std::uint64_t> order = order_of_blocks();
  run_workers(workers, [&](Worker &worker) {
    Cluster cluster(decoded_, globals_, nullptr, worker.observation.get());
    auto clusters = static_cast<std::uint64_t>(decoded_.clusters());
    for (std::uint64_t number = next++; number < clusters; number = next++)
      cluster.run(order.empty() ? number : order[number]);
    for (const std::unique_ptr<Machine> &machine : cluster.machines()) {
      std::ranges::move(machine->events, std::back_inserter(worker.events));
      std::ranges::move(machine->counter_accesses, std::back_inserter(worker.counter_accesses));
      add_stats(worker.stats, *machine);
      worker.executions.add(machine->executions);
    }
  });

  Outcome outcome{{}, {}, Executions(decoded_), {}};
  for (Worker &worker : workers) {
    std::move(worker.events.begin(), worker.events.end(), std::back_inserter(outcome.events));
    check_counter_accesses(std::move(worker.counter_accesses), outcome.events);
    outcome.stats += worker.stats;
    outcome.executions.add(worker.executions);
    outcome.observations.push_back(std::move(worker.observation));
  }
  // The events of one block come from one machine, in the order in which they happened, so a stable sort gives
  // the same order for any number of machines. Races come first, because a race may be the cause of an
  // unwritten element.
  std::stable_sort(outcome.events.begin(), outcome.events.end(), [](const Event &a, const Event &b) {
    return std::pair(a.block, a.kind) < std::pair(b.block, b.kind);
  });
  std::set<std::tuple<ErrorKind, int, bool>> seen;
  std::erase_if(outcome.events, [&](const Event &e) {
    bool between = e.kind == ErrorKind::race && e.other_block != e.block;
    return !seen.insert({e.kind, decoded_.sites[e.site].source, between}).second;
  });
  return outcome;
}

/// Runs the blocks that arrive before the blocks of the race, without checks, so that the last block is the
/// same.
void Simulation::run_before(const Event &event, std::vector<GlobalBuffer> &globals) const {
  if (decoded_.arrivals.empty())
    return;
  DecodedKernel values = decode(
      kernel_, scalars_, globals,
      {.check = false, .baseline = options_.baseline, .arithmetic = options_.arithmetic, .arrivals = true});
  Cluster cluster(values, globals);
  std::vector<std::uint64_t> order = order_of_blocks();
  for (std::uint64_t n = 0; n < static_cast<std::uint64_t>(decoded_.clusters()); ++n) {
    std::uint64_t number = order.empty() ? n : order[n];
    if (number == cluster.cluster_of(event.block))
      return;
    if (event.other_block == unknown_block || number != cluster.cluster_of(event.other_block))
      cluster.run(number);
  }
}

/// Runs the blocks again on a copy of the initial memory, and records both sides of each race.
void Simulation::explain_race(const Event &event, std::vector<Diagnostic> &diagnostics) {
  if (!explained_.insert({event.other_block, event.block}).second)
    return;
  std::vector<std::vector<std::byte>> memory = initial_;
  std::vector<GlobalBuffer> globals(globals_.size());
  for (std::size_t n = 0; n < globals.size(); ++n) {
    globals[n].data = memory[n].empty() ? globals_[n].data : memory[n].data();
    globals[n].elements = globals_[n].elements;
    globals[n].starts_written = globals_[n].starts_written;
    start_written(n, globals[n]);
  }
  run_before(event, globals);
  Tracer tracer(decoded_);
  std::unique_ptr<Observation> unused = options_.observer ? options_.observer->start(decoded_) : nullptr;
  Cluster cluster(decoded_, globals, &tracer, unused.get());
  const std::uint64_t number = cluster.cluster_of(event.block);
  if (event.other_block != unknown_block && cluster.cluster_of(event.other_block) != number)
    cluster.run(cluster.cluster_of(event.other_block));
  cluster.run(number);
  bool found = false;
  for (const RacePair &pair : tracer.pairs()) {
    int a = decoded_.sites[pair.first.access->site].source, b = decoded_.sites[pair.second.access->site].source;
    found = true;
    if (pair.first.block != pair.second.block && b < a)
      std::swap(a, b);
    if (reported_.emplace(a, b).second && diagnostics.size() < options_.max_diagnostics)
      diagnostics.push_back(describe(decoded_, pair));
  }
  // The accesses of one side may depend on the stores of a third block, so a race may not happen again.
  if (!found)
    diagnostics.push_back(describe(decoded_, event));
}

std::vector<Diagnostic> Simulation::explain(const std::vector<Event> &events) {
  std::vector<Diagnostic> diagnostics;
  for (const Event &event : events) {
    if (diagnostics.size() >= options_.max_diagnostics)
      break;
    if (!options_.explain)
      diagnostics.push_back({event.kind, name(event.kind)});
    else if (event.kind == ErrorKind::race && event.detail.empty())
      explain_race(event, diagnostics);
    else
      diagnostics.push_back(describe(decoded_, event));
  }
  kernel::OfProgram of_program(kernel_);
  for (Diagnostic &diagnostic : diagnostics)
    if (diagnostic.hazard)
      diagnostic.hazard = of_program(*diagnostic.hazard);
  return diagnostics;
}

/// Keeps the accesses to arrival counters that race with an arrival of another block.
void Simulation::check_counter_accesses(std::vector<CounterAccess> accesses, std::vector<Event> &events) const {
  for (CounterAccess &access : accesses) {
    const ArrivalLog &log = globals_[access.counters].arrivals;
    auto counter = log.find(access.event.element);
    auto by_others = [&](const auto &arrival) { return arrival.first != access.event.block; };
    if (counter != log.end() &&
        std::ranges::count_if(counter->second.made, by_others) > static_cast<std::ptrdiff_t>(access.ordered))
      events.push_back(std::move(access.event));
  }
}

/// The first element whose bits differ.
std::optional<std::string> Simulation::difference(const OrderedRun &first, const OrderedRun &other,
                                                  const std::string &first_text,
                                                  const std::string &other_text) const {
  for (std::size_t n = 0; n < first.memory.size(); ++n) {
    const Buffer &param = kernel_.params[n];
    auto at = std::ranges::mismatch(first.memory[n], other.memory[n]).in1 - first.memory[n].begin();
    if (at == static_cast<std::ptrdiff_t>(first.memory[n].size()))
      continue;
    auto width = static_cast<std::ptrdiff_t>(byte_size(param->dtype)), element = at / width;
    auto value = [&](const OrderedRun &run) {
      Scalar scalar{param->dtype, 0};
      std::memcpy(&scalar.bits, run.memory[n].data() + element * width, static_cast<std::size_t>(width));
      return scalar.to_double();
    };
    return fmt::format("{}[{}] ({}) is {} if {}, and {} if {}: the result depends on the order in which blocks "
                       "arrive at a counter",
                       param->name, element, name(param->scope), value(first), first_text, value(other),
                       other_text);
  }
  return std::nullopt;
}

/// Runs the kernel in other orders of its blocks, without checks, and compares all that it stores.
void Simulation::check_orders(const Stats &stats, std::vector<Diagnostic> &diagnostics) const {
  constexpr std::uint64_t few_operations = 1 << 21;
  bool few = stats.multiply_adds + stats.loads_global + stats.stores_global + stats.loads_shared +
                 stats.stores_shared <=
             few_operations;
  DecodedKernel values = decode(
      kernel_, scalars_, globals_,
      {.check = false, .baseline = options_.baseline, .arithmetic = options_.arithmetic, .arrivals = true});
  struct Run {
    BlockOrder order;
    OrderedRun result;
  };
  std::vector<Run> runs;
  for (BlockOrder &order : block_orders(decoded_, few))
    runs.push_back({std::move(order), {}});
  for_each_index(options_.host_threads, runs.size(), [&](std::size_t n) {
    runs[n].result = run_in_order(values, globals_, initial_, runs[n].order);
  });
  for (const Run &run : runs)
    if (auto text = difference(runs.front().result, run.result, runs.front().order.text, run.order.text))
      return diagnostics.push_back(
          {ErrorKind::order_of_blocks, options_.explain ? *text : name(ErrorKind::order_of_blocks)});
}

Result Simulation::run() {
  auto start = std::chrono::steady_clock::now();
  unsigned threads = worker_count(options_.host_threads, static_cast<std::uint64_t>(decoded_.blocks));
  if (!decoded_.arrivals.empty() || decoded_.has_atomics())
    threads = 1; // which block is the last one, and the order of roundings, must not depend on the host
  save();
  Outcome outcome = run_blocks(threads);
  // If blocks race, the result depends on the order in which the host runs them. So run them again, one after
  // the other. Then the results and the diagnostics are the same on every host.
  bool between = std::any_of(outcome.events.begin(), outcome.events.end(), [](const Event &e) {
    return e.kind == ErrorKind::race && e.other_block != e.block;
  });
  if (between && threads > 1) {
    restore();
    outcome = run_blocks(1);
  }
  Result result;
  result.diagnostics = explain(outcome.events);
  if (result.good())
    check_counters(result.diagnostics);
  if (result.good() && options_.check && !options_.observer && !decoded_.arrivals.empty() &&
      !decoded_.rounds_in_any_order)
    check_orders(outcome.stats, result.diagnostics);
  result.stats = outcome.stats;
  if (options_.observer)
    options_.observer->finish(decoded_, outcome.executions, outcome.observations);
  for (const GlobalBuffer &buffer : globals_)
    result.written.emplace_back(buffer.written.begin(), buffer.written.end());
  result.stats.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

} // namespace

Stats &Stats::operator+=(const Stats &other) {
  multiply_adds += other.multiply_adds;
  loads_global += other.loads_global;
  stores_global += other.stores_global;
  loads_shared += other.loads_shared;
  stores_shared += other.stores_shared;
  barriers += other.barriers;
  seconds += other.seconds;
  return *this;
}

Result run(const kernel::Kernel &kernel, std::span<const Argument> buffers, std::span<const Scalar> scalars,
           const Options &options) {
  return Simulation(kernel, buffers, scalars, options).run();
}

} // namespace nestsmith::sim
