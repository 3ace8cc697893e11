#include "schedules/deep_dive/rungs.h"
#include "schedules/convolutions/convolutions.h"
#include "schedules/fast/rungs.h"
#include "schedules/gemm/rungs.h"
#include "schedules/hopper/rungs.h"
#include "schedules/kernels.h"
#include "schedules/ladder/rungs.h"
#include "schedules/matvecs/matvecs.h"
#include "schedules/principles/rungs.h"
#include "schedules/reductions/reductions.h"
#include "schedules/rows/rows.h"
#include "schedules/rung.h"
#include "schedules/stencils/stencils.h"
#include "schedules/tensor/rungs.h"
#include "schedules/tensor/tiles.h"
#include "schedules/tiling/rungs.h"
#include "schedules/transposed/rungs.h"
#include "schedules/transposes/transposes.h"
#include "schedules/tvm_steps/rungs.h"
#include "schedules/tvm_steps/tiles.h"
#include "schedules/workloads.h"
#include "schedules/worklog/rungs.h"

#include <fmt/format.h>

namespace nestsmith {

/// The schedule with the default of each knob: a climb has one way.
static BuildFunction with_defaults(BuildFunction build) {
  return [build = std::move(build)](const Shape &shape, DType dtype, const Target &target) {
    return build(shape, dtype, target);
  };
}

/// A rung of the tutorial `tensor`.
static Rung on_matrix_units(const char *name, const char *summary, BuildFunction build, Shape tile,
                            Feature needs, const char *against = "", std::optional<Lesson> lesson = {},
                            std::optional<Variant> (*variant)(const Shape &, DType) = tensor::variant) {
  return {.tutorial = "tensor",
          .name = name,
          .summary = summary,
          .build = std::move(build),
          .tile = std::move(tile),
          .default_shape = {256, 256, 256},
          .variant = variant,
          .dtypes = {tensor::dtypes.begin(), tensor::dtypes.end()},
          .needs = needs,
          .against = against,
          .lesson = std::move(lesson)};
}

static Rung with_kernels(Rung rung, KernelSpace kernels) {
  rung.kernels = std::move(kernels);
  rung.kernel_tables = kernel_tables();
  return rung;
}

/// The rungs of a tutorial on a computation of rows.
static std::vector<Rung> of_rows(const char *tutorial, const char *computation,
                                 Program (*workload)(const Shape &, DType)) {
  auto rung = [&](const char *name, std::string summary, BuildFunction build, Shape tile) -> Rung {
    return {.tutorial = tutorial,
            .name = name,
            .summary = std::move(summary),
            .build = std::move(build),
            .tile = std::move(tile),
            .default_shape = {256, 1024},
            .gpu_shape = {4096, 4096},
            .dtypes = {rows::dtypes.begin(), rows::dtypes.end()}};
  };
  auto fixed = [&](auto way) {
    return [=](const Shape &shape, DType dtype, const Target &target) {
      return way(workload(shape, dtype), target);
    };
  };
  auto with_knobs = [&](auto way) {
    return [=](const Shape &shape, DType dtype, const Target &target, Knobs &knobs) {
      return way(workload(shape, dtype), shape, target, knobs);
    };
  };
  std::vector<Rung> rungs = {
      rung("naive", fmt::format("{} of rows, one thread per row: a warp reads 32 rows at a time", computation),
           fixed(rows::by_thread), {64, 32}),
      rung("warp", "one warp per row, combined by shuffles: a warp reads along its row", fixed(rows::by_warp),
           {4, 32}),
      rung("block", "one block per row, combined by shuffles and through shared memory", fixed(rows::by_block),
           {1, 256}),
      rung("vectors", "one block per row, and each thread loads and stores 16 bytes at a time",
           with_knobs(rows::in_vectors), {1, 256}),
      rung("registers", "each thread keeps its elements in registers: a row is read once",
           with_knobs(rows::in_registers), {4, 128})};
  rungs.back().variant = rows::in_registers_variant;
  return rungs;
}

/// A rung with another computation of the same results, which reads a row once less than `vectors`. It gains
/// where the row is too long for registers.
static Rung in_one_pass(const std::vector<Rung> &rungs, const char *name, const char *summary,
                        Program (*workload)(const Shape &, DType)) {
  Rung rung = *std::ranges::find(rungs, "vectors", &Rung::name);
  rung.name = name;
  rung.summary = summary;
  rung.build = [=](const Shape &shape, DType dtype, const Target &target, Knobs &knobs) {
    return rows::in_vectors(workload(shape, dtype), shape, target, knobs);
  };
  rung.gpu_shape = {256, 65536};
  rung.lesson = Lesson{"H100", {256, 65536}};
  rung.against = rung.tutorial + "/vectors";
  return rung;
}

/// The rungs of the tutorial `reduce`.
static std::vector<Rung> of_a_sum() {
  auto rung = [](const char *name, const char *summary, BuildFunction build, std::int64_t tile,
                 std::optional<Variant> (*variant)(const Shape &, DType) = nullptr) -> Rung {
    return {.tutorial = "reduce",
            .name = name,
            .summary = summary,
            .build = std::move(build),
            .tile = {tile},
            .default_shape = {1 << 14},
            .gpu_shape = {1 << 24},
            .variant = variant,
            .dtypes = {rows::dtypes.begin(), rows::dtypes.end()}};
  };
  auto fixed = [](auto way) {
    return [=](const Shape &shape, DType dtype, const Target &target) {
      return way(vector_sum(shape, dtype), target);
    };
  };
  auto with_knobs = [](auto way) {
    return [=](const Shape &shape, DType dtype, const Target &target, Knobs &knobs) {
      return way(vector_sum(shape, dtype), shape, target, knobs);
    };
  };
  return {rung("naive", "the sum of a vector by one thread", fixed(reductions::by_thread), 64),
          rung("tree", "one block, whose threads add their sums in pairs, in shared memory: 8 barriers",
               fixed(reductions::by_tree), 256),
          rung("shuffles", "shuffles add the sums of a warp: one barrier", fixed(reductions::by_shuffles), 256),
          rung("blocks", "as many blocks as fill the GPU, and a second kernel for their sums",
               fixed(reductions::by_blocks), 2048),
          rung("vectors", "each thread loads 16 bytes at a time", with_knobs(reductions::in_vectors), 1024,
               reductions::vector_variant),
          rung("one_pass", "one kernel: the last block adds the sums of all blocks",
               with_knobs(reductions::in_one_pass), 1024, reductions::vector_variant),
          rung("atomics", "each block adds its sum to the result by an atomic operation: not deterministic",
               with_knobs(reductions::by_atomics), 1024, reductions::vector_variant)};
}

/// The rungs of the tutorial `transpose`.
static std::vector<Rung> of_a_transpose() {
  auto rung = [](const char *name, const char *summary, BuildFunction build, const char *against = "") -> Rung {
    return {.tutorial = "transpose",
            .name = name,
            .summary = summary,
            .build = std::move(build),
            .tile = {32, 32},
            .default_shape = {256, 256},
            .gpu_shape = {4096, 4096},
            .dtypes = {rows::dtypes.begin(), rows::dtypes.end()},
            .against = against};
  };
  auto fixed = [](auto way) {
    return [=](const Shape &shape, DType dtype, const Target &target) {
      return way(transpose(shape, dtype), target);
    };
  };
  std::vector<Rung> rungs = {
      rung("naive", "a warp writes along a row of Y, and reads down a column of X",
           fixed(transposes::by_element)),
      rung("shared", "a tile in shared memory: rows of X and of Y, but all lanes of a warp read one bank",
           fixed(transposes::in_tiles)),
      rung("padded", "one more word in each row of the tile: no bank conflicts",
           fixed(transposes::in_padded_tiles)),
      rung("swizzled", "the elements of a row of the tile permuted instead: no bank conflicts, no padding",
           fixed(transposes::in_swizzled_tiles), "transpose/shared"),
      rung("vectors", "each thread loads and stores 16 bytes at a time",
           [](const Shape &shape, DType dtype, const Target &target) {
             return transposes::in_vectors(transpose(shape, dtype), shape, target);
           })};
  rungs.back().variant = transposes::vector_variant;
  return rungs;
}

/// The rungs of the tutorial `gemv`.
static std::vector<Rung> of_a_product_with_a_vector() {
  auto rung = [](const char *name, const char *summary, BuildFunction build, Shape tile,
                 std::optional<Variant> (*variant)(const Shape &, DType) = nullptr) -> Rung {
    return {.tutorial = "gemv",
            .name = name,
            .summary = summary,
            .build = std::move(build),
            .tile = std::move(tile),
            .default_shape = {256, 1024},
            .gpu_shape = {16384, 4096},
            .variant = variant,
            .dtypes = {rows::dtypes.begin(), rows::dtypes.end()}};
  };
  auto fixed = [](auto way) {
    return
        [=](const Shape &shape, DType dtype, const Target &target) { return way(gemv(shape, dtype), target); };
  };
  auto with_knobs = [](auto way) {
    return [=](const Shape &shape, DType dtype, const Target &target, Knobs &knobs) {
      return way(gemv(shape, dtype), shape, target, knobs);
    };
  };
  std::vector<Rung> rungs = {rung("naive", "y = A*x, one thread per row: a warp reads 32 rows at a time",
                                  fixed(matvecs::by_thread), {64, 32}),
                             rung("warp", "one warp per row, combined by shuffles: a warp reads along its row",
                                  fixed(matvecs::by_warp), {4, 32}),
                             rung(
                                 "vectors", "each lane loads 16 bytes at a time",
                                 [](const Shape &shape, DType dtype, const Target &target) {
                                   return matvecs::in_vectors(gemv(shape, dtype), shape, target);
                                 },
                                 {4, 128}, matvecs::vector_variant),
                             rung("registers", "several rows per warp, which load x once for all of them",
                                  with_knobs(matvecs::in_registers), {4, 128}, matvecs::vector_variant),
                             rung("parts", "few rows: several blocks per row, and the last one adds their sums",
                                  with_knobs(matvecs::in_parts), {4, 1024}, matvecs::parts_variant)};
  rungs.back().lesson = Lesson{"A100", {16, 65536}};
  return rungs;
}

/// The rungs of the tutorial `stencil`.
static std::vector<Rung> of_a_stencil() {
  auto rung = [](const char *name, const char *summary, BuildFunction build, Shape tile,
                 const char *against = "") -> Rung {
    return {.tutorial = "stencil",
            .name = name,
            .summary = summary,
            .build = std::move(build),
            .tile = std::move(tile),
            .default_shape = {256, 256},
            .gpu_shape = {8192, 8192},
            .dtypes = {rows::dtypes.begin(), rows::dtypes.end()},
            .against = against};
  };
  auto fixed = [](auto way, Program (*workload)(const Shape &, DType) = stencil) {
    return [=](const Shape &shape, DType dtype, const Target &target) {
      return way(workload(shape, dtype), target);
    };
  };
  auto with_knobs = [](auto way, Program (*workload)(const Shape &, DType) = stencil) {
    return [=](const Shape &shape, DType dtype, const Target &target, Knobs &knobs) {
      return way(workload(shape, dtype), target, knobs);
    };
  };
  return {rung("naive", "one thread per element, in blocks of a part of a row: 3 blocks read each row of X",
               fixed(stencils::by_rows), {1, 256}),
          rung("blocks", "blocks of 8 x 32 elements, whose threads read the same rows from L1",
               fixed(stencils::in_blocks), {8, 32}),
          rung("shared", "the tile and its halo in shared memory: as many reads, and a barrier",
               fixed(stencils::in_shared_tiles), {8, 32}),
          rung("columns", "8 elements of a column per thread: a load into registers serves up to 3 of them",
               with_knobs(stencils::in_columns), {64, 32}, "stencil/blocks"),
          rung("edges", "blocks at no edge have code of their own, without masks",
               with_knobs(stencils::with_edges), {64, 32}),
          rung("steps", "the stencil of the stencil: two kernels, through global memory",
               with_knobs(stencils::step_by_step, stencil_twice), {64, 32}),
          rung("fused", "both steps in one kernel: the first one, with its halo, is in shared memory",
               fixed(stencils::two_steps, stencil_twice), {32, 32})};
}

/// The rungs of the tutorial `conv`.
static std::vector<Rung> of_a_convolution() {
  auto rung = [](const char *name, const char *summary, BuildFunction build, Shape tile,
                 std::optional<Variant> (*variant)(const Shape &, DType) = nullptr) -> Rung {
    return {.tutorial = "conv",
            .name = name,
            .summary = summary,
            .build = std::move(build),
            .tile = std::move(tile),
            .default_shape = {1, 16, 16, 16, 32},
            .gpu_shape = {32, 56, 64, 64, 64},
            .variant = variant,
            .dtypes = {DType::f32, DType::f16, DType::bf16, DType::u32}};
  };
  auto fixed = [](auto way) {
    return
        [=](const Shape &shape, DType dtype, const Target &target) { return way(conv(shape, dtype), target); };
  };
  auto at_shape = [](auto way) {
    return [=](const Shape &shape, DType dtype, const Target &target) {
      return way(conv(shape, dtype), shape, target);
    };
  };
  std::vector<Rung> rungs = {
      rung("naive", "one thread per element; a warp computes 32 channels of a pixel",
           fixed(convolutions::by_element), {1, 1, 8, 1, 32}),
      rung("shared", "pixels with their halo, and filters, in shared memory", fixed(convolutions::in_tiles),
           {1, 4, 8, 8, 16}),
      rung("registers", "8 pixels of a row x 4 channels per thread: operands in registers are used again",
           fixed(convolutions::in_registers), {1, 8, 16, 8, 64}),
      rung("vectors", "16 bytes at a time: 4 channels of a filter in one load",
           at_shape(convolutions::in_vectors), {1, 8, 16, 8, 64}, convolutions::vector_variant),
      rung("tensor", "implicit GEMM by matrix units: 64 pixels x 32 channels per warp, tap by tap",
           at_shape(convolutions::on_matrix_units), {1, 8, 16, 16, 64}),
      rung("async", "the next tiles are copied asynchronously", at_shape(convolutions::with_async_copies),
           {1, 8, 16, 16, 64})};
  for (std::size_t n = 4; n < rungs.size(); ++n) {
    rungs[n].dtypes = {DType::f16, DType::bf16, DType::u32};
    rungs[n].needs = n == 4 ? Feature::mma_f16 : Feature::cp_async;
  }
  return rungs;
}

/// Adds the tutorials on other computations before the tutorial `fast`, and `hopper` after it.
static std::vector<Rung> with_other_tutorials(std::vector<Rung> rungs) {
  std::vector<Rung> added = of_a_sum();
  for (auto *rungs_of : {of_a_transpose, of_a_product_with_a_vector, of_a_stencil, of_a_convolution})
    for (Rung &rung : rungs_of())
      added.push_back(std::move(rung));
  for (auto &[name, computation, workload] :
       {std::tuple("softmax", "softmax", &softmax), std::tuple("layernorm", "layer norm", &layernorm),
        std::tuple("rmsnorm", "RMS norm", &rmsnorm)}) {
    std::vector<Rung> rungs_of = of_rows(name, computation, workload);
    if (workload == &softmax)
      rungs_of.push_back(in_one_pass(rungs_of, "online",
                                     "a row too long for registers: its maximum and its sum from one pass",
                                     &online_softmax));
    if (workload == &layernorm)
      rungs_of.push_back(in_one_pass(rungs_of, "welford",
                                     "a row too long for registers: its mean and its variance from one pass",
                                     &welford_layernorm));
    for (Rung &rung : rungs_of)
      added.push_back(std::move(rung));
  }
  rungs.insert(std::ranges::find(rungs, "fast", &Rung::tutorial), std::make_move_iterator(added.begin()),
               std::make_move_iterator(added.end()));
  for (Rung &rung : hopper::rungs())
    rungs.push_back(std::move(rung));
  return rungs;
}

const std::vector<Rung> &builtin_rungs() {
  static const std::vector<Rung> rungs = with_other_tutorials({
      {"ladder",
       "naive",
       "one thread per element; a warp walks down a column",
       with_defaults(deep_dive::naive),
       {16, 16, 16}},
      {"ladder", "coalesced", "a warp walks along a row", ladder::coalesced, {4, 256, 16}},
      {"ladder", "shared", "32 x 32 tiles of A and B in shared memory", worklog::shared, {32, 32, 32}},
      {"ladder", "tile1d", "64 x 64 tiles, 8 results per thread", worklog::tile1d, {64, 64, 8}},
      {"ladder",
       "tile2d",
       "128 x 128 tiles, 8 x 8 results per thread in registers",
       worklog::tile2d,
       {128, 128, 8}},
      {.tutorial = "ladder",
       .name = "vectors",
       .summary = "128-bit accesses, A transposed in shared memory",
       .build = worklog::vectorized,
       .tile = {128, 128, 8},
       .variant = worklog::vectorized_variant},
      {.tutorial = "ladder",
       .name = "prefetch",
       .summary = "the next tiles are loaded while these are used: one barrier per tile",
       .build = ladder::prefetch,
       .tile = {128, 128, 8},
       .variant = ladder::vector_variant},
      {.tutorial = "ladder",
       .name = "warps",
       .summary = "warps of 4 x 8 lanes with 4 + 4 rows and columns each: no bank conflicts",
       .build = ladder::warps,
       .tile = {128, 128, 8},
       .variant = ladder::vector_variant},
      {.tutorial = "ladder",
       .name = "async",
       .summary = "asynchronous copies: the next tile is in flight, and in no register",
       .build = ladder::async,
       .tile = {128, 128, 8},
       .variant = ladder::vector_variant,
       .needs = Feature::cp_async},
      {"deep_dive",
       "naive",
       "one thread per element; a warp walks down a column",
       deep_dive::naive,
       {16, 16, 16}},
      {"deep_dive",
       "coalesced",
       "one thread per element; a warp walks along a row",
       deep_dive::coalesced,
       {16, 16, 16}},
      {"deep_dive", "shared", "32 x 32 tiles of A and B in shared memory", deep_dive::shared, {32, 32, 32}},
      {"deep_dive", "tile1d", "64 x 64 tiles, 8 results per thread", deep_dive::tile1d, {64, 64, 8}},
      {"transposed", "naive", "C += A*B', one thread per element", transposed::naive, {16, 16, 16}},
      {"transposed", "shared", "16 x 16 tiles in shared memory", transposed::shared, {16, 16, 16}},
      {"transposed",
       "registers",
       "4 x 4 results per thread, in registers",
       transposed::registers,
       {64, 64, 16}},
      {.tutorial = "transposed",
       .name = "float4",
       .summary = "4 x 4 results per thread by 128-bit accesses, tiles transposed",
       .build = transposed::float4,
       .tile = {64, 64, 16},
       .variant = transposed::float4_variant},
      {.tutorial = "transposed",
       .name = "prefetch",
       .summary = "the same with two buffers of both tiles: one barrier per tile",
       .build = transposed::prefetch,
       .tile = {64, 64, 16},
       .variant = transposed::float4_variant},
      {"tiling", "naive", "one thread per element, 32 x 32 threads", tiling::naive, {32, 32, 32}},
      {"tiling", "shared", "32 x 32 tiles in shared memory", tiling::shared, {32, 32, 32}},
      {"tvm_steps", "step1", "TVM: rows to blocks, columns to threads", tvm_steps::step1, {1, 32, 32}},
      {"tvm_steps", "step2", "TVM: 32 x 32 tiles, 8 x 4 results per thread", tvm_steps::step2, {32, 32, 32}},
      {"tvm_steps", "step3", "TVM: tiles in shared memory", tvm_steps::step3, {32, 32, 32}},
      {.tutorial = "tvm_steps",
       .name = "step4",
       .summary = "TVM: results in registers, accesses by float4",
       .build = tvm_steps::step4,
       .tile = {32, 32, 32},
       .variant = tvm_steps::vector_variant},
      {.tutorial = "tvm_steps",
       .name = "step5",
       .summary = "TVM: the next tiles are fetched while these are used",
       .build = tvm_steps::step5,
       .tile = {32, 32, 32},
       .variant = tvm_steps::vector_variant},
      {.tutorial = "tvm_steps",
       .name = "step6",
       .summary = "TVM: 16 steps of k unrolled",
       .build = tvm_steps::step6,
       .tile = {32, 32, 32},
       .variant = tvm_steps::vector_variant},
      {"principles", "one", "one result per thread: 0.25 FLOP/byte", principles::one, {16, 16, 16}},
      {"principles",
       "two_by_two",
       "2 x 2 results per thread: 0.5 FLOP/byte",
       principles::two_by_two,
       {32, 32, 32}},
      {"principles", "tile32", "32 x 32 tiles: 8 FLOP/byte", principles::tile32, {32, 32, 32}},
      {"principles",
       "transposed",
       "B's tile transposed: the 32 lanes of a store or a load all access one bank",
       principles::transposed,
       {32, 32, 32}},
      {"principles", "padded", "the transposed tile in rows of 33 words", principles::padded, {32, 32, 32}},
      {.tutorial = "principles",
       .name = "swizzled",
       .summary = "the transposed tile with its words permuted",
       .build = principles::swizzled,
       .tile = {32, 32, 32},
       .against = "principles/transposed"},
      {.tutorial = "principles",
       .name = "tile64",
       .summary = "64 x 64 tiles, 4 x 4 results per thread: 16 FLOP/byte",
       .build = principles::tile64,
       .tile = {64, 64, 64},
       .against = "principles/tile32"},
      {"principles",
       "divergent",
       "an if on the lane: every warp runs both sides",
       principles::divergent,
       {256},
       {1 << 16},
       {1 << 26}},
      {"principles",
       "uniform",
       "an if on the warp: each runs one side",
       principles::uniform,
       {256},
       {1 << 16},
       {1 << 26}},
      {.tutorial = "principles",
       .name = "branch_free",
       .summary = "a select on the lane: both values, no branch",
       .build = principles::branch_free,
       .tile = {256},
       .default_shape = {1 << 16},
       .gpu_shape = {1 << 26},
       .against = "principles/divergent"},
      {"principles",
       "unfused",
       "relu(x + 1) by two kernels, through global memory",
       principles::unfused,
       {256},
       {1 << 16},
       {1 << 26}},
      {"principles",
       "fused",
       "relu(x + 1) by one kernel: half the bytes",
       principles::fused,
       {256},
       {1 << 16},
       {1 << 26}},
      {"principles",
       "launches",
       "16 small kernels: the host takes longer to launch them than the GPU to execute them, unless they are "
       "one CUDA graph",
       principles::launches,
       {128},
       {1 << 12},
       {1 << 12}},
      {"principles",
       "one_launch",
       "the same steps in one kernel: one launch",
       principles::one_launch,
       {128},
       {1 << 12},
       {1 << 12}},
      {"gemm",
       "nn",
       "alpha*A*B + beta*C by 64 x 64 tiles, 4 x 4 results per thread",
       tutorial_gemm::nn,
       {64, 64, 16}},
      {.tutorial = "gemm",
       .name = "nt",
       .summary = "the same with B stored transposed",
       .build = tutorial_gemm::nt,
       .tile = {64, 64, 16},
       .against = "gemm/nn"},
      {.tutorial = "gemm",
       .name = "tn",
       .summary = "the same with A stored transposed",
       .build = tutorial_gemm::tn,
       .tile = {64, 64, 16},
       .against = "gemm/nn"},
      {.tutorial = "gemm",
       .name = "tt",
       .summary = "the same with both stored transposed",
       .build = tutorial_gemm::tt,
       .tile = {64, 64, 16},
       .against = "gemm/nn"},
      {"gemm",
       "batched",
       "BxMxNxK: a plane of blocks for each matrix of a batch",
       tutorial_gemm::batched,
       {1, 64, 64, 16},
       {4, 256, 256, 256},
       {16, 1024, 1024, 1024}},
      {.tutorial = "gemm",
       .name = "bias_relu",
       .summary = "relu(alpha*A*B + bias), applied in registers",
       .build = tutorial_gemm::bias_relu,
       .tile = {64, 64, 16},
       .against = "gemm/nn"},
      {"worklog",
       "1",
       "naive: 32 x 32 threads; threadIdx.x counts the rows, so a warp walks down a column",
       worklog::naive,
       {32, 32, 32}},
      {"worklog", "2", "coalesced", worklog::coalesced, {32, 32, 32}},
      {"worklog", "3", "32 x 32 tiles in shared memory", worklog::shared, {32, 32, 32}},
      {"worklog", "4", "64 x 64 x 8 tiles, 8 results per thread", worklog::tile1d, {64, 64, 8}},
      {"worklog", "5", "128 x 128 x 8 tiles, 8 x 8 results per thread", worklog::tile2d, {128, 128, 8}},
      {.tutorial = "worklog",
       .name = "6",
       .summary = "the same by 128-bit accesses, A transposed in shared memory",
       .build = worklog::vectorized,
       .tile = {128, 128, 8},
       .variant = worklog::vectorized_variant},
      {.tutorial = "worklog",
       .name = "7",
       .summary = "B's tile linearized: its reads have no bank conflicts, but one word each",
       .build = worklog::linearized,
       .tile = {128, 128, 8},
       .variant = worklog::vectorized_variant},
      {.tutorial = "worklog",
       .name = "8",
       .summary = "B's tile with 5 more columns, which does not change the banks of a row",
       .build = worklog::extra_columns,
       .tile = {128, 128, 8},
       .variant = worklog::vectorized_variant,
       .against = "worklog/6"},
      {.tutorial = "worklog",
       .name = "9",
       .summary = "kernel 6 with the tile sizes as knobs: 128 x 128 x 16, 8 x 8 results per thread",
       .build = worklog::autotuned,
       .tile = {128, 128, 16},
       .variant = worklog::vectorized_variant,
       .against = "worklog/6"},
      {.tutorial = "worklog",
       .name = "10",
       .summary = "warp tiles: 64 x 64 results per warp, in parts of 64 x 16",
       .build = worklog::warp_tiles,
       .tile = {128, 128, 16},
       .variant = worklog::vectorized_variant},
      on_matrix_units("mma",
                      "one instruction of the matrix unit per warp and step of k, loads from global memory",
                      tensor::mma, {16, 64, 16}, Feature::mma_f16),
      on_matrix_units("shared", "tiles in shared memory; a block of 16 warps has 64 x 32 results",
                      tensor::shared, {64, 32, 32}, Feature::mma_f16),
      on_matrix_units("ldmatrix", "a warp reads its operands from shared memory by ldmatrix", tensor::ldmatrix,
                      {64, 32, 32}, Feature::mma_f16),
      on_matrix_units("swizzled", "groups of 16 bytes permuted: no bank conflicts in f16", tensor::swizzled,
                      {64, 32, 32}, Feature::mma_f16),
      on_matrix_units(
          "warp_tiles",
          "64 x 64 results per warp, or 64 x 32 if C is small: operands in registers are used again",
          tensor::warp_tiles, {128, 64, 32}, Feature::mma_f16),
      on_matrix_units("async2", "the next tile is copied asynchronously", tensor::async2, {128, 64, 32},
                      Feature::cp_async),
      on_matrix_units("async3", "two tiles are in flight", tensor::async3, {128, 64, 32}, Feature::cp_async),
      on_matrix_units("async4", "three tiles are in flight", tensor::async4, {128, 64, 32}, Feature::cp_async),
      on_matrix_units(
          "ahead", "as async3, and the operands of the next step are loaded while those of this step are used",
          tensor::ahead, {128, 64, 32}, Feature::cp_async, "tensor/async3"),
      on_matrix_units("joined", "also across tiles: the first operands of the next tile are loaded early",
                      tensor::joined, {128, 64, 32}, Feature::cp_async),
      on_matrix_units("grouped", "blocks in columns of 8 tiles share operands in L2", tensor::grouped,
                      {128, 64, 32}, Feature::cp_async, "", Lesson{"L4", {8192, 8192, 8192}}),
      with_kernels(on_matrix_units("tuned", "all of these choices as knobs, for tune", tensor::tuned,
                                   {64, 64, 32}, Feature::cp_async),
                   tensor::tuned_kernels()),
      with_kernels(on_matrix_units("nt", "the same with B stored transposed: ldmatrix loads B in every type",
                                   tensor::nt, {64, 64, 32}, Feature::cp_async, "tensor/tuned", {},
                                   tensor::variant_nt),
                   tensor::tuned_kernels()),
      {.tutorial = "fast",
       .name = "gemm",
       .summary = "register tiles of any size, for tune",
       .build = fast::gemm,
       .tile = {64, 128, 16},
       .variant = fast::variant,
       .kernels = fast::gemm_kernels(),
       .kernel_tables = kernel_tables()},
      {.tutorial = "fast",
       .name = "best",
       .summary = "the same, or matrix units, with the best knobs for the GPU, the dtype and the shape",
       .build = fast::best,
       .tile = {64, 128, 16},
       .variant = fast::best_variant,
       .table = fast::gemm_table,
       .tuned = "fast/gemm",
       .kernel_tables = kernel_tables()},
  });
  return rungs;
}

} // namespace nestsmith
