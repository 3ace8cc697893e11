/// Tests the locals that hold shared operands of large values.

#include "lowering/share_values.h"

#include "dsl/expr/error.h"
#include "lowering/lower.h"
#include "tests/dsl/support.h"

namespace nestsmith {
namespace {

using kernel::SharedValues;

SharedValues shared(const std::vector<Expr> &exprs) {
  int names = 0;
  return kernel::share_values(
      exprs, [&] { return "t" + std::to_string(++names); }, "the value");
}
std::string text(const SharedValues &values) {
  std::string result;
  for (const kernel::Declare &declare : values.declares)
    result += declare.var->name + " = " + to_string(declare.value) + "\n";
  for (const Expr &e : values.exprs)
    result += to_string(e) + "\n";
  return result;
}
Expr squared(Expr x, int times) {
  for (int n = 0; n < times; ++n)
    x = x * x;
  return x;
}

struct Operands {
  Var i = make_var("i"), n = make_var("n"), f = make_var("f", DType::f32), u = make_var("u", DType::u32);
  Buffer a = std::make_shared<const BufferNode>(BufferNode{"a", DType::f32, {64}, Scope::global, Role::input});
  Buffer b = std::make_shared<const BufferNode>(BufferNode{"b", DType::u32, {64}, Scope::global, Role::input});
};

TEST(ShareValues, LeavesSmallValuesAsTheyAre) {
  Operands o;
  Expr e = squared(o.f, 6);
  EXPECT_EQ(e.node().size, 127U);
  EXPECT_TRUE(shared({e}).declares.empty());
  EXPECT_FALSE(shared({e, e}).declares.empty()) << "together they are large";
}

TEST(ShareValues, DeclaresEachSharedOperandOnceAfterItsOwn) {
  Operands o;
  EXPECT_EQ(text(shared({squared(load(o.a, {o.i}), 8)})), "t1 = a[i]\n"
                                                          "t2 = t1*t1\n"
                                                          "t3 = t2*t2\n"
                                                          "t4 = t3*t3\n"
                                                          "t5 = t4*t4\n"
                                                          "t6 = t5*t5\n"
                                                          "t7 = t6*t6\n"
                                                          "t8 = t7*t7\n"
                                                          "t8*t8\n");
  SharedValues many = shared({squared(load(o.a, {o.i}), 60)});
  EXPECT_EQ(many.declares.size(), 60U);
}

/// A load under a mask is not executed before its mask is evaluated.
TEST(ShareValues, KeepsLoadsBehindTheirMask) {
  Operands o;
  Expr inner = cast(DType::i64, load(o.b, {o.i})), index = inner;
  for (int times = 0; times < 7; ++times)
    index = index * index;
  Expr masked = load(o.a, {floormod(index, 64)}, Expr(o.i) < o.n, 0.0F);
  EXPECT_TRUE(shared({masked}).declares.empty()) << text(shared({masked}));
  // The load with its mask is one operand, so it may be declared.
  std::string whole = text(shared({squared(load(o.a, {o.i}, Expr(o.i) < o.n, 0.0F), 7)}));
  EXPECT_EQ(whole.substr(0, 33), "t1 = (a[i] where i < n else 0.0)\n");
  // The condition of the select loads b[i] without a mask, so the load may be declared.
  EXPECT_EQ(text(shared({select(equal(inner, 0), Expr(1.0F), masked)})).substr(0, 15), "t1 = i64(b[i])\n");
}

TEST(ShareValues, KeepsLoadsBehindAnd) {
  Operands o;
  Expr value = squared(load(o.a, {o.i}), 7);
  Expr guarded = select(Expr(o.i) < o.n && value < 1.0F, 1.0F, 0.0F);
  EXPECT_EQ(text(shared({guarded})).find("= a[i]"), std::string::npos) << text(shared({guarded}));
  Expr arithmetic = select(Expr(o.i) < o.n && squared(o.f, 7) < 1.0F, 1.0F, 0.0F);
  EXPECT_EQ(shared({arithmetic}).declares.size(), 6U) << "arithmetic on values is safe to do early";
}

/// The reference of an emitted file runs on a CPU, where a division by 0 stops it.
TEST(ShareValues, KeepsDivisionsInTheSidesOfASelect) {
  Operands o;
  auto squares = [](Expr x) {
    for (int n = 0; n < 7; ++n)
      x = x * x;
    return x;
  };
  Expr divided = squares(floordiv(Expr(o.u) + 1, o.u));
  EXPECT_TRUE(shared({select(equal(Expr(o.u), 0), constant(DType::u32, 0), divided)}).declares.empty());
  EXPECT_EQ(shared({divided}).declares.size(), 7U);
  Expr by_constant = squares(floordiv(Expr(o.u) + 1, 3));
  EXPECT_EQ(shared({select(equal(Expr(o.u), 0), constant(DType::u32, 0), by_constant)}).declares.size(), 7U);
}

TEST(ShareValues, RefusesWhatWouldStayTooLong) {
  Operands o;
  Expr guarded = select(Expr(o.i) < o.n && squared(load(o.a, {o.i}), 30) < 1.0F, 1.0F, 0.0F);
  try {
    shared({guarded});
    FAIL() << "expected a refusal";
  } catch (const UserError &error) {
    EXPECT_EQ(error.code(), ExitCode::illegal_schedule);
    EXPECT_TRUE(test::contains(error.what(),
                               "the value has 3221225480 operations when each operand is written out, "
                               "expected at most 65536"))
        << error.what();
  }
}

kernel::Kernel lowered(DType dtype, const std::function<Definition(const Tensor &, Expr)> &element) {
  Workload w("w");
  Tensor x = w.placeholder("x", {8}, dtype);
  Tensor y = w.compute("y", {8}, {"i"}, [&](Expr i) { return element(x, i); });
  Schedule s(w.output({y}));
  s.bind(s.loop("i"), Axis::thread_x);
  return lower(s).only();
}

TEST(ShareValues, MakesTheKernelLinear) {
  for (DType dtype : {DType::f32, DType::u32, DType::i32, DType::i64})
    for (int times : {14, 40, 100}) {
      auto kernel = lowered(dtype, [&](const Tensor &x, Expr i) -> Definition { return squared(x(i), times); });
      EXPECT_LT(kernel::print(kernel).size(), 200U + 40U * static_cast<std::size_t>(times));
    }
}

/// Each pass visits the shared operands of indices and masks only once.
TEST(ShareValues, TakesIndicesAndMasks) {
  auto kernel = lowered(DType::f32, [&](const Tensor &x, Expr i) -> Definition {
    Expr at = i;
    for (int n = 0; n < 40; ++n)
      at = floormod(at * at + at, 8);
    return x.where(at < 4, at);
  });
  EXPECT_LT(kernel::print(kernel).size(), 6000U);
}

TEST(ShareValues, ManyBranchesAreRefused) {
  auto choices = [](int times) {
    return [=](const Tensor &x, Expr i) -> Definition {
      Expr y = x(i);
      for (int n = 0; n < times; ++n)
        y = branch(y < 0.0F, y * 2.0F, y + 1.0F);
      return y;
    };
  };
  EXPECT_GT(kernel::print(lowered(DType::f32, choices(6))).size(), 1000U);
  test::expect_user_error(
      [&] { lowered(DType::f32, choices(40)); }, ExitCode::illegal_schedule,
      "the branches in the value that is stored to y combine in more than 1024 ways, each of "
      "which is code of its own; use select for some of them");
}

/// The difference of v + 100 and v is 100. If a local holds v + 100, only the range of the local is known, and
/// the subtraction overflows at the ends of i32.
TEST(ShareValues, KeepsArithmeticDefinedWhereALocalHidesItsValue) {
  Workload w("w");
  Tensor x = w.placeholder("x", {8}, DType::i32);
  Tensor y = w.compute("y", {8}, {"i"}, [&](Expr i) -> Definition {
    Expr v = x(i) % 2147483647 - 1073741823, more = v + 100, value = more - v;
    for (int n = 0; n < 40; ++n) // a tree that is large enough to be shared
      value = bit_xor(value, more);
    return value;
  });
  Schedule s(w.output({y}));
  std::string text = kernel::print(lower(s));
  EXPECT_NE(text.find("let t"), std::string::npos) << text;
}

} // namespace
} // namespace nestsmith
