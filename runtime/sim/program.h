#pragma once
/// The decoded kernel: flat code over 32-lane registers, and the state that it runs on.
///
/// A warp's registers lie in one *frame* of bytes. A uniform register holds one 64-bit value for the
/// whole warp (i32 sign-extended, the others zero-extended). A lane register holds 32 values side by
/// side: 128 bytes, 64 or 256 for types of 2 or 8 bytes. A condition that differs between lanes is a
/// mask of 32 bits. Registers of inactive lanes hold anything: only memory is masked.

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
/// Offsets into every frame: a uniform 0, and the mask of all lanes.
inline constexpr std::uint32_t zero_register = 0, all_lanes_register = 8;

struct Access;
struct Instr;
struct Warp;
/// Executes one instruction and returns the next, or null where the warp stops.
using Handler = const Instr *(*)(const Instr *, Warp &);

struct Instr {
  Handler run = nullptr;
  std::uint32_t dst = 0, a = 0, b = 0, c = 0; ///< offsets into the frame, or as the handler says
  std::int64_t imm = 0;                       ///< a jump, in instructions from this one
  const Access *access = nullptr;
};

/// The lanes' share of an address that depends on the thread alone, for one warp.
struct Pattern {
  std::array<std::int32_t, warp_size> offset; ///< of a lane without a thread: that of the first lane
  std::int64_t low, high;                     ///< smallest and largest offset
  bool contiguous;                            ///< all 32 lanes live, and each offset one above the last
  bool distinct;                              ///< no two live lanes share an offset
  int groups; ///< different offsets; for each: one lane, and whether it is alone
  std::array<std::uint8_t, warp_size> lane;
  std::array<bool, warp_size> shared_by_many;
};

/// Where in the source a memory access or a barrier stands.
struct Site {
  kernel::Stmt stmt;
  const Load *load = nullptr; ///< null: the store or the barrier itself
  int source = 0;             ///< number of (stmt, load): copies made by unrolling share it
  struct Iteration {
    Var loop;
    std::uint32_t reg; ///< the loop variable is this uniform register
    std::int64_t plus; ///< plus this
  };
  std::vector<Iteration> loops; ///< outermost first
};

enum class AddressKind : std::uint8_t { uniform, pattern, lanes };

/// One load or store. The address of a lane is base + constant + its part of `patterns` or `lanes`, in
/// elements; where `wraps` is set the sum wraps at 32 bits.
struct Access {
  std::uint32_t site = 0;
  Buffer buffer;
  bool is_store = false;
  bool checked = true;    ///< races and unwritten reads
  std::uint32_t slot = 0; ///< number of the buffer among the parameters, the shared or the local buffers
  std::int64_t elements = 0;

  AddressKind kind = AddressKind::uniform;
  bool wraps = false;
  bool lanes_wide = false; ///< `lanes` holds i64
  std::uint32_t base = zero_register;
  std::int64_t constant = 0;
  const Pattern *patterns = nullptr; ///< one for each warp of a block
  std::uint32_t lanes = 0;

  std::uint32_t mask = all_lanes_register; ///< performed by active lanes in this mask
  bool counted = false;                    ///< masked: executions are counted as they happen
  std::int64_t bytes = 0;                  ///< that a lane accesses: all elements of a vector
  std::uint32_t value = 0;                 ///< loads: destination; stores: source
  bool value_uniform = false;
  std::uint32_t fill = zero_register; ///< what a load gives where the mask is false; lanes, unless:
  bool fill_uniform = true;

  // Shared memory.
  std::int64_t byte_offset = 0;
  std::int64_t shadow_offset = 0;
  std::int64_t units = 1;        ///< shadow entries of one element
  std::int64_t vector_lanes = 1; ///< of the vector that this is the first element of
  bool lanes_aligned = false;    ///< the thread's part of the address is a multiple of them
  // Local memory: registers of element 0, and its mask of lanes that wrote it.
  std::uint32_t first = 0, stride = 0, first_written = 0;
};

/// What one execution of a region's own code does, for each thread.
struct RegionCounts {
  std::uint64_t multiply_adds = 0, loads_global = 0, stores_global = 0, loads_shared = 0, stores_shared = 0;
  std::uint64_t barriers = 0;
  std::uint64_t floating = 0, integer = 0, branches = 0;
};

/// A register that is set once for each warp and never changes.
struct FrameInit {
  std::uint32_t reg;
  std::uint32_t bytes;            ///< for each warp
  std::vector<std::byte> content; ///< warp after warp; of one warp only: the same for all
};

struct Program {
  std::vector<Instr> code;
  std::vector<std::unique_ptr<Access>> accesses;
  std::vector<std::unique_ptr<std::vector<Pattern>>> patterns;
  std::vector<Site> sites;
  std::vector<RegionCounts> regions; ///< code that runs together; region 0 is the kernel's outermost
  bool depends_on_data = false;      ///< an address or a condition depends on what is loaded
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

/// The lanes of a warp that have a thread.
inline std::uint32_t live_lanes(const Program &program, std::uint32_t warp) {
  std::uint32_t left = program.threads - warp * warp_size;
  return left >= warp_size ? ~std::uint32_t{0} : (1u << left) - 1;
}

/// A parameter's memory. The shadows exist where the kernel stores the buffer and checks are on.
struct GlobalBuffer {
  std::byte *data = nullptr;
  std::int64_t elements = 0;
  bool starts_written = true;
  std::vector<std::uint8_t> written; ///< the kernel stored it
  std::vector<std::atomic<std::uint64_t>> writes, reads;
};

/// Stands for a block that is not known, where several blocks read an element.
inline constexpr std::uint64_t unknown_block = ~std::uint64_t{0};

/// A mistake, as the first thread that met it saw it.
struct Event {
  ErrorKind kind;
  std::uint32_t site;
  std::int64_t element = 0;
  std::uint64_t block = 0;
  std::uint32_t thread = 0;
  std::vector<std::int64_t> iteration;
  std::uint64_t other_block = 0; ///< race: where the earlier access was
  std::string detail;            ///< barriers: the whole message
};

class Machine;

struct Warp {
  enum class State : std::uint8_t { ready, waiting, finished, failed };

  std::byte *frame = nullptr;
  Machine *machine = nullptr;
  std::uint32_t active = 0, live = 0;
  /// The mask with which an access may take the fast path: `live`, or 0 where all must be traced.
  std::uint32_t full = 0;
  std::uint32_t entry = 0;       ///< shadow entry of lane 0 now
  std::uint32_t floor_entry = 0; ///< the smallest fresh shadow entry
  std::uint32_t index = 0;
  State state = State::ready;
  const Instr *pc = nullptr; ///< the barrier that it waits at; where it resumes
};

} // namespace nestsmith::sim
