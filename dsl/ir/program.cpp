#include "dsl/ir/program.h"

#include <algorithm>
#include <llvm/ADT/SmallPtrSet.h>

namespace nestsmith {

namespace {

template <class T> Stmt make(T node) { return std::make_shared<const StmtNode>(StmtNode{std::move(node)}); }

/// The statement for which `match` holds, or null. Calls `leave` with it and with the statements around it,
/// from the inside out.
template <class Match, class Leave>
const StmtNode *find(const Stmt &stmt, const Match &match, const Leave &leave) {
  const StmtNode *found = nullptr;
  if (match(stmt))
    found = stmt.get();
  else if (const auto *loop = as<For>(stmt))
    found = find(loop->body, match, leave);
  else if (const auto *seq = as<Seq>(stmt))
    for (auto child = seq->stmts.begin(); child != seq->stmts.end() && !found; ++child)
      found = find(*child, match, leave);
  if (found)
    leave(stmt);
  return found;
}

template <class Match> Path find_path(const Stmt &root, const Match &match) {
  Path path;
  path.reserve(16);
  find(root, match, [&](const Stmt &stmt) { path.push_back(stmt); });
  std::reverse(path.begin(), path.end());
  return path;
}

auto is_loop(const Var &var) {
  return [&](const Stmt &stmt) {
    const auto *loop = as<For>(stmt);
    return loop && loop->var == var;
  };
}
auto is_block(const BlockId &id) {
  return [&](const Stmt &stmt) {
    const auto *block = as<Block>(stmt);
    return block && block->id == id;
  };
}

Expr replace_buffer(const Expr &e, const Buffer &from, const Buffer &to) {
  return rebuild(e, [&](const Expr &node) {
    const auto *x = node.as<Load>();
    return x && x->buffer == from ? load(to, x->indices, x->mask, x->fill) : node;
  });
}

Store replace_buffer(const Store &store, const Buffer &from, const Buffer &to) {
  Store result{store.buffer == from ? to : store.buffer, {}, replace_buffer(store.value, from, to)};
  for (const Expr &index : store.indices)
    result.indices.push_back(replace_buffer(index, from, to));
  return result;
}

} // namespace

std::string_view name(const LoopForm &form) {
  return std::visit(Overloaded{
                        [](const Serial &) { return "serial"; },
                        [](const Unrolled &) { return "unrolled"; },
                        [](const Vectorized &) { return "vectorized"; },
                        [](const Tensorized &) { return "tensorized"; },
                        [](const BoundTo &) { return "bound"; },
                    },
                    form);
}

std::optional<Axis> For::axis() const {
  const auto *bound = std::get_if<BoundTo>(&form);
  return bound ? std::optional(bound->axis) : std::nullopt;
}

const Intrinsic *For::intrinsic() const {
  const auto *tensorized = std::get_if<Tensorized>(&form);
  return tensorized ? &tensorized->intrinsic.get() : nullptr;
}

const std::vector<BlockStage> &For::pipeline() const {
  static const std::vector<BlockStage> none;
  if (const auto *unrolled = std::get_if<Unrolled>(&form))
    return unrolled->pipeline;
  const auto *serial = std::get_if<Serial>(&form);
  return serial ? serial->pipeline : none;
}

bool For::joined() const {
  const auto *unrolled = std::get_if<Unrolled>(&form);
  return unrolled && unrolled->joined;
}

bool For::spread() const {
  const auto *unrolled = std::get_if<Unrolled>(&form);
  return unrolled && unrolled->spread;
}

Var For::reversed_by() const {
  const auto *unrolled = std::get_if<Unrolled>(&form);
  return unrolled ? unrolled->reversed_by : nullptr;
}

bool For::partitioned() const {
  if (const auto *bound = std::get_if<BoundTo>(&form))
    return bound->partitioned;
  const auto *serial = std::get_if<Serial>(&form);
  return serial && serial->partitioned;
}

bool For::skipping() const {
  const auto *serial = std::get_if<Serial>(&form);
  return serial && serial->skipping;
}

bool For::last_block() const {
  const auto *bound = std::get_if<BoundTo>(&form);
  return bound && bound->last_block;
}

bool For::shares_launch() const {
  const auto *bound = std::get_if<BoundTo>(&form);
  return bound && bound->shares_launch;
}

Stmt make_for(For loop) { return make(std::move(loop)); }
Stmt make_block(Block block) { return make(std::move(block)); }

Stmt make_seq(std::vector<Stmt> stmts) {
  std::vector<Stmt> flat;
  flat.reserve(stmts.size());
  for (Stmt &stmt : stmts) {
    if (const auto *seq = as<Seq>(stmt))
      flat.insert(flat.end(), seq->stmts.begin(), seq->stmts.end());
    else
      flat.push_back(std::move(stmt));
  }
  return flat.size() == 1 ? flat.front() : make(Seq{std::move(flat)});
}

Stmt map_children(const Stmt &stmt, FunctionRef<Stmt(const Stmt &)> f) {
  return visit(stmt, Overloaded{
                         [&](const For &loop) -> Stmt {
                           Stmt body = f(loop.body);
                           if (body == loop.body)
                             return stmt;
                           if (!body)
                             return nullptr;
                           For copy = loop;
                           copy.body = body;
                           return make_for(std::move(copy));
                         },
                         [&](const Seq &seq) -> Stmt {
                           std::vector<Stmt> stmts;
                           bool kept = true;
                           for (auto child = seq.stmts.begin(); child != seq.stmts.end(); ++child) {
                             Stmt result = f(*child);
                             if (kept && result == *child)
                               continue;
                             if (kept)
                               stmts.assign(seq.stmts.begin(), child);
                             kept = false;
                             if (result)
                               stmts.push_back(std::move(result));
                           }
                           if (kept)
                             return stmt;
                           return stmts.empty() ? nullptr : make_seq(std::move(stmts));
                         },
                         [&](const Block &) -> Stmt { return stmt; },
                     });
}

void walk(const Stmt &stmt, FunctionRef<bool(const Stmt &)> f) {
  if (!f(stmt))
    return;
  visit(stmt, Overloaded{
                  [&](const For &loop) { walk(loop.body, f); },
                  [&](const Seq &seq) {
                    for (const Stmt &child : seq.stmts)
                      walk(child, f);
                  },
                  [](const Block &) {},
              });
}

Path path_to(const Stmt &root, const Var &loop) { return find_path(root, is_loop(loop)); }
Path path_to(const Stmt &root, const BlockId &block) { return find_path(root, is_block(block)); }

std::vector<const For *> loops_of(const Path &path) {
  std::vector<const For *> loops;
  loops.reserve(path.size());
  for (const Stmt &stmt : path)
    if (const auto *loop = as<For>(stmt))
      loops.push_back(loop);
  return loops;
}

std::vector<Var> common_loops(const Path &a, const Path &b) {
  auto x = loops_of(a), y = loops_of(b);
  std::vector<Var> common;
  for (std::size_t n = 0; n < x.size() && n < y.size() && x[n]->var == y[n]->var; ++n)
    common.push_back(x[n]->var);
  return common;
}

const Block *find_block(const Stmt &root, const BlockId &id) {
  const StmtNode *found = find(root, is_block(id), [](const Stmt &) {});
  return found ? std::get_if<Block>(&found->kind) : nullptr;
}

const For *find_loop(const Stmt &root, const Var &var) {
  const StmtNode *found = find(root, is_loop(var), [](const Stmt &) {});
  return found ? std::get_if<For>(&found->kind) : nullptr;
}

std::vector<const Block *> blocks_of(const Stmt &root) {
  std::vector<const Block *> blocks;
  blocks.reserve(16);
  walk(root, [&](const Stmt &stmt) {
    if (const auto *block = as<Block>(stmt))
      blocks.push_back(block);
    return true;
  });
  return blocks;
}

Stmt replace(const Stmt &root, const Stmt &from, const Stmt &to) {
  if (root == from)
    return to;
  return map_children(root, [&](const Stmt &child) { return replace(child, from, to); });
}

Stmt substitute_loops(const Stmt &stmt, FunctionRef<Expr(const Var &)> f) {
  const auto *block = as<Block>(stmt);
  if (!block)
    return map_children(stmt, [&](const Stmt &child) { return substitute_loops(child, f); });
  Block copy = *block;
  bool kept = true;
  for (IterVar &iter : copy.iters) {
    Expr binding = substitute(iter.binding, f);
    kept = kept && binding.get() == iter.binding.get();
    iter.binding = binding;
  }
  return kept ? stmt : make_block(std::move(copy));
}

std::optional<Expr> term_of(const Block &block) {
  const Store &store = block.body;
  auto is_element = [&](const Expr &e) {
    const auto *old = e.as<Load>();
    return old && old->buffer == store.buffer && is_true(old->mask) &&
           std::ranges::equal(old->indices, store.indices, same);
  };
  if (const OwnReducer *own = block.reducer.definition())
    if (const auto *made = store.value.as<Call>();
        made && made->function == &own->combine && is_element(made->arguments[0]))
      return made->arguments[1];
  const auto *combined = store.value.as<Binary>();
  bool term_first = has_term_first(block.reducer);
  if (combined && !block.reducer.definition() && combined->op == op_of(block.reducer) &&
      is_element(term_first ? combined->b : combined->a))
    return term_first ? combined->a : combined->b;
  return is_element(store.value) ? std::optional(identity_of(block.reducer, store.buffer->dtype))
                                 : std::nullopt;
}

std::optional<Expr> term_of_sum(const Block &block) {
  return block.reducer == Reducer::sum && block.reduces() ? term_of(block) : std::nullopt;
}

/// Visits each node once. Most indices are no data, so that no load is below them.
static void for_each_load(const Expr &e, FunctionRef<void(const Load &)> f,
                          llvm::SmallPtrSetImpl<const ExprNode *> &met) {
  if (!e.node().data || (e.may_recur() && !met.insert(e.get()).second))
    return;
  if (const auto *found = e.as<Load>())
    f(*found);
  for_each_child(e, [&](const Expr &child) { for_each_load(child, f, met); });
}

static void for_each_load(const Block &block, FunctionRef<void(const Load &)> f) {
  auto visit_expr = [&](const Expr &e) {
    llvm::SmallPtrSet<const ExprNode *, 16> met;
    for_each_load(e, f, met);
  };
  auto visit_store = [&](const Store &store) {
    for (const Expr &index : store.indices)
      visit_expr(index);
    visit_expr(store.value);
  };
  if (block.init)
    visit_store(*block.init);
  visit_store(block.body);
}

std::vector<const Load *> loads_of(const Block &block) {
  std::vector<const Load *> loads;
  loads.reserve(4);
  for_each_load(block, [&](const Load &x) { loads.push_back(&x); });
  return loads;
}

bool is_same_access(const Load &a, const Load &b) {
  auto equal = [](const Expr &x, const Expr &y) {
    return x.exists() == y.exists() && (!x.exists() || same(x, y));
  };
  return a.buffer == b.buffer && std::ranges::equal(a.indices, b.indices, same) && equal(a.mask, b.mask) &&
         equal(a.fill, b.fill);
}

bool reads(const Block &block, const Buffer &buffer) {
  bool found = false;
  for_each_load(block, [&](const Load &x) { found = found || x.buffer == buffer; });
  return found;
}

bool touches(const Block &block, const Buffer &buffer) {
  return block.body.buffer == buffer || reads(block, buffer);
}

const char *access_verb(const Block &block, const Buffer &buffer) {
  return block.body.buffer == buffer ? "writes" : "reads";
}

std::vector<Buffer> temporaries(const Program &program) {
  std::vector<Buffer> found;
  for (const Block *block : blocks_of(program.body)) {
    const Buffer &buffer = block->body.buffer;
    if (buffer->role == Role::temporary && std::find(found.begin(), found.end(), buffer) == found.end())
      found.push_back(buffer);
  }
  return found;
}

Stmt replace_buffer(const Stmt &stmt, const Buffer &from, const Buffer &to) {
  const auto *block = as<Block>(stmt);
  if (!block)
    return map_children(stmt, [&](const Stmt &child) { return replace_buffer(child, from, to); });
  if (block->body.buffer != from && !reads(*block, from))
    return stmt;
  Block copy = *block;
  copy.body = replace_buffer(copy.body, from, to);
  if (copy.init)
    copy.init = replace_buffer(*copy.init, from, to);
  return make_block(std::move(copy));
}

} // namespace nestsmith
