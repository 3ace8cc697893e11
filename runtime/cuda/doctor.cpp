#include "runtime/cuda/doctor.h"

#include "dsl/expr/error.h"
#include "runtime/cuda/cache.h"
#include "runtime/cuda/cublas.h"
#include "runtime/cuda/driver.h"
#include "runtime/cuda/nvrtc.h"
#include "runtime/model/occupancy.h"

#include <thread>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace nestsmith {
namespace {

constexpr const char *get_wheels =
    "./run.sh --cuda 13 gets it from Python wheels, or install a CUDA toolkit 12 or 13 "
    "and set CUDA_HOME, or set NESTSMITH_CUDA_PATH to the folder that has it";

DoctorItem examine_gpu() {
  DoctorItem item{"gpu", "GPU and driver", false, "", "", {}};
  try {
    auto device = cuda::Device::open();
    const cuda::DeviceInfo &info = device->info();
    std::string driver = cuda::version_text(info.driver_version);
    item.found = true;
    item.detail =
        fmt::format("{}, {}, {} SMs, {:.1f} GiB, L2 {:.1f} MiB, driver for CUDA {}", info.name,
                    to_string(info.arch()), info.sm_count, static_cast<double>(info.memory_bytes) / (1 << 30),
                    static_cast<double>(info.l2_bytes) / (1 << 20), driver);
    item.facts = {{"name", info.name},
                  {"arch", to_string(info.arch())},
                  {"sm_count", std::to_string(info.sm_count)},
                  {"memory_bytes", std::to_string(info.memory_bytes)},
                  {"l2_bytes", std::to_string(info.l2_bytes)},
                  {"driver_cuda", driver}};
  } catch (const UserError &error) {
    item.detail = error.what();
    item.advice =
        "without a GPU everything runs on the simulator; for a GPU, install NVIDIA's driver for CUDA 12 or "
        "13 and check nvidia-smi";
  }
  return item;
}

DoctorItem examine_nvrtc(std::filesystem::path &library) {
  DoctorItem item{"nvrtc", "NVRTC", false, "", "", {}};
  try {
    cuda::Nvrtc nvrtc = cuda::Nvrtc::find();
    library = nvrtc.library().path;
    std::string arches = fmt::format("{}", fmt::join(names(nvrtc.arches()), " "));
    item.found = true;
    item.detail = fmt::format("{} in {} (by {}), compiles for {}", nvrtc.version(), library.string(),
                              nvrtc.library().place, arches);
    item.facts = {{"version", nvrtc.version()},
                  {"path", library.string()},
                  {"place", nvrtc.library().place},
                  {"arches", arches}};
  } catch (const UserError &error) {
    item.detail = error.what();
    item.advice = get_wheels;
  }
  return item;
}

DoctorItem examine_cublas() {
  DoctorItem item{"cublas", "cuBLAS", false, "", "", {}};
  std::vector<std::string> looked;
  if (auto cublas = cuda::find_cublas(looked)) {
    item.found = true;
    item.detail = fmt::format("{} in {} (by {})", cublas->version, cublas->path.string(), cublas->place);
    item.facts = {{"version", cublas->version}, {"path", cublas->path.string()}, {"place", cublas->place}};
  } else {
    item.detail = fmt::format("not found (searched: {})", cuda::joined(looked));
    item.advice = "needed only for comparisons on a GPU: pip install nvidia-cublas (CUDA 13) or "
                  "nvidia-cublas-cu12, or install a CUDA toolkit";
  }
  return item;
}

DoctorItem examine_headers(const std::filesystem::path &nvrtc) {
  DoctorItem item{"headers", "CUDA headers", false, "", "", {}};
  if (auto folder = cuda::find_headers(nvrtc)) {
    item.found = true;
    item.detail = folder->string();
    item.facts = {{"path", folder->string()}};
  } else {
    item.detail = "cuda_fp16.h not found; kernels of f16 and bf16 include it";
    item.advice = get_wheels;
  }
  return item;
}

DoctorItem examine_occupancy() {
  DoctorItem item{"occupancy", "occupancy", false, "", "", {}};
  if (auto calculator = occupancy_calculator()) {
    item.found = true;
    item.detail = "by " + *calculator;
  } else {
    item.detail = "this build has no cuda_occupancy.h, which computes the occupancy";
    item.advice = "./run.sh --cuda 13 gets it from Python wheels, or install a CUDA toolkit; then build again";
  }
  return item;
}

DoctorItem examine_cache() {
  const DiskCache &cache = DiskCache::standard();
  DoctorItem item{"cache", "kernel cache", false, cache.directory().string(), "", {}};
  item.facts = {{"path", cache.directory().string()}};
  std::string why = cache.why_not_writable();
  item.found = why.empty();
  if (!item.found && why == cache.why_not_own()) {
    item.detail = fmt::format("not used: {}", why);
    item.advice = "kernels are recompiled in every run; set NESTSMITH_CACHE to a folder of your own";
  } else if (!item.found) {
    item.detail = fmt::format("{}cannot be written: {}", item.detail.empty() ? "" : item.detail + " ", why);
    item.advice = "kernels are recompiled in every run; set NESTSMITH_CACHE to a writable folder";
  }
  return item;
}

DoctorItem examine_cpu() {
  unsigned cores = std::max(1u, std::thread::hardware_concurrency());
  return {"cpu", "host cores",
          true,  fmt::format("{}, all used by the simulator", cores),
          "",    {{"cores", std::to_string(cores)}}};
}

} // namespace

const DoctorItem &DoctorReport::item(const std::string &key) const {
  for (const DoctorItem &item : items)
    if (item.key == key)
      return item;
  internal_error("no item of the doctor is called " + key);
}

DoctorReport examine_machine() {
  DoctorReport report;
  report.items.push_back(examine_gpu());
  std::filesystem::path nvrtc;
  report.items.push_back(examine_nvrtc(nvrtc));
  report.items.push_back(examine_cublas());
  report.items.push_back(examine_headers(nvrtc));
  report.items.push_back(examine_occupancy());
  report.items.push_back(examine_cache());
  report.items.push_back(examine_cpu());
  return report;
}

} // namespace nestsmith
