#pragma once
/// Clusters of thread blocks: the blocks along `Axis::cluster`. They run at the same time on neighbouring
/// multiprocessors, and a bulk copy of one block can write a box to the same place in the shared memory of all
/// of them (multicast).
///
/// A tile that all blocks of a cluster need is the same for all iterations of the cluster's loop. If a loop of
/// its copy is bound to the cluster again, each block copies the part of its own iteration for all of them.
/// This is the cooperative fetch of threads, one level up:
///
///     for i_c < 2 in cluster:                            block r of the cluster:
///       for k pipelined:                                   for k:
///         for half < 2 in cluster: bulk copy of B_s   =>     copy half r of B_s to both blocks
///         AB: … A_s … B_s …                                  AB of its own rows
///
/// A slot of such a tile is free when its readers in all blocks have released it, because all blocks write to
/// it.
///
/// Source: CUDA C++ Programming Guide, "Thread Block Clusters"; PTX ISA, "cp.async.bulk.tensor",
/// .multicast::cluster.

#include "dsl/ir/program.h"

#include <cstdint>
#include <optional>
#include <string>

namespace nestsmith {

/// The most thread blocks of a cluster that every GPU with clusters runs.
inline constexpr std::int64_t most_blocks_of_cluster = 8;

/// The thread blocks of a cluster of the nest; 1 if no loop is bound to `Axis::cluster`.
std::int64_t blocks_of_cluster(const Stmt &nest);

/// The loop over the cluster that is the inner of two around the block: each block of the cluster executes its
/// iteration for all of them. Null if there is none.
const For *multicast_loop(const Stmt &nest, const Block &block);

/// A requirement of a complete schedule that a block of the nest violates.
struct ClusterBreach {
  std::string message;
  BlockId block;
};
/// `nest` is one nest. Checks that
///   - only bulk copies to shared memory are below two loops over the cluster;
///   - a nest with such a copy has no last block: its blocks wait for each other at the end.
std::optional<ClusterBreach> find_cluster_breach(const Stmt &nest);

} // namespace nestsmith
