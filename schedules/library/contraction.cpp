#include "schedules/library/contraction.h"

#include "dsl/expr/error.h"
#include "dsl/expr/expr_text.h"
#include "dsl/hardware/bulk_copy.h"
#include "dsl/ir/allocation.h"
#include "schedules/library/accesses.h"
#include "schedules/library/parts.h"
#include "schedules/library/results.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <iterator>
#include <span>

namespace nestsmith::library {

namespace {

[[noreturn]] void refuse(BlockRef sum, const std::string &why) {
  throw UserError(ExitCode::illegal_schedule,
                  fmt::format("library::product: block {} {}", Schedule::name(sum), why));
}

/// Whether the simplified indices, mask or fill of the access use the axis. Those of X[max(k - 2, 0), i] do not
/// use k if it has at most 3 values. An axis of one value counts as it is written.
bool varies_with(const Block &block, const Load &access, const IterVar &axis) {
  const Bounds bounds = bounds_of(block);
  const bool one = as_int(axis.extent) == 1;
  auto used = [&](const Expr &e) {
    return e.exists() && uses(e, axis.var) && (one || uses(simplify(e, bounds), axis.var));
  };
  return std::ranges::any_of(access.indices, used) || used(access.mask) || used(access.fill);
}

/// The only part of the indices through which the access depends on the spatial axis, if it has one value for
/// several values of the axis: a quotient, a remainder, or what an array has for the axis. None for an access
/// that depends on the axis in any other way, or through a part that uses another spatial axis, too.
Expr part_of_axis(const Block &block, const Load &access, const IterVar &axis) {
  Expr part;
  bool other = (access.mask.exists() && uses(access.mask, axis.var)) ||
               (access.fill.exists() && uses(access.fill, axis.var));
  auto is_part = [&](const Expr &e) {
    const auto *binary = e.as<Binary>();
    const bool divides = binary && (binary->op == BinaryOp::floordiv || binary->op == BinaryOp::floormod);
    return (divides || e.as<Load>()) && uses(e, axis.var) &&
           std::ranges::none_of(block.iters,
                                [&](const IterVar &iter) { return iter.var != axis.var && uses(e, iter.var); });
  };
  const Bounds bounds = bounds_of(block);
  for (const Expr &index : access.indices) {
    const Expr rest = replace_nodes(simplify(index, bounds), [&](const Expr &node) {
      if (!is_part(node))
        return Expr();
      other = other || (part.exists() && !same(part, node));
      part = node;
      return constant(node.dtype(), 0);
    });
    other = other || uses(rest, axis.var);
  }
  return other ? Expr() : part;
}

/// The elements of a term.
struct Terms {
  std::array<const Load *, 2> factors; ///< of rows and k, and of columns and k
  std::vector<const Load *> others;
};

/// The number of reduction axes on which both elements depend, if each of them depends on a spatial axis of its
/// own, and on a reduction axis; otherwise none.
std::optional<std::ptrdiff_t> common_sums(const Block &block, const Load &first, const Load &second) {
  std::ptrdiff_t sums = 0;
  bool rows = false, columns = false, first_sum = false, second_sum = false;
  for (const IterVar &iter : block.iters) {
    const bool a = varies_with(block, first, iter), b = varies_with(block, second, iter);
    if (iter.is_summed())
      sums += a && b, first_sum = first_sum || a, second_sum = second_sum || b;
    else
      rows = rows || (a && !b), columns = columns || (b && !a);
  }
  return rows && columns && first_sum && second_sum ? std::optional(sums) : std::nullopt;
}

/// The different elements that a term reads. What is loaded for the index or the mask of an access, as in
/// X[idx[i], k], is no element of the term.
std::vector<const Load *> elements_of(const Block &block) {
  std::vector<const Load *> loads = loads_of(block), found;
  auto is_in_another = [&](const Load *inner) {
    return std::ranges::any_of(loads, [&](const Load *outer) {
      auto has_it = [&](const Expr &e) {
        return e.exists() && any_node(e, [&](const Expr &node) { return node.as<Load>() == inner; });
      };
      return outer != inner &&
             (std::ranges::any_of(outer->indices, has_it) || has_it(outer->mask) || has_it(outer->fill));
    });
  };
  for (const Load *access : loads)
    if (access->buffer != block.body.buffer && !is_in_another(access) &&
        std::ranges::none_of(found, [&](const Load *other) { return is_same_access(*access, *other); }))
      found.push_back(access);
  return found;
}

/// Of the elements of a term, the two whose tiles serve most multiplications: those that share the most
/// reduction axes, and of equal ones the first. None if there are no two that each depend on a spatial axis of
/// their own.
std::optional<Terms> terms_of_product(const Block &block) {
  const std::vector<const Load *> found = elements_of(block);
  std::optional<Terms> best;
  std::optional<std::ptrdiff_t> most;
  for (std::size_t a = 0; a < found.size(); ++a)
    for (std::size_t b = a + 1; b < found.size(); ++b)
      if (auto sums = common_sums(block, *found[a], *found[b]); sums && (!most || *sums > *most))
        most = sums, best = Terms{{found[a], found[b]}, {}};
  if (best)
    for (const Load *access : found)
      if (access != best->factors[0] && access != best->factors[1])
        best->others.push_back(access);
  return best;
}

std::string text_of(const Load &access) { return to_string(load(access.buffer, access.indices)); }

/// A spatial axis that would be one of rows or columns of `own` if it were two axes: `other` depends on it,
/// too, but only through a part of it.
struct SharedAxis {
  const IterVar *axis;
  Expr part; ///< of the axis, in `other`
};
/// Whether the first element depends on a spatial axis of its own, or shares one of these. `shared` gets the
/// latter, if no axis is its own.
bool has_side(const Block &block, const Load &own, const Load &other, std::optional<SharedAxis> &shared) {
  std::optional<SharedAxis> found;
  for (const IterVar &axis : block.iters) {
    if (axis.is_summed() || !varies_with(block, own, axis))
      continue;
    if (!varies_with(block, other, axis))
      return true;
    const Expr part = part_of_axis(block, other, axis);
    if (!found && part.exists() && !part_of_axis(block, own, axis).exists())
      found = SharedAxis{&axis, part};
  }
  if (found)
    shared = found;
  return found.has_value();
}

/// The sentence of `why_no_product`.
std::string reason_of_axes(BlockRef handle, const Block &block) {
  if (!block.reduces() || !term_of(block) || terms_of_product(block))
    return "";
  const std::vector<const Load *> found = elements_of(block);
  auto is_summed = [&](const Load *access) {
    return std::ranges::any_of(block.iters, [&](const IterVar &iter) {
      return iter.is_summed() && varies_with(block, *access, iter);
    });
  };
  for (const Load *first : found)
    for (const Load *second : found) {
      std::optional<SharedAxis> of_first, of_second;
      if (first == second || !is_summed(first) || !is_summed(second) ||
          !has_side(block, *first, *second, of_first) || !has_side(block, *second, *first, of_second) ||
          !of_first)
        continue;
      const std::string part = to_string(of_first->part), &axis = of_first->axis->var->name;
      return fmt::format(
          "library::product: block {} is a reduction, not a product of matrices: {} and {} both "
          "depend on the axis {}, but {} only on {}, so that {} counts no rows, no columns and no "
          "batch; declare an axis for {}, and one for the {}",
          Schedule::name(handle), text_of(*first), text_of(*second), axis, text_of(*second), part, axis,
          of_first->part.as<Load>() ? "the values of " + part : part,
          of_first->part.as<Load>() ? "rows of each" : "rest of " + axis);
    }
  return "";
}

Terms terms_of(BlockRef handle, const Block &block) {
  if (!term_of(block) || !block.reduces())
    refuse(handle, "does not reduce; use library::elementwise");
  if (std::optional<Terms> terms = terms_of_product(block))
    return *terms;
  if (const std::string reason = reason_of_axes(handle, block); !reason.empty())
    throw UserError(ExitCode::illegal_schedule, reason + "; or use library::reduction");
  std::vector<std::string> texts;
  for (const Load *access : elements_of(block))
    texts.push_back(text_of(*access));
  refuse(handle,
         fmt::format("has no two elements in its terms of which each depends on a spatial axis of its own and "
                     "on a reduction axis, got {}; so it is no product of matrices; use library::reduction",
                     fmt::join(texts, ", ")));
}

/// The roles of the axes.
struct Axes {
  std::vector<Var> batch, rows, columns, reduction;
};

/// A spatial axis on which no factor depends counts rows: their elements are the same for all of its values. If
/// the rows have one value without it, it counts columns, because a fused axis does not show an axis of one
/// value, and each operand needs an axis of its own.
Axes classify(BlockRef handle, const Block &block, const std::array<const Load *, 2> &factors) {
  Axes axes;
  std::vector<Var> free;
  for (const IterVar &iter : block.iters) {
    const bool first = varies_with(block, *factors[0], iter), second = varies_with(block, *factors[1], iter);
    (iter.is_summed()  ? axes.reduction
     : first && second ? axes.batch
     : first           ? axes.rows
     : second          ? axes.columns
                       : free)
        .push_back(iter.var);
  }
  auto has_one = [&](const std::vector<Var> &group) {
    return std::ranges::all_of(group, [&](const Var &axis) {
      return as_int(std::ranges::find(block.iters, axis, &IterVar::var)->extent) == 1;
    });
  };
  const bool one_row = has_one(axes.rows);
  if (!free.empty() && one_row && has_one(axes.columns))
    refuse(handle, fmt::format("has an axis {} on which no operand depends, and operands of one row and one "
                               "column; use library::reduction",
                               free.front()->name));
  std::vector<Var> &side = one_row ? axes.columns : axes.rows;
  side.insert(side.begin(), free.begin(), free.end());
  return axes;
}

/// The dimension of the access whose index uses the axis first; the rank if only a mask does.
std::size_t dimension_of(const std::vector<Expr> &indices, const Var &axis) {
  return static_cast<std::size_t>(
      std::ranges::find_if(indices, [&](const Expr &index) { return uses(index, axis); }) - indices.begin());
}

/// In the order of the dimensions of the access, so that the last axis is that of neighbours, if there is one.
/// Axes that it does not use are the first.
void sort_by(std::vector<Var> &axes, const std::vector<Expr> &indices) {
  std::ranges::stable_sort(axes, {}, [&](const Var &axis) {
    std::size_t dimension = dimension_of(indices, axis);
    return dimension == indices.size() ? 0 : dimension + 1;
  });
}

bool are_axes(const std::vector<Expr> &indices) {
  return std::ranges::all_of(indices, [](const Expr &index) { return index.as<Var>() != nullptr; });
}

/// The loops of the axes.
std::vector<Loop> loops_of(const Schedule &s, BlockRef handle, const std::vector<Var> &axes) {
  std::vector<Loop> loops;
  const Block &block = block_of(s, handle);
  for (const Var &axis : axes) {
    const IterVar &iter = *std::ranges::find(block.iters, axis, &IterVar::var);
    const Var *loop = iter.binding.as<Var>();
    if (!loop)
      refuse(handle,
             fmt::format("has the axis {}, whose loop was split or fused; use library::product before other "
                         "directives",
                         axis->name));
    loops.push_back({*loop});
  }
  return loops;
}

/// Reorders the loops of the block to these groups, fuses each, and makes an axis of each.
std::vector<Loop> group_loops(Schedule &s, BlockRef block, const std::vector<std::vector<Var>> &groups) {
  std::vector<Loop> order, fused;
  std::vector<std::vector<Loop>> loops;
  for (const std::vector<Var> &group : groups) {
    loops.push_back(loops_of(s, block, group));
    order.insert(order.end(), loops.back().begin(), loops.back().end());
  }
  s.reorder(order);
  for (const std::vector<Loop> &group : loops)
    fused.push_back(fuse_all(s, group));
  s.axes_from_loops(block);
  return fused;
}

const Load &read_of(const Block &block, const Buffer &buffer) {
  std::vector<const Load *> loads = loads_of(block);
  return **std::ranges::find(loads, buffer, &Load::buffer);
}

/// The axes of the result that index the sum as those of each group do.
std::vector<std::vector<Var>> groups_of_result(const Block &result, const Buffer &sum, const Block &product,
                                               const std::vector<std::vector<Var>> &groups) {
  const Load &read = read_of(result, sum);
  std::vector<std::vector<Var>> mapped;
  for (const std::vector<Var> &group : groups) {
    mapped.emplace_back();
    for (const Var &axis : group)
      mapped.back().push_back(*read.indices[dimension_of(product.body.indices, axis)].as<Var>());
  }
  return mapped;
}

/// Whether the block is in a nest of its own, as it was declared: not the store of a product that has a
/// schedule.
bool is_stage(const Schedule &s, const Block &block) {
  auto is_serial = [&](const IterVar &iter) {
    const Var *loop = iter.binding.as<Var>();
    return !loop || find_loop(s.program().body, *loop)->is<Serial>();
  };
  auto is_array = [](const Load *access) { return access->buffer->scope == Scope::global; };
  for (const Stmt &nest : nests_of(s.program().body))
    if (find_block(nest, block.id))
      return blocks_of(nest).size() == 1 && std::ranges::all_of(block.iters, is_serial) &&
             std::ranges::all_of(loads_of(block), is_array);
  return false;
}

/// The stage that computes the buffer, if it can be inlined into its only reader. A reduction, and what several
/// blocks read, stay arrays.
const Block *stage_of(const Schedule &s, const Buffer &buffer) {
  if (buffer->role != Role::temporary || buffer->scope != Scope::global)
    return nullptr;
  const Block *writer = nullptr;
  std::size_t writers = 0, readers = 0;
  for (const Block *block : blocks_of(s.program().body)) {
    if (block->body.buffer == buffer)
      writer = block, ++writers;
    else
      readers += reads(*block, buffer);
  }
  return writers == 1 && readers == 1 && !writer->reduces() && is_stage(s, *writer) ? writer : nullptr;
}

/// Whether the array may be one that bulk copies read: an input, or a temporary in global memory. The
/// requirements of `bulk_copy` see to it that an earlier kernel wrote the latter.
bool is_complete(const Buffer &buffer) {
  return buffer->role == Role::input || (buffer->role == Role::temporary && buffer->scope == Scope::global);
}

/// Whether the buffer is an array, not a stage that is inlined into its reader.
bool is_stored(const Schedule &s, const Buffer &buffer) {
  return buffer->role != Role::temporary || (is_complete(buffer) && !stage_of(s, buffer));
}

/// Whether the accesses are those of a product of two matrices, or of two batches of them, whose dimensions are
/// the axes in their order.
bool are_matrices(const Schedule &s, const Block &product, const std::array<const Load *, 2> &factors,
                  const std::vector<std::vector<Var>> &spatial, const std::vector<Var> &reduction) {
  if (factors[0]->buffer == factors[1]->buffer || reduction.size() != 1)
    return false;
  std::vector<Var> axes;
  for (const std::vector<Var> &group : spatial) {
    if (group.size() != 1)
      return false;
    axes.push_back(group[0]);
  }
  auto is = [](const Expr &index, const Var &axis) { return same(index, Expr(axis)); };
  if (!std::ranges::equal(product.body.indices, axes, is) ||
      !std::ranges::equal(std::span(product.iters).first(axes.size()), axes, {}, &IterVar::var))
    return false;
  std::size_t batches = axes.size() - 2;
  for (const Load *factor : factors)
    if (factor->mask.exists() || !are_axes(factor->indices) || factor->indices.size() != batches + 2 ||
        !is_stored(s, factor->buffer) || (batches == 1 && !is(factor->indices[0], axes[0])))
      return false;
  return true;
}

/// Exchanges rows and columns if the rows are neighbours in the first result: the columns are to be.
void make_columns_neighbours(Axes &axes, std::array<const Load *, 2> &factors, const Block &product,
                             const Block &result) {
  // A copy is found by the name of its buffer, that of the first factor first.
  if (factors[0]->buffer == factors[1]->buffer)
    return;
  const Var *last = neighbours(result.body.indices, result.iters, bounds_of(result));
  const Load &read = read_of(result, product.body.buffer);
  auto is_last = [&](const Var &row) {
    return last && same(read.indices[dimension_of(product.body.indices, row)], Expr(*last));
  };
  if (std::ranges::any_of(axes.rows, is_last)) {
    std::swap(axes.rows, axes.columns);
    std::swap(factors[0], factors[1]);
  }
}

/// Whether consecutive values of the axes, which one loop counts, lie in a row of the last axis: a vector of
/// them does not begin in one row and end in the next. That is not proved of rows whose length is a size.
bool have_known_rows(const std::vector<Var> &group, const Block &block) {
  return group.size() == 1 ||
         as_int(std::ranges::find(block.iters, group.back(), &IterVar::var)->extent).has_value();
}

/// Describes the operands, and sorts the axes by their dimensions.
std::array<Operand, 2> operands_of(const Schedule &s, Axes &axes, const std::array<const Load *, 2> &factors,
                                   const Block &product) {
  Bounds bounds = bounds_of(product);
  std::array<Operand, 2> operands;
  std::array<std::vector<Var> *, 2> sides = {&axes.rows, &axes.columns};
  std::array<const Var *, 2> last{};
  for (std::size_t n = 0; n < 2; ++n) {
    last[n] = neighbours(factors[n]->indices, product.iters, bounds);
    operands[n].along_k = !last[n] || std::ranges::find(*sides[n], *last[n]) == sides[n]->end();
  }
  sort_by(axes.batch, product.body.indices);
  sort_by(axes.rows, factors[0]->indices);
  sort_by(axes.columns, factors[1]->indices);
  sort_by(axes.reduction, factors[operands[0].along_k || !operands[1].along_k ? 0 : 1]->indices);
  for (std::size_t n = 0; n < 2; ++n) {
    Operand &operand = operands[n];
    operand.buffer = factors[n]->buffer->name;
    operand.dtype = factors[n]->buffer->dtype;
    operand.computed = stage_of(s, factors[n]->buffer) != nullptr;
    operand.async =
        !operand.computed && (!factors[n]->mask.exists() || same(factors[n]->fill, constant(operand.dtype, 0)));
    operand.in_bulk = operand.async && is_complete(factors[n]->buffer) &&
                      !excluded_inside(*factors[n], bounds).exists() &&
                      std::ranges::none_of(factors[n]->indices, [](const Expr &e) { return e.node().data; });
    const std::vector<Var> &group = operand.along_k ? axes.reduction : *sides[n];
    if (!last[n] || group.back() != *last[n] || !have_known_rows(group, product))
      continue;
    const IterVar &axis = *std::ranges::find(product.iters, *last[n], &IterVar::var);
    operand.aligned =
        std::max<std::int64_t>(1, multiple_of(factors[n]->buffer, factors[n]->indices, factors[n]->mask, axis,
                                              line_bytes / byte_size(operand.dtype), bounds));
    const std::int64_t of_access = 16 / byte_size(operand.dtype);
    operand.width = operand.async_width = std::min<std::int64_t>(operand.aligned, of_access);
    if (operand.async && group.size() == 1) // the rows of fused axes end within those of the copy
      operand.async_width =
          std::max(operand.width, multiple_of_starts(factors[n]->buffer, factors[n]->indices, factors[n]->mask,
                                                     axis, of_access, bounds));
  }
  return operands;
}

/// Groups the loops of a result as those of the sum.
void group_result(Schedule &s, BlockRef result, const std::vector<std::vector<Var>> &groups) {
  std::vector<Var> wanted;
  for (const std::vector<Var> &group : groups)
    wanted.insert(wanted.end(), group.begin(), group.end());
  bool in_order = std::ranges::equal(block_of(s, result).iters, wanted, {}, &IterVar::var);
  if (!in_order || groups.size() != wanted.size())
    group_loops(s, result, groups);
}

} // namespace

bool is_product_of_matrices(const Schedule &s, BlockRef handle) {
  const Block &block = block_of(s, handle);
  return !block.reduces() || !term_of(block) || terms_of_product(block);
}

std::string why_no_product(const Schedule &s, BlockRef handle) {
  return reason_of_axes(handle, block_of(s, handle));
}

Contraction contraction(Schedule &schedule, BlockRef handle, Scope scope, bool apart) {
  Schedule s = schedule;
  Contraction c;
  c.sum = handle;
  const Terms terms = terms_of(handle, block_of(s, handle));
  std::array<const Load *, 2> factors = terms.factors;
  Axes axes = classify(handle, block_of(s, handle), factors);
  const Buffer buffer = block_of(s, handle).body.buffer;
  if (!are_axes(block_of(s, handle).body.indices))
    refuse(handle, fmt::format("writes {}, expected one axis for each index",
                               to_string(load(buffer, block_of(s, handle).body.indices))));

  c.results = results_of_sum(s, handle, scope, apart);
  const Block product = block_of(s, handle);
  make_columns_neighbours(axes, factors, product, block_of(s, c.results.front()));
  c.operands = operands_of(s, axes, factors, product);
  for (const Load *access : terms.others) {
    auto used = [&](const std::vector<Var> &group) {
      return std::ranges::any_of(product.iters, [&](const IterVar &iter) {
        return std::ranges::find(group, iter.var) != group.end() && varies_with(product, *access, iter);
      });
    };
    c.others.push_back({access->buffer->name, used(axes.rows), used(axes.columns), used(axes.reduction)});
  }

  std::vector<std::vector<Var>> groups;
  if (!axes.batch.empty())
    groups.push_back(axes.batch);
  groups.insert(groups.end(), {axes.rows, axes.columns});
  bool matrices = are_matrices(s, product, factors, groups, axes.reduction);
  std::vector<std::vector<std::vector<Var>>> groups_of_results;
  c.width = 16;
  c.aligned = line_bytes;
  for (const BlockRef &result : c.results) {
    groups_of_results.push_back(groups_of_result(block_of(s, result), product.body.buffer, product, groups));
    const std::vector<Var> &columns = groups_of_results.back().back();
    const Var &column = columns.back();
    const Block &own = block_of(s, result);
    if (!have_known_rows(columns, own)) {
      c.width = c.aligned = 1;
      continue;
    }
    c.width = std::min(c.width, width_of(own, column));
    const IterVar &axis = *std::ranges::find(own.iters, column, &IterVar::var);
    c.aligned =
        std::min(c.aligned, std::max<std::int64_t>(1, multiple_of(own.body.buffer, own.body.indices, Expr(),
                                                                  axis, line_bytes, bounds_of(own))));
  }

  // Copies have the order of the axes of the sum. Its rows are before its columns, and k is in front of those
  // that are neighbours in memory.
  bool k_first = !c.operands[0].along_k && !c.operands[1].along_k, k_last = c.operands[1].along_k;
  for (Operand &operand : c.operands)
    operand.is_matrix = matrices;
  c.operands[0].k_last = matrices ? c.operands[0].along_k : !k_first;
  c.operands[1].k_last = k_last;
  std::vector<Loop> loops;
  if (matrices) {
    for (const std::vector<Var> &group : groups)
      loops.push_back(loops_of(s, handle, group)[0]);
    c.k = loops_of(s, handle, axes.reduction)[0];
  } else {
    std::ptrdiff_t at = std::ssize(groups) - (k_first ? 2 : k_last ? 0 : 1);
    groups.insert(groups.begin() + at, axes.reduction);
    loops = group_loops(s, handle, groups);
    c.k = loops[static_cast<std::size_t>(at)];
    loops.erase(loops.begin() + at);
  }
  c.j = loops.back();
  c.i = loops[loops.size() - 2];
  if (loops.size() == 3)
    c.batch = loops[0];
  for (std::size_t n = 0; n < c.results.size(); ++n)
    group_result(s, c.results[n], groups_of_results[n]);
  schedule = std::move(s);
  return c;
}

std::optional<std::array<const Load *, 2>> factors_of_product(const Block &sum) {
  auto term = term_of_sum(sum);
  const auto *product = term ? term->as<Binary>() : nullptr;
  if (!product || product->op != BinaryOp::mul)
    return std::nullopt;
  std::array<const Load *, 2> loads{};
  for (auto [factor, n] : {std::pair(product->a, 0), std::pair(product->b, 1)}) {
    while (const auto *conversion = factor.as<Cast>())
      factor = Expr(conversion->a);
    loads[static_cast<std::size_t>(n)] = factor.as<Load>();
  }
  return loads[0] && loads[1] ? std::optional(loads) : std::nullopt;
}

DType multiplied(const Schedule &s, const Contraction &c) {
  const Block &sum = block_of(s, c.sum);
  bool rounded = any_node(sum.body.value, [](const Expr &node) { return node.dtype() == DType::tf32; });
  return rounded ? DType::tf32 : c.operands[0].dtype;
}

Copy copy_operand(Schedule &s, BlockRef reader, const Operand &operand, Scope scope) {
  if (operand.is_matrix)
    return {s.cache_read(reader, operand.buffer, scope), operand.width};
  BlockRef copy = s.reindex_cache_read(reader, operand.buffer, scope);
  if (!operand.computed)
    return {copy, operand.width};
  for (const Block *stage = nullptr;;) {
    stage = nullptr;
    for (const Load *access : loads_of(block_of(s, copy)))
      if (!stage)
        stage = stage_of(s, access->buffer);
    if (!stage)
      break;
    try {
      s.compute_inline({stage->id});
    } catch (const ScheduleError &) { // such as one that reads what is overwritten later: it stays an array
      break;
    }
  }
  const Block &block = block_of(s, copy);
  return {copy,
          width_of(block, block.iters[block.iters.size() - (operand.k_last == operand.along_k ? 1 : 2)].var)};
}

} // namespace nestsmith::library
