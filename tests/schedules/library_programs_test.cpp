/// Tests `library` on programs as users write them: several sums that read each other, operands that are
/// gathered or computed, sums that update a parameter, and sizes that are known only at launch. Each sum that
/// is a product of matrices is scheduled as one, by matrix units where the target has them.

#include "dsl/hardware/gpus.h"
#include "dsl/ir/tensor.h"
#include "dsl/ir/workload_info.h"
#include "lowering/lower.h"
#include "runtime/check/check.h"
#include "runtime/check/sim_executor.h"
#include "runtime/check/stored_array.h"
#include "schedules/library/product.h"
#include "schedules/library/program.h"
#include "tests/dsl/support.h"

#include <algorithm>
#include <fmt/format.h>
#include <functional>
#include <gtest/gtest.h>

namespace nestsmith {
namespace {

using At = const std::vector<Expr> &;

constexpr DType f16 = DType::f16, f32 = DType::f32;

Expr wide(const Expr &value) { return cast(f32, value); }
Expr narrow(const Expr &value) { return cast(f16, value); }
Expr positive(const Expr &value) { return max(value, cast(value.dtype(), Expr(0))); }
/// The value as a factor of tf32.
Expr in_tf32(const Expr &value) { return cast(f32, cast(DType::tf32, value)); }

/// Declares tensors, and states products of matrices.
struct Stating {
  Tensor in(const char *name, const std::vector<Expr> &shape, DType dtype = f16) {
    return w.placeholder(name, shape, dtype);
  }
  Tensor stage(const char *name, const std::vector<Expr> &shape, const std::function<Expr(At)> &value) {
    return compute(name, shape, [&](At at) -> Definition { return value(at); });
  }
  Tensor product(const char *name, const Tensor &a, const Tensor &b) {
    const std::vector<Expr> &x = a.buffer()->shape, &y = b.buffer()->shape;
    Reduce k = reduce_axis(fmt::format("k_{}", name), x[1]);
    return compute(name, {x[0], y[1]},
                   [&](At at) -> Definition { return sum(wide(a(at[0], k)) * wide(b(k, at[1])), k); });
  }
  Tensor compute(const char *name, const std::vector<Expr> &shape, const std::function<Definition(At)> &value) {
    std::vector<std::string> axes;
    for (std::size_t n = 0; n < shape.size(); ++n)
      axes.push_back(fmt::format("{}_{}", name, n));
    return w.compute(name, shape, axes, value);
  }

  Workload w = Workload("program");
};

struct StatedProgram {
  const char *name;
  std::function<Program(Stating &)> state;
  std::size_t kernels;                  ///< at most
  std::ptrdiff_t products;              ///< by matrix units, if the target has them
  std::vector<std::int64_t> sizes = {}; ///< of a run
};

void PrintTo(const StatedProgram &test, std::ostream *out) { *out << test.name; }

std::ptrdiff_t count_of(const Schedule &s, const std::string &op, const std::string &text = "") {
  return std::ranges::count_if(s.trace(), [&](const Directive &directive) {
    return directive.op == op && to_cpp(directive).find(text) != std::string::npos;
  });
}

const StatedProgram stated_programs[] = {
    {"the activation between two products",
     [](Stating &p) {
       Tensor h = p.product("H", p.in("X", {33, 24}), p.in("A", {24, 40}));
       Tensor r = p.stage("R", {33, 40}, [&](At at) { return narrow(positive(h(at[0], at[1]))); });
       return p.w.output({p.product("Y", r, p.in("B", {40, 24}))});
     },
     2, 2},
    {"a sum that is an operand",
     [](Stating &p) {
       Tensor t = p.product("T", p.in("A", {33, 33}), p.in("B", {33, 33}));
       return p.w.output({p.product("S", t, p.in("C", {33, 33}, f32))});
     },
     2, 1},
    {"two sums that one stage reads",
     [](Stating &p) {
       Tensor x = p.in("X", {33, 48});
       Tensor s = p.product("S", x, p.in("W", {48, 40})), t = p.product("T", x, p.in("V", {48, 40}));
       return p.w.output(
           {p.stage("Y", {33, 40}, [&](At at) { return narrow(s(at[0], at[1]) * t(at[0], at[1])); })});
     },
     2, 2},
    {"a bias and an activation",
     [](Stating &p) {
       Tensor t = p.product("T", p.in("X", {33, 24}), p.in("W", {24, 40})), bias = p.in("bias", {40}, f32);
       Tensor b = p.stage("B", {33, 40}, [&](At at) { return t(at[0], at[1]) + bias(at[1]); });
       return p.w.output({p.stage("Y", {33, 40}, [&](At at) { return narrow(positive(b(at[0], at[1]))); })});
     },
     1, 1},
    {"a stage of the sum that two others read",
     [](Stating &p) {
       Tensor t = p.product("T", p.in("X", {33, 24}), p.in("W", {24, 40}));
       Tensor a = p.stage("A", {33, 40}, [&](At at) { return t(at[0], at[1]) + 1; });
       Tensor b = p.stage("B", {33, 40}, [&](At at) { return a(at[0], at[1]) * t(at[0], at[1]); });
       return p.w.output({p.stage("Y", {33, 40}, [&](At at) { return a(at[0], at[1]) + b(at[0], at[1]); }),
                          p.stage("Z", {33, 40}, [&](At at) { return narrow(positive(a(at[0], at[1]))); })});
     },
     1, 1},
    {"a product of a matrix with itself, transposed",
     [](Stating &p) {
       Tensor x = p.in("X", {40, 40});
       Tensor t = p.product("T", x, x);
       return p.w.output({p.stage("Y", {40, 40}, [&](At at) { return t(at[1], at[0]); })});
     },
     1, 1},
    {"an operand that reads what is overwritten later",
     [](Stating &p) {
       Tensor c = p.w.inout("C", {33, 64}, f32), w = p.in("W", {64, 64});
       Tensor old = p.stage("Old", {33, 64}, [&](At at) { return narrow(c(at[0], at[1]) * 3); });
       Reduce k = reduce_axis("k", 64);
       p.w.update(c, {"i", "j"},
                  [&](At at) -> Definition { return sum(wide(old(at[0], k)) * wide(w(k, at[1])), k); });
       return p.w.output();
     },
     2, 1},
    {"gathered rows of which some are absent",
     [](Stating &p) {
       Tensor x = p.in("X", {50, 32}), w = p.in("W", {32, 40}), index = p.in("index", {33}, DType::i32);
       Reduce k = reduce_axis("k", 32);
       return p.w.output({p.compute("S", {33, 40}, [&](At at) -> Definition {
         const Expr row = cast(DType::i64, index(at[0]));
         return sum(wide(x.where(0 <= row && row < 50, row, k)) * wide(w(k, at[1])), k);
       })});
     },
     1, 1},
    {"terms that a flag of each k excludes",
     [](Stating &p) {
       Expr k_size = p.w.size("K", {.max = 512, .multiple_of = 8});
       Tensor x = p.in("X", {48, k_size}, f32), w = p.in("W", {k_size, 40}, f32),
              flag = p.in("flag", {k_size}, DType::i32);
       Reduce k = reduce_axis("k", k_size);
       return p.w.output({p.compute("S", {48, 40}, [&](At at) -> Definition {
         return sum(x.where(flag(k) > 0, at[0], k) * w(k, at[1]), k);
       })});
     },
     1,
     0,
     {24}},
    {"rows of an index of each k",
     [](Stating &p) {
       Expr k_size = p.w.size("K", {.max = 512, .multiple_of = 8});
       Tensor x = p.in("X", {48, 50}, f32), w = p.in("W", {k_size, 40}, f32),
              index = p.in("index", {k_size}, DType::i32);
       Reduce k = reduce_axis("k", k_size);
       return p.w.output({p.compute("S", {48, 40}, [&](At at) -> Definition {
         const Expr column = cast(DType::i64, index(k));
         return sum(x.where(0 <= column && column < 50 && k < k_size - 1, at[0], column) * w(k, at[1]), k);
       })});
     },
     1,
     0,
     {24}},
    {"a shifted reader of the sum beside another one",
     [](Stating &p) {
       Tensor t = p.product("T", p.in("X", {32, 32}), p.in("W", {32, 40}));
       Tensor left = p.stage("L", {32, 40}, [&](At at) { return t.where(at[1] >= 1, at[0], at[1] - 1); });
       return p.w.output({p.stage("Y", {32, 40}, [&](At at) { return t(at[0], at[1]) + left(at[0], at[1]); })});
     },
     2, 1},
    {"a stage of the sum that another product reads, too",
     [](Stating &p) {
       Tensor t = p.product("T", p.in("X", {32, 32}), p.in("W", {32, 40}));
       Tensor twice = p.stage("D", {32, 40}, [&](At at) { return t(at[0], at[1]) * 2; });
       Tensor y = p.stage("Y", {32, 40}, [&](At at) { return t(at[0], at[1]) + twice(at[0], at[1]); });
       return p.w.output({y, p.product("S", twice, p.in("V", {40, 24}, f32))});
     },
     4, 1},
    {"a stage that two products read",
     [](Stating &p) {
       Tensor x = p.in("X", {33, 48});
       Tensor r = p.stage("R", {33, 48}, [&](At at) { return narrow(positive(wide(x(at[0], at[1])))); });
       return p.w.output({p.product("S", r, p.in("W", {48, 40})), p.product("T", r, p.in("V", {48, 24}))});
     },
     3, 2},
    {"an operand that reads another reduction",
     [](Stating &p) {
       Tensor x = p.in("X", {33, 64});
       Reduce k = reduce_axis("k", 64);
       Tensor mean =
           p.compute("mean", {33}, [&](At at) -> Definition { return sum(wide(x(at[0], k)) * 0.015625, k); });
       Tensor n = p.stage("N", {33, 64}, [&](At at) { return narrow(wide(x(at[0], at[1])) - mean(at[0])); });
       return p.w.output({p.product("S", n, p.in("W", {64, 40}))});
     },
     2, 1},
    {"numbers of 8 bits with a scale",
     [](Stating &p) {
       Tensor w = p.in("W", {64, 40}, DType::i8), scale = p.in("scale", {40});
       Tensor d =
           p.stage("D", {64, 40}, [&](At at) { return narrow(wide(w(at[0], at[1])) * wide(scale(at[1]))); });
       return p.w.output({p.product("S", p.in("X", {33, 64}), d)});
     },
     1, 1},
    {"gathered rows",
     [](Stating &p) {
       Tensor x = p.in("X", {50, 32}), w = p.in("W", {32, 40}), index = p.in("index", {33}, DType::i32);
       Reduce k = reduce_axis("k", 32);
       return p.w.output({p.compute("S", {33, 40}, [&](At at) -> Definition {
         return sum(wide(x(index(at[0]) % 50, k)) * wide(w(k, at[1])), k);
       })});
     },
     1, 1},
    {"gathered rows of f32",
     [](Stating &p) {
       Tensor x = p.in("X", {50, 32}, f32), w = p.in("W", {32, 40}, f32),
              index = p.in("index", {33}, DType::i32);
       Reduce k = reduce_axis("k", 32);
       return p.w.output({p.compute(
           "S", {33, 40}, [&](At at) -> Definition { return sum(x(index(at[0]) % 50, k) * w(k, at[1]), k); })});
     },
     1, 0},
    {"a sum that updates a parameter",
     [](Stating &p) {
       Tensor x = p.in("X", {33, 24}), w = p.in("W", {24, 40}), c = p.w.inout("C", {40, 33}, f32);
       Reduce k = reduce_axis("k", 24);
       p.w.update(c, {"j", "i"},
                  [&](At at) -> Definition { return sum(wide(x(at[1], k)) * wide(w(k, at[0])), k); });
       return p.w.output();
     },
     1, 1},
    {"factors of tf32",
     [](Stating &p) {
       Tensor x = p.in("X", {33, 24}, f32), w = p.in("W", {24, 40}, f32);
       Reduce k = reduce_axis("k", 24);
       return p.w.output({p.compute("S", {33, 40}, [&](At at) -> Definition {
         return sum(in_tf32(x(at[0], k)) * in_tf32(w(k, at[1])), k);
       })});
     },
     1, 1},
    {"one row, and an axis of no operand",
     [](Stating &p) {
       Tensor x = p.in("X", {1, 16}), w = p.in("W", {16, 10});
       Reduce k = reduce_axis("k", 16);
       return p.w.output({p.compute("S", {2, 1, 10}, [&](At at) -> Definition {
         return sum(wide(x(at[1], k)) * wide(w(k, at[2])), k);
       })});
     },
     1, 1},
    {"rows of two sizes",
     [](Stating &p) {
       Expr b = p.w.size("B", {.max = 1024}), t = p.w.size("T", {.max = 1024});
       Tensor x = p.in("X", {b, t, 64}), w = p.in("W", {64, 40});
       Reduce k = reduce_axis("k", 64);
       return p.w.output({p.compute("S", {b, t, 40}, [&](At at) -> Definition {
         return sum(wide(x(at[0], at[1], k)) * wide(w(k, at[2])), k);
       })});
     },
     1,
     1,
     {3, 13}},
    {"a sum over a size below constants",
     [](Stating &p) {
       Expr l = p.w.size("L", {.max = 1024});
       Tensor x = p.in("X", {8, 2, l, 5}), w = p.in("W", {8, 2, l, 40});
       Reduce k = reduce_axis("k", 8), m = reduce_axis("m", 2), n = reduce_axis("n", l);
       return p.w.output({p.compute("S", {5, 40}, [&](At at) -> Definition {
         return sum(wide(x(k, m, n, at[0])) * wide(w(k, m, n, at[1])), {k, m, n});
       })});
     },
     1,
     1,
     {3}},
    {"a convolution of sizes",
     [](Stating &p) {
       Expr n = p.w.size("N", {.max = 1024}), h = p.w.size("H", {.max = 1024}),
            c = p.w.size("C", {.max = 1024});
       Tensor x = p.in("X", {n, h, c}), f = p.in("F", {3, c, 24});
       Reduce r = reduce_axis("r", 3), q = reduce_axis("q", c);
       return p.w.output({p.compute("S", {n, h, 24}, [&](At at) -> Definition {
         const Expr row = at[1] + r - 1;
         return sum(wide(load(x.buffer(), {at[0], row, q}, 0 <= row && row < h, constant(f16, 0))) *
                        wide(f(r, q, at[2])),
                    {r, q});
       })});
     },
     1,
     1,
     {2, 9, 10}},
    {"a reduction of sizes that is no product",
     [](Stating &p) {
       Expr n = p.w.size("N", {.max = 1024}), h = p.w.size("H", {.max = 1024});
       Tensor x = p.in("X", {n + 7, 24, h}, f32);
       Reduce k = reduce_axis("k", 8);
       return p.w.output({p.compute("S", {n, h, 24},
                                    [&](At at) -> Definition { return sum(x(at[0] + k, at[2], at[1]), k); })});
     },
     1,
     0,
     {5, 7}},
};

class LibraryPrograms : public testing::TestWithParam<StatedProgram> {};

TEST_P(LibraryPrograms, AreScheduledAsAUserExpects) {
  const StatedProgram &test = GetParam();
  for (const Target &target : {make_target("sm_80"), make_target("sm_90a"), target_of(find_gpu("h200"))}) {
    Stating stated;
    const Schedule s = library::schedule(test.state(stated), target);
    ASSERT_TRUE(s.obligations().empty()) << s.obligations().front().message;
    kernel::Plan plan = lower(s);
    EXPECT_LE(plan.kernels.size(), test.kernels);
    EXPECT_EQ(count_of(s, "tensorize", "mma"), test.products);
    if (!test.sizes.empty())
      plan = with_sizes(plan, sizes_for(s.source(), test.sizes, 0));
    SimExecutor simulator;
    const CheckResult result = check(s, plan, simulator);
    EXPECT_TRUE(result.passed) << (result.messages().empty() ? "" : result.messages().front());
  }
}

INSTANTIATE_TEST_SUITE_P(Programs, LibraryPrograms, testing::ValuesIn(stated_programs), [](const auto &test) {
  std::string name = test.param.name;
  std::ranges::replace_if(
      name, [](char c) { return c == ' ' || c == ','; }, '_');
  return name;
});

TEST(LibraryProductRefuses, AnAxisOfNoOperandBesideOneRowAndOneColumn) {
  Stating p;
  Tensor x = p.in("X", {2, 1, 16}), w = p.in("W", {2, 16, 1});
  Reduce k = reduce_axis("k", 16);
  Schedule s(p.w.output({p.compute("S", {2, 3, 1, 1}, [&](At at) -> Definition {
    return sum(wide(x(at[0], at[2], k)) * wide(w(at[0], k, at[3])), k);
  })}));
  test::expect_user_error(
      [&] { library::product(s, s.block("S")); }, ExitCode::illegal_schedule,
      "has an axis S_1 on which no operand depends, and operands of one row and one column; "
      "use library::reduction");
  EXPECT_TRUE(s.trace().empty());
  std::vector<std::string> refused;
  EXPECT_FALSE(library::schedule(s.source(), {}, &refused).trace().empty());
  ASSERT_EQ(refused.size(), 1U);
  EXPECT_TRUE(refused[0].starts_with("library::product: block S has an axis S_1")) << refused[0];
}

} // namespace
} // namespace nestsmith
