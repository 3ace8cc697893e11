/// Tests vectors and intrinsics in whole schedules: right results at every size, and a refusal that names the
/// reason if a shape does not allow them.

#include "codegen/cuda.h"
#include "dsl/ir/interpret.h"
#include "dsl/ir/workload_info.h"
#include "runtime/check/sim_executor.h"
#include "runtime/cuda/nvrtc.h"
#include "runtime/model/machine_code.h"
#include "schedules/fetch.h"
#include "schedules/rung.h"
#include "schedules/variant.h"
#include "schedules/workloads.h"
#include "tests/codegen/host_text.h"
#include "tests/dsl/support.h"
#include "tests/runtime/check/right.h"
#include "tests/schedules/host_compare.h"
#include "tests/schedules/rung.h"

#include <algorithm>
#include <array>
#include <gtest/gtest.h>

namespace nestsmith {
namespace {

using test::expect_right;
using test::rung;

/// C += A*B' in tiles of 16 x 16 in shared memory. Each step of 4 along k is one call. Tails contain zeros, so
/// any K is legal.
Schedule dot_tiles(const Shape &shape, DType dtype, const std::string &intrinsic) {
  Schedule s(accumulate_nt(shape, dtype));
  auto AB = s.block("AB"), C = s.block("C");
  s.set_scope(AB, Scope::local);
  auto [i, j, k] = s.loops<3>(AB);
  auto [i_block, i_thread] = s.split(i, {infer, 16});
  auto [j_block, j_thread] = s.split(j, {infer, 16});
  auto [k_outer, k_inner, k_four] = s.split(k, {infer, 4, 4});
  s.reorder({i_block, j_block, i_thread, j_thread});
  auto thread = s.fuse(i_thread, j_thread);
  s.reverse_compute_at(C, thread);
  s.bind(i_block, Axis::block_y);
  s.bind(j_block, Axis::block_x);
  s.bind(thread, Axis::thread_x);
  fetch_tile(s, AB, "A", k_outer, 256);
  fetch_tile(s, AB, "B", k_outer, 256);
  s.unroll(k_inner);
  s.tensorize(k_four, intrinsic);
  return s;
}

/// Expects that the result is right, and that each step of 4 along k is one call.
void expect_calls(const Schedule &s, const std::string &intrinsic) {
  expect_right(s);
  std::string text = cuda_kernel(lower(s).only());
  EXPECT_NE(text.find("AB = " + intrinsic + "(A_shared_v, B_shared_v, AB);"), std::string::npos) << text;
}

TEST(Intrinsics, Dot4IsRightAtEverySize) {
  for (DType dtype : {DType::f32, DType::u32})
    for (const Shape &shape : {Shape{1, 1, 1}, Shape{16, 16, 16}, Shape{17, 15, 33}, Shape{33, 7, 127}}) {
      Schedule s = dot_tiles(shape, dtype, "dot4");
      expect_calls(s, "dot4");
    }
}

TEST(Intrinsics, Dp4aIsRightAtEverySize) {
  for (DType dtype : {DType::i8, DType::u8})
    for (const Shape &shape :
         {Shape{1, 1, 1}, Shape{15, 16, 17}, Shape{16, 16, 16}, Shape{17, 15, 33}, Shape{33, 7, 127}}) {
      Schedule s = dot_tiles(shape, dtype, "dp4a");
      expect_calls(s, "dp4a");
    }
}

/// A and B are copied to registers, so each call packs bytes. Reads of A have a mask.
Schedule dots_of_registers(DType dtype) {
  Workload w("registers");
  Tensor a = w.placeholder("A", {13, 16}, dtype), b = w.placeholder("B", {5, 16}, dtype);
  DType sums = arithmetic_type(dtype);
  Expr wanted = w.scalar("wanted", sums);
  Reduce k = reduce_axis("k", 16);
  Tensor c = w.compute("C", {13, 5}, {"i", "j"}, [&](Expr i, Expr j) {
    return sum(cast(sums, a.where(not_equal(wanted, constant(sums, 0)), i, k)) * cast(sums, b(j, k)), k);
  });
  Schedule s(w.output({c}));
  auto C = s.block("C");
  auto [i, j, r] = s.loops<3>(C);
  auto [outer, inner] = s.split(r, {infer, 4});
  s.bind(i, Axis::thread_x);
  s.compute_at(s.cache_read(C, "B", Scope::local), outer);
  s.tensorize(inner, "dp4a");
  return s;
}

TEST(Intrinsics, Dp4aTakesBytesOfRegistersAndMaskedReads) {
  std::vector<Subject> subjects;
  for (DType dtype : {DType::i8, DType::u8}) {
    Schedule s = dots_of_registers(dtype);
    expect_right(s);
    kernel::Plan plan = lower(s);
    std::string text = cuda_kernels(plan);
    EXPECT_NE(text.find("dp4a(A_v, packed_word(B_local[0], B_local[1], B_local[2], B_local[3]), "),
              std::string::npos)
        << text;
    EXPECT_EQ(text.find("int packed_word(signed char x") != std::string::npos, dtype == DType::i8)
        << "nvcc warns of a function that is not used";
    EXPECT_NE(text.find(dtype == DType::i8 ? ": packed_word((signed char)0, (signed char)0, "
                                           : ": packed_word((unsigned char)0, (unsigned char)0, "),
              std::string::npos)
        << text;
    subjects.push_back({std::string(name(dtype)), std::move(s), std::move(plan)});
  }
  if (!host::why_not().empty())
    GTEST_SKIP() << host::why_not();
  for (const std::string &problem : differences_on_host(subjects))
    ADD_FAILURE() << problem;
}

/// The sum exceeds 32 bits, and the operands have their minimum and maximum values.
TEST(Intrinsics, Dp4aWrapsModulo32Bits) {
  for (DType dtype : {DType::i8, DType::u8}) {
    Schedule s = dot_tiles({17, 15, 64}, dtype, "dp4a");
    std::vector<Array> arrays;
    for (const Buffer &param : s.source().params) {
      Array &array = arrays.emplace_back(param->dtype, constant_shape(param));
      for (std::int64_t n = 0; n < array.size(); ++n)
        array.set(n,
                  byte_size(param->dtype) == 1
                      ? Scalar{param->dtype, std::array{0x80U, 0x7fU, 0xffU}[static_cast<std::size_t>(n % 3)]}
                      : Scalar{param->dtype, dtype == DType::i8 ? 0x7ffffff0U : 0xfffffff0U});
    }
    std::vector<Array> simulated = arrays;
    interpret(s.source(), arrays, {});
    EXPECT_TRUE(SimExecutor().run(lower(s), simulated, {}).diagnostics.empty());
    EXPECT_EQ(simulated, arrays) << name(dtype);
  }
}

TEST(Intrinsics, Dp4aRunsOnTheHost) {
  if (!host::why_not().empty())
    GTEST_SKIP() << host::why_not();
  std::vector<Subject> subjects;
  for (DType dtype : {DType::i8, DType::u8}) {
    Schedule s = dot_tiles({17, 15, 33}, dtype, "dp4a");
    kernel::Plan plan = lower(s);
    subjects.push_back({std::string(name(dtype)), std::move(s), std::move(plan)});
  }
  for (const std::string &problem : differences_on_host(subjects))
    ADD_FAILURE() << problem;
}

TEST(Intrinsics, NvrtcCompilesDp4a) {
  const cuda::Nvrtc *nvrtc = nullptr;
  try {
    nvrtc = &cuda::Nvrtc::get();
  } catch (const UserError &error) {
    GTEST_SKIP() << "needs NVRTC: " << error.what();
  }
  for (DType dtype : {DType::i8, DType::u8})
    for (const char *arch : {"sm_75", "sm_80", "sm_90a"}) {
      kernel::Kernel kernel = lower(dot_tiles({129, 130, 131}, dtype, "dp4a")).only();
      std::string text = cuda_kernel(kernel);
      EXPECT_NE(text.find("return __dp4a(a, b, sum);"), std::string::npos);
      cuda::Compiled compiled = nvrtc->compile(text, entry_name(kernel), arch);
      EXPECT_EQ(compiled.spill_stores + compiled.spill_loads, 0) << arch;
      auto code = model::machine_code(compiled.cubin, entry_name(kernel)); // empty before sm_80
      EXPECT_TRUE(code.empty() || std::ranges::count_if(code, &model::Instruction::dp4a) >= 4)
          << arch << ", one for each call";
    }
}

/// Y = 2*X for m x n elements by vectors of `lanes` elements. Each row is distributed over threads.
Schedule doubled(std::int64_t m, std::int64_t n, std::int64_t lanes, DType dtype) {
  Workload w("doubled");
  Tensor x = w.placeholder("X", {m, n}, dtype);
  Tensor y = w.compute("Y", {m, n}, {"i", "j"},
                       [&](Expr i, Expr j) -> Definition { return x(i, j) * constant(dtype, 2); });
  Schedule s(w.output({y}));
  auto [block, thread, lane] = s.split(s.loop("j"), {infer, 8, lanes});
  s.bind(block, Axis::block_x);
  s.bind(thread, Axis::thread_x);
  s.vectorize(lane);
  return s;
}

TEST(Vectors, OfEveryWidthAreRightWithTails) {
  for (DType dtype : {DType::f32, DType::u32})
    for (std::int64_t lanes : {2, 4})
      for (std::int64_t n : {lanes, 8 * lanes, 9 * lanes, 31 * lanes})
        expect_right(doubled(3, n, lanes, dtype));
}

TEST(Vectors, WhereTheLastGroupIsPartialAreRefused) {
  for (std::int64_t n : {1, 5, 127, 1023})
    try {
      doubled(3, n, 4, DType::f32);
      ADD_FAILURE() << n;
    } catch (const ScheduleError &error) {
      EXPECT_NE(
          error.message().find("the bound " + std::to_string(n) + " and each start must be multiples of 4"),
          std::string::npos)
          << error.what();
    }
}

TEST(Variants, NameTheExtentsThatAreNoMultiples) {
  EXPECT_FALSE(scalar_unless_multiples({1, 8, 12}, {{"N", 1}, {"K", 2}}, 4));
  auto variant = scalar_unless_multiples({8, 129, 131}, {{"M", 0}, {"N", 1}, {"K", 2}}, 4);
  ASSERT_TRUE(variant);
  EXPECT_EQ(variant->name, "scalar");
  EXPECT_EQ(variant->why, "N % 4 = 1, K % 4 = 3");
  auto one = scalar_unless_multiples({1, 8, 13}, {{"N", 1}, {"K", 2}}, 4);
  ASSERT_TRUE(one);
  EXPECT_EQ(one->why, "K % 4 = 1");
  Shape sizes = {8, 8, 8};
  sizes.stated = Size{.multiple_of = 8};
  EXPECT_FALSE(scalar_unless_multiples(sizes, {{"N", 1}}, 4));
  sizes.stated->multiple_of = 6;
  auto symbolic = scalar_unless_multiples(sizes, {{"N", 1}}, 4);
  ASSERT_TRUE(symbolic);
  EXPECT_EQ(symbolic->why, "sizes are multiples of 6, not of 4");
}

TEST(Variants, OfTheFloat4RungsFollowTheShape) {
  for (const char *name :
       {"transposed/float4", "worklog/6", "worklog/7", "worklog/8", "worklog/9", "worklog/10"}) {
    const Rung &vectorized = rung(name);
    ASSERT_TRUE(vectorized.variant);
    EXPECT_EQ(vectorized.variant({127, 128, 132}, DType::f32), std::nullopt) << "M may be anything";
    EXPECT_EQ(vectorized.variant({128, 128, 131}, DType::f32)->why, "K % 4 = 3");
    auto text = [&](const Shape &shape) {
      return cuda_kernel(lower(vectorized.build(shape, DType::f32, Target{})).only());
    };
    EXPECT_NE(text({127, 128, 132}).find("float4 A_v"), std::string::npos);
    EXPECT_EQ(text({128, 128, 131}).find("float4"), std::string::npos);
  }
}

TEST(Variants, WithVectorsServeElementsOfTwoBytes) {
  for (const char *name : {"transposed/float4", "worklog/6", "worklog/8", "worklog/10", "tvm_steps/step4",
                           "ladder/warps", "fast/gemm"}) {
    const Rung &vectorized = rung(name);
    EXPECT_EQ(vectorized.variant({128, 132, 136}, DType::f16), std::nullopt);
    for (const Shape &shape : {Shape{127, 132, 20}, Shape{128, 130, 36}}) {
      Schedule s = vectorized.build(shape, DType::f16, Target{});
      expect_right(s);
      bool vectors = cuda_kernels(lower(s)).find("struct __align__(8) f16x4 {") != std::string::npos;
      EXPECT_TRUE(vectors || shape[1] % 4 != 0) << name;
    }
  }
}

TEST(Variants, OfTheFloat4RungsAreRightAtMixedSizes) {
  for (const char *name :
       {"transposed/float4", "worklog/6", "worklog/7", "worklog/8", "worklog/9", "worklog/10"})
    for (const Shape &shape : {Shape{127, 132, 20}, Shape{1, 4, 4}, Shape{130, 4, 12}, Shape{5, 260, 8}})
      for (DType dtype : {DType::f32, DType::u32})
        expect_right(rung(name).build(shape, dtype, Target{}));
}

} // namespace
} // namespace nestsmith
