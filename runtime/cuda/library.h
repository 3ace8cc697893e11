#pragma once
/// Finds and opens the CUDA libraries at run time; nothing of CUDA is linked.
///
/// Where they are looked for, in this order:
///   1. NESTSMITH_CUDA_PATH, a list of folders separated by ':' (toolkits, folders of wheels, folders of
///      libraries). Where it is set, NVRTC, cuBLAS and headers are looked for nowhere else.
///   2. `wheels/` beside the folder of this program, or one folder higher: unpacked Python wheels
///   3. CUDA_HOME, CUDA_PATH
///   4. /usr/local/cuda, /usr/local/cuda-*, /opt/cuda
///   5. Python packages: those of the python3 in PATH, of the user, and of the system
///   6. the system loader, by soname
/// The driver (libcuda) comes with the system: NESTSMITH_CUDA_PATH, the loader, and the folders where
/// WSL and containers put it.

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace nestsmith::cuda {

/// Gives the address of a function by its name, or null.
using Resolver = std::function<void *(const char *)>;

enum class LibraryKind { nvrtc, driver, cublas };

/// An open shared library. It stays open until the program ends.
struct Library {
  void *handle = nullptr;
  std::filesystem::path path;
  std::string place; ///< the rule that found it: "CUDA_HOME", "system loader", …

  void *symbol(const char *name) const; ///< null where the library has none
  Resolver resolver() const;
};

struct Search {
  std::optional<Library> library;
  std::vector<std::string> looked; ///< the places up to the find, and why a library found there was passed over
};

/// Opens the first library that `refuse` accepts: it gives the reason why not, or an empty string.
Search find_library(LibraryKind kind, const std::function<std::string(const Library &)> &refuse = {});

/// The folder with `cuda_fp16.h`, by the same rules, first beside `library` (where given); NVRTC has no
/// such header of its own.
std::optional<std::filesystem::path> find_headers(const std::filesystem::path &library = {});

/// The places as one text, for messages.
std::string joined(const std::vector<std::string> &places);

} // namespace nestsmith::cuda
