#include "codegen/cuda.h"
#include "dsl/hardware/gpus.h"
#include "tools/pages/figures/measure.h"
#include "tools/pages/mistakes/tiles_of_a_post.h"

#include <fmt/format.h>

namespace nestsmith::mistake {

namespace {

constexpr const char *post_gpu = "RTX A500";

std::string step3_text() { return cuda_kernel(figure::measure("tvm_steps/step3", {64, 64, 64}).kernel); }

FigureClaim shared_of_an_sm() {
  double kb = static_cast<double>(find_gpu(post_gpu).shared_per_sm) / 1024;
  return {64, kb, fmt::format("an SM of {} has {:.0f} KB of shared memory", post_gpu, kb), step3_text()};
}

FigureClaim bandwidth_of_the_bus() {
  constexpr double bits = 64,
                   gigabits_per_pin = 14; // NVIDIA's data sheet of RTX A500 Laptop: 64 bits, 112 GB/s
  double rate = bits * gigabits_per_pin / 8;
  return {192, rate,
          fmt::format("a bus of {:.0f} bits with {:.0f} Gbit/s for each bit moves {:.0f} GB/s", bits,
                      gigabits_per_pin, rate),
          step3_text()};
}

FigureClaim first_size_beyond_l2() {
  auto l2 = static_cast<double>(find_gpu(post_gpu).l2_bytes);
  auto bytes = [](double size) { return 3 * size * size * 4; };
  double first = 2048;
  while (bytes(first / 2) > l2)
    first /= 2;
  return {
      2048, first,
      fmt::format(
          "A, B and C take {:.0f} MB at 512, {:.0f} MB at 1024 and {:.0f} MB at 2048, and L2 has {:.0f} MB: "
          "they exceed it from {:.0f} on",
          bytes(512) / 0x1p20, bytes(1024) / 0x1p20, bytes(2048) / 0x1p20, l2 / 0x1p20, first),
      step3_text()};
}

} // namespace

std::vector<Mistake> wrong_gpu_figures() {
  return {
      {"tvm_steps", "shared_64_kb", "shared memory of the A500: 64 KB/SM",
       "an SM of cc 8.6 has 100 KB of shared memory, of which a block may have 99 KB", "tvm_steps/step3",
       "has 100 KB", std::function<FigureClaim()>(shared_of_an_sm)},
      {"tvm_steps", "dram_192_gb", "global memory of the A500: 192 GB/s",
       "NVIDIA states 112 GB/s for the RTX A500 Laptop GPU, whose bus has 64 bits", "tvm_steps/step3",
       "moves 112 GB/s", std::function<FigureClaim()>(bandwidth_of_the_bus)},
      {"tvm_steps", "l2_exceeded_at_2048", "step 3 gains at 2048, because there the data exceed the 2 MB of L2",
       "they exceed it at 512 already, where step 3 gains nothing: the size of L2 alone does not explain the "
       "difference",
       "tvm_steps/step3", "they exceed it from 512 on", std::function<FigureClaim()>(first_size_beyond_l2)},
  };
}

} // namespace nestsmith::mistake
