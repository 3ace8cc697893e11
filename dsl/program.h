#pragma once
/// The program, the IR that a schedule rewrites. Its meaning is sequential execution.
///
///   stmt  := for | seq | block
///   for   := for var in extent form: stmt
///   form  := serial [pipelined] [partitioned] | unrolled [pipelined] | vectorized | tensorized
///            | bound to an axis [partitioned]
///   seq   := stmt; stmt; …
///   block := block name(v0 = binding, sum v1 = binding [from first], …) where v < extent …:
///              [init: store] store
///   store := buffer[expr, …] = expr
///
/// dsl/verify.h checks these invariants after every directive. Every loop extent inside a block tile is
/// constant. An extent that is known only at launch (an expression of sizes) belongs to a loop outside of the
/// tile that is serial or bound to a block axis. Partial tiles appear only as block predicates, one `binding <
/// extent` per axis. Bindings are quasi-affine in the loops, and a body indexes by block variables only. A
/// buffer has one producer, or an init and an update. Regions are computed (dsl/region.h), never stored.

#include "dsl/axis.h"
#include "dsl/expr.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace nestsmith {

struct StmtNode;
using Stmt = std::shared_ptr<const StmtNode>;

/// The identity of a block, which rewrites preserve.
struct BlockSymbol {
  std::string name;
};
using BlockId = std::shared_ptr<const BlockSymbol>;

/// Stage and order of a block of a pipelined loop (dsl/pipeline.h).
struct Staged {
  BlockId block;
  std::int64_t stage, order;
};

/// The form of a loop requests a form of the kernel and does not affect the meaning. `pipeline` has every block
/// below a pipelined loop, and is empty for any other loop. Full tiles and partial tiles of a `partitioned`
/// loop get separate code.
struct Serial {
  std::vector<Staged> pipeline = {};
  bool partitioned = false;
};
struct Unrolled {
  std::vector<Staged> pipeline = {};
};
/// The iterations become the lanes of vector accesses.
struct Vectorized {};
/// The nest becomes one call of the intrinsic.
struct Tensorized {
  std::reference_wrapper<const Intrinsic> intrinsic;
};
/// Lowering turns the variable into a thread or block index.
struct BoundTo {
  Axis axis;
  bool partitioned = false;
};
using LoopForm = std::variant<Serial, Unrolled, Vectorized, Tensorized, BoundTo>;

/// "vectorized", "tensorized", …; "bound" for every axis.
std::string_view name(const LoopForm &form);

/// Executes the body for var = 0 … extent-1. A bound loop is an ordinary loop here. A nest under thread loops
/// may bind the same axes again (cooperative fetch): sequentially it executes in full for each outer iteration,
/// an idempotent refill.
struct For {
  Var var;
  Expr extent;
  LoopForm form;
  Stmt body;

  template <class Form> bool is() const { return std::holds_alternative<Form>(form); }
  std::optional<Axis> axis() const;            ///< none if the loop is not bound
  const Intrinsic *intrinsic() const;          ///< null if the loop is not tensorized
  const std::vector<Staged> &pipeline() const; ///< empty if the loop is not pipelined
  bool partitioned() const;
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

/// An axis of a block. `var` ranges over [0, extent); its value is `binding`, an expression of the enclosing
/// loops.
struct IterVar {
  Var var;
  Expr extent;
  IterKind kind;
  Expr binding;
  bool guarded = false; ///< skip the instance unless binding < extent
  Expr first = {};      ///< first value of a partial sum, in spatial variables; null: 0
};

/// The unit of computation. `init`, if set, executes just before the body for the instances in which every
/// reduction axis has its first value, even where the guard of a reduction axis skips the body: an empty sum is
/// 0. Init and body use block variables only.
struct Block {
  BlockId id;
  std::vector<IterVar> iters;
  std::optional<Store> init;
  Store body;
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

/// A computation. Its parameters are in the order in which a caller passes them.
struct Program {
  std::string name;
  std::vector<Buffer> params; ///< inputs, then outputs
  std::vector<Var> scalars;   ///< such as alpha and beta
  Stmt body;
  std::int64_t min_blocks = 0; ///< requested resident thread blocks per SM; 0: no request
  std::vector<Var> sizes = {}; ///< extents and leading dimensions that the caller passes
};

/// Rebuilds `stmt` with `f` applied to direct sub-statements. A null result drops the statement. Returns the
/// same node where nothing changed.
Stmt map_children(const Stmt &stmt, FunctionRef<Stmt(const Stmt &)> f);
/// Visits statements in pre-order. Does not descend where `f` returns false.
void walk(const Stmt &stmt, FunctionRef<bool(const Stmt &)> f);

/// The statements from the root to a loop or a block, both ends included.
using Path = std::vector<Stmt>;
Path path_to(const Stmt &root, const Var &loop);      ///< empty if not found
Path path_to(const Stmt &root, const BlockId &block); ///< empty if not found
std::vector<const For *> loops_of(const Path &path);  ///< outermost first
/// Null if not found.
const Block *find_block(const Stmt &root, const BlockId &id);
const For *find_loop(const Stmt &root, const Var &var);
std::vector<const Block *> blocks_of(const Stmt &root); ///< in program order

/// Replaces the node `from` by `to`; null drops it.
Stmt replace(const Stmt &root, const Stmt &from, const Stmt &to);
/// Replaces loop variables in the bindings of all blocks below `stmt`. `f` returns null to keep a variable.
Stmt substitute_loops(const Stmt &stmt, FunctionRef<Expr(const Var &)> f);

/// The loads in the values and the indices of a block's stores, in order.
std::vector<const Load *> loads_of(const Block &block);
bool reads(const Block &block, const Buffer &buffer);
/// The temporaries in the order of their first writes.
std::vector<Buffer> temporaries(const Program &program);
/// Replaces every use of `from` by `to`.
Stmt replace_buffer(const Stmt &stmt, const Buffer &from, const Buffer &to);

} // namespace nestsmith
