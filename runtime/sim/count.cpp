#include "runtime/sim/count.h"

#include "lowering/plan.h"
#include "runtime/sim/decode.h"
#include "runtime/sim/evaluate.h"
#include "runtime/sim/machine.h"

#include <algorithm>
#include <exception>
#include <list>
#include <thread>

namespace nestsmith::sim {

namespace {

/// Coordinates on one axis of the grid, and how many each stands for.
using Sample = std::vector<std::pair<std::int64_t, std::uint64_t>>;

/// The first, the last, and `period` in the middle; each of these stands for those of the interior that are a
/// multiple of the period away, so that addresses are alike as well.
Sample sample_axis(std::int64_t extent, std::int64_t period) {
  Sample sample;
  if (extent <= period + 2) {
    for (std::int64_t n = 0; n < extent; ++n)
      sample.emplace_back(n, 1);
    return sample;
  }
  sample.emplace_back(0, 1);
  std::int64_t interior = extent - 2, middle = 1 + (interior - period) / 2;
  for (std::int64_t n = middle; n < middle + period; ++n) {
    std::int64_t first = (n - 1) % period; // from the start of the interior
    sample.emplace_back(n, static_cast<std::uint64_t>((interior - first + period - 1) / period));
  }
  sample.emplace_back(extent - 1, 1);
  return sample;
}

struct Chosen {
  std::uint64_t block, weight;
};

std::vector<Chosen> choose_blocks(const std::array<std::int64_t, 3> &grid, std::uint64_t most) {
  std::array<Sample, 3> axes;
  for (std::int64_t period = 32; period > 0; period /= 2) {
    std::uint64_t count = 1;
    for (std::size_t n = 0; n < 3; ++n) {
      axes[n] = sample_axis(grid[n], period);
      count *= axes[n].size();
    }
    if (count <= most)
      break;
  }
  std::vector<Chosen> chosen;
  for (auto [z, wz] : axes[2])
    for (auto [y, wy] : axes[1])
      for (auto [x, wx] : axes[0])
        chosen.push_back({static_cast<std::uint64_t>((z * grid[1] + y) * grid[0] + x), wx * wy * wz});
  return chosen;
}

/// What the kernel's parameters are to a run that needs no values, or to one on zeros.
struct Memory {
  std::list<Array> arrays;
  std::vector<GlobalBuffer> buffers;

  explicit Memory(const kernel::Kernel &kernel) : buffers(kernel.params.size()) {
    for (std::size_t n = 0; n < buffers.size(); ++n)
      buffers[n].elements = kernel::element_count(kernel.params[n]);
  }
  void fill(const kernel::Kernel &kernel) {
    for (std::size_t n = 0; n < buffers.size(); ++n) {
      Array &array = arrays.emplace_back(kernel.params[n]->dtype, std::vector{buffers[n].elements});
      buffers[n].data = array.data();
      buffers[n].written.resize(static_cast<std::size_t>(buffers[n].elements));
    }
  }
};

/// The tallies of all chosen blocks, each as often as its weight says.
Tally run_blocks(const Program &program, Memory &memory, const std::vector<Chosen> &blocks, unsigned threads) {
  struct Worker {
    Tally tally;
    std::exception_ptr failure;
  };
  std::vector<Worker> workers(threads, {Tally(program), nullptr});
  std::atomic<std::size_t> next = 0;
  auto work = [&](Worker &worker) {
    try {
      Machine single(program, memory.buffers), weighted(program, memory.buffers);
      for (std::size_t n = next++; n < blocks.size(); n = next++) {
        if (blocks[n].weight == 1) {
          single.run_block(blocks[n].block);
          continue;
        }
        weighted.tally.clear();
        weighted.run_block(blocks[n].block);
        worker.tally.add(weighted.tally, blocks[n].weight);
      }
      worker.tally.add(single.tally);
    } catch (...) {
      worker.failure = std::current_exception();
    }
  };
  std::vector<std::thread> others;
  for (unsigned n = 1; n < threads; ++n)
    others.emplace_back(work, std::ref(workers[n]));
  work(workers[0]);
  for (std::thread &other : others)
    other.join();
  Tally all(program);
  for (Worker &worker : workers) {
    if (worker.failure)
      std::rethrow_exception(worker.failure);
    all.add(worker.tally);
  }
  return all;
}

} // namespace

Counters count(const kernel::Kernel &kernel, std::span<const Scalar> scalars, const CountOptions &options) {
  Memory memory(kernel);
  const Options unchecked{.check = false, .count = true};
  Program program = decode(kernel, scalars, memory.buffers, unchecked, Mode::count);
  if (program.depends_on_data) {
    memory.fill(kernel);
    program = decode(kernel, scalars, memory.buffers, unchecked, Mode::run);
  }
  auto all = static_cast<std::uint64_t>(program.blocks);
  std::uint64_t most = options.max_blocks == 0 ? all : options.max_blocks;
  std::vector<Chosen> blocks;
  if (all > most)
    blocks = choose_blocks(program.grid, most);
  else
    for (std::uint64_t block = 0; block < all; ++block)
      blocks.push_back({block, 1});
  unsigned threads =
      options.host_threads ? options.host_threads : std::max(1u, std::thread::hardware_concurrency());
  threads = std::min<unsigned>(threads, static_cast<unsigned>(std::min<std::size_t>(blocks.size(), 1024)));
  Counters counters = evaluate(program, run_blocks(program, memory, blocks, threads));
  counters.blocks = all;
  counters.counted = blocks.size();
  return counters;
}

std::optional<WarpRequest> first_request(const kernel::Kernel &kernel, std::span<const Scalar> scalars,
                                         std::size_t access, std::uint64_t block, std::uint32_t warp) {
  struct First : Sink {
    std::vector<std::size_t> positions;
    std::size_t wanted = 0;
    std::uint32_t warp = 0;
    std::optional<WarpRequest> found;
    void request(const Access &a, const Warp &w, std::uint32_t mask) override {
      if (!found && w.index == warp && positions[a.counter] == wanted)
        found = request_now(a, w, mask);
    }
  };
  Memory memory(kernel);
  Program program = decode(kernel, scalars, memory.buffers, {.check = false}, Mode::walk_all);
  First sink;
  sink.positions = positions(program);
  sink.wanted = access;
  sink.warp = warp;
  Machine machine(program, memory.buffers);
  machine.sink = &sink;
  machine.start_block(block);
  while (!sink.found && machine.round()) {
  }
  return sink.found;
}

} // namespace nestsmith::sim
