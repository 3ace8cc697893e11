#include "dsl/ir/tensor.h"

#include "dsl/expr/error.h"
#include "dsl/expr/expr_limits.h"
#include "dsl/expr/identifier.h"
#include "dsl/expr/math_functions.h"
#include "dsl/expr/shared_results.h"
#include "dsl/expr/simplify.h"
#include "dsl/ir/printer.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace nestsmith {

namespace {

[[noreturn]] void refuse(const std::string &message) { throw UserError(ExitCode::usage, message); }

/// The buffer that a stage computes.
const Buffer &buffer_of(const Stmt &stage) { return blocks_of(stage).front()->body.buffer; }

/// Refuses accesses of the wrong rank, and reads of an inout tensor at any element but the written one.
void check_accesses(const std::string &stage, const Expr &value, const Buffer &target,
                    const std::vector<Expr> &indices) {
  walk(value, [&](const Expr &e) {
    const auto *access = e.as<Load>();
    if (!access)
      return;
    if (access->indices.size() != access->buffer->shape.size())
      refuse(fmt::format(
          "stage '{}' reads '{}' with {} indices, but its rank is {}; give one index for each dimension", stage,
          access->buffer->name, access->indices.size(), access->buffer->shape.size()));
    for (const Expr &index : access->indices)
      if (!is_index(index.dtype()))
        refuse(fmt::format(
            "stage '{}' reads '{}' at {}, which is {}, expected an index of i64 or i32; convert it with "
            "cast(DType::i64, …)",
            stage, access->buffer->name, to_string(index), name(index.dtype())));
    if (access->mask.exists() && access->mask.dtype() != DType::boolean)
      refuse(
          fmt::format("stage '{}' reads '{}' where {}, which is {}, expected a condition; compare it: x != 0",
                      stage, access->buffer->name, to_string(access->mask), name(access->mask.dtype())));
    if (access->buffer == target)
      for (std::size_t n = 0; n < indices.size(); ++n)
        if (!same(access->indices[n], indices[n]))
          refuse(fmt::format("stage '{}' overwrites '{}' and may read only the element that it writes; "
                             "compute into another tensor first",
                             stage, target->name));
  });
}

/// Indices are i64 in a program, also those that are loaded from an array of i32.
Expr with_wide_indices(const Expr &value, SharedResults<Expr> &done) {
  return done(value, [&] {
    const Expr inside = map_children(value, [&](const Expr &child) { return with_wide_indices(child, done); });
    const auto *access = inside.as<Load>();
    auto is_wide = [](const Expr &index) { return index.dtype() == DType::i64; };
    if (!access || std::ranges::all_of(access->indices, is_wide))
      return inside;
    std::vector<Expr> indices;
    for (const Expr &index : access->indices)
      indices.push_back(cast(DType::i64, index));
    return load(access->buffer, indices, access->mask, access->fill);
  });
}

/// The time for proofs about nested divisions grows with the fourth power of their number.
void check_divisions(const std::string &stage, const Expr &value) {
  constexpr int most = 100;
  int divisions = 0;
  walk(value, [&](const Expr &e) {
    const auto *op = e.as<Binary>();
    bool digits = op && (op->op == BinaryOp::shift_right || op->op == BinaryOp::bit_and) && !e.node().data;
    divisions += op && is_index(op->a.dtype()) &&
                 (op->op == BinaryOp::floordiv || op->op == BinaryOp::floormod || digits);
  });
  if (divisions > most)
    refuse(fmt::format("stage '{}' divides indices {} times, expected at most {}; compute a part of them in a "
                       "stage of its own",
                       stage, divisions, most));
}

/// Refuses index arithmetic that overflows. The rules of dsl/expr/simplify.h hold for integers without bounds.
void check_index_range(const std::string &stage, const Expr &value, const Bounds &axes) {
  if (Expr index = index_out_of_range(value, axes); index.exists())
    refuse(fmt::format(
        "stage '{}' computes {} from its axes, which does not fit in 64 bits; index arithmetic does "
        "not wrap around: use smaller constants, or convert an axis with cast(DType::u64, …), whose "
        "arithmetic does",
        stage, to_string(index)));
}

} // namespace

/// The caller of a kernel has f32. The computation decides which values it rounds to tf32.
static void refuse_compute_type(const std::string &name, DType dtype) {
  nestsmith::name(dtype); // refuses a value that is not an enumerator
  if (is_tuple(dtype))
    refuse(
        fmt::format("'{}' is a parameter of {}, which only temporaries can be; declare one parameter for each "
                    "part",
                    name, nestsmith::name(dtype)));
  if (dtype == DType::tf32)
    refuse(fmt::format("'{}' is a parameter of tf32, which is a compute type; declare it as f32 and round each "
                       "value read with cast(DType::tf32, …)",
                       name));
}

/// Checks that there is one axis for each dimension.
static void check_axes(const std::string &stage, const std::vector<std::string> &axes, std::size_t rank) {
  if (axes.size() != rank)
    refuse(fmt::format("stage '{}' names {} axes, but its rank is {}", stage, axes.size(), rank));
  for (const std::string &axis : axes)
    check_identifier(axis, "an axis's name");
}

/// Checks that the function of an element takes an index for each axis.
static void check_arity(const std::string &stage, const std::vector<std::string> &axes, std::size_t indices) {
  if (axes.size() != indices)
    refuse(fmt::format("stage '{}' names {} axes, but its element is a function of {}", stage, axes.size(),
                       indices));
}

Reduce reduce_axis(std::string name, Expr extent) {
  check_identifier(name, "an axis's name");
  return {make_var(std::move(name)), std::move(extent)};
}
Definition sum(Expr value, std::vector<Reduce> axes) {
  return reduce(Reducer::sum, std::move(value), std::move(axes));
}
Definition product_over(Expr value, std::vector<Reduce> axes) {
  return reduce(Reducer::product, std::move(value), std::move(axes));
}
Definition max_over(Expr value, std::vector<Reduce> axes) {
  return reduce(Reducer::max, std::move(value), std::move(axes));
}
Definition min_over(Expr value, std::vector<Reduce> axes) {
  return reduce(Reducer::min, std::move(value), std::move(axes));
}
Definition reduce(Reducer reducer, Expr value, std::vector<Reduce> axes) {
  return {std::move(value), std::move(axes), reducer};
}

/// The value and its index, which the reducer compares.
static Definition arg_over(std::string_view function, Reducer (*reducer)(DType), Expr value,
                           const Reduce &axis) {
  DType dtype = value.dtype();
  if (is_narrow(dtype) || dtype == DType::boolean)
    throw UserError(
        ExitCode::usage,
        fmt::format("{} takes numbers with arithmetic, got {}; convert the operand with cast(DType::{}, …)",
                    function, name(dtype), is_float(dtype) ? "f32" : "i32"));
  Expr term = tuple({{"value", std::move(value)}, {"index", cast(DType::i32, axis)}});
  return reduce(reducer(dtype), std::move(term), axis);
}
Definition argmax_over(Expr value, const Reduce &axis) {
  return arg_over("argmax_over", argmax, std::move(value), axis);
}
Definition argmin_over(Expr value, const Reduce &axis) {
  return arg_over("argmin_over", argmin, std::move(value), axis);
}
Definition moments_over(Expr value, const Reduce &axis) {
  DType dtype = value.dtype();
  if (dtype != DType::f32 && dtype != DType::f64)
    refuse_type("moments_over", dtype);
  return reduce(
      moments(dtype),
      tuple({{"count", constant(dtype, 1)}, {"mean", std::move(value)}, {"squares", constant(dtype, 0)}}),
      axis);
}
Definition sum_of_exp_over(Expr value, const Reduce &axis) {
  DType dtype = value.dtype();
  if (dtype != DType::f32 && dtype != DType::f64)
    refuse_type("sum_of_exp_over", dtype);
  return reduce(sum_of_exp(dtype), tuple({{"largest", std::move(value)}, {"sum", constant(dtype, 1)}}), axis);
}

Workload::Workload(std::string name) : name_(std::move(name)) { check_identifier(name_, "a workload's name"); }

/// Checks that an extent uses only sizes of this workload.
void Workload::check_sizes(const std::string &whose, const Expr &extent) const {
  if (auto reason = too_large(extent))
    refuse(fmt::format("the extent of {} {}", whose, *reason));
  walk(extent, [&](const Expr &e) {
    const Var *var = e.as<Var>();
    if (var && (*var)->size && std::find(sizes_.begin(), sizes_.end(), *var) == sizes_.end())
      refuse(fmt::format("{} has the extent {}, but {} is not a size of workload '{}'; declare it with "
                         "size(\"{}\") of this workload",
                         whose, to_string(extent), (*var)->name, name_, (*var)->name));
  });
}

void Workload::claim(const std::string &name, const std::vector<Expr> &shape) {
  check_identifier(name, "a name");
  if (std::find(names_.begin(), names_.end(), name) != names_.end())
    refuse(fmt::format("the name '{}' is taken; give each tensor, scalar and stage its own", name));
  std::int64_t elements = 1;
  for (const Expr &extent : shape) {
    auto value = as_int(extent);
    if (value && *value < 1)
      refuse(fmt::format("'{}' has an extent of {}, expected at least 1", name, *value));
    if (value && __builtin_mul_overflow(elements, *value, &elements))
      refuse(fmt::format("'{}' has more elements than fit in 64 bits; make its shape smaller", name));
  }
  Expr all = 1;
  for (const Expr &extent : shape) {
    check_sizes(fmt::format("'{}'", name), extent);
    auto range = range_of(extent, {});
    if (!range || range->low < 1)
      refuse(fmt::format("'{}' has the extent {}, expected a constant or an expression of sizes, at least 1",
                         name, to_string(extent)));
    all = all * extent;
  }
  if (auto range = range_of(all, {}); uses_size(all) && (!range || range->high > std::int64_t{1} << 60))
    refuse(fmt::format("'{}' may have more than 2^60 elements; state smaller sizes: size(\"…\", {{.max = …}})",
                       name));
  if (elements > std::int64_t{1} << 60)
    refuse(fmt::format("'{}' has {} elements, expected at most 2^60; make its shape smaller", name, elements));
  names_.push_back(name);
}

Expr Workload::size(std::string name, Size stated) {
  claim(name, {});
  std::int64_t unit = stated.multiple_of, most = std::int64_t{1} << 40;
  if (unit < 1 || unit > most)
    refuse(fmt::format("the size '{}' has .multiple_of = {}, expected 1 to 2^40", name, unit));
  if (stated.min < 1 || stated.max > most || stated.max / unit * unit < stated.min)
    refuse(fmt::format("the size '{}' has the range {} to {} and must be a multiple of {}, but no number from "
                       "1 to 2^40 satisfies both; state another range",
                       name, stated.min, stated.max, unit));
  if (stated.usual != 0 && (stated.usual < stated.min || stated.usual > stated.max || stated.usual % unit != 0))
    refuse(fmt::format("the size '{}' has .usual = {}, expected a multiple of {} from {} to {}", name,
                       stated.usual, unit, stated.min, stated.max));
  sizes_.push_back(make_size(std::move(name), stated));
  return sizes_.back();
}

/// Whether rows of this length have at most 2^60 elements for all stated sizes.
static bool has_few_elements(const Expr &length, const std::vector<Expr> &rows) {
  std::int64_t elements = as_int(length).value_or(1);
  for (const Expr &extent : rows)
    if (__builtin_mul_overflow(elements, as_int(extent).value_or(1), &elements))
      return false; // the product of constants would wrap around
  Expr all = length;
  for (const Expr &extent : rows)
    all = all * extent;
  auto range = range_of(all, {});
  return range && range->high <= std::int64_t{1} << 60;
}

std::shared_ptr<const std::vector<Expr>>
Workload::strides(const std::string &name, const std::vector<Expr> &shape, const Stored &stored) const {
  if (!stored.leading.exists())
    return nullptr;
  if (shape.size() < 2)
    refuse(fmt::format("'{}' has {} dimensions, expected at least 2 for a leading dimension; leave it out",
                       name, shape.size()));
  const Var *size = stored.leading.as<Var>();
  if (!(size && (*size)->size) && !as_int(stored.leading))
    refuse(fmt::format("the leading dimension of '{}' is neither a size nor a constant; declare it with size()",
                       name));
  if (as_int(simplify(stored.leading < shape.back())) == 1)
    refuse(fmt::format("the leading dimension of '{}' is {}, expected at least the length of a row, {}", name,
                       to_string(stored.leading), to_string(shape.back())));
  std::vector<Expr> rows(shape.begin(), shape.end() - 1);
  if (!has_few_elements(stored.leading, rows))
    refuse(
        fmt::format("'{}' may span more than 2^60 elements with the leading dimension {}; make it or the shape "
                    "smaller, or state smaller sizes: size(\"…\", {{.max = …}})",
                    name, to_string(stored.leading)));
  std::vector<Expr> strides(shape.size(), Expr(1));
  strides[shape.size() - 2] = stored.leading;
  for (std::size_t d = shape.size() - 2; d-- > 0;)
    strides[d] = strides[d + 1] * shape[d + 1];
  return std::make_shared<const std::vector<Expr>>(std::move(strides));
}

/// Checks that an element is computed from variables and tensors of this workload only.
void Workload::check_origin(const std::string &stage, const Definition &definition,
                            const std::vector<Expr> &indices) const {
  std::vector<Var> known = scalars_;
  known.insert(known.end(), sizes_.begin(), sizes_.end());
  std::vector<std::string> axes;
  for (const Expr &index : indices) {
    known.push_back(*index.as<Var>());
    axes.push_back(known.back()->name);
  }
  for (const Reduce &axis : definition.axes) {
    const std::string &name = axis.var()->name;
    if (std::find(known.begin(), known.end(), axis.var()) != known.end())
      refuse(fmt::format(
          "stage '{}' sums over {} twice; name each axis once, or make another one with reduce_axis", stage,
          name));
    known.push_back(axis.var());
    check_sizes(fmt::format("the reduction axis {}", name), axis.extent());
    auto range = range_of(axis.extent(), {});
    if (!is_index(axis.extent().dtype()) || !range || range->low < 1)
      refuse(fmt::format(
          "the reduction axis {} has the extent {}, expected a constant or an expression of sizes, at least "
          "1",
          name, to_string(axis.extent())));
  }
  std::vector<Buffer> buffers = inputs_;
  buffers.insert(buffers.end(), inouts_.begin(), inouts_.end());
  for (const Stmt &made : stages_)
    buffers.push_back(buffer_of(made));
  walk(definition.value, [&](const Expr &e) {
    const auto *access = e.as<Load>();
    if (access && std::find(buffers.begin(), buffers.end(), access->buffer) == buffers.end())
      refuse(fmt::format("stage '{}' reads '{}', which is not a tensor of workload '{}'; declare it with "
                         "placeholder, inout or compute of this workload",
                         stage, access->buffer->name, name_));
    const Var *var = e.as<Var>();
    if (var && std::find(known.begin(), known.end(), *var) == known.end())
      refuse(fmt::format("stage '{0}' uses {1}, which is neither one of its axes ({2}) nor a scalar or size of "
                         "workload '{3}'; if {1} is a reduction axis, reduce over it, such as sum(…, {1})",
                         stage, (*var)->name, fmt::join(axes, ", "), name_));
  });
}

Tensor Workload::placeholder(std::string name, std::vector<Expr> shape, DType dtype, const Stored &stored) {
  claim(name, shape);
  refuse_compute_type(name, dtype);
  auto rows = strides(name, shape, stored);
  inputs_.push_back(std::make_shared<const BufferNode>(BufferNode{
      std::move(name), dtype, std::move(shape), Scope::global, Role::input, nullptr, std::move(rows)}));
  return Tensor(inputs_.back());
}

Tensor Workload::inout(std::string name, std::vector<Expr> shape, DType dtype, const Stored &stored) {
  claim(name, shape);
  refuse_compute_type(name, dtype);
  auto rows = strides(name, shape, stored);
  inouts_.push_back(std::make_shared<const BufferNode>(BufferNode{
      std::move(name), dtype, std::move(shape), Scope::global, Role::inout, nullptr, std::move(rows)}));
  return Tensor(inouts_.back());
}

Expr Workload::scalar(std::string name, DType dtype) {
  claim(name, {});
  refuse_compute_type(name, dtype);
  scalars_.push_back(make_data(std::move(name), dtype));
  return scalars_.back();
}

/// The definition of one element; its errors name the stage.
static Definition defined(const std::string &stage, const std::vector<Expr> &indices,
                          const std::function<Definition(const std::vector<Expr> &)> &element) {
  try {
    return element(indices);
  } catch (const UserError &error) {
    std::string place = fmt::format("the stage '{}'", stage), message = error.what();
    throw UserError(error.code(), message.starts_with(place) ? message : place + ": " + message);
  }
}

Stmt Workload::stage(const std::string &name, const Buffer &buffer, const std::vector<std::string> &axes,
                     const std::function<Definition(const std::vector<Expr> &)> &element, Where where) {
  Block block;
  block.id = std::make_shared<const BlockSymbol>(BlockSymbol{name, nullptr, where});
  std::vector<For> loops;
  std::vector<Expr> indices;
  auto add_axis = [&](const std::string &axis, const Expr &extent, IterKind kind, Var inside) {
    For loop{make_var(axis), extent, Serial{}, nullptr};
    block.iters.push_back({std::move(inside), extent, kind, Expr(loop.var)});
    loops.push_back(std::move(loop));
  };
  for (std::size_t n = 0; n < axes.size(); ++n) {
    Var inside = make_var(axes[n]);
    indices.emplace_back(inside);
    add_axis(axes[n], buffer->shape[n], IterKind::spatial, inside);
  }
  Definition definition = defined(name, indices, element);
  if (auto reason = too_large(definition.value))
    refuse(fmt::format("the value of stage '{}' {}", name, *reason));
  if (definition.value.dtype() != buffer->dtype)
    refuse(fmt::format("stage '{}' computes {}, but its tensor holds {}", name,
                       nestsmith::name(definition.value.dtype()), nestsmith::name(buffer->dtype)));
  check_accesses(name, definition.value, buffer, indices);
  SharedResults<Expr> widened;
  definition.value = with_wide_indices(definition.value, widened);
  check_origin(name, definition, indices);
  check_divisions(name, definition.value);
  for (const Reduce &axis : definition.axes)
    add_axis(axis.var()->name, axis.extent(), IterKind::reduction, axis.var());
  Bounds axes_of_stage;
  for (const IterVar &iter : block.iters)
    if (auto extent = range_of(iter.extent, {}))
      axes_of_stage.set(iter.var, {0, extent->low - 1});
  check_index_range(name, definition.value, axes_of_stage);
  Expr value = definition.value;
  if (!definition.axes.empty()) {
    block.reducer = definition.reducer;
    value = combine(block.reducer, load(buffer, indices), value); // refuses a dtype without arithmetic
    block.init = Store{buffer, indices, identity_of(block.reducer, buffer->dtype)};
  }
  block.body = Store{buffer, indices, value};
  if (block.reduces() && !term_of(block))
    refuse(
        fmt::format("the {} of stage '{}' does not depend on its terms, which are the constant {}; define the "
                    "stage without a reduction axis",
                    nestsmith::name(block.reducer), name, to_string(definition.value)));
  Stmt nest = make_block(std::move(block));
  for (auto loop = loops.rbegin(); loop != loops.rend(); ++loop) {
    loop->body = nest;
    nest = make_for(*loop);
  }
  return nest;
}

Tensor Workload::compute(std::string name, std::vector<Expr> shape, std::vector<std::string> axes,
                         const std::function<Definition(const std::vector<Expr> &)> &element, Where where) {
  check_axes(name, axes, shape.size());
  claim(name, shape);
  // The dtype of an element is known only after it is built, so build it once with scratch indices.
  std::vector<Expr> scratch;
  for (const std::string &axis : axes)
    scratch.emplace_back(make_var(axis));
  DType dtype = defined(name, scratch, element).value.dtype();
  auto buffer = std::make_shared<const BufferNode>(
      BufferNode{name, dtype, std::move(shape), Scope::global, Role::temporary});
  stages_.push_back(stage(name, buffer, axes, element, where));
  return Tensor(buffer);
}

Tensor Workload::compute(std::string name, std::vector<Expr> shape, std::vector<std::string> axes,
                         const std::function<Definition(Expr)> &element, Where where) {
  check_arity(name, axes, 1);
  return compute(
      std::move(name), std::move(shape), std::move(axes),
      [&](const std::vector<Expr> &i) { return element(i[0]); }, where);
}
Tensor Workload::compute(std::string name, std::vector<Expr> shape, std::vector<std::string> axes,
                         const std::function<Definition(Expr, Expr)> &element, Where where) {
  check_arity(name, axes, 2);
  return compute(
      std::move(name), std::move(shape), std::move(axes),
      [&](const std::vector<Expr> &i) { return element(i[0], i[1]); }, where);
}
Tensor Workload::compute(std::string name, std::vector<Expr> shape, std::vector<std::string> axes,
                         const std::function<Definition(Expr, Expr, Expr)> &element, Where where) {
  check_arity(name, axes, 3);
  return compute(
      std::move(name), std::move(shape), std::move(axes),
      [&](const std::vector<Expr> &i) { return element(i[0], i[1], i[2]); }, where);
}

void Workload::update(const Tensor &target, std::vector<std::string> axes,
                      const std::function<Definition(const std::vector<Expr> &)> &element, Where where) {
  const Buffer &buffer = target.buffer();
  if (buffer->role != Role::inout)
    refuse(fmt::format("'{}' is not an inout tensor; only those can be updated", buffer->name));
  check_axes(buffer->name, axes, buffer->shape.size());
  stages_.push_back(stage(buffer->name, buffer, axes, element, where));
}

Program Workload::output(std::vector<Result> outputs) const {
  Program program{name_, inputs_, scalars_, nullptr};
  program.sizes = sizes_;
  if (stages_.empty())
    refuse(fmt::format("workload '{}' computes nothing; add a stage", name_));
  program.body = make_seq(stages_);
  for (const Result &result : outputs) {
    const Buffer &old = result.tensor.buffer();
    bool ours = std::ranges::any_of(stages_, [&](const Stmt &made) { return buffer_of(made) == old; });
    if (old->role != Role::temporary || !ours)
      refuse(fmt::format("'{}' is not a stage of this workload and cannot be its output", old->name));
    if (std::ranges::count(outputs, old, [](const Result &other) { return other.tensor.buffer(); }) > 1)
      refuse(fmt::format("'{}' is named twice as an output; name it once", old->name));
    if (is_tuple(old->dtype))
      refuse(fmt::format(
          "'{0}' is {1}, which only temporaries can be; read its parts in stages of their own, such "
          "as part({0}(i), \"{2}\"), and name these as outputs",
          old->name, nestsmith::name(old->dtype), parts_of(old->dtype).front().name));
    refuse_compute_type(old->name, old->dtype);
    auto output = std::make_shared<const BufferNode>(BufferNode{old->name, old->dtype, old->shape,
                                                                Scope::global, Role::output, nullptr,
                                                                strides(old->name, old->shape, result.stored)});
    program.body = replace_buffer(program.body, old, output);
    program.params.push_back(output);
  }
  program.params.insert(program.params.end(), inouts_.begin(), inouts_.end());
  if (outputs.empty() && inouts_.empty())
    refuse(fmt::format("workload '{}' has no output; name one", name_));
  return program;
}

} // namespace nestsmith
