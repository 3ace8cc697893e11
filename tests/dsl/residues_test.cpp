/// Tests the residues that stand for floating-point numbers in exact checks.
#include "dsl/ir/residues.h"

#include "dsl/expr/math_functions.h"
#include "dsl/ir/reducer.h"
#include "dsl/ir/reducer_laws.h"
#include "dsl/ir/tensor.h"
#include "tests/dsl/support.h"

#include <gmock/gmock.h>
#include <limits>
#include <random>

namespace nestsmith {
namespace {

using RingResidue = Residue<Arithmetic::ring>;
using FieldResidue = Residue<Arithmetic::field>;
constexpr double infinite = std::numeric_limits<double>::infinity();

template <class R> class Residues : public testing::Test {
public:
  R any() { return R::of(static_cast<std::int64_t>(engine_())); }
  R apply(const char *function, R x, R y = {0}, R z = {0}) {
    return R::apply(*find_math_function(function), x, y, z);
  }

private:
  std::mt19937_64 engine_{1};
};
using ResidueKinds = testing::Types<RingResidue, FieldResidue>;
TYPED_TEST_SUITE(Residues, ResidueKinds);

TYPED_TEST(Residues, HaveSumsAndProductsInAnyOrder) {
  using R = TypeParam;
  for (int n = 0; n < 1000; ++n) {
    R x = this->any(), y = this->any(), z = this->any();
    EXPECT_TRUE(x.is_number());
    EXPECT_EQ(x + y, y + x);
    EXPECT_EQ((x + y) + z, x + (y + z));
    EXPECT_EQ(x * y, y * x);
    EXPECT_EQ((x * y) * z, x * (y * z));
    EXPECT_EQ(x * (y + z), x * y + x * z);
    EXPECT_EQ(x - y + y, x);
    EXPECT_EQ(this->apply("fma", x, y, z), x * y + z);
    EXPECT_EQ((arithmetic<BinaryOp::max>(x, y)), (arithmetic<BinaryOp::max>(y, x)));
  }
}

TYPED_TEST(Residues, AbsorbInfinities) {
  using R = TypeParam;
  R minus = R::constant(-infinite), plus = R::constant(infinite);
  for (R x : {R{0}, R{1}, this->any(), minus}) {
    EXPECT_EQ(minus - x, minus);
    EXPECT_EQ(x - minus, minus);
    EXPECT_EQ(minus + x, minus);
    EXPECT_EQ((arithmetic<BinaryOp::max>(minus, x)), x);
    EXPECT_TRUE(x < plus);
  }
  EXPECT_TRUE((R{0} * minus).is_nan());
  EXPECT_TRUE((R{1} / R{0}).is_nan());
  EXPECT_EQ(R{7} / plus, R{0});
  R nan = R::constant(std::numeric_limits<double>::quiet_NaN());
  EXPECT_FALSE(nan == nan);
  EXPECT_FALSE(nan < plus);
  EXPECT_TRUE((nan + minus).is_nan());
}

TYPED_TEST(Residues, OfIntegersAreThese) {
  using R = TypeParam;
  for (int n : {0, 1, -1, 1024, -65536})
    EXPECT_EQ(R::constant(n).bits, n);
  EXPECT_EQ(R::constant(0x1p31), R::is_ring ? R{0} : R{1});
  EXPECT_EQ(R::constant(1.5) * R::constant(1024), R::constant(3) * R::constant(0.5) * R{1024});
}

/// A rounding that is lost, or to another dtype, changes the residue.
TYPED_TEST(Residues, KeepFewerBitsInNarrowTypes) {
  using R = TypeParam;
  R x{0x12345678};
  std::vector<std::int32_t> kept;
  for (DType type : {DType::f32, DType::tf32, DType::f16, DType::bf16}) {
    R once =
        from_element < TypeParam::is_ring ? Arithmetic::ring : Arithmetic::field > (type, to_element(type, x));
    EXPECT_EQ(from_element < TypeParam::is_ring ? Arithmetic::ring
                                                : Arithmetic::field > (type, to_element(type, once)),
              once);
    EXPECT_THAT(kept, testing::Not(testing::Contains(once.bits)));
    kept.push_back(once.bits);
    for (double special : {-infinite, infinite, 0.0, 5.0, -5.0}) {
      R y = R::constant(special);
      EXPECT_EQ(from_element < TypeParam::is_ring ? Arithmetic::ring
                                                  : Arithmetic::field > (type, to_element(type, y)),
                y);
    }
  }
}

TYPED_TEST(Residues, HaveFunctionsOfTheirOperandsOnly) {
  using R = TypeParam;
  R x = this->any(), y = this->any();
  EXPECT_EQ(this->apply("tanh", x, y), this->apply("tanh", x));
  EXPECT_FALSE(this->apply("tanh", x) == this->apply("sin", x));
  EXPECT_FALSE(this->apply("pow", x, y) == this->apply("pow", y, x));
}

TEST(Ring, HasPowersAndReciprocals) {
  auto exp2 = [](RingResidue x) { return RingResidue::apply(*find_math_function("exp2"), x, {0}, {0}); };
  auto exp = [](RingResidue x) { return RingResidue::apply(*find_math_function("exp"), x, {0}, {0}); };
  std::mt19937_64 engine(2);
  for (int n = 0; n < 1000; ++n) {
    RingResidue x = RingResidue::of(static_cast<std::int64_t>(engine())),
                y = RingResidue::of(static_cast<std::int64_t>(engine()));
    EXPECT_EQ(exp2(x + y), exp2(x) * exp2(y));
    EXPECT_EQ(exp(x - y) * exp(y), exp(x));
    EXPECT_EQ(exp2(x * RingResidue::constant(1.44269504F)), exp(x));
    EXPECT_EQ(RingResidue{1} / (x * y), (RingResidue{1} / x) * (RingResidue{1} / y));
    if (x.bits % 2 != 0) {
      EXPECT_EQ(y / x * x, y);
    }
  }
  EXPECT_EQ(exp2(RingResidue::constant(-infinite)), RingResidue{0});
  EXPECT_EQ(exp2(RingResidue{0}), RingResidue{1});
}

TEST(Field, HasTrueQuotients) {
  std::mt19937_64 engine(3);
  for (int n = 0; n < 1000; ++n) {
    FieldResidue x = FieldResidue::of(static_cast<std::int64_t>(engine())),
                 y = FieldResidue::of(static_cast<std::int64_t>(engine()));
    EXPECT_EQ(y / x * x, y);
  }
  EXPECT_EQ(FieldResidue::constant(0.25) * FieldResidue{4}, FieldResidue{1});
  EXPECT_EQ(FieldResidue{3} / FieldResidue{8}, FieldResidue::constant(0.375));
}

TEST(ReducersOfF32, RefuseOtherTerms) {
  Reduce k = reduce_axis("k", 7);
  Expr integer = constant(DType::i32, 1);
  test::expect_user_error(
      [&] { moments_over(integer, k); }, ExitCode::usage,
      "moments_over takes f32 or f64, got i32; convert the operand with cast(DType::f32, …)");
  test::expect_user_error(
      [&] { sum_of_exp_over(integer, k); }, ExitCode::usage,
      "sum_of_exp_over takes f32 or f64, got i32; convert the operand with cast(DType::f32, …)");
}

/// The merge of two means needs quotients, and a rescaled sum needs exp.
TEST(Laws, HoldInOneOfTheArithmetics) {
  const OwnReducer &mean = *moments().definition(), &scaled = *sum_of_exp().definition();
  EXPECT_EQ(broken_law(mean, Arithmetic::field), std::nullopt);
  EXPECT_NE(broken_law(mean, Arithmetic::ring), std::nullopt);
  EXPECT_EQ(broken_law(scaled, Arithmetic::ring), std::nullopt);
  EXPECT_NE(broken_law(scaled, Arithmetic::field), std::nullopt);
}

} // namespace
} // namespace nestsmith
