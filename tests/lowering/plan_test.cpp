/// Tests programs of several nests: each nest becomes a kernel, and global temporaries become workspaces.

#include "lowering/lower.h"
#include "tests/dsl/support.h"

#include <gtest/gtest.h>

namespace nestsmith {
namespace {

using test::chain;
using test::gemm;

TEST(Plan, OfOneNestIsItsKernel) {
  Schedule s(test::product(3, 5, 4));
  kernel::Plan plan = lower(s);
  EXPECT_EQ(plan.name, "product");
  EXPECT_EQ(plan.only().name, "product");
  EXPECT_EQ(plan.only().params, plan.params);
  EXPECT_TRUE(plan.workspaces.empty());
  EXPECT_EQ(workspace_bytes(plan), 0);
}

TEST(Plan, MakesAKernelOfEachNestWithWhatItUses) {
  Schedule s(gemm(3, 5, 4, DType::f32));
  kernel::Plan plan = lower(s);
  ASSERT_EQ(plan.kernels.size(), 2U);
  EXPECT_EQ(plan.name, "gemm");
  EXPECT_EQ(plan.scalars.size(), 2U);
  const kernel::Kernel &product = plan.kernels[0], &epilogue = plan.kernels[1];
  EXPECT_EQ(product.name, "gemm_AB");
  EXPECT_EQ(epilogue.name, "gemm_C");
  EXPECT_TRUE(product.scalars.empty());
  EXPECT_EQ(epilogue.scalars, plan.scalars);
  EXPECT_EQ(plan.arguments(product), (std::vector<std::size_t>{0, 1, 3})); // A, B, the workspace
  EXPECT_EQ(plan.arguments(epilogue), (std::vector<std::size_t>{2, 3}));   // C, the workspace
  EXPECT_EQ(plan.scalar_arguments(epilogue), (std::vector<std::size_t>{0, 1}));
  EXPECT_EQ(product.threads(), 1) << "what is not bound is one thread's";
  EXPECT_TRUE(kernel::print(plan).starts_with("workspace AB[3, 5]: f32 at byte 0\n\nkernel gemm_AB("));
}

TEST(Plan, AlignsWorkspaces) {
  kernel::Plan plan = lower(Schedule(chain(3, 23)));
  ASSERT_EQ(plan.workspaces.size(), 2U);
  EXPECT_EQ(as_int(plan.workspaces[0].byte_offset), 0);
  EXPECT_EQ(as_int(plan.workspaces[1].byte_offset), 512); // the first multiple of 256 after 276 bytes
  EXPECT_EQ(workspace_bytes(plan), 512 + 276);
}

TEST(Plan, EachKernelHasAGridOfItsOwn) {
  Schedule s(chain(8, 4));
  s.bind(s.loop("i"), Axis::block_x);
  s.bind(s.loop("U_i"), Axis::thread_x);
  auto [outer, inner] = s.split(s.fuse(s.loop("Y_i"), s.loop("Y_j")), {infer, 5});
  s.bind(outer, Axis::block_x);
  s.bind(inner, Axis::thread_x);
  kernel::Plan plan = lower(s);
  using Extents = std::array<std::int64_t, 3>;
  EXPECT_EQ(plan.kernels[0].grid(), (Extents{8, 1, 1}));
  EXPECT_EQ(plan.kernels[1].block(), (Extents{8, 1, 1}));
  EXPECT_EQ(plan.kernels[2].grid(), (Extents{7, 1, 1}));
  EXPECT_EQ(plan.kernels[2].block(), (Extents{5, 1, 1}));
}

TEST(Plan, InitAndUpdateMayBeTwoKernels) {
  Schedule s(test::product(4, 6, 5));
  s.reorder({s.loop("k"), s.loop("i"), s.loop("j")});
  s.decompose_reduction(s.block("C"), s.loop("k"));
  kernel::Plan plan = lower(s);
  ASSERT_EQ(plan.kernels.size(), 2U);
  EXPECT_EQ(plan.kernels[0].name, "product_C_init");
  EXPECT_TRUE(plan.workspaces.empty());
}

TEST(Plan, ASumWhoseLoopsStandOutsideStaysOneKernel) {
  Schedule s(test::product(4, 6, 5));
  s.reorder({s.loop("k"), s.loop("i"), s.loop("j")});
  EXPECT_EQ(lower(s).kernels.size(), 1U) << "its init is made by lowering, in its nest";
}

TEST(Plan, PassesShowAllKernels) {
  std::string last;
  lower(Schedule(gemm(3, 5, 4)), [&](const PassRecord &record) { last = record.text; });
  EXPECT_TRUE(test::contains(last, "kernel gemm_AB("));
  EXPECT_TRUE(test::contains(last, "kernel gemm_C("));
}

TEST(Plan, TailsOfATileOfAWorkspaceAreFilled) {
  Schedule s(gemm(5, 6, 7, DType::f32));
  Loop i = s.loop("C_i"), j = s.loop("C_j");
  auto [outer, inner] = s.split(j, {infer, 4});
  BlockRef tile = s.cache_read(s.block("C"), "AB", Scope::shared);
  s.compute_at(tile, outer);
  s.bind(i, Axis::block_x);
  s.bind(inner, Axis::thread_x);
  s.bind(s.loops(tile).back(), Axis::thread_x);
  std::string text = kernel::print(lower(s));
  EXPECT_TRUE(test::contains(text, "AB_shared[tid] = (AB[C_i*6 + AB_j] where AB_j < 6 else 0.0)")) << text;
}

} // namespace
} // namespace nestsmith
