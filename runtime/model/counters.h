#pragma once
/// Hardware events of a kernel.
///
/// A *request* is one executed warp instruction that accesses memory. It counts if at least one lane performs
/// it, and a vector access is one request. The counts are those of the lowered kernel, not of the machine code:
/// ptxas merges, hoists and removes some accesses. A parameter starts at a multiple of 256 bytes, and the
/// shared memory arena at a multiple of 128 bytes.
///
/// Shared memory has 32 banks of 4 bytes. One wavefront serves one word of each bank, for any number of lanes
/// that request the same words. An access of 4 bytes or less processes a whole warp at once, one of 8 bytes
/// half a warp, and one of 16 bytes a quarter (CUDA C++ Programming Guide, "Shared Memory"). Two parts are
/// merged if the lanes T and T^1 of all pairs request the same, or the lanes T and T^2. This is not documented,
/// but an H200 counts so (docs/counters.md). The wavefronts of wide accesses are therefore a model.

#include "lowering/kernel.h"

#include <array>
#include <cstdint>
#include <vector>

namespace nestsmith::model {

inline constexpr std::int64_t sector_bytes = 32, line_bytes = 128, bank_bytes = 4, banks = 32;

/// One request, lane by lane.
struct WarpRequest {
  std::uint32_t mask = 0;                 ///< lanes that perform it
  std::array<std::int64_t, 32> address{}; ///< byte offsets in the parameter, or in shared memory
};

/// The cost of one request. A field that does not apply to the memory is 0.
struct RequestCost {
  std::uint32_t sectors = 0, lines = 0, wavefronts = 0, conflicts = 0;
};
/// `bytes` is the access size of one lane.
RequestCost cost(const WarpRequest &request, std::int64_t bytes, Scope scope);

/// Sums over requests.
struct RequestSums {
  std::uint64_t requests = 0;
  std::uint64_t threads = 0;    ///< lanes that performed them
  std::uint64_t asked = 0;      ///< bytes that those lanes requested, without merging
  std::uint64_t sectors = 0;    ///< global: distinct sectors of each request
  std::uint64_t lines = 0;      ///< global: distinct lines of 128 bytes of each request
  std::uint64_t wavefronts = 0; ///< shared
  std::uint64_t conflicts = 0;  ///< shared: wavefronts in excess of one per part of the warp

  std::uint64_t bytes_moved() const { return sectors * sector_bytes; } ///< global
  double sectors_per_request() const;                                  ///< 0 without requests
  double wavefronts_per_request() const;
  RequestSums &operator+=(const RequestSums &other);
  RequestSums operator*(std::uint64_t times) const;
};

/// One access in the kernel's text, with all its executions. Copies made by unrolling are one access.
struct AccessCounts : RequestSums {
  kernel::Stmt stmt;
  const Load *load = nullptr; ///< null: the store `stmt`
  Buffer buffer;              ///< in global or shared memory
  std::int64_t bytes = 4;     ///< access size of one lane: 2 to 16
  /// Modelled: the requests that remain after the compiler's optimisations. In unrolled loops, repeated loads
  /// of one element of shared memory are merged, and so are loads of adjacent elements. A full simulation
  /// merges nothing.
  RequestSums merged;

  bool is_store() const { return load == nullptr; }
};

/// Executed operations, per warp and per thread.
struct OpCounts {
  std::uint64_t warps = 0, threads = 0;
  OpCounts &operator+=(const OpCounts &other);
};

struct Counters {
  std::vector<AccessCounts> accesses; ///< in the order of the text
  OpCounts multiply_adds;             ///< x + a*b in f32 or u32
  OpCounts floating;                  ///< other floating-point arithmetic
  OpCounts integer;                   ///< other arithmetic in the text, mostly on addresses
  OpCounts barriers;                  ///< `threads` counts the threads that passed them
  OpCounts branches;                  ///< conditions and loops
  std::uint64_t divergent = 0;        ///< branches that only some active lanes of a warp took
  std::uint64_t blocks = 0;           ///< of the grid
  std::uint64_t counted = 0;          ///< executed blocks; the others are represented by similar ones

  bool estimated = false; ///< similar blocks differ: the mean of some blocks stands for all

  bool sampled() const { return counted < blocks; }
  /// The sums over all accesses to one memory in one direction.
  RequestSums total(Scope scope, bool stores) const;
  /// Likewise for `AccessCounts::merged`.
  RequestSums merged(Scope scope, bool stores) const;
  /// All operations: accesses, arithmetic, branches and barriers.
  OpCounts instructions() const;
};

} // namespace nestsmith::model
