#pragma once
/// The kernel: the code of one thread. Codegen prints it and the simulator executes it.
///
///   stmt := declare | loop | if | seq | store | call | bulk copy | sync
///   sync := barrier | commit | wait | begin | arrive | fence | await | signal    (lowering/sync.h)
///
/// Expressions are defined in dsl/expr/expr.h. After lowering, every Load and every Store has exactly one
/// index: an offset in elements from the start of its buffer. Index arithmetic is i32 or i64. logical_and and
/// logical_or evaluate their operands from left to right, and stop when the result is known.

#include "dsl/expr/axis.h"
#include "dsl/expr/expr.h"
#include "dsl/expr/simplify.h"
#include "dsl/ir/origin.h"
#include "dsl/ir/reducer.h"
#include "dsl/ir/specialise.h"
#include "dsl/ir/tenancy.h"
#include "lowering/sync.h"

#include <array>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace nestsmith::kernel {

struct StmtNode;
using Stmt = std::shared_ptr<const StmtNode>;

/// `const T var = value;`, visible in the following statements of the same sequence and in statements nested in
/// them.
struct Declare {
  Var var;
  Expr value;
};

/// The form of a loop. A lowered kernel has serial and unrolled loops only.
struct Serial {
  bool partitioned = false; ///< the pass `partition` gives iterations with full tiles separate code
  std::int64_t copies = 1;  ///< the CUDA compiler writes this number of copies of the body one after the other
};
struct Unrolled {};
/// The pass `vectorize` turns the iterations into the lanes of vectors.
struct Vectorized {};
/// The pass `vectorize` turns the iterations into one call of the intrinsic.
struct Tensorized {
  std::reference_wrapper<const Intrinsic> intrinsic;
};
using LoopForm = std::variant<Serial, Unrolled, Vectorized, Tensorized>;

/// `for (T var = 0; var < extent; ++var) body`. The extent is uniform over the thread block.
struct Loop {
  Var var;
  Expr extent;
  LoopForm form;
  Stmt body;

  template <class Form> bool is() const { return std::holds_alternative<Form>(form); }
  bool over_lanes() const { return is<Vectorized>() || is<Tensorized>(); }
  bool partitioned() const;
};

/// The purpose of a guard, for a comment (lowering/notes.h).
struct Purpose {
  enum class Kind : std::uint8_t {
    none,
    tail,     ///< excludes what is past the ends of the axes `of`
    not_last, ///< excludes the last `iterations` of the loop `of`
    part,     ///< selects the steps that execute a part of the spread loop `of`
    past,     ///< excludes iterations past the end of a pipelined loop, in which the body only fills tiles that
              ///< nothing reads; it may also be left out
    with_terms, ///< excludes the iterations of the loop `of` in which the thread block has no term
    arrived,    ///< selects the last block of the loop `of`
    full_tiles, ///< selects the blocks in which all tiles are full
    no_edge,    ///< selects the blocks in which no tile is at an edge
    first_nest, ///< selects the thread blocks of the first of the nests that share a launch
    divergent,  ///< selects one side of a branch for each lane
    role,       ///< selects the warps of role number `iterations`; the warps after them take the else side
  };
  Kind kind = Kind::none;
  std::vector<Var> of = {};
  std::int64_t iterations = 0;
};

/// `if (condition) body`, or `if (condition) body else otherwise`.
struct If {
  Expr condition;
  Stmt body;
  Stmt otherwise = nullptr; ///< statement of the else side; null if there is none
  Purpose purpose = {};
};

/// The roles of the warps that take the sides of a branch: positions in `Kernel::roles`.
struct RolesOfSides {
  std::size_t body;
  std::optional<std::size_t> otherwise; ///< none: another branch selects one
};
/// None if the branch selects no role (`Purpose::Kind::role`).
std::optional<RolesOfSides> roles_of_sides(const If &branch);

struct Seq {
  std::vector<Stmt> stmts;
};

struct Store {
  Buffer buffer;
  std::vector<Expr> indices;
  Expr value;    ///< has `lanes` lanes
  int lanes = 1; ///< more than 1: a vector store of consecutive elements
  /// `cp.async`: the value is a load from global memory, the buffer is in shared memory, and the thread
  /// continues before the data is there. Where the mask of the load is false, the copy writes zeros.
  bool async = false;
  /// The element becomes `combine(reducer, element, value)`, in one atomic operation on global memory. Such
  /// operations of several threads on one element are no race. Their order is unknown.
  std::optional<Reducer> atomic = {};
  /// Of an asynchronous copy of a vector whose end may exist only in part: the number of its elements that
  /// exist, from 0 to `lanes`. They are the first ones. The copy reads only these, where the mask of the load
  /// is true, and writes zeros in the place of the others. Null: all of them exist.
  Expr count = {};
};

/// An operand of a call: the elements that start at this offset.
struct OperandAddress {
  Buffer buffer;
  Expr offset;
};
/// A call of an intrinsic (dsl/ir/intrinsic.h) that all lanes of a warp execute together. The pass
/// `flatten` makes it. The offset of a fragment is the first of its registers, which is the same in all lanes.
/// For rows, it is the address that the lane supplies.
struct Call {
  std::reference_wrapper<const Intrinsic> intrinsic;
  std::vector<OperandAddress> places; ///< one for each operand, in order

  const OperandAddress &result() const; ///< the operand that the call writes
};

std::string to_string(const Call &call); ///< "mma_m16n8k16(C[8], A[0], B[4])"

/// The copy of a box between shared and global memory (dsl/hardware/bulk_copy.h).
struct BulkCopy {
  /// To the tile, in a role. The first thread of the role issues the copy, and the bytes count for the event of
  /// the channel that the tile of this fill is filled.
  struct Fill {
    std::size_t channel; ///< position in `Kernel::channels`
    Expr number;         ///< uniform over the role
    /// The box goes to the same place in all thread blocks of the cluster, and its bytes count in each.
    bool to_cluster = false;
  };
  std::size_t map;           ///< position in `Kernel::maps`
  Buffer array, tile;        ///< the parameter that the map describes, and the shared array
  std::vector<Expr> indices; ///< of the first element in the tile
  std::vector<Expr> start;   ///< index of the first element in the array; it may lie outside
  /// None: to the array. The first lane of each warp issues the copy, in its queue of stores.
  std::optional<Fill> fill = {};

  bool stores() const { return !fill; }
};

struct StmtNode {
  std::variant<Declare, Loop, If, Seq, Store, Call, BulkCopy, Sync> kind;
  /// Where the statement comes from: a loop from a loop, a store from a block, a guard and a declaration from
  /// the block that needs them. A pass that rewrites a statement keeps the origin. Barriers and sequences have
  /// none.
  Origin origin;
};

template <class T> Stmt make(T node, Origin origin = nullptr) {
  if constexpr (SyncKind<T>)
    return make(Sync{std::move(node)}, std::move(origin));
  else
    return std::make_shared<const StmtNode>(StmtNode{std::move(node), std::move(origin)});
}
Stmt make_seq(std::vector<Stmt> stmts); ///< flattens nested sequences; a single statement is returned as it is

/// Also of a kind of synchronisation: `as<Wait>(stmt)`.
template <class T> const T *as(const Stmt &stmt) {
  if constexpr (SyncKind<T>) {
    const auto *sync = std::get_if<Sync>(&stmt->kind);
    return sync ? std::get_if<T>(&sync->kind) : nullptr;
  } else {
    return std::get_if<T>(&stmt->kind);
  }
}
/// A case for `Sync` sees all kinds of synchronisation, and asks for their properties. `visit(sync, cases)` has
/// a case for each.
template <class Cases> decltype(auto) visit(const Stmt &stmt, Cases &&cases) {
  return visit_kind(cases, stmt->kind);
}
/// Rebuilds `stmt` with `f` applied to its direct children. If `f` returns null, the child is removed. A loop
/// or an if whose children are all removed is removed too.
Stmt map_children(const Stmt &stmt, FunctionRef<Stmt(const Stmt &)> f);
/// Rewrites every expression of one statement, but not those of its sub-statements.
Stmt map_exprs(const Stmt &stmt, FunctionRef<Expr(const Expr &)> f);
void walk(const Stmt &stmt, FunctionRef<void(const Stmt &)> f); ///< pre-order
/// Every expression of one statement, not of its sub-statements, in the order of `map_exprs`.
void each_expr(const Stmt &stmt, FunctionRef<void(const Expr &)> f);
/// Every node of every expression in a statement and below it.
void walk_exprs(const Stmt &stmt, FunctionRef<void(const Expr &)> f);

/// Maximum size of static shared memory (arrays declared `__shared__`), in bytes. A kernel that needs more uses
/// one dynamic array instead: the host must opt in to its size and pass the size at launch.
inline constexpr std::int64_t static_shared_limit = 49152;

/// Describes the elements of a buffer inside the kernel, for a comment: they are copied from `of` (`tile`),
/// copied to `of` (`part`), or other results.
struct Content {
  enum class Kind : std::uint8_t { results, tile, part };
  Kind kind = Kind::results;
  std::vector<std::int64_t> box; ///< extents of the elements that are live at one time
  Buffer of = {};
};

/// A buffer inside the kernel. The *arena* is the shared memory of a block; each shared buffer is a part of it,
/// at `byte_offset`. Shared buffers that are not live at the same time may overlap. Local buffers are in the
/// registers of a thread, or in its local memory if an index is not constant.
struct Allocation {
  Buffer buffer;                       ///< shape: one constant extent, the number of elements
  std::int64_t byte_offset = 0;        ///< offset in the arena, in bytes; 0 for local buffers
  std::vector<std::int64_t> tile = {}; ///< extents of the array in memory, for the CUDA text only
  /// Required alignment in bytes; 0: the alignment of the element type is sufficient.
  std::int64_t alignment = 0;
  std::int64_t slots = 1; ///< number of copies for a pipelined loop; if not 1, the first dimension of the array
  Origin origin = nullptr; ///< the buffer of the program
  /// The part of another shared buffer in which this shared buffer lies; none: it has memory of its own.
  std::optional<Tenancy> tenancy = {};
  std::optional<Content> content = {};
};

/// The index of a thread or of a thread block on one axis.
struct ThreadIndex {
  Axis axis;
  Var var;     ///< the variable that holds the index of the thread or block on the axis
  Expr extent; ///< on thread axes: a constant; on block axes: may depend on sizes
  std::int64_t most = std::numeric_limits<std::int32_t>::max(); ///< upper bound of the extent
  bool partitioned = false; ///< the kernel has separate code for blocks with full tiles

  Origin origin = nullptr; ///< the loops that are bound to the axis

  Range range() const; ///< range of the index
};
/// Adds the range of the index to `bounds`.
void set_range(Bounds &bounds, const ThreadIndex &index);

/// The events by which the warps of a role and those of the main role pass tiles to each other: one mbarrier in
/// shared memory for each slot and event. A phase of a mbarrier ends after a fixed number of arrivals, and a
/// warp awaits the phase of a fill by its parity.
struct Channel {
  std::vector<Buffer> tiles;          ///< of the program
  std::size_t role = 1;               ///< that fills them: position in `Kernel::roles`
  std::int64_t slots = 1;             ///< fills that no reader has released
  std::int64_t filled = 0, freed = 0; ///< arrivals of a phase: of threads that fill; of warps that read
  std::int64_t byte_offset = 0;       ///< of the first mbarrier in shared memory, after the arrays of its nest
  /// The thread blocks whose copies fill the tiles of each: those of the cluster, or 1. A warp that frees a
  /// slot arrives in each of them.
  std::int64_t blocks = 1;

  std::int64_t bytes() const { return 16 * slots; }
};

/// A parameter of the kernel by which the host describes the array of bulk copies.
struct TensorMap {
  Buffer source;                 ///< a parameter; its extents and strides are those of the map
  std::vector<std::int64_t> box; ///< elements in each dimension
  std::int64_t swizzle = 0;      ///< as in `CopiedBox` of dsl/hardware/bulk_copy.h

  std::int64_t elements() const;
  std::int64_t bytes() const { return elements() * byte_size(source->dtype); }
  /// Elements from one index to the next, in each dimension.
  std::vector<Expr> strides() const;
  /// The driver makes the map of these numbers. The last dimension comes first. The strides are in bytes, and
  /// there is none of the last dimension. A vector has one stride, 0, which is not used.
  struct Operands {
    std::vector<Expr> extents, strides;
    std::vector<std::int64_t> box;
  };
  Operands operands() const;
  /// The position of element `number` of the box in memory, from its first one.
  Expr place(const Expr &number) const;

  bool operator==(const TensorMap &) const = default;
};
/// The position of the map in `maps`, to which it is added if it is missing.
std::size_t position_of(const TensorMap &map, std::vector<TensorMap> &maps);

/// A role of warps (dsl/ir/roles.h). The first is the main role.
struct RoleOfWarps {
  std::int64_t first_warp = 0, warps = 0;
  std::int64_t registers = 0; ///< of each thread, after the warps have moved them; 0: as many as at launch
  /// The first statement of the role: its warps give back registers, or take more.
  enum class Change : std::uint8_t { none, fewer, more } change = Change::none;
};

/// A size that the caller passes.
struct SizeParameter {
  Var size; ///< the symbol in the shapes of parameters, the extents of the grid and the assumptions
  Var var;  ///< the symbol in the body of the kernel; i32 if every stated value fits
};

/// A condition on sizes that the kernel relies on. The launcher checks it at every launch.
struct Assumption {
  Expr holds;       ///< the condition
  Expr got;         ///< the value that the diagnostic reports
  std::string what; ///< name of `got` in the diagnostic: "lda", "the grid's extent on blockIdx.y"
  std::string text; ///< expected value in the diagnostic: "at least K"
};

struct Kernel {
  std::string name;           ///< a C identifier
  std::vector<Buffer> params; ///< flat, in global scope; `shape` is the logical shape
  std::vector<Var> scalars;
  std::vector<SizeParameter> sizes; ///< parameters after the buffers and before the scalars
  /// About sizes; the kernel also assumes that no written array overlaps another array.
  std::vector<Assumption> assumptions;
  std::vector<ThreadIndex> indices; ///< the axes that the kernel uses; any other axis has extent 1
  std::vector<Allocation> shared, local;
  std::int64_t shared_bytes = 0;  ///< shared memory per block, in bytes
  std::vector<TensorMap> maps;    ///< parameters after all others, without duplicates
  std::vector<Channel> channels;  ///< one for each role but the main one, in each nest of the kernel
  std::vector<RoleOfWarps> roles; ///< in the order of their warps; empty: all warps have one role
  std::int64_t cluster = 1;       ///< thread blocks of a cluster: all along blockIdx.z; 1: no clusters
  std::int64_t min_blocks = 0;    ///< requested resident blocks per SM; 0: no request
  bool launches_early = false;    ///< may start while the kernel before it in its stream ends
  /// With `launches_early`, if the kernel executes beside the one before it in the plan: the parameters that
  /// both use, and of which one of the two writes elements. Only accesses to them follow an `AwaitKernel`,
  /// because that kernel has awaited all others. Empty: all accesses to global memory follow one.
  std::vector<Buffer> awaited;
  /// For each parameter with vector accesses: the alignment of its address that these accesses need, in bytes.
  std::map<Buffer, std::int64_t> aligned;
  Stmt body;

  /// Bytes of dynamic shared memory that a launch must request: 0 if `shared_bytes` fits in static shared
  /// memory, otherwise `shared_bytes`.
  std::int64_t dynamic_shared_bytes() const { return shared_bytes > static_shared_limit ? shared_bytes : 0; }
  Expr extent_expr(Axis axis) const;
  std::int64_t extent(Axis axis) const;      ///< the extent on the axis, which must be constant
  std::array<Expr, 3> grid_exprs() const;    ///< x, y, z in blocks
  std::array<std::int64_t, 3> grid() const;  ///< x, y, z in blocks; the kernel must have no sizes
  std::array<std::int64_t, 3> block() const; ///< x, y, z in threads
  std::int64_t threads() const;              ///< threads per block
  /// Whether one thread executes the role: all it does is to start bulk copies. Nothing else counts for the
  /// tiles of its channel.
  bool is_of_one_thread(std::size_t role) const;
  /// Whether blocks of a cluster fill tiles of each other.
  bool copies_to_cluster() const;
  /// Whether warps of the other blocks of the cluster arrive at events of a block when they free slots of the
  /// channel.
  bool frees_in_cluster(std::size_t channel) const;
};

/// The ranges of all indices, loop variables and declared variables, as far as they are known.
Bounds bounds_of(const Kernel &kernel);

/// The kernel with the given values for `kernel.sizes`, in order. The code is the same, except that the sizes
/// are constants. Throws the errors of `check_assumptions`.
Kernel specialise(const Kernel &kernel, std::span<const std::int64_t> sizes);
/// The same; `specialiser` creates the buffers, so that several kernels can share them.
Kernel specialise(const Kernel &kernel, std::span<const std::int64_t> sizes, Specialiser &specialiser);
/// Throws UserError (usage) that names the first assumption that these sizes violate.
void check_assumptions(const Kernel &kernel, std::span<const std::int64_t> sizes);

/// The buffer to which the statement itself writes results; null for other statements than stores, calls, bulk
/// copies, and waits for bulk stores.
Buffer written_by(const Stmt &stmt);
/// Calls `f` with each array that a statement itself accesses, and with the array that it computes from it. An
/// asynchronous call does not count: it accesses its operands later.
void each_access(const Stmt &stmt, FunctionRef<void(const Buffer &, const Buffer &)> f);
/// "max(element, value)" or "element + value": the new element of a store by an atomic operation.
std::string atomic_text(Reducer reducer, const std::string &element, const std::string &value);
/// The counters of arrivals that the kernel uses, without duplicates.
std::vector<Buffer> counters_of(const Kernel &kernel);
/// The shared buffers that matrix units read as tiles (`InTile` of dsl/ir/intrinsic.h).
std::set<Buffer> tiles_of_units(const Kernel &kernel);
/// The shared buffers that bulk copies fill, and those that bulk stores read.
std::set<Buffer> bulk_tiles(const Kernel &kernel);
std::set<Buffer> stored_tiles(const Kernel &kernel);
/// The shared buffers of the channel that bulk copies of one block fill in all blocks of its cluster, in order.
std::vector<Buffer> tiles_to_cluster(const Kernel &kernel, std::size_t channel);
/// For each shared buffer, in order: the part of another one in which it lies.
std::vector<std::optional<Tenancy>> tenancies_of(const Kernel &kernel);

/// The kernel as text, for `show --lowered` and tests.
std::string print(const Kernel &kernel);
/// The same, with the origin of each line.
TracedText print_traced(const Kernel &kernel);

} // namespace nestsmith::kernel
