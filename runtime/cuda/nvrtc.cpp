#include "runtime/cuda/nvrtc.h"

#include "runtime/cuda/driver.h"

#include <algorithm>
#include <chrono>
#include <climits>
#include <tuple>
#include <variant>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <llvm/ADT/StringRef.h>

namespace nestsmith::cuda {
namespace {

// In nvrtc.h, a result is an enum: 0 means success, and 6 means that the program does not compile.
using NvrtcResult = int;
using NvrtcProgram = struct NvrtcProgramRecord *;
constexpr NvrtcResult compilation_failed = 6;
/// NVRTC 13.0 writes past its buffers for names of 100,000 letters. A kernel's name is that of a workload with
/// a suffix (dsl/expr/identifier.h).
constexpr std::size_t most_name_length = 1000;

template <class Signature> Signature *function(const Library &library, const char *name) {
  void *address = library.symbol(name);
  if (!address)
    throw UserError(ExitCode::no_device,
                    fmt::format("{} is not a usable NVRTC: it has no {}", library.path.string(), name));
  return reinterpret_cast<Signature *>(address);
}

void check(const Library &library, NvrtcResult result, const char *call) {
  if (result == 0)
    return;
  const char *text = function<const char *(NvrtcResult)>(library, "nvrtcGetErrorString")(result);
  throw UserError(ExitCode::no_device, fmt::format("{} of {} failed: {}", call, library.path.string(),
                                                   text ? text : "unknown error"));
}

/// An NVRTC program and its outputs.
class Program {
public:
  Program(const Library &library, const std::string &source, const std::string &file) : library_(library) {
    auto create = function<NvrtcResult(NvrtcProgram *, const char *, const char *, int, const char *const *,
                                       const char *const *)>(library, "nvrtcCreateProgram");
    check(library, create(&program_, source.c_str(), file.c_str(), 0, nullptr, nullptr), "nvrtcCreateProgram");
  }
  ~Program() {
    if (void *destroy = library_.symbol("nvrtcDestroyProgram"))
      reinterpret_cast<NvrtcResult (*)(NvrtcProgram *)>(destroy)(&program_);
  }
  Program(const Program &) = delete;
  Program &operator=(const Program &) = delete;

  NvrtcResult compile(const std::vector<std::string> &options) {
    std::vector<const char *> texts;
    for (const std::string &option : options)
      texts.push_back(option.c_str());
    return function<NvrtcResult(NvrtcProgram, int, const char *const *)>(library_, "nvrtcCompileProgram")(
        program_, static_cast<int>(texts.size()), texts.data());
  }
  std::string log() const {
    std::vector<char> text = read("nvrtcGetProgramLogSize", "nvrtcGetProgramLog");
    std::erase(text, '\0'); // a NUL ends the text, and one may separate the parts of NVRTC and ptxas
    return {text.begin(), text.end()};
  }
  std::vector<char> cubin() const { return read("nvrtcGetCUBINSize", "nvrtcGetCUBIN"); }

private:
  std::vector<char> read(const char *size_call, const char *call) const {
    std::size_t size = 0;
    check(library_, function<NvrtcResult(NvrtcProgram, std::size_t *)>(library_, size_call)(program_, &size),
          size_call);
    std::vector<char> data(size);
    if (size > 0)
      check(library_, function<NvrtcResult(NvrtcProgram, char *)>(library_, call)(program_, data.data()), call);
    return data;
  }

  const Library &library_;
  NvrtcProgram program_ = nullptr;
};

std::pair<int, int> version_of_nvrtc(const Library &library) {
  int major = 0, minor = 0;
  check(library, function<NvrtcResult(int *, int *)>(library, "nvrtcVersion")(&major, &minor), "nvrtcVersion");
  return {major, minor};
}

/// The reason to skip this library, or "". It must be NVRTC 12 or newer, and its major version must not
/// exceed the given one.
std::string why_unfit(const Library &library, int largest_major) {
  if (!library.symbol("nvrtcVersion") || !library.symbol("nvrtcGetCUBIN"))
    return "is an NVRTC that cannot generate CUBIN";
  auto [major, minor] = version_of_nvrtc(library);
  if (major < 12)
    return fmt::format("is NVRTC {}.{} (older than 12)", major, minor);
  if (major > largest_major)
    return fmt::format("is NVRTC {}.{} (the driver supports at most CUDA {})", major, minor, largest_major);
  return "";
}

std::string first_line_with(const std::string &log, llvm::StringRef what) {
  llvm::StringRef rest(log);
  while (!rest.empty()) {
    auto [line, tail] = rest.split('\n');
    if (line.contains(what))
      return line.str();
    rest = tail;
  }
  return "";
}

/// The line of the source to which "file.cu(12): error: …" refers, with its number.
std::string quoted_line(const std::string &source, llvm::StringRef message) {
  auto [name, rest] = message.split('(');
  unsigned number = 0;
  if (rest.consumeInteger(10, number) || number == 0 || !rest.consume_front(")"))
    return "";
  llvm::StringRef text(source);
  for (unsigned line = 1; line < number; ++line)
    text = text.split('\n').second;
  return fmt::format("\n{:>5} | {}", number, text.split('\n').first.str());
}

[[noreturn]] void refuse(const std::string &source, const std::string &kernel, const std::string &log) {
  std::string message = first_line_with(log, "error");
  throw CompileError(fmt::format("kernel {} does not compile: {}{}", kernel,
                                 message.empty() ? "NVRTC gives no reason" : message,
                                 quoted_line(source, message)),
                     log);
}

/// ptxas repairs a missing order of calls of matrix units, with no more than a message: C7510 to C7519. The
/// text must state the order itself, because the simulator checks the text, and a repair costs time. By others
/// from C7500 to C7599 it says what it has ignored, such as `setmaxnreg`.
void refuse_repairs(const std::string &kernel, const std::string &log) {
  if (std::string repair = first_line_with(log, "(C751"); !repair.empty())
    throw CompileError(
        fmt::format("kernel {} does not order its calls of matrix units as the assembler wants: {}", kernel,
                    repair),
        log);
  if (std::string ignored = first_line_with(log, "(C75"); !ignored.empty())
    throw CompileError(fmt::format("kernel {} is not assembled as it is written: {}", kernel, ignored), log);
}

/// The first CUDA header that a source includes: "cuda_fp16.h".
std::string included_header(llvm::StringRef source) {
  llvm::StringRef name = source.substr(source.find("#include <cuda_") + 10);
  return name.substr(0, name.find('>')).str();
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

} // namespace

Nvrtc Nvrtc::find() {
  std::optional<int> driver = driver_version();
  int largest_major = driver ? *driver / 1000 : INT_MAX;
  Search search = find_library(LibraryKind::nvrtc,
                               [&](const Library &library) { return why_unfit(library, largest_major); });
  if (!search.library && driver) // a library whose code the driver cannot load is better than none
    search.library = find_library(LibraryKind::nvrtc, [](const Library &library) {
                       return why_unfit(library, INT_MAX);
                     }).library;
  if (!search.library)
    throw UserError(ExitCode::no_device,
                    fmt::format("no NVRTC found (searched: {}); `nestsmith doctor` says how to get it",
                                joined(search.looked)));
  Nvrtc nvrtc;
  nvrtc.library_ = *search.library;
  std::tie(nvrtc.major_, nvrtc.minor_) = version_of_nvrtc(nvrtc.library_);
  return nvrtc;
}

const Nvrtc &Nvrtc::get() {
  // Remember a failed search as well, because it takes long and many kernels may repeat it.
  static const std::variant<Nvrtc, UserError> found = []() -> std::variant<Nvrtc, UserError> {
    try {
      return find();
    } catch (const UserError &error) {
      return error;
    }
  }();
  if (const auto *error = std::get_if<UserError>(&found))
    throw *error;
  return std::get<Nvrtc>(found);
}

std::string Nvrtc::version() const { return fmt::format("{}.{}", major_, minor_); }

std::vector<Arch> Nvrtc::arches() const {
  int count = 0;
  check(library_, function<NvrtcResult(int *)>(library_, "nvrtcGetNumSupportedArchs")(&count),
        "nvrtcGetNumSupportedArchs");
  std::vector<int> numbers(static_cast<std::size_t>(count));
  check(library_, function<NvrtcResult(int *)>(library_, "nvrtcGetSupportedArchs")(numbers.data()),
        "nvrtcGetSupportedArchs");
  std::vector<Arch> arches;
  for (int number : numbers) {
    arches.push_back({number});
    // NVRTC lists numbers only. It has family-specific code from CUDA 12.9 on (CUDA C++ Programming Guide,
    // "Feature Availability").
    if (has_suffix(number, 'a'))
      arches.push_back({number, 'a'});
    if (has_suffix(number, 'f') && (major_ > 12 || minor_ >= 9))
      arches.push_back({number, 'f'});
  }
  return arches;
}

Arch Nvrtc::known_arch(const std::string &arch) const {
  std::optional<Arch> parsed = Arch::parse(arch);
  std::vector<Arch> known = arches();
  if (parsed && std::ranges::find(known, *parsed) != known.end())
    return *parsed;
  std::string advice;
  int newest = 0;
  unsigned nearest = 3; // a name that is more than two edits away is not a misspelling
  for (Arch each : known) {
    newest = std::max(newest, each.number);
    unsigned distance = llvm::StringRef(to_string(each)).edit_distance(arch);
    if (distance < nearest) {
      nearest = distance;
      advice = fmt::format("; did you mean {}?", to_string(each));
    }
  }
  if (parsed && parsed->number > newest)
    advice = "; a newer architecture needs a newer NVRTC";
  throw UnknownArchitecture(fmt::format("unknown architecture \"{}\": NVRTC {} compiles for {}{}", arch,
                                        version(), fmt::join(names(known), ", "), advice));
}

std::vector<std::string> Nvrtc::command_line(const std::string &source, Arch arch,
                                             const std::vector<std::string> &options) const {
  std::vector<std::string> line = {"--gpu-architecture=" + to_string(arch), "--std=c++17",
                                   "--ptxas-options=-v"};
  // Headers require a search, but most kernels need none.
  if (source.find("#include") != std::string::npos) {
    auto headers = find_headers(library_.path);
    if (!headers && source.find("#include <cuda_") != std::string::npos)
      throw HeadersMissing(fmt::format("the kernel includes {}, which NVRTC does not provide; `nestsmith "
                                       "doctor` says how to get the CUDA headers",
                                       included_header(source)));
    if (headers)
      line.push_back("--include-path=" + headers->string());
  }
  // NVRTC's own cache returns the CUBIN without the log, so registers and spills would be unknown.
  if (std::pair(major_, minor_) >= std::pair(12, 9))
    line.emplace_back("--no-cache");
  line.insert(line.end(), options.begin(), options.end());
  return line;
}

Compiled Nvrtc::compile(const std::string &source, const std::string &kernel_name, const std::string &arch_name,
                        DiskCache *cache, const std::vector<std::string> &options) const {
  if (kernel_name.size() > most_name_length)
    throw CompileError(
        fmt::format("the name of a kernel has {} letters, expected at most {}; use a shorter name",
                    kernel_name.size(), most_name_length),
        "");
  auto start = std::chrono::steady_clock::now();
  Arch arch = known_arch(arch_name);
  std::vector<std::string> line = command_line(source, arch, options);
  std::vector<std::string> parts = {"NVRTC " + version(), kernel_name, source};
  parts.insert(parts.end(), line.begin(), line.end());
  std::string key = DiskCache::key(parts);
  if (cache)
    if (std::optional<std::string> entry = cache->get(key))
      if (std::optional<Compiled> compiled = read_entry(*entry, kernel_name, arch)) {
        compiled->from_cache = true;
        compiled->seconds = seconds_since(start);
        return *compiled;
      }

  Program program(library_, source, kernel_name + ".cu");
  NvrtcResult result = program.compile(line);
  Compiled compiled;
  compiled.log = program.log();
  if (result == compilation_failed)
    refuse(source, kernel_name, compiled.log);
  check(library_, result, "nvrtcCompileProgram");
  refuse_repairs(kernel_name, compiled.log);
  std::vector<std::string> entries = entry_functions(compiled.log);
  if (std::find(entries.begin(), entries.end(), kernel_name) == entries.end())
    throw CompileError(fmt::format("the source has no kernel {}: it has {}; declare it extern \"C\" __global__",
                                   kernel_name,
                                   entries.empty() ? "none" : fmt::format("{}", fmt::join(entries, ", "))),
                       compiled.log);
  std::optional<KernelResources> resources = resources_of(compiled.log, kernel_name);
  if (!resources)
    throw UserError(ExitCode::no_device,
                    fmt::format("NVRTC {} ({}) does not report the parameters of kernel {}; NVRTC 12 and 13 do",
                                version(), library_.path.string(), kernel_name));
  static_cast<KernelResources &>(compiled) = *resources;
  compiled.kernel_name = kernel_name;
  compiled.cubin = program.cubin();
  compiled.arch = arch;
  compiled.seconds = seconds_since(start);
  if (cache)
    cache->put(key, write_entry(compiled));
  return compiled;
}

Compiled compile(const std::string &source, const std::string &kernel_name, Arch arch) {
  return Nvrtc::get().compile(source, kernel_name, to_string(arch), &DiskCache::standard());
}

std::vector<Arch> supported_arches() { return Nvrtc::get().arches(); }

} // namespace nestsmith::cuda
