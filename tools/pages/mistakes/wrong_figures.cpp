#include "codegen/cuda.h"
#include "runtime/model/explain.h"
#include "tools/pages/figures/measure.h"
#include "tools/pages/mistakes/examples.h"

#include <fmt/format.h>

namespace nestsmith::mistake {

namespace {

using figure::measure;
using figure::RungCounts;

std::string text(const RungCounts &counts) { return cuda_kernel(counts.kernel); }

FigureClaim dram_explains_coalescing() {
  const Shape shape = {256, 256, 256};
  const Gpu &gpu = find_gpu("RTX 5090");
  RungCounts naive = measure("deep_dive/naive", shape), coalesced = measure("deep_dive/coalesced", shape);
  double before = figure::analyse_rung("deep_dive/naive", shape, gpu).dram_bytes();
  double after = figure::analyse_rung("deep_dive/coalesced", shape, gpu).dram_bytes();
  bool same = std::abs(after / before - 1) < 0.1;
  return {18.07 / 2.40, same ? 1 : after / before,
          fmt::format(
              "DRAM moves {} for naive and {} for coalesced at 256: the same number of bytes in the model. The "
              "sectors per load request of A fall from {} to {}",
              bytes_text(before), bytes_text(after), number_text(naive.access("A").sectors_per_request()),
              number_text(coalesced.access("A").sectors_per_request())),
          text(naive)};
}

FigureClaim blocks_of_64_threads(std::int64_t shared_bytes, double claimed) {
  Occupancy o = figure::occupancy_of(find_gpu("RTX 3090"), {.threads = 64, .static_shared = shared_bytes});
  return {claimed, static_cast<double>(o.blocks),
          fmt::format("an SM of RTX 3090 holds {} blocks of 64 threads with {} KB, {} threads; the limit is {}",
                      o.blocks, shared_bytes / 1024, 32 * o.warps, name(o.limits.front())),
          text(measure(column_of_b()))};
}

FigureClaim tile_of_b_by_rows() {
  RungCounts counts = measure(column_of_b());
  return {
      1, counts.access("B_shared").wavefronts_per_request(),
      fmt::format("a request for B takes {} sectors, a store to its tile {} wavefronts, and a load of it {}",
                  number_text(counts.access("B").sectors_per_request()),
                  number_text(counts.access("B_shared", true).wavefronts_per_request()),
                  number_text(counts.access("B_shared").wavefronts_per_request())),
      text(counts)};
}

FigureClaim consecutive_for_each_thread() {
  RungCounts counts = measure(consecutive_elements());
  return {4, counts.access("A").sectors_per_request(),
          fmt::format("a request for A takes {} sectors, and a store to its tile {} wavefronts",
                      number_text(counts.access("A").sectors_per_request()),
                      number_text(counts.access("A_shared", true).wavefronts_per_request())),
          text(counts)};
}

FigureClaim transposed_is_free() {
  RungCounts counts = measure("principles/transposed", {64, 64, 64}),
             plain = measure("principles/tile32", {64, 64, 64});
  return {1, counts.access("B_shared", true).wavefronts_per_request(),
          fmt::format("a store to the transposed tile takes {} wavefronts and a load of it {}; a load of the "
                      "plain one takes {}",
                      number_text(counts.access("B_shared", true).wavefronts_per_request()),
                      number_text(counts.access("B_shared").wavefronts_per_request()),
                      number_text(plain.access("B_shared").wavefronts_per_request())),
          text(counts)};
}

FigureClaim loads_of_a_warp() {
  RungCounts counts = measure("principles/tile32", {64, 64, 64});
  model::RequestSums loads = counts.access("A");
  double each = 32.0 * static_cast<double>(loads.requests) / static_cast<double>(loads.threads);
  return {32, each,
          fmt::format("{} load instruction for 32 elements: a warp issues it once for its lanes",
                      number_text(each)),
          text(counts)};
}

FigureClaim largest_block() {
  double kb = static_cast<double>(find_gpu("A100").shared_per_block) / 1024;
  return {100, kb, fmt::format("a block may have {} KB of shared memory on A100", number_text(kb)),
          text(measure("principles/tile64", {64, 64, 64}))};
}

FigureClaim two_large_tiles() {
  double kb = static_cast<double>(measure("principles/tile64", {64, 64, 64}).kernel.shared_bytes) * 4 / 1024;
  return {64, kb,
          fmt::format("two 64 x 64 tiles take {} KB, and two 128 x 128 tiles take {} KB", number_text(kb / 4),
                      number_text(kb)),
          text(measure("principles/tile64", {64, 64, 64}))};
}

FigureClaim conflicts_of_kernel_3() {
  RungCounts counts = measure("worklog/3", {64, 64, 64});
  double conflicts = static_cast<double>(counts.counters.total(Scope::shared, false).conflicts +
                                         counts.counters.total(Scope::shared, true).conflicts);
  return {1, conflicts,
          fmt::format("{} bank conflicts in all requests for shared memory", number_text(conflicts)),
          text(counts)};
}

} // namespace

std::vector<Mistake> wrong_figures() {
  auto claim = [](FigureClaim (*count)()) { return std::function<FigureClaim()>(count); };
  return {
      {"deep_dive", "dram_explains_coalescing",
       "the profiler's 2.40 and 18.07 GB/s show that the kernels differ in DRAM traffic",
       "these are rates of kernels that take 3.944 and 0.518 ms: rate x time is 9.5 and 9.4 MB, the same bytes",
       "deep_dive/coalesced", "the same number of bytes in the model", claim(dram_explains_coalescing)},
      {"transposed", "blocks_with_8_kb",
       "12 blocks (768 threads) with 8 KB each fit on an SM of cc 8.6, in 96 KB",
       "the system reserves 1 KB per block, so a block takes 9 KB of the 100 KB of an SM",
       "transposed/registers", "holds 11 blocks",
       std::function<FigureClaim()>([] { return blocks_of_64_threads(8192, 12); })},
      {"transposed", "blocks_with_4_kb",
       "with half the shared memory, 24 blocks (1536 threads) fit, twice as many",
       "cc 8.6 allows at most 16 blocks per SM", "transposed/registers", "holds 16 blocks",
       std::function<FigureClaim()>([] { return blocks_of_64_threads(4096, 24); })},
      {"transposed", "column_of_b",
       "tiles in shared memory remove the cost of strided access; the post calls only the global load of B "
       "slow",
       "adjacent threads load elements of B with a stride of K, store them with a stride of 32 words, and read "
       "them with the same stride",
       "transposed/shared", "a store to its tile 32 wavefronts", claim(tile_of_b_by_rows)},
      {"tvm_steps", "consecutive_elements", "each thread fetches 32 consecutive elements of the tile",
       "coalescing applies to the lanes of a warp: lanes that are 32 elements apart touch 32 sectors and one "
       "bank",
       "tvm_steps/step3", "takes 32 sectors", claim(consecutive_for_each_thread)},
      {"principles", "transposed_is_free",
       "with B's tile stored transposed, stores and reads are free of bank conflicts",
       "the store B_tile[tx][ty] and the read B_tile[tx][k] walk down a column: 32 lanes in one bank",
       "principles/padded", "takes 32 wavefronts and a load of it 32", claim(transposed_is_free)},
      {"principles", "loads_of_a_warp", "a warp issues 32 load instructions for 32 floats, and 8 with float4",
       "it issues one instruction for all 32 lanes, whether each lane loads 4 or 16 bytes", "principles/tile32",
       "1 load instruction for 32 elements", claim(loads_of_a_warp)},
      {"principles", "largest_block", "a kernel may ask for up to 100 KB of shared memory a block on A100",
       "163 KB, if the kernel opts in", "principles/tile64", "may have 163 KB", claim(largest_block)},
      {"principles", "two_large_tiles", "a block with tiles of 128 x 128 uses 64 KB of shared memory",
       "one tile takes 64 KB, and two tiles take 128 KB", "principles/tile64", "take 128 KB",
       claim(two_large_tiles)},
      {"principles", "conflicts_of_kernel_3", "Boehm's kernel 3 still has bank conflicts",
       "a warp reads one word of A's tile and 32 neighbouring words of B's", "worklog/3", "0 bank conflicts",
       claim(conflicts_of_kernel_3)},
  };
}

} // namespace nestsmith::mistake
