#include "lowering/data_arithmetic.h"

#include "dsl/expr/error.h"
#include "dsl/expr/expr.h"
#include "dsl/expr/spelling.h"

#include <algorithm>
#include <fmt/format.h>
#include <limits>

namespace nestsmith {

namespace {

using namespace fmt::literals;

constexpr std::string_view signed_division =
    R"(/// a / b, rounded down. a / 0 is 0, and the smallest integer divided by -1 is itself.
{specifiers} {type} {name}({type} a, {type} b) {{
  if (b == 0)
    return 0;
  if (b == -1)
    return ({type})(0 - (unsigned {type})a);
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}}
)";
constexpr std::string_view signed_modulo =
    R"(/// The remainder of floor division. It has the sign of b; a % 0 is a.
{specifiers} {type} {name}({type} a, {type} b) {{
  if (b == 0 || b == -1)
    return b == 0 ? a : 0;
  const {type} rest = a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}}
)";
constexpr std::string_view unsigned_division = R"(/// a / b. a / 0 is 0.
{specifiers} {type} {name}({type} a, {type} b) {{ return b == 0 ? 0 : a / b; }}
)";
constexpr std::string_view unsigned_modulo = R"(/// a % b. a % 0 is a.
{specifiers} {type} {name}({type} a, {type} b) {{ return b == 0 ? a : a % b; }}
)";

constexpr std::string_view left_shift = R"(/// a << b, and 0 where b is {width} or more.
{specifiers} {type} {name}({type} a, {type} b) {{ return b < {width} ? a << b : 0; }}
)";
constexpr std::string_view unsigned_right_shift = R"(/// a >> b, and 0 where b is {width} or more.
{specifiers} {type} {name}({type} a, {type} b) {{ return b < {width} ? a >> b : 0; }}
)";
constexpr std::string_view signed_right_shift =
    R"(/// a >> b, and 0 or -1 where b is negative, or {width} or more.
{specifiers} {type} {name}({type} a, {type} b) {{
  return a >> ((unsigned {type})b < {width} ? b : {width} - 1);
}}
)";

std::string_view type_name(DType dtype) {
  return dtype == DType::i32   ? "int"
         : dtype == DType::i64 ? "long long"
         : dtype == DType::u32 ? "unsigned int"
                               : "unsigned long long";
}

constexpr std::string_view device_function = "static __device__ __forceinline__";

/// "floordiv_i32".
Function operation(BinaryOp op, DType dtype) {
  Var a = make_var("a", dtype), b = make_var("b", dtype);
  std::string function = fmt::format("{}_{}", spelling(op), name(dtype));
  return {.name = function,
          .result = dtype,
          .parameters = {a, b},
          .meaning = binary(op, a, b),
          .prelude = operation_text(op, dtype, device_function, function)};
}

/// The divisions and the shifts.
const std::vector<Function> &operations() {
  static const std::vector<Function> table = [] {
    std::vector<Function> list;
    for (DType dtype : {DType::i32, DType::i64, DType::u32, DType::u64})
      for (BinaryOp op : {BinaryOp::floordiv, BinaryOp::floormod, BinaryOp::shift_left, BinaryOp::shift_right})
        if (op != BinaryOp::shift_left || unsigned_type(dtype) == dtype)
          list.push_back(operation(op, dtype));
    return list;
  }();
  return table;
}

Expr call_operation(BinaryOp op, DType dtype, const Expr &a, const Expr &b) {
  auto function = std::ranges::find_if(
      operations(), [&](const Function &x) { return x.result == dtype && x.meaning.as<Binary>()->op == op; });
  internal_check(function != operations().end(), "an operation of a dtype that has none");
  return call(*function, {cast(dtype, a), cast(dtype, b)});
}

/// CUDA's __float2int_rz and __float2uint_rz are the instruction cvt.rzi, which saturates and gives 0 for NaN.
/// For 64 bits, of the operand or of the result, cvt.rzi gives another number for NaN. There is no conversion
/// to 8 or 16 bits that saturates.
Function conversion(DType from, std::string function, DType to, std::string prelude) {
  Var x = make_var("x", from);
  return {.name = std::move(function),
          .result = to,
          .parameters = {x},
          .meaning = cast(to, x),
          .prelude = std::move(prelude)};
}

/// A function of the prelude: `value` is its result, for operands that are no NaN if `checks_nan`.
Function defined_conversion(DType from, DType to, std::string_view type, std::string_view value,
                            bool checks_nan) {
  std::string function = fmt::format("{}_to_{}", name(from), name(to));
  std::string text = checks_nan ? fmt::format("x == x ? {} : 0", value) : std::string(value);
  std::string begin = fmt::format("static __device__ __forceinline__ {} {}({} x) {{", type, function,
                                  from == DType::f64 ? "double" : "float");
  std::string line = fmt::format("{} return {}; }}\n", begin, text);
  constexpr std::size_t longest_line = 111;
  if (line.size() > longest_line)
    line = fmt::format("{}\n  return {};\n}}\n", begin, text);
  return conversion(from, function, to, "/// Rounds towards zero and saturates. NaN gives 0.\n" + line);
}

const std::vector<Function> &conversions() {
  using enum DType;
  static const std::vector<Function> table = {
      conversion(f32, "__float2int_rz", i32, ""),
      conversion(f32, "__float2uint_rz", u32, ""),
      defined_conversion(f32, i64, "long long", "__float2ll_rz(x)", true),
      defined_conversion(f32, u64, "unsigned long long", "__float2ull_rz(x)", true),
      defined_conversion(f32, u16, "unsigned short", "(unsigned short)min(__float2uint_rz(x), 65535u)", false),
      defined_conversion(f32, i16, "short", "(short)max(min(__float2int_rz(x), 32767), -32768)", false),
      defined_conversion(f32, i8, "signed char", "(signed char)max(min(__float2int_rz(x), 127), -128)", false),
      defined_conversion(f32, u8, "unsigned char", "(unsigned char)min(__float2uint_rz(x), 255u)", false),
      defined_conversion(f64, i32, "int", "__double2int_rz(x)", true),
      defined_conversion(f64, u32, "unsigned int", "__double2uint_rz(x)", true),
      defined_conversion(f64, i64, "long long", "__double2ll_rz(x)", true),
      defined_conversion(f64, u64, "unsigned long long", "__double2ull_rz(x)", true),
      defined_conversion(f64, u16, "unsigned short", "(unsigned short)min(__double2uint_rz(x), 65535u)", true),
      defined_conversion(f64, i16, "short", "(short)max(min(__double2int_rz(x), 32767), -32768)", true),
      defined_conversion(f64, i8, "signed char", "(signed char)max(min(__double2int_rz(x), 127), -128)", true),
      defined_conversion(f64, u8, "unsigned char", "(unsigned char)min(__double2uint_rz(x), 255u)", true)};
  return table;
}

/// Whether the dividend, plus the least multiple of the divisor that makes it not negative, is in the range of
/// its type.
bool can_be_shifted(const Range &dividend, std::int64_t divisor, DType dtype) {
  std::int64_t most =
      dtype == DType::i32 ? std::numeric_limits<std::int32_t>::max() : std::numeric_limits<std::int64_t>::max();
  std::int64_t by = 0, high = 0;
  return !__builtin_mul_overflow(-floor_div(dividend.low, divisor), divisor, &by) &&
         !__builtin_add_overflow(dividend.high, by, &high) && by <= most && high <= most;
}

/// Whether C++ defines the division, with the result of dsl/expr/ops.h. If only a constant divisor of a bounded
/// dividend is known, narrow_indices shifts the dividend to where it is not negative.
bool is_plain_division(const Binary &op, const Bounds &bounds) {
  if (!is_index(op.a.dtype()))
    return as_int(op.b).value_or(0) != 0;
  auto dividend = range_of(op.a, bounds), divisor = range_of(op.b, bounds);
  if (!dividend || !divisor || divisor->low < 1)
    return false;
  auto by = as_int(op.b);
  return dividend->low >= 0 || (by && can_be_shifted(*dividend, *by, op.a.dtype()));
}

Expr as_unsigned(const Expr &e, DType dtype) {
  const auto *conversion = e.as<Cast>();
  return conversion && conversion->a.dtype() == dtype && byte_size(e.dtype()) == byte_size(dtype)
             ? conversion->a
             : cast(dtype, e);
}

} // namespace

Expr defined_for_all_operands(BinaryOp op, DType dtype, const Expr &a, const Expr &b, bool shifts_within) {
  if (op == BinaryOp::floordiv || op == BinaryOp::floormod || (op == BinaryOp::shift_right && !shifts_within))
    return call_operation(op, dtype, a, b);
  if (op == BinaryOp::shift_right)
    return binary(op, cast(dtype, a), cast(dtype, b));
  DType wrapping = unsigned_type(dtype);
  Expr x = as_unsigned(a, wrapping), y = as_unsigned(b, wrapping);
  bool calls = op == BinaryOp::shift_left && !shifts_within;
  return cast(dtype, calls ? call_operation(op, wrapping, x, y) : binary(op, x, y));
}

bool shifts_within_width(DType dtype, const std::optional<Range> &amount) {
  return amount && amount->low >= 0 && amount->high < 8 * byte_size(dtype);
}

bool shifts_left_plainly(DType dtype, std::optional<Range> shifted, const std::optional<Range> &amount) {
  return shifted && shifted->low >= 0 && shifts_within_width(dtype, amount) &&
         range_of_bits(BinaryOp::shift_left, dtype, shifted, amount);
}

/// Without `calls_shifts`, a shift stays an operator.
static Expr wrapped_on_data(const Expr &e, const Bounds &bounds, FunctionRef<Expr(const Expr &)> operand,
                            bool calls_shifts) {
  const auto *op = e.as<Binary>();
  if (op && op->op == BinaryOp::shift_left && is_index(e.dtype())) {
    auto amount = range_of(op->b, bounds);
    if (shifts_left_plainly(e.dtype(), range_of(op->a, bounds), amount))
      return {};
    return defined_for_all_operands(op->op, e.dtype(), operand(op->a), operand(op->b),
                                    !calls_shifts || shifts_within_width(e.dtype(), amount));
  }
  bool may_wrap = op && (op->op == BinaryOp::add || op->op == BinaryOp::sub || op->op == BinaryOp::mul) &&
                  is_index(e.dtype()) && (e.node().data || e.dtype() == DType::i32);
  // The value x - (x + 1) is -1, but the subtraction overflows where x + 1 wraps around.
  if (!may_wrap || (range_of(e, bounds) && range_of(op->a, bounds) && range_of(op->b, bounds)))
    return {};
  return defined_for_all_operands(op->op, e.dtype(), operand(op->a), operand(op->b));
}

Expr wrap_on_data(const Expr &e, const Bounds &bounds, FunctionRef<Expr(const Expr &)> operand) {
  return wrapped_on_data(e, bounds, operand, false);
}

Expr define_on_data(const Expr &e, const Bounds &bounds, FunctionRef<Expr(const Expr &)> operand) {
  if (const auto *op = e.as<Binary>();
      op && is_shift(op->op) && (op->op == BinaryOp::shift_right || !is_index(e.dtype())))
    return shifts_within_width(e.dtype(), range_of(op->b, bounds))
               ? Expr()
               : defined_for_all_operands(op->op, e.dtype(), operand(op->a), operand(op->b));
  if (const auto *op = e.as<Binary>();
      op && (op->op == BinaryOp::floordiv || op->op == BinaryOp::floormod) && !is_float(op->a.dtype())) {
    if (is_plain_division(*op, bounds))
      return {};
    return defined_for_all_operands(op->op, e.dtype(), operand(op->a), operand(op->b));
  }
  if (const auto *to = e.as<Cast>(); to && is_float(to->a.dtype())) {
    auto function = std::ranges::find_if(conversions(), [&](const Function &x) {
      return x.result == to->dtype && x.parameters.front()->dtype == to->a.dtype();
    });
    return function == conversions().end() ? Expr() : call(*function, {operand(to->a)});
  }
  return wrapped_on_data(e, bounds, operand, true);
}

std::string operation_text(BinaryOp op, DType dtype, std::string_view specifiers, std::string_view name) {
  bool is_signed = is_index(dtype);
  std::string_view text = op == BinaryOp::floordiv     ? (is_signed ? signed_division : unsigned_division)
                          : op == BinaryOp::floormod   ? (is_signed ? signed_modulo : unsigned_modulo)
                          : op == BinaryOp::shift_left ? left_shift
                          : is_signed                  ? signed_right_shift
                                                       : unsigned_right_shift;
  return fmt::format(fmt::runtime(text), "specifiers"_a = specifiers, "type"_a = type_name(dtype),
                     "name"_a = name, "width"_a = 8 * byte_size(dtype));
}

bool is_data_function(std::string_view name) {
  auto has_it = [&](const Function &x) { return x.name == name; };
  return std::ranges::any_of(operations(), has_it) || std::ranges::any_of(conversions(), has_it);
}

} // namespace nestsmith
