#pragma once
/// Hardware events of a kernel.
///
/// A *request* is one executed warp instruction that accesses memory. A request is counted if at least one lane
/// is active in it. A vector access is one request. The counts are those of the lowered kernel, not of the
/// machine code: ptxas merges, hoists and removes some accesses. A parameter starts at a multiple of 256 bytes,
/// and the shared memory arena at a multiple of 128 bytes.
///
/// Shared memory has 32 banks of 4 bytes. A *wavefront* is one pass of a request through the banks. It serves
/// one word of each bank, for any number of lanes that request the same word. A request of 4 bytes or less per
/// lane is processed for the whole warp at once, a request of 8 bytes per lane for half a warp at a time, and a
/// request of 16 bytes per lane for a quarter of a warp at a time (CUDA C++ Programming Guide, "Shared
/// Memory"). Two of these parts are merged if both lanes of every active pair T and T^1 request the same words,
/// or if both lanes of every active pair T and T^2 do. This rule is not documented, but the counters of an H200
/// agree with it (docs/counters.md). So for accesses of over 4 bytes, the number of wavefronts is modelled.
///
/// `ldmatrix` is one request. Each of its 8 x 8 matrices has 8 rows of 16 bytes, whose addresses a quarter of
/// the warp supplies, so a matrix takes one wavefront without conflicts.

#include "lowering/kernel.h"

#include <array>
#include <cstdint>
#include <map>
#include <vector>

namespace nestsmith::model {

inline constexpr std::int64_t sector_bytes = 32, line_bytes = 128, bank_bytes = 4, banks = 32;

/// One request, lane by lane.
struct WarpRequest {
  std::uint32_t mask = 0; ///< active lanes
  /// For each lane: byte offset in the parameter, or in the shared memory of the block.
  std::array<std::int64_t, 32> address{};
};

/// The cost of one request. A field that has no meaning for the memory space (global or shared) is 0.
struct RequestCost {
  std::uint32_t sectors = 0, lines = 0, wavefronts = 0, conflicts = 0;
};
/// `bytes` is the access size of one lane.
RequestCost cost(const WarpRequest &request, std::int64_t bytes, Scope scope);

/// Sums over requests.
struct RequestSums {
  std::uint64_t requests = 0;
  std::uint64_t threads = 0; ///< sum of the active lanes of each request
  std::uint64_t asked = 0; ///< bytes that the active lanes access; lanes with the same address count separately
  std::uint64_t sectors = 0;    ///< global: distinct sectors of each request
  std::uint64_t lines = 0;      ///< global: distinct lines of 128 bytes of each request
  std::uint64_t wavefronts = 0; ///< shared: passes through the banks
  std::uint64_t conflicts = 0;  ///< shared: wavefronts beyond the first of each part of a warp

  std::uint64_t bytes_moved() const { return sectors * sector_bytes; } ///< global
  double sectors_per_request() const;                                  ///< 0 without requests
  double wavefronts_per_request() const;
  RequestSums &operator+=(const RequestSums &other);
  RequestSums operator*(std::uint64_t times) const;
};
/// The requests of a bulk copy, from those of the lanes that stand for it in the simulator: its unit moves
/// lines of 128 bytes, whatever the size of the elements is, and writes one in each pass through the banks.
RequestSums in_lines(const RequestSums &sums, Scope scope);

/// One load or store in the text of the kernel, with the sums over all its executions. Copies of it made by
/// unrolling are the same access.
struct AccessCounts : RequestSums {
  kernel::Stmt stmt;
  const Load *load = nullptr; ///< null: the store `stmt`
  Expr made = {};             ///< keeps `load` alive if the kernel does not contain it
  Buffer buffer;              ///< the accessed buffer, in global or shared memory
  std::int64_t bytes = 4;     ///< access size of one lane: 2 to 16
  /// Modelled: the requests that remain after the compiler's optimisations. In unrolled loops, the model merges
  /// repeated loads of the same element, and loads of adjacent elements of shared memory. A full simulation
  /// merges nothing.
  RequestSums merged;

  bool is_store() const { return load == nullptr; }
  /// Whether `ldmatrix` or another call of a warp loads the rows. One instruction loads all matrices of the
  /// call; only the lanes that supply addresses are active.
  bool is_ldmatrix() const { return stmt && kernel::as<kernel::Call>(stmt) && !is_store() && !is_tile(); }
  /// Whether matrix units read a tile themselves, without an instruction that loads it.
  bool is_tile() const;
  /// Whether a unit of the SM makes it, for a bulk copy.
  bool is_bulk() const { return stmt && kernel::as<kernel::BulkCopy>(stmt); }
  /// Whether it is the load or the store of an asynchronous copy. One instruction makes both.
  bool is_async() const {
    if (is_bulk())
      return true;
    const auto *store = stmt ? kernel::as<kernel::Store>(stmt) : nullptr;
    return store && store->async && (is_store() || store->value.as<Load>() == load);
  }
  /// Whether it is an atomic operation, which the L2 executes.
  bool is_atomic() const {
    const auto *store = stmt && is_store() ? kernel::as<kernel::Store>(stmt) : nullptr;
    return store && store->atomic;
  }
};

/// Executed operations, per warp and per thread.
struct OpCounts {
  std::uint64_t warps = 0, threads = 0;
  OpCounts &operator+=(const OpCounts &other);
};

struct Counters {
  std::vector<AccessCounts> accesses;           ///< in the order of the kernel text
  OpCounts multiply_adds;                       ///< x + a*b in f32 or u32, without `matrix`
  OpCounts floating;                            ///< other floating-point arithmetic
  OpCounts in_f64;                              ///< the part of these two in f64
  OpCounts integer;                             ///< other arithmetic in the text, mostly on addresses
  std::map<const Intrinsic *, OpCounts> matrix; ///< calls that the matrix units execute
  OpCounts barriers; ///< `threads` is the number of threads that passed a barrier, summed over the barriers
  OpCounts branches; ///< conditions and loops
  std::uint64_t divergent = 0; ///< branches that only some active lanes of a warp took
  std::uint64_t blocks = 0;    ///< number of blocks of the grid
  /// Executed blocks; each of the other blocks is represented by a similar executed block.
  std::uint64_t counted = 0;

  /// The warp instructions of the executed block with the most of them, relative to the mean of all blocks.
  /// Blocks that compute tiles in waves differ by a tile. 1 if more blocks were executed than are compared.
  double largest_block = 1;

  bool estimated = false; ///< blocks in equivalent positions differ, so the counts are extrapolated from the
                          ///< mean of some blocks

  bool sampled() const { return counted < blocks; }
  /// The sums over all loads, or all stores, in global or in shared memory.
  RequestSums total(Scope scope, bool stores) const;
  /// The same without asynchronous copies and `ldmatrix`.
  RequestSums ordinary(Scope scope, bool stores) const;
  /// The same of asynchronous copies only: loads from global memory, and stores to shared memory.
  RequestSums copied(Scope scope) const;
  RequestSums tiles() const;    ///< the same of tiles that matrix units read themselves
  RequestSums ldmatrix() const; ///< the same of `ldmatrix` only: loads from shared memory
  /// The same for `AccessCounts::merged`.
  RequestSums merged(Scope scope, bool stores) const;
  OpCounts matrix_calls() const;              ///< the sum of `matrix`
  std::uint64_t matrix_multiply_adds() const; ///< in these calls, summed over the warps
  /// All operations: accesses, arithmetic, branches and barriers. An asynchronous copy is one operation, and a
  /// bulk copy none: a thread issues one for many elements.
  OpCounts instructions() const;
};

} // namespace nestsmith::model
