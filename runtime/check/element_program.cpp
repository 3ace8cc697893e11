#include "runtime/check/element_program.h"

#include "dsl/error.h"
#include "dsl/numbers.h"
#include "dsl/workload_info.h"
#include "runtime/check/reference.h"
#include "runtime/check/roundings.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>

namespace nestsmith {

namespace {

/// A product or quotient below 2^-126 has an error of at most 2^-150, which is u * 2^-126.
constexpr double least_normal = 0x1p-126;
constexpr double infinity = std::numeric_limits<double>::infinity();

/// The magnitude of a result in f32, which has no error bound if it may overflow. NaN is 0 * infinity.
double in_range(double magnitude) {
  return magnitude <= std::numeric_limits<float>::max() ? magnitude : infinity;
}

double with_underflow(double magnitude) { return magnitude == 0 ? 0 : in_range(magnitude + least_normal); }

/// An exact divisor of 0 gives an exact infinity or NaN. A divisor that is small beside its terms may have any
/// relative error, and then no bound exists.
double quotient_magnitude(const Cell &a, const Cell &b) {
  constexpr double most = 0x1p20;
  if (b.value == 0 && b.magnitude == 0)
    return a.magnitude <= most * std::abs(a.value) ? 0 : infinity;
  double loss = b.magnitude / std::abs(b.value);
  return loss < most ? with_underflow(a.magnitude / std::abs(b.value) * loss / (1 - loss / most)) : infinity;
}

int quotient_bits(double a, double b, double quotient) {
  if (!std::isfinite(a) || !std::isfinite(b))
    return 0;
  return b != 0 && std::fma(quotient, b, -a) == 0 ? fraction_bits(quotient) : endless_fraction;
}

} // namespace

/// One function for each instruction.
struct ElementProgram::Operations {
  template <BinaryOp op> static void float_arithmetic(const Instruction &i, Cell *cells) {
    const Cell &a = cells[i.a], &b = cells[i.b];
    double value = arithmetic<op>(a.value, b.value), magnitude;
    if constexpr (op == BinaryOp::add || op == BinaryOp::sub)
      magnitude = in_range(a.magnitude + b.magnitude);
    else if constexpr (op == BinaryOp::mul)
      magnitude = with_underflow(a.magnitude * b.magnitude);
    else
      magnitude = std::max(a.magnitude, b.magnitude);
    cells[i.result].value = value;
    cells[i.result].magnitude = magnitude;
  }
  /// Register c is the record of the division.
  static void divide(const Instruction &i, Cell *cells) {
    const Cell &a = cells[i.a], &b = cells[i.b];
    Cell &seen = cells[i.c];
    double value = a.value / b.value;
    seen.magnitude = std::max({seen.magnitude, a.magnitude, b.magnitude});
    if (seen.integer < endless_fraction)
      seen.integer = std::max<std::int64_t>(seen.integer, quotient_bits(a.value, b.value, value));
    cells[i.result] = {value, quotient_magnitude(a, b), 0};
  }
  template <BinaryOp op> static void float_compare(const Instruction &i, Cell *cells) {
    cells[i.result].integer = compare<op>(cells[i.a].value, cells[i.b].value);
  }
  template <BinaryOp op, class T> static void integer_arithmetic(const Instruction &i, Cell *cells) {
    cells[i.result].integer =
        arithmetic<op>(static_cast<T>(cells[i.a].integer), static_cast<T>(cells[i.b].integer));
  }
  template <BinaryOp op, class T> static void integer_compare(const Instruction &i, Cell *cells) {
    cells[i.result].integer =
        compare<op>(static_cast<T>(cells[i.a].integer), static_cast<T>(cells[i.b].integer));
  }
  static void logical_and(const Instruction &i, Cell *cells) {
    cells[i.result].integer = cells[i.a].integer && cells[i.b].integer;
  }
  static void logical_or(const Instruction &i, Cell *cells) {
    cells[i.result].integer = cells[i.a].integer || cells[i.b].integer;
  }
  static void logical_not(const Instruction &i, Cell *cells) { cells[i.result].integer = !cells[i.a].integer; }
  static void select(const Instruction &i, Cell *cells) {
    cells[i.result] = cells[i.a].integer ? cells[i.b] : cells[i.c];
  }
  /// The kernel rounds the same integer to f32.
  static void int_to_float(const Instruction &i, Cell *cells) {
    double value = static_cast<float>(cells[i.a].integer);
    cells[i.result] = {value, std::abs(value), 0};
  }
  static void unsigned_to_float(const Instruction &i, Cell *cells) {
    double value = static_cast<float>(static_cast<std::uint64_t>(cells[i.a].integer));
    cells[i.result] = {value, value, 0};
  }
  template <class T> static void float_to_int(const Instruction &i, Cell *cells) {
    cells[i.result].integer = static_cast<std::int64_t>(convert<T>(cells[i.a].value));
  }
  /// The bound of a value that was rounded to a narrow type is relative to its magnitude. In the subnormal
  /// numbers, the error is that of the least normal number.
  template <class T> static void round_float(const Instruction &i, Cell *cells) {
    const Cell &a = cells[i.a];
    double magnitude = convert<double>(convert<T>(a.magnitude));
    if (i.extent)
      magnitude = std::max(magnitude, a.magnitude) + (std::is_same_v<T, F16> ? 0x1p-14 : least_normal);
    cells[i.result] = {convert<double>(convert<T>(a.value)), magnitude, 0};
  }
  static void copy(const Instruction &i, Cell *cells) { cells[i.result] = cells[i.a]; }
  template <class T> static void wrap(const Instruction &i, Cell *cells) {
    cells[i.result].integer = static_cast<std::int64_t>(static_cast<T>(cells[i.a].integer));
  }
  static void nonzero(const Instruction &i, Cell *cells) { cells[i.result].integer = cells[i.a].integer != 0; }
  static void float_nonzero(const Instruction &i, Cell *cells) {
    cells[i.result].integer = cells[i.a].value != 0;
  }

  /// position = a * extent + b, where 0 <= b < extent; else -1, which stays -1.
  static void advance(const Instruction &i, Cell *cells) {
    std::int64_t position = cells[i.a].integer, index = cells[i.b].integer;
    bool inside = position >= 0 && index >= 0 && index < i.extent;
    cells[i.result].integer = inside ? position * i.extent + index : -1;
  }
  static void check_inside(const Plane &plane, std::int64_t position) {
    if (position < 0)
      throw UserError(ExitCode::usage,
                      fmt::format("the computation reads {} out of bounds: give the read a mask, or change the "
                                  "shape; select and branch read both of their operands",
                                  plane.buffer->name));
  }
  static void load_float(const Instruction &i, Cell *cells) {
    if (i.b >= 0 && !cells[i.b].integer) {
      cells[i.result] = cells[i.c];
      return;
    }
    std::int64_t position = cells[i.a].integer;
    check_inside(*i.plane, position);
    double value = i.plane->value[static_cast<std::size_t>(position)];
    bool input = i.plane->magnitude.empty();
    cells[i.result].value = value;
    cells[i.result].magnitude =
        input ? std::abs(value) : i.plane->magnitude[static_cast<std::size_t>(position)];
  }
  static void load_integer(const Instruction &i, Cell *cells) {
    if (i.b >= 0 && !cells[i.b].integer) {
      cells[i.result] = cells[i.c];
      return;
    }
    std::int64_t position = cells[i.a].integer;
    check_inside(*i.plane, position);
    cells[i.result].integer = i.plane->integer[static_cast<std::size_t>(position)];
  }

  template <class T> static Run integer_op(BinaryOp op) {
    return with_op(op, []<BinaryOp o>() -> Run {
      if constexpr (is_comparison(o))
        return &integer_compare<o, T>;
      else if constexpr (o == BinaryOp::logical_and)
        return &logical_and;
      else if constexpr (o == BinaryOp::logical_or)
        return &logical_or;
      else if constexpr (is_defined_on<o, T>())
        return &integer_arithmetic<o, T>;
      else
        internal_error("integers have floordiv, not div");
    });
  }
  static Run float_op(BinaryOp op) {
    return with_op(op, []<BinaryOp o>() -> Run {
      if constexpr (is_comparison(o))
        return &float_compare<o>;
      else if constexpr (is_logical(o) || !is_defined_on<o, double>())
        internal_error("logic takes conditions and bits are of integers");
      else
        return &float_arithmetic<o>;
    });
  }
  static Run binary_op(BinaryOp op, DType operands) {
    if (is_float(operands))
      return float_op(op);
    if (operands == DType::boolean)
      return integer_op<std::int64_t>(op);
    return with_arithmetic(operands, [&]<class T>() -> Run {
      if constexpr (std::is_integral_v<T>)
        return integer_op<T>(op);
      else
        internal_error("a float among the integers");
    });
  }
  static Run cast_op(DType from, DType to) {
    if (to == DType::boolean)
      return is_float(from) ? &float_nonzero : &nonzero;
    return with_number(to, [&]<class To>() -> Run {
      if constexpr (is_narrow_float<To>)
        return &round_float<To>;
      else if constexpr (std::is_integral_v<To>)
        return is_float(from) ? &float_to_int<To> : &wrap<To>;
      else if (from == DType::u64)
        return &unsigned_to_float;
      else
        return is_float(from) ? &copy : &int_to_float;
    });
  }
};

int ElementProgram::fresh(Cell cell) {
  cells_.push_back(cell);
  return static_cast<int>(cells_.size()) - 1;
}

int ElementProgram::emit(Instruction instruction) {
  instruction.result = fresh();
  code_.push_back(instruction);
  return instruction.result;
}

int ElementProgram::variable(const Var &var) {
  auto [it, added] = variables_.try_emplace(var.get(), 0);
  if (added)
    it->second = fresh();
  return it->second;
}

std::vector<Division> ElementProgram::divisions() const {
  std::vector<Division> result;
  for (auto [node, record] : divisions_) {
    const Cell &seen = cells_[static_cast<std::size_t>(record)];
    result.push_back({node, seen.magnitude, static_cast<int>(seen.integer)});
  }
  return result;
}

int ElementProgram::compile_position(const Plane &plane, std::span<const Expr> indices, const Planes &planes) {
  Compiled compiled;
  return compile_position(plane, indices, planes, compiled);
}

int ElementProgram::compile_position(const Plane &plane, std::span<const Expr> indices, const Planes &planes,
                                     Compiled &compiled) {
  int position = fresh({0, 0, 0});
  for (std::size_t d = 0; d < indices.size(); ++d) {
    Instruction step{&Operations::advance, 0, position, compile(indices[d], planes, compiled)};
    step.extent = plane.shape[d];
    position = emit(step);
  }
  return position;
}

int ElementProgram::compile(const Expr &e, const Planes &planes) {
  Compiled compiled;
  return compile(e, planes, compiled);
}

int ElementProgram::compile(const Expr &e, const Planes &planes, Compiled &compiled) {
  return compiled(e, [&] { return compile_node(e, planes, compiled); });
}

int ElementProgram::compile_node(const Expr &e, const Planes &planes, Compiled &compiled) {
  auto operand = [&](const Expr &child) { return compile(child, planes, compiled); };
  return e.visit(Overloaded{
      [&](const IntImm &node) {
        return fresh({0, 0, node.value});
      },
      [&](const FloatImm &node) {
        double value = rounded(node.dtype, node.value); // the kernel has 0.1f, which is another number than 0.1
        return fresh({value, std::abs(value), 0});
      },
      [&](const Var &node) { return variable(node); },
      [&](const Binary &node) {
        int a = operand(node.a), b = operand(node.b);
        if (node.op == BinaryOp::div) {
          divisions_.emplace_back(e.get(), fresh());
          return emit({&Operations::divide, 0, a, b, divisions_.back().second});
        }
        return emit({Operations::binary_op(node.op, node.a.dtype()), 0, a, b});
      },
      [&](const Not &node) {
        return emit({&Operations::logical_not, 0, operand(node.a)});
      },
      [&](const Select &node) {
        int condition = operand(node.condition), yes = operand(node.when_true), no = operand(node.when_false);
        return emit({&Operations::select, 0, condition, yes, no});
      },
      [&](const Cast &node) {
        Instruction step{Operations::cast_op(node.a.dtype(), node.dtype), 0, operand(node.a)};
        step.extent = !is_given(node.a);
        return emit(step);
      },
      [&](const Load &node) {
        auto found = planes.find(node.buffer.get());
        internal_check(found != planes.end(), "a buffer is read after it was written");
        int position = compile_position(found->second, node.indices, planes, compiled);
        int mask = is_true(node.mask) ? -1 : operand(node.mask);
        int fill = mask < 0 ? -1 : operand(node.fill);
        Run run = is_float(node.buffer->dtype) ? &Operations::load_float : &Operations::load_integer;
        return emit({run, 0, position, mask, fill, &found->second});
      },
      [](const Lane &) -> int { internal_error("a program has no vectors"); },
      [](const Pack &) -> int { internal_error("a program has no vectors"); },
      [](const Call &) -> int { internal_error("a program has no calls"); },
  });
}

void ElementProgram::run(std::size_t begin, std::size_t end) {
  Cell *cells = cells_.data();
  for (std::size_t n = begin; n < end; ++n)
    code_[n].run(code_[n], cells);
}

} // namespace nestsmith
