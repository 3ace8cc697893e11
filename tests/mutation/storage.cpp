/// Bugs in shared memory and registers: too little memory, overlaps, slots for iterations in flight, layouts.

#include "tests/mutation/catalogue.h"

#include <algorithm>
#include <set>

namespace nestsmith::mutation {

using kernel::Allocation;
using kernel::Kernel;

namespace {

Buffer with_elements(const Buffer &buffer, std::int64_t elements) {
  BufferNode node = *buffer;
  node.shape = {Expr(elements)};
  return std::make_shared<const BufferNode>(std::move(node));
}

/// Replaces one buffer by another.
void replace_buffer(Kernel &kernel, const Buffer &from, const Buffer &to) {
  std::function<Expr(const Expr &)> in = [&](const Expr &e) -> Expr {
    Expr result = map_children(e, in);
    const auto *access = result.as<Load>();
    return access && access->buffer == from
               ? load(to, access->indices, access->mask, access->fill, access->lanes)
               : result;
  };
  std::function<kernel::Stmt(const kernel::Stmt &)> rewrite = [&](const kernel::Stmt &stmt) -> kernel::Stmt {
    kernel::Stmt result = kernel::map_exprs(stmt, in);
    if (const auto *store = kernel::as<kernel::Store>(result); store && store->buffer == from) {
      kernel::Store copy = *store;
      copy.buffer = to;
      return kernel::make(std::move(copy));
    }
    if (const auto *call = kernel::as<kernel::Call>(result)) {
      kernel::Call copy = *call;
      for (kernel::OperandAddress &place : copy.places)
        place.buffer = place.buffer == from ? to : place.buffer;
      return kernel::make(std::move(copy));
    }
    return kernel::map_children(result, rewrite);
  };
  kernel.body = rewrite(kernel.body);
}

std::function<void(Kernel &, Chooser &)> shrunk(std::vector<Allocation> Kernel::*list) {
  return [list](Kernel &kernel, Chooser &chooser) {
    for (Allocation &allocation : kernel.*list)
      if (chooser.take([&] { return allocation.buffer->name; })) {
        Buffer smaller = with_elements(allocation.buffer, *as_int(allocation.buffer->shape[0]) - 1);
        replace_buffer(kernel, allocation.buffer, smaller);
        allocation.buffer = smaller;
      }
  };
}

void overlapping(Kernel &kernel, Chooser &chooser) {
  for (std::size_t n = 1; n < kernel.shared.size(); ++n)
    if (chooser.take([&] { return kernel.shared[n].buffer->name; }))
      kernel.shared[n].byte_offset -= 16;
}

/// Moves an array to the memory of an array that it is computed from.
void tenant_moved(Kernel &kernel, Chooser &chooser) {
  auto number_of = [&](const Buffer &buffer) {
    auto it = std::ranges::find(kernel.shared, buffer, &Allocation::buffer);
    return static_cast<std::size_t>(it - kernel.shared.begin());
  };
  std::set<std::pair<std::size_t, std::size_t>> moves; // index of the array, and of its new host
  kernel::walk(kernel.body, [&](const kernel::Stmt &stmt) {
    const auto *store = kernel::as<kernel::Store>(stmt);
    std::size_t moved = store ? number_of(store->buffer) : kernel.shared.size();
    if (moved == kernel.shared.size() || !kernel.shared[moved].tenancy)
      return;
    kernel::each_expr(stmt, [&](const Expr &e) {
      walk(e, [&](const Expr &node) {
        const auto *access = node.as<Load>();
        std::size_t source = access ? number_of(access->buffer) : moved;
        if (source == kernel.shared.size() || source == moved)
          return;
        const auto &tenancy = kernel.shared[source].tenancy;
        moves.emplace(moved, tenancy ? tenancy->host : source);
      });
    });
  });
  for (auto [moved, host] : moves)
    if (chooser.take([&, n = moved] { return kernel.shared[n].buffer->name; })) {
      Allocation &allocation = kernel.shared[moved];
      allocation.tenancy = Tenancy{host, 0, allocation.tenancy->bytes};
      allocation.byte_offset = kernel.shared[host].byte_offset;
    }
}

void off_alignment(Kernel &kernel, Chooser &chooser) {
  for (Allocation &allocation : kernel.shared)
    if (allocation.alignment > 0 && chooser.take([&] { return allocation.buffer->name; }))
      allocation.byte_offset += byte_size(allocation.buffer->dtype);
}

void arena_too_small(Kernel &kernel, Chooser &chooser) {
  if (!kernel.shared.empty() && chooser.take([&] { return std::string("the arena"); }))
    kernel.shared_bytes -= 4;
}

void alignment_unstated(Kernel &kernel, Chooser &chooser) {
  for (Allocation &allocation : kernel.shared)
    if (allocation.alignment > 0 && chooser.take([&] { return allocation.buffer->name; }))
      allocation.alignment = 0;
  for (auto &[buffer, bytes] : kernel.aligned)
    if (chooser.take([&, name = buffer->name] { return name; }))
      bytes /= 2;
}

/// Replaces the buffer of a load by another one of the same scope and dtype.
void wrong_buffer(Kernel &kernel, Chooser &chooser) {
  std::vector<Buffer> all = kernel.params;
  for (const auto *list : {&kernel.shared, &kernel.local})
    for (const Allocation &allocation : *list)
      all.push_back(allocation.buffer);
  on_exprs(kernel, chooser, [&](const Expr &e, const Spot &) {
    std::vector<Expr> result;
    const auto *access = e.as<Load>();
    for (const Buffer &other : all)
      if (access && other != access->buffer && other->scope == access->buffer->scope &&
          other->dtype == access->buffer->dtype)
        result.push_back(load(other, access->indices, access->mask, access->fill, access->lanes));
    return result;
  });
}

using Changed = std::function<Expr(const Expr &slot, std::int64_t count)>;

/// Returns a bug that changes the slot number in the offsets of loads, of stores, or of both.
std::function<void(Kernel &, Chooser &)> slots(std::vector<Side> sides, const Changed &change) {
  return [sides, change](Kernel &kernel, Chooser &chooser) {
    for (const Allocation &allocation : kernel.shared) {
      if (allocation.slots < 2)
        continue;
      std::vector<Var> loops;
      kernel::walk(kernel.body, [&](const kernel::Stmt &stmt) {
        if (const auto *loop = kernel::as<kernel::Loop>(stmt))
          loops.push_back(loop->var);
      });
      auto is_slot = [&](const Expr &e) {
        const auto *op = e.as<Binary>();
        return op && op->op == BinaryOp::floormod && as_int(op->b) == allocation.slots &&
               std::any_of(loops.begin(), loops.end(), [&](const Var &var) { return uses(op->a, var); });
      };
      for (Side side : sides) {
        kernel::Stmt changed = rewrite_offsets(kernel.body, allocation.buffer, side, [&](const Expr &offset) {
          return rewrite_nodes(offset, [&](const Expr &e) {
            return is_slot(e) ? cast(e.dtype(), change(e, allocation.slots)) : e;
          });
        });
        const char *of = side == Side::loads ? "loads of " : side == Side::stores ? "stores of " : "all of ";
        if (changed != kernel.body && chooser.take([&] { return of + allocation.buffer->name; })) {
          kernel.body = changed;
          return;
        }
      }
    }
  };
}

Expr one_fewer(const Expr &slot, std::int64_t count) {
  const auto *op = slot.as<Binary>();
  return count == 2 ? int_imm(0, slot.dtype()) : floormod(op->a, int_imm(count - 1, slot.dtype()));
}
Expr next_one(const Expr &slot, std::int64_t) {
  const auto *op = slot.as<Binary>();
  return floormod(plus(op->a, 1), op->b);
}
Expr first_one(const Expr &slot, std::int64_t) { return int_imm(0, slot.dtype()); }

/// Returns the largest stride in the offsets of a buffer, which is that of its rows or of its slots.
std::int64_t largest_stride(const Kernel &kernel, const Buffer &buffer) {
  std::int64_t largest = 1;
  rewrite_offsets(kernel.body, buffer, Side::both, [&](const Expr &offset) {
    walk(offset, [&](const Expr &e) {
      if (const auto *op = e.as<Binary>(); op && op->op == BinaryOp::mul)
        largest = std::max(largest, as_int(op->b).value_or(1));
    });
    return offset;
  });
  return largest;
}

/// Returns a bug that increases the stride of rows (or slots) by `by` in the offsets of loads, of stores, or of
/// both.
std::function<void(Kernel &, Chooser &)> rows(std::vector<Side> sides, std::int64_t by) {
  return [sides, by](Kernel &kernel, Chooser &chooser) {
    for (const Allocation &allocation : kernel.shared) {
      std::int64_t stride = largest_stride(kernel, allocation.buffer);
      for (Side side : sides) {
        auto apart = [&](const Expr &e) {
          const auto *op = e.as<Binary>();
          bool row = op && op->op == BinaryOp::mul && as_int(op->b) == stride && stride > 1;
          return row ? binary(BinaryOp::mul, op->a, plus(op->b, by)) : e;
        };
        kernel::Stmt changed = rewrite_offsets(kernel.body, allocation.buffer, side, [&](const Expr &offset) {
          return rewrite_nodes(offset, apart);
        });
        if (changed != kernel.body && chooser.take([&] { return allocation.buffer->name; })) {
          kernel.body = changed;
          return;
        }
      }
    }
  };
}

/// Removes the swizzle from the offsets of loads or of stores.
void unswizzled(Kernel &kernel, Chooser &chooser) {
  for (const Allocation &allocation : kernel.shared)
    for (Side side : {Side::loads, Side::stores}) {
      auto plain = [](const Expr &e) {
        const auto *op = e.as<Binary>();
        return op && op->op == BinaryOp::bit_xor ? op->a : e;
      };
      kernel::Stmt changed = rewrite_offsets(kernel.body, allocation.buffer, side,
                                             [&](const Expr &offset) { return rewrite_nodes(offset, plain); });
      if (changed != kernel.body && chooser.take([&] { return allocation.buffer->name; })) {
        kernel.body = changed;
        return;
      }
    }
}

} // namespace

std::vector<Kind> storage_kinds() {
  using namespace errors;
  const Errors content = {race, unwritten_read, wrong_value, out_of_bounds};
  Errors apart = content, other = content;
  apart.insert(misaligned);
  other.insert(breach); // a buffer that is not aligned for vectors
  const std::vector<Side> one = {Side::loads, Side::stores}, both = {Side::both};
  return {
      {"storage",
       "shared_too_small",
       "a tile has one element fewer than it needs",
       {out_of_bounds, breach},
       shrunk(&Kernel::shared)},
      {"storage",
       "registers_too_few",
       "an array of registers has one element fewer",
       {out_of_bounds},
       shrunk(&Kernel::local)},
      {"storage", "tiles_overlap", "two tiles of shared memory overlap", {breach, race}, overlapping},
      {"storage",
       "tenant_moved",
       "an array shares the memory of the array that it is computed from",
       {breach, race, unwritten_read, wrong_value},
       tenant_moved},
      {"storage", "arena_too_small", "the arena is smaller than its arrays", {breach}, arena_too_small},
      {"storage",
       "tile_off_alignment",
       "a tile that is read by vectors starts one element later",
       {breach, misaligned},
       off_alignment},
      {"storage",
       "alignment_unstated",
       "the alignment that vectors need is not recorded",
       {breach},
       alignment_unstated},
      {"storage", "wrong_buffer", "a load takes another buffer", other, wrong_buffer},
      {"storage", "stride_on_one_side", "rows are one element longer for loads or for stores", apart,
       rows(one, 1)},
      {"storage", "pad_on_one_side", "rows are one element shorter for loads or for stores: a lost pad", apart,
       rows(one, -1)},
      {"storage", "stride_on_both_sides", "rows are one element longer, in the same memory", apart,
       rows(both, 1)},
      {"storage", "swizzle_on_one_side", "loads or stores do not permute the words", apart, unswizzled},
      {"pipelines",
       "one_copy_fewer",
       "iterations in flight share one copy fewer",
       {race},
       slots(both, one_fewer)},
      {"pipelines", "next_copy", "loads or stores use the next iteration's copy", content,
       slots(one, next_one)},
      {"pipelines", "first_copy", "loads or stores use the first copy always", content, slots(one, first_one)},
  };
}

} // namespace nestsmith::mutation
