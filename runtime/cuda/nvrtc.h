#pragma once
/// Compiles CUDA C to CUBIN for a real architecture with NVRTC 12 or newer, opened at run time.

#include "dsl/expr/error.h"
#include "runtime/cuda/cache.h"
#include "runtime/cuda/compiled.h"
#include "runtime/cuda/library.h"

#include <cstdint>
#include <string>
#include <vector>

namespace nestsmith::cuda {

/// The source was rejected. `what()` names the position and shows its line; `log` is the compiler's output.
class CompileError : public UserError {
public:
  CompileError(const std::string &message, std::string log)
      : UserError(ExitCode::usage, message), log_(std::move(log)) {}
  const std::string &log() const { return log_; }

private:
  std::string log_;
};

/// The source includes a CUDA header, such as cuda_fp16.h, that this machine does not have.
class HeadersMissing : public UserError {
public:
  explicit HeadersMissing(const std::string &message) : UserError(ExitCode::no_device, message) {}
};

/// This NVRTC does not support the architecture.
class UnknownArchitecture : public UserError {
public:
  explicit UnknownArchitecture(const std::string &message) : UserError(ExitCode::usage, message) {}
};

class Nvrtc {
public:
  /// The NVRTC of this process. The first call searches it: the first NVRTC in the order of library.h. If there
  /// is a CUDA driver, an NVRTC that is newer than the driver is skipped. If there is none, throws UserError
  /// (no_device) with the searched places.
  static const Nvrtc &get();
  /// Searches NVRTC again.
  static Nvrtc find();

  /// Compiles the kernel `kernel_name`, which `source` declares `extern "C"`, for an architecture name such as
  /// "sm_90a". Adds `options` to NVRTC's command line. Reads the result from `cache`, or stores it there.
  /// Throws UnknownArchitecture with the supported architectures, HeadersMissing, and CompileError.
  Compiled compile(const std::string &source, const std::string &kernel_name, const std::string &arch,
                   DiskCache *cache = nullptr, const std::vector<std::string> &options = {}) const;

  /// Real architectures: sm_75, …, with sm_90a and sm_100f in addition to sm_90 and sm_100.
  std::vector<Arch> arches() const;
  /// The architecture of this name. Throws UnknownArchitecture with the supported ones if it is none of them.
  Arch known_arch(const std::string &arch) const;
  int major() const { return major_; }
  int minor() const { return minor_; }
  std::string version() const;
  const Library &library() const { return library_; }

private:
  Nvrtc() = default;
  std::vector<std::string> command_line(const std::string &source, Arch arch,
                                        const std::vector<std::string> &options) const;

  Library library_;
  int major_ = 0, minor_ = 0;
};

/// `Nvrtc::get().compile` with the standard cache.
Compiled compile(const std::string &source, const std::string &kernel_name, Arch arch);
std::vector<Arch> supported_arches();

} // namespace nestsmith::cuda
