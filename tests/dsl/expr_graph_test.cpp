/// Tests expressions whose nodes are operands of several other nodes. The time of a traversal depends on the
/// number of nodes, not on the size of the tree.

#include "dsl/expr/error.h"
#include "dsl/expr/simplify.h"
#include "dsl/ir/layout.h"
#include "dsl/ir/specialise.h"
#include "tests/dsl/support.h"

#include <cmath>
#include <set>
#include <thread>

namespace nestsmith {
namespace {

using test::expect_refused;
using test::expect_user_error;

/// Returns x^(2^times) with `times` nodes above x.
Expr squared(Expr x, int times) {
  for (int n = 0; n < times; ++n)
    x = x * x;
  return x;
}
std::size_t nodes_of(const Expr &e) {
  std::set<const ExprNode *> nodes;
  walk(e, [&](const Expr &node) { nodes.insert(node.get()); });
  return nodes.size();
}

TEST(ExprGraph, NodesKnowHowDeepAndHowLargeTheyAre) {
  Expr x = make_var("x", DType::f32);
  EXPECT_EQ(x.node().depth, 1U);
  EXPECT_EQ(squared(x, 3).node().depth, 4U);
  EXPECT_EQ(squared(x, 3).node().size, 15U) << "as a tree";
  EXPECT_EQ(squared(x, 100).node().size, std::uint64_t{1} << 62) << "and no more than that";
  Buffer a = std::make_shared<const BufferNode>(BufferNode{"a", DType::f32, {8}, Scope::global, Role::input});
  Expr i = make_var("i");
  EXPECT_EQ(load(a, {i * 2 + 1}, i < 4, 0.0F).node().depth, 4U);
  EXPECT_EQ(load(a, {i * 2 + 1}, i < 4, 0.0F).node().size, 10U);
}

TEST(ExprGraph, WalksMeetASharedNodeOnce) {
  Var x = make_var("x", DType::f32);
  Expr e = squared(x, 40);
  int down = 0, up = 0;
  std::uint32_t last = 0;
  walk(e, [&](const Expr &) { ++down; });
  walk_up(e, [&](const Expr &node) {
    EXPECT_LE(last, node.node().depth) << "operands first";
    last = node.node().depth;
    ++up;
  });
  EXPECT_EQ(down, 42) << "the leaf is the operand of one node twice";
  EXPECT_EQ(up, down);
  EXPECT_TRUE(uses(e, x));
  EXPECT_FALSE(reads_memory(e));
  EXPECT_FALSE(any_node(e, [](const Expr &node) { return node.as<Select>() != nullptr; }));
}

TEST(ExprGraph, RewritesKeepSharing) {
  Var x = make_var("x", DType::f32), y = make_var("y", DType::f32);
  Expr e = squared(x, 40);
  auto y_for_x = [&](const Expr &node) { return node.as<Var>() ? Expr(y) : Expr(); };
  Expr expected = squared(y, 40);
  for (const Expr &result : {substitute(e, [&](const Var &) { return Expr(y); }), replace_nodes(e, y_for_x),
                             rebuild(e, [&](const Expr &node) { return node.as<Var>() ? Expr(y) : node; })}) {
    EXPECT_TRUE(same(result, expected));
    EXPECT_FALSE(same(result, e));
    EXPECT_LE(nodes_of(result), 42U);
  }
  EXPECT_EQ(replace_nodes(e, [](const Expr &) { return Expr(); }).get(), e.get()) << "nothing changed";
  EXPECT_EQ(nodes_of(simplify(e)), 41U);
  Specialiser specialiser;
  EXPECT_EQ(specialiser(e).get(), e.get());
}

TEST(ExprGraph, IndexArithmeticIsDoneOnceForEachNode) {
  Var i = make_var("i");
  Bounds bounds;
  bounds.set(i, {0, 7});
  Expr doubled = i;
  for (int n = 0; n < 40; ++n)
    doubled = doubled + doubled;
  Linear form = linearize(doubled, bounds);
  ASSERT_EQ(form.terms.size(), 1U);
  EXPECT_EQ(form.terms[0].coefficient, std::int64_t{1} << 40);
  EXPECT_EQ(range_of(doubled, bounds)->high, std::int64_t{7} << 40);

  Expr mixed = i;
  for (int n = 0; n < 40; ++n)
    mixed = floormod(mixed * mixed + mixed * 3, 64);
  EXPECT_EQ(range_of(mixed, bounds)->high, 63);
  EXPECT_LT(nodes_of(simplify(mixed, bounds)), 1000U);
  EXPECT_TRUE(proves(mixed < 64, bounds));
}

TEST(ExprGraph, ComparesGraphsThatShareNothing) {
  Var x = make_var("x", DType::f32), y = make_var("y", DType::f32);
  EXPECT_TRUE(same(squared(x, 60), squared(x, 60)));
  EXPECT_FALSE(same(squared(x, 60), squared(y, 60)));
  EXPECT_FALSE(same(squared(x, 60), squared(x, 61)));
}

TEST(ExprGraph, LongChainsAreFreedWithoutTheStack) {
  Expr x = make_var("x", DType::f32), sum = x, right = x, both = x;
  for (int n = 0; n < 1'000'000; ++n) {
    sum = sum + x;
    right = x + right;
    both = both * both;
  }
  EXPECT_EQ(sum.node().depth, 1'000'001U);
  Expr kept = sum;
  sum = {};
  EXPECT_EQ(kept.node().depth, 1'000'001U) << "others hold it";
}

TEST(ExprGraph, IsPrintedWithNamesForWhatIsShared) {
  Expr x = make_var("x", DType::f32);
  EXPECT_EQ(to_string(squared(x, 2)), "x*x*(x*x)") << "short ones as they are";
  std::string text = to_string(squared(x, 12));
  EXPECT_EQ(text.substr(0, 44), "let %1 = x*x, %2 = %1*%1, %3 = %2*%2, %4 = %");
  EXPECT_EQ(text.substr(text.size() - 11), " in %11*%11");
  EXPECT_LT(to_string(squared(x, 60)).size(), 1100U);
}

/// y[i] = value(x[i], i)
Program elementwise(const std::function<Expr(Expr, Expr)> &value) {
  Workload w("w");
  Tensor x = w.placeholder("x", {8}, DType::u32);
  return w.output({w.compute("y", {8}, {"i"}, [&](Expr i) { return value(x(i), i); })});
}

TEST(ExprGraph, HasTheValueOfTheTree) {
  Program p = elementwise([](const Expr &x, const Expr &) {
    Expr y = x;
    for (int n = 0; n < 40; ++n)
      y = y * y + shift_right(y, 1);
    return y;
  });
  std::vector<Array> got = test::results_of(p);
  for (std::int64_t n = 0; n < 8; ++n) {
    auto y = got[0].at(n).as<std::uint32_t>();
    for (int times = 0; times < 40; ++times)
      y = y * y + (y >> 1);
    EXPECT_EQ(got[1].at(n).as<std::uint32_t>(), y);
  }
}

TEST(ExprGraph, InliningKeepsSharing) {
  Workload w("w");
  Tensor x = w.placeholder("x", {8}, DType::u32), y = x;
  for (int n = 0; n < 40; ++n)
    y = w.compute("y" + std::to_string(n), {8}, {"i"}, [&, from = y](Expr i) { return from(i) * from(i) + 1; });
  Program p = w.output({y});
  Schedule s(p);
  for (int n = 0; n < 39; ++n)
    s.compute_inline(s.block("y" + std::to_string(n)));
  const Block *block = blocks_of(s.program().body).front();
  EXPECT_LT(nodes_of(block->body.value), 200U);
  EXPECT_TRUE(test::results_of(s.program())[1] == test::results_of(p)[1]);
}

Expr chain(const Expr &x, std::uint32_t depth) {
  Expr sum = x;
  while (sum.node().depth < depth)
    sum = sum + x;
  return sum;
}

TEST(ExprGraph, DepthHasALimit) {
  auto deep = [](std::uint32_t depth) { return [=](const Expr &x, const Expr &) { return chain(x, depth); }; };
  Program p = elementwise(deep(1000));
  std::vector<Array> got = test::results_of(p);
  EXPECT_EQ(got[1].at(0).as<std::uint32_t>(), 999 * got[0].at(0).as<std::uint32_t>()) << "x[i] is 2 deep";
  expect_user_error(
      [&] { elementwise(deep(1001)); }, ExitCode::usage,
      "the value of stage 'y' is 1001 operations deep, expected at most 1000; write a long sum as a "
      "sum of sums of about equal length, or compute a part of it in a stage of its own");
  expect_user_error([&] { elementwise(deep(1'000'000)); }, ExitCode::usage, "is 1000000 operations deep");
  expect_user_error(
      [] { elementwise([](const Expr &, const Expr &i) { return cast(DType::u32, chain(i, 2000)); }); },
      ExitCode::usage, "the value of stage 'y' is 2001 operations deep");

  Workload w("w");
  expect_user_error([&] { w.placeholder("x", {chain(w.size("M"), 5000)}); }, ExitCode::usage,
                    "the extent of 'x' is 5000 operations deep");
  expect_user_error([] { IndexMap([](Expr i) { return std::vector<Expr>{chain(i, 5000)}; }); },
                    ExitCode::illegal_schedule, "an index is 5000 operations deep");
}

TEST(ExprGraph, NodesHaveALimit) {
  auto balanced = [](const Expr &x, int terms) {
    std::vector<Expr> sums;
    for (int n = 0; n < terms; ++n)
      sums.push_back(x * (n + 1));
    for (; sums.size() > 1; sums.resize((sums.size() + 1) / 2))
      for (std::size_t n = 0; n + 1 < sums.size(); n += 2)
        sums[n / 2] = sums[n] + sums[n + 1];
    return sums.front();
  };
  auto of = [&](int terms) {
    return elementwise([&](const Expr &x, const Expr &) { return balanced(x, terms); });
  };
  std::vector<Array> got = test::results_of(of(4096));
  EXPECT_EQ(got[1].at(0).as<std::uint32_t>(), 4096U * 4097U / 2 * got[0].at(0).as<std::uint32_t>());
  expect_user_error([&] { of(8192); }, ExitCode::usage,
                    "the value of stage 'y' is made of 24575 operations and operands, expected at most 20000; "
                    "compute a part of it in a stage of its own");
}

TEST(ExprGraph, DivisionsOfIndicesHaveALimit) {
  auto divided = [](int times) {
    return [=](const Expr &, const Expr &i) {
      Expr at = i;
      for (int n = 0; n < times; ++n)
        at = floormod(at * at + 1, 64);
      return cast(DType::u32, at);
    };
  };
  Program p = elementwise(divided(60));
  EXPECT_LT(print(p).size(), 4000U);
  expect_user_error([&] { elementwise(divided(240)); }, ExitCode::usage,
                    "stage 'y' divides indices 240 times, expected at most 100; compute a part of them in a "
                    "stage of its own");
}

TEST(ExprGraph, InliningHasTheLimitToo) {
  Workload w("w");
  Tensor x = w.placeholder("x", {8}, DType::u32);
  Tensor t = w.compute("t", {8}, {"i"}, [&](Expr i) { return chain(x(i), 700); });
  Tensor y = w.compute("y", {8}, {"i"}, [&](Expr i) { return chain(t(i), 700); });
  Program p = w.output({y});
  Schedule s(p), r(p);
  expect_refused(s, "compute_inline.limits", [&] { s.compute_inline(s.block("t")); },
                 "with t in it, the value of block y is 1398 operations deep, expected at most 1000",
                 {"t", "y"});
  expect_refused(r, "reverse_compute_inline.limits", [&] { r.reverse_compute_inline(r.block("y")); },
                 "with y in it, the value of block t is 1398 operations deep, expected at most 1000",
                 {"t", "y"});
}

/// Each node keeps a set of variables in 64 bits, so some of the 200 variables share a bit.
TEST(ExprGraph, VariablesOfOneBitAreToldApart) {
  std::vector<Var> vars;
  for (int n = 0; n < 200; ++n)
    vars.push_back(make_var("x"));
  std::set<std::uint64_t> bits;
  for (const Var &var : vars)
    bits.insert(var->serial.bit());
  EXPECT_LE(bits.size(), 64u);
  for (std::size_t n = 0; n < vars.size(); ++n) {
    Expr e = Expr(vars[n]) * 3 + 1;
    for (std::size_t m = 0; m < vars.size(); ++m) {
      EXPECT_EQ(uses(e, vars[m]), n == m) << n << ' ' << m;
      Expr result = substitute(e, {{vars[m], Expr(5)}});
      EXPECT_EQ(n == m ? as_int(result) == 16 : result.get() == e.get(), true) << n << ' ' << m;
    }
  }
}

TEST(ExprGraph, ANodeKnowsTheVariablesAndSizesBelowIt) {
  Var x = make_var("x"), y = make_data("y", DType::i64), vector = make_var("v", DType::f32, 4);
  Expr size = make_size("N", {});
  Buffer buffer = std::make_shared<const BufferNode>(
      BufferNode{"A", DType::f32, {Expr(8)}, Scope::global, Role::input, nullptr});
  Expr indices = load(buffer, {Expr(x)}, Expr(y) < 4, Expr(0.0f));
  EXPECT_TRUE(uses(indices, x));
  EXPECT_TRUE(uses(indices, y)); // y is used in the mask
  EXPECT_FALSE(uses_size(indices));
  EXPECT_TRUE(uses_size(load(buffer, {Expr(x)}, Expr(y) < size, Expr(0.0f))));
  EXPECT_TRUE(uses(lane(vector, 2) * 2.0f, vector));
  EXPECT_TRUE(uses(pack({lane(vector, 0), indices}), x));
  EXPECT_TRUE(uses(select(Expr(y) < 1, Expr(0), Expr(1)), y));
  EXPECT_EQ(Expr(7).node().vars, 0u);
}

/// A thread keeps the memory of released nodes and frees it when the thread ends. In this test, one thread
/// makes nodes and another releases them.
TEST(ExprGraph, NodesAreMadeAndReleasedByAnyThread) {
  Var x = make_var("x");
  auto many = [&] {
    std::vector<Expr> made;
    for (int n = 0; n < 6000; ++n) // more nodes than a thread keeps
      made.push_back(Expr(x) * (n + 300));
    return made;
  };
  std::vector<Expr> here = many(), there;
  const Expr shared = squared(x, 20);
  std::thread([&] {
    there = many();
    here.clear();
    for (int n = 0; n < 1000; ++n) {
      Expr copy = shared;
      Expr changed = substitute(copy, {{x, Expr(1)}});
      EXPECT_EQ(as_int(changed), 1);
    }
    here = many();
  }).join();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int n = 0; n < 20000; ++n) {
        Expr copy = shared, other = copy;
        copy = Expr(n) * x;
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(to_string(here.at(5)), "x*305");
  EXPECT_EQ(to_string(there.back()), "x*6299");
  EXPECT_EQ(shared.node().owners, 1u);
  EXPECT_EQ(nodes_of(shared), 21u);
}

} // namespace
} // namespace nestsmith
