#pragma once
/// The simulator for one host thread: executes blocks one after the other.

#include "runtime/sim/executions.h"
#include "runtime/sim/program.h"

#include <set>
#include <string>
#include <tuple>

namespace nestsmith::sim {

class Tracer;
struct Observation;

class Machine {
public:
  /// A tracer, if given, receives every access to shared or global memory, and no events are recorded.
  /// `observation` is the state for instructions that an observer emitted.
  Machine(const Program &program, std::vector<GlobalBuffer> &globals, Tracer *tracer = nullptr,
          Observation *observation = nullptr);
  Machine(const Machine &) = delete;

  void run_block(std::uint64_t block);
  /// `start_block` and `round` execute a block in pieces. `round` runs every warp to its next stop: a barrier
  /// or an instruction of an observer. It returns false when the block is complete.
  void start_block(std::uint64_t block);
  bool round();

  /// Records an error once for each kind and source. Since blocks are executed in ascending order, this is the
  /// error of the lowest block of this machine.
  void report(const Warp &warp, ErrorKind kind, std::uint32_t site, std::uint32_t lane, std::int64_t element,
              std::uint64_t other_block = 0);
  void report_barrier(ErrorKind kind, std::uint32_t site, std::string message);
  std::vector<std::int64_t> iteration(const Warp &warp, std::uint32_t site) const;

  // State for the handlers.
  const Program &program;
  std::vector<GlobalBuffer> &globals;
  Tracer *const tracer;
  std::uint64_t block = 0;
  std::array<std::int64_t, 3> block_index{};
  std::vector<std::byte> shared;
  std::vector<std::uint32_t> writes, reads; ///< shadow of shared memory
  /// Summary of 32 aligned shadow units. A nonzero entry states that all units are written and ordered, and
  /// that lane n of the entry's warp read unit n or, with `many_warps`, that several warps read every unit
  /// since the last block barrier. 0: unknown.
  std::vector<std::uint32_t> rows;
  void forget_rows(std::int64_t first_unit, std::int64_t last_unit) {
    for (std::int64_t row = first_unit / warp_size; row <= last_unit / warp_size; ++row)
      rows[static_cast<std::size_t>(row)] = 0;
  }
  Clock clock;

  Executions executions;
  RegionCounts masked; ///< accesses with a mask of their own
  Observation *const observation;
  std::vector<Event> events;

private:
  void reset_block();
  void set_frames();
  /// Called when no warp can proceed: releases a barrier at which all warps wait. Returns false if the block is
  /// complete.
  bool release();
  bool same_iteration(const Warp &a, const Warp &b, std::uint32_t site) const;
  void stamp_all();

  std::vector<std::byte> frames_;
  std::vector<Warp> warps_;
  std::set<std::tuple<ErrorKind, int, bool>> seen_;
};

template <class T> T &reg(const Warp &w, std::uint32_t offset) {
  return *reinterpret_cast<T *>(w.frame + offset);
}
template <class T> T *lanes(const Warp &w, std::uint32_t offset) {
  return reinterpret_cast<T *>(__builtin_assume_aligned(w.frame + offset, 64));
}

/// The element that a lane accesses for the current state of the warp.
std::int64_t address(const Access &access, const Warp &w, std::uint32_t lane);

/// Lane by lane with every check. The fast paths fall back to these.
const Instr *slow_load(const Instr *ip, Warp &w);
const Instr *slow_store(const Instr *ip, Warp &w);
/// Reports a misaligned vector. `access` is that of its first element.
const Instr *check_aligned(const Instr *ip, Warp &w);
/// `__syncthreads` and `__syncwarp`. `imm` is the site.
const Instr *block_barrier(const Instr *ip, Warp &w);
const Instr *warp_barrier(const Instr *ip, Warp &w);

} // namespace nestsmith::sim
