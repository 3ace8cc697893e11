#pragma once
/// Blocks of the grid run side by side on the host's cores.

#include <algorithm>
#include <cstdint>
#include <exception>
#include <thread>
#include <vector>

namespace nestsmith::sim {

/// So many threads as are asked for, or one for each core where that is 0; no more than there are blocks.
inline unsigned worker_count(unsigned asked, std::uint64_t blocks) {
  unsigned threads = asked ? asked : std::max(1u, std::thread::hardware_concurrency());
  return static_cast<unsigned>(std::clamp<std::uint64_t>(blocks, 1, threads));
}

/// Calls `work(worker)` for each of `workers`, each on a thread of its own, the first on this one. What the
/// first of them that failed threw is thrown once all have ended.
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

} // namespace nestsmith::sim
