#pragma once
/// The kernel: what one thread executes. Codegen spells it and the simulator runs it.
///
///   stmt := declare | loop | if | seq | store | barrier
///
/// Expressions are those of dsl/expr.h. After lowering every Load and Store has exactly one index, an
/// element offset into its buffer; index arithmetic is i32 or i64; logical_and and logical_or of
/// conditions short-circuit from left to right.

#include "dsl/axis.h"
#include "dsl/expr.h"
#include "dsl/simplify.h"
#include "dsl/specialise.h"

#include <array>
#include <limits>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace nestsmith::kernel {

struct StmtNode;
using Stmt = std::shared_ptr<const StmtNode>;

/// `const T var = value;`, visible in the statements that follow in the same sequence and in what is
/// nested in them.
struct Declare {
  Var var;
  Expr value;
};

/// `for (T var = 0; var < extent; ++var) body`. The extent is uniform over the thread block.
struct Loop {
  Var var;
  Expr extent;
  bool unrolled = false;
  Stmt body;
  /// Its iterations are the lanes of vectors, or make one call of an intrinsic, until the pass `vectorize`.
  bool vectorized = false;
  const Intrinsic *intrinsic = nullptr;
  bool partitioned = false; ///< iterations of full tiles get code of their own
};

/// `if (condition) body`, or `if (condition) body else otherwise`.
struct If {
  Expr condition;
  std::string note; ///< what the guard is for, for the reader of the CUDA text
  Stmt body;
  Stmt otherwise = nullptr; ///< null: none
};

struct Seq {
  std::vector<Stmt> stmts;
};

struct Store {
  Buffer buffer;
  std::vector<Expr> indices;
  Expr value; ///< of as many lanes
  std::string note;
  int lanes = 1; ///< more than 1: this many elements from the offset on, at once
};

/// Who waits: all threads of the block (`__syncthreads`) or of the warp (`__syncwarp`).
enum class SyncScope : std::uint8_t { block, warp };

/// Two accesses of shared memory by two threads that must keep the order in which the program has them.
struct Hazard {
  enum class Kind : std::uint8_t { read_after_write, write_after_read, write_after_write };
  Kind kind = Kind::read_after_write;
  std::string buffer;
  std::string reader;        ///< what the statement that reads stores to; empty where it is no store
  std::string loop;          ///< the second access is made in a later iteration of it; empty: in the same
  std::int64_t distance = 0; ///< so many iterations later
  bool operator==(const Hazard &) const = default;
};
std::string_view name(Hazard::Kind kind); ///< "read after write"

struct Barrier {
  SyncScope scope = SyncScope::block;
  std::string note;                 ///< for the reader of the text: the hazards
  std::vector<Hazard> hazards = {}; ///< its certificate: without it, exactly these are open
};

struct StmtNode {
  std::variant<Declare, Loop, If, Seq, Store, Barrier> kind;
};

template <class T> Stmt make(T node) { return std::make_shared<const StmtNode>(StmtNode{std::move(node)}); }
Stmt make_seq(std::vector<Stmt> stmts); ///< flattens; one statement stays itself

template <class T> const T *as(const Stmt &stmt) { return std::get_if<T>(&stmt->kind); }
template <class Cases> decltype(auto) visit(const Stmt &stmt, Cases &&cases) {
  return std::visit(std::forward<Cases>(cases), stmt->kind);
}
/// Where `f` gives null, the child goes, and with its last child a loop or an if.
Stmt map_children(const Stmt &stmt, FunctionRef<Stmt(const Stmt &)> f);
/// Rewrites every expression of one statement, not of its sub-statements.
Stmt map_exprs(const Stmt &stmt, FunctionRef<Expr(const Expr &)> f);
void walk(const Stmt &stmt, FunctionRef<void(const Stmt &)> f); ///< pre-order

/// What a block gets of shared memory in arrays that are declared `__shared__`, in bytes. A kernel that needs
/// more has one arena of a size that its launch names, and must be allowed to.
inline constexpr std::int64_t static_shared_limit = 49152;

/// A buffer inside the kernel. Shared ones lie in one arena at `byte_offset`; local ones are a
/// thread's registers (or, indexed by what is no constant, its local memory).
struct Allocation {
  Buffer buffer;                  ///< shape: one constant extent, its elements
  std::int64_t byte_offset = 0;   ///< in the shared arena; 0 for local
  std::string note;               ///< what it holds: "64 x 8 tile of A"
  std::vector<std::int64_t> tile; ///< its extents as they lie in memory, for the text only
  std::int64_t alignment = 0;     ///< bytes, where vector accesses need more than an element's own
  std::int64_t slots = 1;         ///< copies for iterations in flight: the first dimension where it is not 1
};

struct ThreadIndex {
  Axis axis;
  Var var;     ///< its value is this thread's index on the axis
  Expr extent; ///< constant on thread axes; on block axes an expression of the sizes
  std::int64_t most = std::numeric_limits<std::int32_t>::max(); ///< no launch has a larger extent
  bool partitioned = false;                                     ///< blocks of full tiles get code of their own

  Range range() const; ///< of the index
};
/// What is known of the index.
void set_range(Bounds &bounds, const ThreadIndex &index);

/// A size that the caller passes.
struct SizeParameter {
  Var size; ///< as stated: in the shapes of parameters, the extents of the grid and the assumptions
  Var var;  ///< the parameter, in the body; i32 where all that it may be fits
};

/// What a kernel takes for granted of its sizes. It is checked at every launch.
struct Assumption {
  Expr holds;       ///< a condition on the sizes
  Expr got;         ///< the value that it is about
  std::string what; ///< "lda", "the grid's extent on blockIdx.y"
  std::string text; ///< "at least K"
};

struct Kernel {
  std::string name;           ///< a C identifier
  std::vector<Buffer> params; ///< each flat, shape: logical; scope: global
  std::vector<Var> scalars;
  std::vector<SizeParameter> sizes;    ///< parameters too, between the buffers and the scalars
  std::vector<Assumption> assumptions; ///< of the sizes; besides, no written array overlaps another
  std::vector<ThreadIndex> indices;    ///< axes in use; the extent of any other is 1
  std::vector<Allocation> shared, local;
  std::int64_t shared_bytes = 0; ///< shared memory of a block, in bytes
  std::int64_t min_blocks = 0;   ///< blocks that one SM is to hold; 0: nothing is asked for
  /// Parameters whose address must be a multiple of so many bytes: they are accessed by vectors.
  std::map<Buffer, std::int64_t> aligned;
  Stmt body;

  /// The size of the arena that a launch must name: all of `shared_bytes`, or 0 where arrays are declared.
  std::int64_t dynamic_shared_bytes() const { return shared_bytes > static_shared_limit ? shared_bytes : 0; }
  Expr extent_expr(Axis axis) const;
  std::int64_t extent(Axis axis) const;      ///< the same, where it is constant
  std::array<Expr, 3> grid_exprs() const;    ///< x, y, z in blocks
  std::array<std::int64_t, 3> grid() const;  ///< the same, of a kernel without sizes
  std::array<std::int64_t, 3> block() const; ///< x, y, z in threads
  std::int64_t threads() const;              ///< per block
};

/// The kernel for these sizes, in the order of `kernel.sizes`: the same code with constants in their place.
Kernel specialise(const Kernel &kernel, std::span<const std::int64_t> sizes);
/// The same, where `specialiser` makes the buffers that several kernels share.
Kernel specialise(const Kernel &kernel, std::span<const std::int64_t> sizes, Specialiser &specialiser);
/// Throws UserError(usage) that names the assumption which these sizes break.
void check_assumptions(const Kernel &kernel, std::span<const std::int64_t> sizes);

/// The kernel as text, for `show --lowered` and tests.
std::string print(const Kernel &kernel);

} // namespace nestsmith::kernel
