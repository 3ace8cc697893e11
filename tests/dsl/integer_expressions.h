#pragma once
/// Generates random integer expressions: index arithmetic and data in all integer types, divisors that are 0 or
/// negative, and constants at the ends of the types.

#include "dsl/expr/expr.h"

#include <functional>
#include <iterator>
#include <limits>
#include <random>
#include <vector>

namespace nestsmith::test {

class IntegerExpressions {
public:
  IntegerExpressions(std::uint64_t seed, std::vector<Expr> variables, std::function<Expr(DType)> data)
      : random_(seed), variables_(std::move(variables)), data_(std::move(data)) {}

  std::size_t below(std::size_t n) { return static_cast<std::size_t>(random_() % n); }
  bool chance(std::size_t percent) { return below(100) < percent; }
  DType any_type() {
    constexpr DType types[] = {DType::i32, DType::i64, DType::u32, DType::u64};
    return types[below(4)];
  }

  /// Returns index arithmetic of the variables and constants.
  Expr index(int depth) {
    if (depth <= 0 || chance(15))
      return chance(65) ? variables_[below(variables_.size())] : index_constant();
    Expr a = index(depth - 1), b = chance(50) ? index_constant() : index(depth - 1);
    switch (below(11)) {
    case 0:
      return a + b;
    case 1:
      return a - b;
    case 2:
      return a * b;
    case 3:
      return floordiv(a, b);
    case 4:
      return floormod(a, b);
    case 5:
      return floormod(a, b) + index_constant();
    case 6:
      return min(a, b);
    case 7:
      return max(a, b);
    case 8: {
      constexpr BinaryOp ops[] = {BinaryOp::bit_and, BinaryOp::bit_or, BinaryOp::bit_xor,
                                  BinaryOp::shift_right};
      return binary(ops[below(4)], a, b);
    }
    case 9:
      return chance(50) ? a << static_cast<int>(below(5)) : a & ((1 << static_cast<int>(1 + below(6))) - 1);
    default:
      return select(condition(depth - 1), a, b);
    }
  }

  /// Returns data arithmetic in the type.
  Expr value(DType type, int depth) {
    if (depth <= 0 || chance(12))
      return chance(30) ? constant_of(type) : chance(40) ? cast(type, index(0)) : data_(type);
    Expr a = value(type, depth - 1), b = chance(30) ? constant_of(type) : value(type, depth - 1);
    switch (below(12)) {
    case 0:
      return a + b;
    case 1:
      return a - b;
    case 2:
      return a * b;
    case 3:
      return a - a * b;
    case 4:
      return floordiv(a, b);
    case 5:
      return floormod(a, b);
    case 6:
      return min(a, b);
    case 7:
      return max(a, b);
    case 8:
      return select(condition(depth - 1), a, b);
    case 9:
      return bits(a, b);
    case 10:
      return cast(type, index(depth - 1));
    default:
      return cast(type, value(any_type(), depth - 1));
    }
  }

  /// An operator on bits, with amounts in the range of C++ and others.
  Expr bits(const Expr &a, const Expr &b) {
    constexpr BinaryOp ops[] = {BinaryOp::bit_and, BinaryOp::bit_or, BinaryOp::bit_xor};
    switch (below(5)) {
    case 0:
      return shift_right(bit_xor(a, b), static_cast<int>(below(32)));
    case 1:
      return binary(chance(50) ? BinaryOp::shift_left : BinaryOp::shift_right, a, chance(50) ? b & 31 : b);
    case 2:
      return a << static_cast<int>(below(32));
    case 3:
      return ~a;
    default:
      return binary(ops[below(3)], a, b);
    }
  }

  Expr condition(int depth) {
    if (depth > 0 && chance(20)) {
      Expr a = condition(depth - 1), b = condition(depth - 1);
      return chance(30) ? !a : chance(50) ? a && b : a || b;
    }
    constexpr BinaryOp comparisons[] = {BinaryOp::lt, BinaryOp::le, BinaryOp::eq, BinaryOp::ne};
    BinaryOp op = comparisons[below(4)];
    if (chance(50))
      return binary(op, index(depth - 1), index(depth - 1));
    DType type = any_type();
    return binary(op, value(type, depth - 1), value(type, depth - 1));
  }

private:
  Expr index_constant() {
    constexpr std::int64_t usual[] = {0, 1, 1, 2, 3, 4, 5, 7, 8, 12, 60, -1, -2, -3, -7, -8};
    constexpr std::int64_t large[] = {16777217, 2147483647, 2147483648, -2147483649, std::int64_t{1} << 34};
    return int_imm(chance(85) ? usual[below(std::size(usual))] : large[below(std::size(large))]);
  }
  Expr constant_of(DType type) {
    constexpr std::int64_t ends[] = {
        std::numeric_limits<std::int32_t>::max(),  std::numeric_limits<std::int32_t>::min(),
        std::numeric_limits<std::int64_t>::max(),  std::numeric_limits<std::int64_t>::min(),
        std::numeric_limits<std::uint32_t>::max(), 1103515245};
    return chance(75) ? cast(type, index_constant()) : int_imm(ends[below(std::size(ends))], type);
  }

  std::mt19937_64 random_;
  std::vector<Expr> variables_;
  std::function<Expr(DType)> data_;
};

/// Numbers at which integer arithmetic wraps around or changes its sign, and some numbers between them.
inline constexpr std::int64_t edges_of_integers[] = {0,
                                                     1,
                                                     -1,
                                                     2,
                                                     7,
                                                     -7,
                                                     12,
                                                     49,
                                                     50,
                                                     std::numeric_limits<std::int32_t>::max(),
                                                     std::numeric_limits<std::int32_t>::min(),
                                                     3000000000,
                                                     std::numeric_limits<std::int64_t>::max(),
                                                     std::numeric_limits<std::int64_t>::min()};

} // namespace nestsmith::test
