#include "dsl/expr/math_functions.h"

#include "dsl/expr/error.h"
#include "dsl/expr/math.h"
#include "dsl/expr/numbers.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <limits>
#include <math.h> // the formulas of errors are also text of standalone files

namespace nestsmith {

namespace {

constexpr double not_stated = std::numeric_limits<double>::infinity();

/// Both fields of an error from one formula of the operands x and y, the result v, and `not_stated`.
#define NESTSMITH_TEXT(...) #__VA_ARGS__
#define NESTSMITH_OWN_ERROR(...)                                                                               \
  .own_error = []([[maybe_unused]] double x, [[maybe_unused]] double y, [[maybe_unused]] double v) -> double { \
    return __VA_ARGS__;                                                                                        \
  },                                                                                                           \
  .own_error_in_cpp = NESTSMITH_TEXT(__VA_ARGS__)
/// At least one unit in the last place of v.
#define NESTSMITH_UNIT (::ldexp(::fabs(v), -23) + ::ldexp(1.0, -149))
/// The error of y * __log2f(x).
#define NESTSMITH_EXPONENT_ERROR                                                                               \
  (::fabs(y) * (x >= 0.5 && x <= 2 ? ::exp2(-22.0) : ::fabs(::log2(x)) * 2.5 * ::ldexp(1.0, -23)) +            \
   ::fabs(y * ::log2(x)) * ::ldexp(1.0, -24))

constexpr MathFunction table[] = {
    {.name = "exp",
     .cuda = "expf",
     .value = [](auto x, auto, auto) { return std::exp(x); },
     .ulps = 2,
     .ulps_f64 = 1},
    {.name = "exp2",
     .cuda = "exp2f",
     .value = [](auto x, auto, auto) { return std::exp2(x); },
     .ulps = 2,
     .ulps_f64 = 1},
    {.name = "log",
     .cuda = "logf",
     .value = [](auto x, auto, auto) { return std::log(x); },
     .ulps = 1,
     .ulps_f64 = 1},
    {.name = "log2",
     .cuda = "log2f",
     .value = [](auto x, auto, auto) { return std::log2(x); },
     .ulps = 1,
     .ulps_f64 = 1},
    {.name = "sqrt", .cuda = "sqrtf", .value = [](auto x, auto, auto) { return std::sqrt(x); }},
    {.name = "rsqrt",
     .cuda = "rsqrtf",
     .value = [](auto x, auto, auto) { return 1 / std::sqrt(x); },
     .in_cpp = "1 / sqrt(x)",
     .ulps = 2,
     .ulps_f64 = 1},
    // In f64, CUDA has 1; the C++ library, which the simulator calls, has up to 2.
    {.name = "tanh",
     .cuda = "tanhf",
     .value = [](auto x, auto, auto) { return std::tanh(x); },
     .ulps = 2,
     .ulps_f64 = 2},
    {.name = "erf",
     .cuda = "erff",
     .value = [](auto x, auto, auto) { return std::erf(x); },
     .ulps = 2,
     .ulps_f64 = 2},
    {.name = "sin",
     .cuda = "sinf",
     .value = [](auto x, auto, auto) { return std::sin(x); },
     .ulps = 2,
     .ulps_f64 = 2,
     .error = ErrorRule::slope_one},
    {.name = "cos",
     .cuda = "cosf",
     .value = [](auto x, auto, auto) { return std::cos(x); },
     .ulps = 2,
     .ulps_f64 = 2,
     .error = ErrorRule::slope_one},
    {.name = "abs",
     .cuda = "fabsf",
     .cuda_f64 = "fabs",
     .value = [](auto x, auto, auto) { return std::abs(x); },
     .in_cpp = "fabs(x)",
     .error = ErrorRule::slope_one,
     .fraction_bits = [](int x, int, int) { return x; }},
    {.name = "floor",
     .cuda = "floorf",
     .value = [](auto x, auto, auto) { return std::floor(x); },
     .fraction_bits = [](int, int, int) { return 0; }},
    {.name = "fma",
     .operands = 3,
     .cuda = "fmaf",
     .value = [](auto x, auto y, auto z) { return std::fma(x, y, z); },
     .error = ErrorRule::product_sum,
     .fraction_bits = [](int x, int y, int z) { return x + y > z ? x + y : z; }},
    {.name = "pow",
     .operands = 2,
     .cuda = "powf",
     .value = [](auto x, auto y, auto) { return std::pow(x, y); },
     .ulps = 9,
     .ulps_f64 = 2,
     .error = ErrorRule::power},
    {.name = "fast_exp",
     .cuda = "__expf",
     .value = [](auto x, auto, auto) { return std::exp(x); },
     .in_cpp = "exp(x)",
     NESTSMITH_OWN_ERROR(x - x == 0 ? (2 + ::floor(::fabs(1.173 * x))) * NESTSMITH_UNIT : 0)},
    {.name = "fast_log",
     .cuda = "__logf",
     .value = [](auto x, auto, auto) { return std::log(x); },
     .in_cpp = "log(x)",
     NESTSMITH_OWN_ERROR(x >= 0.5 && x <= 2 ? ::exp2(-21.41) : 3 * NESTSMITH_UNIT)},
    {.name = "fast_log2",
     .cuda = "__log2f",
     .value = [](auto x, auto, auto) { return std::log2(x); },
     .in_cpp = "log2(x)",
     NESTSMITH_OWN_ERROR(x >= 0.5 && x <= 2 ? ::exp2(-22.0) : 2 * NESTSMITH_UNIT)},
    {.name = "fast_sin",
     .cuda = "__sinf",
     .value = [](auto x, auto, auto) { return std::sin(x); },
     .in_cpp = "sin(x)",
     .error = ErrorRule::slope_one,
     NESTSMITH_OWN_ERROR(::fabs(x) <= 3.141592653589793 ? ::exp2(-21.41) : not_stated)},
    {.name = "fast_cos",
     .cuda = "__cosf",
     .value = [](auto x, auto, auto) { return std::cos(x); },
     .in_cpp = "cos(x)",
     .error = ErrorRule::slope_one,
     NESTSMITH_OWN_ERROR(::fabs(x) <= 3.141592653589793 ? ::exp2(-21.19) : not_stated)},
    {.name = "fast_tanh",
     .cuda = "__tanhf",
     .value = [](auto x, auto, auto) { return std::tanh(x); },
     .in_cpp = "tanh(x)",
     NESTSMITH_OWN_ERROR(::ldexp(::fabs(v), -11) + ::ldexp(1.0, -149))},
    {.name = "fast_pow",
     .operands = 2,
     .cuda = "__powf",
     .value = [](auto x, auto y, auto) { return std::pow(x, y); },
     .in_cpp = "pow(x, y)",
     .error = ErrorRule::power,
     // exp2f adds 2 units to what the error of its operand makes of the result.
     NESTSMITH_OWN_ERROR(x > 0 ? ::fabs(v) * (::exp2(NESTSMITH_EXPONENT_ERROR) - 1) +
                                     2 * ::exp2(NESTSMITH_EXPONENT_ERROR) * NESTSMITH_UNIT
                               : not_stated)},
    {.name = "fast_divide",
     .operands = 2,
     .cuda = "__fdividef",
     .value = [](auto x, auto y, auto) { return x / y; },
     .in_cpp = "x / y",
     .error = ErrorRule::quotient,
     NESTSMITH_OWN_ERROR(::fabs(y) >= ::ldexp(1.0, -126) && ::fabs(y) <= ::ldexp(1.0, 126) ? 2 * NESTSMITH_UNIT
                                                                                           : not_stated)},
};
#undef NESTSMITH_EXPONENT_ERROR
#undef NESTSMITH_UNIT
#undef NESTSMITH_OWN_ERROR
#undef NESTSMITH_TEXT

/// Constants in several columns, so that the results of all functions differ (dsl/expr/math.h).
Expr hash_of_operands(const MathFunction &function, const std::vector<Expr> &operands) {
  auto salt = static_cast<std::uint32_t>(64 + 4 * index_of(function));
  Expr result = ring_hash(operands.back(), salt);
  for (std::size_t n = operands.size() - 1; n-- > 0;)
    result = ring_hash(operands[n] + result, ++salt);
  return result;
}

[[noreturn]] void refuse(std::string_view function, std::string_view got, std::string_view remedy) {
  throw UserError(ExitCode::usage, fmt::format("{} takes f32 or f64, got {}; {}", function, got, remedy));
}

/// The types of the functions; u32 in ring mode.
bool computes_in(DType type) { return type == DType::f32 || type == DType::f64 || type == DType::u32; }

/// A constant takes the dtype of the function, if it is exact there.
Expr operand_of(const MathFunction &function, DType type, Expr e) {
  auto whole = as_int(e);
  if (whole && e.dtype() == DType::i64 && type != DType::i64) {
    auto number = static_cast<double>(*whole);
    if (is_float(type) && rounded(type, number) != number)
      refuse(function.name, fmt::format("the constant {}", *whole),
             fmt::format("write a value that is exact in {}", name(type)));
    e = constant(type, *whole);
  }
  if (const auto *real = e.as<FloatImm>(); real && real->dtype == DType::f32 && type == DType::f64)
    e = float_imm(real->written, type);
  if (type == DType::f64 && e.dtype() == DType::f32)
    refuse(function.name, "f64 and f32", "convert one of them with cast(dtype, …)");
  if (function.own_error && type == DType::f64)
    throw UserError(
        ExitCode::usage,
        fmt::format("{} takes f32, got f64; CUDA has fast functions for f32 only, so use the precise one",
                    function.name));
  if (e.dtype() != type || !computes_in(type))
    refuse_type(function.name, e.dtype());
  return e;
}

} // namespace

std::span<const MathFunction> math_functions() { return table; }

void refuse_type(std::string_view function, DType got) {
  refuse(function, name(got), "convert the operand with cast(DType::f32, …)");
}

const MathFunction *find_math_function(std::string_view name) {
  const auto *row = std::ranges::find(table, name, &MathFunction::name);
  return row == std::end(table) ? nullptr : row;
}

std::size_t index_of(const MathFunction &function) { return static_cast<std::size_t>(&function - table); }

const Function &function_of(const MathFunction &function, DType type) {
  auto made_for = [](DType dtype) {
    std::vector<Function> made;
    for (const MathFunction &row : table) {
      Function one{std::string(row.name), dtype, {}, {}, "", &row};
      for (int n = 0; n < row.operands; ++n)
        one.parameters.push_back(make_var(std::string(1, "xyz"[n]), dtype));
      made.push_back(std::move(one));
    }
    return made;
  };
  static const std::vector<Function> of_f32 = made_for(DType::f32), of_f64 = made_for(DType::f64);
  return (type == DType::f64 ? of_f64 : of_f32)[index_of(function)];
}

const MathFunction *math_function(const Expr &e) {
  const auto *made = e.as<Call>();
  return made ? made->function->math : nullptr;
}

float evaluate(const MathFunction &function, float x, float y, float z) {
  return static_cast<float>(function.value(double{x}, double{y}, double{z}));
}

double evaluate(const MathFunction &function, double x, double y, double z) { return function.value(x, y, z); }

Expr call_math(const MathFunction &function, std::vector<Expr> operands) {
  if (operands.size() != static_cast<std::size_t>(function.operands))
    throw UserError(ExitCode::usage, fmt::format("{} has {} operands, expected {}", function.name,
                                                 operands.size(), function.operands));
  auto any = [&](DType type) {
    return std::ranges::any_of(operands, [&](const Expr &e) { return e.dtype() == type; });
  };
  bool ring = any(DType::u32);
  DType type = ring ? DType::u32 : any(DType::f64) ? DType::f64 : DType::f32;
  for (Expr &operand : operands)
    operand = operand_of(function, type, std::move(operand));
  if (!ring)
    return call(function_of(function, type), std::move(operands));
  if (function.error == ErrorRule::product_sum)
    return operands[0] * operands[1] + operands[2];
  return hash_of_operands(function, operands);
}

} // namespace nestsmith
