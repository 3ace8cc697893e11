#pragma once
/// CUDA C to CUBIN for a real architecture, by NVRTC 12 or newer, opened at run time.

#include "dsl/error.h"
#include "runtime/cuda/cache.h"
#include "runtime/cuda/library.h"
#include "runtime/cuda/ptxas_log.h"

#include <cstdint>
#include <string>
#include <vector>

namespace nestsmith::cuda {

/// One kernel, ready to load.
struct Compiled : KernelResources {
  std::string kernel_name;
  std::vector<char> cubin;
  std::string arch;
  std::string log; ///< all that NVRTC and ptxas said
  bool from_cache = false;
  double seconds = 0; ///< to compile it, or to read it from the cache
};

/// The source was refused. `what()` names the place and shows its line; `log` is the compiler's text.
class CompileError : public UserError {
public:
  CompileError(const std::string &message, std::string log)
      : UserError(ExitCode::usage, message), log_(std::move(log)) {}
  const std::string &log() const { return log_; }

private:
  std::string log_;
};

/// The source includes a header of CUDA, such as cuda_fp16.h, and there are none on this machine.
class HeadersMissing : public UserError {
public:
  explicit HeadersMissing(const std::string &message) : UserError(ExitCode::no_device, message) {}
};

/// This NVRTC does not compile for the architecture.
class UnknownArchitecture : public UserError {
public:
  explicit UnknownArchitecture(const std::string &message) : UserError(ExitCode::usage, message) {}
};

class Nvrtc {
public:
  /// The one that this process uses, found on the first call: the first by the order of library.h that
  /// is no newer than the CUDA driver takes, where there is a driver. Throws UserError (no_device) with
  /// the places looked at.
  static const Nvrtc &get();
  /// Looks again.
  static Nvrtc find();

  /// Compiles the kernel `kernel_name`, which `source` declares `extern "C"`. An unknown `arch` is a
  /// UserError (usage) that lists the known ones; headers that are missing are HeadersMissing. `options` are
  /// added to NVRTC's command line. Results come from the cache and go into it where there is one.
  Compiled compile(const std::string &source, const std::string &kernel_name, const std::string &arch,
                   KernelCache *cache = nullptr, const std::vector<std::string> &options = {}) const;

  /// Real architectures, as `compile` takes them: sm_75, …, with sm_90a and sm_100f beside sm_90 and sm_100.
  std::vector<std::string> arches() const;
  int major() const { return major_; }
  int minor() const { return minor_; }
  std::string version() const;
  const Library &library() const { return library_; }

private:
  Nvrtc() = default;
  void check_arch(const std::string &arch) const;
  std::vector<std::string> command_line(const std::string &source, const std::string &arch,
                                        const std::vector<std::string> &options) const;

  Library library_;
  int major_ = 0, minor_ = 0;
};

/// `Nvrtc::get().compile` with the standard cache.
Compiled compile(const std::string &source, const std::string &kernel_name, const std::string &arch);
std::vector<std::string> supported_arches();

} // namespace nestsmith::cuda
