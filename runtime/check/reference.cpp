#include "runtime/check/reference.h"

#include "dsl/expr/error.h"
#include "dsl/expr/math_functions.h"
#include "dsl/expr/numbers.h"
#include "dsl/expr/shared_results.h"
#include "dsl/ir/reducer_laws.h"
#include "dsl/ir/workload_info.h"
#include "runtime/check/element_program.h"
#include "runtime/check/error_analysis.h"
#include "runtime/check/roundings.h"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <llvm/Support/Parallel.h>
#include <map>
#include <set>
#include <utility>

namespace nestsmith {

namespace {

template <class T> using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// Row-major values as a matrix of T, transposed on request. Integers wrap around.
template <class T, class From>
Matrix<T> as_matrix(std::span<const From> values, std::int64_t rows, std::int64_t columns, bool transposed) {
  Eigen::Map<const Matrix<From>> stored(values.data(), transposed ? columns : rows,
                                        transposed ? rows : columns);
  if (transposed)
    return stored.transpose().template cast<T>();
  return stored.template cast<T>();
}

/// x * y, panels of rows in parallel. The order of summation is the same for any number of threads.
template <class To, class T> std::vector<To> multiply(const Matrix<T> &x, const Matrix<T> &y) {
  constexpr Eigen::Index panel = 64;
  std::vector<To> result(static_cast<std::size_t>(x.rows() * y.cols()));
  Eigen::Map<Matrix<To>> whole(result.data(), x.rows(), y.cols());
  std::vector<Eigen::Index> panels;
  for (Eigen::Index first = 0; first < x.rows(); first += panel)
    panels.push_back(first);
  llvm::parallelForEach(panels.begin(), panels.end(), [&](Eigen::Index first) {
    Eigen::Index rows = std::min(panel, x.rows() - first);
    Matrix<T> product = x.middleRows(first, rows) * y;
    whole.middleRows(first, rows) = product.template cast<To>();
  });
  return result;
}

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
      if (auto contraction = as_contraction(*block); contraction && can_contract(*contraction))
        contract(*contraction);
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

  /// Integers that depend on roundings are evaluated one by one, and so are factors that are no doubles.
  bool can_contract(const Contraction &c) const {
    if (!planes_.at(c.x.get()).low.empty() || !planes_.at(c.y.get()).low.empty())
      return false;
    return (is_float(c.result->dtype) && !residues()) ||
           (planes_.at(c.x.get()).error.empty() && planes_.at(c.y.get()).error.empty());
  }

  /// Matrix by matrix.
  void contract(const Contraction &c) {
    const Plane &x = planes_.at(c.x.get()), &y = planes_.at(c.y.get());
    Plane &result = planes_.at(c.result.get());
    if (residues() && is_float(c.result->dtype)) {
      with_residues(arithmetic_, [&]<Arithmetic kind>() { contract_residues<kind>(c, x, y, result); });
      return;
    }
    if (!is_float(c.result->dtype)) {
      for (std::int64_t b = 0; b < c.batch; ++b)
        std::ranges::copy(integer_product(c, part(x.integer, b, c.m * c.k), part(y.integer, b, c.k * c.n)),
                          result.integer.begin() + b * c.m * c.n);
      return;
    }
    Factor left = factor(x, c.x_type), right = factor(y, c.y_type);
    product(c, rounded_to(c.x_type, magnitude(x)), rounded_to(c.y_type, magnitude(y)), result.magnitude);
    if (c.result->dtype == DType::f64) {
      wide_product(c, left.value, right.value, result);
      bound_product<DoubleDouble>(c, left, right, result);
    } else {
      product(c, left.value, right.value, result.value);
      bound_product<double>(c, left, right, result);
    }
    double least = c.result->dtype == DType::f64 ? 0x1p-1022 : 0x1p-126;
    for (double &magnitude : result.magnitude)
      magnitude += static_cast<double>(c.k) * least; // a product may underflow
  }

  /// The product of each matrix of the batch in double-double, rows in parallel.
  static void wide_product(const Contraction &c, const std::vector<double> &x, const std::vector<double> &y,
                           Plane &result) {
    result.low.assign(result.value.size(), 0);
    std::vector<std::int64_t> rows;
    for (std::int64_t row = 0; row < c.batch * c.m; ++row)
      rows.push_back(row);
    auto index = [](std::int64_t at) { return static_cast<std::size_t>(at); };
    llvm::parallelForEach(rows.begin(), rows.end(), [&](std::int64_t row) {
      std::int64_t b = row / c.m, i = row % c.m;
      std::vector<DoubleDouble> sums(index(c.n));
      for (std::int64_t k = 0; k < c.k; ++k) {
        double left = x[index(b * c.m * c.k + (c.x_transposed ? k * c.m + i : i * c.k + k))];
        for (std::int64_t j = 0; j < c.n; ++j) {
          double right = y[index(b * c.k * c.n + (c.y_transposed ? j * c.k + k : k * c.n + j))];
          sums[index(j)] = sums[index(j)] + exact_product(left, right);
        }
      }
      for (std::int64_t j = 0; j < c.n; ++j) {
        result.value[index(row * c.n + j)] = sums[index(j)].high;
        result.low[index(row * c.n + j)] = sums[index(j)].low;
      }
    });
    if (std::ranges::all_of(result.low, [](double low) { return low == 0; }))
      result.low.clear();
  }

  template <Arithmetic kind>
  static void contract_residues(const Contraction &c, const Plane &x, const Plane &y, Plane &result) {
    using R = Residue<kind>;
    // The factors in the type of the product. The second one has its reduction axis last.
    auto read = [](const Plane &plane, DType type, std::int64_t rows, std::int64_t columns, std::int64_t b,
                   bool transposed) {
      std::vector<R> factors(static_cast<std::size_t>(rows * columns));
      for (std::int64_t i = 0; i < rows; ++i)
        for (std::int64_t k = 0; k < columns; ++k) {
          std::int64_t at = b * rows * columns + (transposed ? k * rows + i : i * columns + k);
          std::int64_t element = plane.integer[static_cast<std::size_t>(at)];
          R factor{static_cast<std::int32_t>(element)};
          if (!is_float(plane.buffer->dtype))
            factor = R::of(element);
          else if (type != DType::f32)
            factor = from_element<kind>(type, to_element(type, factor));
          factors[static_cast<std::size_t>(i * columns + k)] = factor;
        }
      return factors;
    };
    for (std::int64_t b = 0; b < c.batch; ++b) {
      std::vector<R> left = read(x, c.x_type, c.m, c.k, b, c.x_transposed),
                     right = read(y, c.y_type, c.n, c.k, b, !c.y_transposed);
      for (std::int64_t i = 0; i < c.m; ++i)
        for (std::int64_t j = 0; j < c.n; ++j) {
          R sum{0};
          for (std::int64_t k = 0; k < c.k; ++k)
            sum = sum +
                  left[static_cast<std::size_t>(i * c.k + k)] * right[static_cast<std::size_t>(j * c.k + k)];
          result.integer[static_cast<std::size_t>((b * c.m + i) * c.n + j)] = sum.bits;
        }
    }
  }

  /// A matrix as a product reads it: rounded to the type of its factors.
  struct Factor {
    std::vector<double> value;
    std::vector<double> error; ///< empty: exact
    bool given = false;        ///< an input, of which the magnitude is the absolute value
  };
  static Factor factor(const Plane &plane, DType type) {
    Factor result{plane.value, plane.error, plane.magnitude.empty()};
    if (type != DType::tf32)
      return result;
    for (std::size_t n = 0; n < result.value.size(); ++n) {
      Bounded rounded = round_bounded<TF32>({result.value[n], result.error.empty() ? 0 : result.error[n]});
      result.value[n] = rounded.value;
      if (!result.error.empty())
        result.error[n] = rounded.error;
    }
    return result;
  }
  static std::vector<double> rounded_to(DType type, std::vector<double> values) {
    if (type == DType::tf32)
      for (double &value : values)
        value = rounded(type, value);
    return values;
  }
  static std::vector<double> absolute(std::vector<double> values) {
    std::ranges::transform(values, values.begin(), [](double v) { return std::abs(v); });
    return values;
  }
  static int least_last_bit(const std::vector<double> &values) {
    int least = 1 << 20; // none, which is exact
    for (double value : values)
      if (value != 0 && std::isfinite(value))
        least = std::min(least, last_bit(value));
    return least;
  }

  /// The error of x*y: |x|*dy + dx*(|y| + dy), and the roundings of the products and of their sum.
  template <class N>
  void bound_product(const Contraction &c, const Factor &x, const Factor &y, Plane &result) const {
    constexpr double unit = KernelNumbers<N>::roundoff;
    std::vector<double> magnitudes = result.magnitude, carried;
    std::vector<double> of_x = absolute(x.value), of_y = absolute(y.value);
    if (!x.given || !y.given) {
      magnitudes.assign(magnitudes.size(), 0);
      product(c, of_x, of_y, magnitudes);
    }
    if (!y.error.empty())
      product(c, of_x, y.error, carried);
    if (!x.error.empty()) {
      for (std::size_t n = 0; n < y.error.size(); ++n)
        of_y[n] += y.error[n];
      std::vector<double> more;
      product(c, x.error, of_y, more);
      carried.resize(more.size());
      for (std::size_t n = 0; n < more.size(); ++n)
        carried[n] += more[n];
    }
    double exact =
        carried.empty() ? largest_exact_sum<N>(least_last_bit(x.value) + least_last_bit(y.value)) : -1;
    result.error.assign(result.value.size(), 0);
    bool any = false;
    for (std::size_t n = 0; n < result.value.size(); ++n) {
      double own = carried.empty() ? 0 : carried[n];
      if (magnitudes[n] <= exact || (own == 0 && (magnitudes[n] == 0 || !std::isfinite(result.value[n]))))
        continue;
      double total = (magnitudes[n] + own) * (1 + unit);
      double error = own + total * unit + sum_error<N>(c.k, c.k, rounding_scale_, total);
      bool in_range = total + error <= largest_number<N>; // false for NaN
      result.error[n] = in_range ? error : no_bound;
      any = true;
    }
    if (!any)
      result.error.clear();
  }

  /// The product of each matrix of the batch.
  void product(const Contraction &c, const std::vector<double> &left, const std::vector<double> &right,
               std::vector<double> &into) const {
    into.resize(static_cast<std::size_t>(c.batch * c.m * c.n));
    for (std::int64_t b = 0; b < c.batch; ++b)
      std::ranges::copy(product(c, part(left, b, c.m * c.k), part(right, b, c.k * c.n)),
                        into.begin() + b * c.m * c.n);
  }

  template <class T>
  static std::vector<T> part(const std::vector<T> &values, std::int64_t b, std::int64_t size) {
    return {values.begin() + b * size, values.begin() + (b + 1) * size};
  }

  /// Inputs keep none: theirs is the absolute value.
  static std::vector<double> magnitude(const Plane &plane) {
    std::vector<double> result = plane.magnitude.empty() ? plane.value : plane.magnitude;
    if (plane.magnitude.empty())
      std::ranges::transform(result, result.begin(), [](double v) { return std::abs(v); });
    return result;
  }

  std::vector<double> product(const Contraction &c, const std::vector<double> &x,
                              const std::vector<double> &y) const {
    Product wanted{c.m, c.n, c.k, c.x_transposed, c.y_transposed, false};
    std::vector<double> result =
        multiplier_ && multiplier_->serves(wanted)
            ? multiplier_->multiply(wanted, x, y)
            : multiply<double>(as_matrix<double>(std::span(x), c.m, c.k, c.x_transposed),
                               as_matrix<double>(std::span(y), c.k, c.n, c.y_transposed));
    for (double &value : result)
      value += 0.0; // a multiplier may begin with a term instead of +0: -0 becomes +0
    return result;
  }

  std::vector<std::int64_t> integer_product(const Contraction &c, const std::vector<std::int64_t> &x,
                                            const std::vector<std::int64_t> &y) const {
    Product wanted{c.m, c.n, c.k, c.x_transposed, c.y_transposed, true};
    bool ring = c.result->dtype == DType::u32;
    if (ring && multiplier_ && multiplier_->serves(wanted)) {
      std::vector<double> product = multiplier_->multiply(wanted, {x.begin(), x.end()}, {y.begin(), y.end()});
      return {product.begin(), product.end()};
    }
    auto in = [&]<class T>() {
      return multiply<std::int64_t>(as_matrix<T>(std::span(x), c.m, c.k, c.x_transposed),
                                    as_matrix<T>(std::span(y), c.k, c.n, c.y_transposed));
    };
    if (ring)
      return in.template operator()<std::uint32_t>();
    std::vector<std::int64_t> result = in.template operator()<std::uint64_t>(); // wraps around
    if (c.result->dtype == DType::i32)
      for (std::int64_t &value : result)
        value = static_cast<std::int32_t>(value);
    return result;
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
