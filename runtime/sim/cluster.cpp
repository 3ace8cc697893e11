#include "runtime/sim/cluster.h"

#include <algorithm>

namespace nestsmith::sim {

Cluster::Cluster(const DecodedKernel &decoded, std::vector<GlobalBuffer> &globals, Tracer *tracer,
                 Observation *observation)
    : decoded_(decoded) {
  std::vector<Machine *> all;
  for (std::int64_t rank = 0; rank < decoded.cluster; ++rank) {
    Machine *first = machines_.empty() ? nullptr : machines_.front().get();
    machines_.push_back(std::make_unique<Machine>(decoded, globals, tracer, observation, first));
    all.push_back(machines_.back().get());
  }
  for (const std::unique_ptr<Machine> &machine : machines_)
    machine->cluster = all;
}

void Cluster::run(std::uint64_t number) {
  if (machines_.size() == 1)
    return machines_.front()->run_block(number);
  for (std::size_t rank = 0; rank < machines_.size(); ++rank) // along blockIdx.z
    machines_[rank]->start_block(number + rank * static_cast<std::uint64_t>(decoded_.clusters()));
  for (bool goes_on = true; goes_on;) {
    bool between = false;
    for (const std::unique_ptr<Machine> &machine : machines_)
      if (!machine->run_ready(between))
        return;
    goes_on = between || release();
  }
}

bool Cluster::release() {
  bool any = false;
  for (const std::unique_ptr<Machine> &machine : machines_)
    any = machine->pass_waits() || any;
  if (any)
    return true;
  if (std::ranges::all_of(machines_, &Machine::is_at_cluster_barrier)) {
    machines_.front()->clock.block_barrier(agents_of(decoded_));
    for (const std::unique_ptr<Machine> &machine : machines_)
      machine->pass_cluster_barrier();
    return true;
  }
  if (std::ranges::all_of(machines_, &Machine::is_finished))
    for (const std::unique_ptr<Machine> &machine : machines_)
      machine->report_at_exit();
  else
    machines_.front()->report_deadlock();
  return false;
}

} // namespace nestsmith::sim
