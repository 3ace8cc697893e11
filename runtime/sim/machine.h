#pragma once
/// The simulator of one thread block, which executes blocks one after the other. The machines of a cluster
/// (cluster.h) execute its blocks together.

#include "runtime/sim/box_stores.h"
#include "runtime/sim/calls.h"
#include "runtime/sim/channels.h"
#include "runtime/sim/event.h"
#include "runtime/sim/executions.h"
#include "runtime/sim/flights.h"
#include "runtime/sim/global_buffer.h"
#include "runtime/sim/shadow.h"
#include "runtime/sim/trace.h"
#include "runtime/sim/warp.h"

#include <algorithm>
#include <set>
#include <span>
#include <string>
#include <tuple>

namespace nestsmith::sim {

/// The state of an observer (observer.h) on one machine.
struct Observation {
  Observation() = default;
  virtual ~Observation() = default;
};

/// The content of unwritten memory. As f32 it is a NaN.
inline constexpr int poison = 0xFF;

class Machine {
public:
  /// If `tracer` is not null, it receives every access to shared or global memory, and the machine records no
  /// events. `observation` is the state for the instructions that an observer emitted.
  /// `first`: the first machine of the same cluster; null: this one is the first, or alone. A machine that is
  /// alone stands for all blocks of its cluster: what its block does for the others, they do for it.
  Machine(const DecodedKernel &decoded, std::vector<GlobalBuffer> &globals, Tracer *tracer = nullptr,
          Observation *observation = nullptr, Machine *first = nullptr);
  Machine(const Machine &) = delete;

  void run_block(std::uint64_t block);
  /// `start_block` and `round` execute a block step by step. Each call of `round` runs every warp to its next
  /// stop: a barrier, or an instruction of an observer. `round` returns false when the block is complete.
  void start_block(std::uint64_t block);
  bool round();

  // For cluster.h:
  /// Runs every warp to its next stop. Returns false if one fails. `between` becomes true if a warp stopped at
  /// no barrier.
  bool run_ready(bool &between);
  /// Lets warps go on that wait for warps of the same block, or for an event that has come. Returns false if
  /// there are none.
  bool pass_waits();
  bool is_finished() const;
  /// Whether all warps wait at one barrier of the cluster.
  bool is_at_cluster_barrier() const;
  void pass_cluster_barrier();
  void report_deadlock();
  void report_at_exit();

  /// Records the first error of each kind at each source. A machine executes its blocks in ascending order, so
  /// the recorded error is the error of its lowest block.
  void report(const Warp &warp, ErrorKind kind, std::uint32_t site, std::uint32_t lane, std::int64_t element,
              std::uint64_t other_block = 0);
  void report_barrier(ErrorKind kind, std::uint32_t site, std::string message);
  void report_in_flight(const InFlight &error);
  /// Reports a read of a shared buffer by matrix units, if a warp has written to it without a fence.
  void check_fenced(const Warp &warp, std::uint32_t site, std::uint32_t buffer);
  /// An error of matrix units.
  void report_units(ErrorKind kind, std::uint32_t site, std::string message, kernel::Hazard hazard);
  /// A warp awaits a phase of an event, but another phase has ended since.
  void report_lapped(const Warp &warp, std::uint32_t site);
  /// The warp, of another block, arrives at an event of this block, which has ended.
  void report_ended(const Warp &warp, std::uint32_t site, std::uint32_t channel);
  /// A load of an element whose memory another buffer has overwritten.
  void report_overwritten(const Warp &warp, const Access &access, std::uint32_t lane, std::int64_t element,
                          std::uint32_t owner);
  /// Notes an access to an arrival counter that is no arrival.
  void note_counter_access(const Warp &warp, const Access &access, std::uint32_t lane, std::int64_t element);
  std::vector<std::int64_t> iteration(const Warp &warp, std::uint32_t site) const {
    return iteration_of(decoded, warp, site);
  }
  /// Whether arrivals order the access to global memory in this entry, of one other block, before the current
  /// accesses.
  bool happened_before(std::uint64_t entry) const {
    return !acquired_.empty() && is_acquired(block_of(entry), local_entry(entry) >> stamp_shift);
  }

  // State for the handlers.
  const DecodedKernel &decoded;
  std::vector<GlobalBuffer> &globals;
  Tracer *const tracer;
  std::uint64_t block = 0;
  std::array<std::int64_t, 3> block_index{};
  std::vector<std::byte> shared;
  /// Shadow of shared memory. With roles, `reads` has the entries of each warp, one warp after the other.
  std::vector<std::uint32_t> writes, reads;
  /// The read entry of the warp for a shadow unit.
  std::uint32_t &read_by(std::uint32_t warp, std::size_t unit) {
    return reads[(channels.exist() ? warp * writes.size() : 0) + unit];
  }
  /// Whether a read of the unit is not ordered before a store now.
  bool read_conflicts(const Now &now, std::size_t unit);
  /// Whether each access so far to the `units` shadow units from each of `first` is ordered before a store of
  /// the warp, whatever the lane. False also where only a look at the lanes can tell.
  bool orders_stores(const Warp &w, std::span<const std::size_t> first, std::size_t units) const;
  /// For each shadow unit, `Storage::slot` of the buffer that was written there last; empty if no two shared
  /// buffers have bytes in common.
  std::vector<std::uint32_t> owners;
  /// A summary of the shadow entries of 32 consecutive shadow units (a row), for a faster check. A nonzero
  /// value states two facts. First, all units of the row are written, and a barrier orders these writes before
  /// the current accesses. Second, the value is a shadow entry (shadow.h) of one warp, and since the last block
  /// barrier each lane n of this warp has read unit n. With the flag `many_warps`, several warps have read
  /// every unit. 0: unknown.
  std::vector<std::uint32_t> rows;
  void forget_rows(std::int64_t first_unit, std::int64_t last_unit) {
    for (std::int64_t row = first_unit / warp_size; row <= last_unit / warp_size; ++row)
      rows[static_cast<std::size_t>(row)] = 0;
  }
  std::vector<Machine *> cluster = {this}; ///< the machines of the cluster, by the ranks of their blocks
  /// The number of blocks for which this machine stands.
  std::int64_t stands_for() const { return decoded.cluster / std::ssize(cluster); }
  Clock &clock; ///< that of the cluster
  Channels channels;
  /// For each warp of the cluster, if the kernel has asynchronous copies: those to the memory of this block.
  std::vector<Flights> flights;
  std::vector<CallQueue> calls;  ///< for each warp, if the kernel has asynchronous calls
  std::vector<BoxStores> stores; ///< for each warp, if the kernel has bulk stores
  /// Bulk copies to all blocks of the cluster since the last signal of their channel.
  struct BytesToCluster {
    std::uint32_t channel;
    std::int64_t number, bytes;
  };
  std::vector<BytesToCluster> to_cluster;

  Executions executions;
  RegionCounts masked; ///< counts of the accesses that have their own mask
  Observation *const observation;
  std::vector<Event> events;
  std::vector<CounterAccess> counter_accesses;

private:
  void reset_block();
  void set_frames();
  /// Called when no warp can proceed: releases a barrier at which all warps wait. Returns false if the block is
  /// complete.
  bool release();
  /// Counts the arrival of the block, and sets the register of each warp. Accesses with stamps below `ordered`
  /// are before a barrier.
  void arrive(const Instr &instr, std::uint32_t ordered);
  bool same_iteration(const Warp &a, const Warp &b, std::uint32_t site) const;
  void stamp_all();
  /// Lets the warps go on that await an event which has come. Returns false if there is none. `waits` is true
  /// if a warp awaits an event.
  bool pass_events(bool &waits);
  /// The same for the warps of a role that all wait at a barrier of the role.
  bool pass_role_barriers();
  void report_calls_at_exit();
  void report_stores_at_exit();

  std::uint32_t rank() const {
    return static_cast<std::uint32_t>(std::ranges::find(cluster, this) - cluster.begin());
  }

  Clock own_clock_;
  bool is_first_;
  std::vector<std::byte> frames_;
  std::vector<Warp> warps_;
  std::set<std::tuple<ErrorKind, int, bool>> seen_;
  bool is_acquired(std::uint64_t other, std::uint32_t stamp) const {
    auto known = acquired_.find(other);
    return known != acquired_.end() && other != block && stamp < known->second;
  }

  BlockTimes acquired_; ///< the accesses of other blocks that happened before the current accesses
  std::map<std::tuple<int, std::uint32_t, std::int64_t>, std::size_t> seen_counters_;
};

/// The number of warps of all blocks of a cluster.
std::uint32_t agents_of(const DecodedKernel &decoded);

/// The instructions for barriers of the cluster, of the block, of a role and of the warp. `imm` is the index of
/// the barrier's site.
const Instr *cluster_barrier(const Instr *ip, Warp &w);
const Instr *block_barrier(const Instr *ip, Warp &w);
const Instr *role_barrier(const Instr *ip, Warp &w);
/// A barrier of the block at which it arrives at a counter. `dst` gets 1 if the block is the last one. `a` is
/// the index of the counter, `b` the number of arrivals, and `c` the index in `DecodedKernel::arrivals`.
const Instr *block_arrival(const Instr *ip, Warp &w);
/// The same for the warps of the main role alone, which arrive for the block.
const Instr *role_arrival(const Instr *ip, Warp &w);
const Instr *warp_barrier(const Instr *ip, Warp &w);
/// Reports an access to global memory before the await of the kernel before: `access` or, if that is null, an
/// arrival. `imm` is the site.
const Instr *report_early(const Instr *ip, Warp &w);
/// Whether the warps of a role wait for each other at the instruction.
bool waits_in_role(const Instr &instr);
/// The instructions for the events of channels. `a` is the register with the number of the fill, `c` the
/// channel, and `imm` the site. Of `await_event`, `b` is 1 if it awaits a free slot. Of `signal_filled`, `b` is
/// the number of arrivals of each thread, and `dst` is 1 if its copies have arrived.
const Instr *await_event(const Instr *ip, Warp &w);
const Instr *signal_filled(const Instr *ip, Warp &w);
const Instr *signal_freed(const Instr *ip, Warp &w);
/// The instructions of bulk copies, whose elements the lanes of the issuing warp copy in between. `a` is the
/// register with the number of the fill, `b` of `start_box` the number of the shared buffer, `c` the channel,
/// `dst` the bytes, and `imm` the site.
const Instr *start_box(const Instr *ip, Warp &w);
const Instr *start_box_to_cluster(const Instr *ip, Warp &w);
const Instr *signal_bulk(const Instr *ip, Warp &w);
/// The warp reads a tile of bulk copies. `c` is the number of the shared buffer.
const Instr *note_tile_read(const Instr *ip, Warp &w);
/// Whether the warp, which waits at `await_event`, may go on.
bool may_go_on(const Warp &w);
/// The instructions for writes to tiles of matrix units. `c` is the number of the shared buffer; of
/// `check_fenced`, `imm` is the index of the site.
const Instr *note_tile(const Instr *ip, Warp &w);
const Instr *fence_tiles(const Instr *ip, Warp &w);
const Instr *check_fenced(const Instr *ip, Warp &w);
/// Whether some live lanes of the warp do not reach the statement at the site `imm`. Reports this as an error.
bool stops_part_of_warp(const Instr *ip, Warp &w);
/// Reports lanes that do not take part in a call. `imm` is the index of its site.
const Instr *check_whole_warp(const Instr *ip, Warp &w);

} // namespace nestsmith::sim
