#pragma once
/// Parallel execution on the host's cores: of the blocks of a grid, and of any other list.

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <thread>
#include <vector>

namespace nestsmith::sim {

/// The number of host threads: `asked`, or the number of cores if `asked` is 0. At most the number of blocks.
inline unsigned worker_count(unsigned asked, std::uint64_t blocks) {
  unsigned threads = asked ? asked : std::max(1u, std::thread::hardware_concurrency());
  return static_cast<unsigned>(std::clamp<std::uint64_t>(blocks, 1, threads));
}

/// Calls `work(worker)` for each element of `workers`, each on its own thread. The first call runs on the
/// calling thread. After all calls have finished, rethrows the exception of the first worker in the list that
/// failed.
template <class Worker, class Work> void run_workers(std::vector<Worker> &workers, const Work &work) {
  std::vector<std::exception_ptr> failures(workers.size());
  auto run = [&](std::size_t n) {
    try {
      work(workers[n]);
    } catch (...) {
      failures[n] = std::current_exception();
    }
  };
  std::vector<std::thread> others;
  for (std::size_t n = 1; n < workers.size(); ++n)
    others.emplace_back(run, n);
  run(0);
  for (std::thread &other : others)
    other.join();
  for (const std::exception_ptr &failure : failures)
    if (failure)
      std::rethrow_exception(failure);
}

/// Calls `work(n)` for each n below `count` on `worker_count(asked, count)` threads, which take the numbers in
/// ascending order. Rethrows as `run_workers` does.
template <class Work> void for_each_index(unsigned asked, std::size_t count, const Work &work) {
  std::atomic<std::size_t> next = 0;
  std::vector<unsigned> workers(worker_count(asked, count));
  run_workers(workers, [&](unsigned) {
    for (std::size_t n = next++; n < count; n = next++)
      work(n);
  });
}

} // namespace nestsmith::sim
