#pragma once
/// Code that steps of the tutorial share.

#include "schedules/rung.h"

namespace nestsmith::tvm_steps {

/// The factors of the splits: a block computes (threads_i*results_i) x (threads_j*results_j) results, from
/// tiles of A and B with `k` steps of k.
struct Tile {
  std::int64_t threads_i, results_i, threads_j, results_j, k;
};

/// How the step uses the tile. Its sizes must permit it.
struct TileUse {
  bool shared = false;       ///< step 3: the operands are copied to shared memory
  std::int64_t width = 1;    ///< elements that a thread copies at a time
  std::int64_t buffers = 1;  ///< of each tile in shared memory
  bool in_registers = false; ///< step 4: a thread stores its results_j results of a row by one vector
};

/// Asks for the knobs `threads_i`, `results_i`, `threads_j`, `results_j` and `bk`, whose defaults are the sizes
/// of the post.
Tile choose_tile(Knobs &knobs, TileUse use, DType dtype, const Target &target);

/// The later steps to apply.
struct Steps {
  bool pipeline = false; ///< step 5
  bool unroll = false;   ///< step 6
};

/// Rows of A have K elements; rows of B and C have N.
std::optional<Variant> vector_variant(const Shape &shape, DType dtype);

/// Schedules step 4 and the later steps. They extend step 3: the results are in registers, and each thread
/// stores four results at a time.
Schedule in_registers(const Shape &shape, DType dtype, const Target &target, Knobs &knobs, Steps steps);

} // namespace nestsmith::tvm_steps
