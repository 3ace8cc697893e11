#pragma once
/// Expressions as C++. Derived classes define the differences between kernels and host code.

#include "dsl/expr/expr.h"

#include <string>
#include <string_view>
#include <vector>

namespace nestsmith {

/// "float", "int", "long long", "unsigned int", "__half", …
std::string_view c_type(DType type);

/// The vector type with this number of lanes: "float4". Four lanes of i8 or u8 are one integer, whose lowest
/// byte is lane 0: "int" or "unsigned int". Its lanes are packed by `packed_word`, which the prelude defines.
/// The prelude also defines the other vectors of elements of less than 4 bytes: "f16x8".
std::string vector_type(DType type, int lanes);
/// The definition of such a type. Empty for the types that CUDA defines.
std::string vector_definition(DType type, int lanes);
/// The vector that starts at this element: `*reinterpret_cast<const float4 *>(&A[i])`.
std::string vector_at(const std::string &element, DType type, int lanes, std::string_view qualifier = "const ");

/// An f32 literal that reads back as the same bits: "0.5f".
std::string f32_literal(double value);
std::string f64_literal(double value);
std::string f64_literal(double value);

/// The name of the CUDA function that converts between f32 and a narrow float. Empty if the conversion needs no
/// function.
std::string_view conversion(DType from, DType to);

/// Prints expressions. Floor division and floor modulo of integers are printed as `/` and `%`, which round
/// towards zero. For non-negative operands, the results are the same. A lowered kernel has only such operands:
/// the verifier proves that every dividend is non-negative and that every divisor is positive. In code that is
/// not lowered, derived classes print function calls instead.
class ExprSpeller {
public:
  virtual ~ExprSpeller() = default;

  /// A full expression: the right-hand side of an assignment, an argument, or an index.
  std::string operator()(const Expr &e) const;

protected:
  virtual std::string variable(const Var &var) const = 0;
  /// The element in memory without its mask, as a primary expression.
  virtual std::string element(const Load &load) const = 0;
  /// A part of an element of tuples. Kernels have none.
  virtual std::string element(const Load &load, std::size_t part) const;
  virtual std::string floating(const FloatImm &imm) const;
  /// A cast as a prefix operator or a call, which needs no parentheses as an operand.
  virtual std::string cast(DType from, DType to, const Expr &operand) const;
  /// `e` as the operand of a prefix operator, with parentheses if needed.
  std::string prefix_operand(const Expr &e) const;
  /// Whether the operation is a function call instead of an operator: min, max, and floating-point floors.
  virtual bool is_function(const Binary &operation) const;
  /// The name of the function if `is_function` is true.
  virtual std::string function(BinaryOp op, DType type) const;
  /// The name of a function of mathematics.
  virtual std::string function(const MathFunction &function, DType type) const;

private:
  std::string spell(const Expr &e, int context) const;
  std::vector<std::string> spell_all(const std::vector<Expr> &list) const;
  std::string binary(const Binary &b, int context) const;
  std::string operand(const Expr &e, const Expr &sibling, int context) const;
  std::string conditional(const Expr &condition, const std::string &yes, const std::string &no,
                          int context) const;
};

} // namespace nestsmith
