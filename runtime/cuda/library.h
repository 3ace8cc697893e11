#pragma once
/// Finds and opens the CUDA libraries at run time. The program is not linked against CUDA.
///
/// Search order:
///   1. NESTSMITH_CUDA_PATH, a list of folders separated by ':' (toolkits, folders of wheels, folders of
///     libraries). If it is set, NVRTC, cuBLAS and headers are searched nowhere else.
///   2. `wheels/` beside the folder of this program, or one folder higher: unpacked Python wheels
///   3. CUDA_HOME, CUDA_PATH
///   4. /usr/local/cuda, /usr/local/cuda-*, /opt/cuda
///   5. Python packages: those of the python3 in PATH, of the user, and of the system
///   6. the system loader, by soname
/// A relative folder is never searched. A library of the other places than NESTSMITH_CUDA_PATH, CUDA_HOME and
/// CUDA_PATH, which the user names, is opened only if other users of this machine cannot change it
/// (runtime/cuda/trust.h): opening a library executes its code.
/// The driver (libcuda) and NVML are part of the system. For them, the places are NESTSMITH_CUDA_PATH, the
/// system loader, and the folders that WSL and containers use.

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace nestsmith::cuda {

/// Returns the address of a function by its name, or null.
using Resolver = std::function<void *(const char *)>;

enum class LibraryKind { nvrtc, driver, cublas, cublaslt, nvml };

/// An open shared library. It stays open until the process exits.
struct Library {
  void *handle = nullptr;
  std::filesystem::path path;
  std::string place; ///< the rule that found it: "CUDA_HOME", "system loader", …

  void *symbol(const char *name) const; ///< null if the library does not define it
  Resolver resolver() const;
};

struct Search {
  std::optional<Library> library;
  std::vector<std::string> looked; ///< searched places; for each rejected library, the reason
};

/// Opens the first library for which `refuse` returns an empty string. `refuse` returns the reason for a
/// rejection, or an empty string.
Search find_library(LibraryKind kind, const std::function<std::string(const Library &)> &refuse = {});

/// The folder with `cuda_fp16.h`, by the same search order. If `library` is given, the folders beside it are
/// searched first. NVRTC does not contain this header.
std::optional<std::filesystem::path> find_headers(const std::filesystem::path &library = {});

/// The places as one text, for messages.
std::string joined(const std::vector<std::string> &places);

} // namespace nestsmith::cuda
