#pragma once
/// Expressions as C++. What differs between a kernel and host code is left to a derived class.

#include "dsl/expr.h"

#include <string>
#include <string_view>
#include <vector>

namespace nestsmith {

/// "float", "int", "long long", "unsigned int", "__half", …
std::string_view c_type(DType type);

/// "float4": the vector of so many lanes.
std::string vector_type(DType type, int lanes);
/// The elements from this one on as one vector: `*reinterpret_cast<const float4 *>(&A[i])`.
std::string vector_at(const std::string &element, DType type, int lanes, std::string_view qualifier = "const ");

/// Spells an f32 so that it reads back as the same bits: "0.5f".
std::string f32_literal(double value);

/// The name of the function that converts between f32 and a narrow float, or empty where none is needed.
std::string_view conversion(DType from, DType to);

/// Integer division and remainder are spelled `/` and `%`, which round towards zero where floordiv and
/// floormod round down. They agree on operands that are not negative, and lowering leaves no others: its
/// verifier proves every dividend non-negative and every divisor positive. What is not lowered needs functions.
class ExprSpeller {
public:
  virtual ~ExprSpeller() = default;

  /// As a whole expression: the right-hand side of an assignment, an argument, an index.
  std::string operator()(const Expr &e) const;

protected:
  virtual std::string variable(const Var &var) const = 0;
  /// The element in memory, whatever its mask: a primary expression.
  virtual std::string element(const Load &load) const = 0;
  virtual std::string floating(const FloatImm &imm) const;
  /// A cast as a prefix operator or a call; the operand stands by itself.
  virtual std::string cast(DType from, DType to, const Expr &operand) const;
  std::string prefix_operand(const Expr &e) const; ///< with parentheses where an operator before it needs them
  /// Whether no operator gives it: min, max, and floors of floating point.
  virtual bool is_function(BinaryOp op, DType type) const;
  /// The function that does.
  virtual std::string function(BinaryOp op, DType type) const;

private:
  std::string spell(const Expr &e, int context) const;
  std::vector<std::string> spell_all(const std::vector<Expr> &list) const;
  std::string binary(const Binary &b, int context) const;
  std::string operand(const Expr &e, const Expr &sibling, int context) const;
  std::string conditional(const Expr &condition, const std::string &yes, const std::string &no,
                          int context) const;
};

} // namespace nestsmith
