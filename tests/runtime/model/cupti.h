#pragma once
/// The host library of CUPTI, which lists the metrics of each chip without a GPU (cupti_profiler_host.h of the
/// CUDA toolkit documents it). It is opened from a toolkit or a wheel.

#include <cstddef>
#include <cstdint>
#include <dlfcn.h>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace nestsmith::test {

class Cupti {
public:
  /// Returns null if this machine has no usable library.
  static std::unique_ptr<Cupti> open() {
    for (const std::filesystem::path &folder : folders())
      for (const char *file : {"libcupti.so.13", "libcupti.so.12"})
        if (std::error_code error; std::filesystem::exists(folder / file, error))
          if (std::unique_ptr<Cupti> cupti(new Cupti((folder / file).string())); cupti->usable())
            return cupti;
    return nullptr;
  }

  /// Whether a chip has a metric.
  bool knows(const std::string &chip, const std::string &metric) const {
    Initialize chosen{offsetof(Initialize, host) + sizeof(void *), nullptr, 0, chip.c_str(), nullptr, nullptr};
    if (initialize_(&chosen) != 0)
      return false;
    Properties asked{offsetof(Properties, type) + sizeof(int),
                     nullptr,
                     chosen.host,
                     metric.c_str(),
                     nullptr,
                     nullptr,
                     nullptr,
                     0};
    bool known = properties_(&asked) == 0;
    Deinitialize done{sizeof(Deinitialize), nullptr, chosen.host};
    deinitialize_(&done);
    return known;
  }

  const std::string path;

private:
  // The arguments of the functions. CUPTI reads the first field of each structure.
  struct Initialize {
    std::size_t size;
    void *unused;
    int profiler; ///< 0: range profiler, as in Nsight Compute
    const char *chip;
    const std::uint8_t *counters;
    void *host; ///< out
  };
  struct Deinitialize {
    std::size_t size;
    void *unused;
    void *host;
  };
  struct Properties {
    std::size_t size;
    void *unused;
    void *host;
    const char *metric;
    const char *description, *unit, *dimension; ///< out
    int type;                                   ///< out
  };

  explicit Cupti(std::string file) : path(std::move(file)) {
    // CUPTI opens this library by name. A wheel has it beside CUPTI, where the loader does not search.
    dlopen((std::filesystem::path(path).parent_path() / "libnvperf_host.so").c_str(), RTLD_NOW | RTLD_LOCAL);
    void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library)
      return;
    initialize_ = reinterpret_cast<int (*)(Initialize *)>(dlsym(library, "cuptiProfilerHostInitialize"));
    deinitialize_ = reinterpret_cast<int (*)(Deinitialize *)>(dlsym(library, "cuptiProfilerHostDeinitialize"));
    properties_ =
        reinterpret_cast<int (*)(Properties *)>(dlsym(library, "cuptiProfilerHostGetMetricProperties"));
  }
  /// CUPTI 13.5 has the functions, but they fail without a driver.
  bool usable() const {
    return initialize_ && deinitialize_ && properties_ && knows("GA100", "dram__bytes.sum");
  }

  static std::vector<std::filesystem::path> folders() {
    std::vector<std::filesystem::path> roots, result;
    for (const char *variable : {"CUDA_HOME", "CUDA_PATH"})
      if (const char *root = std::getenv(variable))
        roots.emplace_back(root);
    std::error_code error;
    for (const auto &entry : std::filesystem::directory_iterator("/usr/local", error))
      if (entry.path().filename().string().starts_with("cuda"))
        roots.push_back(entry.path());
    for (const auto &entry :
         std::filesystem::directory_iterator(NESTSMITH_SOURCE_DIR "/build/wheels/nvidia", error))
      roots.push_back(entry.path());
    for (const std::filesystem::path &root : roots)
      for (const char *leaf : {"lib64", "lib", "extras/CUPTI/lib64"})
        result.push_back(root / leaf);
    return result;
  }

  int (*initialize_)(Initialize *) = nullptr;
  int (*deinitialize_)(Deinitialize *) = nullptr;
  int (*properties_)(Properties *) = nullptr;
};

} // namespace nestsmith::test
