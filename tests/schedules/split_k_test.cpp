/// Tests split-K: parts of a long sum are computed in parallel, and a second kernel or the last block of the
/// same kernel adds them.

#include "codegen/cuda.h"
#include "codegen/standalone.h"
#include "lowering/lower.h"
#include "runtime/check/check.h"
#include "runtime/check/sim_executor.h"
#include "runtime/check/stored_array.h"
#include "runtime/cuda/nvrtc.h"
#include "schedules/fetch.h"
#include "schedules/workloads.h"
#include "tests/codegen/host_text.h"
#include "tests/dsl/support.h"
#include "tests/gemm_sizes.h"
#include "tests/golden.h"
#include "tests/schedules/host_compare.h"

#include <gmock/gmock.h>

namespace nestsmith {
namespace {

/// Schedules 16 x 16 tiles through shared memory. Each index of blockIdx.z computes a part of K.
Schedule split_k(const Shape &shape, DType dtype, std::int64_t parts) {
  Schedule s(gemm(shape, dtype));
  auto AB = s.block("AB"), C = s.block("C");
  auto [i, j, k] = s.loops<3>(AB);
  auto [i_block, j_block, i_thread, j_thread] = s.tile(i, j, {16, 16});
  auto [part, k_outer, k_inner] = s.split(k, {parts, infer, 16});
  auto partial = s.rfactor(part);
  s.reorder({part, i_block, j_block, i_thread, j_thread, k_outer, k_inner});
  auto writeback = s.cache_write(partial, Scope::local);
  auto thread = s.fuse(i_thread, j_thread);
  s.reverse_compute_at(writeback, thread);
  s.bind(part, Axis::block_z);
  s.bind(i_block, Axis::block_y);
  s.bind(j_block, Axis::block_x);
  s.bind(thread, Axis::thread_x);
  fetch_tile(s, partial, "A", k_outer, 256);
  fetch_tile(s, partial, "B", k_outer, 256);

  auto [row_block, column_block, row, column] = s.tile(s.loops(AB)[0], s.loops(AB)[1], {8, 32});
  s.set_scope(AB, Scope::local);
  s.reverse_compute_at(C, column);
  s.bind(row_block, Axis::block_y);
  s.bind(column_block, Axis::block_x);
  s.bind(row, Axis::thread_y);
  s.bind(column, Axis::thread_x);
  return s;
}

/// Like `split_k`, in one kernel: the last block of a tile adds the parts.
Schedule split_k_in_one(const Shape &shape, DType dtype, std::int64_t parts) {
  Schedule s(gemm(shape, dtype));
  auto AB = s.block("AB"), C = s.block("C");
  auto [i, j, k] = s.loops<3>(AB);
  auto [i_block, j_block, i_thread, j_thread] = s.tile(i, j, {16, 16});
  // If K is known only at launch, the number of parts is, too.
  auto [part, k_outer, k_inner] =
      shape.stated ? s.split(k, {infer, parts, 16}) : s.split(k, {parts, infer, 16});
  auto partial = s.rfactor(part);
  s.reorder({i_block, j_block, part, i_thread, j_thread, k_outer, k_inner});
  auto writeback = s.cache_write(partial, Scope::local);
  auto thread = s.fuse(i_thread, j_thread);
  s.reverse_compute_at(writeback, thread);
  s.bind(part, Axis::block_z);
  s.bind(i_block, Axis::block_y);
  s.bind(j_block, Axis::block_x);
  s.bind(thread, Axis::thread_x);
  fetch_tile(s, partial, "A", k_outer, 256);
  fetch_tile(s, partial, "B", k_outer, 256);

  s.reverse_compute_at(AB, j_block);
  s.last_block(part);
  s.set_scope(AB, Scope::local);
  auto element = s.fuse(s.loops_below(AB, j_block)[0], s.loops_below(AB, j_block)[1]);
  s.reverse_compute_at(C, element);
  s.bind(element, Axis::thread_x);
  return s;
}

/// Like `split_k_in_one`, in two levels: the last block of each group of parts adds them, and the last of these
/// blocks adds the sums of the groups.
Schedule split_k_in_groups(const Shape &shape, DType dtype, std::int64_t groups, std::int64_t parts) {
  Schedule s(gemm(shape, dtype));
  auto AB = s.block("AB"), C = s.block("C");
  auto [i, j, k] = s.loops<3>(AB);
  auto [i_block, j_block, i_thread, j_thread] = s.tile(i, j, {16, 16});
  auto [group, part, k_outer, k_inner] = s.split(k, {groups, parts, infer, 4});
  auto of_group = s.rfactor(group);
  auto partial = s.rfactor(part);
  s.reorder({i_block, j_block, group, part, i_thread, j_thread, k_outer, k_inner});
  auto tile = s.fuse(i_block, j_block);
  auto writeback = s.cache_write(partial, Scope::local);
  auto thread = s.fuse(i_thread, j_thread);
  s.reverse_compute_at(writeback, thread);
  s.bind(part, Axis::block_z);
  s.bind(group, Axis::block_y);
  s.bind(tile, Axis::block_x);
  s.bind(thread, Axis::thread_x);
  auto bind_threads = [&](BlockRef sum, Loop at) {
    std::vector<Loop> below = s.loops_below(sum, at);
    auto element = s.fuse(below[below.size() - 3], below[below.size() - 2]);
    s.bind(element, Axis::thread_x);
    return element;
  };
  s.reverse_compute_at(of_group, group);
  s.last_block(part);
  bind_threads(of_group, group);
  s.reverse_compute_at(AB, tile);
  s.last_block(group);
  s.set_scope(AB, Scope::local);
  s.reverse_compute_at(C, bind_threads(AB, tile));
  return s;
}

TEST(SplitKInGroups, IsRightInEveryOrderOfBlocks) {
  for (const Shape &shape : {Shape{17, 20, 29}, Shape{33, 18, 5}})
    for (auto [groups, parts] : {std::pair(3, 2), std::pair(1, 4), std::pair(4, 1)}) {
      Schedule s = split_k_in_groups(shape, DType::u32, groups, parts);
      ASSERT_TRUE(s.obligations().empty()) << s.obligations().front().message;
      kernel::Plan plan = lower(s);
      EXPECT_EQ(plan.kernels.size(), 1U);
      SimExecutor simulator; // also tries each block of a counter as the last one
      CheckResult result = check(s, plan, simulator);
      EXPECT_TRUE(result.passed) << to_string(shape) << " in " << groups << "x" << parts << "\n"
                                 << (result.passed ? "" : result.messages().front());
    }
}

TEST(SplitKInGroups, ExchangesTheSumsOfTheGroups) {
  kernel::Plan plan = lower(split_k_in_groups({33, 20, 130}, DType::u32, 3, 2));
  ASSERT_EQ(plan.workspaces.size(), 4U);
  EXPECT_EQ(kernel::element_count(plan.workspaces[0].buffer) + kernel::element_count(plan.workspaces[1].buffer),
            3 * 2 * 3 + 3 * 2);
  std::string text = cuda_kernels(plan); // no pointer to what blocks exchange is __restrict__
  for (const char *parameter : {"unsigned int *AB_rf,", "unsigned int *AB_rf_rf,"})
    EXPECT_TRUE(test::contains(text, parameter));
}

TEST(SplitKInOneKernel, IsRightAtEverySizeInEveryOrderOfBlocks) {
  for (const Shape &shape : {Shape{1, 1, 1}, Shape{17, 15, 129}, Shape{33, 16, 64}, Shape{16, 16, 5}})
    for (std::int64_t parts : {1, 3, 4})
      for (DType dtype : {DType::u32, DType::f32}) {
        Schedule s = split_k_in_one(shape, dtype, parts);
        ASSERT_TRUE(s.obligations().empty()) << s.obligations().front().message;
        kernel::Plan plan = lower(s);
        EXPECT_EQ(plan.kernels.size(), 1U);
        for (std::uint64_t order : {0, 1, 2}) {
          SimExecutor simulator({.order = order});
          CheckResult result = check(s, plan, simulator);
          EXPECT_TRUE(result.passed) << to_string(shape) << " in " << parts << " in the order " << order << "\n"
                                     << (result.passed ? "" : result.messages().front());
        }
      }
}

TEST(SplitKInOneKernel, KeepsItsMeaningAtEveryStep) {
  EXPECT_TRUE(test::same_meaning(split_k_in_one({9, 7, 50}, DType::u32, 3)));
}

TEST(SplitKInOneKernel, IsRightForSizesThatAreKnownAtLaunch) {
  Shape any = {1, 1, 1};
  any.stated = Size{};
  Schedule s = split_k_in_one(any, DType::u32, 4);
  kernel::Plan plan = lower(s);
  SimExecutor simulator;
  for (const Shape &shape : {Shape{1, 1, 1}, Shape{17, 33, 129}, Shape{40, 5, 64}}) {
    CheckResult result = check(s, with_sizes(plan, sizes_for(s.source(), shape, 0)), simulator);
    EXPECT_TRUE(result.passed) << to_string(shape) << "\n" << (result.passed ? "" : result.messages().front());
  }
}

TEST(SplitKInOneKernel, RunsOnTheHostAsInTheSimulator) {
  if (!host::why_not().empty())
    GTEST_SKIP() << host::why_not();
  std::vector<Subject> subjects;
  for (DType dtype : {DType::u32, DType::f32}) {
    Schedule s = split_k_in_one({33, 20, 130}, dtype, 3);
    kernel::Plan plan = lower(s);
    subjects.push_back({"split-K", std::move(s), std::move(plan)});
  }
  for (const std::string &problem : differences_on_host(subjects))
    ADD_FAILURE() << problem;
  // The standalone program launches the kernel several times with the same counters.
  Schedule s = split_k_in_one({33, 20, 130}, DType::f32, 3);
  EXPECT_EQ(run_on_host(emit_standalone({}, lower(s), s.source())), 0);
}

TEST(SplitKInOneKernel, CountsAtTheStartOfItsWorkspace) {
  kernel::Plan plan = lower(split_k_in_one({33, 20, 130}, DType::f32, 3));
  ASSERT_EQ(plan.workspaces.size(), 2U);
  EXPECT_TRUE(plan.workspaces[0].counters);
  EXPECT_EQ(as_int(plan.workspaces[0].byte_offset), 0);
  EXPECT_EQ(kernel::element_count(plan.workspaces[0].buffer), 3 * 2);
  EXPECT_EQ(as_int(plan.counter_bytes()), 3 * 2 * 4);
  EXPECT_FALSE(plan.workspaces[1].counters);
  EXPECT_EQ(as_int(lower(split_k({33, 20, 130}, DType::f32, 3)).counter_bytes()), 0);
}

TEST(SplitKInOneKernel, RunsFromAFile) {
  for (auto [shape, parts] : {std::pair<Shape, std::int64_t>{{33, 20, 130}, 3}, {{16, 40, 64}, 2}}) {
    Schedule s = split_k_in_one(shape, DType::f32, parts);
    kernel::Plan plan = lower(s);
    EmitInfo info;
    info.sizes = gemm_sizes(shape[0], shape[1], shape[2]);
    EXPECT_TRUE(test::contains(emit(info, plan), "The workspace begins with counters"));
    EXPECT_TRUE(test::contains(emit_header(info, plan), "The workspace begins with counters"));
    EXPECT_EQ(run_on_host(emit_standalone(info, plan, s.source()), 1000), 0);
  }
}

TEST(SplitKInOneKernel, CompilesForEveryArchitecture) {
  const cuda::Nvrtc *nvrtc = nullptr;
  try {
    nvrtc = &cuda::Nvrtc::get();
  } catch (const UserError &error) {
    GTEST_SKIP() << "needs NVRTC: " << error.what();
  }
  kernel::Plan plan = lower(split_k_in_one({512, 500, 4096}, DType::f32, 8));
  for (const char *arch : {"sm_75", "sm_80", "sm_90a", "sm_120"}) {
    cuda::Compiled compiled = nvrtc->compile(cuda_kernels(plan), entry_name(plan.only()), arch);
    EXPECT_EQ(compiled.spill_stores + compiled.spill_loads, 0);
  }
}

TEST(SplitKInOneKernel, TheFileThatIsShipped) {
  Schedule s = split_k_in_one({1000, 777, 3333}, DType::f32, 4);
  EmitInfo info;
  info.title = "split-K in one kernel";
  info.sizes = gemm_sizes(1000, 777, 3333);
  EXPECT_TRUE(matches_golden("split_k_in_one_1000x777x3333_emit.cu", emit(info, lower(s))));
}

TEST(SplitKInOneKernel, ACounterThatIsTooLargeEndsTheLaunch) {
  EmitInfo info;
  info.sizes = gemm_sizes(9, 8, 40);
  const std::string text = emit(info, lower(split_k_in_one({9, 8, 40}, DType::f32, 4))) + R"(
int main() {
  static float A[9 * 40], B[40 * 8], C[9 * 8];
  alignas(256) static unsigned char room[1 << 16];
  memset(room, CONTENT, sizeof(room));
  memset(room + 1024, 0xff, sizeof(room) - 1024);
  return gemm_launch(A, B, C, 9, 8, 40, 40, 8, 8, 1, 0, room, sizeof(room), nullptr) != cudaSuccess;
}
)";
  auto run = [&](const char *content, std::string *output) {
    std::string source = text;
    source.replace(source.find("CONTENT"), 7, content);
    return run_on_host(source, 8, output);
  };
  std::string output;
  EXPECT_EQ(run("0", &output), 0) << output;
  EXPECT_NE(run("0xff", &output), 0);
  EXPECT_THAT(output, testing::HasSubstr("a kernel has executed __trap()"));
}

/// So that the counters of launches of other sizes are not overwritten.
TEST(SplitKInOneKernel, LeavesRoomForTheCountersOfOtherSizes) {
  kernel::Plan plan = lower(split_k_in_one({100, 77, 333}, DType::f32, 4));
  ASSERT_EQ(plan.workspaces.size(), 2U);
  EXPECT_TRUE(plan.has_counters());
  const std::int64_t counters = *as_int(plan.counter_bytes()), bytes = kernel::workspace_bytes(plan);
  EXPECT_LT(counters, 4096);
  plan.reserve_counters(4096);
  EXPECT_EQ(*as_int(plan.counter_bytes()), counters);
  for (const kernel::Workspace &workspace : plan.workspaces)
    EXPECT_EQ(*as_int(workspace.byte_offset), workspace.counters ? 0 : 4096);
  EXPECT_EQ(kernel::workspace_bytes(plan), bytes - 256 + 4096) << "the counters took 256 bytes before";
  EXPECT_THAT(emit({}, plan), testing::HasSubstr("The first 4096 bytes of the workspace are counters"));
}

TEST(SplitK, IsRightAtEverySize) {
  SimExecutor simulator;
  for (const Shape &shape :
       {Shape{1, 1, 1}, Shape{17, 15, 129}, Shape{33, 16, 64}, Shape{16, 16, 5}, Shape{5, 40, 200}})
    for (std::int64_t parts : {1, 3, 4})
      for (DType dtype : {DType::u32, DType::f32}) {
        Schedule s = split_k(shape, dtype, parts);
        EXPECT_TRUE(s.obligations().empty()) << s.obligations().front().message;
        CheckResult result = check(s, lower(s), simulator);
        EXPECT_TRUE(result.passed) << to_string(shape) << " in " << parts << "\n"
                                   << (result.passed ? "" : result.messages().front());
      }
}

TEST(SplitK, KeepsItsMeaningAtEveryStep) {
  EXPECT_TRUE(test::same_meaning(split_k({9, 7, 50}, DType::u32, 3)));
}

TEST(SplitK, ItsKernelsCompileForEveryArchitecture) {
  const cuda::Nvrtc *nvrtc = nullptr;
  try {
    nvrtc = &cuda::Nvrtc::get();
  } catch (const UserError &error) {
    GTEST_SKIP() << "needs NVRTC: " << error.what();
  }
  kernel::Plan plan = lower(split_k({512, 500, 4096}, DType::f32, 8));
  ASSERT_EQ(plan.kernels.size(), 2U);
  std::string text = cuda_kernels(plan);
  for (const char *arch : {"sm_75", "sm_80", "sm_90", "sm_120"})
    for (const kernel::Kernel &kernel : plan.kernels) {
      cuda::Compiled compiled = nvrtc->compile(text, entry_name(kernel), arch);
      EXPECT_GT(compiled.registers, 0);
      EXPECT_EQ(compiled.spill_stores + compiled.spill_loads, 0);
      EXPECT_EQ(compiled.shared_bytes, kernel.shared_bytes);
    }
}

TEST(SplitK, TheFileThatIsShipped) {
  Schedule s = split_k({1000, 777, 3333}, DType::f32, 4);
  EmitInfo info;
  info.title = "split-K";
  info.sizes = gemm_sizes(1000, 777, 3333);
  EXPECT_TRUE(matches_golden("split_k_1000x777x3333_emit.cu", emit(info, lower(s))));
}

} // namespace
} // namespace nestsmith
