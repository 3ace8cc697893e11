/// Tests consumers that read a temporary in another shape: slices, unit axes and reshapes.

#include "tests/dsl/support.h"

#include <functional>
#include <map>

namespace nestsmith {
namespace {

using test::contains;
using test::expect_refused;
using test::same_meaning;

using Indices = std::vector<Expr>;
struct Case {
  const char *what;
  std::vector<Expr> source; ///< the shape of T
  std::vector<Expr> shape;  ///< the shape of Y
  std::function<Indices(const Indices &)> read;
};

/// T = 3*X + 1. Y adds Z to the elements of T at the indices `read`. The blocks are T and Y.
Program reshaped(const Case &x) {
  Workload w("reshaped");
  Tensor in = w.placeholder("X", x.source, DType::u32), z = w.placeholder("Z", x.shape, DType::u32);
  auto names = [](const char *prefix, std::size_t rank) {
    std::vector<std::string> result;
    for (std::size_t n = 0; n < rank; ++n)
      result.push_back(prefix + std::to_string(n));
    return result;
  };
  using Function = std::function<Definition(const Indices &)>;
  Function triple = [&](const Indices &at) -> Definition { return load(in.buffer(), at) * 3 + 1; };
  Tensor t = w.compute("T", x.source, names("t", x.source.size()), triple);
  Function copy = [&](const Indices &at) -> Definition {
    return load(t.buffer(), x.read(at)) + load(z.buffer(), at);
  };
  Tensor y = w.compute("Y", x.shape, names("y", x.shape.size()), copy);
  return w.output({y});
}

const std::vector<Case> &one_to_one() {
  static const std::vector<Case> cases{
      {"transpose",
       {4, 6},
       {6, 4},
       [](const Indices &v) {
         return Indices{v[1], v[0]};
       }},
      {"unit axis of Y",
       {4, 6},
       {4, 1, 6},
       [](const Indices &v) {
         return Indices{v[0], v[2]};
       }},
      {"unit axis of T",
       {4, 1, 6},
       {4, 6},
       [](const Indices &v) {
         return Indices{v[0], 0, v[1]};
       }},
      {"unit axis, read at itself",
       {4, 1},
       {4, 1},
       [](const Indices &v) {
         return Indices{v[0], v[1]};
       }},
      {"flatten",
       {4, 6},
       {24},
       [](const Indices &v) {
         return Indices{v[0] / 6, v[0] % 6};
       }},
      {"unflatten", {24}, {4, 6}, [](const Indices &v) { return Indices{v[0] * 6 + v[1]}; }},
      {"unflatten twice",
       {24},
       {2, 3, 4},
       [](const Indices &v) { return Indices{v[0] * 12 + v[1] * 4 + v[2]}; }},
      {"blocks",
       {8, 6},
       {2, 3, 4, 2},
       [](const Indices &v) {
         return Indices{v[0] * 4 + v[2], v[1] * 2 + v[3]};
       }},
  };
  return cases;
}

const std::vector<Case> &slices() {
  static const std::vector<Case> cases{
      {"slice", {10}, {5}, [](const Indices &v) { return Indices{v[0] + 2}; }},
      {"row",
       {4, 6},
       {6},
       [](const Indices &v) {
         return Indices{2, v[0]};
       }},
      {"strided", {10}, {4}, [](const Indices &v) { return Indices{v[0] * 3}; }},
      {"strided with an offset", {10}, {3}, [](const Indices &v) { return Indices{v[0] * 3 + 1}; }},
      {"part of the rows", {24}, {4, 5}, [](const Indices &v) { return Indices{v[0] * 6 + v[1]}; }},
      {"part of flattened",
       {4, 6},
       {15},
       [](const Indices &v) {
         return Indices{v[0] / 6, v[0] % 6};
       }},
      {"narrow rows",
       {4, 9},
       {24},
       [](const Indices &v) {
         return Indices{v[0] / 6, v[0] % 6};
       }},
  };
  return cases;
}

TEST(ReverseComputeInline, ReshapesUnitAxesAndSlices) {
  for (const auto *cases : {&one_to_one(), &slices()})
    for (const Case &x : *cases) {
      Schedule s(reshaped(x));
      s.reverse_compute_inline(s.block("Y"));
      EXPECT_TRUE(same_meaning(s)) << x.what;
      EXPECT_EQ(blocks_of(s.program().body).size(), 1U) << x.what;
    }
}

TEST(ReverseComputeInline, ReshapesOfATiledProducer) {
  for (const auto *cases : {&one_to_one(), &slices()})
    for (const Case &x : *cases)
      for (std::int64_t tile : {2, 4, 5}) { // includes tiles with tails
        Schedule s(reshaped(x));
        auto loops = s.loops(s.block("T"));
        s.split(loops.back(), {infer, tile});
        if (loops.size() > 1)
          s.split(loops[0], {infer, 3});
        s.reverse_compute_inline(s.block("Y"));
        EXPECT_TRUE(same_meaning(s)) << x.what;
      }
}

TEST(ReverseComputeInline, KeepsTheAxesOfTheConsumer) {
  Schedule s(reshaped(one_to_one()[4]));
  s.reverse_compute_inline(s.block("Y"));
  EXPECT_TRUE(contains(print(s.program()), "Y[y0] = ")) << print(s.program());
  EXPECT_TRUE(contains(print(s.program()), "block T(y0 = t0*6 + t1):")) << print(s.program());
}

TEST(ReverseComputeAt, ReshapesAndUnitAxes) {
  for (const Case &x : one_to_one())
    for (std::size_t depth : {0, 1}) {
      Schedule s(reshaped(x));
      auto loops = s.loops(s.block("T"));
      if (depth < loops.size())
        s.reverse_compute_at(s.block("Y"), loops[depth]);
      EXPECT_TRUE(same_meaning(s)) << x.what;
    }
}

TEST(ReverseComputeAt, ReshapesOfTiles) {
  auto at_tile = [](const Case &x, std::int64_t tile) {
    Schedule s(reshaped(x));
    auto loops = s.loops(s.block("T"));
    Loop outer = s.split(loops.back(), {infer, tile})[0];
    s.reverse_compute_at(s.block("Y"), outer);
    EXPECT_TRUE(same_meaning(s)) << x.what;
  };
  Case flatten = one_to_one()[4], unflatten = one_to_one()[5];
  for (std::int64_t tile : {2, 3, 6})
    at_tile(flatten, tile);
  for (std::int64_t tile : {2, 3, 6, 12})
    at_tile(unflatten, tile); // parts of a row and whole rows
  Schedule s(reshaped(unflatten));
  Loop outer = s.split(s.loops(s.block("T"))[0], {infer, 4})[0];
  expect_refused(
      s, "reverse_compute_at.identity", [&] { s.reverse_compute_at(s.block("Y"), outer); },
      "block Y reads T so that the elements that it can compute in one iteration of t0_outer are not "
      "a box of its axes; use compute_at on the producer",
      {"Y"});
}

/// Reorders and splits the loop of `axis` of T, so that its tiles are outermost, and moves Y to the outer loop.
/// Returns whether this is accepted.
bool moves_to_tile(const Case &x, std::size_t axis, std::int64_t tile) {
  Schedule s(reshaped(x));
  auto loops = s.loops(s.block("T"));
  std::swap(loops[0], loops[axis]);
  if (axis != 0)
    s.reorder(loops);
  Loop outer = s.split(loops[0], {infer, tile})[0];
  try {
    s.reverse_compute_at(s.block("Y"), outer);
  } catch (const ScheduleError &error) {
    EXPECT_TRUE(error.requirement() == "reverse_compute_at.identity" ||
                error.requirement() == "reverse_compute_at.partition")
        << error.what();
    return false;
  }
  EXPECT_TRUE(same_meaning(s)) << x.what;
  return true;
}

TEST(ReverseComputeAt, SlicesOfTiles) {
  std::map<std::string, std::vector<std::int64_t>> accepted; // the accepted tiles of the last axis
  for (const Case &x : slices())
    for (std::int64_t tile : {1, 2, 3, 4, 6, 12, 24})
      if (moves_to_tile(x, x.source.size() - 1, tile))
        accepted[x.what].push_back(tile);
  using Tiles = std::vector<std::int64_t>;
  EXPECT_EQ(accepted["slice"], (Tiles{1, 2, 3, 4, 6, 12, 24}));
  EXPECT_EQ(accepted["row"], (Tiles{1, 2, 3, 4, 6, 12, 24}));
  EXPECT_EQ(accepted["strided"], (Tiles{1, 3, 6, 12, 24}));
  EXPECT_EQ(accepted["strided with an offset"], (Tiles{3, 6, 12, 24}));
  EXPECT_EQ(accepted["part of the rows"], (Tiles{1, 2, 3, 6, 12, 24}));
  EXPECT_EQ(accepted["part of flattened"], (Tiles{1, 2, 3, 6, 12, 24})); // a tile ends at the end of a row
  EXPECT_EQ(accepted["narrow rows"], (Tiles{}));
}

TEST(ReverseComputeAt, SlicesOfEverySize) {
  for (std::int64_t offset : {0, 1, 3})
    for (std::int64_t elements : {1, 2, 5, 8})
      for (std::int64_t rest : {0, 1, 4})
        for (std::int64_t tile : {1, 3, 4}) {
          Case x{"slice", {offset + elements + rest}, {elements}, [=](const Indices &v) {
                   return Indices{v[0] + offset};
                 }};
          EXPECT_TRUE(moves_to_tile(x, 0, tile)) << offset << " " << elements << " " << rest << " " << tile;
        }
}

TEST(ReverseComputeAt, SlicesOfASingleIteration) {
  for (std::int64_t stride : {2, 3, 4})
    for (std::int64_t elements : {1, 2, 5})
      for (std::int64_t rest : {0, 1, 3})
        for (std::int64_t first : {0, 1}) {
          Case x{"strided", {(elements - 1 + first) * stride + 1 + rest}, {elements}, [=](const Indices &v) {
                   return Indices{v[0] * stride + first * stride};
                 }};
          for (std::int64_t tile : {1, 2})
            EXPECT_EQ(moves_to_tile(x, 0, tile), stride % tile == 0 || as_int(x.source[0]) == 1)
                << stride << " " << elements << " " << rest;
        }
  for (std::int64_t row = 0; row < 5; ++row)
    for (std::int64_t tile : {1, 2, 3}) {
      Case x{"row", {5, 4}, {4}, [=](const Indices &v) { return Indices{row, v[0]}; }};
      EXPECT_TRUE(moves_to_tile(x, 0, tile)) << row << " " << tile;
    }
}

const std::vector<Case> &broadcasts() {
  static const std::vector<Case> cases{
      {"columns", {4}, {4, 6}, [](const Indices &v) { return Indices{v[0]}; }},
      {"rows", {6}, {4, 6}, [](const Indices &v) { return Indices{v[1]}; }},
      {"around", {6}, {4, 6, 3}, [](const Indices &v) { return Indices{v[1]}; }},
      {"slice", {9}, {4, 6}, [](const Indices &v) { return Indices{v[1] + 2}; }},
      {"rows of a matrix",
       {4, 6},
       {4, 3, 6},
       [](const Indices &v) {
         return Indices{v[0], v[2]};
       }},
  };
  return cases;
}

TEST(ReverseComputeAt, Broadcasts) {
  for (const Case &x : broadcasts())
    for (std::size_t axis = 0; axis < x.source.size(); ++axis)
      for (std::int64_t tile : {1, 2, 4, 5})
        EXPECT_TRUE(moves_to_tile(x, axis, tile)) << x.what << " " << axis << " " << tile;
}

/// T = X + 1, S = 2*T, and Y is a function of both.
Schedule two_producers(const std::function<Expr(Expr, Expr)> &value) {
  Workload w("two");
  Tensor x = w.placeholder("X", {12}, DType::u32);
  Tensor t = w.compute("T", {12}, {"i"}, [&](Expr i) -> Definition { return x(i) + 1; });
  Tensor u = w.compute("S", {12}, {"i"}, [&](Expr i) -> Definition { return t(i) * 2; });
  Tensor y = w.compute("Y", {10}, {"i"}, [&](Expr i) -> Definition { return value(t(i), u(i)); });
  return Schedule(w.output({y}));
}

TEST(ReverseComputeAt, SeveralInputsOfOneLoop) {
  for (bool swapped : {false, true})
    for (std::int64_t tile : {1, 4, 5}) {
      Schedule s = two_producers([&](const Expr &t, const Expr &u) { return swapped ? u + t : t + u; });
      Loop outer = s.split(s.loops(s.block("T"))[0], {infer, tile})[0];
      s.reverse_compute_at(s.block("S"), outer);
      s.reverse_compute_at(s.block("Y"), outer);
      EXPECT_TRUE(same_meaning(s));
    }
}

TEST(ReverseComputeAtRefuses, InputsForDifferentElements) {
  for (bool swapped : {false, true}) {
    Workload w("two");
    Tensor x = w.placeholder("X", {12}, DType::u32);
    Tensor t = w.compute("T", {12}, {"i"}, [&](Expr i) -> Definition { return x(i) + 1; });
    Tensor u = w.compute("S", {12}, {"i"}, [&](Expr i) -> Definition { return t(i) * 2; });
    Tensor y = w.compute("Y", {10}, {"i"},
                         [&](Expr i) -> Definition { return swapped ? u(i) - t(i + 2) : t(i + 2) - u(i); });
    Schedule s(w.output({y}));
    Loop i = s.loops(s.block("T"))[0];
    s.reverse_compute_at(s.block("S"), i);
    expect_refused(s, "reverse_compute_at.inputs", [&] { s.reverse_compute_at(s.block("Y"), i); },
                   swapped ? "block Y reads S and T, and one iteration of i produces the inputs of different "
                             "elements"
                           : "block Y reads T and S, and one iteration of i produces the inputs of different "
                             "elements",
                   {"i", "Y"});
  }
}

TEST(ReverseComputeAt, SumsIntoATemporary) {
  for (bool broadcast : {false, true}) {
    Workload w("sums");
    Tensor x = w.placeholder("X", {6, 8}, DType::u32), v = w.placeholder("V", {8}, DType::u32);
    Tensor t = w.compute("T", {6, 8}, {"i", "j"}, [&](Expr i, Expr j) -> Definition { return x(i, j) + 1; });
    Reduce k = reduce_axis("k", 8);
    Tensor r = w.compute("R", {6}, {"i"},
                         [&](Expr i) { return broadcast ? sum(t(i, 0) * v(k), k) : sum(t(i, k) * v(k), k); });
    Tensor y = w.compute("Y", {6}, {"i"}, [&](Expr i) -> Definition { return r(i) * 2; });
    Schedule s(w.output({y}));
    Loop outer = s.split(s.loops(s.block("T"))[0], {infer, 4})[0];
    s.reverse_compute_at(s.block("R"), outer);
    s.reverse_compute_at(s.block("Y"), outer);
    EXPECT_TRUE(same_meaning(s));
  }
}

TEST(ReverseComputeAt, SumsOfWholeRows) {
  Workload w("rows");
  Tensor x = w.placeholder("X", {6, 8}, DType::u32);
  Tensor t = w.compute("T", {6, 8}, {"i", "j"}, [&](Expr i, Expr j) -> Definition { return x(i, j) + 1; });
  Reduce k = reduce_axis("k", 8);
  Tensor y = w.compute("Y", {6}, {"i"}, [&](Expr i) { return sum(t(i, k), k); });
  Program program = w.output({y});
  Schedule rows(program), tiles(program);
  rows.reverse_compute_at(rows.block("Y"), rows.loop("i"));
  EXPECT_TRUE(same_meaning(rows));
  tiles.reverse_compute_at(tiles.block("Y"), tiles.split(tiles.loop("i"), {infer, 4})[0]);
  EXPECT_TRUE(same_meaning(tiles));
  Schedule parts(program);
  Loop outer = parts.split(parts.loop("j"), {infer, 4})[0];
  expect_refused(parts, "reverse_compute_at.identity",
                 [&] { parts.reverse_compute_at(parts.block("Y"), outer); }, "block Y reads T so that", {"Y"});
}

TEST(ReverseComputeInlineRefuses, AnElementThatSeveralInstancesRead) {
  std::string message =
      "block Y does not read T at exactly its own axes, each once and over its whole extent, and its "
      "indices do not determine one instance for each element; use compute_inline";
  std::vector<Case> cases{
      {"broadcast", {4}, {4, 6}, [](const Indices &v) { return Indices{v[0]}; }},
      {"diagonal", {9}, {4, 6}, [](const Indices &v) { return Indices{v[0] + v[1]}; }},
      {"quotient", {4}, {24}, [](const Indices &v) { return Indices{v[0] / 6}; }},
      {"overlapping rows", {24}, {4, 7}, [](const Indices &v) { return Indices{min(v[0] * 5 + v[1], 23)}; }},
      {"reversed", {6}, {6}, [](const Indices &v) { return Indices{5 - v[0]}; }},
  };
  for (const Case &x : cases) {
    Schedule s(reshaped(x));
    expect_refused(s, "reverse_compute_inline.reads", [&] { s.reverse_compute_inline(s.block("Y")); }, message,
                   {"Y"});
  }
}

} // namespace
} // namespace nestsmith
