/// Integer data wraps around. Z3 proves on words of their type that the simplifier preserves the values of
/// expressions of data.

#include "dsl/expr/simplify.h"
#include "dsl/ir/printer.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <random>
#include <vector>
#include <z3++.h>

namespace nestsmith::proofs {
namespace {

/// Translates expressions to words of Z3, with the meaning that dsl/expr/ops.h defines.
class Words {
public:
  z3::expr operator()(const Expr &e) {
    if (auto value = as_int(e))
      return e.dtype() == DType::boolean ? context_.bool_val(*value != 0)
                                         : context_.bv_val(*value, width(e.dtype()));
    if (const Var *var = e.as<Var>())
      return context_.bv_const((*var)->name.c_str(), width(e.dtype()));
    if (const auto *choice = e.as<Select>())
      return z3::ite((*this)(choice->condition), (*this)(choice->when_true), (*this)(choice->when_false));
    const Binary &op = *e.as<Binary>();
    return operation(op.op, (*this)(op.a), (*this)(op.b));
  }

  /// Returns "proved", "unknown", or values for which the expressions differ.
  std::string equal(const Expr &a, const Expr &b) {
    z3::solver solver(context_);
    z3::params params(context_), sorted(context_);
    params.set("rlimit", 200'000'000U);
    solver.set(params);
    sorted.set("som", true);
    sorted.set("sort_sums", true);
    solver.add(((*this)(a) != (*this)(b)).simplify(sorted));
    z3::check_result result = solver.check();
    if (result == z3::sat)
      return (std::stringstream() << solver.get_model()).str();
    return result == z3::unsat ? "proved" : "unknown";
  }

  z3::context &context() { return context_; }

private:
  static unsigned width(DType dtype) { return 8 * static_cast<unsigned>(byte_size(dtype)); }

  z3::expr operation(BinaryOp op, const z3::expr &a, const z3::expr &b) {
    switch (op) {
    case BinaryOp::add:
      return a + b;
    case BinaryOp::sub:
      return a - b;
    case BinaryOp::mul:
      return a * b;
    case BinaryOp::min:
      return z3::ite(a < b, a, b);
    case BinaryOp::max:
      return z3::ite(a < b, b, a);
    case BinaryOp::bit_and:
      return a & b;
    case BinaryOp::bit_or:
      return a | b;
    case BinaryOp::bit_xor:
      return a ^ b;
    case BinaryOp::shift_left: // an amount that is negative or too large shifts out all bits
      return z3::shl(a, b);
    case BinaryOp::shift_right:
      return z3::ashr(a, b);
    case BinaryOp::lt:
      return a < b;
    case BinaryOp::le:
      return a <= b;
    case BinaryOp::eq:
      return a == b;
    case BinaryOp::ne:
      return a != b;
    case BinaryOp::floordiv:
      return quotient(a, b);
    case BinaryOp::floormod:
      return a - quotient(a, b) * b;
    default:
      throw std::runtime_error("an operator that the test does not make");
    }
  }
  z3::expr quotient(const z3::expr &a, const z3::expr &b) {
    z3::expr zero = context_.bv_val(0, a.get_sort().bv_size()), rest = z3::srem(a, b);
    z3::expr up = z3::ite(rest != zero && (rest < zero) != (b < zero), zero + 1, zero);
    return z3::ite(b == zero, zero, a / b - up);
  }

  z3::context context_;
};

/// Draws expressions of data of one type, with constants near the limits of its range.
class Random {
public:
  Random(DType dtype, unsigned seed) : dtype_(dtype), engine_(seed) {
    for (const char *name : {"x", "y"})
      data_.push_back(make_data(name, dtype));
  }

  Expr condition(int depth) {
    static constexpr BinaryOp ops[] = {BinaryOp::lt, BinaryOp::le, BinaryOp::eq, BinaryOp::ne};
    return binary(ops[below(4)], number(depth), number(depth));
  }
  Expr number(int depth) {
    std::size_t kind = below(depth > 0 ? 14 : 2);
    if (kind == 0)
      return constant();
    if (kind == 1)
      return data_[below(2)];
    if (kind < 5)
      return number(depth - 1) + number(depth - 1);
    if (kind < 7)
      return number(depth - 1) - number(depth - 1);
    if (kind == 7)
      return number(depth - 1) * constant();
    if (kind == 8)
      return below(2) ? min(number(depth - 1), number(depth - 1)) : max(number(depth - 1), number(depth - 1));
    if (kind == 9)
      return select(condition(depth - 1), number(depth - 1), number(depth - 1));
    if (kind >= 12) {
      static constexpr BinaryOp ops[] = {BinaryOp::bit_and, BinaryOp::bit_or, BinaryOp::bit_xor,
                                         BinaryOp::shift_left, BinaryOp::shift_right};
      return binary(ops[below(5)], number(depth - 1), below(2) ? constant() : number(depth - 1));
    }
    Expr divisor = int_imm(std::int64_t{1} << below(7), dtype_);
    return kind == 10 ? floordiv(number(depth - 1), divisor) : floormod(number(depth - 1), divisor);
  }

private:
  std::size_t below(std::size_t n) { return engine_() % n; }
  Expr constant() {
    std::int64_t half = std::int64_t{1} << (8 * byte_size(dtype_) - 2);
    const std::int64_t all[] = {0, 1, 2, 3, 7, -1, -5, half, half - 1 + half, -half - half, -half};
    return int_imm(all[below(std::size(all))], dtype_);
  }

  DType dtype_;
  std::vector<Var> data_;
  std::mt19937 engine_;
};

/// The simplifier computes coefficients of i32 data in 64 bits. The low 32 bits of sums, differences and
/// products must be those of 32-bit arithmetic.
TEST(ExpressionsOfData, KeepTheirLowBitsInWiderArithmetic) {
  Words words;
  z3::context &context = words.context();
  z3::expr a = context.bv_const("a", 64), b = context.bv_const("b", 64);
  auto low = [](const z3::expr &x) { return x.extract(31, 0); };
  for (const auto &[wide, narrow] :
       {std::pair(low(a + b), low(a) + low(b)), {low(a - b), low(a) - low(b)}, {low(a * b), low(a) * low(b)}}) {
    z3::solver solver(context);
    solver.add(wide != narrow);
    EXPECT_EQ(solver.check(), z3::unsat) << wide;
  }
}

/// The sums of these constants exceed the range of the type or of the coefficients.
TEST(ExpressionsOfData, AreComparedModuloTheirRange) {
  auto number = [](DType dtype, std::int64_t value) { return int_imm(value, dtype); };
  Expr x = make_data("x", DType::i32), y = make_data("y", DType::i64);
  Expr most = number(DType::i32, 2147483647), two = number(DType::i32, 2),
       least = number(DType::i64, INT64_MIN);
  Expr same_as_x = x + most + most + two;
  EXPECT_EQ(to_string(simplify(same_as_x)), "x");
  for (const Expr &e :
       {equal(same_as_x, x), not_equal(same_as_x, x), floormod(same_as_x - x, number(DType::i32, 3)),
        x * number(DType::i32, 65536) * number(DType::i32, 65536), y - y + least <= 1, floormod(y, 16) <= least,
        min(floormod(y, 16), least), floormod(y, 2) * least < floormod(y, 2)}) {
    EXPECT_EQ(Words().equal(e, simplify(e)), "proved") << to_string(e) << " became " << to_string(simplify(e));
  }
}

TEST(ExpressionsOfData, KeepTheirValueWhenSimplified) {
  for (DType dtype : {DType::i32, DType::i64})
    for (unsigned seed = 1; seed <= 300; ++seed) {
      Random random(dtype, seed);
      Expr e = seed % 2 ? random.condition(2) : random.number(3);
      Expr simple = simplify(e);
      if (same(e, simple))
        continue;
      EXPECT_EQ(Words().equal(e, simple), "proved")
          << name(dtype) << ": " << to_string(e) << " became " << to_string(simple);
    }
}

} // namespace
} // namespace nestsmith::proofs
