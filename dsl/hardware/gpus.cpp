#include "dsl/hardware/gpus.h"

#include "dsl/expr/error.h"
#include "dsl/ir/intrinsic.h"

#include <algorithm>
#include <cctype>
#include <climits>
#include <cstdlib>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace nestsmith {

namespace {

constexpr const char *guide = "CUDA C++ Programming Guide, Compute Capabilities";

constexpr std::int64_t kib(std::int64_t n) { return n << 10; }
constexpr std::int64_t mib(std::int64_t n) { return n << 20; }
/// The size of a memory that the data sheet gives as `n` GB. The driver reports about this many bytes.
constexpr std::int64_t gib(std::int64_t n) { return n << 30; }
constexpr double ghz(double n) { return n * 1e9; }
constexpr double gb_per_s(double n) { return n * 1e9; }

/// The L2 bandwidth of `n` slices, in bytes per clock. A slice transfers 64 bytes per clock. For the 80 slices
/// of an A100, this gives the 5120 bytes per clock that NVIDIA publishes.
constexpr double slices(int n) { return 64.0 * n; }

/// The properties that a compute capability determines.
Gpu of_architecture(Arch arch, int fp32_lanes, int fp64_lanes, std::int64_t l1_bytes) {
  Gpu gpu;
  gpu.arch = arch;
  gpu.fp32_lanes = fp32_lanes;
  gpu.fp64_lanes = fp64_lanes;
  gpu.l1_bytes = l1_bytes;
  Target target = make_target(arch);
  gpu.shared_per_sm = target.shared_bytes_per_sm;
  gpu.shared_per_block = target.shared_bytes_per_block;
  gpu.shared_reserved_per_block = target.shared_bytes_reserved;
  gpu.threads_per_sm = static_cast<int>(target.threads_per_sm);
  gpu.blocks_per_sm = static_cast<int>(target.blocks_per_sm);
  for (const char *field : {"fp32_lanes", "schedulers", "l1_bytes", "shared_per_sm", "shared_per_block",
                            "shared_reserved_per_block", "threads_per_sm", "blocks_per_sm", "registers_per_sm"})
    gpu.sources[field] = guide;
  gpu.sources["fp64_lanes"] =
      "CUDA C++ Programming Guide, Arithmetic Instructions: results of 64-bit floating-point "
      "add, multiply and multiply-add per clock and multiprocessor";
  gpu.sources["l2_partitions"] = "assumed: one, where NVIDIA says nothing of partitions";
  return gpu;
}

/// Rates of `mma.sync` that are the published peaks, at the clock of the other figures.
void set_matrix_rates(Gpu &gpu, int f16, int tf32, int i8, const std::string &source) {
  gpu.matrix_f16 = {static_cast<double>(f16), f16};
  gpu.matrix_tf32 = {static_cast<double>(tf32), tf32};
  gpu.matrix_i8 = {static_cast<double>(i8), i8};
  gpu.dense_clock_hz = gpu.clock_hz;
  for (const char *field : {"matrix_f16", "matrix_tf32", "matrix_i8", "dense_clock_hz"})
    gpu.sources[field] = source;
}

/// Cites one publication as the source of these fields.
void cite(Gpu &gpu, const std::string &source, std::initializer_list<const char *> fields) {
  for (const char *field : fields)
    gpu.sources[field] = source;
}

Gpu a100() {
  Gpu gpu = of_architecture({80}, 64, 32, kib(192));
  gpu.name = "A100";
  gpu.product = "NVIDIA A100-SXM4-40GB";
  gpu.chip = "GA100";
  gpu.sms = 108;
  gpu.clock_hz = ghz(1.41);
  gpu.dram_bytes_per_s = gb_per_s(1555);
  gpu.dram_bytes = gib(40);
  gpu.l2_bytes = mib(40);
  gpu.l2_bytes_per_clock = 5120;
  cite(gpu, "NVIDIA A100 Tensor Core GPU Architecture (whitepaper), Table 4",
       {"sms", "clock_hz", "dram_bytes_per_s", "dram_bytes", "l2_bytes"});
  gpu.l2_partitions = 2;
  cite(gpu, "NVIDIA A100 Tensor Core GPU Architecture (whitepaper), A100 L2 Cache",
       {"l2_bytes_per_clock", "l2_partitions"});
  set_matrix_rates(
      gpu, 1024, 512, 2048,
      "NVIDIA A100 Tensor Core GPU Architecture (whitepaper): from its peaks of 312 TFLOP/s in f16 "
      "and bf16, 156 in tf32, and 624 TOP/s in i8");
  return gpu;
}

Gpu rtx_3090() {
  Gpu gpu = of_architecture({86}, 128, 2, kib(128));
  gpu.name = "RTX 3090";
  gpu.product = "NVIDIA GeForce RTX 3090";
  gpu.chip = "GA102";
  gpu.sms = 82;
  gpu.clock_hz = ghz(1.695);
  gpu.dram_bytes_per_s = gb_per_s(936);
  gpu.dram_bytes = gib(24);
  gpu.l2_bytes = mib(6);
  gpu.l2_bytes_per_clock = slices(48);
  cite(gpu, "NVIDIA Ampere GA102 GPU Architecture (whitepaper), GeForce RTX 3090",
       {"sms", "clock_hz", "dram_bytes_per_s", "dram_bytes", "l2_bytes"});
  cite(gpu, "assumed: 4 slices for each 32 bits of its memory, 64 bytes per clock each as on A100",
       {"l2_bytes_per_clock"});
  set_matrix_rates(gpu, 256, 128, 1024,
                   "NVIDIA Ampere GA102 GPU Architecture (whitepaper), GeForce RTX 3090: from its peaks of 71 "
                   "TFLOP/s in f16 and bf16 with sums in f32, 35.6 in tf32, and 284 TOP/s in i8");
  return gpu;
}

/// GH100 in the SXM5 form.
Gpu hopper() {
  Gpu gpu = of_architecture({90, 'a'}, 128, 64, kib(256));
  gpu.chip = "GH100";
  gpu.sms = 132;
  gpu.clock_hz = ghz(1.98);
  gpu.l2_partitions = 2;
  cite(gpu, "NVIDIA H100 Tensor Core GPU Architecture (whitepaper): an L2 in two partitions, as on A100",
       {"l2_partitions"});
  gpu.matrix_f16 = {2048 * 2 / 3.0, 2048};
  gpu.matrix_tf32 = {1024 * 2 / 3.0, 1024};
  gpu.matrix_i8 = {4096 * 2 / 3.0, 4096};
  gpu.dense_clock_hz = ghz(1.83);
  cite(gpu,
       "mma.sync: measured on an H200, a matrix unit takes 6 clocks for each m16n8k16, and from registers "
       "alone 0.90 "
       "of this peak was reached. wgmma takes 4: NVIDIA H100 Tensor Core GPU Architecture (whitepaper), H100 "
       "SXM5",
       {"matrix_f16", "matrix_tf32", "matrix_i8"});
  cite(gpu, "NVIDIA H100 Tensor Core GPU Architecture (whitepaper), H100 SXM5: boost clock of the matrix units",
       {"dense_clock_hz"});
  return gpu;
}

Gpu h200() {
  Gpu gpu = hopper();
  gpu.name = "H200";
  gpu.product = "NVIDIA H200";
  gpu.dram_bytes_per_s = gb_per_s(4800);
  gpu.dram_bytes = gib(141);
  gpu.l2_bytes = mib(60);
  gpu.l2_bytes_per_clock = slices(96);
  cite(gpu, "NVIDIA H200 Tensor Core GPU datasheet", {"dram_bytes_per_s", "dram_bytes"});
  cite(gpu, "the driver of one reports it; it gives the 67 TFLOP/s of the datasheet", {"sms", "clock_hz"});
  cite(gpu, "measured: the driver of one reports 60 MB; NVIDIA publishes none", {"l2_bytes"});
  cite(
      gpu,
      "assumed: 12 memory controllers of 8 slices (accel-sim-framework, issue 534), 64 bytes per clock each as "
      "on "
      "A100",
      {"l2_bytes_per_clock"});
  return gpu;
}

Gpu h100() {
  Gpu gpu = hopper();
  gpu.name = "H100";
  gpu.product = "NVIDIA H100 80GB HBM3";
  gpu.dram_bytes_per_s = gb_per_s(3350);
  gpu.dram_bytes = gib(80);
  gpu.l2_bytes = mib(50);
  gpu.l2_bytes_per_clock = slices(80);
  cite(gpu, "NVIDIA H100 Tensor Core GPU Architecture (whitepaper), H100 SXM5", {"sms", "l2_bytes"});
  cite(gpu, "NVIDIA H100 Tensor Core GPU datasheet, SXM", {"dram_bytes_per_s", "dram_bytes"});
  cite(gpu, "NVIDIA H100 Tensor Core GPU datasheet, SXM: from its 67 TFLOP/s", {"clock_hz"});
  cite(
      gpu,
      "assumed: 10 memory controllers of 8 slices, 64 bytes per clock each as on A100; 4472 of these 5120 were "
      "measured on an H800 (arXiv 2402.13499, Table V)",
      {"l2_bytes_per_clock"});
  return gpu;
}

Gpu rtx_5090() {
  Gpu gpu = of_architecture({120, 'a'}, 128, 2, kib(128));
  gpu.name = "RTX 5090";
  gpu.product = "NVIDIA GeForce RTX 5090";
  gpu.chip = "GB202";
  gpu.sms = 170;
  gpu.clock_hz = ghz(2.407);
  gpu.dram_bytes_per_s = gb_per_s(1792);
  gpu.dram_bytes = gib(32);
  gpu.l2_bytes = mib(96);
  gpu.l2_bytes_per_clock = slices(64);
  cite(gpu, "NVIDIA RTX Blackwell GPU Architecture (whitepaper), GeForce RTX 5090",
       {"sms", "clock_hz", "dram_bytes_per_s", "dram_bytes", "l2_bytes"});
  cite(gpu, "assumed: 4 slices for each 32 bits of its memory, 64 bytes per clock each as on A100",
       {"l2_bytes_per_clock"});
  set_matrix_rates(
      gpu, 256, 128, 1024,
      "NVIDIA RTX Blackwell GPU Architecture (whitepaper), GeForce RTX 5090: from its peaks of 209.5 "
      "TFLOP/s in f16 and bf16 with sums in f32, 104.8 in tf32, and 838 TOP/s in i8");
  return gpu;
}

Gpu rtx_a500() {
  Gpu gpu = of_architecture({86}, 128, 2, kib(128));
  gpu.name = "RTX A500";
  gpu.product = "NVIDIA RTX A500 Laptop GPU";
  gpu.chip = "GA107";
  gpu.sms = 16;
  gpu.clock_hz = ghz(0.75);
  gpu.dram_bytes_per_s = gb_per_s(192);
  gpu.dram_bytes = gib(4);
  gpu.l2_bytes = mib(2);
  gpu.l2_bytes_per_clock = slices(16);
  cite(gpu, "NVIDIA RTX A500 Laptop GPU: 2048 CUDA cores, 4 GB", {"sms", "dram_bytes"});
  cite(gpu,
       "the post of tvm_steps: from its peak of 3.07 TFLOP/s, of which its cuBLAS reaches 2.85; the boost "
       "clock is "
       "1.537 GHz, "
       "which a laptop's power may not allow",
       {"clock_hz"});
  cite(gpu, "the post of tvm_steps; NVIDIA says 112 GB/s", {"dram_bytes_per_s"});
  cite(gpu, "the post of tvm_steps; so has all of GA107", {"l2_bytes"});
  cite(gpu, "assumed: 16 slices, as 2 MB of RTX 3090's have, 64 bytes per clock each as on A100",
       {"l2_bytes_per_clock"});
  set_matrix_rates(
      gpu, 512, 256, 1024,
      "assumed: as RTX A6000, NVIDIA Ampere GA102 GPU Architecture (whitepaper), from its peaks of "
      "154.8 TFLOP/s in f16 and bf16, 77.4 in tf32, and 309.7 TOP/s in i8");
  return gpu;
}

Gpu rtx_a6000() {
  Gpu gpu = of_architecture({86}, 128, 2, kib(128));
  gpu.name = "RTX A6000";
  gpu.product = "NVIDIA RTX A6000";
  gpu.chip = "GA102";
  gpu.sms = 84;
  gpu.clock_hz = ghz(1.8);
  gpu.dram_bytes_per_s = gb_per_s(768);
  gpu.dram_bytes = gib(48);
  gpu.l2_bytes = mib(6);
  gpu.l2_bytes_per_clock = slices(48);
  cite(gpu, "NVIDIA Ampere GA102 GPU Architecture (whitepaper), RTX A6000",
       {"sms", "clock_hz", "dram_bytes_per_s", "dram_bytes", "l2_bytes"});
  cite(gpu, "assumed: 4 slices for each 32 bits of its memory, 64 bytes per clock each as on A100",
       {"l2_bytes_per_clock"});
  set_matrix_rates(gpu, 512, 256, 1024,
                   "NVIDIA Ampere GA102 GPU Architecture (whitepaper), RTX A6000: from its peaks of 154.8 "
                   "TFLOP/s in f16 and bf16, 77.4 in tf32, and 309.7 TOP/s in i8");
  return gpu;
}

Gpu l4() {
  Gpu gpu = of_architecture({89}, 128, 2, kib(128));
  gpu.name = "L4";
  gpu.product = "NVIDIA L4";
  gpu.chip = "AD104";
  gpu.sms = 58;
  gpu.clock_hz = ghz(2.04);
  gpu.dram_bytes_per_s = gb_per_s(300);
  gpu.dram_bytes = gib(24);
  gpu.l2_bytes = mib(48);
  gpu.l2_bytes_per_clock = slices(24);
  cite(gpu, "NVIDIA L4 Tensor Core GPU datasheet", {"dram_bytes_per_s", "dram_bytes"});
  cite(gpu, "NVIDIA L4 product brief; they give the 30.3 TFLOP/s of the datasheet", {"sms", "clock_hz"});
  cite(gpu, "NVIDIA Ada GPU Architecture (whitepaper), AD104", {"l2_bytes"});
  cite(gpu, "assumed: 4 slices for each 32 bits of its memory, 64 bytes per clock each as on A100",
       {"l2_bytes_per_clock"});
  set_matrix_rates(gpu, 512, 256, 1024,
                   "NVIDIA L4 Tensor Core GPU datasheet: from its peaks of 242 TFLOP/s in f16 and bf16, 120 in "
                   "tf32, and 485 TOP/s in i8, which are twice as high by sparsity");
  return gpu;
}

Gpu rtx_4090() {
  Gpu gpu = of_architecture({89}, 128, 2, kib(128));
  gpu.name = "RTX 4090";
  gpu.product = "NVIDIA GeForce RTX 4090";
  gpu.chip = "AD102";
  gpu.sms = 128;
  gpu.clock_hz = ghz(2.52);
  gpu.dram_bytes_per_s = gb_per_s(1008);
  gpu.dram_bytes = gib(24);
  gpu.l2_bytes = mib(72);
  gpu.l2_bytes_per_clock = slices(48);
  cite(gpu, "NVIDIA Ada GPU Architecture (whitepaper), GeForce RTX 4090",
       {"sms", "clock_hz", "dram_bytes_per_s", "dram_bytes", "l2_bytes"});
  cite(gpu,
       "assumed: 4 slices for each 32 bits of its memory, 64 bytes per clock each as on A100; about 1720 of "
       "these 3072 "
       "were measured (arXiv 2402.13499, Table V)",
       {"l2_bytes_per_clock"});
  set_matrix_rates(
      gpu, 256, 128, 1024,
      "NVIDIA Ada GPU Architecture (whitepaper), GeForce RTX 4090: from its peaks of 165.2 TFLOP/s in "
      "f16 and bf16 with sums in f32, 82.6 in tf32, and 660.6 TOP/s in i8");
  return gpu;
}

/// The form in which names are compared: letters and digits, without the words that all products share.
std::string key_of(std::string_view name) {
  std::string key;
  for (char c : name)
    if (std::isalnum(static_cast<unsigned char>(c)))
      key += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (std::string_view word : {"nvidia", "geforce", "rtx"})
    if (key.starts_with(word))
      key.erase(0, word.size());
  return key;
}

} // namespace

MatrixRate Gpu::matrix_rate(Feature feature) const {
  switch (feature) {
  case Feature::mma_f16_k8:
  case Feature::mma_f16:
  case Feature::mma_bf16:
    return matrix_f16;
  case Feature::wgmma:
    return {static_cast<double>(matrix_f16.dense), matrix_f16.dense};
  case Feature::mma_tf32:
    return matrix_tf32;
  case Feature::mma_i8:
    return matrix_i8;
  default:
    internal_error("a feature that the matrix units do not have");
  }
}

std::uint64_t multiply_adds_of(const Intrinsic &product) {
  std::int64_t count = 1;
  for (const NestLoop &loop : product.meaning.loops)
    count *= loop.extent;
  return static_cast<std::uint64_t>(count);
}

double Gpu::matrix_clocks(const Intrinsic &product) const {
  return static_cast<double>(multiply_adds_of(product)) / matrix_rate(*product.feature).mma_sync;
}

double Gpu::matrix_flops(Feature feature) const { return 2.0 * sms * matrix_rate(feature).mma_sync * clock_hz; }

double Gpu::dense_flops(Feature feature) const {
  return 2.0 * sms * matrix_rate(feature).dense * dense_clock_hz;
}

const std::vector<Gpu> &gpus() {
  static const std::vector<Gpu> all = {a100(), rtx_3090(), h200(), rtx_5090(), rtx_a500(),
                                       l4(),   rtx_4090(), h100(), rtx_a6000()};
  return all;
}

const Gpu &find_gpu(std::string_view name) {
  std::string key = key_of(name);
  std::vector<std::string> names;
  for (const Gpu &gpu : gpus()) {
    if (key == key_of(gpu.name) || key == key_of(gpu.product))
      return gpu;
    names.push_back(gpu.name);
  }
  throw UserError(ExitCode::usage,
                  fmt::format("no GPU '{}' is known; these are: {}", name, fmt::join(names, ", ")));
}

const Gpu *known_gpu(std::string_view product) {
  auto found = std::ranges::find(gpus(), product, &Gpu::product);
  return found == gpus().end() ? nullptr : &*found;
}

const Gpu *gpu_of(Arch arch) {
  for (const Gpu &gpu : gpus())
    if (gpu.arch.number == arch.number)
      return &gpu;
  return nullptr;
}

std::string serving_gpu(const std::vector<std::string> &products, const Target &target) {
  const Gpu *own = known_gpu(target.gpu);
  auto difference = [&](const std::string &product) {
    const Gpu *gpu = known_gpu(product);
    int major = gpu ? std::abs(gpu->arch.number / 10 - target.arch.number / 10) : INT_MAX;
    int minor = gpu ? std::abs(gpu->arch.number - target.arch.number) : 0;
    return std::tuple(product != target.gpu, major, minor, gpu && own ? std::abs(gpu->sms - own->sms) : 0);
  };
  auto best = std::ranges::min_element(products, {}, difference);
  return best == products.end() ? "" : *best;
}

Target target_of(const Gpu &gpu) {
  Target target = make_target(gpu.arch);
  target.shared_bytes_per_block = gpu.shared_per_block;
  target.shared_bytes_per_sm = gpu.shared_per_sm;
  target.shared_bytes_reserved = gpu.shared_reserved_per_block;
  target.threads_per_sm = gpu.threads_per_sm;
  target.blocks_per_sm = gpu.blocks_per_sm;
  target.sms = gpu.sms;
  target.gpu = gpu.product;
  return target;
}

} // namespace nestsmith
