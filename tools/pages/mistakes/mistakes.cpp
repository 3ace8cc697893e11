#include "tools/pages/mistakes/mistakes.h"

#include "codegen/cuda.h"
#include "lowering/lower.h"
#include "runtime/check/check.h"
#include "runtime/check/sim_executor.h"
#include "tools/pages/mistakes/tiles_of_a_post.h"

#include <algorithm>
#include <iterator>

namespace nestsmith {

namespace {

std::vector<Mistake> refused_and_reported() {
  return {
      {"deep_dive", "row_modulo_n", "the naive kernel takes its row from tid % N and its column from tid / N",
       "that is right only where M = N: with M = 64 and N = 32 the column runs to 63, past the end of B's "
       "rows, "
       "and two threads write one element of C; the row is tid % M",
       "deep_dive/naive", "but B has 512 elements", [] { return mistake::row_modulo_n(); }},
      {"deep_dive", "inner_row_b",
       "the 1-D tiling fetches B at [innerRowB, innerRowB], and its result is listed as passed",
       "every column of a tile then holds the same 8 elements of B; the column is innerColB",
       "deep_dive/tile1d", ": got ", [] { return mistake::inner_row_b(); }},
      {"transposed", "narrow_tile",
       "a narrower tile, WID 16 at TILESZ 16, needs less shared memory, so more threads fit",
       "the fetch fills WID of the tile's 4*TILESZ = 64 rows, so WID must be 64: with 16, rows 16 to 63 are "
       "read "
       "and nobody has written them",
       "transposed/registers", "which nothing has written yet", [] { return mistake::narrow_tile(); }},
      {"deep_dive", "bm_equals_tm", "in the kernel with a 1-D tile, BM must be equal to TM",
       "each thread fetches one element of each tile, so BM*BN/TM threads need BM*BK = BK*BN elements: BM = BN "
       "= "
       "BK*TM. With BM = TM = 8, 64 threads fetch 64 of the 512 elements of B's tile",
       "deep_dive/tile1d", "which nothing has written yet", [] { return mistake::bm_equals_tm(); }},
      {"transposed", "undeclared_w", "the tiled kernel indexes A and B by row*w and col*w, and declares no w",
       "a row of A and of B has K elements, so w is K: as W, which the kernel has, the rows start elsewhere, "
       "and "
       "the last ones are past the end",
       "transposed/shared", "but A has 2048 elements", [] { return mistake::undeclared_w(); }},
      {"transposed", "guard_of_thread",
       "the register kernel guards the fetch of A by row < H, the row of the thread",
       "a thread fetches other rows than its own: with H = 100, the rows 100 to 127 of the second tile are "
       "past the "
       "end of A; the guard belongs to the row of the element",
       "transposed/registers", "but A has 6400 elements", [] { return mistake::guard_of_thread(); }},
      {"transposed", "btsz_of_8", "BTSZ is a parameter of the vectorized kernel",
       "it may only be 4: one float4 fills rA and rB, and the last loop stores 4 x 4 results; with 8, half of "
       "the "
       "registers are read and nobody has written them",
       "transposed/float4", "which it has not written", [] { return mistake::btsz_of_8(); }},
      {"tvm_steps", "thread_extents",
       "step 3 splits the fetch of a tile's 1024 elements into 8 x 128 and binds the 128 to threadIdx.x, "
       "which has extent 4 in the computation of the product",
       "all loops bound to threadIdx.x must have the same extent; the 1024 elements need a third factor: 32 "
       "iterations of the 32 threads",
       "tvm_steps/step3", "threadIdx.x", mistake::thread_extents},
      {"tvm_steps", "vector_rows", "step 4 vectorizes i_elem, the loop over the rows of a thread's results",
       "the elements of a column are a whole row apart, and a float4 takes 4 that are side by side: vectorize "
       "j_elem",
       "tvm_steps/step4", "with a stride of 512", mistake::vector_rows},
      {"tvm_steps", "writeback_in_pipeline",
       "step 5 gives the pipeline over k four parts with the stages 0, 0, 1 and 2: two fetches, the product "
       "and "
       "the copy of the results to C",
       "before the last iteration the results are partial sums, and the next iteration overwrites them; the "
       "copy "
       "belongs after the loop",
       "tvm_steps/step5", "it is complete only after the last iteration", mistake::writeback_in_pipeline},
  };
}

} // namespace

const std::vector<Mistake> &mistakes() {
  static const std::vector<Mistake> all = [] {
    std::vector<Mistake> list = refused_and_reported();
    std::ranges::move(mistake::wrong_figures(), std::back_inserter(list));
    std::ranges::move(mistake::wrong_gpu_figures(), std::back_inserter(list));
    std::ranges::stable_sort(list, {}, &Mistake::tutorial);
    return list;
  }();
  return all;
}

std::string_view name(LintVerdict verdict) {
  switch (verdict) {
  case LintVerdict::refused:
    return "refused";
  case LintVerdict::reported:
    return "reported";
  case LintVerdict::counted:
    return "counted";
  case LintVerdict::passed:
    break;
  }
  return "passed";
}

namespace {

/// Moves a message that contains `diagnostic` to the front. Returns whether there is one.
bool bring_forward(std::vector<std::string> &said, const std::string &diagnostic) {
  auto found = std::find_if(said.begin(), said.end(), [&](const std::string &message) {
    return message.find(diagnostic) != std::string::npos;
  });
  if (found == said.end())
    return false;
  std::rotate(said.begin(), found, std::next(found));
  return true;
}

LintResult check_plan(const Mistake &mistake, const Program &computation, const kernel::Plan &plan) {
  LintResult result;
  SimExecutor simulator;
  CheckResult checked = check(Schedule(computation), plan, simulator);
  result.said = checked.messages();
  result.example = cuda_kernels(plan);
  if (bring_forward(result.said, mistake.diagnostic) && !checked.passed)
    result.verdict = LintVerdict::reported;
  return result;
}

LintResult check_schedule(const Mistake &mistake, const std::function<Schedule()> &build) {
  try {
    Schedule schedule = build();
    return check_plan(mistake, schedule.source(), lower(schedule));
  } catch (const ScheduleError &error) {
    LintResult result{LintVerdict::refused, {error.directive() + ": " + error.message()}, error.marked()};
    if (!bring_forward(result.said, mistake.diagnostic))
      result.verdict = LintVerdict::passed;
    return result;
  }
}

} // namespace

static LintResult check_claim(const Mistake &mistake, const FigureClaim &claim) {
  LintResult result{LintVerdict::counted, {claim.said}, claim.example};
  if (claim.claimed == claim.counted || !bring_forward(result.said, mistake.diagnostic))
    result.verdict = LintVerdict::passed;
  return result;
}

LintResult lint(const Mistake &mistake) {
  if (const auto *claim = std::get_if<std::function<FigureClaim()>>(&mistake.example))
    return check_claim(mistake, (*claim)());
  if (const auto *build = std::get_if<std::function<Schedule()>>(&mistake.example))
    return check_schedule(mistake, *build);
  HandWritten written = std::get<std::function<HandWritten()>>(mistake.example)();
  return check_plan(mistake, written.computation, written.kernel);
}

} // namespace nestsmith
