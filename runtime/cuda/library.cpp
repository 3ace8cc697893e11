#include "runtime/cuda/library.h"

#include "dsl/expr/error.h"
#include "runtime/cuda/trust.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <link.h>
#include <sstream>
#include <sys/stat.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace fs = std::filesystem;

#if defined(__SANITIZE_ADDRESS__)
/// CUDA's libraries keep memory until the end of the program. These are not leaks of nestsmith.
extern "C" const char *__lsan_default_suppressions() { return "leak:libnvrtc\nleak:libcublas\nleak:libcuda\n"; }
#endif

namespace nestsmith::cuda {
namespace {

/// Folders that are searched together and have one name in messages.
struct SearchPlace {
  std::string name;
  std::vector<fs::path> folders;
  /// The user named these folders, so their files are used without the check of runtime/cuda/trust.h.
  bool named = false;
  std::optional<uid_t> owner = std::nullopt; ///< trusted in addition: the owner of this program
};
using SearchPlaces = std::vector<SearchPlace>;

/// Finds the folders of a place that hold the wanted files: libraries or headers.
using Expand = std::function<std::vector<fs::path>(const fs::path &root)>;

std::vector<std::string> file_names(LibraryKind kind) {
  switch (kind) {
  case LibraryKind::nvrtc:
    return {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"};
  case LibraryKind::cublas:
    return {"libcublas.so.13", "libcublas.so.12", "libcublas.so"};
  case LibraryKind::cublaslt:
    return {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so"};
  case LibraryKind::nvml:
    return {"libnvidia-ml.so.1"}; // a plain libnvidia-ml.so may be the toolkit's stub
  case LibraryKind::driver:
    return {"libcuda.so.1"}; // a plain libcuda.so may be the toolkit's stub, which has no device
  }
  internal_error("a library without file names");
}

bool is_folder(const fs::path &path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

std::vector<fs::path> subfolders(const fs::path &folder) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    if (is_folder(it->path()))
      found.push_back(it->path());
  std::sort(found.begin(), found.end());
  return found;
}

/// `root/nvidia/*/leaf`: the layout of the Python wheels.
void add_wheel_folders(const fs::path &root, const char *leaf, std::vector<fs::path> &folders) {
  for (const fs::path &package : subfolders(root / "nvidia"))
    folders.push_back(package / leaf);
}

/// The folders in which a toolkit, an unpacked wheel or a site-packages folder keeps its libraries.
std::vector<fs::path> library_folders(const fs::path &root) {
  std::vector<fs::path> folders = {root, root / "lib64", root / "lib", root / "targets/x86_64-linux/lib",
                                   root / "targets/sbsa-linux/lib"};
  add_wheel_folders(root, "lib", folders);
  return folders;
}

std::vector<fs::path> header_folders(const fs::path &root) {
  std::vector<fs::path> folders = {root, root / "include", root / "targets/x86_64-linux/include",
                                   root / "targets/sbsa-linux/include"};
  add_wheel_folders(root, "include", folders);
  return folders;
}

SearchPlace place(std::string name, const std::vector<fs::path> &roots, const Expand &expand) {
  SearchPlace result{std::move(name), {}};
  for (const fs::path &root : roots) {
    if (!root.is_absolute()) // it would depend on the current folder
      continue;
    for (fs::path &folder : expand(root))
      if (is_folder(folder))
        result.folders.push_back(std::move(folder));
  }
  return result;
}

/// The folders that an environment variable names.
SearchPlace named_place(const std::string &variable, const std::string &value,
                        const std::vector<fs::path> &roots, const Expand &expand) {
  std::string name = fmt::format("{}={}", variable, value);
  for (const fs::path &root : roots)
    if (!root.is_absolute())
      name += fmt::format(" (without '{}', which is not an absolute path)", root.string());
  SearchPlace result = place(std::move(name), roots, expand);
  result.named = true;
  return result;
}

std::string environment(const char *variable) {
  const char *value = std::getenv(variable);
  return value ? value : "";
}

std::vector<fs::path> split(const std::string &text, char separator) {
  std::vector<fs::path> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);)
    if (!part.empty())
      parts.emplace_back(part);
  return parts;
}

SearchPlaces override_places(const Expand &expand) {
  std::string value = environment("NESTSMITH_CUDA_PATH");
  if (value.empty())
    return {};
  return {named_place("NESTSMITH_CUDA_PATH", value, split(value, ':'), expand)};
}

/// `wheels/` and the wheels unpacked in it, either all in one folder or each in its own. The owner of this
/// program may be another user than the one who runs it, such as an administrator of shared software.
SearchPlaces wheel_places(const Expand &expand) {
  std::error_code error;
  struct stat program {};
  std::optional<uid_t> owner;
  if (::stat("/proc/self/exe", &program) == 0)
    owner = program.st_uid;
  fs::path folder = fs::read_symlink("/proc/self/exe", error).parent_path();
  SearchPlaces places;
  for (int level = 0; level < 2 && folder.has_relative_path(); ++level) {
    folder = folder.parent_path();
    fs::path wheels = folder / "wheels";
    std::vector<fs::path> roots = subfolders(wheels);
    roots.insert(roots.begin(), wheels);
    places.push_back(place(wheels.string(), roots, expand));
    places.back().owner = owner;
  }
  return places;
}

SearchPlaces environment_places(const Expand &expand) {
  SearchPlaces places;
  for (const char *variable : {"CUDA_HOME", "CUDA_PATH"})
    if (std::string value = environment(variable); !value.empty())
      places.push_back(named_place(variable, value, {value}, expand));
  return places;
}

/// The numbers in a name, so that cuda-12.10 comes after cuda-12.9.
std::vector<int> version_in_name(const fs::path &path) {
  std::vector<int> numbers;
  bool in_number = false;
  for (char c : path.filename().string()) {
    bool digit = c >= '0' && c <= '9';
    if (digit && !in_number)
      numbers.push_back(0);
    if (digit)
      numbers.back() = std::min(numbers.back(), 99999) * 10 + (c - '0');
    in_number = digit;
  }
  return numbers;
}

SearchPlaces toolkit_places(const Expand &expand) {
  std::vector<fs::path> versions;
  for (const fs::path &folder : subfolders("/usr/local"))
    if (folder.filename().string().starts_with("cuda-"))
      versions.push_back(folder);
  std::stable_sort(versions.begin(), versions.end(), [](const fs::path &a, const fs::path &b) {
    return version_in_name(a) > version_in_name(b);
  });
  return {place("/usr/local/cuda", {"/usr/local/cuda"}, expand), place("/usr/local/cuda-*", versions, expand),
          place("/opt/cuda", {"/opt/cuda"}, expand)};
}

/// The folders from which the python3 in PATH imports. They are searched last, because starting an interpreter
/// takes a while.
std::vector<fs::path> python_path() {
  const char *command = "python3 -c 'import sys, site; print(\"\\n\".join(sys.path + "
                        "[site.getusersitepackages()]))' 2>/dev/null </dev/null";
  std::string text;
  if (FILE *pipe = popen(command, "r")) {
    std::array<char, 4096> chunk;
    for (std::size_t n; (n = fread(chunk.data(), 1, chunk.size(), pipe)) > 0;)
      text.append(chunk.data(), n);
    pclose(pipe);
  }
  return split(text, '\n');
}

SearchPlaces python_places(const Expand &expand) {
  std::vector<fs::path> roots;
  for (const fs::path &folder : python_path())
    if (is_folder(folder / "nvidia"))
      roots.push_back(folder);
  SearchPlaces places = {place("packages of python3", roots, expand)};
  roots = {"/usr/lib/python3/dist-packages"};
  for (const char *prefix : {"/usr/local/lib", "/usr/lib"})
    for (const fs::path &folder : subfolders(prefix))
      if (folder.filename().string().starts_with("python3"))
        for (const char *leaf : {"dist-packages", "site-packages"})
          roots.push_back(folder / leaf);
  std::erase_if(roots, [](const fs::path &root) { return !is_folder(root / "nvidia"); });
  places.push_back(place("system Python packages", roots, expand));
  return places;
}

/// The rules of the header comment as functions, so that a later rule costs nothing if an earlier one succeeds.
std::vector<std::function<SearchPlaces(const Expand &)>> rules() {
  if (!environment("NESTSMITH_CUDA_PATH").empty())
    return {override_places};
  return {wheel_places, environment_places, toolkit_places, python_places};
}

SearchPlaces driver_places() {
  SearchPlaces places = override_places(library_folders);
  std::vector<fs::path> system = {"/usr/lib/wsl/lib", "/usr/local/nvidia/lib64", "/usr/lib64-nvidia",
                                  "/run/opengl-driver/lib"};
  places.push_back(place("the driver folders of WSL and containers", system, library_folders));
  return places;
}

/// The reason why a file of a place is not used, or an empty string. The loader also looks for other libraries
/// in the folder of a library, so others must not create files there, even if it has the sticky bit.
std::string why_not_of(const SearchPlace &place, const fs::path &file) {
  if (place.named)
    return "";
  std::string why = why_untrusted(file, place.owner);
  struct stat folder {};
  if (why.empty() && ::stat(file.parent_path().c_str(), &folder) == 0 &&
      others_can_write(file.parent_path(), folder))
    return fmt::format("other users can write to {}", file.parent_path().string());
  return why;
}

fs::path path_of(void *handle) {
  link_map *map = nullptr;
  if (dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0 || !map)
    return {};
  return map->l_name;
}

/// One search: tries files and records each attempt.
class Finder {
public:
  Finder(LibraryKind kind, const std::function<std::string(const Library &)> &refuse)
      : kind_(kind), refuse_(refuse) {}

  bool try_places(const SearchPlaces &places) {
    for (const SearchPlace &place : places) {
      looked.push_back(place.name);
      for (const fs::path &folder : place.folders)
        for (const std::string &file : file_names(kind_)) {
          std::error_code error;
          if (fs::exists(folder / file, error) && is_safe(place, folder / file) &&
              try_open((folder / file).string(), place))
            return true;
        }
    }
    return false;
  }

  bool try_loader() {
    looked.push_back(fmt::format("the system loader for {}", fmt::join(file_names(kind_), " or ")));
    for (const std::string &file : file_names(kind_)) {
      if (auto found_at = relative_library(file)) {
        looked.push_back(fmt::format("{} is not loaded: LD_LIBRARY_PATH has a folder that is not absolute",
                                     found_at->string()));
        continue;
      }
      if (try_open(file, {"system loader", {}}))
        return true;
    }
    return false;
  }

  std::optional<Library> found;
  std::vector<std::string> looked;

private:
  /// Opening a library executes its constructors, so this check precedes it.
  bool is_safe(const SearchPlace &place, const fs::path &file) {
    std::string why = why_not_of(place, file);
    if (!why.empty())
      looked.push_back(fmt::format("{} is not loaded: {}; if you trust it, name its folder with "
                                   "NESTSMITH_CUDA_PATH",
                                   file.string(), why));
    return why.empty();
  }

  bool try_open(const std::string &file, const SearchPlace &place) {
    bool is_path = file.find('/') != std::string::npos;
    // cuBLAS needs the cublasLt of its own version: open that one before the loader finds another.
    if (kind_ == LibraryKind::cublas && is_path) {
      fs::path sibling(file);
      std::string name = sibling.filename().string();
      sibling.replace_filename("libcublasLt" + name.substr(std::string("libcublas").size()));
      if (std::error_code error; fs::exists(sibling, error) && !is_safe(place, sibling))
        return false;
      dlopen(sibling.c_str(), RTLD_NOW | RTLD_LOCAL); // if this fails, opening cuBLAS reports the reason
    }
    void *handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
      const char *why = dlerror();
      if (is_path)
        looked.push_back(fmt::format("{} cannot be opened: {}", file, why ? why : "unknown reason"));
      return false;
    }
    Library library{handle, path_of(handle), place.name};
    std::string reason = refuse_ ? refuse_(library) : "";
    if (reason.empty()) {
      found = library;
      return true;
    }
    looked.push_back(fmt::format("{}: {}", library.path.string(), reason));
    dlclose(handle);
    return false;
  }

  LibraryKind kind_;
  const std::function<std::string(const Library &)> &refuse_;
};

bool run_rules(LibraryKind kind, Finder &finder) {
  if (kind == LibraryKind::driver || kind == LibraryKind::nvml) {
    SearchPlaces places = driver_places();
    SearchPlace system = places.back();
    places.pop_back();
    return finder.try_places(places) || finder.try_loader() || finder.try_places({system});
  }
  for (const auto &rule : rules())
    if (finder.try_places(rule(library_folders)))
      return true;
  return environment("NESTSMITH_CUDA_PATH").empty() && finder.try_loader();
}

} // namespace

void *Library::symbol(const char *name) const { return dlsym(handle, name); }

Resolver Library::resolver() const {
  return [handle = handle](const char *name) { return dlsym(handle, name); };
}

Search find_library(LibraryKind kind, const std::function<std::string(const Library &)> &refuse) {
  Finder finder(kind, refuse);
  run_rules(kind, finder);
  return {std::move(finder.found), std::move(finder.looked)};
}

std::optional<fs::path> find_headers(const fs::path &library) {
  auto has_header = [](const fs::path &folder) {
    std::error_code error;
    return fs::exists(folder / "cuda_fp16.h", error);
  };
  if (!library.empty()) {
    fs::path beside = library.parent_path().parent_path() / "include";
    if (has_header(beside) && why_untrusted(beside / "cuda_fp16.h").empty())
      return beside;
  }
  for (const auto &rule : rules())
    for (const SearchPlace &place : rule(header_folders))
      for (const fs::path &folder : place.folders)
        if (has_header(folder) && why_not_of(place, folder / "cuda_fp16.h").empty())
          return folder;
  if (environment("NESTSMITH_CUDA_PATH").empty() && has_header("/usr/include"))
    return "/usr/include";
  return std::nullopt;
}

std::string joined(const std::vector<std::string> &places) {
  return fmt::format("{}", fmt::join(places, ", "));
}

} // namespace nestsmith::cuda
