#include "codegen/wide_text.h"

#include "dsl/expr/error.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <vector>

namespace nestsmith {

// A compiler may contract a product with a sum that follows. It does not contract a call of fma.
const std::string_view wide_definition =
    R"(/// A value in double-double, with the terms of an error bound for its evaluation in double in any order of
/// summation: the magnitude without cancellation, and the roundings on the longest path.
struct Wide {
  double high, low; // their sum; low is at most half a unit in the last place of high
  double magnitude, roundings;
  __host__ __device__ Wide(double x) : high(x), low(0), magnitude(fabs(x)), roundings(0) {}
  __host__ __device__ Wide(double h, double l, double m, double r)
      : high(h), low(h - h == 0 ? l : 0), magnitude(m), roundings(r) {}
};
/// a + b without a rounding, for |a| >= |b| or a = 0.
__host__ __device__ inline Wide sum_of_ordered(double a, double b, double magnitude, double roundings) {
  double sum = a + b;
  return Wide(sum, b - (sum - a), magnitude, roundings);
}
__host__ __device__ inline Wide sum_of(const Wide &a, const Wide &b, double magnitude, double roundings) {
  double high = a.high + b.high, of_b = high - a.high;
  if (high - high != 0)
    return Wide(high, 0, magnitude, roundings);
  double rest = (a.high - (high - of_b)) + (b.high - of_b);
  double low = a.low + b.low, of_b_low = low - a.low;
  double rest_of_low = (a.low - (low - of_b_low)) + (b.low - of_b_low);
  Wide sum = sum_of_ordered(high, rest + low, magnitude, roundings);
  return sum_of_ordered(sum.high, sum.low + rest_of_low, magnitude, roundings);
}
__host__ __device__ inline Wide product_of(const Wide &a, const Wide &b, double magnitude, double roundings) {
  double product = fma(a.high, b.high, 0.0), rest = fma(a.high, b.high, -product);
  if (product - product != 0)
    return Wide(product, 0, magnitude, roundings);
  return sum_of_ordered(product, rest + (a.high * b.low + a.low * b.high), magnitude, roundings);
}
__host__ __device__ inline Wide quotient_of(const Wide &a, const Wide &b, double magnitude, double roundings) {
  double first = a.high / b.high;
  Wide of_b = product_of(b, Wide(first), 0, 0), rest = sum_of(a, Wide(-of_b.high, -of_b.low, 0, 0), 0, 0);
  return first - first == 0 ? sum_of_ordered(first, rest.high / b.high, magnitude, roundings)
                            : Wide(first, 0, magnitude, roundings);
}
__host__ __device__ inline bool is_less(const Wide &a, const Wide &b) {
  return a.high < b.high || (a.high == b.high && a.low < b.low);
}
)";

const std::string_view wide_negation = R"(__host__ __device__ inline Wide operator-(const Wide &a) {
  return Wide(-a.high, -a.low, a.magnitude, a.roundings);
}
)";

std::string_view wide_operator(BinaryOp op) {
  switch (op) {
  case BinaryOp::add:
    return R"(__host__ __device__ inline Wide operator+(const Wide &a, const Wide &b) {
  return sum_of(a, b, a.magnitude + b.magnitude, fmax(a.roundings, b.roundings) + 1);
}
)";
  case BinaryOp::sub:
    return R"(__host__ __device__ inline Wide operator-(const Wide &a, const Wide &b) {
  Wide negated(-b.high, -b.low, 0, 0);
  return sum_of(a, negated, a.magnitude + b.magnitude, fmax(a.roundings, b.roundings) + 1);
}
)";
  case BinaryOp::mul:
    return R"(__host__ __device__ inline Wide operator*(const Wide &a, const Wide &b) {
  return product_of(a, b, a.magnitude * b.magnitude, a.roundings + b.roundings + 1);
}
)";
  case BinaryOp::div:
    return R"(__host__ __device__ inline Wide operator/(const Wide &a, const Wide &b) {
  // The relative error of b grows by its own cancellation.
  double magnitude = a.magnitude * b.magnitude / (b.high * b.high);
  return quotient_of(a, b, magnitude, a.roundings + 2 * b.roundings + 1);
}
)";
  case BinaryOp::min:
    return R"(__host__ __device__ inline Wide min_f64(const Wide &a, const Wide &b) {
  const Wide &least = is_less(a, b) ? a : b;
  return Wide(least.high, least.low, fmax(a.magnitude, b.magnitude), fmax(a.roundings, b.roundings));
}
)";
  case BinaryOp::max:
    return R"(__host__ __device__ inline Wide max_f64(const Wide &a, const Wide &b) {
  const Wide &most = is_less(a, b) ? b : a;
  return Wide(most.high, most.low, fmax(a.magnitude, b.magnitude), fmax(a.roundings, b.roundings));
}
)";
  case BinaryOp::lt:
    return "__host__ __device__ inline bool operator<(const Wide &a, const Wide &b) { return is_less(a, b); "
           "}\n";
  case BinaryOp::le:
    return "__host__ __device__ inline bool operator<=(const Wide &a, const Wide &b) "
           "{ return is_less(a, b) || (a.high == b.high && a.low == b.low); }\n";
  case BinaryOp::eq:
    return "__host__ __device__ inline bool operator==(const Wide &a, const Wide &b) "
           "{ return a.high == b.high && a.low == b.low; }\n";
  case BinaryOp::ne:
    return "__host__ __device__ inline bool operator!=(const Wide &a, const Wide &b) "
           "{ return a.high != b.high || a.low != b.low; }\n";
  default:
    return "";
  }
}

const std::string_view wide_of_real = R"(/// Each rounding in float is 2^29 roundings in double.
__host__ __device__ inline Wide widened(const Real &x) {
  return Wide(x.value, 0, x.magnitude, ldexp((double)x.roundings, 29));
}
)";

const std::string_view real_of_wide =
    R"(/// A Wide rounded to float. An exact Wide stays exact. The first additional rounding is that to float, and the
/// second one covers the digits that a Real does not have.
__host__ __device__ inline Real rounded_f32(const Wide &x) {
  double roundings = ceil(ldexp(x.roundings, -29)) + 2;
  if (x.roundings == 0)
    return Real((float)x.high);
  return roundings < 16777216 ? Real(x.high, x.magnitude, (int)roundings) : Real(0, INFINITY, 1);
}
)";

const std::string_view wide_functions = R"(/// The bound on the error of a Wide.
__host__ __device__ inline double spread_of(const Wide &x) {
  double n_u = x.roundings * ldexp(1.0, -53);
  return x.roundings == 0 ? 0 : 2 * n_u < 1 ? n_u / (1 - 2 * n_u) * x.magnitude : INFINITY;
}
/// How far the operand of a function may be from the double at which the function is evaluated.
__host__ __device__ inline double reach_of(const Wide &x) {
  return x.roundings == 0 ? 0 : 2 * (spread_of(x) + fabs(x.low)) + ldexp(fabs(x.high), -52);
}
/// The result of a function that was evaluated in double, with an error of at most `halves` half units. The
/// kernel's evaluation has the same. The errors of the operands change the result by at most `carried`, which was
/// computed with such errors of values up to `most`. If the result may have no finite value, nothing is known of it.
__host__ __device__ inline Wide result_of(double value, double carried, double most, double halves) {
  const double u = ldexp(1.0, -53);
  if (carried > 0)
    carried += 8 * halves * u * most;
  if (!(fabs(value) + carried < INFINITY))
    return Wide(0, 0, INFINITY, 1);
  return Wide(value, 0, fabs(value) + carried + carried / (2 * halves * u) + ldexp(1.0, -1022), 2 * halves);
}
)";

namespace {

/// The statements that define `carried` and `most`, for the function `NAME_of` in double.
std::string_view wide_carried_error(ErrorRule rule) {
  switch (rule) {
  case ErrorRule::monotone:
    return R"(  double off = reach_of(x), above = NAME_of(x.high + off), below = NAME_of(x.high - off);
  double carried = off == 0 ? 0 : fabs(above - value) + fabs(below - value);
  double most = fmax(fabs(above), fabs(below));
)";
  case ErrorRule::slope_one:
    return "  double carried = reach_of(x), most = fabs(value) + carried;\n";
  case ErrorRule::power:
    return R"(  double of_x = reach_of(x), of_y = reach_of(y), carried = 0, most = fabs(value);
  double high = x.high + of_x, low = x.high - of_x;
  for (int corner = 0; corner < 4; ++corner) {
    double at = NAME_of(corner % 2 ? high : low, corner / 2 ? y.high + of_y : y.high - of_y);
    if (of_x + of_y > 0)
      carried += fabs(at - value);
    most = fmax(most, fabs(at));
  }
  bool whole = of_y == 0 && y.high == floor(y.high);
  if (low <= 0 && of_x + of_y > 0 && !whole)
    carried = INFINITY;
  else if (low <= 0 && high >= 0 && of_x > 0)
    carried = y.high < 0 ? INFINITY : carried + fabs(value);
)";
  case ErrorRule::product_sum:
  case ErrorRule::quotient:
    break;
  }
  internal_error("a function whose value in f64 has no error bound");
}

} // namespace

std::string wide_function(const MathFunction &function) {
  if (function.error == ErrorRule::product_sum)
    return fmt::format(
        "/// With one rounding more than the kernel has.\n"
        "__host__ __device__ inline Wide {}_f64(const Wide &x, const Wide &y, const Wide &z) {{\n"
        "  double roundings = fmax(x.roundings + y.roundings, z.roundings) + 2;\n"
        "  Wide product = product_of(x, y, 0, 0);\n"
        "  return sum_of(product, z, x.magnitude * y.magnitude + z.magnitude, roundings);\n"
        "}}\n",
        function.name);
  std::vector<std::string> wides, values;
  for (int n = 0; n < function.operands; ++n) {
    wides.push_back(fmt::format("const Wide &{}", "xyz"[n]));
    values.push_back(fmt::format("{}.high", "xyz"[n]));
  }
  std::string carried(wide_carried_error(function.error));
  for (std::size_t at; (at = carried.find("NAME")) != std::string::npos;)
    carried.replace(at, 4, function.name);
  return fmt::format("__host__ __device__ inline Wide {0}_f64({1}) {{\n"
                     "  double value = {0}_of({2});\n"
                     "{3}"
                     "  return result_of(value, carried, most, {4});\n"
                     "}}\n",
                     function.name, fmt::join(wides, ", "), fmt::join(values, ", "), carried,
                     2 * (function.ulps_f64 + 1) + 1);
}

} // namespace nestsmith
