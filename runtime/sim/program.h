#pragma once
/// The decoded kernel: flat code over 32-lane registers, and the state on which it operates.
///
/// All registers of a warp are stored in one array of bytes, its *frame*. A *uniform* register holds one 64-bit
/// value for the whole warp (i32 sign-extended, other types zero-extended). A *lane* register holds 32 values,
/// one for each lane: 128 bytes, or 64 or 256 bytes for types of 2 or 8 bytes. A condition that differs between
/// lanes is a mask of 32 bits. In inactive lanes, registers have undefined values, because only memory accesses
/// are masked.

#include "runtime/sim/arrivals.h"
#include "runtime/sim/shadow.h"
#include "runtime/sim/simulate.h"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace nestsmith::sim {

inline constexpr int warp_size = 32;
/// Offsets of two registers that every frame has: a uniform 0, and the mask of all lanes.
inline constexpr std::uint32_t zero_register = 0, all_lanes_register = 8;

struct Access;
struct Instr;
struct Warp;
/// Executes one instruction and returns the next one, or null if the warp stops.
using Handler = const Instr *(*)(const Instr *, Warp &);

struct Instr {
  Handler run = nullptr;
  /// Registers (offsets in the frame), unless the handler defines another meaning.
  std::uint32_t dst = 0, a = 0, b = 0, c = 0;
  std::int64_t imm = 0; ///< an integer operand; for a jump: distance in instructions
  const Access *access = nullptr;
};

/// The part of an address that depends on the thread only, for the lanes of one warp.
struct Pattern {
  /// For each lane, in elements; a lane without a thread has the offset of lane 0.
  std::array<std::int32_t, warp_size> offset;
  std::int64_t low, high;                     ///< smallest and largest offset
  bool contiguous;                            ///< all 32 lanes are live, and offsets increase by one
  bool distinct;                              ///< no two live lanes share an offset
  int groups;                                 ///< number of distinct offsets among the live lanes
  std::array<std::uint8_t, warp_size> lane;   ///< for each distinct offset: one lane that has it
  std::array<bool, warp_size> shared_by_many; ///< for each distinct offset: more than one lane has it
};

/// The source position of a memory access or a barrier.
struct Site {
  kernel::Stmt stmt;
  const Load *load = nullptr; ///< null: the store or the barrier itself
  /// Number of the pair (stmt, load); copies of a statement made by unrolling have the same number.
  int source = 0;
  struct Iteration {
    Var loop;
    std::uint32_t reg; ///< uniform register
    std::int64_t plus; ///< the loop variable is the value of `reg` plus this constant
  };
  std::vector<Iteration> loops; ///< outermost first
  Expr made = {};               ///< `load`, if the decoder made it and the kernel does not contain it
};

enum class AddressKind : std::uint8_t { uniform, pattern, lanes };

/// One load or store. The address of a lane, in elements, is the value of `base` + `constant` + the lane's
/// offset in `patterns` or `lanes`. If `wraps` is set, the sum wraps at 32 bits.
struct Access {
  std::uint32_t site = 0;
  Buffer buffer;
  bool is_store = false;
  bool checked = true; ///< the simulator checks the access for races and reads of unwritten memory
  /// Index of the buffer in the list of parameters, of shared buffers, or of local buffers.
  std::uint32_t slot = 0;
  std::int64_t elements = 0; ///< number of elements of the buffer

  AddressKind kind = AddressKind::uniform;
  bool wraps = false;
  bool lanes_wide = false;            ///< `lanes` holds i64 values; otherwise i32 values
  std::uint32_t base = zero_register; ///< uniform register: the part of the address that all lanes share
  std::int64_t constant = 0;
  /// Array with one pattern for each warp of a block; used if `kind` is pattern.
  const Pattern *patterns = nullptr;
  std::uint32_t lanes = 0; ///< lane register with the offset of each lane; used if `kind` is lanes

  /// Register with a mask; only the active lanes in this mask perform the access.
  std::uint32_t mask = all_lanes_register;
  bool counted = false;               ///< the access has its own mask, so each execution increments a counter
  std::int64_t bytes = 0;             ///< access size of one lane: all elements of a vector
  std::uint32_t value = 0;            ///< register: destination of a load, source of a store
  bool value_uniform = false;         ///< `value` is a uniform register
  std::uint32_t fill = zero_register; ///< register with the value of a load in lanes where the mask is false
  bool fill_uniform = true;           ///< `fill` is a uniform register; otherwise a lane register

  // Shared memory.
  std::int64_t byte_offset = 0;   ///< offset of the buffer in the shared memory of a block
  std::int64_t shadow_offset = 0; ///< index of the buffer's first shadow entry
  std::int64_t units = 1;         ///< shadow entries per element
  bool overlaps = false;          ///< another buffer has bytes in common with this one
  std::int64_t vector_lanes = 1;  ///< lanes of the vector that starts with this element
  bool lanes_aligned = false;     ///< the thread's part of the address is a multiple of `vector_lanes`
  // Local memory. `first`: register of element 0. `stride`: bytes between the registers of two consecutive
  // elements. `first_written`: register with the mask of the lanes that have written element 0.
  std::uint32_t first = 0, stride = 0, first_written = 0;
};

/// The elements that the lanes of a warp take from registers of all lanes: offsets in the frame, in bytes.
using Gather = std::array<std::uint32_t, warp_size>;

/// The lanes that receive what each lane loads from its row.
using Receivers = std::array<std::uint32_t, warp_size>;

/// The copies of one element of a replicated operand: offsets in the frame, in bytes. If `written` is not 0, it
/// is the register with the mask of the lanes that have written their copies.
struct ElementCopies {
  const Access *access; ///< of the register
  std::uint32_t lanes = 0, written = 0;
  std::vector<std::uint32_t> at;
};

/// The registers of a result and of another operand of a call, in one local array.
struct SharedRegisters {
  const Access *result, *operand; ///< of the first registers
  std::int64_t results, operands; ///< numbers of registers
};

/// Numbers of operations that one thread executes in one execution of a region, without nested regions.
struct RegionCounts {
  std::uint64_t multiply_adds = 0, loads_global = 0, stores_global = 0, loads_shared = 0, stores_shared = 0;
  std::uint64_t barriers = 0;
  std::uint64_t floating = 0, integer = 0, branches = 0;
  /// Calls that the matrix units execute.
  std::map<const Intrinsic *, std::uint64_t> matrix = {};
};

/// Whether the matrix units of an SM execute the calls: the intrinsic needs one of their features.
bool on_matrix_units(const Intrinsic &intrinsic);

/// An arrival of a block (kernel::Arrive).
struct Arrival {
  std::uint32_t counters; ///< index of the parameter
  bool fence, barrier;
  int axis; ///< the blocks along this axis share a counter
};

/// A register that is initialised once for each warp and never changes.
struct FrameInit {
  std::uint32_t reg;
  std::uint32_t bytes; ///< size of the content for one warp
  /// One content for each of the warps 0, 1, …, or one content that all warps use.
  std::vector<std::byte> content;
};

struct Program {
  std::vector<Instr> code;
  std::vector<std::unique_ptr<Access>> accesses;
  std::vector<std::unique_ptr<std::vector<Pattern>>> patterns;
  std::vector<Gather> gathers;
  std::vector<Receivers> receivers;
  std::vector<ElementCopies> replicas;
  std::vector<SharedRegisters> shared_registers;
  std::vector<Site> sites;
  /// Counts of each region: code that always executes together; region 0 is the outermost.
  std::vector<RegionCounts> regions;
  bool depends_on_data = false; ///< an address or a condition depends on a loaded value
  std::vector<FrameInit> inits;
  std::vector<Buffer> shared, local;
  std::vector<Arrival> arrivals;
  /// For each asynchronous copy: the access to its source, or null if the kernel does not store to the source.
  std::vector<const Access *> copies;

  std::uint32_t frame_bytes = 0;
  std::uint32_t locals_begin = 0, locals_end = 0;   ///< poisoned when a block starts
  std::uint32_t written_begin = 0, written_end = 0; ///< zeroed when a block starts
  std::int64_t shared_bytes = 0, shadow_units = 0;
  bool shares_memory = false; ///< some shared buffers have bytes in common
  std::array<std::int64_t, 3> grid{}, block{};
  std::int64_t blocks = 0;
  std::uint32_t threads = 0, warps = 0;
  std::vector<bool> stored, loaded; ///< for each parameter: whether the kernel stores to it, and loads from it
};

/// The mask of a warp's lanes that have a thread.
inline std::uint32_t live_lanes(const Program &program, std::uint32_t warp) {
  std::uint32_t left = program.threads - warp * warp_size;
  return left >= warp_size ? ~std::uint32_t{0} : (1u << left) - 1;
}

/// The memory of a parameter. If the kernel stores to the buffer and checks are enabled, `writes` and `reads`
/// have shadow entries (shadow.h); otherwise they are empty.
struct GlobalBuffer {
  std::byte *data = nullptr;
  std::int64_t elements = 0;
  bool starts_written = true;        ///< the elements are initialised before the launch
  std::vector<std::uint8_t> written; ///< for each element: whether a kernel stored it
  std::vector<std::atomic<std::uint64_t>> writes, reads;
  bool counts_arrivals = false; ///< the buffer is counters of arrivals
  ArrivalLog arrivals;
  /// In a kernel with arrivals: the reads of the elements whose entry in `reads` has the flag `many_blocks`.
  BlockReads block_reads;
};

/// Block number in an error if several blocks read the element.
inline constexpr std::uint64_t unknown_block = ~std::uint64_t{0};

/// An error, as observed by the first thread that encounters it.
struct Event {
  ErrorKind kind;
  std::uint32_t site;
  std::int64_t element = 0;
  std::uint64_t block = 0;
  std::uint32_t thread = 0;
  std::vector<std::int64_t> iteration;
  std::uint64_t other_block = 0; ///< for a race: number of the block of the earlier access
  std::string detail;            ///< for an error of a barrier, a call or a copy: the complete message
  std::optional<kernel::Hazard> hazard = std::nullopt; ///< for an access in flight
};

/// An access to an arrival counter that is no arrival. It races with the arrivals of other blocks at the
/// counter unless all of them happened before.
struct CounterAccess {
  Event event;
  std::uint32_t counters; ///< index of the parameter
  std::size_t ordered;    ///< arrivals of other blocks that happened before
};

class Machine;

struct Warp {
  enum class State : std::uint8_t { ready, waiting, finished, failed };

  std::byte *frame = nullptr;
  Machine *machine = nullptr;
  /// Masks of lanes: `active` lanes execute the current code, and `live` lanes have a thread.
  std::uint32_t active = 0, live = 0;
  /// An access uses the fast path if its mask of active lanes equals `full`. The value is `live`, or 0 to
  /// disable the fast path (if all accesses are traced).
  std::uint32_t full = 0;
  std::uint32_t entry = 0;       ///< shadow entry that lane 0 would write now (shadow.h)
  std::uint32_t floor_entry = 0; ///< smallest shadow entry since the last block barrier
  std::uint32_t index = 0;
  State state = State::ready;
  /// The instruction at which the warp stopped: a barrier, or an instruction of an observer.
  const Instr *pc = nullptr;
};

} // namespace nestsmith::sim
