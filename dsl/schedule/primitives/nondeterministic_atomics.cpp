#include "dsl/schedule/primitives/nondeterministic_atomics.h"

#include "dsl/ir/atomics.h"
#include "dsl/schedule/primitives/decompose_reduction.h"
#include "dsl/schedule/primitives/loop_names.h"
#include "dsl/schedule/primitives/move.h"

#include <fmt/format.h>

namespace nestsmith {

namespace {

void check_reducer(const Schedule::Edit &edit, const Block &block) {
  if (!block.init)
    edit.refuse(
        "nondeterministic_atomics.init",
        fmt::format("block {} has no init, expected a reduction that is not yet decomposed", block.id->name),
        {block.id->name});
  DType dtype = block.body.buffer->dtype;
  if (!has_atomic(block.reducer, dtype))
    edit.refuse("nondeterministic_atomics.reducer",
                fmt::format("block {} reduces by {} to elements of {}, expected a sum of f32, f64, i32 or u32, "
                            "or a max or min of i32 or u32, for which CUDA has one atomic operation; use "
                            "reduce_across on a block axis",
                            block.id->name, name(block.reducer), name(dtype)),
                {block.id->name});
}

void check_alone(const Schedule::Edit &edit, const Block &block) {
  const Stmt nest = edit.nest_of(block.id);
  for (const Block *other : blocks_of(nest))
    if (other->id != block.id && touches(*other, block.body.buffer))
      edit.refuse("nondeterministic_atomics.alone",
                  fmt::format("block {} {} {} in the nest of {}, where other threads may still update it; use "
                              "nondeterministic_atomics before moving the blocks into one nest",
                              other->id->name, access_verb(*other, block.body.buffer), block.body.buffer->name,
                              block.id->name),
                  {other->id->name, block.id->name});
}

} // namespace

constinit const Primitive primitives::nondeterministic_atomics =
    primitive<&Schedule::nondeterministic_atomics>("nondeterministic_atomics", {block("block")});

BlockRef Schedule::nondeterministic_atomics(BlockRef handle, Caller caller) {
  Edit edit(*this, caller, primitives::nondeterministic_atomics, handle);
  const Block &block = edit.block(handle);
  check_reducer(edit, block);
  check_alone(edit, block);
  std::vector<const For *> around = edit.loops_around(block.id);
  if (auto again = find_repeating_loop(block, around, loop_bounds(edit.body())))
    edit.refuse("nondeterministic_atomics.once",
                fmt::format("block {0} is recomputed in each iteration of {1}, and by atomics would add to the "
                            "same elements again; use nondeterministic_atomics before compute_at",
                            block.id->name, (*again)->name),
                {(*again)->name, block.id->name});

  BlockId init = primitives::init_symbol(block.id, edit.result_name(0, fmt::format("{}_init", block.id->name)));
  const Stmt nest = edit.nest_of(block.id);
  Var outermost = around.empty() ? Var() : around.front()->var;
  Stmt both = primitives::decompose(nest, block.id, outermost, init,
                                    [&](const Var &copied) { return copied_loop(edit, copied, "_init"); });
  std::vector<Stmt> stmts = as<Seq>(both)->stmts;
  Stmt first = stmts.front();
  stmts.erase(stmts.begin());
  Stmt update = make_seq(std::move(stmts));
  const Stmt old = path_to(update, block.id).back();
  Block atomic = *as<Block>(old);
  atomic.atomic = true;
  update = replace(update, old, make_block(std::move(atomic)));
  Stmt body = make_seq({first, replace(edit.body(), nest, update)});
  require_kept_order(edit, "nondeterministic_atomics.order", block.id, body, init, "the start of the program");
  edit.commit(body, {init->name});
  return {init};
}

} // namespace nestsmith
