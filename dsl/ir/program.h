#pragma once
/// The program: the IR that a schedule rewrites. Its meaning is defined by sequential execution.
///
///     stmt  := for | seq | block
///     for   := for var in extent form: stmt
///     form  := serial [pipelined] [partitioned] [skipping] [unrolled by n]
///              | unrolled [pipelined [joined]] [backwards in odd var]
///              | vectorized | tensorized | bound to an axis [partitioned] [then last block]
///     seq   := stmt; stmt; …
///     block := block name(v0 = binding, reducer v1 = binding [from first], …) [async | bulk | by atomics]
///              where v < extent …:
///                [init: store] store
///     store := buffer[expr, …] = expr
///     reducer := sum | product | max | min | one that the program defines (dsl/ir/reducer.h)
///
/// A *block* is one statement with its own variables v0, v1, …, the *axes* of the block. The *binding* of an
/// axis is an expression of the enclosing loops, and gives the value of the axis. The *tile* of a thread block
/// is the part of the work that one thread block executes.
///
/// dsl/hardware/verify.h checks these invariants after every directive:
///
/// - A loop extent is a constant, or an expression of sizes.
/// - The value of an expression of sizes is known only at launch. A loop with such an extent is serial or bound
/// to a block axis.
/// - A guard `where 0 <= binding < extent`, at most one per axis, is the only way to express a partial tile.
/// The printer omits the lower bound if the binding is never negative. If a guard excludes iterations that are
/// not past the end of an axis of the buffer, the block has a separate axis for it, which no index uses.
/// - Bindings are quasi-affine in the loop variables.
/// - Indices in a block body use block variables only.
/// - Each buffer is written by one block, or by two: an init and an update. After `cut`, the parts of these
/// blocks write it.
///
/// The elements that a block accesses (dsl/ir/region.h) are computed when they are needed, and never stored.

#include "dsl/expr/axis.h"
#include "dsl/expr/expr.h"
#include "dsl/expr/where.h"
#include "dsl/ir/reducer.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace nestsmith {

struct Intrinsic; // dsl/ir/intrinsic.h
struct StmtNode;
using Stmt = std::shared_ptr<const StmtNode>;

/// The identity of a block. Directives that rewrite the block keep its identity.
struct BlockSymbol {
  std::string name;
  std::shared_ptr<const BlockSymbol> init_of = nullptr; ///< the block whose init lowering moved to this block
  Where where = {};                                     ///< the line that defines the stage; line 0: unknown
  /// The block that `cut` or `decompose_reduction` took apart, if this is a part of it or its init. It is no
  /// part itself.
  std::shared_ptr<const BlockSymbol> part_of = nullptr;
};
using BlockId = std::shared_ptr<const BlockSymbol>;

/// Stage and order of a block of a pipelined loop (dsl/ir/pipeline.h).
struct BlockStage {
  BlockId block;
  std::int64_t stage, order;
  /// The iterations after this one in which the calls of matrix units of the block run on.
  std::int64_t in_flight = 0;
};

/// The form of a loop requests a form of the kernel. It does not affect the meaning, except that `reversed_by`
/// changes the order of the iterations. `pipeline` contains one entry for each block below a pipelined loop,
/// and is empty for any other loop. Full tiles and partial tiles of a `partitioned` loop get separate code. The
/// CUDA compiler writes `copies` copies of the body one after the other. A thread block leaves out the
/// iterations of a loop that is `skipping` in which no block below has a term (dsl/ir/skip_tiles.h).
struct Serial {
  std::vector<BlockStage> pipeline = {};
  bool partitioned = false;
  std::int64_t copies = 1;
  bool skipping = false;
};
/// If `reversed_by` is set, the loop executes its iterations in descending order where the value of this outer
/// loop is odd.
/// `joined`: the pipeline is one with that of the loop directly around it (dsl/ir/pipeline.h).
/// `spread`: the iterations are spread over the steps of the joined loop beside this one.
struct Unrolled {
  std::vector<BlockStage> pipeline = {};
  Var reversed_by = {};
  bool joined = false, spread = false;
};
/// The iterations become the lanes of vector accesses.
struct Vectorized {};
/// The nest becomes one call of the intrinsic.
struct Tensorized {
  std::reference_wrapper<const Intrinsic> intrinsic;
};
/// Lowering turns the variable into a thread or block index.
/// If `last_block` is set, only one of the thread blocks along the axis executes the statements after the loop:
/// the last block to finish its iteration.
/// If `shares_launch` is set, the nest of the loop becomes a part of the kernel of the nest before it.
struct BoundTo {
  Axis axis;
  bool partitioned = false;
  bool last_block = false;
  bool shares_launch = false;
};
using LoopForm = std::variant<Serial, Unrolled, Vectorized, Tensorized, BoundTo>;

/// "vectorized", "tensorized", …; "bound" for every axis.
std::string_view name(const LoopForm &form);

/// Executes the body for var = 0 … extent-1, or in descending order (`reversed_by`). A bound loop executes like
/// any other loop. A nest inside of thread loops may bind the same axes again (cooperative fetch). In the
/// sequential meaning, each iteration of the outer thread loops executes this nest in full, and writes the same
/// values again.
struct For {
  Var var;
  Expr extent;
  LoopForm form;
  Stmt body;

  template <class Form> bool is() const { return std::holds_alternative<Form>(form); }
  std::optional<Axis> axis() const;                ///< none if the loop is not bound
  const Intrinsic *intrinsic() const;              ///< null if the loop is not tensorized
  const std::vector<BlockStage> &pipeline() const; ///< empty if the loop is not pipelined
  bool partitioned() const;
  bool skipping() const;
  bool last_block() const;
  bool shares_launch() const;
  bool joined() const;
  bool spread() const;
  Var reversed_by() const; ///< null if the direction of the loop does not depend on another loop
  bool over_lanes() const { return is<Vectorized>() || is<Tensorized>(); }
};

struct Seq {
  std::vector<Stmt> stmts;
};

struct Store {
  Buffer buffer;
  std::vector<Expr> indices;
  Expr value;
};

enum class IterKind : std::uint8_t { spatial, reduction };

/// An axis of a block. `var` ranges over [0, extent). Its value in an instance of the block is `binding`, an
/// expression of the enclosing loops.
struct IterVar {
  Var var;
  Expr extent;
  IterKind kind;
  Expr binding;
  bool guarded = false; ///< the instance executes only if 0 <= binding < extent
  Expr first = {};      ///< reduction: first value of the axis, an expression of spatial variables; null: 0

  bool is_summed() const { return kind == IterKind::reduction; }
};

/// The unit of computation. `init` is optional. It executes directly before the body, in each instance in which
/// every reduction axis has its first value. It also executes if the guard of a reduction axis is false, so
/// that the sum of no terms is 0. `init` and `body` use block variables only.
struct Block {
  BlockId id;
  std::vector<IterVar> iters;
  std::optional<Store> init;
  Store body;
  /// The kernel copies asynchronously (dsl/hardware/async_copy.h). This requests a form of the kernel, and does
  /// not affect the meaning.
  bool async = false;
  /// One thread issues the copy, and a unit of the SM copies boxes (dsl/hardware/bulk_copy.h): an asynchronous
  /// copy to shared memory, or a store of a tile to global memory.
  bool bulk = false;
  /// Threads of the kernel combine their terms with one element by atomic operations in global memory, in any
  /// order (dsl/ir/atomics.h). This requests a form of the kernel, and does not affect the meaning. The block
  /// has no init.
  bool atomic = false;
  /// With a reduction axis, the body stores `combine(reducer, element, term)` to its element.
  Reducer reducer = Reducer::sum;

  bool reduces() const { return std::ranges::any_of(iters, &IterVar::is_summed); }
};

struct StmtNode {
  std::variant<For, Seq, Block> kind;
};

Stmt make_for(For loop);
Stmt make_seq(std::vector<Stmt> stmts); ///< flattens nested sequences; a single statement is returned as it is
Stmt make_block(Block block);

template <class T> const T *as(const Stmt &stmt) { return std::get_if<T>(&stmt->kind); }
template <class Cases> decltype(auto) visit(const Stmt &stmt, Cases &&cases) {
  return std::visit(std::forward<Cases>(cases), stmt->kind);
}

/// Blocks that warps of their own execute (dsl/ir/roles.h). This requests a form of the kernel, and does not
/// affect the meaning.
struct WarpRole {
  std::vector<BlockId> blocks;
  std::int64_t warps;
  std::int64_t registers = 0; ///< of each of its threads; 0: as many as any other thread
};

/// A computation. `params` is in the order in which a caller passes the arguments.
struct Program {
  std::string name;
  std::vector<Buffer> params; ///< the input parameters, followed by the output parameters
  std::vector<Var> scalars;   ///< scalar parameters, such as alpha and beta
  Stmt body;
  std::int64_t min_blocks = 0;      ///< requested resident thread blocks per SM; 0: no request
  std::vector<Var> sizes = {};      ///< extents and leading dimensions that the caller passes
  std::vector<WarpRole> roles = {}; ///< all other blocks have the *main* role
  bool launches_early = false;      ///< a kernel may start while the one before it in its stream ends
};

/// Rebuilds `stmt` with `f` applied to direct sub-statements. If `f` returns null, the sub-statement is
/// removed. If nothing changes, returns the same node.
Stmt map_children(const Stmt &stmt, FunctionRef<Stmt(const Stmt &)> f);
/// Calls `f` for each statement in pre-order. If `f` returns false, does not visit the sub-statements.
void walk(const Stmt &stmt, FunctionRef<bool(const Stmt &)> f);

/// The statements from the root to a loop or a block, both ends included.
using Path = std::vector<Stmt>;
Path path_to(const Stmt &root, const Var &loop);      ///< empty if not found
Path path_to(const Stmt &root, const BlockId &block); ///< empty if not found
std::vector<const For *> loops_of(const Path &path);  ///< outermost first
/// The variables of the loops that both paths have in common, outermost first.
std::vector<Var> common_loops(const Path &a, const Path &b);
/// Null if not found.
const Block *find_block(const Stmt &root, const BlockId &id);
const For *find_loop(const Stmt &root, const Var &var);
std::vector<const Block *> blocks_of(const Stmt &root); ///< in program order

/// Replaces the node `from` by `to`, or removes it if `to` is null.
Stmt replace(const Stmt &root, const Stmt &from, const Stmt &to);
/// Replaces loop variables in the bindings of all blocks below `stmt`. `f` returns null to keep a variable.
Stmt substitute_loops(const Stmt &stmt, FunctionRef<Expr(const Var &)> f);

/// The term that the block's reducer combines with its element in each instance; none if the block does not
/// store `combine(reducer, element, term)` to this element. If the term is the identity of the reducer, the
/// block may store the element as it is.
std::optional<Expr> term_of(const Block &block);
/// The term of a block that reduces by a sum; none for any other block.
std::optional<Expr> term_of_sum(const Block &block);

/// The loads in the values and the indices of a block's stores, in order.
std::vector<const Load *> loads_of(const Block &block);
/// Whether both read the same element, under the same mask and with the same fill.
bool is_same_access(const Load &a, const Load &b);
bool reads(const Block &block, const Buffer &buffer);
/// Whether the block reads or writes the buffer.
bool touches(const Block &block, const Buffer &buffer);
/// For messages about a block that touches the buffer: "writes", or "reads" if it does not write.
const char *access_verb(const Block &block, const Buffer &buffer);
/// The temporaries in the order of their first writes.
std::vector<Buffer> temporaries(const Program &program);
/// Replaces every use of `from` by `to`.
Stmt replace_buffer(const Stmt &stmt, const Buffer &from, const Buffer &to);

} // namespace nestsmith
