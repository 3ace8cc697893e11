/// Tests the declaration of intrinsics, and the comparison of a nest with the meaning of an intrinsic.

#include "dsl/hardware/intrinsics.h"
#include "dsl/hardware/match.h"
#include "tests/dsl/support.h"

#include <fmt/format.h>

namespace nestsmith {
namespace {

Buffer formal(const char *name, DType dtype, std::vector<Expr> shape) {
  return std::make_shared<const BufferNode>(
      BufferNode{name, dtype, std::move(shape), Scope::local, Role::temporary});
}

/// for k < 2: sum = sum + x[k]
struct Pair {
  Var k = make_var("k");
  Buffer x = formal("x", DType::f32, {2}), sum = formal("sum", DType::f32, {});
  Intrinsic intrinsic{.name = "add_pair",
                      .operands = {{x}, {sum}},
                      .meaning = {{{k, 2}}, {sum, {}, load(sum, {}) + load(x, {k})}}};

  std::string refusal() const {
    try {
      register_intrinsic(intrinsic);
    } catch (const UserError &error) {
      EXPECT_EQ(error.code(), ExitCode::usage);
      return error.what();
    }
    return "accepted";
  }
};

TEST(Intrinsics, OfAProgramAreUsedLikeOurs) {
  Pair pair;
  pair.intrinsic.name = "add_two";
  pair.intrinsic.prelude = "static __device__ float add_two(float2 x, float sum) { return sum + x.x + x.y; }\n";
  register_intrinsic(pair.intrinsic);
  EXPECT_EQ(find_intrinsics("add_two", DType::f32).size(), 1U);
  EXPECT_TRUE(find_intrinsics("add_two", DType::u32).empty());
  EXPECT_EQ(pair.refusal(), "the intrinsic add_two (f32) is registered already; an intrinsic of the same name "
                            "needs operands of other dtypes");
  Workload w("sums");
  Tensor a = w.placeholder("A", {3, 8}, DType::f32);
  Reduce k = reduce_axis("k", 8);
  Schedule s(w.output({w.compute("C", {3}, {"i"}, [&](Expr i) { return sum(a(i, k), k); })}));
  s.tensorize(s.split(s.loop("k"), {infer, 2})[1], "add_two");
  EXPECT_TRUE(test::same_meaning(s));
  EXPECT_TRUE(s.obligations().empty());
}

TEST(Intrinsics, OfTheTableAreWellFormed) {
  for (const Intrinsic *intrinsic : all_intrinsics())
    try {
      register_intrinsic(*intrinsic);
      ADD_FAILURE() << signature(*intrinsic);
    } catch (const UserError &error) {
      EXPECT_EQ(error.what(), "the intrinsic " + signature(*intrinsic) +
                                  " is registered already; an intrinsic of the same name needs operands of "
                                  "other dtypes");
    }
}

std::string malformed(const std::function<void(Pair &)> &change) {
  Pair pair;
  change(pair);
  return pair.refusal();
}

TEST(IntrinsicsRefuse, MalformedMeanings) {
  const std::string begin = "the intrinsic 'add_pair' is malformed: ";
  EXPECT_EQ(malformed([](Pair &x) { x.intrinsic.name = "2"; }),
            "the intrinsic '2' is malformed: its name is not an identifier");
  EXPECT_EQ(malformed([](Pair &x) { x.intrinsic.meaning.loops.clear(); }),
            begin + "its meaning is not a nest of loops around one store");
  EXPECT_EQ(malformed([](Pair &x) { x.intrinsic.meaning.loops[0].extent = 1; }),
            begin + "a loop of its meaning has 1 iterations, expected at least 2");
  EXPECT_EQ(malformed([](Pair &x) { x.intrinsic.operands.pop_back(); }),
            begin + "its meaning accesses sum, which is no operand");
  EXPECT_EQ(malformed([](Pair &x) { x.intrinsic.operands.push_back({formal("y", DType::f32, {2})}); }),
            begin + "its meaning does not use the operand y");
  EXPECT_EQ(malformed([](Pair &x) { x.intrinsic.operands.push_back({x.x}); }),
            begin + "each operand needs a formal buffer of its own");
  EXPECT_EQ(malformed([](Pair &x) { x.intrinsic.meaning.loops[0].extent = 4; }),
            begin + "its meaning accesses x[k], expected one loop for each dimension of x, with the extent of "
                    "the dimension");
  EXPECT_EQ(malformed([](Pair &x) { x.intrinsic.meaning.body.value = cast(DType::i32, load(x.x, {x.k})); }),
            begin + "its meaning stores a value of i32 to sum, which has f32");
  EXPECT_EQ(malformed([](Pair &x) {
              x.intrinsic.meaning.body.value = load(x.x, {x.k}, Expr(x.k) < Expr(1), Expr(0.0F));
            }),
            begin + "its meaning reads x under a mask");
  EXPECT_EQ(malformed([](Pair &x) {
              x.intrinsic.meaning.body = {x.x, {x.k}, load(x.x, {x.k}) + load(x.sum, {})};
            }),
            begin + "x has several elements, but an intrinsic of a thread has one result");
}

TEST(IntrinsicsRefuse, MalformedFragments) {
  auto with_maps = [](const char *x, const char *sum) {
    return malformed([&](Pair &pair) {
      pair.x = formal("x", DType::f32, {64});
      pair.intrinsic.group = Group::warp;
      pair.intrinsic.operands = {{pair.x, InRegisters{x}}, {pair.sum, InRegisters{sum}}};
      pair.intrinsic.meaning = {{{pair.k, 64}}, {pair.sum, {}, load(pair.sum, {}) + load(pair.x, {pair.k})}};
    });
  };
  const std::string begin = "the intrinsic 'add_pair' is malformed: ", sum = "r -> r, 0";
  EXPECT_EQ(with_maps("i -> i%32", "r -> r, 0"),
            begin + "the map i -> i%32 of x gives 1 indices, expected a lane and a register");
  EXPECT_EQ(with_maps("i, j, k -> i%32, i//32", "r -> r, 0"),
            begin + "the map i, j, k -> i%32, i//32 of x has 3 indices, expected 1, or 2 with a replica");
  EXPECT_EQ(with_maps("i -> i, 0", "r -> r, 0"), begin + "the map of x gives the lane 32 and the register 0");
  EXPECT_EQ(with_maps("i -> i%32, i%2", "r -> r, 0"), begin + "two elements of x are in register 0 of lane 0");
  EXPECT_EQ(with_maps("i -> i%16, i//16", "r -> r, 0"), begin + "x fills 64 of the 128 registers of its lanes");
  EXPECT_EQ(malformed([](Pair &x) { x.intrinsic.group = Group::warp; }),
            begin + "the operand x is by value, but a warp has fragments and rows in shared memory");
  EXPECT_EQ(malformed([](Pair &x) { x.intrinsic.operands[0].place = InRegisters{"i -> i, 0"}; }),
            begin + "the operand x is in a fragment or in rows, but a thread passes its operands by value");
}

TEST(Fragments, HoldEveryReplicaOfAnElement) {
  Operand row = {formal("m", DType::f32, {8}), InRegisters{"i, r -> i*4 + r, 0"}};
  auto spots = spots_of(row);
  ASSERT_EQ(spots.size(), 8U);
  EXPECT_EQ(spots[2], (std::vector<Spot>{{8, 0}, {9, 0}, {10, 0}, {11, 0}}));
  Var lane = make_var("lane");
  Operand rows = {formal("s", DType::f16, {16, 16}), Rows{lane, {lane % 16, lane / 16 * 8}, 1, 8}};
  EXPECT_EQ(spots_of(rows)[3 * 16 + 13], (std::vector<Spot>{{19, 5}}));
  EXPECT_EQ(elements_per_lane(rows), 8);
}

/// C = C + A*B over a box. The loops of the nest have other names and another order than those of the meaning.
struct Products {
  Var i = make_var("i"), j = make_var("j"), k = make_var("k"), x = make_var("x"), y = make_var("y"),
      z = make_var("z");
  Buffer a = formal("a", DType::f32, {4, 2}), b = formal("b", DType::f32, {2, 8}),
         c = formal("c", DType::f32, {4, 8}), A = formal("A", DType::f32, {64, 64}),
         B = formal("B", DType::f32, {64, 64}), C = formal("C", DType::f32, {64, 64});
  Intrinsic intrinsic{
      .name = "product",
      .group = Group::warp,
      .operands = {{a, InRegisters{"i, j -> i, j"}},
                   {b, InRegisters{"i, j -> i, j"}},
                   {c, InRegisters{"i, j -> i, j"}}},
      .meaning = {{{i, 4}, {j, 8}, {k, 2}}, {c, {i, j}, load(c, {i, j}) + load(a, {i, k}) * load(b, {k, j})}}};
  Nest nest{{{z, 2}, {y, 8}, {x, 4}}, {C, {x, y}, load(C, {x, y}) + load(A, {x, z}) * load(B, {y, z})}};

  std::string difference() const {
    Difference first;
    if (match(intrinsic, nest, {}, &first))
      return "none";
    return fmt::format("{} in place of {}", to_string(first.got), to_string(first.expected));
  }
};

TEST(Match, FindsTheLoopsInAnyOrderAndTheOperands) {
  Products p;
  EXPECT_EQ(to_string(p.intrinsic.meaning), "for i < 4, j < 8, k < 2: c[i, j] = c[i, j] + a[i, k]*b[k, j]");
  auto found = match(p.intrinsic, p.nest, {});
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->loops.at(p.i), p.x);
  EXPECT_EQ(found->loops.at(p.k), p.z);
  EXPECT_EQ(to_string(found->operands.at(p.b)), "B[y, z]"); // the access is transposed: only the element counts
}

TEST(Match, NamesTheFirstDifference) {
  Products p;
  p.nest.body.value = load(p.C, {p.x, p.y}) + load(p.A, {p.x, p.y}) * load(p.B, {p.y, p.z});
  EXPECT_EQ(p.difference(), "A[x, y] in place of a[i, k]");
  p.nest.body.value = load(p.C, {p.y, p.x}) + load(p.A, {p.x, p.z}) * load(p.B, {p.y, p.z});
  EXPECT_EQ(p.difference(), "C[y, x] in place of c[i, j]");
  p.nest.body.value = load(p.C, {p.x, p.y}) + load(p.A, {p.x, p.z});
  EXPECT_EQ(p.difference(), "A[x, z] in place of a[i, k]*b[k, j]");
  p.nest.body.indices = {p.x, p.z};
  EXPECT_EQ(p.difference(), "C[x, z] in place of c[i, j]");
}

/// All loops have the same extent. The loops of the sum keep their order, and the other loops may be exchanged.
TEST(Match, KeepsTheOrderOfSums) {
  Var i = make_var("i"), k = make_var("k"), l = make_var("l"), x = make_var("x"), y = make_var("y"),
      z = make_var("z");
  Buffer a = formal("a", DType::f32, {4, 4, 4}), c = formal("c", DType::f32, {4}),
         A = formal("A", DType::f32, {4, 4, 4}), C = formal("C", DType::f32, {4});
  Intrinsic intrinsic{.name = "sums",
                      .group = Group::warp,
                      .operands = {{a, InRegisters{"i, j, k -> i, j*4 + k"}}, {c, InRegisters{"i -> i, 0"}}},
                      .meaning = {{{i, 4}, {k, 4}, {l, 4}}, {c, {i}, load(c, {i}) + load(a, {i, k, l})}}};
  auto matches = [&](const Var &stored) {
    return match(intrinsic, {{{x, 4}, {y, 4}, {z, 4}}, {C, {stored}, load(C, {stored}) + load(A, {x, y, z})}},
                 {});
  };
  for (const Var &stored : {x, y, z}) {
    auto found = matches(stored);
    ASSERT_TRUE(found.has_value());
    EXPECT_EQ(found->loops.at(i), stored);
    EXPECT_EQ(found->loops.at(k), stored == x ? y : x);
    EXPECT_EQ(found->loops.at(l), stored == z ? y : z);
  }
}

} // namespace
} // namespace nestsmith
