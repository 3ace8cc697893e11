/// Tests `library`: contractions of any axes, in any order, and whole programs are scheduled and are right.

#include "codegen/cuda.h"
#include "dsl/ir/workload_info.h"
#include "lowering/lower.h"
#include "runtime/check/check.h"
#include "runtime/check/sim_executor.h"
#include "runtime/check/stored_array.h"
#include "schedules/library/product.h"
#include "schedules/library/program.h"
#include "schedules/workloads.h"
#include "tests/contains.h"
#include "tests/dsl/support.h"

#include <algorithm>
#include <fmt/format.h>
#include <functional>
#include <gtest/gtest.h>
#include <map>
#include <random>

namespace nestsmith {
namespace {

using library::MatrixTiles;
using library::RegisterTiles;
using test::contains;

DType sum_of(DType dtype) {
  return dtype == DType::i8     ? DType::i32
         : dtype == DType::u16  ? DType::u32
         : byte_size(dtype) < 4 ? DType::f32
                                : dtype;
}

/// "" if the schedule is right.
std::string checked(const Schedule &s, const std::vector<std::int64_t> &sizes = {}) {
  if (auto owed = s.obligations(); !owed.empty())
    return owed.front().message;
  SimExecutor simulator;
  kernel::Plan plan = lower(s);
  if (!sizes.empty())
    plan = with_sizes(plan, sizes_for(s.source(), sizes, 0));
  CheckResult result = check(s, plan, simulator);
  return result.passed ? "" : result.messages().front();
}

/// A contraction that is drawn from all: 0 to 2 axes of the batch, 1 or 2 of the rows, of the columns and of
/// the reduction, and operands and a sum whose dimensions are in any order. The sum may be an output, or read
/// by stages, and the first operand may be a stage.
struct Drawn {
  Program program;
  std::string text;
  std::vector<std::int64_t> sizes = {}; ///< of a run, in the order of their declarations
};

class Contractions {
public:
  explicit Contractions(unsigned seed) : random_(seed) {}

  /// With `sized`, each extent but that of a sum is a size of the program in one of two cases.
  Drawn draw(DType dtype, bool sized = false) {
    Drawn drawn = draw_statement(dtype, sized);
    drawn.sizes = sizes_;
    return drawn;
  }

private:
  Drawn draw_statement(DType dtype, bool sized) {
    Workload w("drawn");
    sizes_.clear();
    size_of_axis_.clear();
    std::vector<Axis> batch = axes("b", below(3)), rows = axes("i", 1 + below(2)),
                      columns = axes("j", 1 + below(2));
    std::vector<Reduce> reduced;
    std::vector<Axis> k;
    for (std::size_t n = 0, count = 1 + below(2); n < count; ++n) {
      std::int64_t extent = pick({1, 2, 3, 5, 8, 17, 20});
      reduced.push_back(reduce_axis(fmt::format("k{}", n), extent));
      k.push_back({fmt::format("k{}", n), extent, reduced.size() - 1, true});
    }
    for (const std::vector<Axis> &group : {batch, rows, columns})
      for (const Axis &axis : group)
        if (sized && below(2) == 0) {
          size_of_axis_[axis.name] = w.size("Z" + axis.name, {.max = 512});
          sizes_.push_back(axis.extent);
        }
    auto x = shuffled({batch, rows, k}), y = shuffled({batch, k, columns}),
         z = shuffled({batch, rows, columns});
    auto out = z;
    std::ranges::shuffle(out, random_);
    const DType wide = sum_of(dtype);
    std::string text = fmt::format("{} S[{}] of X[{}], W[{}]", name(dtype), names(z), names(x), names(y));
    Tensor X = w.placeholder("X", extents(x), dtype), W = w.placeholder("W", extents(y), dtype);
    bool computed = below(3) == 0;
    Tensor A = !computed
                   ? X
                   : w.compute("A", extents(x), list(x, "a"), [&](const std::vector<Expr> &at) -> Definition {
                       return cast(dtype, max(cast(wide, load(X.buffer(), at)), cast(wide, Expr(1))));
                     });
    Tensor S = w.compute("S", extents(z), list(z, "s"), [&](const std::vector<Expr> &at) -> Definition {
      auto index = [&](const std::vector<Axis> &axes) {
        std::vector<Expr> indices;
        for (const Axis &axis : axes)
          indices.push_back(axis.summed ? Expr(reduced[axis.number]) : at[position(z, axis)]);
        return indices;
      };
      return sum(cast(wide, load(A.buffer(), index(x))) * cast(wide, load(W.buffer(), index(y))), reduced);
    });
    auto read = [&](const std::vector<Axis> &axes, const std::vector<Expr> &at) {
      std::vector<Expr> indices;
      for (const Axis &axis : z)
        indices.push_back(at[position(axes, axis)]);
      return load(S.buffer(), indices);
    };
    text += computed ? ", computed" : "";
    switch (below(4)) {
    case 0:
      return {w.output({S}), text};
    case 1: {
      Tensor T = w.compute("T", extents(out), list(out, "t"), [&](const std::vector<Expr> &at) -> Definition {
        return read(out, at) + cast(wide, Expr(1));
      });
      Tensor Y = w.compute("Y", extents(out), list(out, "y"), [&](const std::vector<Expr> &at) -> Definition {
        return max(load(T.buffer(), at), cast(wide, Expr(0)));
      });
      return {w.output({Y}), text + fmt::format(", Y[{}]", names(out))};
    }
    case 2: {
      Tensor Y = w.compute("Y", extents(out), list(out, "y"), [&](const std::vector<Expr> &at) -> Definition {
        return read(out, at) * cast(wide, Expr(2));
      });
      Tensor Z = w.compute("Z", extents(z), list(z, "z"), [&](const std::vector<Expr> &at) -> Definition {
        return read(z, at) + cast(wide, Expr(3));
      });
      return {w.output({Y, Z}), text + fmt::format(", Y[{}], Z", names(out))};
    }
    default: {
      Tensor Y = w.compute("Y", extents(out), list(out, "y"), [&](const std::vector<Expr> &at) -> Definition {
        return read(out, at) * cast(wide, Expr(2));
      });
      return {w.output({S, Y}), text + fmt::format(", S, Y[{}]", names(out))};
    }
    }
  }

  struct Axis {
    std::string name;
    std::int64_t extent;
    std::size_t number = 0;
    bool summed = false;
  };

  std::size_t below(std::size_t n) { return random_() % n; }
  std::int64_t pick(std::vector<std::int64_t> values) { return values[below(values.size())]; }
  std::vector<Axis> axes(const char *name, std::size_t count) {
    std::vector<Axis> result;
    for (std::size_t n = 0; n < count; ++n)
      result.push_back(
          {fmt::format("{}{}", name, n), name[0] == 'b' ? pick({1, 2, 3}) : pick({1, 3, 8, 12, 17})});
    return result;
  }
  std::vector<Axis> shuffled(const std::vector<std::vector<Axis>> &groups) {
    std::vector<Axis> all;
    for (const auto &group : groups)
      all.insert(all.end(), group.begin(), group.end());
    std::ranges::shuffle(all, random_);
    return all;
  }
  std::vector<Expr> extents(const std::vector<Axis> &axes) const {
    std::vector<Expr> result;
    for (const Axis &axis : axes) {
      auto size = size_of_axis_.find(axis.name);
      result.push_back(size == size_of_axis_.end() ? Expr(axis.extent) : size->second);
    }
    return result;
  }
  static std::vector<std::string> list(const std::vector<Axis> &axes, const std::string &prefix) {
    std::vector<std::string> result;
    for (const Axis &axis : axes)
      result.push_back(prefix + axis.name);
    return result;
  }
  std::string names(const std::vector<Axis> &axes) const {
    std::string text;
    for (const Axis &axis : axes)
      text += fmt::format("{}{}:{}{}", text.empty() ? "" : ", ", axis.name, axis.extent,
                          size_of_axis_.contains(axis.name) ? " at launch" : "");
    return text;
  }
  static std::size_t position(const std::vector<Axis> &axes, const Axis &axis) {
    return static_cast<std::size_t>(std::ranges::find(axes, axis.name, &Axis::name) - axes.begin());
  }

  std::mt19937 random_;
  std::vector<std::int64_t> sizes_;
  std::map<std::string, Expr> size_of_axis_;
};

class DrawnContractions : public testing::TestWithParam<unsigned> {};

TEST_P(DrawnContractions, AreRight) {
  Contractions contractions(GetParam());
  for (DType dtype : {DType::f32, DType::f16, DType::u32, DType::i8}) {
    Drawn drawn = contractions.draw(dtype);
    Schedule s(drawn.program);
    try {
      library::product(s, s.block("S"));
    } catch (const UserError &error) {
      FAIL() << drawn.text << ": " << error.what();
    }
    EXPECT_EQ(checked(s), "") << drawn.text;
  }
}

class DrawnContractionsOfSizes : public testing::TestWithParam<unsigned> {};

TEST_P(DrawnContractionsOfSizes, AreRight) {
  Contractions contractions(GetParam());
  for (DType dtype : {DType::f32, DType::f16, DType::u32, DType::i8}) {
    const Drawn drawn = contractions.draw(dtype, true);
    std::vector<std::string> refused;
    const Schedule s = library::schedule(drawn.program, {}, &refused);
    EXPECT_EQ(checked(s, drawn.sizes), "") << drawn.text;
    EXPECT_EQ(refused, std::vector<std::string>()) << drawn.text;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, DrawnContractionsOfSizes, testing::Values(3U, 4U, 5U, 7U, 11U, 14U, 15U, 20U));

/// Schedules the sum S in parts, with the tiles of a seed.
Schedule in_parts(const Program &program, DType dtype, unsigned seed) {
  const bool apart = seed % 2 == 0;
  const std::int64_t group = 1 + seed % 3, stages = 1 + seed % 4;
  Schedule s(program);
  if (byte_size(dtype) < 4)
    library::product(s, s.block("S"),
                     MatrixTiles{.warps = {1, 2},
                                 .results = {16, 16},
                                 .stages = stages,
                                 .edges = true,
                                 .group = group,
                                 .split_k = 2,
                                 .two_kernels = apart});
  else
    library::product(
        s, s.block("S"),
        RegisterTiles{
            .warps = {1, 1}, .results = {4, 4}, .k = 8, .group = group, .split_k = 3, .two_kernels = apart});
  return s;
}

class DrawnSplitContractions : public testing::TestWithParam<unsigned> {};

TEST_P(DrawnSplitContractions, AreRight) {
  Contractions contractions(GetParam());
  for (DType dtype : {DType::f32, DType::f16, DType::u32, DType::i8}) {
    Drawn drawn = contractions.draw(dtype);
    EXPECT_EQ(checked(in_parts(drawn.program, dtype, GetParam())), "") << drawn.text;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, DrawnSplitContractions, testing::Values(0U, 3U, 8U, 9U));

class DrawnSplitContractionsOfSizes : public testing::TestWithParam<unsigned> {};

TEST_P(DrawnSplitContractionsOfSizes, AreRight) {
  Contractions contractions(GetParam());
  for (DType dtype : {DType::f32, DType::f16}) {
    Drawn drawn = contractions.draw(dtype, true);
    EXPECT_EQ(checked(in_parts(drawn.program, dtype, GetParam()), drawn.sizes), "") << drawn.text;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, DrawnSplitContractionsOfSizes, testing::Values(11U, 19U, 25U, 45U, 59U, 12U));

INSTANTIATE_TEST_SUITE_P(Seeds, DrawnContractions, testing::Range(0U, 6U));

/// S[b, h, w, o] = sum over r, q, c of X[b, h + r - 1, w + q - 1, c]*F[r, q, c, o], of which all but the window
/// are sizes. Three axes count rows, and three count k.
Program convolution_of_sizes(std::int64_t multiple) {
  Workload w("convolution");
  Expr B = w.size("B", {.max = 64}), H = w.size("H", {.max = 512}), W = w.size("W", {.max = 512}),
       C = w.size("C", {.max = 512, .multiple_of = multiple}), O = w.size("O", {.max = 512});
  Tensor X = w.placeholder("X", {B, H, W, C}, DType::f16), F = w.placeholder("F", {3, 3, C, O}, DType::f16);
  Reduce r = reduce_axis("r", 3), q = reduce_axis("q", 3), c = reduce_axis("c", C);
  return w.output({w.compute("S", {B, H, W, O}, {"b", "h", "w", "o"}, [&](const std::vector<Expr> &at) {
    const Expr y = at[1] + r - 1, x = at[2] + q - 1;
    return sum(cast(DType::f32, X.where(y >= 0 && y < H && x >= 0 && x < W, at[0], y, x, c)) *
                   cast(DType::f32, F(r, q, c, at[3])),
               {r, q, c});
  })});
}

/// S[b, o, p] = sum over k of W[o, k]*X[b, k, p]: the batch and p, whose rows end at a size, count columns.
Program pointwise_of_sizes(std::int64_t multiple) {
  Workload w("pointwise");
  Expr B = w.size("B", {.max = 64}), P = w.size("P", {.max = 4096, .multiple_of = multiple});
  Tensor X = w.placeholder("X", {B, 32, P}, DType::f16), W = w.placeholder("W", {48, 32}, DType::f16);
  Reduce k = reduce_axis("k", 32);
  return w.output({w.compute("S", {B, 48, P}, {"b", "o", "p"}, [&](Expr b, Expr o, Expr p) {
    return sum(cast(DType::f32, W(o, k)) * cast(DType::f32, X(b, k, p)), k);
  })});
}

TEST(LibrarySchedule, GroupsAxesOfSizesOnMatrixUnits) {
  for (std::int64_t multiple : {1, 2, 8}) {
    for (const auto &[program, sizes] :
         {std::pair(convolution_of_sizes(multiple), std::vector<std::int64_t>{2, 5, 3, 8, 17}),
          std::pair(pointwise_of_sizes(multiple), std::vector<std::int64_t>{3, 24})}) {
      std::vector<std::string> refused;
      const Schedule s = library::schedule(program, {}, &refused);
      EXPECT_EQ(refused, std::vector<std::string>());
      EXPECT_TRUE(contains(cuda_kernel(lower(s).only()), "mma_")) << multiple;
      EXPECT_EQ(checked(s, sizes), "") << multiple;
    }
  }
}

/// C = C*X, rounded to the type of C: other results still read what a result overwrites.
TEST(LibrarySchedule, StoresTheSumOfAnUpdateInPlace) {
  Workload w("in_place");
  Expr N(40);
  Tensor X = w.placeholder("X", {N, N}, DType::f16), C = w.inout("C", {33, N}, DType::f16);
  Reduce k = reduce_axis("k", N);
  Tensor S = w.compute("S", {33, N}, {"i", "j"}, [&](Expr i, Expr j) {
    return sum(cast(DType::f32, C(i, k)) * cast(DType::f32, X(k, j)), k);
  });
  w.update(C, {"i", "j"},
           [&](const std::vector<Expr> &at) -> Definition { return cast(DType::f16, S(at[0], at[1])); });
  std::vector<std::string> refused;
  const Schedule s = library::schedule(w.output(), {}, &refused);
  EXPECT_EQ(refused, std::vector<std::string>());
  const kernel::Plan plan = lower(s);
  ASSERT_EQ(plan.kernels.size(), 2U);
  EXPECT_TRUE(contains(cuda_kernel(plan.kernels[0]), "mma_"));
  EXPECT_EQ(checked(s), "");
}

/// S[i, j] = the sum over k of `term`, of the elements of X and W and of i and k.
Program product_of_terms(DType dtype, const std::function<Expr(Expr x, Expr w, Expr i, Expr k)> &term) {
  Workload w("terms");
  Tensor X = w.placeholder("X", {40, 32}, dtype), W = w.placeholder("W", {32, 48}, dtype);
  Reduce k = reduce_axis("k", 32);
  return w.output({w.compute("S", {40, 48}, {"i", "j"}, [&](Expr i, Expr j) {
    return sum(term(cast(DType::f32, X(i, k)), cast(DType::f32, W(k, j)), i, k), k);
  })});
}

/// Terms that are no products of two elements are computed in registers, which takes much longer than matrix
/// units: the caller learns it, and what to do.
TEST(LibrarySchedule, SaysWhyAProductHasNoMatrixUnits) {
  auto reasons = [](DType dtype, const std::function<Expr(Expr, Expr, Expr, Expr)> &term, const char *arch) {
    std::vector<std::string> refused;
    const Schedule s = library::schedule(product_of_terms(dtype, term), make_target(arch), &refused);
    EXPECT_EQ(checked(s), "");
    return refused;
  };
  auto scaled = [](const Expr &x, const Expr &w, const Expr &, const Expr &) { return 0.5 * x * w; };
  auto causal = [](const Expr &x, const Expr &w, const Expr &i, const Expr &k) {
    return select(k <= i, x * w, 0.0);
  };
  auto plain = [](const Expr &x, const Expr &w, const Expr &, const Expr &) { return x * w; };
  for (const auto &term : {std::function<Expr(Expr, Expr, Expr, Expr)>(scaled), {causal}}) {
    const std::vector<std::string> refused = reasons(DType::bf16, term, "sm_90a");
    ASSERT_EQ(refused.size(), 1U);
    EXPECT_TRUE(contains(refused[0], "library::product: block S: got the terms ")) << refused[0];
    EXPECT_TRUE(contains(refused[0],
                         ", expected products of two elements of bf16 for matrix units; threads compute "
                         "them in registers. Apply a factor to the sum, and a condition to the mask of "
                         "an operand"))
        << refused[0];
    EXPECT_EQ(reasons(DType::f32, term, "sm_90a"), std::vector<std::string>()) << "no units multiply f32";
    EXPECT_EQ(reasons(DType::bf16, term, "sm_75"), std::vector<std::string>())
        << "the target has none for bf16";
  }
  EXPECT_EQ(reasons(DType::bf16, plain, "sm_90a"), std::vector<std::string>());
}

/// Expects that the block S of the program is refused, and that the schedule stays as it is.
void expect_refused_product(
    const Program &program, const std::string &message,
    const std::function<void(Schedule &)> &before = [](Schedule &) {}, const RegisterTiles &tiles = {}) {
  Schedule s(program);
  before(s);
  std::size_t steps = s.trace().size();
  try {
    library::product(s, s.block("S"), tiles);
    ADD_FAILURE() << "expected a refusal with " << message;
  } catch (const UserError &error) {
    EXPECT_TRUE(contains(error.what(), message)) << error.what();
    EXPECT_EQ(error.code(), ExitCode::illegal_schedule);
  }
  EXPECT_EQ(s.trace().size(), steps);
}

Program
with_sum(const std::function<Definition(const Tensor &, const Tensor &, const Reduce &, Expr, Expr)> &f) {
  Workload w("refused");
  Tensor X = w.placeholder("X", {8, 8}), W = w.placeholder("W", {8, 8});
  Reduce k = reduce_axis("k", 8);
  return w.output({w.compute("S", {8, 8}, {"i", "j"}, [&](Expr i, Expr j) { return f(X, W, k, i, j); })});
}

TEST(LibraryProductRefuses, WhatIsNoProductOfMatrices) {
  expect_refused_product(
      with_sum([](auto &X, auto &, auto &, Expr i, Expr j) { return Definition(X(i, j) + 1); }),
      "library::product: block S does not reduce");
  expect_refused_product(with_sum([](auto &X, auto &, auto &k, Expr i, Expr) { return sum(X(i, k), k); }),
                         "block S has no two elements in its terms of which each depends on a spatial axis of "
                         "its own and on a reduction axis, got X[i, k]; so "
                         "it is no product of matrices; use library::reduction");
  expect_refused_product(
      with_sum([](auto &X, auto &W, auto &k, Expr i, Expr) { return sum(X(i, k) * W(k, i), k); }),
      "a spatial axis of its own and on a reduction axis, got X[i, k], W[k, i]");
  expect_refused_product(
      with_sum([](auto &X, auto &W, auto &k, Expr i, Expr j) { return sum(X(i, j) * W(k, j), k); }),
      "a spatial axis of its own and on a reduction axis, got X[i, j], W[k, j]");
  // X has no axis of the sum, or one that its index does not show.
  expect_refused_product(
      with_sum([](auto &X, auto &W, auto &k, Expr i, Expr j) { return sum(X(i, 0) * W(j, k), k); }),
      "a spatial axis of its own and on a reduction axis, got X[i, 0], W[j, k]");
  expect_refused_product(with_sum([](auto &X, auto &W, auto &k, Expr i, Expr j) {
                           return sum(X(i, min(max(Expr(k) - 8, 0), 0)) * W(j, k), k);
                         }),
                         "a spatial axis of its own and on a reduction axis, got X[i, ");
  expect_refused_product(with_sum([](auto &X, auto &W, auto &k, Expr i, Expr j) {
                           return sum(X(min(max(i - 8, 0), 0), k) * W(j, k), k);
                         }),
                         "a spatial axis of its own and on a reduction axis, got X[");
}

TEST(LibraryProductRefuses, NumbersThatNoTilesHave) {
  auto message_of = [](DType dtype, const auto &tiles) -> std::string {
    Schedule s(gemm({64, 64, 64}, dtype));
    const std::string before = print(s.program());
    try {
      library::product(s, s.block("AB"), tiles);
    } catch (const UserError &error) {
      EXPECT_EQ(print(s.program()), before);
      return error.what();
    }
    return "no refusal";
  };
  const std::vector<std::pair<RegisterTiles, std::string>> registers = {
      {{.warps = {0, 1}}, "got warps = 0x1, expected at least 1x1"},
      {{.lanes = {0, 8}}, "got lanes = 0x8, expected at least 1x1"},
      {{.lanes = {32, 1}},
       "got lanes = 32x1 in a zigzag, expected even numbers of rows and of columns; set zigzag = "
       "false"},
      {{.results = {8, 0}}, "got 8x0 results of a thread, expected multiples of 4"},
      {{.results = {8, 6}}, "got 8x6 results of a thread, expected multiples of 4"},
      {{.k = 0}, "got k = 0, expected at least 1"},
      {{.group = 0}, "got group = 0, expected at least 1"},
      {{.width = 3}, "got width = 3 elements of one access, expected a power of 2"},
      {{.persistent = -3}, "got persistent = -3, expected at least 0"},
      {{.even_places = -3}, "got even_places = -3, expected at least 0"}};
  for (const auto &[tiles, message] : registers)
    EXPECT_EQ(message_of(DType::f32, tiles), "library::product: block AB: " + message);
  const std::vector<std::pair<MatrixTiles, std::string>> units = {
      {{.warps = {1, 0}}, "got warps = 1x0, expected at least 1x1"},
      {{.results = {16, 12}}, "got 16x12 results of a warp, expected multiples of 16 and of 8"},
      {{.results = {8, 8}}, "got 8x8 results of a warp, expected multiples of 16 and of 8"},
      {{.steps = 0}, "got steps = 0, expected at least 1"},
      {{.stages = 0}, "got stages = 0, expected at least 1"},
      {{.in_flight = -1}, "got in_flight = -1, expected at least 0"},
      {{.width = 0}, "got width = 0 elements of one access, expected a power of 2"},
      {{.load = {.warps = -1}}, "got load.warps = -1, expected at least 0"},
      {{.cluster = 0}, "got cluster = 0, expected at least 1"}};
  for (const auto &[tiles, message] : units)
    EXPECT_EQ(message_of(DType::f16, tiles), "library::product: block AB: " + message);
  // An odd grid of lanes without a zigzag.
  Schedule s(gemm({20, 33, 16}, DType::f32));
  library::product(s, s.block("AB"),
                   RegisterTiles{.warps = {1, 1}, .lanes = {32, 1}, .results = {4, 4}, .zigzag = false});
  EXPECT_EQ(checked(s), "");
}

TEST(LibraryProductRefuses, LoopsThatWereSplit) {
  expect_refused_product(
      with_sum([](auto &X, auto &W, auto &k, Expr i, Expr j) { return sum(X(i, k) * W(j, k), k); }),
      "block S has the axis i, whose loop was split or fused; use library::product before other directives",
      [](Schedule &s) {
        s.split(s.loop("i"), {infer, 4});
      });
}

TEST(LibraryProductRefuses, TilesThatAreNone) {
  Program program =
      with_sum([](auto &X, auto &W, auto &k, Expr i, Expr j) { return sum(X(i, k) * W(k, j), k); });
  expect_refused_product(program, "got 6x8 results of a thread, expected multiples of 4", [](Schedule &) {},
                         {.results = {6, 8}});
}

TEST(LibraryProduct, TakesTilesAndReturnsHandles) {
  Program program =
      with_sum([](auto &X, auto &W, auto &k, Expr i, Expr j) { return sum(X(k, i) * W(j, k), k); });
  for (const RegisterTiles &tiles :
       {RegisterTiles{.warps = {1, 1}, .results = {4, 4}, .async = false}, RegisterTiles{.prefetch = false},
        RegisterTiles{.results = {4, 8}, .fragments = true, .joined = true, .group = 2},
        RegisterTiles{.warps = {1, 1}, .results = {4, 4}, .k = 4, .split_k = 2}}) {
    Schedule s(program);
    library::Product made = library::product(s, s.block("S"), tiles);
    EXPECT_EQ(made.tiles.size(), 2U);
    EXPECT_EQ(s.extent(made.k_inner), tiles.k);
    EXPECT_EQ(checked(s), "");
  }
}

TEST(LibraryProduct, TakesOtherTermsReducersAndTypes) {
  auto checks = [](DType first, DType second, DType wide, bool distance) {
    Workload w("terms");
    Tensor X = w.placeholder("X", {20, 12}, first), W = w.placeholder("W", {12, 9}, second);
    Reduce k = reduce_axis("k", 12);
    Schedule s(w.output({w.compute("S", {20, 9}, {"i", "j"}, [&](Expr i, Expr j) {
      Expr x = cast(wide, X(i, k)), y = cast(wide, W(k, j));
      return distance ? max_over(max(x - y, y - x), k) : sum(x * y, k);
    })}));
    library::product(s, s.block("S"));
    return checked(s);
  };
  EXPECT_EQ(checks(DType::f32, DType::f32, DType::f32, true), "");
  EXPECT_EQ(checks(DType::f16, DType::f16, DType::f32, true), "");
  EXPECT_EQ(checks(DType::f16, DType::f32, DType::f32, false), "");
  EXPECT_EQ(checks(DType::f32, DType::i8, DType::f32, false), "");
  EXPECT_EQ(checks(DType::f64, DType::f64, DType::f64, false), "");
  EXPECT_EQ(checks(DType::i64, DType::i64, DType::i64, false), "");
}

TEST(LibraryProduct, UsesMatrixUnitsWhereTheTargetHasThem) {
  Workload w("halves");
  Tensor X = w.placeholder("X", {32, 16}, DType::f16), W = w.placeholder("W", {16, 8}, DType::f16);
  Reduce k = reduce_axis("k", 16);
  Program program = w.output({w.compute("S", {32, 8}, {"i", "j"}, [&](Expr i, Expr j) {
    return sum(cast(DType::f32, X(i, k)) * cast(DType::f32, W(k, j)), k);
  })});
  auto calls = [&](const char *arch) {
    Schedule s(program, make_target(arch));
    library::product(s, s.block("S"));
    return std::ranges::count_if(s.trace(), [](const Directive &d) { return d.op == "tensorize"; });
  };
  EXPECT_GT(calls("sm_80"), 0);
  EXPECT_EQ(calls("sm_70"), 0);
}

TEST(LibrarySchedule, SchedulesEveryWorkload) {
  const std::pair<const char *, Shape> workloads[] = {
      {"gemm", {33, 18, 7}},        {"gemm_nt", {33, 18, 7}},       {"gemm_tn", {33, 18, 7}},
      {"gemm_tt", {33, 18, 7}},     {"gemm_bias_relu", {5, 6, 7}},  {"matmul", {1, 1, 1}},
      {"accumulate_nt", {9, 8, 8}}, {"batched_gemm", {3, 9, 8, 7}}, {"softmax", {3, 70}},
      {"online_softmax", {3, 70}},  {"layernorm", {3, 70}},         {"welford_layernorm", {3, 70}},
      {"rmsnorm", {3, 70}},         {"transpose", {33, 65}},        {"gemv", {5, 1100}},
      {"stencil", {9, 12}},         {"stencil_twice", {9, 12}},     {"vector_sum", {1000}},
      {"shifted_relu", {1000}},     {"conv", {2, 4, 5, 3, 6}}};
  for (const auto &[workload, shape] : workloads) {
    Program program = find_workload(workload, shape, DType::f32).value();
    Schedule s = library::schedule(program);
    EXPECT_EQ(checked(s), "") << workload;
    EXPECT_FALSE(s.trace().empty()) << workload;
  }
}

/// Expects that `f` refuses the block Y of the program, and leaves the schedule as it is.
void expect_refused_block(const Program &program, const std::function<void(Schedule &, BlockRef)> &f,
                          const std::string &message) {
  Schedule s(program);
  try {
    f(s, s.block("Y"));
    ADD_FAILURE() << "expected a refusal with " << message;
  } catch (const UserError &error) {
    EXPECT_TRUE(contains(error.what(), message)) << error.what();
  }
  EXPECT_TRUE(s.trace().empty());
}

TEST(LibraryRefuses, BlocksOfAnotherKind) {
  Workload w("kinds");
  Tensor X = w.placeholder("X", {8, 8});
  Reduce k = reduce_axis("k", 8);
  Program sums = w.output({w.compute("Y", {8}, {"i"}, [&](Expr i) { return sum(X(i, k), k); })});
  expect_refused_block(sums, library::elementwise,
                       "library::elementwise: block Y reduces; use library::reduction");
  expect_refused_block(sums, library::transpose, "library::transpose: block Y reduces");
  Workload v("copy");
  Tensor Z = v.placeholder("Z", {8, 8});
  Program copy = v.output({v.compute("Y", {8, 8}, {"i", "j"}, [&](Expr i, Expr j) { return Z(i, j) + 1; })});
  expect_refused_block(copy, library::reduction, "library::reduction: block Y does not reduce");
  expect_refused_block(copy, library::transpose,
                       "block Y does not read one buffer along another axis than it writes along");
  Schedule s(copy);
  s.split(s.loop("i"), {infer, 3});
  EXPECT_THROW(library::fallback(s, s.block("Y")), UserError);
}

TEST(Library, TransposesThroughTilesOfAnyBatch) {
  for (auto [b, m, n] : {std::array{1, 1, 1}, {3, 33, 31}, {2, 64, 5}}) {
    Workload w("batch");
    Tensor X = w.placeholder("X", {m, b, n});
    Schedule s(w.output(
        {w.compute("Y", {b, n, m}, {"b", "j", "i"}, [&](Expr p, Expr j, Expr i) { return X(i, p, j) * 2; })}));
    library::transpose(s, s.block("Y"));
    EXPECT_EQ(checked(s), "") << b << " " << m << " " << n;
  }
}

} // namespace
} // namespace nestsmith
