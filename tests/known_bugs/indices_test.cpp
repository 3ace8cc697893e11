/// Tests index arithmetic with large offsets and negative numbers, and the uniqueness of names.

#include "codegen/cuda.h"
#include "dsl/expr/numbers.h"
#include "tests/known_bugs/support.h"

#include <regex>
#include <set>

namespace nestsmith {
namespace {

using test::expect_right;
using test::rung;

/// Evaluates the offsets at which a kernel accesses a parameter, with the arithmetic of the kernel, for threads
/// and iterations at the ends of their ranges.
class Corners {
public:
  Corners(const kernel::Kernel &kernel, std::string param) : kernel_(kernel), param_(std::move(param)) {
    for (const Var &scalar : kernel.scalars) // beta is not 0, so C is read
      point_[scalar] = Scalar::from_double(scalar->dtype, 1);
    threads(0);
  }
  std::int64_t least = 0, most = 0;
  int accesses = 0;
  DType width = DType::boolean;

private:
  using Point = std::map<Var, Scalar>;

  template <class F> void at(const std::set<std::int64_t> &values, const Var &var, const F &f) {
    for (std::int64_t value : values) {
      point_[var] = Scalar::of(DType::i64, value).to(var->dtype);
      f();
    }
  }
  void threads(std::size_t n) {
    if (n == kernel_.indices.size())
      return visit(kernel_.body);
    const kernel::ThreadIndex &index = kernel_.indices[n];
    std::int64_t extent = as_int(index.extent).value();
    at({0, extent - 1}, index.var, [&] { threads(n + 1); });
  }
  void note(const Expr &index, int lanes) {
    std::int64_t offset = evaluate(index, point_).to(DType::i64).as<std::int64_t>(), last = offset + lanes - 1;
    least = accesses ? std::min(least, offset) : offset;
    most = accesses ? std::max(most, last) : last;
    width = index.dtype();
    ++accesses;
  }
  void loads(const Expr &value) {
    walk(value, [&](const Expr &e) {
      const auto *load = e.as<Load>();
      if (!load || load->buffer->name != param_)
        return;
      bool masked_off = load->mask.exists() && evaluate(load->mask, point_).bits == 0;
      if (!masked_off)
        note(load->indices[0], load->lanes);
    });
  }
  void visit(const kernel::Stmt &stmt) {
    kernel::visit(stmt, Overloaded{
                            [&](const kernel::Declare &declare) {
                              loads(declare.value);
                              if (is_index(declare.var->dtype))
                                point_[declare.var] = evaluate(declare.value, point_);
                            },
                            [&](const kernel::Loop &loop) {
                              std::int64_t extent = as_int(loop.extent).value();
                              std::set<std::int64_t> ends = {0, extent / 2, extent - 1};
                              if (extent > 100)
                                ends.insert(extent - 2); // this iteration loads the last tile in advance
                              at(ends, loop.var, [&] { visit(loop.body); });
                            },
                            [&](const kernel::If &branch) {
                              if (evaluate(branch.condition, point_).bits)
                                visit(branch.body);
                              else if (branch.otherwise)
                                visit(branch.otherwise);
                            },
                            [&](const kernel::Seq &seq) {
                              for (const kernel::Stmt &child : seq.stmts)
                                visit(child);
                            },
                            [&](const kernel::Store &store) {
                              loads(store.value);
                              if (store.buffer->name == param_)
                                note(store.indices[0], store.lanes);
                            },
                            [](const kernel::Call &) {},
                            [](const kernel::BulkCopy &) {},
                            [](const kernel::Sync &) {},
                        });
  }

  const kernel::Kernel &kernel_;
  std::string param_;
  Point point_;
};

/// In turn, each of the three matrices has n x n elements. No matrix is allocated.
TEST(KnownBugs, IndicesOf46341SquaredAnd70000Squared) {
  for (const char *name : {"deep_dive/naive", "deep_dive/shared", "deep_dive/tile1d", "transposed/prefetch",
                           "ladder/vectors", "ladder/warps", "tvm_steps/step6"})
    for (std::int64_t n : {46340, 46341, 70000})
      for (auto [param, shape] :
           {std::pair{"A", Shape{n, 4, n}}, {"B", Shape{4, n, n}}, {"C", Shape{n, n, 4}}}) {
        kernel::Kernel kernel = lower(rung(name).build(shape, DType::f32, Target{})).only();
        Corners corners(kernel, param);
        std::string what = std::string(name) + ": " + param + " of " + std::to_string(n);
        EXPECT_GT(corners.accesses, 0) << what;
        EXPECT_EQ(corners.least, 0) << what;
        EXPECT_GE(corners.most, n * (n - 256)) << what; // the offsets include those of the last block
        EXPECT_LT(corners.most, n * n) << what;
        bool tight = name == std::string("deep_dive/naive"); // other rungs also compute offsets past the edge
        if (n > 46340 || tight) {
          EXPECT_EQ(corners.width, n > 46340 ? DType::i64 : DType::i32) << what;
        }
      }
}

TEST(KnownBugs, MoreThan65535BlocksInY) {
  const Rung &shared = rung("deep_dive/shared"); // rows in tiles of 32 along blockIdx.y
  EXPECT_EQ(lower(shared.build({65535 * 32, 32, 32}, DType::f32, Target{})).only().grid()[1], 65535);
  test::expect_user_error(
      [&] {
        shared.build({65535 * 32 + 1, 32, 32}, DType::f32, Target{});
      },
      ExitCode::illegal_schedule, "blockIdx.y takes at most 65535");

  Shape any = {32, 32, 32};
  any.stated = Size{};
  kernel::Plan plan = lower(shared.build(any, DType::f32, Target{}));
  auto sizes = [](std::int64_t rows) { return std::vector<std::int64_t>{rows, 32, 32, 32, 32, 32}; };
  EXPECT_NO_THROW(with_sizes(plan, sizes(65535 * 32)));
  test::expect_user_error([&] { with_sizes(plan, sizes(65535 * 32 + 1)); }, ExitCode::usage,
                          "the grid's extent on blockIdx.y is 65536, but");

  // The x axis of the grid accepts more blocks. C is not allocated.
  EXPECT_EQ(lower(rung("deep_dive/naive").build({70000, 70000, 1}, DType::f32, Target{})).only().grid()[1], 1);
}

/// Y(i) reads X at (i - shift)//divisor, so the first indices divide negative numbers.
TEST(KnownBugs, FloorDivisionOfNegatives) {
  static_assert(floor_div(-1, 4) == -1 && floor_mod(-1, 4) == 3 && floor_div(-8, 4) == -2 &&
                floor_mod(-8, 4) == 0);
  for (std::int64_t divisor : {2, 3, 4, 7})
    for (std::int64_t shift : {1, 3, 9}) {
      std::int64_t below = -floor_div(-shift, divisor); // the rows before row 0
      Workload w("shifted");
      Tensor x = w.placeholder("X", {40}, DType::u32);
      Tensor y = w.compute("Y", {20}, {"i"}, [&](Expr i) {
        return x(floordiv(i - shift, divisor) + below) + x(floormod(i - shift, divisor) + 1) * 2;
      });
      Schedule s(w.output({y}));
      auto [outer, inner] = s.split(s.loop("i"), {infer, 8});
      s.bind(outer, Axis::block_x);
      s.bind(inner, Axis::thread_x);
      expect_right(s);
      EXPECT_TRUE(test::same_meaning(s));

      test::Values values = test::make_values(s.source());
      SimExecutor simulator;
      simulator.run(lower(s), values.arrays, values.scalars);
      auto in = values.arrays[0].view<std::uint32_t>(), out = values.arrays[1].view<std::uint32_t>();
      for (std::int64_t i = 0; i < 20; ++i) {
        auto rounded = static_cast<std::int64_t>(
            std::floor(static_cast<double>(i - shift) / static_cast<double>(divisor)));
        EXPECT_EQ(out[static_cast<std::size_t>(i)],
                  in[static_cast<std::size_t>(rounded + below)] +
                      2 * in[static_cast<std::size_t>(i - shift - rounded * divisor + 1)]);
      }
    }
}

/// Returns the variables that a block of the text declares although an enclosing block declares the same name.
std::vector<std::string> shadowed(const std::string &text) {
  static const std::regex token(
      R"([{}]|\b(?:int|long long|float|unsigned int|uint4|float4) (\w+)\s*(?:=|\[|;))");
  std::vector<std::string> found;
  std::vector<std::set<std::string>> open(1);
  bool header = false; // the header of a for loop: its variable belongs to the block that follows
  for (std::sregex_iterator it(text.begin(), text.end(), token), end; it != end; ++it) {
    std::string all = it->str();
    if (all == "{") {
      if (!header)
        open.emplace_back();
      header = false;
    } else if (all == "}") {
      open.pop_back();
    } else {
      std::string name = (*it)[1];
      for (const auto &names : open)
        if (names.count(name))
          found.push_back(name);
      auto at = static_cast<std::size_t>(it->position());
      if (at >= 5 && text.substr(at - 5, 5) == "for (") {
        open.emplace_back();
        header = true;
      }
      open.back().insert(name);
    }
  }
  return found;
}

TEST(KnownBugs, NameShadowingAfterRepeatedSplits) {
  for (int rounds = 1; rounds <= 4; ++rounds) {
    Schedule s(test::gemm(33, 18, 7));
    s.set_scope(s.block("AB"), Scope::local);
    // Each round splits the loops and fuses them again, so each name is requested again.
    Loop i = s.loop("i"), j = s.loop("j"), k = s.loop("k");
    for (int round = 0; round < rounds; ++round) {
      for (Loop *loop : {&i, &j, &k}) {
        auto [outer, inner] = s.split(*loop, {infer, 2});
        *loop = round % 2 == 0 ? outer : s.fuse(outer, inner);
      }
    }
    std::set<std::string> names;
    auto loops = s.loops(s.block("AB"));
    for (Loop loop : loops)
      EXPECT_TRUE(names.insert(s.name(loop)).second) << s.name(loop) << "\n" << print(s.program());
    s.reverse_compute_at(s.block("C"), j);
    EXPECT_TRUE(test::same_meaning(s));
    expect_right(s);
    EXPECT_THAT(shadowed(cuda_kernels(lower(s))), testing::IsEmpty()) << cuda_kernels(lower(s));
  }
}

/// The tile of X[2*j] has one element. A split of its loop by 2 leaves a guard, so the second iteration writes
/// no element.
TEST(KnownBugs, AReaderOfAGuardedTileIsNotMovedIntoItsLoop) {
  Workload w("strided");
  Tensor x = w.placeholder("X", {34}, DType::u32);
  Tensor y = w.compute("Y", {17, 17}, {"i", "j"}, [&](Expr, Expr j) { return x(j * 2); });
  Schedule s(w.output({y}));
  auto Y = s.block("Y");
  auto [i, j] = s.loops<2>(Y);
  s.reorder({j, i});
  auto shared = s.cache_read(Y, "X", Scope::shared), local = s.cache_read(Y, "X_shared", Scope::local);
  s.compute_at(local, i);
  s.compute_at(shared, j);
  auto [outer, inner] = s.split(s.loops(shared).back(), {infer, 2});
  test::expect_refused(s, "reverse_compute_at.complete", [&] { s.reverse_compute_at(local, inner); },
                       "so it writes nothing to X_shared in some iterations of " + s.name(inner),
                       {s.name(inner)});
  EXPECT_TRUE(test::same_meaning(s));
}

TEST(KnownBugs, NoRungShadowsAName) {
  EXPECT_THAT(shadowed("{ for (int k = 0; k < 4; ++k) { int k = 3; } }"), testing::ElementsAre("k"));
  EXPECT_THAT(shadowed("{ for (int k = 0; k < 4; ++k) { } int k = 3; }"), testing::IsEmpty());
  for (const Rung &rung : builtin_rungs()) {
    Shape shape = rung.tile;
    for (std::int64_t &extent : shape)
      extent += 1;
    std::string text = cuda_kernels(lower(rung.build(shape, rung.dtype(), Target{})));
    EXPECT_THAT(shadowed(text), testing::IsEmpty()) << rung.full_name() << "\n" << text;
  }
}

} // namespace
} // namespace nestsmith
