/// Tests `library` on kinds of contractions and reductions that are not products of two matrices: terms of
/// several elements, products with vectors, axes of which no element depends, and results of few bytes.

#include "dsl/ir/tensor.h"
#include "lowering/lower.h"
#include "runtime/check/check.h"
#include "runtime/check/sim_executor.h"
#include "schedules/library/product.h"
#include "schedules/library/program.h"
#include "tests/dsl/support.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <functional>
#include <gtest/gtest.h>

namespace nestsmith {
namespace {

using At = const std::vector<Expr> &;

DType of_sum(DType dtype) {
  return byte_size(dtype) >= 4 ? dtype : dtype == DType::i8 ? DType::i32 : DType::f32;
}

/// Declares operands, and states a sum over k of extent `depth`.
struct Statement {
  explicit Statement(DType dtype, std::int64_t depth = 24)
      : w("kinds"), dtype(dtype), k(reduce_axis("k", depth)) {}

  Tensor in(const char *name, const std::vector<Expr> &shape) { return w.placeholder(name, shape, dtype); }
  Expr up(const Expr &value) const { return cast(of_sum(dtype), value); }
  Program sum_of(const std::vector<Expr> &shape, const std::vector<std::string> &axes,
                 const std::function<Expr(At)> &term) {
    return w.output({w.compute("S", shape, axes, [&](At at) -> Definition { return sum(term(at), k); })});
  }

  Workload w;
  DType dtype;
  Reduce k;
};

std::ptrdiff_t count(const Schedule &s, const char *op) {
  return std::ranges::count_if(s.trace(), [&](const Directive &directive) { return directive.op == op; });
}

/// "" if the schedule is right.
std::string checked_kind(const Schedule &s) {
  if (auto owed = s.obligations(); !owed.empty())
    return owed.front().message;
  SimExecutor simulator;
  CheckResult result = check(s, lower(s), simulator);
  return result.passed ? "" : result.messages().front();
}

Schedule product_of(const Program &program) {
  Schedule s(program, make_target("sm_90"));
  library::product(s, s.block("S"));
  return s;
}

/// The sentences of `library::schedule` for a target with matrix units of bf16 and i8. The schedule must be
/// right.
std::vector<std::string> sentences_of(const Program &program) {
  std::vector<std::string> sentences;
  const Schedule s = library::schedule(program, make_target("sm_90a"), &sentences);
  EXPECT_EQ(checked_kind(s), "");
  return sentences;
}

class LibraryTerms : public testing::TestWithParam<DType> {};

TEST_P(LibraryTerms, OfSeveralElementsUseTilesInSharedMemory) {
  struct Case {
    const char *name;
    std::vector<std::pair<const char *, std::vector<Expr>>> inputs;
    std::function<Expr(const Statement &, const std::vector<Tensor> &, At)> term;
  };
  const Case cases[] = {{"a weight for each k",
                         {{"X", {40, 24}}, {"W", {24, 36}}, {"d", {24}}},
                         [](auto &p, auto &in, At at) {
                           return p.up(in[0](at[0], p.k)) * p.up(in[1](p.k, at[1])) * p.up(in[2](p.k));
                         }},
                        {"the weight first",
                         {{"d", {24}}, {"X", {40, 24}}, {"W", {24, 36}}},
                         [](auto &p, auto &in, At at) {
                           return p.up(in[0](p.k)) * p.up(in[1](at[0], p.k)) * p.up(in[2](p.k, at[1]));
                         }},
                        {"a weight for each row",
                         {{"X", {40, 24}}, {"d", {40}}, {"W", {24, 36}}},
                         [](auto &p, auto &in, At at) {
                           return p.up(in[0](at[0], p.k)) * p.up(in[1](at[0])) * p.up(in[2](p.k, at[1]));
                         }},
                        {"a weight for each result",
                         {{"X", {40, 24}}, {"W", {24, 36}}, {"D", {40, 36}}},
                         [](auto &p, auto &in, At at) {
                           return p.up(in[0](at[0], p.k)) * p.up(in[1](p.k, at[1])) * p.up(in[2](at[0], at[1]));
                         }},
                        {"two products",
                         {{"X", {40, 24}}, {"W", {24, 36}}, {"Y", {40, 24}}, {"V", {24, 36}}},
                         [](auto &p, auto &in, At at) {
                           return p.up(in[0](at[0], p.k)) * p.up(in[1](p.k, at[1])) +
                                  p.up(in[2](at[0], p.k)) * p.up(in[3](p.k, at[1]));
                         }}};
  for (const Case &test : cases) {
    Statement p(GetParam());
    std::vector<Tensor> inputs;
    for (const auto &[name, shape] : test.inputs)
      inputs.push_back(p.in(name, shape));
    Schedule s = product_of(p.sum_of({40, 36}, {"i", "j"}, [&](At at) { return test.term(p, inputs, at); }));
    EXPECT_EQ(checked_kind(s), "") << test.name;
    EXPECT_GE(count(s, "reindex_cache_read"), 1) << test.name;
    EXPECT_GE(count(s, "unroll"), 4) << test.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Types, LibraryTerms, testing::Values(DType::f32, DType::bf16));

TEST(LibraryProduct, LoadsTheTilesOfAnyTermsAhead) {
  for (auto [m, n, k] : {std::array{32, 32, 16}, {33, 32, 16}, {32, 32, 17}, {31, 33, 7}}) {
    Statement p(DType::f32, k);
    Tensor X = p.in("X", {m, k}), W = p.in("W", {k, n});
    Schedule s(
        p.sum_of({m, n}, {"i", "j"}, [&](At at) { return max(X(at[0], p.k) - W(p.k, at[1]), Expr(0.0F)); }));
    library::product(s, s.block("S"),
                     library::RegisterTiles{.warps = {1, 1}, .results = {8, 4}, .async = false, .k = 8});
    EXPECT_EQ(checked_kind(s), "") << m << " " << n << " " << k;
    EXPECT_EQ(count(s, "double_buffer"), 1) << m << " " << n << " " << k;
  }
}

TEST(LibraryProduct, TakesAnAxisOfWhichNoElementDepends) {
  Statement p(DType::bf16);
  Tensor X = p.in("X", {20, 24}), W = p.in("W", {24, 36});
  Schedule s = product_of(
      p.sum_of({3, 20, 36}, {"b", "i", "j"}, [&](At at) { return p.up(X(at[1], p.k)) * p.up(W(p.k, at[2])); }));
  EXPECT_EQ(checked_kind(s), "");
  EXPECT_GT(count(s, "tensorize"), 0);
}

TEST(LibraryProduct, StoresResultsOfOneByteFromFragments) {
  Statement p(DType::i8);
  Tensor X = p.in("X", {20, 32}), W = p.in("W", {32, 24});
  Reduce k = reduce_axis("k", 32);
  Tensor S = p.w.compute("S", {20, 24}, {"i", "j"},
                         [&](At at) -> Definition { return sum(p.up(X(at[0], k)) * p.up(W(k, at[1])), k); });
  Schedule s = product_of(p.w.output({p.w.compute(
      "Y", {20, 24}, {"i", "j"}, [&](At at) -> Definition { return cast(DType::i8, S(at[0], at[1])); })}));
  EXPECT_EQ(checked_kind(s), "");
  EXPECT_GT(count(s, "tensorize"), 0);
}

TEST(LibraryProduct, OfVectorsIsAReductionByManyThreads) {
  Statement rows(DType::f32, 96);
  Tensor X = rows.in("X", {5, 70, 96}), v = rows.in("v", {5, 96});
  Schedule s = product_of(
      rows.sum_of({5, 70}, {"b", "i"}, [&](At at) { return X(at[0], at[1], rows.k) * v(at[0], rows.k); }));
  EXPECT_EQ(checked_kind(s), "");
  EXPECT_GE(count(s, "reduce_across"), 1);
  EXPECT_EQ(count(s, "vectorize"), 2);

  Statement columns(DType::f32, 700);
  Tensor Y = columns.in("Y", {700, 33}), u = columns.in("u", {700});
  s = product_of(columns.sum_of({33}, {"j"}, [&](At at) { return u(columns.k) * Y(columns.k, at[0]); }));
  EXPECT_EQ(checked_kind(s), "");
  EXPECT_EQ(count(s, "reduce_across"), 3) << "few results are those of several blocks";

  Statement dots(DType::i8, 64);
  Tensor A = dots.in("A", {9, 64}), B = dots.in("B", {9, 64});
  s = product_of(
      dots.sum_of({9}, {"b"}, [&](At at) { return dots.up(A(at[0], dots.k)) * dots.up(B(at[0], dots.k)); }));
  EXPECT_EQ(checked_kind(s), "");
  EXPECT_GE(count(s, "reduce_across"), 1);
}

/// An axis on which one operand depends by a quotient only counts no rows, no columns and no batch.
TEST(LibraryProduct, SaysWhyItIsAReduction) {
  using Sum = std::function<Program(Statement &)>;
  const std::pair<Sum, std::string> cases[] = {
      {[](Statement &p) { // groups of rows
         Tensor X = p.in("X", {12, 24}), W = p.in("W", {2, 24, 5});
         return p.sum_of({12, 5}, {"i", "j"},
                         [=, &p](At at) { return p.up(X(at[0], p.k)) * p.up(W(at[0] / 6, p.k, at[1])); });
       },
       "X[i, k] and W[i//6, k, j] both depend on the axis i, but W[i//6, k, j] only on i//6, so that i "
       "counts "
       "no rows, no columns and no batch; declare an axis for i//6, and one for the rest of i"},
      {[](Statement &p) { // a convolution of two groups of channels
         Tensor X = p.in("X", {2, 6, 48}), F = p.in("F", {3, 24, 10});
         Reduce r = reduce_axis("r", 3);
         return p.w.output({p.w.compute("S", {2, 4, 10}, {"n", "h", "c"}, [&](At at) -> Definition {
           return sum(p.up(X(at[0], at[1] + r, at[2] / 5 * 24 + p.k)) * p.up(F(r, p.k, at[2])), {r, p.k});
         })});
       },
       "F[r, k, c] and X[n, h + r, c//5*24 + k] both depend on the axis c, but X[n, h + r, c//5*24 + "
       "k] only "
       "on c//5, so that c counts no rows, no columns and no batch; declare an axis for c//5, and one for "
       "the "
       "rest of c"},
      {[](Statement &p) {
         Tensor X = p.in("X", {12, 24}), W = p.in("W", {3, 24, 5});
         Tensor expert = p.w.placeholder("expert", {12}, DType::i32);
         return p.sum_of({12, 5}, {"i", "j"}, [=, &p](At at) {
           const Expr e = min(max(cast(DType::i64, expert(at[0])), 0), 2);
           return p.up(X(at[0], p.k)) * p.up(W(e, p.k, at[1]));
         });
       },
       "only on expert[i], so that i counts no rows, no columns and no batch; declare an axis for the values "
       "of "
       "expert[i], and one for the rows of each"}};
  for (DType dtype : {DType::bf16, DType::f32})
    for (const auto &[state, message] : cases) {
      Statement p(dtype);
      const Program program = state(p);
      const std::vector<std::string> sentences = sentences_of(program);
      ASSERT_EQ(sentences.size(), 1U) << message;
      EXPECT_TRUE(
          sentences[0].starts_with("library::product: block S is a reduction, not a product of matrices: "))
          << sentences[0];
      EXPECT_TRUE(sentences[0].ends_with(message)) << sentences[0];
      Schedule s(program);
      EXPECT_EQ(library::product(s, s.block("S")).without_tiles, sentences[0]);
      Schedule stated(program);
      test::expect_user_error([&] { library::product(stated, stated.block("S"), library::RegisterTiles{}); },
                              ExitCode::illegal_schedule, message + "; or use library::reduction");
    }
}

TEST(LibraryProduct, DoesWhatItSaysOfGroups) {
  Statement p(DType::bf16);
  Tensor X = p.in("X", {12, 24}), W = p.in("W", {2, 24, 8});
  const Program program = p.sum_of({2, 6, 8}, {"g", "i", "j"}, [&](At at) {
    return p.up(X(at[0] * 6 + at[1], p.k)) * p.up(W(at[0], p.k, at[2]));
  });
  EXPECT_EQ(sentences_of(program), std::vector<std::string>());
  EXPECT_GT(count(product_of(program), "tensorize"), 0);
}

TEST(LibraryProduct, SaysNothingOfOtherReductions) {
  struct Case {
    const char *name;
    std::vector<std::pair<const char *, std::vector<Expr>>> inputs;
    std::vector<Expr> shape;
    std::function<Expr(const Statement &, const std::vector<Tensor> &, At)> term;
  };
  const Case cases[] = {
      {"a matrix and a vector",
       {{"X", {40, 24}}, {"v", {24}}},
       {40, 1},
       [](auto &p, auto &in, At at) { return p.up(in[0](at[0], p.k)) * p.up(in[1](p.k)); }},
      {"a batch of them",
       {{"X", {5, 40, 24}}, {"v", {5, 24}}},
       {5, 40},
       [](auto &p, auto &in, At at) { return p.up(in[0](at[0], at[1], p.k)) * p.up(in[1](at[0], p.k)); }},
      {"a vector for several rows",
       {{"X", {40, 24}}, {"v", {8, 24}}},
       {40, 1},
       [](auto &p, auto &in, At at) { return p.up(in[0](at[0], p.k)) * p.up(in[1](at[0] / 5, p.k)); }},
      {"an axis in two parts",
       {{"X", {8, 5, 24}}, {"W", {40, 24, 6}}},
       {40, 6},
       [](auto &p, auto &in, At at) {
         return p.up(in[0](at[0] / 5, at[0] % 5, p.k)) * p.up(in[1](at[0], p.k, at[1]));
       }},
      {"rows that overlap", {{"X", {12, 24}}, {"W", {20, 24}}}, {12, 8}, [](auto &p, auto &in, At at) {
         return p.up(in[0](at[0], p.k)) * p.up(in[1](at[0] + at[1], p.k));
       }}};
  for (const Case &test : cases) {
    Statement p(DType::bf16);
    std::vector<Tensor> inputs;
    for (const auto &[name, shape] : test.inputs)
      inputs.push_back(p.in(name, shape));
    EXPECT_EQ(sentences_of(p.sum_of(test.shape, {"i", "j"}, [&](At at) { return test.term(p, inputs, at); })),
              std::vector<std::string>())
        << test.name;
  }
}

/// Matrix units multiply operands of one type.
TEST(LibraryProduct, SaysThatItsOperandsHaveTwoTypes) {
  auto stated = [](DType first, DType second, DType wide, bool cast_first) {
    Workload w("types");
    Tensor X = w.placeholder("X", {20, 32}, first), W = w.placeholder("W", {32, 24}, second);
    Reduce k = reduce_axis("k", 32);
    Tensor A = !cast_first ? X : w.compute("A", {20, 32}, {"i", "k"}, [&](Expr i, Expr l) -> Definition {
      return cast(second, X(i, l));
    });
    return w.output({w.compute("S", {20, 24}, {"i", "j"}, [&](Expr i, Expr j) -> Definition {
      return sum(cast(wide, A(i, k)) * cast(wide, W(k, j)), k);
    })});
  };
  for (const auto &[first, second, wide] : {std::array{DType::i8, DType::u8, DType::i32},
                                            {DType::bf16, DType::i8, DType::f32},
                                            {DType::f32, DType::bf16, DType::f32}}) {
    const std::vector<std::string> sentences = sentences_of(stated(first, second, wide, false));
    ASSERT_EQ(sentences.size(), 1U) << name(first) << " " << name(second);
    EXPECT_EQ(
        sentences[0],
        fmt::format("library::product: block S: got operands of {} and {}, expected two of one type for "
                    "matrix units; threads multiply them in registers. Let a stage of the computation cast "
                    "one of them to the type of the other, or both to one that has the values of both",
                    name(first), name(second)));
  }
  const Program same = stated(DType::f32, DType::bf16, DType::f32, true);
  EXPECT_EQ(sentences_of(same), std::vector<std::string>());
  EXPECT_GT(count(product_of(same), "tensorize"), 0) << "what the sentence says to do";
  EXPECT_EQ(sentences_of(stated(DType::f32, DType::f64, DType::f64, false)), std::vector<std::string>())
      << "no units multiply either type";
}

TEST(LibraryReduction, UsesManyThreadsForRowsAndColumnsOfAnyExtent) {
  struct Case {
    std::int64_t results, terms;
    bool along_terms;
    std::ptrdiff_t across;
  };
  for (const auto &[results, terms, along_terms, across] : {Case{3, 9001, true, 3},
                                                            {600, 1500, true, 1},
                                                            {70, 96, true, 1},
                                                            {5, 7, true, 0}, // one thread adds a few terms
                                                            {1, 9000, true, 3},
                                                            {70, 96, false, 3},
                                                            {1, 3000, false, 3},
                                                            {33, 7, false, 0},
                                                            {20000, 9, false, 0}}) {
    Statement p(DType::f32, terms);
    Tensor X = along_terms ? p.in("X", {results, terms}) : p.in("X", {terms, results});
    Schedule s(p.sum_of({results}, {"i"}, [&](At at) { return along_terms ? X(at[0], p.k) : X(p.k, at[0]); }));
    library::reduction(s, s.block("S"));
    EXPECT_EQ(checked_kind(s), "") << results << " results of " << terms << " terms";
    EXPECT_EQ(count(s, "reduce_across"), across) << results << " results of " << terms << " terms";
  }
}

TEST(LibraryFallback, TakesSeveralAxes) {
  Statement p(DType::f32, 5);
  Tensor X = p.in("X", {3, 5, 70});
  Schedule s(p.sum_of({3, 70}, {"b", "i"}, [&](At at) { return X(at[0], p.k, at[1]); }));
  library::fallback(s, s.block("S"));
  EXPECT_EQ(checked_kind(s), "");
}

} // namespace
} // namespace nestsmith
