#pragma once
/// The part of a search that one of several processes does. `srun` and `mpirun` tell each process its rank.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

namespace nestsmith::cli {

struct Shard {
  std::int64_t index = 0, count = 1; ///< process `index` of `count`, from 0
  /// The rank among the processes of this machine: it selects the GPU. None if no launcher tells it.
  std::optional<std::int64_t> local_rank = std::nullopt;
  std::string source; ///< "--shard", "Slurm", …; empty for a single process

  /// Whether this process tries the candidate at this position. The first candidate belongs to every process.
  bool has(std::size_t position) const {
    return position == 0 || static_cast<std::int64_t>(position) % count == index;
  }
  /// A file name of this process: "tune.db" becomes "tune.1-of-4.db". Unchanged for a single process.
  std::filesystem::path file(const std::filesystem::path &path) const;
};

/// Returns the value of an environment variable, or none.
using Environment = std::function<std::optional<std::string>(const char *)>;
Environment process_environment();

/// The shard that `given` names as "I/N", otherwise that of the first launcher whose variables are set: Slurm
/// (SLURM_PROCID), Open MPI (OMPI_COMM_WORLD_RANK), PMI (PMI_RANK). Throws UserError (usage) for a malformed
/// value.
Shard chosen_shard(const std::optional<std::string> &given, const Environment &environment);

/// The value of CUDA_VISIBLE_DEVICES that selects the GPU of the local rank. None if nothing must be set:
/// without a local rank, or if the launcher shows one GPU only.
std::optional<std::string> visible_device(const Shard &shard, const Environment &environment);

} // namespace nestsmith::cli
