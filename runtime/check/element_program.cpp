#include "runtime/check/element_program.h"

#include "dsl/expr/error.h"
#include "dsl/expr/numbers.h"
#include "dsl/ir/workload_info.h"
#include "runtime/check/error_analysis.h"
#include "runtime/check/roundings.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>

namespace nestsmith {

namespace {

/// A product or quotient of f32 below 2^-126 has an error of at most 2^-150, which is u * 2^-126.
template <class N> constexpr double least_normal = KernelNumbers<N>::least_normal;
constexpr double infinity = std::numeric_limits<double>::infinity();

/// The magnitude of a result, which has no error bound if it may overflow. NaN is 0 * infinity.
template <class N> double in_range(double magnitude) {
  return magnitude <= largest_number<N> ? magnitude : infinity;
}

template <class N> double with_underflow(double magnitude) {
  return magnitude == 0 ? 0 : in_range<N>(magnitude + least_normal<N>);
}

/// An exact divisor of 0 gives an exact infinity or NaN. A divisor that is small beside its terms may have any
/// relative error, and then no bound exists.
template <class N> double quotient_magnitude(const Cell &a, const Cell &b) {
  constexpr double most = 0x1p20;
  if (b.value == 0 && b.magnitude == 0)
    return a.magnitude <= most * std::abs(a.value) ? 0 : infinity;
  double loss = b.magnitude / std::abs(b.value);
  return loss < most ? with_underflow<N>(a.magnitude / std::abs(b.value) * loss / (1 - loss / most)) : infinity;
}

int quotient_bits(double a, double b, double quotient) {
  if (!std::isfinite(a) || !std::isfinite(b))
    return 0;
  return b != 0 && std::fma(quotient, b, -a) == 0 ? fraction_bits(quotient) : endless_fraction;
}

/// The values that an integer of type T may have.
struct PossibleIntegers {
  double lowest = 0, highest = 0;
  bool known = true;
};

/// Larger integers are not all doubles.
constexpr double most_in_range = 0x1p53;

template <class T> PossibleIntegers possible(const Cell &cell) {
  if (cell.error == 1)
    return {cell.value, cell.magnitude};
  auto number = static_cast<double>(static_cast<T>(cell.integer));
  return {number, number, cell.error == 0 && std::abs(number) < most_in_range};
}

/// Integers wrap around: beyond the range of T, any value is possible.
template <class T> Cell cell_of(std::int64_t integer, PossibleIntegers range) {
  if (range.known && range.lowest == range.highest)
    return {0, 0, integer};
  double least = std::max(static_cast<double>(std::numeric_limits<T>::min()), -most_in_range);
  double most = std::min(static_cast<double>(std::numeric_limits<T>::max()), most_in_range);
  if (!range.known || !(range.lowest >= least) || !(range.highest <= most))
    return {0, 0, integer, no_bound};
  return {range.lowest, range.highest, integer, 1};
}

Cell uncertain_condition(std::int64_t condition) { return {0, 1, condition, 1}; }

template <class T>
constexpr DType dtype_of_word = sizeof(T) == 4 ? (std::is_signed_v<T> ? DType::i32 : DType::u32)
                                               : (std::is_signed_v<T> ? DType::i64 : DType::u64);

template <BinaryOp op, class T> PossibleIntegers bits_of(PossibleIntegers a, PossibleIntegers b) {
  auto range = [](PossibleIntegers x) {
    bool exact = x.known && std::max(-x.lowest, x.highest) < most_in_range;
    return exact
               ? std::optional(Range{static_cast<std::int64_t>(x.lowest), static_cast<std::int64_t>(x.highest)})
               : std::nullopt;
  };
  auto result = range_of_bits(op, dtype_of_word<T>, range(a), range(b));
  return result ? PossibleIntegers{static_cast<double>(result->low), static_cast<double>(result->high)}
                : PossibleIntegers{0, 0, false};
}

template <BinaryOp op, class T> PossibleIntegers arithmetic_of(PossibleIntegers a, PossibleIntegers b) {
  if constexpr (is_bitwise(op))
    return bits_of<op, T>(a, b);
  if (!a.known || !b.known)
    return {0, 0, false};
  if constexpr (op == BinaryOp::add)
    return {a.lowest + b.lowest, a.highest + b.highest};
  if constexpr (op == BinaryOp::sub)
    return {a.lowest - b.highest, a.highest - b.lowest};
  if constexpr (op == BinaryOp::min)
    return {std::min(a.lowest, b.lowest), std::min(a.highest, b.highest)};
  if constexpr (op == BinaryOp::max)
    return {std::max(a.lowest, b.lowest), std::max(a.highest, b.highest)};
  if constexpr (op == BinaryOp::mul) {
    auto [lowest, highest] =
        std::minmax({a.lowest * b.lowest, a.lowest * b.highest, a.highest * b.lowest, a.highest * b.highest});
    return {lowest, highest};
  }
  if constexpr (op == BinaryOp::floordiv)
    return {std::floor(a.lowest / b.lowest), std::floor(a.highest / b.lowest),
            b.lowest == b.highest && b.lowest > 0};
  if constexpr (op == BinaryOp::floormod)
    return {0, b.lowest - 1, b.lowest == b.highest && b.lowest > 0};
  return {0, 0, false};
}

template <class N> BasicBounded<N> bounded(const Cell &cell) {
  if constexpr (std::is_same_v<N, DoubleDouble>)
    return {{cell.value, cell.low}, cell.error};
  else
    return {cell.value, cell.error};
}
Cell cell_of(const Bounded &result, double magnitude) { return {result.value, magnitude, 0, result.error}; }
Cell cell_of(const WideBounded &result, double magnitude) {
  return {result.value.high, magnitude, 0, result.error, result.value.low};
}
/// A number of either type as one of `Bounded`.
Bounded as_double(const Cell &cell) { return {cell.value, cell.error + std::abs(cell.low)}; }

/// The numbers of an operation.
enum class NumberKind : std::uint8_t { integers, f32, f64 };
NumberKind numbers_of(DType type, bool residues) {
  return residues || !is_float(type) ? NumberKind::integers
         : type == DType::f64        ? NumberKind::f64
                                     : NumberKind::f32;
}

/// The cell of a choice that depends on roundings: `chosen` in the reference, and possibly `other` in a kernel.
Cell either(const Cell &chosen, const Cell &other, NumberKind numbers) {
  Cell result = chosen;
  if (numbers == NumberKind::f32)
    result.error = either(bounded<double>(chosen), bounded<double>(other)).error;
  if (numbers == NumberKind::f64)
    result.error = either(bounded<DoubleDouble>(chosen), bounded<DoubleDouble>(other)).error;
  if (numbers != NumberKind::integers)
    return result;
  PossibleIntegers a = possible<std::int64_t>(chosen), b = possible<std::int64_t>(other);
  return cell_of<std::int64_t>(
      chosen.integer, {std::min(a.lowest, b.lowest), std::max(a.highest, b.highest), a.known && b.known});
}

} // namespace

/// One function for each instruction.
struct ElementProgram::Operations {
  template <BinaryOp op, class N> static void float_arithmetic(const Instruction &i, Cell *cells) {
    const Cell &a = cells[i.a], &b = cells[i.b];
    BasicBounded<N> x = bounded<N>(a), y = bounded<N>(b), result;
    double magnitude;
    if constexpr (op == BinaryOp::add || op == BinaryOp::sub)
      magnitude = in_range<N>(a.magnitude + b.magnitude);
    else if constexpr (op == BinaryOp::mul)
      magnitude = with_underflow<N>(a.magnitude * b.magnitude);
    else
      magnitude = std::max(a.magnitude, b.magnitude);
    if constexpr (op == BinaryOp::add)
      result = add<N>(x, y);
    else if constexpr (op == BinaryOp::sub)
      result = subtract(x, y);
    else if constexpr (op == BinaryOp::mul)
      result = multiply<N>(x, y);
    else if constexpr (op == BinaryOp::min)
      result = minimum(x, y);
    else if constexpr (op == BinaryOp::max)
      result = maximum(x, y);
    else if constexpr (op == BinaryOp::floordiv)
      result = floor_divide(x, y);
    else if constexpr (op == BinaryOp::floormod)
      result = floor_modulo(x, y);
    cells[i.result] = cell_of(result, magnitude);
  }
  /// Register c is the record of the division.
  template <class N> static void divide(const Instruction &i, Cell *cells) {
    const Cell &a = cells[i.a], &b = cells[i.b];
    Cell &seen = cells[i.c];
    Cell quotient = cell_of(nestsmith::divide(bounded<N>(a), bounded<N>(b)), quotient_magnitude<N>(a, b));
    seen.magnitude = std::max({seen.magnitude, a.magnitude, b.magnitude});
    if (seen.integer < endless_fraction)
      seen.integer = std::max<std::int64_t>(seen.integer, quotient_bits(a.value, b.value, quotient.value));
    cells[i.result] = quotient;
  }
  template <BinaryOp op, class N> static void float_compare(const Instruction &i, Cell *cells) {
    const Cell &a = cells[i.a], &b = cells[i.b];
    std::int64_t result = compare<op>(a.value, b.value);
    cells[i.result] =
        comparable(bounded<N>(a), bounded<N>(b)) ? Cell{0, 0, result} : uncertain_condition(result);
  }
  template <BinaryOp op, class T> static void integer_arithmetic(const Instruction &i, Cell *cells) {
    const Cell &a = cells[i.a], &b = cells[i.b];
    std::int64_t result = arithmetic<op>(static_cast<T>(a.integer), static_cast<T>(b.integer));
    if (a.error == 0 && b.error == 0)
      cells[i.result] = {0, 0, result};
    else
      cells[i.result] = cell_of<T>(result, arithmetic_of<op, T>(possible<T>(a), possible<T>(b)));
  }
  template <BinaryOp op, class T> static void integer_compare(const Instruction &i, Cell *cells) {
    const Cell &a = cells[i.a], &b = cells[i.b];
    std::int64_t result = compare<op>(static_cast<T>(a.integer), static_cast<T>(b.integer));
    cells[i.result] = {0, 0, result};
    if (a.error == 0 && b.error == 0)
      return;
    PossibleIntegers left = possible<T>(a), right = possible<T>(b);
    if (!left.known || !right.known || (left.lowest <= right.highest && right.lowest <= left.highest))
      cells[i.result] = uncertain_condition(result);
  }
  static void logical_and(const Instruction &i, Cell *cells) {
    const Cell &a = cells[i.a], &b = cells[i.b];
    bool certain =
        (a.error == 0 && b.error == 0) || (a.error == 0 && !a.integer) || (b.error == 0 && !b.integer);
    std::int64_t result = a.integer && b.integer;
    cells[i.result] = certain ? Cell{0, 0, result} : uncertain_condition(result);
  }
  static void logical_or(const Instruction &i, Cell *cells) {
    const Cell &a = cells[i.a], &b = cells[i.b];
    bool certain = (a.error == 0 && b.error == 0) || (a.error == 0 && a.integer) || (b.error == 0 && b.integer);
    std::int64_t result = a.integer || b.integer;
    cells[i.result] = certain ? Cell{0, 0, result} : uncertain_condition(result);
  }
  static void logical_not(const Instruction &i, Cell *cells) {
    Cell a = cells[i.a];
    cells[i.result] = a.error == 0 ? Cell{0, 0, !a.integer} : uncertain_condition(!a.integer);
  }
  /// `extent`: the row of the function.
  template <class N> static void function(const Instruction &i, Cell *cells) {
    const MathFunction &called = math_functions()[static_cast<std::size_t>(i.extent)];
    const BasicBounded<N> operands[] = {bounded<N>(cells[i.a]), bounded<N>(cells[i.b]), bounded<N>(cells[i.c])};
    Cell result = cell_of(
        apply_function<N>(called, std::span(operands).first(static_cast<std::size_t>(called.operands))), 0);
    result.magnitude = in_range<N>(std::abs(result.value));
    cells[i.result] = result;
  }
  /// `extent`: the `NumberKind` of the operands.
  static void select(const Instruction &i, Cell *cells) {
    const Cell &condition = cells[i.a];
    const Cell &chosen = condition.integer ? cells[i.b] : cells[i.c];
    const Cell &other = condition.integer ? cells[i.c] : cells[i.b];
    cells[i.result] = condition.error == 0 ? chosen : either(chosen, other, static_cast<NumberKind>(i.extent));
  }
  /// The kernel rounds the same integer to the type `To`.
  template <class T, class To> static void int_to_float(const Instruction &i, Cell *cells) {
    const Cell &a = cells[i.a];
    double value = static_cast<To>(static_cast<T>(a.integer)), error = 0;
    if (a.error == 1)
      error = std::max(static_cast<To>(a.magnitude) - value, value - static_cast<To>(a.value));
    cells[i.result] = {value, std::abs(value), 0, a.error == no_bound ? no_bound : error};
  }
  template <class T> static void float_to_int(const Instruction &i, Cell *cells) {
    const Cell &a = cells[i.a];
    auto integer = static_cast<std::int64_t>(convert<T>(a.value));
    if (a.error == 0) {
      cells[i.result] = {0, 0, integer};
      return;
    }
    double error = as_double(a).error;
    PossibleIntegers range{static_cast<double>(convert<T>(a.value - error)),
                           static_cast<double>(convert<T>(a.value + error)), a.error < no_bound};
    cells[i.result] = cell_of<T>(integer, range);
  }
  /// From f32 to a narrow type, or from f64 to f32. The bound of a value that was rounded is relative to its
  /// magnitude. In the subnormal numbers, the error is that of the least normal number.
  template <class T> static void round_float(const Instruction &i, Cell *cells) {
    const Cell &a = cells[i.a];
    double magnitude = convert<double>(convert<T>(a.magnitude));
    if (i.extent)
      magnitude = std::max(magnitude, a.magnitude) + (std::is_same_v<T, F16> ? 0x1p-14 : least_normal<double>);
    Bounded result = round_bounded<T>(as_double(a));
    cells[i.result] = {result.value, magnitude, 0, result.error};
  }
  static void copy(const Instruction &i, Cell *cells) { cells[i.result] = cells[i.a]; }

  template <Arithmetic kind> static Residue<kind> residue(const Cell &cell) {
    return {static_cast<std::int32_t>(cell.integer)};
  }
  template <BinaryOp op, Arithmetic kind> static void residue_operation(const Instruction &i, Cell *cells) {
    const Cell &a = cells[i.a], &b = cells[i.b];
    Cell result{0, 0, 0, a.error != 0 || b.error != 0 ? no_bound : 0};
    if constexpr (is_comparison(op))
      result.integer = compare<op>(residue<kind>(a), residue<kind>(b));
    else
      result.integer = arithmetic<op>(residue<kind>(a), residue<kind>(b)).bits;
    cells[i.result] = result;
  }
  template <Arithmetic kind> static void residue_function(const Instruction &i, Cell *cells) {
    const MathFunction &called = math_functions()[static_cast<std::size_t>(i.extent)];
    const Cell &a = cells[i.a], &b = cells[i.b], &c = cells[i.c];
    bool known = a.error == 0 && (called.operands < 2 || b.error == 0) && (called.operands < 3 || c.error == 0);
    auto result = Residue<kind>::apply(called, residue<kind>(a), residue<kind>(b), residue<kind>(c));
    cells[i.result] = {0, 0, result.bits, known ? 0 : no_bound};
  }
  /// `extent`: the dtype. A residue that a narrow dtype holds is widened at once.
  template <Arithmetic kind> static void narrow_residue(const Instruction &i, Cell *cells) {
    auto type = static_cast<DType>(i.extent);
    Residue<kind> kept = from_element<kind>(type, to_element(type, residue<kind>(cells[i.a])));
    cells[i.result] = {0, 0, kept.bits, cells[i.a].error};
  }
  template <Arithmetic kind> static void integer_to_residue(const Instruction &i, Cell *cells) {
    cells[i.result] = {0, 0, Residue<kind>::of(cells[i.a].integer).bits, cells[i.a].error == 0 ? 0 : no_bound};
  }
  /// `extent`: the dtype.
  template <Arithmetic kind> static void residue_to_integer(const Instruction &i, Cell *cells) {
    auto type = static_cast<DType>(i.extent);
    const Cell &a = cells[i.a];
    std::int64_t integer =
        type == DType::boolean ? a.integer != 0 : wrapped(type, to_integer(residue<kind>(a)));
    cells[i.result] = {0, 0, integer, a.error == 0 ? 0 : no_bound};
  }
  template <Arithmetic kind> static Run residue_op(BinaryOp op) {
    return with_op(op, []<BinaryOp o>() -> Run {
      if constexpr (is_defined_on_residues(o))
        return &residue_operation<o, kind>;
      else
        internal_error("logic takes conditions and bits are of integers");
    });
  }
  template <Arithmetic kind> static Run residue_cast(DType from, DType to) {
    if (!is_float(from))
      return &integer_to_residue<kind>;
    return is_float(to) ? &narrow_residue<kind> : &residue_to_integer<kind>;
  }
  template <class T> static void wrap(const Instruction &i, Cell *cells) {
    const Cell &a = cells[i.a];
    auto integer = static_cast<std::int64_t>(static_cast<T>(a.integer));
    cells[i.result] = a.error == 0 ? Cell{0, 0, integer} : cell_of<T>(integer, possible<std::int64_t>(a));
  }
  static void nonzero(const Instruction &i, Cell *cells) {
    const Cell &a = cells[i.a];
    bool certain = a.error == 0 || (a.error == 1 && (a.value > 0 || a.magnitude < 0));
    cells[i.result] = certain ? Cell{0, 0, a.integer != 0} : uncertain_condition(a.integer != 0);
  }
  static void float_nonzero(const Instruction &i, Cell *cells) {
    const Cell &a = cells[i.a];
    bool certain = comparable(as_double(a), Bounded{0, 0});
    cells[i.result] = certain ? Cell{0, 0, a.value != 0} : uncertain_condition(a.value != 0);
  }

  /// position = a * extent + b, where 0 <= b < extent. For the first dimension d = c where b is not in this
  /// range, the position is -1 - d, and `value` is b; both stay.
  static void advance(const Instruction &i, Cell *cells) {
    std::int64_t position = cells[i.a].integer, index = cells[i.b].integer;
    bool inside = position >= 0 && index >= 0 && index < i.extent;
    cells[i.result].integer = inside ? position * i.extent + index : position >= 0 ? -1 - i.c : position;
    if (!inside && position >= 0)
      cells[i.result].value = static_cast<double>(index);
    else
      cells[i.result].value = cells[i.a].value;
    cells[i.result].error = cells[i.a].error + cells[i.b].error;
  }
  static void check_inside(const Plane &plane, const Cell &position) {
    if (position.integer < 0)
      throw UserError(ExitCode::usage,
                      fmt::format("the computation reads {}; give the read a mask, or change the shape: select "
                                  "and branch read both of their operands",
                                  outside(plane, position)));
  }
  /// An element whose position or mask depends on roundings may be another one.
  static void load(const Instruction &i, Cell *cells) {
    const Cell &position = cells[i.a];
    const Cell *mask = i.b < 0 ? nullptr : &cells[i.b];
    bool loads = !mask || mask->integer;
    if (loads)
      check_inside(*i.plane, position);
    if (loads && position.error == 0 && (!mask || mask->error == 0)) {
      cells[i.result] = i.plane->get(static_cast<std::size_t>(position.integer));
      return;
    }
    if (!loads && mask->error == 0) {
      cells[i.result] = cells[i.c];
      return;
    }
    Cell element{0, 0, 0, no_bound};
    if (position.integer >= 0)
      element = i.plane->get(static_cast<std::size_t>(position.integer));
    if (position.error != 0)
      element.error = no_bound;
    NumberKind numbers = i.plane->is_wide()   ? NumberKind::f64
                         : i.plane->is_real() ? NumberKind::f32
                                              : NumberKind::integers;
    cells[i.result] = !mask || mask->error == 0 ? element
                      : loads                   ? either(element, cells[i.c], numbers)
                                                : either(cells[i.c], element, numbers);
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
  template <class N> static Run float_op(BinaryOp op) {
    return with_op(op, []<BinaryOp o>() -> Run {
      if constexpr (is_comparison(o))
        return &float_compare<o, N>;
      else if constexpr (is_logical(o) || !is_defined_on<o, double>())
        internal_error("logic takes conditions and bits are of integers");
      else
        return &float_arithmetic<o, N>;
    });
  }
  static Run binary_op(BinaryOp op, DType operands) {
    if (is_float(operands))
      return operands == DType::f64 ? float_op<DoubleDouble>(op) : float_op<double>(op);
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
      if constexpr (std::is_integral_v<To>)
        return is_float(from) ? &float_to_int<To> : &wrap<To>;
      else if constexpr (is_narrow_float<To>)
        return &round_float<To>;
      else
        return from == DType::f64   ? &round_float<To>
               : from == DType::u64 ? &int_to_float<std::uint64_t, To>
               : is_float(from)     ? &copy
                                    : &int_to_float<std::int64_t, To>;
    });
  }
};

void Plane::set(std::size_t position, const Cell &cell) {
  bool real = is_real();
  if (cell.error != 0 && error.empty()) {
    std::size_t size = real ? value.size() : integer.size();
    error.assign(size, 0);
    value.resize(size);
    magnitude.resize(size);
  }
  if (!real)
    integer[position] = cell.integer;
  if (real || !error.empty()) {
    value[position] = cell.value;
    magnitude[position] = cell.magnitude;
  }
  if (!error.empty())
    error[position] = cell.error;
  if (cell.low != 0 && low.empty())
    low.assign(value.size(), 0);
  if (!low.empty())
    low[position] = cell.low;
}

Cell Plane::get(std::size_t position) const {
  bool real = is_real();
  Cell cell;
  if (!real)
    cell.integer = integer[position];
  if (!error.empty())
    cell.error = error[position];
  if (real || cell.error != 0) {
    cell.value = value[position];
    cell.magnitude = magnitude.empty() ? std::abs(cell.value) : magnitude[position];
  }
  if (!low.empty())
    cell.low = low[position];
  return cell;
}

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

std::string outside(const Plane &plane, const Cell &position) {
  auto dimension = static_cast<std::size_t>(-1 - position.integer);
  return fmt::format("{} out of bounds: the index of dimension {} is {:.0f}, expected 0 to {}",
                     plane.buffer->name, dimension, position.value, plane.shape[dimension] - 1);
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
    step.c = static_cast<int>(d);
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
  auto access = [&](const BufferNode &buffer, const Load &node, const Expr &filled) {
    auto found = planes.find(&buffer);
    internal_check(found != planes.end(), "a buffer is read after it was written");
    int position = compile_position(found->second, node.indices, planes, compiled);
    int mask = is_true(node.mask) ? -1 : operand(node.mask);
    int fill = mask < 0 ? -1 : operand(filled);
    return emit({&Operations::load, 0, position, mask, fill, &found->second});
  };
  return e.visit(Overloaded{
      [&](const IntImm &node) {
        return fresh({0, 0, node.value});
      },
      [&](const FloatImm &node) {
        if (residues(node.dtype))
          return with_residues(arithmetic_, [&]<Arithmetic kind>() {
            return fresh({0, 0, Residue<kind>::constant(rounded(node.dtype, node.value)).bits});
          });
        double value = rounded(node.dtype, node.value); // the kernel has 0.1f, which is another number than 0.1
        // An infinity that begins a maximum is not a magnitude of its terms.
        return fresh({value, std::isinf(value) ? 0 : std::abs(value), 0});
      },
      [&](const Var &node) { return variable(node); },
      [&](const Binary &node) {
        int a = operand(node.a), b = operand(node.b);
        if (residues(node.a.dtype()))
          return emit({with_residues(arithmetic_,
                                     [&]<Arithmetic kind>() { return Operations::residue_op<kind>(node.op); }),
                       0, a, b});
        if (node.op == BinaryOp::div) {
          divisions_.emplace_back(e.get(), fresh());
          bool wide = node.a.dtype() == DType::f64;
          return emit({wide ? &Operations::divide<DoubleDouble> : &Operations::divide<double>, 0, a, b,
                       divisions_.back().second});
        }
        return emit({Operations::binary_op(node.op, node.a.dtype()), 0, a, b});
      },
      [&](const Not &node) {
        return emit({&Operations::logical_not, 0, operand(node.a)});
      },
      [&](const Select &node) {
        int condition = operand(node.condition), yes = operand(node.when_true), no = operand(node.when_false);
        Instruction choice{&Operations::select, 0, condition, yes, no};
        choice.extent = static_cast<std::int64_t>(numbers_of(e.dtype(), residues(e.dtype())));
        return emit(choice);
      },
      [&](const Cast &node) {
        if (residues(node.a.dtype()) || residues(node.dtype)) {
          Instruction step{with_residues(arithmetic_,
                                         [&]<Arithmetic kind>() {
                                           return Operations::residue_cast<kind>(node.a.dtype(), node.dtype);
                                         }),
                           0, operand(node.a)};
          step.extent = static_cast<std::int64_t>(node.dtype);
          return emit(step);
        }
        Instruction step{Operations::cast_op(node.a.dtype(), node.dtype), 0, operand(node.a)};
        step.extent = !is_given(node.a);
        return emit(step);
      },
      [&](const Load &node) { return access(*node.buffer, node, node.fill); },
      [](const Lane &) -> int { internal_error("a program has no vectors"); },
      [](const Pack &) -> int { internal_error("a program has no vectors"); },
      [&](const Call &node) {
        internal_check(node.function->math != nullptr, "a program calls functions of mathematics only");
        int operands[3] = {};
        for (std::size_t n = 0; n < node.arguments.size(); ++n)
          operands[n] = operand(node.arguments[n]);
        bool wide = e.dtype() == DType::f64;
        Instruction step{wide ? &Operations::function<DoubleDouble> : &Operations::function<double>, 0,
                         operands[0], operands[1], operands[2]};
        if (residues(e.dtype()))
          step.run = with_residues(
              arithmetic_, []<Arithmetic kind>() -> Run { return &Operations::residue_function<kind>; });
        step.extent = static_cast<std::int64_t>(index_of(*node.function->math));
        return emit(step);
      },
      [](const Tuple &) -> int { internal_error("a tuple where one value is wanted"); },
      [&](const Part &node) {
        const auto &load = *node.a.as<Load>();
        auto n = static_cast<std::size_t>(node.index);
        return access(*part_buffers(*load.buffer)[n], load, load.fill.exists() ? part(load.fill, n) : Expr());
      },
  });
}

void ElementProgram::run(std::size_t begin, std::size_t end) {
  Cell *cells = cells_.data();
  for (std::size_t n = begin; n < end; ++n)
    code_[n].run(code_[n], cells);
}

} // namespace nestsmith
