#include "codegen/reference_text.h"

#include "codegen/names.h"
#include "codegen/spell.h"
#include "codegen/text.h"
#include "codegen/wide_text.h"
#include "dsl/expr/error.h"
#include "dsl/expr/expr_text.h"
#include "dsl/expr/identifier.h"
#include "dsl/expr/math_functions.h"
#include "dsl/expr/shared_results.h"
#include "dsl/ir/reducer_laws.h"
#include "lowering/data_arithmetic.h"
#include "lowering/share_values.h"

#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <set>

namespace nestsmith {

namespace {

constexpr std::string_view real_definition =
    R"(/// A value in double, with the terms of an error bound for its float evaluation in any order of
/// summation: the magnitude without cancellation, and the roundings on the longest path.
struct Real {
  double value, magnitude;
  int roundings;
  __host__ __device__ Real(float x) : value(x), magnitude(x < 0 ? -x : x), roundings(0) {}
  __host__ __device__ Real(double v, double m, int r) : value(v), magnitude(m), roundings(r) {}
};
)";

constexpr std::string_view real_negation = R"(__host__ __device__ inline Real operator-(const Real &a) {
  return Real(-a.value, a.magnitude, a.roundings);
}
)";

struct RealOperator {
  BinaryOp op;
  std::string_view text;
};
constexpr RealOperator real_operators[] = {
    {BinaryOp::add, R"(__host__ __device__ inline Real operator+(const Real &a, const Real &b) {
  int roundings = a.roundings > b.roundings ? a.roundings : b.roundings;
  return Real(a.value + b.value, a.magnitude + b.magnitude, roundings + 1);
}
)"},
    {BinaryOp::sub, R"(__host__ __device__ inline Real operator-(const Real &a, const Real &b) {
  int roundings = a.roundings > b.roundings ? a.roundings : b.roundings;
  return Real(a.value - b.value, a.magnitude + b.magnitude, roundings + 1);
}
)"},
    {BinaryOp::mul, R"(__host__ __device__ inline Real operator*(const Real &a, const Real &b) {
  return Real(a.value * b.value, a.magnitude * b.magnitude, a.roundings + b.roundings + 1);
}
)"},
    {BinaryOp::div, R"(__host__ __device__ inline Real operator/(const Real &a, const Real &b) {
  // The relative error of b grows by its own cancellation.
  double magnitude = a.magnitude * b.magnitude / (b.value * b.value);
  return Real(a.value / b.value, magnitude, a.roundings + 2 * b.roundings + 1);
}
)"},
    {BinaryOp::min, R"(__host__ __device__ inline Real min_f32(const Real &a, const Real &b) {
  int roundings = a.roundings > b.roundings ? a.roundings : b.roundings;
  double magnitude = a.magnitude > b.magnitude ? a.magnitude : b.magnitude;
  return Real(a.value < b.value ? a.value : b.value, magnitude, roundings);
}
)"},
    {BinaryOp::max, R"(__host__ __device__ inline Real max_f32(const Real &a, const Real &b) {
  int roundings = a.roundings > b.roundings ? a.roundings : b.roundings;
  double magnitude = a.magnitude > b.magnitude ? a.magnitude : b.magnitude;
  return Real(a.value < b.value ? b.value : a.value, magnitude, roundings);
}
)"},
    {BinaryOp::lt, "__host__ __device__ inline bool operator<(const Real &a, const Real &b) "
                   "{ return a.value < b.value; }\n"},
    {BinaryOp::le, "__host__ __device__ inline bool operator<=(const Real &a, const Real &b) "
                   "{ return a.value <= b.value; }\n"},
    {BinaryOp::eq, "__host__ __device__ inline bool operator==(const Real &a, const Real &b) "
                   "{ return a.value == b.value; }\n"},
    {BinaryOp::ne, "__host__ __device__ inline bool operator!=(const Real &a, const Real &b) "
                   "{ return a.value != b.value; }\n"},
};

/// Rounding to a narrow type. In float, a computed value may round to a neighbour: the bound adds two units in
/// the last place, and for subnormal numbers of f16 as much as at 2^-14.
constexpr std::string_view narrowed = R"(/// A Real rounded to `value`. An exact Real stays exact.
__host__ __device__ inline Real narrowed(const Real &x, float value, int roundings, double smallest) {
  return x.roundings == 0 ? Real(value) : Real(value, x.magnitude + smallest, x.roundings + roundings);
}
)";
struct Rounding {
  DType type;
  std::string_view text;
};
constexpr Rounding real_roundings[] = {
    {DType::f16, R"(__host__ __device__ inline Real rounded_f16(const Real &x) {
  return narrowed(x, __half2float(__float2half_rn((float)x.value)), 2 << 13, ldexp(1.0, -14));
}
)"},
    {DType::bf16, R"(__host__ __device__ inline Real rounded_bf16(const Real &x) {
  return narrowed(x, __bfloat162float(__float2bfloat16_rn((float)x.value)), 2 << 16, 0);
}
)"},
    {DType::tf32, R"(__host__ __device__ inline Real rounded_tf32(const Real &x) {
  float value = (float)x.value;
  unsigned int bits;
  memcpy(&bits, &value, 4);
  bits = (bits + 0x1000u) & 0xffffe000u; // ties away from zero
  memcpy(&value, &bits, 4);
  return narrowed(x, value, 2 << 13, 0);
}
)"}};

/// A function of mathematics: its error bound is that of dsl/expr/math_functions.h, as the terms of a Real.
constexpr std::string_view real_functions = R"(/// The bound on the error of a Real.
__host__ __device__ inline double spread_of(const Real &x) {
  double n_u = x.roundings * ldexp(1.0, -24);
  return x.roundings == 0 ? 0 : n_u < 1 ? n_u / (1 - n_u) * x.magnitude : INFINITY;
}
/// The result of a function, which the errors of its operands change by at most `carried`, with `roundings` half
/// units of its own. If it may have no finite value, nothing is known of it.
__host__ __device__ inline Real result_of(double value, double carried, int roundings) {
  if (!(fabs(value) + carried < INFINITY))
    return Real(0, INFINITY, 1);
  double smallest = ldexp(1.0, -126), more = carried / (roundings * ldexp(1.0, -24));
  return Real(value, fabs(value) + carried + more + smallest, roundings);
}
)";

/// The statements that define `carried`, for the function `NAME_of` in double.
std::string_view carried_error(ErrorRule rule) {
  switch (rule) {
  case ErrorRule::monotone:
    return R"(  double off = spread_of(x);
  double carried = fabs(NAME_of(x.value + off) - value) + fabs(NAME_of(x.value - off) - value);
)";
  case ErrorRule::slope_one:
    return "  double carried = spread_of(x);\n";
  case ErrorRule::product_sum:
    return R"(  double of_x = spread_of(x), of_y = spread_of(y);
  double carried = fabs(x.value) * of_y + fabs(y.value) * of_x + of_x * of_y + spread_of(z);
)";
  case ErrorRule::quotient:
    return R"(  double of_x = spread_of(x), of_y = spread_of(y), least = fabs(y.value) - of_y;
  double carried = least > 0 ? (of_x + fabs(value) * of_y) / least : INFINITY;
)";
  case ErrorRule::power:
    break;
  }
  return R"(  double of_x = spread_of(x), of_y = spread_of(y), high = x.value + of_x, low = x.value - of_x;
  double carried = fabs(NAME_of(high, y.value + of_y) - value) + fabs(NAME_of(high, y.value - of_y) - value) +
                   fabs(NAME_of(low, y.value + of_y) - value) + fabs(NAME_of(low, y.value - of_y) - value);
  bool whole = of_y == 0 && y.value == floor(y.value);
  if (low <= 0 && of_x + of_y > 0 && !whole)
    carried = INFINITY;
  else if (low <= 0 && high >= 0 && of_x > 0)
    carried = y.value < 0 ? INFINITY : carried + fabs(value);
)";
}

/// The statements that define `own`: the largest error at the ends and in the middle of the operands'
/// intervals.
std::string own_error_text(const MathFunction &function) {
  std::string text = "  double own = 0, highest = fabs(value) + carried;\n", place, indent = "  ";
  for (int n = 0; n < function.operands; ++n) {
    char name = "xyz"[n];
    text += fmt::format("{0}for (int {1}_end = -1; {1}_end <= 1; ++{1}_end)\n", indent, name);
    place += fmt::format("{0}.value + {0}_end * spread_of({0}), ", name);
    indent += "  ";
  }
  return text + fmt::format("{}own = fmax(own, {}_error({}highest));\n", indent, function.name, place);
}

/// `double exp_of(double x)`.
std::string function_in_double(const MathFunction &function) {
  std::vector<std::string> doubles, names;
  for (int n = 0; n < function.operands; ++n) {
    names.emplace_back(1, "xyz"[n]);
    doubles.push_back("double " + names.back());
  }
  std::string in_double = function.in_cpp.empty() ? fmt::format("{}({})", function.name, fmt::join(names, ", "))
                                                  : std::string(function.in_cpp);
  return fmt::format("__host__ __device__ inline double {}_of({}) {{ return {}; }}\n", function.name,
                     fmt::join(doubles, ", "), in_double);
}

/// `Real exp_f32(const Real &x)`, which calls `exp_of`.
std::string real_function(const MathFunction &function) {
  std::vector<std::string> doubles, reals, values;
  for (int n = 0; n < function.operands; ++n) {
    std::string name(1, "xyz"[n]);
    doubles.push_back("double " + name);
    reals.push_back("const Real &" + name);
    values.push_back(name + ".value");
  }
  std::string carried(carried_error(function.error));
  for (std::size_t at; (at = carried.find("NAME")) != std::string::npos;)
    carried.replace(at, 4, function.name);
  std::string own, added = "carried";
  if (function.own_error) {
    own = fmt::format("__host__ __device__ inline double {}_error({}, double v) {{\n"
                      "  const double not_stated = INFINITY;\n"
                      "  return v < not_stated ? {} : not_stated;\n"
                      "}}\n",
                      function.name, fmt::join(doubles, ", "), function.own_error_in_cpp);
    carried += own_error_text(function);
    added = "carried + own";
  }
  return fmt::format("{4}"
                     "__host__ __device__ inline Real {0}_f32({1}) {{\n"
                     "  double value = {0}_of({2});\n"
                     "{3}"
                     "  return result_of(value, {5}, {6});\n"
                     "}}\n",
                     function.name, fmt::join(reals, ", "), fmt::join(values, ", "), carried, own, added,
                     2 * function.ulps + 1);
}

/// The name of a part as a member of a struct.
std::string member(const TuplePart &part) { return is_cpp_keyword(part.name) ? part.name + "_" : part.name; }

/// The type of an element: a struct for a tuple.
std::string element_type(DType type) {
  if (!is_tuple(type))
    return is_float(type) ? std::string(reference_number(type)) : std::string(c_type(type));
  std::string name = "tuple";
  for (const TuplePart &part : parts_of(type))
    name += fmt::format("_{}_{}", part.name, nestsmith::name(part.dtype));
  return name;
}

std::int64_t constant_extent(const Expr &extent) {
  const std::optional<std::int64_t> constant = as_int(extent);
  if (!constant)
    throw UserError(
        ExitCode::usage,
        fmt::format("the source of a standalone file has constant shapes, got the extent {}; give its "
                    "sizes with specialise(program, sizes)",
                    to_string(extent)));
  return *constant;
}

/// Row-major without gaps, as results are stored: `(i * d1 + j) * d2 + k`.
Expr flat_index(const Buffer &buffer, const std::vector<Expr> &indices) {
  Expr flat = indices.empty() ? Expr(0) : indices.front();
  for (std::size_t n = 1; n < indices.size(); ++n)
    flat = flat * buffer->shape[n] + indices[n];
  return flat;
}

/// The place of an element of a parameter: `i * ld + j` if its rows are `ld` apart.
Expr stored_index(const Buffer &buffer, const std::vector<Expr> &indices) {
  if (!buffer->strides)
    return flat_index(buffer, indices);
  Expr flat = 0;
  for (std::size_t n = 0; n < indices.size(); ++n)
    flat = flat + indices[n] * (*buffer->strides)[n];
  return flat;
}

class ReferenceWriter : ExprSpeller {
public:
  explicit ReferenceWriter(const Program &program) : program_(program) {}
  ReferenceText write();

private:
  std::string variable(const Var &var) const override { return names_[var]; }
  std::string element(const Load &load) const override;
  std::string element(const Load &load, std::size_t part) const override {
    return element(load) + "." + member(parts_of(load.buffer->dtype)[part]);
  }
  std::string floating(const FloatImm &imm) const override {
    std::string_view sign = imm.value < 0 ? "-" : "", number = reference_number(imm.dtype);
    bool wide = imm.dtype == DType::f64;
    if (std::isinf(imm.value)) // not a magnitude of the terms of a maximum
      return fmt::format("{}({}INFINITY, 0, 0{})", number, sign, wide ? ", 0" : "");
    if (std::isnan(imm.value))
      return fmt::format("{}(NAN)", number);
    return fmt::format("{}({})", number, wide ? f64_literal(imm.value) : f32_literal(imm.value));
  }
  std::string cast(DType from, DType to, const Expr &operand) const override;
  bool is_function(const Binary &e) const override {
    return is_floor_of_integers(e.op, e.a.dtype()) ||
           (is_shift(e.op) && !shifts_within_width(e.a.dtype(), range_of(e.b, bounds_))) ||
           ExprSpeller::is_function(e);
  }
  /// The functions of kernels have other names.
  std::string function(BinaryOp op, DType type) const override {
    return is_floor_of_integers(op, type)
               ? fmt::format("{}_{}", op == BinaryOp::floordiv ? "floor_div" : "floor_mod", name(type))
           : is_shift(op)
               ? fmt::format("{}_{}", op == BinaryOp::shift_left ? "left_shift" : "right_shift", name(type))
               : ExprSpeller::function(op, type);
  }
  std::string function(const MathFunction &called, DType type) const override {
    return fmt::format("{}_{}", called.name, type == DType::f64 ? "f64" : "f32");
  }
  static bool is_floor_of_integers(BinaryOp op, DType type) {
    return !is_float(type) && (op == BinaryOp::floordiv || op == BinaryOp::floormod);
  }

  void operators();
  void members();
  void stage(const Block &block, ReferenceStage &stage);
  void tuples();
  void check_order(const Block &block) const;
  Expr wrapped(const Expr &e) const;
  std::string spelled(const std::vector<Expr> &parts) const;
  std::string value(const Expr &e, const std::string &stage);
  void note_operators(const Expr &e);
  void operators_of_f64();
  void note_type(DType type) { (type == DType::f64 ? wides_ : reals_) |= !is_tuple(type) && is_float(type); }

  const Program &program_;
  NameTable names_;
  std::map<Buffer, std::string> arrays_; ///< results of the stages so far
  Buffer accumulated_;                   ///< the buffer whose element the current stage sums in `sum_`
  std::string sum_;
  std::set<BinaryOp> used_, used_in_f64_;      ///< operators on floating point up to f32, and on f64
  std::set<std::pair<BinaryOp, DType>> calls_; ///< divisions of integers, and shifts
  Bounds bounds_;                              ///< of the axes of the current stage
  std::set<DType> rounded_to_;
  std::set<std::size_t> functions_, functions_in_f64_; ///< rows of the functions of mathematics
  bool reals_ = false, negates_ = false;
  bool wides_ = false, negates_f64_ = false; ///< the same for f64
  bool widens_ = false, narrows_ = false;    ///< from f32 to f64, and from f64 to f32 or a narrower type
  TextWriter out_;
  ReferenceText text_;
};

std::string ReferenceWriter::element(const Load &load) const {
  if (load.buffer == accumulated_)
    return sum_;
  if (auto written = arrays_.find(load.buffer); written != arrays_.end())
    return fmt::format("{}[{}]", written->second, (*this)(flat_index(load.buffer, load.indices)));
  std::string input =
      fmt::format("{}[{}]", names_[load.buffer], (*this)(stored_index(load.buffer, load.indices)));
  std::string_view widen = conversion(load.buffer->dtype, DType::f32);
  if (!widen.empty())
    input = fmt::format("{}({})", widen, input);
  return is_float(load.buffer->dtype) ? fmt::format("{}({})", reference_number(load.buffer->dtype), input)
                                      : input;
}

std::string ReferenceWriter::cast(DType from, DType to, const Expr &operand) const {
  if (from == DType::f64 && is_float(to) && to != DType::f64) {
    std::string real = fmt::format("rounded_f32({})", (*this)(operand)); // as the kernel does
    return is_narrow(to) ? fmt::format("rounded_{}({})", name(to), real) : real;
  }
  if (is_float(from) && from != DType::f64 && to == DType::f64)
    return fmt::format("widened({})", (*this)(operand));
  if (is_narrow(to) && is_float(to))
    return fmt::format("rounded_{}({})", name(to), (*this)(operand));
  if (is_float(from) && is_float(to))
    return prefix_operand(operand);
  if (is_float(to))
    return fmt::format("{}(({})({}))", reference_number(to), to == DType::f64 ? "double" : "float",
                       (*this)(operand));
  return ExprSpeller::cast(from, to, operand);
}

void ReferenceWriter::note_operators(const Expr &e) {
  walk(e, [&](const Expr &sub) {
    note_type(sub.dtype());
    if (const auto *binary = sub.as<Binary>(); binary && negated(*binary))
      (sub.dtype() == DType::f64 ? negates_f64_ : negates_) = true;
    else if (binary && is_float(binary->a.dtype()))
      (binary->a.dtype() == DType::f64 ? used_in_f64_ : used_).insert(binary->op);
    if (const auto *binary = sub.as<Binary>(); binary && is_floor_of_integers(binary->op, binary->a.dtype()))
      calls_.insert({binary->op, binary->a.dtype()});
    if (const auto *binary = sub.as<Binary>(); binary && is_shift(binary->op) && !as_int(binary->b))
      calls_.insert({binary->op, binary->op == BinaryOp::shift_left ? unsigned_type(binary->a.dtype())
                                                                    : binary->a.dtype()});
    if (const MathFunction *called = math_function(sub))
      (sub.dtype() == DType::f64 ? functions_in_f64_ : functions_).insert(index_of(*called));
    const auto *cast = sub.as<Cast>();
    if (cast && is_narrow(cast->dtype) && is_float(cast->dtype))
      rounded_to_.insert(cast->dtype);
    if (cast && is_float(cast->dtype) && is_float(cast->a.dtype())) {
      widens_ |= cast->dtype == DType::f64 && cast->a.dtype() != DType::f64;
      narrows_ |= cast->dtype != DType::f64 && cast->a.dtype() == DType::f64;
    }
    bool supported = !cast || is_float(cast->dtype) || !is_float(cast->a.dtype());
    if (!supported)
      throw UserError(ExitCode::usage,
                      fmt::format("a standalone file cannot check a program that casts {} to integers, whose "
                                  "rounding has no error bound; emit without --standalone",
                                  cast->a.dtype() == DType::f64 ? "f64" : "f32"));
  });
}

void ReferenceWriter::operators() {
  for (const auto &[op, type] : calls_)
    out_.verbatim(operation_text(op, type, "__host__ __device__ inline", function(op, type)));
  std::set<std::size_t> in_double = functions_;
  in_double.insert(functions_in_f64_.begin(), functions_in_f64_.end());
  if (reals_)
    out_.verbatim(real_definition);
  if (wides_)
    out_.verbatim(wide_definition);
  for (std::size_t row : in_double)
    if (math_functions()[row].error != ErrorRule::product_sum || functions_.count(row))
      out_.verbatim(function_in_double(math_functions()[row]));
  for (const RealOperator &op : real_operators)
    if (used_.count(op.op))
      out_.verbatim(op.text);
  if (negates_)
    out_.verbatim(real_negation);
  if (!functions_.empty())
    out_.verbatim(real_functions);
  for (std::size_t row : functions_)
    out_.verbatim(real_function(math_functions()[row]));
  if (!rounded_to_.empty())
    out_.verbatim(narrowed);
  for (const Rounding &rounding : real_roundings)
    if (rounded_to_.count(rounding.type))
      out_.verbatim(rounding.text);
  operators_of_f64();
  for (BinaryOp op : {BinaryOp::floordiv, BinaryOp::floormod})
    if (used_.count(op) || used_in_f64_.count(op))
      throw UserError(ExitCode::usage,
                      fmt::format("a standalone file cannot check a program that rounds {} down, which has no "
                                  "error bound; emit without --standalone",
                                  used_.count(op) ? "f32" : "f64"));
  if (reals_ || wides_)
    out_.blank();
}

void ReferenceWriter::operators_of_f64() {
  for (BinaryOp op : used_in_f64_)
    out_.verbatim(wide_operator(op));
  if (negates_f64_)
    out_.verbatim(wide_negation);
  if (widens_)
    out_.verbatim(wide_of_real);
  if (narrows_)
    out_.verbatim(real_of_wide);
  if (!functions_in_f64_.empty())
    out_.verbatim(wide_functions);
  for (std::size_t row : functions_in_f64_)
    out_.verbatim(wide_function(math_functions()[row]));
}

/// A struct for each type of tuples.
void ReferenceWriter::tuples() {
  std::set<DType> types;
  for (const Block *block : blocks_of(program_.body))
    if (DType type = block->body.buffer->dtype; is_tuple(type) && types.insert(type).second) {
      out_.open(fmt::format("struct {}", element_type(type)));
      for (const TuplePart &part : parts_of(type))
        out_.line(fmt::format("{} {} = {};", element_type(part.dtype), member(part),
                              is_float(part.dtype) ? zero_of(part.dtype) : "0"));
      out_.close("};");
    }
}

/// For each part, whether the order of the terms changes its roundings in a way for which there is no bound.
static std::vector<bool> rounds_in_its_way(const Block &block) {
  std::vector<bool> result;
  if (block.reduces())
    for (OrderEffect effect : order_effects(block.reducer, block.body.buffer->dtype))
      result.push_back(effect == OrderEffect::unknown);
  return result;
}

/// Refuses a reducer whose result depends on the order of the terms.
void ReferenceWriter::check_order(const Block &block) const {
  std::vector<bool> rounds = rounds_in_its_way(block);
  if (std::ranges::find(rounds, true) != rounds.end() && !holds_exactly(*block.reducer.definition()))
    throw UserError(
        ExitCode::usage,
        fmt::format("a standalone file cannot check the reducer '{}' of the stage '{}', whose roundings "
                    "depend on the order of the terms; emit without --standalone",
                    name(block.reducer), block.id->name));
}

void ReferenceWriter::members() {
  out_.comment("Arguments of the kernel.");
  for (const Buffer &buffer : program_.params)
    if (buffer->role != Role::output) {
      text_.inputs.push_back({fmt::format("const {} *", c_type(buffer->dtype)), names_.declare(buffer)});
      out_.line(text_.inputs.back().declaration() + ";");
    }
  std::vector<std::string> scalars;
  for (const Var &scalar : program_.scalars) {
    text_.scalars.push_back({element_type(scalar->dtype), names_.declare(scalar)});
    scalars.push_back(text_.scalars.back().declaration() + ";");
  }
  out_.comment("Results of the stages.");
  for (const Block *block : blocks_of(program_.body)) {
    const Buffer &buffer = block->body.buffer;
    std::string name;
    for (std::size_t n = 0; n < text_.results.size(); ++n)
      if (text_.result_buffers[n] == buffer)
        name = text_.results[n].name;
    std::int64_t elements = 1;
    for (const Expr &extent : buffer->shape)
      elements *= constant_extent(extent);
    std::string type = element_type(buffer->dtype);
    if (name.empty()) {
      name = names_.claim(buffer->name + "_reference");
      text_.results.push_back({type + " *", name});
      text_.result_buffers.push_back(buffer);
      out_.line(text_.results.back().declaration() + ";");
    }
    text_.stages.push_back({buffer, type, name, names_.claim(buffer->name + "_at"), "", elements});
  }
  for (const std::string &scalar : scalars)
    out_.line(scalar);
}

/// The value with integer arithmetic on data as C++ defines it.
Expr ReferenceWriter::wrapped(const Expr &e) const {
  SharedResults<Expr> done;
  auto rewrite = [&](const Expr &x, auto &again) -> Expr {
    return done(x, [&] {
      auto operand = [&](const Expr &y) { return again(y, again); };
      Expr result = wrap_on_data(x, bounds_, operand);
      return result.exists() ? result : map_children(x, operand);
    });
  };
  return rewrite(e, rewrite);
}

/// "a", or "{a, b}" for a tuple.
std::string ReferenceWriter::spelled(const std::vector<Expr> &parts) const {
  std::vector<std::string> texts;
  for (const Expr &part : parts)
    texts.push_back((*this)(part));
  return texts.size() == 1 ? texts.front() : fmt::format("{{{}}}", fmt::join(texts, ", "));
}

/// The value, in terms of locals that are written here for what it shares.
std::string ReferenceWriter::value(const Expr &e, const std::string &stage) {
  int count = 0;
  std::vector<Expr> parts;
  for (const Expr &part : parts_of(without_reducer_calls(e)))
    parts.push_back(wrapped(part));
  kernel::SharedValues shared = kernel::share_values(
      parts, [&] { return fmt::format("t{}", ++count); }, "the value of " + stage);
  for (const kernel::Declare &declare : shared.declares) {
    std::string local = names_.declare(declare.var);
    out_.line(
        fmt::format("const {} {} = {};", element_type(declare.var->dtype), local, (*this)(declare.value)));
  }
  return spelled(shared.exprs);
}

/// `Real AB_at(long long i, long long j) const`: one element of a stage.
void ReferenceWriter::stage(const Block &block, ReferenceStage &stage) {
  NameTable::Nested scope(names_);
  std::vector<std::string> parameters, indices;
  std::vector<const IterVar *> reductions;
  std::int64_t below = stage.elements, iterations = stage.elements;
  std::size_t dimension = 0;
  bounds_ = {};
  for (const IterVar &iter : block.iters) {
    bounds_.set_extent(iter.var, iter.extent);
    if (iter.kind == IterKind::reduction) {
      reductions.push_back(&iter);
      iterations *= constant_extent(iter.extent);
      continue;
    }
    internal_check(dimension < block.body.indices.size() && same(block.body.indices[dimension], Expr(iter.var)),
                   "a stage of an unscheduled program computes each element once");
    parameters.push_back("long long " + names_.declare(iter.var));
    std::int64_t extent = constant_extent(iter.extent);
    below /= extent;
    std::string quotient = below == 1 ? "n" : fmt::format("n / {}", below);
    indices.push_back(dimension++ == 0 ? quotient : fmt::format("{} % {}", quotient, extent));
  }
  stage.indices = fmt::format("{}", fmt::join(indices, ", "));
  text_.iterations += static_cast<double>(iterations);

  out_.call(fmt::format("__host__ __device__ {} {}", stage.type, stage.function), parameters, " const {");
  out_.indent();
  if (!block.init) {
    std::string result = value(block.body.value, block.id->name);
    out_.line(fmt::format("return {};", result));
  } else {
    sum_ = names_.claim("sum");
    std::vector<Expr> first;
    for (const Expr &part : parts_of(block.init->value))
      first.push_back(wrapped(part));
    out_.line(fmt::format("{} {} = {};", stage.type, sum_, spelled(first)));
    accumulated_ = block.body.buffer;
    for (const IterVar *iter : reductions) {
      std::string var = names_.declare(iter->var);
      out_.open(
          fmt::format("for (long long {} = 0; {} < {}; ++{})", var, var, constant_extent(iter->extent), var));
    }
    std::string next = value(block.body.value, block.id->name);
    out_.line(fmt::format("{} = {};", sum_, next));
    for (std::size_t n = 0; n < reductions.size(); ++n)
      out_.close();
    accumulated_ = nullptr;
    std::vector<bool> rounds = rounds_in_its_way(block);
    for (std::size_t n = 0; n < rounds.size(); ++n)
      if (rounds[n]) {
        std::string part = is_tuple(block.body.buffer->dtype)
                               ? fmt::format("{}.{}", sum_, member(parts_of(block.body.buffer->dtype)[n]))
                               : sum_;
        out_.line(
            fmt::format("{}.roundings *= {}; // an estimate: the kernel combines the terms in another order",
                        part, order_factor));
      }
    out_.line(fmt::format("return {};", sum_));
  }
  out_.close();
}

ReferenceText ReferenceWriter::write() {
  std::vector<const Block *> blocks = blocks_of(program_.body);
  for (const Block *block : blocks) {
    check_order(*block);
    for (const Expr &part : parts_of(without_reducer_calls(block->body.value)))
      note_operators(part);
    for (const Expr &part : block->init ? parts_of(block->init->value) : std::vector<Expr>())
      note_operators(part);
  }
  for (const Buffer &buffer : program_.params)
    note_type(buffer->dtype);
  for (const Var &scalar : program_.scalars)
    note_type(scalar->dtype);
  names_.claim("Reference");
  operators();
  tuples();
  out_.line("/// The computation as plain loops, without a schedule.");
  out_.open("struct Reference");
  members();
  for (std::size_t n = 0; n < blocks.size(); ++n) {
    out_.blank();
    stage(*blocks[n], text_.stages[n]);
    arrays_[blocks[n]->body.buffer] = text_.stages[n].array;
  }
  out_.close("};");
  text_.definitions = out_.take();
  return std::move(text_);
}

} // namespace

std::string_view reference_number(DType type) { return type == DType::f64 ? "Wide" : "Real"; }
std::string zero_of(DType type) {
  return fmt::format("{}({})", reference_number(type), type == DType::f64 ? "0.0" : "0.0f");
}

ReferenceText reference_text(const Program &program) { return ReferenceWriter(program).write(); }

} // namespace nestsmith
