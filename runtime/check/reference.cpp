#include "runtime/check/reference.h"

#include "dsl/expr/error.h"
#include "dsl/expr/math_functions.h"
#include "dsl/expr/numbers.h"
#include "dsl/expr/shared_results.h"
#include "dsl/ir/reducer_laws.h"
#include "dsl/ir/workload_info.h"
#include "runtime/check/element_program.h"
#include "runtime/check/error_analysis.h"
#include "runtime/check/plane_product.h"
#include "runtime/check/roundings.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <map>
#include <set>
#include <utility>

namespace nestsmith {

namespace {

class Evaluator {
public:
  Evaluator(const Program &source, std::span<const Array> arrays, std::span<const Scalar> scalars,
            Multiplier *multiplier, std::int64_t rounding_scale, Arithmetic arithmetic)
      : source_(source), scalars_(scalars), multiplier_(multiplier), rounding_scale_(rounding_scale),
        arithmetic_(arithmetic) {
    internal_check(arrays.size() == source.params.size(), "an array for each parameter");
    internal_check(scalars.size() == source.scalars.size(), "a value for each scalar parameter");
    for (std::size_t n = 0; n < arrays.size(); ++n) {
      const Buffer &param = source.params[n];
      Plane &plane = make_plane(param);
      internal_check(arrays[n].shape() == plane.shape && arrays[n].dtype() == param->dtype,
                     "an array has its parameter's shape and dtype");
      if (param->role != Role::output)
        fill(plane, arrays[n]);
      if (param->role == Role::input)
        plane.magnitude = {};
    }
  }

  Reference run() {
    Reference result;
    for (const Block *block : blocks_of(source_.body)) {
      const Buffer &written = block->body.buffer;
      for (const Buffer &array : arrays_of(written))
        if (!planes_.contains(array.get()))
          make_plane(array);
      if (auto product = as_contraction(*block); product && can_multiply(*product, planes_, arithmetic_))
        multiply(*product, planes_, {multiplier_, rounding_scale_, arithmetic_});
      else
        evaluate(*block);
      if (!residues())
        measure(*block, result);
      if (has_unsigned_zeros(block->body.value))
        unsigned_zeros_.insert(written.get());
    }
    for (const Buffer &param : written_params(source_)) {
      Plane &plane = planes_.at(param.get());
      ReferenceOutput &output = result.outputs.emplace_back();
      output.buffer = param;
      output.estimated = estimates_;
      output.signed_zeros = !unsigned_zeros_.contains(param.get());
      if (residues() && is_float(param->dtype))
        for (std::int64_t &bits : plane.integer)
          bits = element_of(param->dtype, bits);
      if (!plane.is_real()) {
        output.lowest = std::exchange(plane.value, as_doubles(plane));
        output.highest = std::exchange(plane.magnitude, std::vector<double>(plane.integer.size()));
      }
      output.value = std::move(plane.value);
      output.magnitude = std::move(plane.magnitude);
      output.integer = std::move(plane.integer);
      output.error = std::move(plane.error);
      output.low = std::move(plane.low);
    }
    return result;
  }

private:
  bool residues() const { return arithmetic_ != Arithmetic::floating; }
  /// A residue as it is stored, and back.
  std::int64_t element_of(DType type, std::int64_t residue) const {
    return with_residues(arithmetic_, [&]<Arithmetic kind>() -> std::int64_t {
      return to_element(type, Residue<kind>{static_cast<std::int32_t>(residue)});
    });
  }
  std::int64_t residue_of(Scalar element) const {
    return with_residues(arithmetic_, [&]<Arithmetic kind>() -> std::int64_t {
      return from_element<kind>(element.dtype, static_cast<std::uint32_t>(element.bits)).bits;
    });
  }

  /// The buffers that have planes: of tuples those of the parts.
  static std::vector<Buffer> arrays_of(const Buffer &buffer) {
    return is_tuple(buffer->dtype) ? part_buffers(*buffer) : std::vector{buffer};
  }

  Plane &make_plane(const Buffer &buffer) {
    Plane &plane = planes_[buffer.get()];
    plane = {buffer, constant_shape(buffer), {}, {}, {}, {}, {}, residues()};
    std::size_t size = 1;
    for (std::int64_t extent : plane.shape)
      size *= static_cast<std::size_t>(extent);
    plane.magnitude.assign(size, 0);
    if (plane.is_real())
      plane.value.assign(size, 0);
    else
      plane.integer.assign(size, 0);
    return plane;
  }

  void fill(Plane &plane, const Array &array) const {
    if (residues() && is_float(array.dtype())) {
      for (std::int64_t n = 0; n < array.size(); ++n)
        plane.integer[static_cast<std::size_t>(n)] = residue_of(array.at(n));
      return;
    }
    if (array.dtype() == DType::f32) {
      std::ranges::copy(array.view<float>(), plane.value.begin());
    } else if (array.dtype() == DType::u32) {
      std::ranges::copy(array.view<std::uint32_t>(), plane.integer.begin());
    } else if (is_float(array.dtype())) {
      for (std::int64_t n = 0; n < array.size(); ++n)
        plane.value[static_cast<std::size_t>(n)] = array.at(n).to_double();
    } else {
      for (std::int64_t n = 0; n < array.size(); ++n)
        plane.integer[static_cast<std::size_t>(n)] = extended(array.at(n));
    }
    if (is_float(array.dtype()))
      std::ranges::transform(plane.value, plane.magnitude.begin(), [](double v) { return std::abs(v); });
  }

  static std::vector<double> as_doubles(const Plane &plane) {
    std::vector<double> values(plane.integer.begin(), plane.integer.end());
    if (plane.buffer->dtype == DType::u64)
      std::ranges::transform(plane.integer, values.begin(),
                             [](std::int64_t v) { return static_cast<double>(static_cast<std::uint64_t>(v)); });
    return values;
  }

  /// Every instance of a block, spatial axes outermost, so that a reduction ends before the next begins.
  void evaluate(const Block &block) {
    std::vector<const IterVar *> iters;
    for (IterKind kind : {IterKind::spatial, IterKind::reduction})
      for (const IterVar &iter : block.iters)
        if (iter.kind == kind)
          iters.push_back(&iter);

    ElementProgram code(arithmetic_);
    std::vector<int> registers;
    std::vector<std::int64_t> extents;
    for (const IterVar *iter : iters) {
      internal_check(!iter->guarded && as_int(iter->extent), "the reference evaluates an unscheduled program");
      registers.push_back(code.variable(iter->var));
      extents.push_back(*as_int(iter->extent));
      if (extents.back() <= 0)
        return;
    }
    for (std::size_t n = 0; n < scalars_.size(); ++n) {
      bool real = is_float(scalars_[n].dtype);
      if (real && residues()) {
        code[code.variable(source_.scalars[n])] = {0, 0, residue_of(scalars_[n])};
        continue;
      }
      double value = real ? scalars_[n].to_double() : 0;
      code[code.variable(source_.scalars[n])] = {value, std::abs(value), real ? 0 : extended(scalars_[n])};
    }
    std::vector<CompiledStore> init, body;
    if (block.init)
      init = compile(code, *block.init);
    body = compile(code, block.body);
    std::vector<Accumulation> accumulations = accumulations_of(block, code);
    estimates_ |= std::ranges::any_of(accumulations, &Accumulation::estimated);

    for (bool more = true; more;) {
      bool first = true, last = true;
      for (std::size_t n = 0; n < iters.size(); ++n)
        if (iters[n]->kind == IterKind::reduction) {
          first &= code[registers[n]].integer == 0;
          last &= code[registers[n]].integer == extents[n] - 1;
        }
      if (block.init && first)
        execute(code, init);
      if (block.reduces())
        accumulate(code, accumulations, body, first, last);
      else
        execute(code, body);
      more = false;
      for (std::size_t n = iters.size(); n-- > 0 && !more;) {
        std::int64_t &index = code[registers[n]].integer;
        more = ++index < extents[n];
        if (!more)
          index = 0;
      }
    }
    note_divisions(code);
  }

  /// The values of the parts, without calls of reducers. The records of divisions refer to their nodes.
  const std::vector<Expr> &parts_to_store(const Store &store) {
    auto [at, fresh] = parts_to_store_.try_emplace(store.value.get());
    if (fresh)
      at->second = parts_of(without_reducer_calls(store.value));
    return at->second;
  }

  struct CompiledStore {
    Plane *plane = nullptr;
    std::size_t begin = 0, position_end = 0, end = 0;
    int position = 0, value = 0;
  };
  void note_divisions(const ElementProgram &code) {
    for (const Division &division : code.divisions()) {
      int &bits = quotients_[division.node];
      bits = std::max(bits, division.fraction_bits);
      int operand_bits = FractionBits(fraction_bits_, quotients_)(std::get<Binary>(division.node->kind).a);
      largest_operand_ = std::max(largest_operand_, std::ldexp(division.largest, operand_bits));
    }
  }

  /// One for each part of a tuple.
  std::vector<CompiledStore> compile(ElementProgram &code, const Store &store) {
    std::vector<Buffer> arrays = arrays_of(store.buffer);
    const std::vector<Expr> &values = parts_to_store(store);
    std::vector<CompiledStore> stores;
    for (std::size_t n = 0; n < arrays.size(); ++n) {
      CompiledStore &result = stores.emplace_back();
      result.plane = &planes_.at(arrays[n].get());
      result.begin = code.size();
      result.position = code.compile_position(*result.plane, store.indices, planes_);
      result.position_end = code.size();
      result.value = code.compile(values[n], planes_);
      result.end = code.size();
    }
    return stores;
  }
  static std::size_t position_of(ElementProgram &code, const CompiledStore &store) {
    const Cell &position = code[store.position];
    if (position.integer < 0)
      throw UserError(ExitCode::usage, fmt::format("the computation writes {}; change the shape",
                                                   outside(*store.plane, position)));
    return static_cast<std::size_t>(position.integer);
  }
  /// All parts are computed before the first of them is stored.
  static void execute(ElementProgram &code, const std::vector<CompiledStore> &stores) {
    for (const CompiledStore &store : stores)
      code.run(store.begin, store.end);
    for (const CompiledStore &store : stores)
      store.plane->set(position_of(code, store), code[store.value]);
  }

  /// The terms of a floating-point sum or product, which a kernel may combine in any order. A maximum does not
  /// round, so its order does not matter.
  struct ReorderedTerms {
    std::size_t begin = 0, end = 0; ///< the instructions of the term
    int term = 0;
    std::int64_t terms = 1;
    double magnitude = 0;
    bool multiplied = false, wide = false; ///< wide: of f64
    SumOfBounded sum;
    ProductOfBounded product = {};
    BasicSumOfBounded<DoubleDouble> wide_sum{1};
    BasicProductOfBounded<DoubleDouble> wide_product = {};

    void begin_at(const Cell &cell, std::int64_t rounding_scale) {
      sum = SumOfBounded(rounding_scale);
      wide_sum = BasicSumOfBounded<DoubleDouble>(rounding_scale);
      product = {};
      wide_product = {};
      magnitude = multiplied ? 1 : 0;
      add(cell);
    }
    void add(const Cell &cell) {
      if (wide && multiplied)
        wide_product.multiply({{cell.value, cell.low}, cell.error});
      else if (wide)
        wide_sum.add({{cell.value, cell.low}, cell.error});
      else if (multiplied)
        product.multiply({cell.value, cell.error});
      else
        sum.add({cell.value, cell.error});
      magnitude = in_range(multiplied ? magnitude * cell.magnitude : magnitude + cell.magnitude);
    }
    Cell result() const {
      if (wide) {
        WideBounded all = multiplied ? wide_product.result() : wide_sum.result(terms);
        return {all.value.high, magnitude, 0, all.error, all.value.low};
      }
      Bounded all = multiplied ? product.result() : sum.result(terms);
      return {all.value, magnitude, 0, all.error};
    }
    double in_range(double size) const {
      double largest = wide ? largest_number<DoubleDouble> : largest_number<double>;
      return size <= largest ? size : std::numeric_limits<double>::infinity();
    }
  };
  /// How the reference bounds a part of the elements of a reduction, whose terms a kernel combines in any
  /// order.
  struct Accumulation {
    std::optional<ReorderedTerms> terms; ///< a sum or product; none: the parts are combined in order
    bool order_matters = false;          ///< another order may give another result, so nothing is known of it
    bool estimated = false;              ///< another order gives the same result up to roundings
  };

  /// One for each part.
  std::vector<Accumulation> accumulations_of(const Block &block, ElementProgram &code) const {
    if (!block.reduces())
      return {};
    std::vector<Expr> values = parts_of(term_of(block).value());
    std::vector<OrderEffect> effects = order_effects(block.reducer, block.body.buffer->dtype);
    std::vector<Accumulation> all(values.size());
    const OwnReducer *own = block.reducer.definition();
    bool broken = residues() && own && !holds_for(*own, arithmetic_), exact = own && holds_exactly(*own);
    for (std::size_t n = 0; n < values.size(); ++n) {
      if (residues()) { // sums and products have the same residue in each order
        all[n].order_matters = broken;
        continue;
      }
      if (effects[n] == OrderEffect::unknown)
        (exact ? all[n].estimated : all[n].order_matters) = true;
      if (effects[n] != OrderEffect::sum && effects[n] != OrderEffect::product)
        continue;
      ReorderedTerms &result =
          all[n].terms.emplace(ReorderedTerms{.multiplied = effects[n] == OrderEffect::product,
                                              .wide = values[n].dtype() == DType::f64,
                                              .sum = SumOfBounded(rounding_scale_)});
      result.begin = code.size();
      result.term = code.compile(values[n], planes_);
      result.end = code.size();
      for (const IterVar &iter : block.iters)
        if (iter.kind == IterKind::reduction)
          result.terms *= *as_int(iter.extent);
    }
    return all;
  }

  /// Combines the element with one term. All parts are computed before the first of them is stored.
  void accumulate(ElementProgram &code, std::vector<Accumulation> &parts,
                  const std::vector<CompiledStore> &bodies, bool first, bool last) const {
    for (std::size_t n = 0; n < parts.size(); ++n)
      if (!parts[n].terms)
        code.run(bodies[n].begin, bodies[n].end);
    for (std::size_t n = 0; n < parts.size(); ++n) {
      if (parts[n].terms) {
        accumulate(code, *parts[n].terms, bodies[n], first, last);
        continue;
      }
      Cell result = code[bodies[n].value];
      if (parts[n].order_matters)
        result.error = no_bound;
      else if (parts[n].estimated && last)
        result.error *= order_factor;
      bodies[n].plane->set(position_of(code, bodies[n]), result);
    }
  }
  void accumulate(ElementProgram &code, ReorderedTerms &terms, const CompiledStore &body, bool first,
                  bool last) const {
    code.run(body.begin, body.position_end);
    std::size_t position = position_of(code, body);
    if (first)
      terms.begin_at(body.plane->get(position), rounding_scale_);
    code.run(terms.begin, terms.end);
    terms.add(code[terms.term]);
    if (last)
      body.plane->set(position, terms.result());
  }

  /// Whether the sign of a zero depends on the implementation of an operator (see ReferenceOutput).
  bool has_unsigned_zeros(const Expr &value) const {
    return any_node(value, [&](const Expr &e) {
      if (const auto *access = e.as<Load>())
        return unsigned_zeros_.contains(access->buffer.get());
      const auto *binary = e.as<Binary>();
      return binary && is_float(e.dtype()) &&
             (binary->op == BinaryOp::min || binary->op == BinaryOp::max || binary->op == BinaryOp::floordiv ||
              binary->op == BinaryOp::floormod);
    });
  }

  /// The floating-point operands, other than inputs, of which an integer depends.
  static std::vector<Expr> rounded_operands(const Expr &value) {
    std::vector<Expr> result;
    auto add = [&](const Expr &e) {
      if (is_float(e.dtype()) && !is_given(e))
        result.push_back(e);
    };
    walk(value, [&](const Expr &e) {
      if (const auto *cast = e.as<Cast>(); cast && !is_float(cast->dtype))
        add(cast->a);
      if (const auto *binary = e.as<Binary>(); binary && is_comparison(binary->op)) {
        add(binary->a);
        add(binary->b);
      }
    });
    return result;
  }

  void measure_integers(const Expr &value, Reference &result) {
    FractionBits bits(fraction_bits_, quotients_);
    for (const Expr &operand : rounded_operands(value))
      result.fraction_bits = std::max(result.fraction_bits, bits(operand));
  }

  /// Adds what `block` does to a value that goes through it.
  void measure(const Block &block, Reference &result) {
    result.largest = std::max(result.largest, largest_operand_);
    result.divides |= !quotients_.empty();
    const std::vector<Expr> &values = parts_to_store(block.body);
    for (const Expr &value : values)
      result.applies |= any_node(value, [](const Expr &e) {
        const MathFunction *function = math_function(e);
        return function && !function->fraction_bits;
      });
    for (const auto &[node, bits] : quotients_)
      result.fraction_bits = std::max(result.fraction_bits, bits);
    std::vector<Buffer> arrays = arrays_of(block.body.buffer);
    std::vector<Expr> inits = block.init ? parts_of(block.init->value) : std::vector<Expr>();
    for (std::size_t n = 0; n < arrays.size(); ++n)
      if (is_float(arrays[n]->dtype))
        measure_part(arrays[n], block.init ? std::vector{values[n], inits[n]} : std::vector{values[n]}, result);
      else
        measure_integers(values[n], result);
  }
  void measure_part(const Buffer &array, const std::vector<Expr> &values, Reference &result) {
    int &bits = fraction_bits_[array.get()];
    for (const Expr &value : values)
      bits = std::max(bits, FractionBits(fraction_bits_, quotients_)(value));
    result.fraction_bits = std::max(result.fraction_bits, bits);
    for (double magnitude : planes_.at(array.get()).magnitude)
      result.largest = std::max(result.largest, std::ldexp(magnitude, bits));
  }

  const Program &source_;
  std::span<const Scalar> scalars_;
  Multiplier *multiplier_;
  std::int64_t rounding_scale_;
  Arithmetic arithmetic_;
  bool estimates_ = false;
  std::map<const ExprNode *, std::vector<Expr>> parts_to_store_;
  Planes planes_;
  std::map<const BufferNode *, int> fraction_bits_; ///< of each stage
  std::map<const ExprNode *, int> quotients_;       ///< fraction bits of each division
  double largest_operand_ = 0;                      ///< of a division, in units of its last fraction bit
  std::set<const BufferNode *> unsigned_zeros_;     ///< buffers of which the sign of a zero is not defined
};

} // namespace

Reference reference(const Program &source, std::span<const Array> arrays, std::span<const Scalar> scalars,
                    Multiplier *multiplier, std::int64_t rounding_scale) {
  return Evaluator(source, arrays, scalars, multiplier, rounding_scale, Arithmetic::floating).run();
}

Reference exact_reference(const Program &source, std::span<const Array> arrays, std::span<const Scalar> scalars,
                          Arithmetic arithmetic) {
  return Evaluator(source, arrays, scalars, nullptr, 1, arithmetic).run();
}

std::int64_t extended(Scalar scalar) {
  if (scalar.dtype == DType::boolean)
    return scalar.bits != 0;
  return with_number(scalar.dtype, [&]<class T>() -> std::int64_t {
    if constexpr (std::is_integral_v<T>)
      return static_cast<std::int64_t>(scalar.as<T>());
    else
      internal_error("a float among the integers");
  });
}

} // namespace nestsmith
