#pragma once
/// The statements of a kernel that synchronise threads, or wait for what a thread has started. They are the
/// variants of one statement, `Sync`. Most code asks for the properties that it needs, and not for the variant.
/// A new variant states its properties here, in the queries of `Sync`, and its form in the two texts
/// (`print_kernel.cpp`, `codegen/cuda.cpp`), in the simulator (`decode_control.cpp`) and in its reports
/// (`report.cpp`).

#include "dsl/expr/axis.h"
#include "dsl/expr/expr.h"
#include "dsl/ir/origin.h"

#include <concepts>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace nestsmith::kernel {

/// The threads that a barrier synchronises: all threads of the cluster (`barrier.cluster`), of the block
/// (`__syncthreads`), of a role of its warps (`bar.sync`), or of the warp (`__syncwarp`).
enum class SyncScope : std::uint8_t { cluster, block, role, warp };
std::string_view name(SyncScope scope); ///< "block"

/// Two accesses to memory by different threads that must execute in program order: to shared memory or, of
/// `AwaitKernel`, to global memory by two kernels. The buffers and the loop are those of the program, like
/// origins, so that no pass needs to rewrite them.
///
/// Example: the certificates of the two barriers of a tile, as hazards.
///
///     for k_outer < 11:
///       A_shared[tid] = …
///       barrier              // {read_after_write, A_shared, reader AB}
///       AB += A_shared[…]
///       barrier              // {write_after_read, A_shared, reader AB, loop k_outer, distance 1}
///
/// The first barrier orders the store of one thread before the loads of the others. The second orders these
/// loads before the store of the next iteration. With one iteration of k_outer, no store would follow the
/// loads, so there would be no second barrier. If a barrier is removed, the simulator reports its hazards.
struct Hazard {
  enum class Kind : std::uint8_t {
    read_after_write,
    write_after_read,
    write_after_write,
    end_after_write, ///< the kernel, or the thread block, ends while an asynchronous copy or an arrival of
                     ///< another block is in flight
  };
  Kind kind = Kind::read_after_write;
  Buffer buffer = {};
  /// Destination of the statement that reads; null if there is none or if it is not a store.
  Buffer reader = {};
  Var loop = {};             ///< the loop that carries the dependence; null: a dependence within one iteration
  std::int64_t distance = 0; ///< dependence distance in iterations of `loop`
  /// The array of the earlier access, if it is another one that shares memory with `buffer`; otherwise null.
  Buffer tenant = {};
  bool operator==(const Hazard &) const = default;
};

struct Barrier {
  SyncScope scope = SyncScope::block;
  std::vector<Hazard> hazards = {}; ///< certificate: exactly the hazards that this barrier prevents
  std::size_t role = 0;             ///< with `SyncScope::role`: position in `Kernel::roles`
};

/// A thread starts work and goes on: asynchronous copies to shared memory (`Store::async`), calls of matrix
/// units (`Intrinsic::asynchronous`), and bulk stores (`BulkCopy::stores`). A thread has one queue of each. In
/// a queue, groups complete in order.
enum class Queue : std::uint8_t { copies, calls, stores };
inline constexpr Queue all_queues[] = {Queue::copies, Queue::calls, Queue::stores};
std::string_view name(Queue queue); ///< "copies"

/// Ends a group: what the thread has put in the queue since its previous commit. A group may be empty.
struct Commit {
  std::vector<Buffer> targets = {}; ///< of the program: the tiles of the copies, or the sums of the calls
  Queue queue = Queue::copies;
};

/// Waits until at most `pending` of the thread's latest groups are in flight. Older copies are then in shared
/// memory; other threads see their data only after a barrier. Older calls have read their tiles and written
/// their sums. Older stores have read their tiles; what they write is visible after the kernel.
struct Wait {
  std::int64_t pending = 0;
  /// Certificate. Copies: exactly the reads, or the end, before which the data must be there. Calls: exactly
  /// the accesses to the sums and the overwrites of the tiles, before which they must be complete. Stores: the
  /// overwrites of their tiles, or the end.
  std::vector<Hazard> hazards = {};
  Queue queue = Queue::copies;
  /// The arrays in registers to which the calls in flight add: no access to them moves before the wait.
  std::vector<Buffer> sums = {};
};

/// Makes the thread's accesses to the sums in registers visible to the calls of matrix units that follow.
struct Begin {
  std::vector<Hazard> hazards = {}; ///< certificate: exactly the sums that the calls add to
};

/// `const bool last = …;`: the thread block arrives at `counters[index]`. `last` is true in all threads of the
/// block that arrives as number `arrivals`, and false in all other blocks. It is visible like a declared
/// variable. The counter returns to 0 with the last arrival.
///
/// All accesses of a block before its arrival happen before all accesses of the last block after its arrival.
/// The statement is also a barrier of the block. In a kernel with roles, it is one of the main role, which
/// arrives for the block: the other roles write no global memory.
struct Arrive {
  Var last;
  Buffer counters; ///< u32, a parameter; each element is 0 before and after a launch
  Expr index;      ///< uniform over the thread block
  Expr arrivals;
  Axis axis;                          ///< the thread blocks along this axis share a counter
  SyncScope scope = SyncScope::block; ///< `SyncScope::role`: of the main role
};

/// Makes the thread's writes to shared memory visible to matrix units that read tiles: they do not see ordinary
/// writes, also after a barrier, unless the writing thread executes a fence between its write and the barrier.
struct Fence {
  std::vector<Hazard> hazards = {}; ///< certificate: exactly the reads of matrix units that need it
};

/// Waits until the kernel before has ended, whose results are then visible to the threads that wait, and lets
/// the next kernel of the stream start. It is the first statement of a kernel that may start early, before any
/// access to global memory, or it precedes the accesses to `Kernel::awaited`, if the kernel has such a list. If
/// all threads await, at most two kernels of a stream have thread blocks on the multiprocessors, and when the
/// next kernel starts, all kernels before this one have ended.
struct AwaitKernel {
  /// Certificate: each parameter that the kernel reads (the kernel before may still write it) or writes.
  std::vector<Hazard> hazards = {};
};

/// A channel has two events for each of its slots (`Channel` of lowering/kernel.h): a tile is filled, or free.
enum class Event : std::uint8_t { filled, freed };
std::string_view name(Event event); ///< "filled"

/// Waits until the tiles of fill `number` are filled, or until the slot in which it goes is free. The slot of a
/// fill is `number % slots`, and fills are numbered from 0 in the order in which the role executes them. What
/// the other role did before it signalled the event happens before all accesses of the warp after the
/// statement.
struct Await {
  std::size_t channel; ///< position in `Kernel::channels`
  Event event;
  Expr number;                      ///< uniform over the role
  std::vector<Hazard> hazards = {}; ///< certificate: exactly the hazards that the statement prevents
};

/// The threads of a warp have filled their parts of the tiles of fill `number`, or the warp no longer reads
/// them.
struct Signal {
  std::size_t channel;
  Event event;
  Expr number;         ///< uniform over the role
  bool copies = false; ///< the asynchronous copies of the thread count when they have arrived
  bool stores = false; ///< the ordinary stores of the thread count
  /// If not 0, the first thread of the role announces that bulk copies bring this number of bytes, and arrives.
  std::int64_t bulk_bytes = 0;
  /// Freed: the number of the latest groups of calls that read other tiles.
  std::int64_t newer_groups = 0;
  std::vector<Hazard> hazards = {}; ///< freed: the overwrites that it permits, for a wait for calls before it
};

template <class T>
concept SyncKind = std::same_as<T, Barrier> || std::same_as<T, Commit> || std::same_as<T, Wait> ||
    std::same_as<T, Begin> || std::same_as<T, Arrive> || std::same_as<T, Fence> || std::same_as<T, Await> ||
    std::same_as<T, Signal> || std::same_as<T, AwaitKernel>;

struct Sync {
  std::variant<Barrier, Commit, Wait, Begin, Arrive, Fence, Await, Signal, AwaitKernel> kind;

  /// The threads for which the statement is a barrier: all accesses of one before it happen before all accesses
  /// of the others after it. None: it orders the accesses of no other thread.
  std::optional<SyncScope> orders() const;
  /// The number of the thread's latest groups of the queue that may still be in flight after the statement, or
  /// none if it does not wait for them.
  std::optional<std::int64_t> completes(Queue queue) const;
  /// Whether the statement ends groups of the queue or waits for them, so that its place among the copies or
  /// calls counts.
  bool counts_groups(Queue queue) const;
  /// Whether the statement is one of a channel, which passes tiles from the warps of one role to those of
  /// another.
  bool passes_tiles() const;
  /// The arrays in registers, of the kernel, that are an operand of the statement.
  std::span<const Buffer> registers() const;
  /// The certificate: exactly the hazards that the statement prevents.
  std::span<const Hazard> hazards() const;

  /// The operands: the expressions that the statement evaluates, in order. They are uniform over the thread
  /// block, or over the role whose warps execute the statement.
  std::vector<const Expr *> uses() const;
  std::vector<Expr *> uses();
  /// The array in global memory that the statement updates, as a store does, or null.
  Buffer updates() const;
  void set_updated(Buffer buffer); ///< only if it updates one
  /// The variable that the statement declares, or null. It is visible like that of `Declare`.
  Var declares() const;
  void set_declared(Var var); ///< only if it declares one

  std::string_view name() const; ///< "barrier"
};
template <class Cases> decltype(auto) visit(const Sync &sync, Cases &&cases) {
  return visit_kind(cases, sync.kind);
}

} // namespace nestsmith::kernel
