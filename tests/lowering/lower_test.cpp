/// Tests how schedules become kernels: the passes, tails, barriers, index widths and refusals.

#include "lowering/lower.h"

#include "dsl/hardware/verify.h"
#include "lowering/notes.h"
#include "lowering/unit.h"
#include "tests/dsl/support.h"

#include <algorithm>
#include <functional>
#include <gtest/gtest.h>
#include <llvm/ADT/StringRef.h>

namespace nestsmith {
namespace {

using test::contains;
using test::gemm;
using test::product;

/// C = A*B in tiles of 4 x 4 x 4. The threads of a block copy the tiles to shared memory together, with two
/// barriers per tile.
Schedule shared_tiles(std::int64_t m, std::int64_t n, std::int64_t k,
                      std::vector<const char *> operands = {"A", "B"}, Target target = {}) {
  Schedule s(gemm(m, n, k, DType::f32), target);
  auto AB = s.block("AB"), C = s.block("C");
  s.set_scope(AB, Scope::local);
  auto [i0, i1] = s.split(s.loop("i"), {infer, 4});
  auto [j0, j1] = s.split(s.loop("j"), {infer, 4});
  auto [k0, k1] = s.split(s.loop("k"), {infer, 4});
  (void)k1;
  s.reorder({i0, j0, i1, j1, k0});
  auto thread = s.fuse(i1, j1);
  s.reverse_compute_at(C, thread);
  s.bind(i0, Axis::block_y);
  s.bind(j0, Axis::block_x);
  s.bind(thread, Axis::thread_x);
  for (const char *operand : operands) {
    auto tile = s.cache_read(AB, operand, Scope::shared);
    s.compute_at(tile, k0);
    auto loops = s.loops(tile);
    s.bind(s.fuse(loops[loops.size() - 2], loops.back()), Axis::thread_x);
  }
  return s;
}

Schedule one_thread_an_element(std::int64_t m, std::int64_t n, std::int64_t k) {
  Schedule s(product(m, n, k, DType::f32));
  auto [outer, inner] = s.split(s.fuse(s.loop("i"), s.loop("j")), {infer, 4});
  s.bind(outer, Axis::block_x);
  s.bind(inner, Axis::thread_x);
  return s;
}

struct StatementCounts {
  int guards = 0, masks = 0, barriers = 0;
  std::vector<std::string> notes; ///< the notes of the barriers
};

StatementCounts count(const kernel::Kernel &kernel) {
  StatementCounts counts;
  kernel::walk(kernel.body, [&](const kernel::Stmt &stmt) {
    counts.guards += kernel::as<kernel::If>(stmt) != nullptr;
    if (kernel::as<kernel::Barrier>(stmt)) {
      ++counts.barriers;
      counts.notes.push_back(kernel::note_of(stmt));
    }
  });
  kernel::walk_exprs(kernel.body, [&](const Expr &node) {
    const auto *access = node.as<Load>();
    counts.masks += access && access->mask.exists() && access->buffer->name != "C";
  });
  return counts;
}

TEST(Passes, RunInTheOrderOfTheTable) {
  EXPECT_EQ(pass_names(),
            (std::vector<std::string_view>{
                "check_obligations", "lower_init", "fill_tails", "extract", "partition", "insert_barriers",
                "place_declarations", "hoist_guards", "flatten", "vectorize", "share_launches", "await_kernel",
                "end_clusters", "step_sources", "narrow_indices", "split_branches", "share_values"}));
  std::vector<std::string_view> seen;
  std::string last;
  Schedule s = shared_tiles(5, 6, 7);
  kernel::Plan plan = lower(s, [&](const PassRecord &record) {
    EXPECT_EQ(record.changed, record.text != (seen.empty() ? print(s.program()) : last)) << record.pass;
    seen.push_back(record.pass);
    last = record.text;
  });
  EXPECT_EQ(seen, pass_names());
  EXPECT_EQ(last, kernel::print(plan));
  EXPECT_EQ(kernel::print(lower(s)), last);
}

/// Returns the program after the passes up to `until`.
Program lowered_to(const Schedule &s, void (*until)(Unit &)) {
  Unit unit{s, s.program()};
  for (auto pass : {check_obligations, lower_init, fill_tails}) {
    pass(unit);
    if (pass == until)
      break;
  }
  return unit.program();
}

TEST(Passes, KeepTheMeaningUntilExtraction) {
  for (auto [m, n, k] : {std::array{1, 1, 1}, {4, 4, 4}, {5, 3, 7}, {8, 9, 3}, {3, 8, 9}}) {
    Schedule s = shared_tiles(m, n, k);
    std::vector<Array> expected = test::results_of(s.source());
    for (auto pass : {lower_init, fill_tails}) {
      Program program = lowered_to(s, pass);
      EXPECT_EQ(find_breach(program), std::nullopt) << print(program);
      EXPECT_EQ(test::difference(program, expected), std::nullopt) << print(program);
    }
  }
}

TEST(LowerInit, PutsEveryInitBeforeItsSum) {
  Program program = lowered_to(shared_tiles(5, 6, 7), lower_init);
  for (const Block *block : blocks_of(program.body))
    EXPECT_FALSE(block->init) << block->id->name;
}

TEST(Tails, OfAlignedShapesNeedNothing) {
  for (const Schedule &s : {shared_tiles(8, 4, 12), one_thread_an_element(3, 8, 5)}) {
    StatementCounts counts = count(lower(s).only());
    EXPECT_EQ(counts.guards, 0) << kernel::print(lower(s));
    EXPECT_EQ(counts.masks, 0);
  }
}

TEST(Tails, AreMaskedOnlyInTheDimensionThatEnds) {
  auto text = [](std::int64_t m, std::int64_t n, std::int64_t k) {
    return kernel::print(lower(shared_tiles(m, n, k)));
  };
  std::string m = text(7, 8, 8), n = text(8, 7, 8), k = text(8, 8, 7);
  EXPECT_TRUE(contains(m, "where i < 7 else 0.0")) << m;
  EXPECT_TRUE(contains(m, "if i < 7:  # tail of i")) << m;
  EXPECT_FALSE(contains(m, "j <")) << m;
  EXPECT_TRUE(contains(n, "where j < 7 else 0.0")) << n;
  EXPECT_TRUE(contains(n, "if j < 7:  # tail of j")) << n;
  EXPECT_FALSE(contains(n, "i <")) << n;
  EXPECT_TRUE(contains(k, "where A_k < 7 else 0.0")) << k;
  EXPECT_TRUE(contains(k, "where B_k < 7 else 0.0")) << k;
  EXPECT_FALSE(contains(k, "if ")) << k;
}

TEST(Tails, OfASumKeepTheirGuardUnlessAllFactorsAreFilled) {
  // B is read from global memory, so the tail of k has no zeros for B. The zeros in A_shared are not enough,
  // because 0 * NaN is NaN.
  std::string one = kernel::print(lower(shared_tiles(8, 8, 7, {"A"})));
  EXPECT_TRUE(contains(one, "if k < 7:  # tail of k")) << one;
  std::string none = kernel::print(lower(shared_tiles(8, 8, 7, {})));
  EXPECT_TRUE(contains(none, "if k < 7:  # tail of k")) << none;
  std::string both = kernel::print(lower(shared_tiles(8, 8, 7)));
  EXPECT_FALSE(contains(both, "if ")) << both;
}

/// S is the sum of the first nine of the ten elements of X. Past the end of the sum, the cache holds the tenth
/// element.
TEST(Tails, OfASumKeepTheirGuardWhereTheSourceIsLonger) {
  for (bool through_stage : {false, true}) {
    Workload w("part");
    Tensor x = w.placeholder("X", {10});
    Tensor t = w.compute("T", {9}, {"t"}, [&](Expr i) -> Definition { return x(i); });
    Reduce k = reduce_axis("k", 9);
    Tensor y = w.compute("S", {4}, {"i"}, [&](Expr) { return sum(through_stage ? t(k) : x(k), k); });
    Schedule s(w.output({y}));
    auto S = s.block("S");
    auto i = s.loops(S)[0], k_outer = s.split(s.loops(S)[1], {infer, 2})[0];
    auto cache = s.cache_read(through_stage ? s.block("T") : S, "X", Scope::local);
    if (through_stage) {
      s.set_scope(s.block("T"), Scope::local);
      s.compute_at(s.block("T"), k_outer);
    }
    s.compute_at(cache, i);
    Program program = lowered_to(s, fill_tails);
    EXPECT_EQ(test::difference(program, test::results_of(s.source())), std::nullopt) << print(program);
  }
}

/// T does not depend on i, so the split of i adds a guard to T. Without its own guard, the sum would read T in
/// threads that have not written T. The split of j is below T, and adds no guard to T.
TEST(Tails, OfASumKeepTheirGuardWhereItsInputIsGuardedToo) {
  Workload w("guarded");
  Tensor x = w.placeholder("X", {4});
  Tensor t = w.compute("T", {4}, {"t"}, [&](Expr i) { return x(i) + 1; });
  Reduce k = reduce_axis("k", 4);
  Tensor y = w.compute("Y", {5, 3}, {"i", "j"}, [&](Expr, Expr) { return sum(t(k), k); });
  Schedule s(w.output({y}));
  auto Y = s.block("Y");
  auto i = s.loops(Y)[0], j = s.loops(Y)[1];
  s.set_scope(s.block("T"), Scope::local);
  s.compute_at(s.block("T"), i);
  auto thread = s.split(i, {infer, 4})[1];
  s.split(j, {infer, 2});
  s.reverse_compute_at(s.cache_write(Y, Scope::local), thread);
  s.bind(thread, Axis::thread_x);
  Program program = lowered_to(s, fill_tails);
  EXPECT_EQ(test::difference(program, test::results_of(s.source())), std::nullopt) << print(program);
  for (const char *block :
       {"block T(t = ax_t, i = i_outer*4 + i_inner) where i < 5:\n",
        "block Y_init(i = i_outer*4 + i_inner, j = j_outer*2 + j_inner) where i < 5:\n",
        "block Y(i = i_outer*4 + i_inner, j = j_outer*2 + j_inner, sum k = k) where i < 5:\n"})
    EXPECT_TRUE(contains(print(program), block)) << block << print(program);
}

/// Y[i] is the sum of `value(X, i, k)` over k. It is computed in registers, with 16 threads per block.
Schedule masked_sums(std::int64_t n, std::int64_t length, std::int64_t terms,
                     const std::function<Expr(const Tensor &, Expr, Expr)> &value) {
  Workload w("masked");
  Tensor x = w.placeholder("X", {length}, DType::u32);
  Reduce k = reduce_axis("k", terms);
  Tensor y = w.compute("Y", {n}, {"i"}, [&](Expr i) { return sum(value(x, i, k), k); });
  Schedule s(w.output({y}));
  auto Y = s.block("Y"), copy = s.cache_write(Y, Scope::local);
  auto [block, thread] = s.split(s.loops(Y)[0], {infer, 16});
  s.reverse_compute_at(copy, thread);
  s.bind(block, Axis::block_x);
  s.bind(thread, Axis::thread_x);
  return s;
}

/// The masks contain k <= i, where i < n. Without the guard of i, only the end of the tile would bound k.
TEST(Tails, OfAnAxisInAMaskKeepTheirGuard) {
  for (std::int64_t n : {1, 5, 16, 17, 31, 37})
    for (int form = 0; form < 5; ++form) {
      Schedule s = masked_sums(n, n, n + 16, [&](const Tensor &x, Expr i, Expr k) {
        return form == 0   ? x.where(k <= i, k)
               : form == 1 ? x.where(equal(k, i), k)
               : form == 2 ? x.where(k <= i && 3 <= k, k - 3)
               : form == 3 ? x.where(!(i < k), k) + x.where(k <= i, i - k)
                           : x.where(x.where(k <= i, k) < 7 && k <= i, k);
      });
      Program program = lowered_to(s, fill_tails);
      EXPECT_EQ(test::difference(program, test::results_of(s.source())), std::nullopt) << print(program);
    }
}

TEST(Tails, OfAnAxisInAMaskAreFilledIfTheMaskBoundsNoIndex) {
  auto text = [](std::int64_t length) {
    return kernel::print(
        lower(masked_sums(37, length, 64, [](const Tensor &x, Expr i, Expr k) { return x.where(k <= i, k); })));
  };
  EXPECT_TRUE(contains(text(64), "if i < 37:  # tail of i\n    Y[i] =")) << text(64);
  EXPECT_FALSE(contains(text(63), "if i < 37:  # tail of i\n    Y[i] =")) << text(63);
}

/// T is written only for k <= i < 5, because its reader reads no other element.
TEST(Tails, OfAnAxisInTheMaskOfATemporaryKeepTheirGuard) {
  for (std::int64_t n : {1, 5, 7, 8, 9}) {
    Workload w("masked");
    Tensor x = w.placeholder("X", {64}, DType::u32);
    Tensor t = w.compute("T", {64}, {"t"}, [&](Expr i) { return x(i) + 1; });
    Reduce k = reduce_axis("k", 64);
    Tensor y = w.compute("Y", {3, n}, {"b", "i"}, [&](Expr, Expr i) { return sum(t.where(k <= i, k), k); });
    Schedule s(w.output({y}));
    auto Y = s.block("Y"), T = s.block("T"), copy = s.cache_write(Y, Scope::local);
    s.set_scope(T, Scope::local);
    s.compute_at(T, s.loops(Y)[0]);
    auto inner = s.split(s.loops(Y)[1], {infer, 8});
    s.reverse_compute_at(copy, inner[1]);
    Program program = lowered_to(s, fill_tails);
    EXPECT_EQ(test::difference(program, test::results_of(s.source())), std::nullopt) << print(program);
  }
}

TEST(Barriers, AreTwoATile) {
  StatementCounts counts = count(lower(shared_tiles(8, 8, 12)).only());
  EXPECT_EQ(counts.notes, (std::vector<std::string>{
                              "A_shared, B_shared: written above, read below by AB",
                              "A_shared, B_shared: read above by AB, overwritten by the next k_outer"}));
}

TEST(Barriers, AreOneWhereThereIsOneTile) {
  StatementCounts counts = count(lower(shared_tiles(8, 8, 4)).only());
  EXPECT_EQ(counts.notes, std::vector<std::string>{"A_shared, B_shared: written above, read below by AB"});
}

TEST(Barriers, AreNoneWithoutSharedMemoryOrWithOneThread) {
  EXPECT_EQ(count(lower(one_thread_an_element(5, 6, 7)).only()).barriers, 0);
  Schedule s(product(5, 6, 7));
  s.compute_at(s.cache_read(s.block("C"), "A", Scope::shared), s.loop("i"));
  EXPECT_EQ(count(lower(s).only()).barriers, 0);
}

TEST(Barriers, SeparateASumFromTheThreadsThatReadIt) {
  Schedule s(gemm(4, 4, 8));
  s.set_scope(s.block("AB"), Scope::shared);
  Loop i = s.loop("i");
  s.reverse_compute_at(s.block("C"), i);
  s.bind(s.loop("j"), Axis::thread_x);
  s.bind(s.loops(s.block("C")).back(), Axis::thread_x);
  StatementCounts counts = count(lower(s).only());
  EXPECT_EQ(counts.notes, (std::vector<std::string>{"AB: written above, read below by C",
                                                    "AB: read above by C, overwritten by the next i"}));
}

/// Also after passes that replace the arrays and the variables of the kernel.
TEST(Barriers, NameBuffersAndLoopsOfTheProgram) {
  Schedule s = shared_tiles(8, 8, 12);
  std::vector<Buffer> buffers = temporaries(s.program());
  std::size_t carried = 0;
  kernel::walk(lower(s).only().body, [&](const kernel::Stmt &stmt) {
    if (const auto *barrier = kernel::as<kernel::Barrier>(stmt))
      for (const kernel::Hazard &hazard : barrier->hazards) {
        EXPECT_EQ(std::ranges::count(buffers, hazard.buffer), 1) << hazard.buffer->name;
        EXPECT_EQ(std::ranges::count(buffers, hazard.reader), 1) << hazard.reader->name;
        EXPECT_TRUE(!hazard.loop || find_loop(s.program().body, hazard.loop)) << hazard.loop->name;
        carried += hazard.loop != nullptr;
      }
  });
  EXPECT_EQ(carried, 2U);
}

TEST(Indices, AreNarrowWhereTheyFit) {
  std::string small = kernel::print(lower(one_thread_an_element(500, 500, 500)));
  EXPECT_FALSE(contains(small, "i64")) << small;
  std::int64_t large = 70000;
  std::string wide = kernel::print(lower(one_thread_an_element(large, large, 8)));
  EXPECT_TRUE(contains(wide, "C[i64(")) << wide;
  EXPECT_TRUE(contains(wide, "A[i*8 + k]")) << wide;
}

TEST(Indices, AreWideExactlyPastTheLargestInt) {
  auto text = [](std::int64_t rows) {
    Workload w("copy");
    Tensor x = w.placeholder("X", {rows, 65536});
    Tensor y = w.compute("Y", {rows, 65536}, {"i", "j"}, [&](Expr i, Expr j) { return x(i, j); });
    return kernel::print(lower(Schedule(w.output({y}))));
  };
  EXPECT_FALSE(contains(text(32768), "i64")) << text(32768);
  EXPECT_TRUE(contains(text(32769), "i64")) << text(32769);
}

TEST(Lower, RefusesWhatIsOwedAndNamesTheDirective) {
  Target small;
  small.shared_bytes_per_block = 100;
  Schedule s = shared_tiles(8, 8, 8, {"A", "B"}, small);
  try {
    lower(s);
    FAIL();
  } catch (const ScheduleError &error) {
    EXPECT_EQ(error.directive(), "auto B_shared = s.cache_read(AB, \"B\", Scope::shared)");
    EXPECT_TRUE(contains(error.message(),
                         "a block needs 128 bytes of shared memory (A_shared 64, B_shared 64), but "
                         "sm_80 has 100"))
        << error.message();
    EXPECT_TRUE(test::marks(error.marked(), "B_shared")) << error.marked();
    EXPECT_EQ(error.code(), ExitCode::illegal_schedule);
  }
  Schedule together(gemm(8, 8, 8));
  together.reverse_compute_at(together.block("C"), together.loop("i"));
  try {
    lower(together);
    FAIL();
  } catch (const ScheduleError &error) {
    EXPECT_EQ(error.directive(), "the computation gemm");
    EXPECT_TRUE(test::marks(error.marked(), "AB")) << error.marked();
  }
}

TEST(Lower, PlansSharedMemoryAndTheGrid) {
  kernel::Kernel kernel = lower(shared_tiles(9, 13, 8)).only();
  EXPECT_EQ(kernel.grid(), (std::array<std::int64_t, 3>{4, 3, 1}));
  EXPECT_EQ(kernel.block(), (std::array<std::int64_t, 3>{16, 1, 1}));
  EXPECT_EQ(kernel.threads(), 16);
  ASSERT_EQ(kernel.shared.size(), 2U);
  EXPECT_EQ(kernel.shared[0].byte_offset, 0);
  EXPECT_EQ(kernel.shared[1].byte_offset, 64);
  EXPECT_EQ(kernel.shared_bytes, 128);
  EXPECT_EQ(note_of(kernel.shared[0]), "4 x 4 tile of A");
  EXPECT_EQ(kernel.shared[0].tile, (std::vector<std::int64_t>{4, 4}));
  ASSERT_EQ(kernel.local.size(), 1U);
  EXPECT_EQ(as_int(kernel.local[0].buffer->shape[0]), 1);
}

TEST(Lower, ReadsAsWrittenByHand) {
  EXPECT_EQ("\n" + kernel::print(lower(shared_tiles(7, 8, 9))), R"(
kernel gemm(A[7, 9]: f32, B[9, 8]: f32, C[7, 8]: f32, alpha: f32, beta: f32):
  let j_outer: i32 = blockIdx.x of 2
  let i_outer: i32 = blockIdx.y of 2
  let tid: i32 = threadIdx.x of 16
  shared A_shared[16]: f32  # 4 x 4 tile of A
  shared B_shared[16]: f32 at byte 64  # 4 x 4 tile of B
  local AB[1]: f32  # 1 x 1 results of one thread
  let i: i32 = i_outer*4 + tid//4
  let j: i32 = j_outer*4 + tid%4
  AB[0] = 0.0
  for k_outer < 3:
    let A_k: i32 = k_outer*4 + tid%4
    let B_k: i32 = k_outer*4 + tid//4
    A_shared[tid] = (A[i*9 + A_k] where i < 7 and A_k < 9 else 0.0)
    B_shared[tid] = (B[B_k*8 + j] where B_k < 9 else 0.0)
    sync block  # A_shared, B_shared: written above, read below by AB
    for k_inner < 4:
      AB[0] = AB[0] + A_shared[tid//4*4 + k_inner]*B_shared[k_inner*4 + tid%4]
    sync block  # A_shared, B_shared: read above by AB, overwritten by the next k_outer
  if i < 7:  # tail of i
    C[i*8 + j] = alpha*AB[0] + beta*(C[i*8 + j] where beta != 0.0 else 0.0)
)");
}

/// Returns the statements that access shared memory, without indentation.
std::string shared_accesses(const Schedule &s) {
  std::string text, result;
  llvm::StringRef rest(text = kernel::print(lower(s)));
  while (!rest.empty()) {
    auto [line, below] = rest.split('\n');
    if (line.contains("_shared[") && line.trim().take_front(4) != "sync")
      result += line.trim().str() + "\n";
    rest = below;
  }
  return "\n" + result;
}

TEST(Layouts, AreAppliedOnceToOffsets) {
  Schedule s = shared_tiles(7, 8, 9);
  s.transform_layout(s.block("B_shared"), "k, j -> j, k");
  s.storage_align(s.block("B_shared"), 0, 2, 1);
  s.swizzle(s.block("A_shared"), 1, 1, 2);
  s.launch_bounds(4);
  EXPECT_EQ(shared_accesses(s), R"(
shared A_shared[16]: f32  # 4 x 4 tile of A, swizzled
shared B_shared[20]: f32 at byte 64  # 4 x 4 tile of B, transposed, rows padded
A_shared[tid//4*4 + (tid//2%2 ^ tid//8)*2 + tid%2] = (A[i*9 + A_k] where i < 7 and A_k < 9 else 0.0)
B_shared[tid%4*5 + tid//4] = (B[B_k*8 + j] where B_k < 9 else 0.0)
AB[0] = AB[0] + A_shared[tid//4*4 + (k_inner//2 ^ tid//8)*2 + k_inner%2]*B_shared[tid%4*5 + k_inner]
)");
  EXPECT_EQ(lower(s).only().min_blocks, 4);
  EXPECT_EQ(lower(s).only().shared[1].tile, (std::vector<std::int64_t>{4, 5}));
}

/// A tail can make a tile larger than the matrix, so the map must be invertible over the whole tile.
TEST(Layouts, MustBeInvertibleOverTheWholeTile) {
  Schedule s = shared_tiles(3, 3, 3);
  EXPECT_THROW(s.transform_layout(s.block("A_shared"), "i, k -> i*3 + k"), ScheduleError);
  s.transform_layout(s.block("A_shared"), "i, k -> i*4 + k");
  EXPECT_EQ(lower(s).only().shared[0].tile, std::vector<std::int64_t>{16});
}

} // namespace
} // namespace nestsmith
