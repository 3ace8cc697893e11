#pragma once
/// What the hardware would count while a kernel runs.
///
/// A *request* is one executed warp instruction that accesses memory: it counts where at least one lane
/// performs it, and a vector is one request. Counted are the operations of the lowered kernel, not those of
/// the machine code, of which ptxas merges, hoists and drops some. A parameter starts at a multiple of 256
/// bytes and the arena of shared memory at one of 128.
///
/// Shared memory: 32 banks of 4 bytes; one wavefront serves any number of lanes that ask for the same words,
/// and one word of each bank. Accesses of 4 bytes or less take the warp at once, of 8 bytes half of it, of 16
/// bytes a quarter (CUDA C++ Programming Guide, "Shared Memory"). Where the lanes T and T^1 of all
/// pairs, or T and T^2 of all, ask for the same, two parts go together: this is not documented, but is what an
/// H200 counts (docs/counters.md), so that the wavefronts of wide accesses are a model.

#include "lowering/kernel.h"

#include <array>
#include <cstdint>
#include <vector>

namespace nestsmith::model {

inline constexpr std::int64_t sector_bytes = 32, line_bytes = 128, bank_bytes = 4, banks = 32;

/// One request, lane by lane.
struct WarpRequest {
  std::uint32_t mask = 0;                 ///< lanes that perform it
  std::array<std::int64_t, 32> address{}; ///< in bytes: from the start of the parameter, or of shared memory
};

/// What one request costs; 0 where it means nothing for the memory.
struct RequestCost {
  std::uint32_t sectors = 0, lines = 0, wavefronts = 0, conflicts = 0;
};
/// `bytes` is what a lane accesses.
RequestCost cost(const WarpRequest &request, std::int64_t bytes, Scope scope);

/// Sums over requests.
struct RequestSums {
  std::uint64_t requests = 0;
  std::uint64_t threads = 0;    ///< lanes that performed them
  std::uint64_t asked = 0;      ///< bytes: what those lanes asked for, each for itself
  std::uint64_t sectors = 0;    ///< global: different sectors in each request
  std::uint64_t lines = 0;      ///< global: different lines of 128 bytes in each request
  std::uint64_t wavefronts = 0; ///< shared
  std::uint64_t conflicts = 0;  ///< shared: wavefronts beyond one for each part of the warp

  std::uint64_t bytes_moved() const { return sectors * sector_bytes; } ///< global
  double sectors_per_request() const;                                  ///< 0 where there was no request
  double wavefronts_per_request() const;
  RequestSums &operator+=(const RequestSums &other);
  RequestSums operator*(std::uint64_t times) const;
};

/// One access of the kernel's text, with all that executed it; copies made by unrolling are one.
struct AccessCounts : RequestSums {
  kernel::Stmt stmt;
  const Load *load = nullptr; ///< null: the store that `stmt` is
  Buffer buffer;              ///< in global or shared memory
  std::int64_t bytes = 4;     ///< that one lane accesses: 2 to 16
  /// What a compiler is expected to make of it: loads of one element of shared memory in loops that it unrolls
  /// are made once, and those of neighbours at once. Where all is computed, nothing is merged. Modelled.
  RequestSums merged;

  bool is_store() const { return load == nullptr; }
};

/// Executed operations, for each warp and for each thread.
struct OpCounts {
  std::uint64_t warps = 0, threads = 0;
  OpCounts &operator+=(const OpCounts &other);
};

struct Counters {
  std::vector<AccessCounts> accesses; ///< in the order of the text
  OpCounts multiply_adds;             ///< x + a*b in f32 or u32
  OpCounts floating;                  ///< other arithmetic on floating-point numbers
  OpCounts integer;                   ///< other arithmetic, as it stands in the text: most of it is addresses
  OpCounts barriers;                  ///< `threads` is those that passed them
  OpCounts branches;                  ///< conditions and loops
  std::uint64_t divergent = 0;        ///< branches that only some lanes of a warp took
  std::uint64_t blocks = 0;           ///< of the grid
  std::uint64_t counted = 0;          ///< of these were run; the others were taken to do what their like do

  bool estimated = false; ///< where that was found not to hold: the mean of some blocks stands for all

  bool sampled() const { return counted < blocks; }
  /// All accesses of one memory and direction together.
  RequestSums total(Scope scope, bool stores) const;
  /// The same of `AccessCounts::merged`.
  RequestSums merged(Scope scope, bool stores) const;
  /// All operations: accesses, arithmetic, branches and barriers.
  OpCounts instructions() const;
};

} // namespace nestsmith::model
