#include "tools/pages/figures/measure.h"
#include "tools/pages/figures/posts.h"

#include <fmt/format.h>

namespace nestsmith::figure {

namespace {

using List = std::vector<Figure>;

/// The FLOP of the product divided by the bytes that loads of A and B request.
double intensity(const char *rung) {
  RungCounts counts = measure(rung, {256, 256, 256});
  return 2 * 256.0 * 256 * 256 / static_cast<double>(counts.access("A").asked + counts.access("B").asked);
}

void machine(List &list) {
  const Gpu &gpu = find_gpu("A100");
  auto add = [&](const std::string &what, double published, double ours, double tolerance = 0, double right = 0,
                 const std::string &note = "") {
    list.push_back({"principles", what, published, right == 0 ? published : right, ours, FigureSource::data,
                    tolerance, note});
  };
  add("A100: TFLOP/s in FP32", 19.5, gpu.fp32_flops() * 1e-12, 0.01, 0,
      "of the FP32 pipe, not of tensor cores");
  double half = gpu.dense_flops(Feature::mma_f16);
  add("A100: TFLOP/s in FP16", 312, half * 1e-12, 0.01, 0, "of the tensor cores");
  add("A100: FLOP/s in FP16 over those in FP32", 16, half / gpu.fp32_flops(), 0.01);
  add("FP16: bytes of an element over those of FP32", 0.5,
      static_cast<double>(byte_size(DType::f16)) / byte_size(DType::f32));
  add("A100: TB/s of DRAM", 1.5, gpu.dram_bytes_per_s * 1e-12, 0.05);
  add("A100: ridge point, FLOP/byte", 13, gpu.ridge(), 0.05);
  add("A100: operations in the time of reading 4 bytes (the post: more than 50)", 50, 4 * gpu.ridge(), 0.01);
  add("A100: TB/s of shared memory", 19.5, gpu.sms * 128.0 * gpu.clock_hz * 1e-12, 0.01);
  add("A100: SMs", 108, gpu.sms);
  add("A100: threads per SM", 2048, gpu.threads_per_sm);
  add("A100: warps per SM", 64, gpu.warps_per_sm());
  add("A100: blocks per SM", 32, gpu.blocks_per_sm);
  add("A100: KB of L1 and shared memory per SM", 192, static_cast<double>(gpu.l1_bytes) / 1024);
  add("A100: registers per SM", 65536, gpu.registers_per_sm);
  add("A100: KB of shared memory that a block may have", 100, static_cast<double>(gpu.shared_per_block) / 1024,
      0, 163, "163 by opting in; 100 is the limit of an SM of cc 8.6");
  Occupancy o = occupancy_of(gpu, {.threads = 256, .registers = 33});
  if (occupancy_calculator())
    list.push_back({"principles", "33 registers per thread are allocated as", 40, 40,
                    static_cast<double>(o.registers_per_thread), FigureSource::occupancy});
}

void intensities(List &list) {
  auto add = [&](const char *rung, const char *what, double published) {
    list.push_back({"principles", fmt::format("{}: FLOP/byte{}", rung, what), published, published,
                    intensity(fmt::format("principles/{}", rung).c_str()), FigureSource::counted});
  };
  add("one", "", 0.25);
  add("two_by_two", "", 0.5);
  add("tile32", ", below the ridge point", 8);
  add("tile64", ", above the ridge point", 16);
  auto kb = [&](const std::string &what, double published, double right, double ours,
                const std::string &note = "") {
    list.push_back({"principles", what, published, right, ours / 1024, FigureSource::counted, 0, note});
  };
  kb("tile64: KB of shared memory", 32, 32,
     static_cast<double>(measure("principles/tile64", {64, 64, 64}).kernel.shared_bytes));
  kb("two tiles of 128 x 128 floats: KB", 64, 128, 2.0 * 128 * 128 * 4, "one takes 64 KB");
}

void quantization(List &list) {
  RungCounts counts = measure("principles/tile32", {65, 65, 32});
  auto add = [&](const std::string &what, double published, double ours) {
    list.push_back({"principles", what, published, published, ours, FigureSource::counted});
  };
  add("65 x 65 by 32 x 32 tiles: blocks", 9, static_cast<double>(counts.counters.blocks));
  // Each needed result takes one more multiply-add, for alpha*AB + beta*C.
  add("65 x 65 by 32 x 32 tiles: results computed", 9 * 1024,
      (static_cast<double>(counts.counters.multiply_adds.threads) - counts.results) / 32);
  add("65 x 65 by 32 x 32 tiles: results needed", 4225, counts.results);
}

void banks(List &list) {
  auto add = [&](const std::string &what, double published, double right, double ours,
                 const std::string &note = "") {
    list.push_back({"principles", what, published, right, ours, FigureSource::counted, 0, note});
  };
  const Shape shape = {64, 64, 64};
  RungCounts plain = measure("principles/tile32", shape), transposed = measure("principles/transposed", shape);
  RungCounts padded = measure("principles/padded", shape), swizzled = measure("principles/swizzled", shape);
  const char *note = "both access a column of rows of 32 words: every lane accesses bank (32 x lane) % 32";
  add("B's tile transposed: wavefronts of a store", 1, 32,
      transposed.access("B_shared", true).wavefronts_per_request(), note);
  add("B's tile transposed: wavefronts of a load", 1, 32,
      transposed.access("B_shared").wavefronts_per_request(), note);
  add("B's tile as it is: wavefronts of a load", 32, 1, plain.access("B_shared").wavefronts_per_request(),
      "neighbouring lanes read neighbouring words of B_tile[k][tx]");
  add("transposed and padded: wavefronts of a load", 1, 1, padded.access("B_shared").wavefronts_per_request());
  add("transposed and padded: wavefronts of a store", 1, 1,
      padded.access("B_shared", true).wavefronts_per_request());
  add("transposed and swizzled: wavefronts of a load", 1, 1,
      swizzled.access("B_shared").wavefronts_per_request());
  add("transposed and swizzled: wavefronts of a store", 1, 1,
      swizzled.access("B_shared", true).wavefronts_per_request());
  model::RequestSums loads = plain.access("A");
  add("load instructions of a warp for 32 elements", 32, 1,
      32.0 * static_cast<double>(loads.requests) / static_cast<double>(loads.threads),
      "a warp issues one instruction for its 32 lanes");
  add("a coalesced load of a warp: bytes moved", 128, 128,
      static_cast<double>(loads.bytes_moved()) / static_cast<double>(loads.requests));
}

void kernel_3(List &list) {
  RungCounts third = measure("worklog/3", {64, 64, 64});
  auto conflicts = static_cast<double>(third.counters.total(Scope::shared, false).conflicts +
                                       third.counters.total(Scope::shared, true).conflicts);
  list.push_back({"principles", "Boehm's kernel 3 (worklog/3): bank conflicts per request", 1, 0, conflicts,
                  FigureSource::counted, 0,
                  "a footnote of the post says that it has conflicts; any number above 0 would confirm this"});
}

/// Compares the instructions of a warp with and without the branch.
void divergence(List &list) {
  const Shape shape = {1 << 16};
  RungCounts divergent = measure("principles/divergent", shape), uniform = measure("principles/uniform", shape);
  auto arithmetic = [](const RungCounts &counts) {
    return static_cast<double>(counts.counters.multiply_adds.warps + counts.counters.floating.warps);
  };
  auto add = [&](const std::string &what, double published, double ours) {
    list.push_back({"principles", what, published, published, ours, FigureSource::counted});
  };
  add("divergent: warps' arithmetic over that of uniform", 2, arithmetic(divergent) / arithmetic(uniform));
  add("divergent: divergent branches per warp", 1,
      static_cast<double>(divergent.counters.divergent) * 32 / (1 << 16));
  add("uniform: divergent branches", 0, static_cast<double>(uniform.counters.divergent));
  add("branch_free: divergent branches", 0,
      static_cast<double>(measure("principles/branch_free", shape).counters.divergent));
  const Gpu &gpu = find_gpu("A100");
  PlanAnalysis fused = analyse_rung("principles/fused", shape, gpu),
               unfused = analyse_rung("principles/unfused", shape, gpu);
  add("fused relu(x + 1): bytes over those of two kernels", 0.5, fused.asked_bytes() / unfused.asked_bytes());
}

} // namespace

List of_principles() {
  List list;
  machine(list);
  intensities(list);
  quantization(list);
  banks(list);
  kernel_3(list);
  divergence(list);
  return list;
}

} // namespace nestsmith::figure
