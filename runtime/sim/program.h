#pragma once
/// The decoded kernel: flat code over 32-lane registers, and the state on which it operates.
///
/// The registers of a warp are in one *frame* of bytes. A uniform register holds one 64-bit value for the whole
/// warp (i32 sign-extended, other types zero-extended). A lane register holds 32 values: 128 bytes, or 64 or
/// 256 for types of 2 or 8 bytes. A condition that differs between lanes is a mask of 32 bits. Registers of
/// inactive lanes have undefined values: only memory accesses are masked.

#include "runtime/sim/shadow.h"
#include "runtime/sim/simulate.h"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace nestsmith::sim {

inline constexpr int warp_size = 32;
/// Registers of every frame: a uniform 0, and the mask of all lanes.
inline constexpr std::uint32_t zero_register = 0, all_lanes_register = 8;

struct Access;
struct Instr;
struct Warp;
/// Executes one instruction and returns the next one, or null if the warp stops.
using Handler = const Instr *(*)(const Instr *, Warp &);

struct Instr {
  Handler run = nullptr;
  std::uint32_t dst = 0, a = 0, b = 0, c = 0; ///< offsets in the frame, or defined by the handler
  std::int64_t imm = 0;                       ///< for a jump: distance in instructions
  const Access *access = nullptr;
};

/// The part of an address that depends on the thread only, for the lanes of one warp.
struct Pattern {
  std::array<std::int32_t, warp_size> offset; ///< for a lane without a thread: that of lane 0
  std::int64_t low, high;                     ///< smallest and largest offset
  bool contiguous;                            ///< all 32 lanes are live, and offsets increase by one
  bool distinct;                              ///< no two live lanes share an offset
  int groups; ///< different offsets; for each: one lane, and whether it is alone
  std::array<std::uint8_t, warp_size> lane;
  std::array<bool, warp_size> shared_by_many;
};

/// The source position of a memory access or a barrier.
struct Site {
  kernel::Stmt stmt;
  const Load *load = nullptr; ///< null: the store or the barrier itself
  int source = 0;             ///< number of (stmt, load), shared by copies made by unrolling
  struct Iteration {
    Var loop;
    std::uint32_t reg; ///< uniform register; the loop variable is its value
    std::int64_t plus; ///< plus this
  };
  std::vector<Iteration> loops; ///< outermost first
};

enum class AddressKind : std::uint8_t { uniform, pattern, lanes };

/// One load or store. The address of a lane, in elements, is base + constant + its part of `patterns` or
/// `lanes`. If `wraps` is set, the sum wraps at 32 bits.
struct Access {
  std::uint32_t site = 0;
  Buffer buffer;
  bool is_store = false;
  bool checked = true;    ///< for races and reads of unwritten memory
  std::uint32_t slot = 0; ///< number of the buffer among parameters, shared or local buffers
  std::int64_t elements = 0;

  AddressKind kind = AddressKind::uniform;
  bool wraps = false;
  bool lanes_wide = false; ///< `lanes` holds i64
  std::uint32_t base = zero_register;
  std::int64_t constant = 0;
  const Pattern *patterns = nullptr; ///< one per warp of a block
  std::uint32_t lanes = 0;

  std::uint32_t mask = all_lanes_register; ///< only active lanes in this mask perform it
  bool counted = false;                    ///< masked: executions are counted as they happen
  std::int64_t bytes = 0;                  ///< access size of one lane: all elements of a vector
  std::uint32_t value = 0;                 ///< loads: destination; stores: source
  bool value_uniform = false;
  std::uint32_t fill = zero_register; ///< value of a load where the mask is false; in lanes, unless:
  bool fill_uniform = true;

  // Shared memory.
  std::int64_t byte_offset = 0;
  std::int64_t shadow_offset = 0;
  std::int64_t units = 1;        ///< shadow entries per element
  std::int64_t vector_lanes = 1; ///< lanes of the vector that starts with this element
  bool lanes_aligned = false;    ///< the thread's part of the address is a multiple of `vector_lanes`
  // Local memory: registers of element 0, and its mask of lanes that wrote it.
  std::uint32_t first = 0, stride = 0, first_written = 0;
};

/// Operations of one execution of a region's own code, per thread.
struct RegionCounts {
  std::uint64_t multiply_adds = 0, loads_global = 0, stores_global = 0, loads_shared = 0, stores_shared = 0;
  std::uint64_t barriers = 0;
  std::uint64_t floating = 0, integer = 0, branches = 0;
};

/// A register that is initialised once per warp and never changes.
struct FrameInit {
  std::uint32_t reg;
  std::uint32_t bytes;            ///< per warp
  std::vector<std::byte> content; ///< one warp after the other; a single warp's content is shared by all
};

struct Program {
  std::vector<Instr> code;
  std::vector<std::unique_ptr<Access>> accesses;
  std::vector<std::unique_ptr<std::vector<Pattern>>> patterns;
  std::vector<Site> sites;
  std::vector<RegionCounts> regions; ///< code that executes together; region 0 is the outermost
  bool depends_on_data = false;      ///< an address or a condition depends on a loaded value
  std::vector<FrameInit> inits;
  std::vector<Buffer> shared, local;

  std::uint32_t frame_bytes = 0;
  std::uint32_t locals_begin = 0, locals_end = 0;   ///< poisoned when a block starts
  std::uint32_t written_begin = 0, written_end = 0; ///< zeroed when a block starts
  std::int64_t shared_bytes = 0, shadow_units = 0;
  std::array<std::int64_t, 3> grid{}, block{};
  std::int64_t blocks = 0;
  std::uint32_t threads = 0, warps = 0;
  std::vector<bool> stored, loaded; ///< for each parameter
};

/// The mask of a warp's lanes that have a thread.
inline std::uint32_t live_lanes(const Program &program, std::uint32_t warp) {
  std::uint32_t left = program.threads - warp * warp_size;
  return left >= warp_size ? ~std::uint32_t{0} : (1u << left) - 1;
}

/// The memory of a parameter. Shadows exist if the kernel stores to the buffer and checks are enabled.
struct GlobalBuffer {
  std::byte *data = nullptr;
  std::int64_t elements = 0;
  bool starts_written = true;
  std::vector<std::uint8_t> written; ///< elements that the kernel stored
  std::vector<std::atomic<std::uint64_t>> writes, reads;
};

/// Represents an unknown block, if several blocks read an element.
inline constexpr std::uint64_t unknown_block = ~std::uint64_t{0};

/// An error, as observed by the first thread that encounters it.
struct Event {
  ErrorKind kind;
  std::uint32_t site;
  std::int64_t element = 0;
  std::uint64_t block = 0;
  std::uint32_t thread = 0;
  std::vector<std::int64_t> iteration;
  std::uint64_t other_block = 0; ///< race: block of the earlier access
  std::string detail;            ///< barriers: the complete message
};

class Machine;

struct Warp {
  enum class State : std::uint8_t { ready, waiting, finished, failed };

  std::byte *frame = nullptr;
  Machine *machine = nullptr;
  std::uint32_t active = 0, live = 0;
  /// The mask for which an access may use the fast path: `live`, or 0 if all accesses are traced.
  std::uint32_t full = 0;
  std::uint32_t entry = 0;       ///< current shadow entry of lane 0
  std::uint32_t floor_entry = 0; ///< the smallest fresh shadow entry
  std::uint32_t index = 0;
  State state = State::ready;
  const Instr *pc = nullptr; ///< the barrier at which it waits, and the resume point
};

} // namespace nestsmith::sim
