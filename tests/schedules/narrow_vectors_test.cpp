/// Tests vectors of elements of 1 and 2 bytes: right results at every size, the same on the host, and single
/// accesses in the machine code.

#include "codegen/cuda.h"
#include "runtime/cuda/nvrtc.h"
#include "runtime/model/machine_code.h"
#include "tests/codegen/host_text.h"
#include "tests/dsl/support.h"
#include "tests/runtime/check/right.h"
#include "tests/schedules/host_compare.h"
#include "tests/schedules/rung.h"

#include <gmock/gmock.h>

namespace nestsmith {
namespace {

using test::expect_right;
using testing::HasSubstr;
using testing::Not;

/// Distributes the groups of `lanes` elements of a row over threads, and vectorizes a group.
Loop by_vectors(Schedule &s, Loop row, std::int64_t lanes) {
  auto [block, thread, lane] = s.split(row, {infer, 8, lanes});
  s.bind(thread, Axis::thread_x);
  s.vectorize(lane);
  return block;
}

/// Y = X for m x n elements, through a tile in shared memory.
Schedule tile_copy(std::int64_t m, std::int64_t n, std::int64_t lanes, DType dtype) {
  Workload w("copy");
  Tensor x = w.placeholder("X", {m, n}, dtype);
  Tensor y = w.compute("Y", {m, n}, {"i", "j"}, [&](Expr i, Expr j) -> Definition { return x(i, j); });
  Schedule s(w.output({y}));
  Loop block = by_vectors(s, s.loop("j"), lanes);
  auto tile = s.cache_read(s.block("Y"), "X", Scope::shared);
  s.compute_at(tile, block);
  by_vectors(s, s.loops(tile).back(), lanes);
  return s;
}

/// Y = 2*X + 1 if i < 2, else 1, computed in f32 or u32.
Schedule computed(std::int64_t m, std::int64_t n, std::int64_t lanes, DType from, DType to) {
  Workload w("computed");
  Tensor x = w.placeholder("X", {m, n}, from);
  Tensor y = w.compute("Y", {m, n}, {"i", "j"}, [&](Expr i, Expr j) -> Definition {
    DType wide = is_float(to) ? DType::f32 : DType::u32;
    return cast(to, cast(wide, x.where(i < 2, i, j)) * constant(wide, 2) + constant(wide, 1));
  });
  Schedule s(w.output({y}));
  by_vectors(s, s.loop("j"), lanes);
  return s;
}

/// Y = X where X is positive, through a tile of conditions.
Schedule conditions(std::int64_t n) {
  Workload w("conditions");
  Tensor x = w.placeholder("X", {3, n}, DType::f32);
  Tensor p = w.compute("P", {3, n}, {"i", "j"}, [&](Expr i, Expr j) { return Expr(0.0F) < x(i, j); });
  Tensor y = w.compute("Y", {3, n}, {"i", "j"},
                       [&](Expr i, Expr j) -> Definition { return select(p(i, j), x(i, j), Expr(0.0F)); });
  Schedule s(w.output({y}));
  Loop block = by_vectors(s, s.loops(s.block("Y")).back(), 4);
  s.set_scope(s.block("P"), Scope::shared);
  s.compute_at(s.block("P"), block);
  by_vectors(s, s.loops(s.block("P")).back(), 4);
  return s;
}

/// C = A*B' in f32. Each step computes four products of converted elements.
Schedule dots(std::int64_t m, std::int64_t n) {
  Workload w("dots");
  Tensor a = w.placeholder("A", {m, 8}, DType::f16), b = w.placeholder("B", {n, 8}, DType::f16);
  Reduce k = reduce_axis("k", 8);
  Tensor c = w.compute("C", {m, n}, {"i", "j"}, [&](Expr i, Expr j) {
    return sum(cast(DType::f32, a(i, k)) * cast(DType::f32, b(j, k)), k);
  });
  Schedule s(w.output({c}));
  s.bind(s.loop("j"), Axis::thread_x);
  s.tensorize(s.split(s.loop("k"), {infer, 4})[1], "dot4");
  return s;
}

struct Types {
  DType from, to;
  std::vector<std::int64_t> lanes;
};
const Types types[] = {{DType::f16, DType::f16, {2, 4, 8}}, {DType::bf16, DType::bf16, {2, 4, 8}},
                       {DType::u16, DType::u16, {2, 4, 8}}, {DType::i16, DType::i16, {2, 4, 8}},
                       {DType::i16, DType::i32, {2, 4}},    {DType::f16, DType::f32, {2, 4}},
                       {DType::f32, DType::bf16, {2, 4}},   {DType::u16, DType::u32, {4}},
                       {DType::bf16, DType::f16, {2, 4, 8}}};

TEST(NarrowVectors, AreRightAtEverySize) {
  for (const auto &[from, to, list] : types)
    for (std::int64_t lanes : list)
      for (std::int64_t n : {lanes, 8 * lanes, 9 * lanes, 31 * lanes}) {
        expect_right(computed(3, n, lanes, from, to));
        if (from == to)
          expect_right(tile_copy(3, n, lanes, from));
      }
  for (std::int64_t n : {4, 32, 36, 124})
    expect_right(conditions(n));
  expect_right(dots(3, 5));
}

TEST(NarrowVectors, AreTheSameOnTheHost) {
  if (!host::why_not().empty())
    GTEST_SKIP() << host::why_not();
  std::vector<Subject> subjects;
  auto add = [&](const std::string &name, Schedule s) {
    kernel::Plan plan = lower(s);
    subjects.push_back({name, std::move(s), std::move(plan)});
  };
  for (const auto &[from, to, list] : types)
    for (std::int64_t lanes : list) {
      std::string name = std::string(nestsmith::name(from)) + " by " + std::to_string(lanes);
      add("computed " + name, computed(3, 9 * lanes, lanes, from, to));
      if (from == to)
        add("copied " + name, tile_copy(3, 9 * lanes, lanes, from));
    }
  add("conditions", conditions(36));
  add("dots", dots(3, 5));
  for (const std::string &problem : differences_on_host(subjects))
    ADD_FAILURE() << problem;
}

TEST(NarrowVectors, AreStructsInTheText) {
  std::string text = cuda_kernels(lower(tile_copy(3, 72, 8, DType::f16)));
  EXPECT_THAT(text, HasSubstr("/// 8 elements, which one instruction loads or stores.\n"
                              "struct __align__(16) f16x8 {\n"
                              "  __half e[8];\n"
                              "};\n"));
  EXPECT_THAT(text, HasSubstr("__shared__ __align__(16) __half X_shared["));
  EXPECT_THAT(text, HasSubstr("*reinterpret_cast<const f16x8 *>(&X[i * 72 + "));
  std::string sums = cuda_kernels(lower(computed(3, 72, 8, DType::f16, DType::f16)));
  EXPECT_THAT(sums, HasSubstr(" : f16x8{};"));
  EXPECT_THAT(sums, HasSubstr("f16x8{__float2half_rn(__half2float(X_v.e[0]) * 2.0f + 1.0f),\n"));
  EXPECT_THAT(cuda_kernels(lower(computed(3, 72, 4, DType::f32, DType::f32))), Not(HasSubstr("struct")));
}

/// Returns the number of accesses by size in bytes.
std::map<int, int> accesses(const std::vector<model::Instruction> &code, model::Unit unit) {
  std::map<int, int> found;
  for (const model::Instruction &instruction : code)
    if (instruction.unit == unit)
      ++found[instruction.bytes];
  return found;
}

TEST(NarrowVectors, AreSingleInstructions) {
  const cuda::Nvrtc *nvrtc = nullptr;
  try {
    nvrtc = &cuda::Nvrtc::get();
  } catch (const UserError &error) {
    GTEST_SKIP() << "needs NVRTC: " << error.what();
  }
  if (!cuda::find_headers(nvrtc->library().path))
    GTEST_SKIP() << "needs cuda_fp16.h";
  using Count = std::map<int, int>;
  for (DType dtype : {DType::f16, DType::bf16, DType::u16, DType::i16})
    for (int lanes : {2, 4, 8})
      for (const char *arch : {"sm_80", "sm_90a"}) {
        Schedule s = tile_copy(1, 8 * lanes, lanes, dtype);
        kernel::Kernel kernel = lower(s).only();
        cuda::Compiled compiled = nvrtc->compile(cuda_kernel(kernel), entry_name(kernel), arch);
        std::vector<model::Instruction> code = model::machine_code(compiled.cubin, entry_name(kernel));
        for (model::Unit unit : {model::Unit::global_load, model::Unit::shared_store, model::Unit::shared_load,
                                 model::Unit::global_store})
          EXPECT_EQ(accesses(code, unit), (Count{{2 * lanes, 1}}))
              << name(dtype) << " " << lanes << " " << arch;
      }
}

} // namespace
} // namespace nestsmith
