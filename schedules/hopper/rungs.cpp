#include "schedules/hopper/rungs.h"

#include "schedules/fast/rungs.h"
#include "schedules/kernels.h"
#include "schedules/tensor/rungs.h"
#include "schedules/tensor/tiles.h"

#include <utility>

namespace nestsmith::hopper {

/// A rung on matrix units that read their tiles themselves. B is stored N x K.
static Rung on_tiles(const char *name, const char *summary, BuildFunction build, const char *against) {
  return {.tutorial = "hopper",
          .name = name,
          .summary = summary,
          .build = std::move(build),
          .tile = {64, 64, 64},
          .default_shape = {256, 256, 256},
          .variant = tensor::variant_nt,
          .dtypes = {DType::bf16, DType::f16, DType::u32},
          .needs = Feature::cp_async,
          .against = against};
}

std::vector<Rung> rungs() {
  return {
      {.tutorial = "hopper",
       .name = "persistent",
       .summary = "one block for each place on the GPU, which computes tiles in waves",
       .build = fast::persistent,
       .tile = {64, 128, 16},
       .variant = fast::best_variant,
       .against = "fast/gemm",
       .table = fast::gemm_table,
       .tuned = "fast/gemm",
       .kernel_tables = kernel_tables()},
      {.tutorial = "hopper",
       .name = "roles",
       .summary =
           "four warps fill the tiles, and the others multiply: no barrier of the block is left in the loop",
       .build = fast::roles,
       .tile = {64, 128, 16},
       .default_shape = {256, 256, 256},
       .variant = fast::variant,
       .dtypes = {DType::f32, DType::f64, DType::u32},
       .needs = Feature::cp_async,
       .against = "fast/gemm"},
      on_tiles("wgmma",
               "four warps multiply together, and matrix units read the tiles themselves; on other GPUs, as "
               "tensor/nt",
               tensor::wgmma, "tensor/nt"),
      on_tiles("bf16",
               "the same tiles, which four warps fill, while the calls of the other warps are in flight",
               tensor::roles, "hopper/wgmma"),
      on_tiles("tma", "one thread starts bulk copies of whole tiles, if the GPU has them", tensor::bulk,
               "hopper/bf16"),
      on_tiles("stores",
               "as many blocks as multiprocessors compute tiles in waves, and write whole rows of results",
               tensor::stores, "hopper/tma"),
      on_tiles(
          "stmatrix",
          "results in the type of the operands: one instruction moves 16 x 16 of them from the registers of "
          "a warp to shared memory",
          tensor::layer, ""),
      on_tiles("cluster", "two blocks form a cluster, and each copies half of a tile of B for both",
               tensor::clusters, "hopper/stores"),
  };
}

} // namespace nestsmith::hopper
