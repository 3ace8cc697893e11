#pragma once
/// One host thread's worth of simulator: runs blocks one after the other.

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
  /// With a tracer, every access to shared or global memory is handed to it as well, and no event is recorded.
  /// `observation` is for the instructions that an observer emitted.
  Machine(const Program &program, std::vector<GlobalBuffer> &globals, Tracer *tracer = nullptr,
          Observation *observation = nullptr);
  Machine(const Machine &) = delete;

  void run_block(std::uint64_t block);
  /// The same in pieces: every warp runs on to its next stop, which is a barrier or an instruction
  /// of an observer. False: the block is over.
  void start_block(std::uint64_t block);
  bool round();

  /// Records a mistake once for each kind and source; blocks run in ascending order, so that it is the
  /// one of the lowest block that this machine meets.
  void report(const Warp &warp, ErrorKind kind, std::uint32_t site, std::uint32_t lane, std::int64_t element,
              std::uint64_t other_block = 0);
  void report_barrier(ErrorKind kind, std::uint32_t site, std::string message);
  std::vector<std::int64_t> iteration(const Warp &warp, std::uint32_t site) const;

  // What the handlers work on.
  const Program &program;
  std::vector<GlobalBuffer> &globals;
  Tracer *const tracer;
  std::uint64_t block = 0;
  std::array<std::int64_t, 3> block_index{};
  std::vector<std::byte> shared;
  std::vector<std::uint32_t> writes, reads; ///< shadow of shared memory
  /// What is known of 32 aligned shadow units together: that all are written and ordered, and that unit
  /// n is noted as read by lane n of the warp whose entry this is, or, with `many_warps`, all by several
  /// warps since the block barrier. 0: nothing.
  std::vector<std::uint32_t> rows;
  void forget_rows(std::int64_t first_unit, std::int64_t last_unit) {
    for (std::int64_t row = first_unit / warp_size; row <= last_unit / warp_size; ++row)
      rows[static_cast<std::size_t>(row)] = 0;
  }
  Clock clock;

  Executions executions;
  RegionCounts masked; ///< accesses under a mask of their own
  Observation *const observation;
  std::vector<Event> events;

private:
  void reset_block();
  void set_frames();
  /// All warps stand still: lets them pass a barrier at which all of them wait. False: the block is over.
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

/// The element that a lane accesses now.
std::int64_t address(const Access &access, const Warp &w, std::uint32_t lane);

/// Lane by lane, with every check: what the fast paths hand on.
const Instr *slow_load(const Instr *ip, Warp &w);
const Instr *slow_store(const Instr *ip, Warp &w);
/// Reports a vector that starts at no multiple of its width; `access` is that of its first element.
const Instr *check_aligned(const Instr *ip, Warp &w);
/// `__syncthreads` and `__syncwarp`; `imm` is the site.
const Instr *block_barrier(const Instr *ip, Warp &w);
const Instr *warp_barrier(const Instr *ip, Warp &w);

} // namespace nestsmith::sim
