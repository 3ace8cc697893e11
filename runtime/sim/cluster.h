#pragma once
/// The machines of the thread blocks of a cluster, which run together because they fill tiles of each other; or
/// one machine, of a kernel whose blocks do not.

#include "runtime/sim/machine.h"

#include <memory>
#include <vector>

namespace nestsmith::sim {

class Cluster {
public:
  Cluster(const DecodedKernel &decoded, std::vector<GlobalBuffer> &globals, Tracer *tracer = nullptr,
          Observation *observation = nullptr);

  /// Runs the blocks of cluster number `number`, of `DecodedKernel::clusters`.
  void run(std::uint64_t number);
  /// The number of the cluster of a block.
  std::uint64_t cluster_of(std::uint64_t block) const {
    return block % static_cast<std::uint64_t>(decoded_.clusters());
  }

  const std::vector<std::unique_ptr<Machine>> &machines() const { return machines_; }

private:
  /// Called when no warp can proceed. Returns false if the blocks are complete, or if they never will be.
  bool release();

  const DecodedKernel &decoded_;
  std::vector<std::unique_ptr<Machine>> machines_;
};

} // namespace nestsmith::sim
