#pragma once
/// The program: what a schedule rewrites. Its meaning is sequential execution.
///
///   stmt  := for | seq | block
///   for   := for var in extent (serial | unrolled | vectorized | tensorized | bound to an axis)
///            [pipelined] [partitioned]: stmt
///   seq   := stmt; stmt; …
///   block := block name(v0 = binding, sum v1 = binding [from first], …) where v < extent …:
///              [init: store] store
///   store := buffer[expr, …] = expr
///
/// The invariant (dsl/verify.h checks it after every directive): inside a block tile every loop extent
/// is constant, and an extent that is known only at launch (an expression of sizes) stands outside of it, on
/// a loop that is serial or bound to a block axis; partiality lives only in block predicates, one `binding <
/// extent` per axis; bindings are quasi-affine in the loops; a body indexes by block variables only; a buffer
/// has one producer, or an init and an update. Regions are computed (dsl/region.h), never stored.

#include "dsl/axis.h"
#include "dsl/expr.h"

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace nestsmith {

struct StmtNode;
using Stmt = std::shared_ptr<const StmtNode>;

/// All but `bound` are hints to lowering; none changes the sequential meaning.
///   vectorized  the iterations become the lanes of vector accesses
///   tensorized  the nest becomes one call of an intrinsic
enum class LoopKind : std::uint8_t { serial, unrolled, vectorized, tensorized, bound };

/// Identity of a block through rewrites.
struct BlockSymbol {
  std::string name;
};
using BlockId = std::shared_ptr<const BlockSymbol>;

/// When a block of a pipelined loop runs (dsl/pipeline.h).
struct Staged {
  BlockId block;
  std::int64_t stage, order;
};

/// The body runs for var = 0 … extent-1. A bound loop is a loop like any other here; lowering turns
/// it into a thread or block index. A nest under thread loops may bind the same axes again
/// (cooperative fetch): sequentially it runs in full for each outer iteration, an idempotent refill.
/// `pipeline` and `partitioned` ask for a form of the kernel and mean nothing here.
struct For {
  Var var;
  Expr extent;
  LoopKind kind = LoopKind::serial;
  std::optional<Axis> axis = std::nullopt; ///< set exactly where kind is bound
  Stmt body;
  const Intrinsic *intrinsic = nullptr; ///< set exactly where kind is tensorized
  std::vector<Staged> pipeline = {};    ///< where it is pipelined, every block below it
  bool partitioned = false;             ///< full tiles and edges get code of their own
};

/// "vectorized", "tensorized", …
std::string_view name(LoopKind kind);

struct Seq {
  std::vector<Stmt> stmts;
};

struct Store {
  Buffer buffer;
  std::vector<Expr> indices;
  Expr value;
};

enum class IterKind : std::uint8_t { spatial, reduction };

/// An axis of a block: `var` ranges over [0, extent) and has the value `binding` in the loops around.
struct IterVar {
  Var var;
  Expr extent;
  IterKind kind;
  Expr binding;
  bool guarded = false; ///< the instance is skipped unless binding < extent
  Expr first = {};      ///< of a sum of partial sums: where it begins, in spatial variables; null: 0
};

/// The unit of computation. Where `init` is set it runs just before the body, for the instances in
/// which every reduction axis has its first value, whether or not the body is skipped there because a
/// reduction axis is past its extent: an empty sum is 0. Init and body see block variables only.
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
Stmt make_seq(std::vector<Stmt> stmts); ///< flattens nested sequences; one statement stays itself
Stmt make_block(Block block);

template <class T> const T *as(const Stmt &stmt) { return std::get_if<T>(&stmt->kind); }
template <class Cases> decltype(auto) visit(const Stmt &stmt, Cases &&cases) {
  return std::visit(std::forward<Cases>(cases), stmt->kind);
}

/// A computation with its parameters in the order in which a caller passes them.
struct Program {
  std::string name;
  std::vector<Buffer> params; ///< inputs, then outputs
  std::vector<Var> scalars;   ///< such as alpha and beta
  Stmt body;
  std::int64_t min_blocks = 0; ///< thread blocks that one SM is to hold at a time; 0: nothing is asked for
  std::vector<Var> sizes = {}; ///< extents and leading dimensions that the caller passes
};

/// Rebuilds with `f` applied to direct sub-statements; a null result drops the statement. The same
/// node where nothing changed.
Stmt map_children(const Stmt &stmt, FunctionRef<Stmt(const Stmt &)> f);
/// Pre-order; stops descending where `f` returns false.
void walk(const Stmt &stmt, FunctionRef<bool(const Stmt &)> f);

/// The statements from the root to a loop or a block, both ends included.
using Path = std::vector<Stmt>;
Path path_to(const Stmt &root, const Var &loop);      ///< empty where there is none
Path path_to(const Stmt &root, const BlockId &block); ///< empty where there is none
std::vector<const For *> loops_of(const Path &path);  ///< outermost first
const Block *find_block(const Stmt &root, const BlockId &id);
const For *find_loop(const Stmt &root, const Var &var);
std::vector<const Block *> blocks_of(const Stmt &root); ///< in program order

/// Replaces the statement that is node `from` by `to` (null drops it).
Stmt replace(const Stmt &root, const Stmt &from, const Stmt &to);
/// Replaces loop variables in the bindings of all blocks below.
Stmt substitute_loops(const Stmt &stmt, FunctionRef<Expr(const Var &)> f);

/// Loads in the value and the indices of a block's stores, in order.
std::vector<const Load *> loads_of(const Block &block);
bool reads(const Block &block, const Buffer &buffer);
/// Temporaries in the order in which they are first written.
std::vector<Buffer> temporaries(const Program &program);
/// Puts `to` wherever `from` stands.
Stmt replace_buffer(const Stmt &stmt, const Buffer &from, const Buffer &to);

} // namespace nestsmith
