#include "runtime/model/count.h"

#include "lowering/plan.h"
#include "runtime/model/request_counter.h"
#include "runtime/model/walking.h"
#include "runtime/sim/decode.h"
#include "runtime/sim/machine.h"
#include "runtime/sim/workers.h"

#include <algorithm>
#include <atomic>
#include <random>

namespace nestsmith::model {

namespace {

/// Receives the statements of a machine, by their numbers in `StatementObserver::all`.
struct StatementSink : sim::Observation {
  virtual void statement(std::uint32_t number, const sim::Warp &w) = 0;
};

const sim::Instr *tell_statement(const sim::Instr *ip, sim::Warp &w) {
  static_cast<StatementSink &>(*w.machine->observation).statement(ip->b, w);
  return ip + 1;
}

/// Makes a program tell which statements it executes.
struct StatementObserver : sim::Observer {
  struct Decoded {
    kernel::Stmt stmt;
    std::vector<sim::Site::Iteration> loops;
  };
  std::vector<Decoded> all;

  void statement_decoded(const sim::ObservedStatement &seen, sim::Values &values) override {
    values.emit({.run = tell_statement, .b = static_cast<std::uint32_t>(all.size())});
    all.push_back({seen.stmt, seen.loops});
  }
};

/// A sample of the indices 0 … extent - 1 of one grid axis. It represents all of them.
class AxisSample {
public:
  AxisSample(std::int64_t extent, std::int64_t period) : extent_(extent), period_(period) {}

  /// The first index, the last index, and `period` indices in the middle. Each index in the middle represents
  /// the interior indices whose distance from it is a multiple of `period`, because their addresses are alike.
  std::vector<std::int64_t> chosen() const {
    std::vector<std::int64_t> all;
    for (std::int64_t n = 0; n < extent_; ++n)
      if (stands_for(n) == n)
        all.push_back(n);
    return all;
  }
  std::int64_t size() const { return std::min(extent_, period_ + 2); }
  std::int64_t stands_for(std::int64_t index) const {
    if (extent_ <= period_ + 2 || index == 0 || index == extent_ - 1)
      return index;
    std::int64_t middle = 1 + (extent_ - 2 - period_) / 2;
    return middle + floor_mod(index - middle, period_);
  }
  std::uint64_t weight(std::int64_t chosen) const {
    if (extent_ <= period_ + 2 || chosen == 0 || chosen == extent_ - 1)
      return 1;
    std::int64_t first = (chosen - 1) % period_; // counted from the start of the interior
    return static_cast<std::uint64_t>((extent_ - 2 - first + period_ - 1) / period_);
  }

private:
  std::int64_t extent_, period_;
};

struct Chosen {
  std::uint64_t block, weight;
};

/// A sample of the blocks. Each represents all blocks of the same kind: at the same corner or edge, or in the
/// same phase of the interior.
class GridSample {
public:
  GridSample(const std::array<std::int64_t, 3> &grid, std::uint64_t most) : grid_(grid) {
    for (std::int64_t period = 32; period > 0; period /= 2) {
      axes_.clear();
      for (std::int64_t extent : grid)
        axes_.emplace_back(extent, period);
      if (static_cast<std::uint64_t>(axes_[0].size() * axes_[1].size() * axes_[2].size()) <= most)
        break;
    }
  }
  std::vector<Chosen> chosen() const {
    std::vector<Chosen> all;
    for (std::int64_t z : axes_[2].chosen())
      for (std::int64_t y : axes_[1].chosen())
        for (std::int64_t x : axes_[0].chosen())
          all.push_back({number(x, y, z), axes_[0].weight(x) * axes_[1].weight(y) * axes_[2].weight(z)});
    return all;
  }
  std::uint64_t stands_for(std::uint64_t block) const {
    auto n = static_cast<std::int64_t>(block);
    return number(axes_[0].stands_for(n % grid_[0]), axes_[1].stands_for(n / grid_[0] % grid_[1]),
                  axes_[2].stands_for(n / (grid_[0] * grid_[1])));
  }

private:
  std::uint64_t number(std::int64_t x, std::int64_t y, std::int64_t z) const {
    return static_cast<std::uint64_t>((z * grid_[1] + y) * grid_[0] + x);
  }
  std::array<std::int64_t, 3> grid_;
  std::vector<AxisSample> axes_;
};

/// Chooses `count` blocks, evenly spread. Each represents the blocks of an interval around it.
std::vector<Chosen> spread(std::uint64_t blocks, std::uint64_t count) {
  std::vector<Chosen> all;
  for (std::uint64_t n = 0; n < count; ++n) {
    std::uint64_t at = n * blocks / count, next = (n + 1) * blocks / count;
    all.push_back({at + (next - at) / 2, next - at});
  }
  return all;
}

/// The executions and the requests of some blocks.
struct BlockCounts {
  sim::Executions executions;
  RequestHistograms histograms;

  void add(const BlockCounts &other, std::uint64_t times = 1) {
    executions.add(other.executions, times);
    histograms.add(other.histograms, times);
  }
};

/// One machine and its counts.
struct CountedMachine {
  CountedMachine(const sim::DecodedKernel &decoded, const RequestCounter &counting, ParameterMemory &memory)
      : histograms(counting.histograms(decoded)), machine(decoded, memory.buffers, nullptr, &histograms) {}
  CountedMachine(const CountedMachine &) = delete;

  void add_to(BlockCounts &counts, std::uint64_t times) const {
    counts.add({machine.executions, histograms}, times);
  }
  void clear() {
    machine.executions.clear();
    histograms.clear();
  }

  RequestHistograms histograms;
  sim::Machine machine;
};

/// The kernel, decoded for counting.
struct CountedKernel {
  RequestCounter counting{true};
  sim::DecodedKernel decoded;
};

/// Blocks that are counted one by one, so that the largest one is known.
constexpr std::size_t most_compared = 256;

/// The counts of all chosen blocks, each multiplied by its weight.
Counters run_blocks(const CountedKernel &counted, ParameterMemory &memory, const std::vector<Chosen> &blocks,
                    unsigned threads) {
  const sim::DecodedKernel &decoded = counted.decoded;
  const BlockCounts none{sim::Executions(decoded), counted.counting.histograms(decoded)};
  auto evaluated = [&](const sim::Executions &executions, const RequestHistograms &histograms) {
    return evaluate(decoded, counted.counting.accesses(), executions, histograms);
  };
  const bool compared = blocks.size() > 1 && blocks.size() <= most_compared;
  struct Part {
    BlockCounts counts;
    std::uint64_t largest = 0; ///< warp instructions of a block
  };
  std::vector<Part> parts(threads, Part{none});
  std::atomic<std::size_t> next = 0;
  sim::run_workers(parts, [&](Part &mine) {
    CountedMachine single(decoded, counted.counting, memory), weighted(decoded, counted.counting, memory);
    for (std::size_t n = next++; n < blocks.size(); n = next++) {
      if (blocks[n].weight == 1 && !compared) {
        single.machine.run_block(blocks[n].block);
        continue;
      }
      weighted.clear();
      weighted.machine.run_block(blocks[n].block);
      weighted.add_to(mine.counts, blocks[n].weight);
      if (compared)
        mine.largest = std::max(
            mine.largest, evaluated(weighted.machine.executions, weighted.histograms).instructions().warps);
    }
    single.add_to(mine.counts, 1);
  });
  BlockCounts all = none;
  std::uint64_t largest = 0, represented = 0;
  for (const Part &part : parts) {
    all.add(part.counts);
    largest = std::max(largest, part.largest);
  }
  for (const Chosen &block : blocks)
    represented += block.weight;
  Counters counters = evaluated(all.executions, all.histograms);
  if (const std::uint64_t sum = counters.instructions().warps; compared && sum > 0)
    counters.largest_block =
        static_cast<double>(largest) * static_cast<double>(represented) / static_cast<double>(sum);
  return counters;
}

bool alike(const Counters &a, const Counters &b) {
  auto sums = [](const Counters &c) {
    std::vector<std::uint64_t> all = {c.instructions().warps, c.instructions().threads, c.divergent};
    for (const AccessCounts &access : c.accesses)
      all.insert(all.end(), {access.requests, access.threads, access.sectors, access.wavefronts});
    return all;
  };
  return sums(a) == sums(b);
}

/// Whether blocks drawn at random have the same counts as the blocks that represent them.
bool holds(const GridSample &sample, const CountedKernel &counted, ParameterMemory &memory) {
  std::mt19937_64 random(counted.decoded.blocks);
  auto of = [&](std::uint64_t block) { return run_blocks(counted, memory, {{block, 1}}, 1); };
  for (int n = 0; n < 16; ++n) {
    std::uint64_t block = random() % static_cast<std::uint64_t>(counted.decoded.blocks),
                  other = sample.stands_for(block);
    if (block != other && !alike(of(block), of(other)))
      return false;
  }
  return true;
}

/// Allocates the parameters in `memory` if the kernel depends on their values.
CountedKernel decoded(const kernel::Kernel &kernel, std::span<const Scalar> scalars, ParameterMemory &memory) {
  CountedKernel counted;
  counted.decoded = decode(kernel, scalars, memory.buffers,
                           {.values = false,
                            .barriers = false,
                            .unroll = unrolled_statements,
                            .iterations = phases,
                            .observer = &counted.counting});
  if (counted.decoded.depends_on_data) {
    memory.fill();
    counted.counting = RequestCounter(false);
    counted.decoded = decode(kernel, scalars, memory.buffers, {.check = false, .observer = &counted.counting});
  }
  return counted;
}

} // namespace

Counters count(const kernel::Kernel &kernel, std::span<const Scalar> scalars, const CountOptions &options) {
  ParameterMemory memory(kernel);
  CountedKernel counted = decoded(kernel, scalars, memory);
  auto all = static_cast<std::uint64_t>(counted.decoded.blocks);
  bool estimated = false;
  std::vector<Chosen> blocks;
  if (options.max_blocks == 0 || all <= options.max_blocks) {
    blocks = spread(all, all);
  } else {
    GridSample sample(counted.decoded.grid, options.max_blocks);
    estimated = !holds(sample, counted, memory);
    blocks = estimated ? spread(all, options.max_blocks) : sample.chosen();
  }
  unsigned threads = sim::worker_count(options.host_threads, blocks.size());
  Counters counters = run_blocks(counted, memory, blocks, threads);
  counters.blocks = all;
  counters.counted = blocks.size();
  counters.estimated = estimated;
  return counters;
}

std::optional<Counters> counted_before(const kernel::Kernel &kernel, std::span<const Scalar> scalars,
                                       Counters counts) {
  ParameterMemory memory(kernel);
  CountedKernel counted = decoded(kernel, scalars, memory);
  Counters none = run_blocks(counted, memory, {}, 1);
  if (none.accesses.size() != counts.accesses.size())
    return std::nullopt;
  for (std::size_t n = 0; n < counts.accesses.size(); ++n) {
    RequestSums sums = counts.accesses[n], merged = counts.accesses[n].merged;
    counts.accesses[n] = std::move(none.accesses[n]);
    static_cast<RequestSums &>(counts.accesses[n]) = sums;
    counts.accesses[n].merged = merged;
  }
  return counts;
}

void each_request(const kernel::Kernel &kernel, std::span<const Scalar> scalars, std::uint64_t block,
                  FunctionRef<bool(const VisitedRequest &)> visit) {
  struct Visitor : Sink {
    explicit Visitor(FunctionRef<bool(const VisitedRequest &)> f) : visit(f) {}
    FunctionRef<bool(const VisitedRequest &)> visit;
    std::vector<std::size_t> positions;
    bool more = true;
    void request(std::uint32_t number, const sim::Access &a, const sim::Warp &w, std::uint32_t mask) override {
      auto lanes = [&] { return request_now(a, w, mask); };
      more = more && visit({positions[number], w.index, lanes});
    }
  };
  ParameterMemory memory(kernel);
  Walking walking(true);
  sim::DecodedKernel decoded =
      decode_to_walk(kernel, scalars, memory, [&]() -> sim::Observer & { return walking = Walking(true); });
  Visitor sink(visit);
  sink.positions = positions(decoded, walking.accesses());
  sim::Machine machine(decoded, memory.buffers, nullptr, &sink);
  machine.start_block(block);
  while (sink.more && machine.round()) {
  }
}

void each_statement(const kernel::Kernel &kernel, std::span<const Scalar> scalars, std::uint64_t block,
                    FunctionRef<void(const VisitedStatement &)> visit) {
  StatementObserver observer;
  struct Visitor : StatementSink {
    Visitor(const StatementObserver &o, FunctionRef<void(const VisitedStatement &)> f)
        : observer(o), visit(f) {}
    const StatementObserver &observer;
    FunctionRef<void(const VisitedStatement &)> visit;
    std::vector<LoopValue> loops; ///< kept, because most statements are in many loops
    void statement(std::uint32_t number, const sim::Warp &w) override {
      const StatementObserver::Decoded &decoded = observer.all[number];
      loops.clear();
      for (const sim::Site::Iteration &at : decoded.loops)
        loops.push_back({at.loop, reg<std::int64_t>(w, at.reg) + at.plus});
      visit({decoded.stmt, w.index, loops});
    }
  };
  ParameterMemory memory(kernel);
  sim::DecodedKernel decoded = decode_to_walk(
      kernel, scalars, memory, [&]() -> sim::Observer & { return observer = StatementObserver(); });
  Visitor sink(observer, visit);
  sim::Machine(decoded, memory.buffers, nullptr, &sink).run_block(block);
}

std::optional<WarpRequest> first_request(const kernel::Kernel &kernel, std::span<const Scalar> scalars,
                                         std::size_t access, std::uint64_t block, std::uint32_t warp) {
  std::optional<WarpRequest> found;
  each_request(kernel, scalars, block, [&](const VisitedRequest &request) {
    if (request.access == access && request.warp == warp)
      found = request.lanes();
    return !found;
  });
  return found;
}

} // namespace nestsmith::model
