#pragma once
/// The decoded kernel: flat code over 32-lane registers.
///
/// All registers of a warp are stored in one array of bytes, its *frame*. A *uniform* register holds one 64-bit
/// value for the whole warp (i32 sign-extended, other types zero-extended). A *lane* register holds 32 values,
/// one for each lane: 128 bytes, or 64 or 256 bytes for types of 2 or 8 bytes. A condition that differs between
/// lanes is a mask of 32 bits. In inactive lanes, registers have undefined values, because only memory accesses
/// are masked.

#include "lowering/kernel.h"
#include "runtime/sim/arrivals.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <variant>
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

/// The alternative that the variant is known to hold. Not checked, because the handlers select it at each
/// access.
template <class T, class... Ts> const T &alternative(const std::variant<Ts...> &of) {
  const T *held = std::get_if<T>(&of);
  if (!held)
    __builtin_unreachable();
  return *held;
}

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
    Var of_program =
        {}; ///< with roles: the loop of the program, which is the same in all roles; otherwise null
    const Var &common() const { return of_program ? of_program : loop; }
  };
  std::vector<Iteration> loops; ///< outermost first
  Expr made = {};               ///< `load`, if the decoder made it and the kernel does not contain it
};

/// A register, in which a value is uniform or has one element for each lane.
struct Register {
  std::uint32_t at = 0;
  bool uniform = false;
};

/// The memory of a shared buffer.
struct SharedStorage {
  std::int64_t byte_offset = 0;   ///< offset of the buffer in the shared memory of a block
  std::int64_t shadow_offset = 0; ///< index of the buffer's first shadow entry
  std::int64_t units = 1;         ///< shadow entries per element
  bool overlaps = false;          ///< another buffer has bytes in common with this one
  bool of_units = false;          ///< matrix units read the buffer as a tile, or bulk stores read it
  bool of_bulk = false;           ///< bulk copies fill the buffer

  /// The first shadow entry of an element.
  std::size_t unit(std::int64_t at) const { return static_cast<std::size_t>(shadow_offset + at * units); }
};

/// The registers of a local buffer: a lane register for each element.
struct LocalStorage {
  std::uint32_t first = 0;         ///< register of element 0
  std::uint32_t stride = 0;        ///< bytes between the registers of two consecutive elements
  std::uint32_t first_written = 0; ///< register with the mask of the lanes that have written element 0

  std::uint32_t element(std::int64_t at) const { return first + stride * static_cast<std::uint32_t>(at); }
  std::uint32_t written(std::int64_t at) const { return first_written + 4 * static_cast<std::uint32_t>(at); }
};

/// The storage of a buffer.
struct Storage {
  std::uint32_t slot = 0;    ///< index in the list of parameters, of shared buffers, or of local buffers
  std::int64_t elements = 0; ///< number of elements
  std::variant<std::monostate, SharedStorage, LocalStorage> memory = {}; ///< by scope; global: no more to know

  const SharedStorage &shared() const { return alternative<SharedStorage>(memory); }
  const LocalStorage &local() const { return alternative<LocalStorage>(memory); }
  /// Offset of the buffer in the shared memory of a block; 0 for a buffer in other memory.
  std::int64_t byte_offset() const {
    const auto *in_shared = std::get_if<SharedStorage>(&memory);
    return in_shared ? in_shared->byte_offset : 0;
  }
};

/// An address in elements, for the lanes of a warp: the value of `base` + `constant` + an offset for each lane.
struct Address {
  /// The offset depends on the thread only. The array has one pattern for each warp of a block.
  using Patterns = const Pattern *;
  /// The offsets are computed.
  struct LaneOffsets {
    std::uint32_t reg = 0; ///< lane register
    bool wide = false;     ///< of i64 values; otherwise of i32 values
  };

  std::uint32_t base = zero_register; ///< uniform register: the part of the address that all lanes share
  bool wraps = false;                 ///< the sum wraps at 32 bits
  std::int64_t constant = 0;
  std::variant<std::monostate, Patterns, LaneOffsets> lane_offset = {}; ///< none: 0 for all lanes

  bool is_uniform() const { return std::holds_alternative<std::monostate>(lane_offset); }
  bool has_pattern() const { return std::holds_alternative<Patterns>(lane_offset); }
  bool is_computed() const { return std::holds_alternative<LaneOffsets>(lane_offset); }
  const Pattern &pattern(std::uint32_t warp) const { return alternative<Patterns>(lane_offset)[warp]; }
};

/// One load or store. The fields that each execution reads are side by side.
struct Access {
  std::uint32_t site = 0;
  bool is_store = false;
  bool atomic = false; ///< a store that is an atomic operation, which also reads the element
  bool checked = true; ///< the simulator checks the access for races and reads of unwritten memory
  Buffer buffer;
  std::int64_t bytes = 0; ///< access size of one lane: all elements of a vector
  /// Of the first element of a vector.
  struct Vector {
    std::int64_t lanes = 1;
    bool aligned = false; ///< the thread's part of the address is a multiple of `lanes`
  };
  Vector vector = {};
  Register fill = {.at = zero_register, .uniform = true}; ///< value of a load in lanes where the mask is false

  /// Register with a mask; only the active lanes in this mask perform the access.
  std::uint32_t mask = all_lanes_register;
  bool counted = false; ///< the access has its own mask, so each execution increments a counter
  Register value;       ///< destination of a load, source of a store
  Address address;
  Storage storage; ///< of the buffer
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
  std::uint64_t in_f64 = 0; ///< of `multiply_adds` and `floating`
  /// Calls that the matrix units execute.
  std::map<const Intrinsic *, std::uint64_t> matrix = {};
};

/// Whether the matrix units of an SM execute the calls: the intrinsic needs one of their features.
bool on_matrix_units(const Intrinsic &intrinsic);

/// An arrival of a block (kernel::Arrive).
struct Arrival {
  std::uint32_t counters; ///< index of the parameter
  ArrivalOrder order;
  std::size_t dimension; ///< the blocks along this dimension of the grid share a counter
};

/// A register that is initialised once for each warp and never changes.
struct FrameInit {
  std::uint32_t reg;
  std::uint32_t bytes; ///< size of the content for one warp
  /// One content for each of the warps 0, 1, …, or one content that all warps use.
  std::vector<std::byte> content;
};

struct DecodedKernel {
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
  std::vector<std::uint32_t> sums; ///< indices of the local buffers to which asynchronous calls add
  std::vector<Arrival> arrivals;
  std::vector<kernel::Channel> channels;
  std::vector<Buffer> tiles_to_cluster;   ///< for each channel: the first such tile, of the kernel; or null
  std::vector<kernel::RoleOfWarps> roles; ///< the main one, and that which fills each channel
  /// For each asynchronous copy: the access to its source, or null if the kernel does not store to the source.
  std::vector<const Access *> copies;

  std::uint32_t frame_bytes = 0;
  std::uint32_t locals_begin = 0, locals_end = 0;   ///< poisoned when a block starts
  std::uint32_t written_begin = 0, written_end = 0; ///< zeroed when a block starts
  std::int64_t shared_bytes = 0, shadow_units = 0;
  bool shares_memory = false; ///< some shared buffers have bytes in common
  bool stores_boxes = false;  ///< the kernel has bulk stores
  std::array<std::int64_t, 3> grid{}, block{};
  std::int64_t blocks = 0;
  /// Blocks along blockIdx.z that fill tiles of each other, so that they run together; 1: no blocks do.
  std::int64_t cluster = 1;
  std::int64_t clusters() const { return blocks / cluster; }
  std::uint32_t threads = 0, warps = 0;
  /// For each parameter: whether the kernel stores to it, loads from it, and updates it by atomic operations,
  /// which are stores, too.
  std::vector<bool> stored, loaded, updated;
  bool rounds_in_any_order =
      false; ///< an atomic operation rounds, so the result depends on the order of blocks

  /// The position of the role of a thread; 0 if there are no roles.
  std::size_t role_of(std::uint32_t thread) const {
    std::size_t role = 0;
    while (role + 1 < roles.size() && roles[role + 1].first_warp <= std::int64_t{thread / warp_size})
      ++role;
    return role;
  }
  bool has_atomics() const { return std::ranges::any_of(updated, std::identity()); }
};

/// The mask of a warp's lanes that have a thread.
inline std::uint32_t live_lanes(const DecodedKernel &decoded, std::uint32_t warp) {
  std::uint32_t left = decoded.threads - warp * warp_size;
  return left >= warp_size ? ~std::uint32_t{0} : (1u << left) - 1;
}

} // namespace nestsmith::sim
