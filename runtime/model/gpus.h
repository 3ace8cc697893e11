#pragma once
/// GPUs that kernels are reasoned about for, whether or not one is at hand: plain data, each figure with its
/// source.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace nestsmith {

struct Gpu {
  std::string name;    ///< as --gpu takes it: "A100"
  std::string product; ///< "NVIDIA A100-SXM4-40GB"
  std::string arch;    ///< as NVRTC names it for this very device: "sm_80", "sm_90a"
  std::string chip;    ///< as the profiler names it: "GA100"
  int sms = 0;
  double clock_hz = 0;                        ///< boost, unless its source says otherwise
  int fp32_lanes = 0;                         ///< FFMA of so many threads can start in an SM each clock
  int schedulers = 4;                         ///< of an SM; each issues one warp instruction a clock
  double dram_bytes_per_s = 0;                ///< peak
  std::int64_t dram_bytes = 0;                ///< capacity
  std::int64_t l2_bytes = 0;                  ///< capacity
  int l2_partitions = 1;                      ///< each caches what the SMs on its side ask for
  double l2_bytes_per_clock = 0;              ///< of the whole chip, reads
  std::int64_t l1_bytes = 0;                  ///< of an SM: L1 and shared memory together
  std::int64_t shared_per_sm = 0;             ///< at most, of these
  std::int64_t shared_per_block = 0;          ///< by opting in
  std::int64_t shared_reserved_per_block = 0; ///< by the system
  int threads_per_sm = 0, blocks_per_sm = 0, registers_per_sm = 65536;
  /// What each figure is taken from, by the name of its field. One that nobody publishes begins with "assumed"
  /// or "measured".
  std::map<std::string, std::string> sources;

  int warps_per_sm() const { return threads_per_sm / 32; }
  double fp32_flops() const { return 2.0 * sms * fp32_lanes * clock_hz; } ///< peak, in FLOP/s
  double ridge() const { return fp32_flops() / dram_bytes_per_s; }        ///< in FLOP/byte
};

/// In the order in which they are listed.
const std::vector<Gpu> &gpus();
/// By its name, in any case, with or without spaces, "RTX" and "NVIDIA": "a100", "3090"; or by its product.
/// Throws UserError (usage) with the list.
const Gpu &find_gpu(std::string_view name);
/// The listed GPU that a device is (`product` is what the driver calls it), or null.
const Gpu *known_gpu(std::string_view product);
/// The first one of the list that runs code for an architecture, or null.
const Gpu *gpu_of(std::string_view arch);

} // namespace nestsmith
