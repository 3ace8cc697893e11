#include "runtime/cuda/compiled.h"

#include "dsl/expr/outside.h"

#include <fmt/format.h>
#include <llvm/Support/JSON.h>
#include <llvm/Support/raw_ostream.h>

namespace nestsmith::cuda {

constexpr std::string_view elf_magic = "\x7f"
                                       "ELF";
/// The log has a few lines for each function of the source.
constexpr JsonLimits entry_limits = {
    .bytes = 16 << 20, .depth = 1, .values = 10, .string_bytes = 8 << 20, .control_characters = true};

std::string write_entry(const Compiled &compiled) {
  std::string text;
  llvm::raw_string_ostream out(text);
  out << llvm::json::Value(llvm::json::Object{{"kernel", compiled.kernel_name},
                                              {"arch", to_string(compiled.arch)},
                                              {"log", llvm::json::fixUTF8(compiled.log)}});
  out.flush();
  return text + "\n" + std::string(compiled.cubin.begin(), compiled.cubin.end());
}

std::optional<Compiled> read_entry(const std::string &entry, const std::string &kernel, Arch arch) {
  std::size_t end = entry.find('\n');
  if (end == std::string::npos)
    return std::nullopt;
  std::string why, name, its_arch, log;
  std::optional<llvm::json::Value> value =
      parse_outside(std::string_view(entry).substr(0, end), entry_limits, why);
  if (!value)
    return std::nullopt;
  llvm::json::Path::Root root;
  llvm::json::ObjectMapper object(*value, root);
  if (!object || !object.map("kernel", name) || !object.map("arch", its_arch) || !object.map("log", log))
    return std::nullopt;
  std::optional<KernelResources> resources = resources_of(log, kernel);
  if (!resources || name != kernel || its_arch != to_string(arch) ||
      !std::string_view(entry).substr(end + 1).starts_with(elf_magic))
    return std::nullopt;
  Compiled compiled;
  static_cast<KernelResources &>(compiled) = *resources;
  compiled.kernel_name = kernel;
  compiled.arch = arch;
  compiled.log = log;
  compiled.cubin.assign(entry.begin() + static_cast<std::ptrdiff_t>(end) + 1, entry.end());
  return compiled;
}

} // namespace nestsmith::cuda
