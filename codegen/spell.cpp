#include "codegen/spell.h"

#include "dsl/expr/error.h"
#include "dsl/expr/expr.h"
#include "dsl/expr/math_functions.h"

#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <limits>

namespace nestsmith {

namespace {

/// Precedence levels of C++. An expression gets parentheses if its level is below that of its context.
enum Level {
  whole,
  conditional_level,
  or_level,
  and_level,
  bit_or_level,
  bit_xor_level,
  bit_and_level,
  equality,
  relation,
  shift,
  sum,
  product,
  prefix,
  primary
};

struct Operator {
  std::string_view text;
  int level;
  int context; ///< level for its operands; one higher for the right operand of - / %
  bool chains; ///< a op (b op c) needs no parentheses
};

/// Operands of ||, bitwise operators and comparisons get parentheses that C++ does not require, for readability
/// and to avoid compiler warnings.
Operator operator_of(BinaryOp op) {
  switch (op) {
  case BinaryOp::add:
    return {"+", sum, sum, true};
  case BinaryOp::sub:
    return {"-", sum, sum, false};
  case BinaryOp::mul:
    return {"*", product, product, false};
  case BinaryOp::div:
  case BinaryOp::floordiv:
    return {"/", product, product, false};
  case BinaryOp::floormod:
    return {"%", product, product, false};
  case BinaryOp::lt:
    return {"<", relation, sum, false};
  case BinaryOp::le:
    return {"<=", relation, sum, false};
  case BinaryOp::eq:
    return {"==", equality, sum, false};
  case BinaryOp::ne:
    return {"!=", equality, sum, false};
  case BinaryOp::logical_and:
    return {"&&", and_level, and_level, true};
  case BinaryOp::logical_or:
    return {"||", or_level, equality, true};
  case BinaryOp::bit_and:
    return {"&", bit_and_level, prefix, false};
  case BinaryOp::bit_or:
    return {"|", bit_or_level, prefix, false};
  case BinaryOp::bit_xor:
    return {"^", bit_xor_level, prefix, false};
  case BinaryOp::shift_left:
    return {"<<", shift, prefix, false};
  case BinaryOp::shift_right:
    return {">>", shift, prefix, false};
  case BinaryOp::min:
  case BinaryOp::max:
    break;
  }
  internal_error("this operator is spelled as a function");
}

std::string in_parentheses_if(bool wanted, std::string text) { return wanted ? "(" + text + ")" : text; }

bool fits_int(std::int64_t value) {
  return value > std::numeric_limits<std::int32_t>::min() && value <= std::numeric_limits<std::int32_t>::max();
}

std::string integer(const IntImm &imm) {
  switch (imm.dtype) {
  case DType::boolean:
    return imm.value ? "true" : "false";
  case DType::i8:
  case DType::i16:
  case DType::u8:
  case DType::u16:
    return fmt::format("({}){}", c_type(imm.dtype), imm.value);
  case DType::u32:
    return fmt::format("{}u", static_cast<std::uint32_t>(imm.value));
  case DType::u64:
    return fmt::format("{}ULL", static_cast<std::uint64_t>(imm.value));
  case DType::i64:
    if (imm.value == std::numeric_limits<std::int64_t>::min())
      return "(-9223372036854775807LL - 1)";
    return fmt::format("{}LL", imm.value);
  case DType::i32:
    return fits_int(imm.value) ? std::to_string(imm.value) : "(-2147483647 - 1)";
  case DType::f16:
  case DType::bf16:
  case DType::tf32:
  case DType::f32:
  case DType::f64:
    break;
  }
  internal_error("an integer constant of a floating-point type");
}

std::optional<std::int64_t> negative(const Expr &e) {
  const IntImm *imm = e.as<IntImm>();
  if (!imm || !is_index(imm->dtype) || imm->value >= 0 || !fits_int(imm->value))
    return std::nullopt;
  return imm->value;
}

} // namespace

/// Whether the prelude defines this vector, because CUDA has none of 4, 8 or 16 bytes of the type.
static bool is_defined_here(DType type, int lanes) {
  return byte_size(type) < 4 && !is_packed_word(type, lanes);
}

std::string vector_type(DType type, int lanes) {
  // The CUDA compiler would keep the members of a char4 in four registers.
  if (is_packed_word(type, lanes))
    return std::string(c_type(arithmetic_type(type)));
  if (is_defined_here(type, lanes))
    return fmt::format("{}x{}", name(type), lanes);
  std::string base(type == DType::u32   ? "uint"
                   : type == DType::i64 ? "longlong"
                   : type == DType::u64 ? "ulonglong"
                                        : c_type(type));
  return base + std::to_string(lanes);
}

std::string vector_definition(DType type, int lanes) {
  if (!is_defined_here(type, lanes))
    return "";
  return fmt::format("/// {0} elements, which one instruction loads or stores.\n"
                     "struct __align__({1}) {2} {{\n"
                     "  {3} e[{0}];\n"
                     "}};\n",
                     lanes, lanes * byte_size(type), vector_type(type, lanes), c_type(type));
}

std::string vector_at(const std::string &element, DType type, int lanes, std::string_view qualifier) {
  return fmt::format("*reinterpret_cast<{}{} *>(&{})", qualifier, vector_type(type, lanes), element);
}

static std::string make_vector(DType type, const std::vector<std::string> &lanes) {
  int count = static_cast<int>(lanes.size());
  if (is_packed_word(type, count))
    return fmt::format("packed_word({})", fmt::join(lanes, ", "));
  std::string vector = vector_type(type, count);
  return is_defined_here(type, count) ? fmt::format("{}{{{}}}", vector, fmt::join(lanes, ", "))
                                      : fmt::format("make_{}({})", vector, fmt::join(lanes, ", "));
}

/// The vector whose lanes are all `element`, whose text is `text`.
static std::string repeated(const Expr &element, const std::string &text, int lanes) {
  const auto *number = element.as<FloatImm>();
  bool zero = number ? number->value == 0 && !std::signbit(number->value) : as_int(element) == 0;
  if (zero && is_defined_here(element.dtype(), lanes))
    return vector_type(element.dtype(), lanes) + "{}";
  return make_vector(element.dtype(), std::vector(static_cast<std::size_t>(lanes), text));
}

static std::string element_of(const std::string &vector, DType type, int lanes, int index) {
  return is_defined_here(type, lanes) ? fmt::format("{}.e[{}]", vector, index)
                                      : fmt::format("{}.{}", vector, "xyzw"[index]);
}

std::string_view c_type(DType type) {
  switch (type) {
  case DType::boolean:
    return "bool";
  case DType::i8:
    return "signed char";
  case DType::i16:
    return "short";
  case DType::i32:
    return "int";
  case DType::i64:
    return "long long";
  case DType::u8:
    return "unsigned char";
  case DType::u16:
    return "unsigned short";
  case DType::u32:
    return "unsigned int";
  case DType::u64:
    return "unsigned long long";
  case DType::f16:
    return "__half";
  case DType::bf16:
    return "__nv_bfloat16";
  case DType::tf32:
  case DType::f32:
    return "float";
  case DType::f64:
    return "double";
  }
  internal_error("unknown dtype");
}

std::string f32_literal(double value) {
  auto number = static_cast<float>(value);
  if (std::isnan(number))
    return "__int_as_float(0x7fffffff)";
  if (std::isinf(number))
    return number > 0 ? "__int_as_float(0x7f800000)" : "__int_as_float(0xff800000)";
  std::string text = fmt::format("{}", number); // the shortest text that reads back as the same float
  return text + (text.find_first_of(".e") == std::string::npos ? ".0f" : "f");
}

std::string f64_literal(double value) {
  if (std::isnan(value))
    return "__longlong_as_double(0x7fffffffffffffffLL)";
  if (std::isinf(value))
    return value > 0 ? "__longlong_as_double(0x7ff0000000000000LL)"
                     : "__longlong_as_double((long long)0xfff0000000000000ULL)";
  std::string text = fmt::format("{}", value); // the shortest text that reads back as the same double
  return text + (text.find_first_of(".e") == std::string::npos ? ".0" : "");
}

std::string_view conversion(DType from, DType to) {
  if (to == DType::f16)
    return "__float2half_rn";
  if (to == DType::bf16)
    return "__float2bfloat16_rn";
  if (to == DType::tf32)
    return "round_tf32";
  return from == DType::f16 ? "__half2float" : from == DType::bf16 ? "__bfloat162float" : "";
}

std::string ExprSpeller::element(const Load &, std::size_t) const {
  internal_error("a part of a tuple after the pass flatten");
}

std::string ExprSpeller::floating(const FloatImm &imm) const {
  if (imm.dtype == DType::f64)
    return f64_literal(imm.value);
  bool converted = imm.dtype == DType::f16 || imm.dtype == DType::bf16;
  return converted ? fmt::format("{}({})", conversion(DType::f32, imm.dtype), f32_literal(imm.value))
                   : f32_literal(imm.value);
}

std::string ExprSpeller::prefix_operand(const Expr &e) const { return spell(e, prefix); }

std::string ExprSpeller::cast(DType from, DType to, const Expr &operand) const {
  if (std::string_view function = conversion(from, to); !function.empty())
    return fmt::format("{}({})", function, (*this)(operand));
  if (from == DType::tf32) // stored as a float
    return prefix_operand(operand);
  return fmt::format("({}){}", c_type(to), prefix_operand(operand));
}

bool ExprSpeller::is_function(const Binary &operation) const {
  BinaryOp op = operation.op;
  bool floors = op == BinaryOp::floordiv || op == BinaryOp::floormod;
  return op == BinaryOp::min || op == BinaryOp::max || (floors && is_float(operation.a.dtype()));
}

std::string ExprSpeller::function(BinaryOp op, DType type) const {
  auto spelled = [&](const char *function) {
    return is_float(type) ? fmt::format("{}_{}", function, name(type)) : std::string(function);
  };
  switch (op) {
  case BinaryOp::min:
    return spelled("min");
  case BinaryOp::max:
    return spelled("max");
  case BinaryOp::floordiv:
    return spelled("floordiv");
  case BinaryOp::floormod:
    return spelled("floormod");
  default:
    internal_error("this operator is not spelled as a function");
  }
}

std::string ExprSpeller::function(const MathFunction &function, DType type) const {
  return std::string(function.cuda_in(type));
}

std::string ExprSpeller::operator()(const Expr &e) const {
  // As a full expression a small constant converts to the required type and needs no suffix.
  if (const IntImm *imm = e.as<IntImm>(); imm && is_index(imm->dtype) && fits_int(imm->value))
    return std::to_string(imm->value);
  return spell(e, whole);
}

/// A small i64 constant needs no suffix next to an operand of type long long.
std::string ExprSpeller::operand(const Expr &e, const Expr &sibling, int context) const {
  const IntImm *imm = e.as<IntImm>();
  bool typed = !sibling.as<IntImm>() && !sibling.as<Select>();
  if (imm && imm->dtype == DType::i64 && typed && fits_int(imm->value))
    return in_parentheses_if(imm->value < 0 && context > prefix, std::to_string(imm->value));
  return spell(e, context);
}

std::string ExprSpeller::binary(const Binary &b, int context) const {
  DType type = b.a.dtype();
  if (is_function(b))
    return fmt::format("{}({}, {})", function(b.op, type), spell(b.a, whole), spell(b.b, whole));
  if (const Expr *negative = negated(b)) {
    const auto *again = negative->as<Binary>(); // -(-x)
    return in_parentheses_if(prefix < context,
                             "-" + spell(*negative, again && negated(*again) ? primary : prefix));
  }
  if (const Expr *operand = complemented(b))
    return in_parentheses_if(prefix < context, "~" + spell(*operand, prefix));
  Operator op = operator_of(b.op);
  // || and && chain at their own level; other operands need a higher one.
  const Binary *first = b.a.as<Binary>();
  int level = first && first->op == b.op && op.chains ? op.level : op.context;
  std::string left = is_shift(b.op) ? spell(b.a, level) : operand(b.a, b.b, level); // `a` alone has the type
  if (auto constant = negative(b.b); constant && b.op == BinaryOp::add)
    return in_parentheses_if(op.level < context, fmt::format("{} - {}", left, -*constant));
  // A floating-point sum keeps its order of evaluation. An index sum may be evaluated from the left: its terms
  // are not negative, so no partial sum exceeds the total.
  const Binary *inner = b.b.as<Binary>();
  bool flat = op.chains && inner && inner->op == b.op &&
              (is_logical(b.op) || (is_index(type) && !negative(inner->a) && !negative(inner->b)));
  bool left_associative = op.level == op.context && !flat;
  // An int operand next to a long long is converted implicitly.
  const Cast *widened = b.b.as<Cast>();
  bool implied = widened && widened->dtype == DType::i64 && widened->a.dtype() == DType::i32 &&
                 !b.a.as<IntImm>() && !b.a.as<Select>();
  std::string right =
      operand(implied ? widened->a : b.b, b.a, flat ? op.level : op.context + (left_associative ? 1 : 0));
  return in_parentheses_if(op.level < context, fmt::format("{} {} {}", left, op.text, right));
}

std::string ExprSpeller::conditional(const Expr &condition, const std::string &yes, const std::string &no,
                                     int context) const {
  return in_parentheses_if(context > conditional_level,
                           fmt::format("{} ? {} : {}", spell(condition, or_level), yes, no));
}

std::vector<std::string> ExprSpeller::spell_all(const std::vector<Expr> &list) const {
  std::vector<std::string> texts;
  for (const Expr &e : list)
    texts.push_back(spell(e, whole));
  return texts;
}

std::string ExprSpeller::spell(const Expr &e, int context) const {
  return e.visit(Overloaded{
      [&](const IntImm &x) {
        bool unary = is_narrow(x.dtype) || (x.value < 0 && is_index(x.dtype));
        return in_parentheses_if(unary && context >= prefix, integer(x));
      },
      [&](const FloatImm &x) {
        std::string text = floating(x);
        return in_parentheses_if(text.front() == '-' && context >= prefix, text);
      },
      [&](const Var &x) { return variable(x); }, [&](const Binary &x) { return binary(x, context); },
      [&](const Not &x) { return in_parentheses_if(context > prefix, "!" + spell(x.a, prefix)); },
      [&](const Select &x) {
        return conditional(x.condition, spell(x.when_true, or_level), spell(x.when_false, conditional_level),
                           context);
      },
      [&](const Cast &x) { return in_parentheses_if(context > prefix, cast(x.a.dtype(), x.dtype, x.a)); },
      [&](const Load &x) {
        std::string value = x.lanes == 1 ? element(x) : vector_at(element(x), x.buffer->dtype, x.lanes);
        if (is_true(x.mask))
          return value;
        std::string fill = spell(x.fill, conditional_level);
        if (x.lanes > 1)
          fill = repeated(x.fill, fill, x.lanes);
        return conditional(x.mask, value, fill, context);
      },
      [&](const Lane &x) {
        DType type = x.vector->dtype;
        if (is_packed_word(type, x.vector->lanes))
          return in_parentheses_if(
              context > prefix, fmt::format("({})({} >> {})", c_type(type), variable(x.vector), 8 * x.index));
        return element_of(variable(x.vector), type, x.vector->lanes, x.index);
      },
      [&](const Pack &x) { return make_vector(x.lanes.front().dtype(), spell_all(x.lanes)); },
      [&](const Call &x) {
        return fmt::format(
            "{}({})", x.function->math ? function(*x.function->math, x.function->result) : x.function->name,
            fmt::join(spell_all(x.arguments), ", "));
      },
      [](const Tuple &) -> std::string { internal_error("a tuple after the pass flatten"); },
      [&](const Part &x) { return element(*x.a.as<Load>(), static_cast<std::size_t>(x.index)); }});
}

} // namespace nestsmith
