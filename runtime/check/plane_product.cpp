#include "runtime/check/plane_product.h"

#include "dsl/expr/numbers.h"
#include "runtime/check/error_analysis.h"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <llvm/Support/Parallel.h>
#include <span>
#include <vector>

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

/// The products of one program.
class Products {
public:
  explicit Products(const Multiplication &how) : how_(how) {}

  /// Matrix by matrix.
  void contract(const Contraction &c, const Plane &x, const Plane &y, Plane &result) const {
    if (how_.arithmetic != Arithmetic::floating && is_float(c.result->dtype)) {
      with_residues(how_.arithmetic, [&]<Arithmetic kind>() { contract_residues<kind>(c, x, y, result); });
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

private:
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
      double error = own + total * unit + sum_error<N>(c.k, c.k, how_.rounding_scale, total);
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
        how_.multiplier && how_.multiplier->serves(wanted)
            ? how_.multiplier->multiply(wanted, x, y)
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
    if (ring && how_.multiplier && how_.multiplier->serves(wanted)) {
      std::vector<double> product =
          how_.multiplier->multiply(wanted, {x.begin(), x.end()}, {y.begin(), y.end()});
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

  const Multiplication &how_;
};

} // namespace

bool can_multiply(const Contraction &c, const Planes &planes, Arithmetic arithmetic) {
  const Plane &x = planes.at(c.x.get()), &y = planes.at(c.y.get());
  if (!x.low.empty() || !y.low.empty())
    return false;
  return (is_float(c.result->dtype) && arithmetic == Arithmetic::floating) ||
         (x.error.empty() && y.error.empty());
}

void multiply(const Contraction &c, Planes &planes, const Multiplication &how) {
  Products(how).contract(c, planes.at(c.x.get()), planes.at(c.y.get()), planes.at(c.result.get()));
}

} // namespace nestsmith
