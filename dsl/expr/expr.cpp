#include "dsl/expr/expr.h"

#include "dsl/expr/error.h"
#include "dsl/expr/expr_text.h"
#include "dsl/expr/numbers.h"
#include "dsl/expr/spelling.h"

#include <array>
#include <cctype>
#include <cmath>
#include <fmt/format.h>
#include <limits>

namespace nestsmith {

namespace {

template <class T> Expr make(T kind) { return Expr(new ExprNode(std::move(kind))); }

template <class T> Expr fold_as(BinaryOp op, DType dtype, std::int64_t a, std::int64_t b) {
  auto x = static_cast<T>(a), y = static_cast<T>(b);
  return with_op(op, [&]<BinaryOp o>() -> Expr {
    if constexpr (o == BinaryOp::logical_and)
      return boolean(a && b);
    else if constexpr (o == BinaryOp::logical_or)
      return boolean(a || b);
    else if constexpr (is_comparison(o))
      return boolean(compare<o>(x, y));
    else if constexpr (!is_defined_on<o, T>())
      internal_error("integers have floordiv, not div");
    else
      return int_imm(static_cast<std::int64_t>(arithmetic<o>(x, y)), dtype);
  });
}

Expr fold(BinaryOp op, const IntImm &a, const IntImm &b) {
  switch (a.dtype) {
  case DType::u32:
    return fold_as<std::uint32_t>(op, a.dtype, a.value, b.value);
  case DType::u64:
    return fold_as<std::uint64_t>(op, a.dtype, a.value, b.value);
  case DType::i32:
    return fold_as<std::int32_t>(op, a.dtype, a.value, b.value);
  default:
    return fold_as<std::int64_t>(op, a.dtype, a.value, b.value);
  }
}

std::int64_t width_of(DType dtype) { return 8 * byte_size(dtype); }

bool is_shifted_out(std::int64_t amount, DType dtype) { return amount < 0 || amount >= width_of(dtype); }

/// The result of a shift by the width or more.
Expr shifted_out(BinaryOp op, const Expr &a) {
  bool keeps_sign = op == BinaryOp::shift_right && is_index(a.dtype());
  return keeps_sign ? binary(op, a, int_imm(width_of(a.dtype()) - 1, a.dtype())) : int_imm(0, a.dtype());
}

/// Simplifies integer operations and conditions with a neutral or absorbing operand, such as true && x. Returns
/// null if no rule applies.
/// [rule.identity.sum] x + 0 = x, 0 + x = x, x - 0 = x
/// [rule.identity.product] x*1 = x, 1*x = x, x*0 = 0, 0*x = 0, x//1 = x, x % 1 = 0
/// [rule.identity.bits] x & 0 = 0, 0 & x = 0, x & -1 = x, -1 & x = x, x | 0 = x, 0 | x = x, x | -1 = -1,
///     -1 | x = -1, x ^ 0 = x, 0 ^ x = x
/// [rule.identity.shift] x << 0 = x, x >> 0 = x, 0 << s = 0, 0 >> s = 0 where 0 <= s
Expr identity(BinaryOp op, const Expr &a, const Expr &b) {
  auto x = as_int(a), y = as_int(b);
  std::int64_t ones = wrapped(a.dtype(), -1);
  switch (op) {
  case BinaryOp::add:
  case BinaryOp::bit_xor:
    return x == 0 ? b : y == 0 ? a : Expr();
  case BinaryOp::bit_and:
    return x == 0 || y == ones ? a : y == 0 || x == ones ? b : Expr();
  case BinaryOp::bit_or:
    return x == 0 || y == ones ? b : y == 0 || x == ones ? a : Expr();
  case BinaryOp::shift_left:
  case BinaryOp::shift_right:
    return x == 0 || y == 0 ? a : y && is_shifted_out(*y, a.dtype()) ? shifted_out(op, a) : Expr();
  case BinaryOp::sub:
    return y == 0 ? a : Expr();
  case BinaryOp::mul:
    return x == 1 || y == 0 ? b : y == 1 || x == 0 ? a : Expr();
  case BinaryOp::floordiv:
    return y == 1 ? a : Expr();
  case BinaryOp::floormod:
    return y == 1 ? int_imm(0, a.dtype()) : Expr();
  case BinaryOp::logical_and:
    return x ? (*x ? b : a) : y ? (*y ? a : b) : Expr();
  case BinaryOp::logical_or:
    return x ? (*x ? a : b) : y ? (*y ? b : a) : Expr();
  default:
    return {};
  }
}

[[noreturn]] void refuse(const std::string &message) { throw UserError(ExitCode::usage, message); }

/// The i64 constants that a constant of `dtype` may be written as. Negative constants of u32 and u64 wrap
/// around.
std::pair<std::int64_t, std::int64_t> constants_of(DType dtype) {
  if (dtype == DType::u32)
    return {std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::uint32_t>::max()};
  return with_number(dtype, []<class T>() -> std::pair<std::int64_t, std::int64_t> {
    if constexpr (!std::is_integral_v<T>)
      internal_error("a float among the integers");
    else if constexpr (sizeof(T) == 8)
      return {std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()};
    else
      return {std::numeric_limits<T>::min(), std::numeric_limits<T>::max()};
  });
}

/// The integer constant, converted to `dtype`.
Expr adopted(std::int64_t value, DType dtype) {
  if (is_float(dtype)) {
    auto number = static_cast<double>(value);
    if (rounded(dtype, number) != number || static_cast<std::int64_t>(number) != value)
      refuse(fmt::format("the constant {0} is not exact in {1}, the dtype of the other operand; write an exact "
                         "value, such as {2:.1f}",
                         value, name(dtype), rounded(dtype, number)));
    return float_imm(number, dtype);
  }
  auto [low, high] = constants_of(dtype);
  if (value < low || value > high)
    refuse(
        fmt::format("the constant {} does not fit the other operand, which is {}, expected {} to {}; convert "
                    "that with cast(DType::i64, …)",
                    value, name(dtype), low, high));
  return int_imm(value, dtype);
}

/// The operand as text, or "…" if that is long.
std::string shown(const Expr &e) { return e.node().size <= 24 ? to_string(e) : "…"; }

/// "in A[i]*x, ".
std::string place_of(std::string_view op, const Expr &a, const Expr &b) {
  bool is_name = std::isalpha(static_cast<unsigned char>(op.front())) != 0;
  return fmt::format(fmt::runtime(is_name ? "in {1}({0}, {2}), " : "in {0} {1} {2}, "), shown(a), op, shown(b));
}

/// Constants take the other operand's dtype, so that `i + 1` and `x*0.5` read naturally. The amount of a shift
/// takes the dtype of the operand that is shifted. The dtypes differ.
void unify(Expr &a, Expr &b, std::string_view op, bool shifts = false) {
  auto adopt = [](Expr &constant_side, DType dtype) {
    const auto *whole = constant_side.as<IntImm>();
    const auto *real = constant_side.as<FloatImm>();
    if (whole && whole->dtype == DType::i64 && dtype != DType::boolean)
      constant_side = adopted(whole->value, dtype);
    if (real && real->dtype == DType::f32 && is_narrow(dtype) && is_float(dtype) &&
        rounded(dtype, real->value) == real->value)
      constant_side = float_imm(real->value, dtype);
    if (real && real->dtype == DType::f32 && dtype == DType::f64)
      constant_side = float_imm(real->written, dtype);
  };
  adopt(a, b.dtype());
  if (a.dtype() != b.dtype())
    adopt(b, a.dtype());
  if (shifts && a.dtype() != b.dtype())
    b = cast(a.dtype(), b);
  if (a.dtype() != b.dtype())
    refuse(fmt::format("{}the operands of an expression are {} and {}, expected one dtype; "
                       "convert one of them with cast(dtype, …)",
                       place_of(op, a, b), name(a.dtype()), name(b.dtype())));
}

void require_condition(const Expr &e, std::string_view where) {
  if (e.dtype() != DType::boolean)
    refuse(fmt::format("{} takes conditions, got {}; compare it: x != 0", where, name(e.dtype())));
}

/// Refuses operators that the types of the operands do not have. Call this before the operands are converted to
/// one dtype, so that the message names this error.
void check_operator(BinaryOp op, const Expr &a, const Expr &b) {
  for (DType type : {a.dtype(), b.dtype()})
    if (is_tuple(type))
      refuse(fmt::format("{}{} is a tuple, expected a number; read one of its parts with part(e, \"{}\")",
                         place_of(spelling(op), a, b), name(type), parts_of(type).front().name));
  if (is_logical(op)) {
    require_condition(a, spelling(op));
    require_condition(b, spelling(op));
    return;
  }
  bool compares = op == BinaryOp::eq || op == BinaryOp::ne;
  if (!compares && (a.dtype() == DType::boolean || b.dtype() == DType::boolean))
    refuse(
        fmt::format("{}{} takes numbers, got {} and {}; use select(condition, a, b) to choose between numbers, "
                    "and &&, || and ! to combine conditions",
                    place_of(spelling(op), a, b), spelling(op), name(a.dtype()), name(b.dtype())));
  for (DType type : {a.dtype(), b.dtype()})
    if (is_narrow(type))
      refuse(fmt::format("{}{} is a storage type without arithmetic; convert with cast(DType::{}, …)",
                         place_of(spelling(op), a, b), name(type), name(arithmetic_type(type))));
  for (DType type : {a.dtype(), b.dtype()})
    if (is_bitwise(op) && is_float(type))
      refuse(fmt::format("{}{} works on the bits of integers, got {}; convert with cast(dtype, …)",
                         place_of(spelling(op), a, b), spelling(op), name(type)));
}

/// A shift that the user writes. Other shifts by a constant out of range come from substitutions.
Expr written_shift(BinaryOp op, Expr a, Expr b) {
  Expr result = binary(op, a, b);
  DType type = result.dtype();
  if (auto amount = as_int(b); amount && is_shifted_out(*amount, type))
    refuse(fmt::format("{}{} shifts by a constant from 0 to {}, got {}", place_of(spelling(op), a, b),
                       name(type), width_of(type) - 1, *amount));
  return result;
}

Expr make_select(Expr condition, Expr when_true, Expr when_false, bool branches) {
  require_condition(condition, branches ? "branch" : "select");
  if (when_true.dtype() != when_false.dtype())
    unify(when_true, when_false, branches ? "branch" : "select");
  if (auto value = as_int(condition))
    return *value ? when_true : when_false;
  if (DType type = when_true.dtype(); is_tuple(type)) {
    std::vector<Expr> parts;
    for (std::size_t n = 0; n < parts_of(type).size(); ++n)
      parts.push_back(make_select(condition, part(when_true, n), part(when_false, n), branches));
    return tuple(type, std::move(parts));
  }
  return make(Select{std::move(condition), std::move(when_true), std::move(when_false), branches});
}

} // namespace

std::string_view spelling(BinaryOp op) {
  constexpr std::array<std::string_view, 19> spellings = {
      "+",       "-",          "*",           "/", "floordiv", "floormod", "min", "max", "bit_and", "bit_or",
      "bit_xor", "shift_left", "shift_right", "<", "<=",       "==",       "!=",  "&&",  "||"};
  return spellings[static_cast<std::size_t>(op)];
}

Var make_var(std::string name, DType dtype, int lanes) {
  return std::make_shared<const Symbol>(Symbol{std::move(name), dtype, lanes});
}

Var make_derived_var(std::string name, std::string brief) {
  Symbol symbol{std::move(name), DType::i64};
  symbol.brief = std::move(brief);
  return std::make_shared<const Symbol>(std::move(symbol));
}

Var make_var_like(const Symbol &var) { return make_derived_var(var.name, var.brief); }

const std::string &name_in_kernel(const Symbol &var) {
  return var.brief.empty() || var.name.size() <= longest_name_in_kernel ? var.name : var.brief;
}

Var make_size(std::string name, Size size, DType dtype) {
  return std::make_shared<const Symbol>(Symbol{std::move(name), dtype, 1, size});
}

Var make_data(std::string name, DType dtype, int lanes) {
  return std::make_shared<const Symbol>(
      Symbol{.name = std::move(name), .dtype = dtype, .lanes = lanes, .data = true});
}

const ExprNode &Expr::refuse_null() {
  throw UserError(ExitCode::usage,
                  "an expression is empty: it was declared without a value; give it one before it is "
                  "used, such as `Expr total = 0.0f;` for a sum");
}

Expr Expr::from_bool(bool value) { return boolean(value); }
Expr Expr::from_integer(std::int64_t value) { return int_imm(value); }
Expr Expr::from_unsigned(std::uint64_t value) {
  if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
    refuse(fmt::format("the constant {} does not fit an i64, expected at most 2^63 - 1", value));
  return int_imm(static_cast<std::int64_t>(value));
}
Expr Expr::from_double(double value) {
  double number = rounded(DType::f32, value);
  if (std::isinf(number) != std::isinf(value) || (number == 0) != (value == 0))
    refuse(fmt::format("the constant {} is out of the range of f32, which is {} to {}; an f64 is written "
                       "constant(DType::f64, …)",
                       value, std::numeric_limits<float>::denorm_min(), std::numeric_limits<float>::max()));
  return make(FloatImm{DType::f32, number, value});
}
Expr::Expr(Var var) : Expr(make(std::move(var))) {}

int Expr::lanes() const {
  if (const Var *var = as<Var>())
    return (*var)->lanes;
  if (const auto *vector = as<Pack>())
    return static_cast<int>(vector->lanes.size());
  const auto *access = as<Load>();
  return access ? access->lanes : 1;
}

Expr int_imm(std::int64_t value, DType dtype) {
  static const auto up_to = [](std::int64_t most, DType type) {
    std::vector<Expr> made;
    for (std::int64_t n = 0; n <= most; ++n)
      made.push_back(make(IntImm{type, n}));
    return made;
  };
  // Indices often contain small constants, and proofs often contain booleans.
  static const std::vector<Expr> i64 = up_to(256, DType::i64), i32 = up_to(256, DType::i32),
                                 booleans = up_to(1, DType::boolean);
  value = wrapped(dtype, value);
  const auto *made = dtype == DType::i64       ? &i64
                     : dtype == DType::i32     ? &i32
                     : dtype == DType::boolean ? &booleans
                                               : nullptr;
  if (made && static_cast<std::uint64_t>(value) < made->size())
    return (*made)[static_cast<std::size_t>(value)];
  return make(IntImm{dtype, value});
}
Expr float_imm(double value, DType dtype) { return make(FloatImm{dtype, rounded(dtype, value)}); }
Expr boolean(bool value) { return int_imm(value, DType::boolean); }

/// The tuple of the values of `f` for the types of its parts.
template <class F> static Expr of_each_part(DType tuple_type, const F &f) {
  std::vector<Expr> parts;
  for (const TuplePart &part : parts_of(tuple_type))
    parts.push_back(f(part.dtype));
  return tuple(tuple_type, std::move(parts));
}

Expr constant(DType dtype, double value) {
  name(dtype); // refuses a value that is not an enumerator
  if (is_tuple(dtype))
    return of_each_part(dtype, [&](DType type) { return constant(type, value); });
  if (is_float(dtype))
    return float_imm(value, dtype);
  bool large = dtype == DType::u64 && value >= 0x1p63;
  return int_imm(
      large ? static_cast<std::int64_t>(convert<std::uint64_t>(value)) : convert<std::int64_t>(value), dtype);
}

Expr constant_of_bits(DType dtype, std::uint64_t value, bool negative) {
  name(dtype); // refuses a value that is not an enumerator
  if (is_tuple(dtype))
    return of_each_part(dtype, [&](DType type) { return constant_of_bits(type, value, negative); });
  if (is_float(dtype))
    return cast(dtype, int_imm(static_cast<std::int64_t>(value), negative ? DType::i64 : DType::u64));
  return int_imm(static_cast<std::int64_t>(value), dtype);
}

Expr binary(BinaryOp op, Expr a, Expr b) {
  bool same_type = a.dtype() == b.dtype();
  if (!same_type || !is_index(a.dtype()) || is_logical(op))
    check_operator(op, a, b); // all others are defined on indices
  if (!same_type)
    unify(a, b, spelling(op), is_shift(op));
  const auto *x = a.as<IntImm>();
  const auto *y = b.as<IntImm>();
  if (x && y)
    return fold(op, *x, *y);
  if (!is_float(a.dtype()))
    if (Expr simpler = identity(op, a, b); simpler.exists())
      return simpler;
  return make(Binary{op, std::move(a), std::move(b)});
}

Expr logical_not(Expr a) {
  require_condition(a, "!");
  if (auto value = as_int(a))
    return boolean(!*value);
  return make(Not{std::move(a)});
}

Expr select(Expr condition, Expr when_true, Expr when_false) {
  return make_select(std::move(condition), std::move(when_true), std::move(when_false), false);
}
Expr branch(Expr condition, Expr when_true, Expr when_false) {
  return make_select(std::move(condition), std::move(when_true), std::move(when_false), true);
}

Expr cast(DType dtype, Expr a) {
  name(dtype); // refuses a value that is not an enumerator
  if (a.dtype() == dtype)
    return a;
  if (is_tuple(dtype) || is_tuple(a.dtype()))
    refuse(fmt::format("a cast from {} to {}: a tuple has no conversion; convert its parts", name(a.dtype()),
                       name(dtype)));
  if (const auto *imm = a.as<IntImm>(); imm && is_float(dtype)) {
    auto in = [&]<class T>(T) {
      return imm->dtype == DType::u64 ? static_cast<T>(static_cast<std::uint64_t>(imm->value))
                                      : static_cast<T>(imm->value);
    };
    // In one rounding to f32 or f64, as in a kernel.
    return float_imm(dtype == DType::f64 ? in(double{}) : in(float{}), dtype);
  }
  if (const auto *imm = a.as<IntImm>())
    return int_imm(imm->value, dtype);
  // Narrow floats convert from and to f32 only.
  auto narrow = [](DType type) { return is_narrow(type) && is_float(type); };
  if ((narrow(dtype) && a.dtype() != DType::f32) || (narrow(a.dtype()) && dtype != DType::f32))
    return cast(dtype, make(Cast{DType::f32, std::move(a)}));
  return make(Cast{dtype, std::move(a)});
}

Expr load(Buffer buffer, std::vector<Expr> indices, Expr mask, Expr fill, int lanes) {
  if (mask.exists() && is_true(mask))
    mask = fill = {};
  return make(Load{std::move(buffer), std::move(indices), std::move(mask), std::move(fill), lanes});
}

Expr lane(Var vector, int index) { return make(Lane{std::move(vector), index}); }
Expr pack(std::vector<Expr> lanes) { return make(Pack{std::move(lanes)}); }
Expr call(const Function &function, std::vector<Expr> arguments) {
  return make(Call{&function, std::move(arguments)});
}

Expr tuple(const std::vector<std::pair<std::string, Expr>> &parts) {
  std::vector<TuplePart> types;
  std::vector<Expr> values;
  for (const auto &[name, value] : parts) {
    types.push_back({name, value.dtype()});
    values.push_back(value);
  }
  return tuple(tuple_type(types), std::move(values));
}

Expr tuple(DType type, std::vector<Expr> parts) {
  const std::vector<TuplePart> &types = parts_of(type);
  if (parts.size() != types.size())
    refuse(fmt::format("a tuple {} is made of {} parts, expected {}", name(type), parts.size(), types.size()));
  for (std::size_t n = 0; n < parts.size(); ++n) {
    const auto *whole = parts[n].as<IntImm>();
    if (whole && whole->dtype == DType::i64 && types[n].dtype != DType::i64 && types[n].dtype != DType::boolean)
      parts[n] = adopted(whole->value, types[n].dtype);
    if (parts[n].dtype() != types[n].dtype)
      refuse(fmt::format("the part '{}' of a tuple {} is {}; convert it with cast(DType::{}, …)", types[n].name,
                         name(type), name(parts[n].dtype()), name(types[n].dtype)));
  }
  return make(Tuple{type, std::move(parts)});
}

Expr part(const Expr &e, std::size_t index) {
  if (!is_tuple(e.dtype()))
    refuse(fmt::format("{} is {}, which is no tuple and has no parts", shown(e), name(e.dtype())));
  if (index >= parts_of(e.dtype()).size())
    refuse(fmt::format("{} is a tuple {}, which has no part {}", shown(e), name(e.dtype()), index));
  if (e.as<Load>() || e.as<Var>())
    return make(Part{e, static_cast<int>(index)});
  return parts_of(e)[index];
}

Expr part(const Expr &e, std::string_view name) {
  if (is_tuple(e.dtype())) {
    const std::vector<TuplePart> &parts = parts_of(e.dtype());
    for (std::size_t n = 0; n < parts.size(); ++n)
      if (parts[n].name == name)
        return part(e, n);
  }
  refuse(fmt::format("{} is {}, which has no part '{}'", shown(e), nestsmith::name(e.dtype()), name));
}

/// The meaning of the called function for the arguments of the call.
static Expr meaning_of(const Call &made) {
  std::map<Var, Expr> arguments;
  for (std::size_t n = 0; n < made.arguments.size(); ++n)
    arguments[made.function->parameters[n]] = made.arguments[n];
  return substitute(made.function->meaning, arguments);
}

std::vector<Expr> parts_of(const Expr &e) {
  if (!is_tuple(e.dtype()))
    return {e};
  if (const auto *made = e.as<Tuple>())
    return made->parts;
  if (const auto *made = e.as<Call>())
    return parts_of(meaning_of(*made));
  std::vector<Expr> parts;
  for (std::size_t n = 0; n < parts_of(e.dtype()).size(); ++n)
    parts.push_back(part(e, n));
  return parts;
}

Expr without_reducer_calls(const Expr &e) {
  return rebuild(e, [](const Expr &node) {
    const auto *made = node.as<Call>();
    return made && made->function->meaning.exists() ? without_reducer_calls(meaning_of(*made)) : node;
  });
}

Expr operator+(Expr a, Expr b) { return binary(BinaryOp::add, std::move(a), std::move(b)); }
Expr operator-(Expr a, Expr b) { return binary(BinaryOp::sub, std::move(a), std::move(b)); }
Expr operator*(Expr a, Expr b) { return binary(BinaryOp::mul, std::move(a), std::move(b)); }
Expr operator/(Expr a, Expr b) {
  bool real = is_float(a.dtype()) || is_float(b.dtype());
  return binary(real ? BinaryOp::div : BinaryOp::floordiv, std::move(a), std::move(b));
}
Expr operator%(Expr a, Expr b) {
  for (DType type : {a.dtype(), b.dtype()})
    if (is_float(type))
      refuse(fmt::format("% works on integers, got {}; floormod(a, b) is a - b*floor(a/b)", name(type)));
  return binary(BinaryOp::floormod, std::move(a), std::move(b));
}
Expr operator-(Expr a) {
  if (const auto *real = a.as<FloatImm>())
    return make(FloatImm{real->dtype, -real->value, -real->written});
  // 0.0 - x would have the wrong sign if x is 0.0.
  Expr zero = is_float(a.dtype()) ? float_imm(-0.0, a.dtype()) : int_imm(0, a.dtype());
  return std::move(zero) - std::move(a);
}
Expr operator+(Expr a) { return a; }
Expr operator<(Expr a, Expr b) { return binary(BinaryOp::lt, std::move(a), std::move(b)); }
Expr operator<=(Expr a, Expr b) { return binary(BinaryOp::le, std::move(a), std::move(b)); }
Expr operator>(Expr a, Expr b) { return std::move(b) < std::move(a); }
Expr operator>=(Expr a, Expr b) { return std::move(b) <= std::move(a); }
Expr operator==(Expr a, Expr b) { return equal(std::move(a), std::move(b)); }
Expr operator!=(Expr a, Expr b) { return not_equal(std::move(a), std::move(b)); }
Expr operator&&(Expr a, Expr b) { return binary(BinaryOp::logical_and, std::move(a), std::move(b)); }
Expr operator||(Expr a, Expr b) { return binary(BinaryOp::logical_or, std::move(a), std::move(b)); }
Expr equal(Expr a, Expr b) { return binary(BinaryOp::eq, std::move(a), std::move(b)); }
Expr not_equal(Expr a, Expr b) { return binary(BinaryOp::ne, std::move(a), std::move(b)); }
Expr floordiv(Expr a, Expr b) { return binary(BinaryOp::floordiv, std::move(a), std::move(b)); }
Expr floormod(Expr a, Expr b) { return binary(BinaryOp::floormod, std::move(a), std::move(b)); }
Expr ceildiv(Expr a, Expr b) { return floordiv(std::move(a) + b - Expr(1), b); }
Expr min(Expr a, Expr b) { return binary(BinaryOp::min, std::move(a), std::move(b)); }
Expr max(Expr a, Expr b) { return binary(BinaryOp::max, std::move(a), std::move(b)); }
Expr bit_and(Expr a, Expr b) { return binary(BinaryOp::bit_and, std::move(a), std::move(b)); }
Expr bit_or(Expr a, Expr b) { return binary(BinaryOp::bit_or, std::move(a), std::move(b)); }
Expr bit_xor(Expr a, Expr b) { return binary(BinaryOp::bit_xor, std::move(a), std::move(b)); }
Expr bit_not(Expr a) { return bit_xor(std::move(a), Expr(-1)); }
Expr shift_left(Expr a, Expr b) { return written_shift(BinaryOp::shift_left, std::move(a), std::move(b)); }
Expr shift_right(Expr a, Expr b) { return written_shift(BinaryOp::shift_right, std::move(a), std::move(b)); }
Expr operator&(Expr a, Expr b) { return bit_and(std::move(a), std::move(b)); }
Expr operator|(Expr a, Expr b) { return bit_or(std::move(a), std::move(b)); }
Expr operator^(Expr a, Expr b) { return bit_xor(std::move(a), std::move(b)); }
Expr operator~(Expr a) { return bit_not(std::move(a)); }
Expr operator<<(Expr a, Expr b) { return shift_left(std::move(a), std::move(b)); }
Expr operator>>(Expr a, Expr b) { return shift_right(std::move(a), std::move(b)); }

bool is_true(const Expr &e) { return !e.exists() || (e.dtype() == DType::boolean && as_int(e) == 1); }

const Expr *negated(const Binary &e) {
  const auto *zero = e.a.as<FloatImm>();
  return e.op == BinaryOp::sub && zero && zero->value == 0 && std::signbit(zero->value) ? &e.b : nullptr;
}

const Expr *complemented(const Binary &e) {
  return e.op == BinaryOp::bit_xor && as_int(e.b) == wrapped(e.a.dtype(), -1) ? &e.a : nullptr;
}

} // namespace nestsmith
