#include "runtime/cuda/compiled_entry.h"

#include <fmt/format.h>
#include <llvm/Support/JSON.h>
#include <llvm/Support/raw_ostream.h>

namespace nestsmith::cuda {

std::string write_entry(const Compiled &compiled) {
  std::string text;
  llvm::raw_string_ostream out(text);
  out << llvm::json::Value(llvm::json::Object{{"kernel", compiled.kernel_name},
                                              {"arch", to_string(compiled.arch)},
                                              {"registers", compiled.registers},
                                              {"spill_stores", compiled.spill_stores},
                                              {"spill_loads", compiled.spill_loads},
                                              {"stack_bytes", compiled.stack_bytes},
                                              {"shared_bytes", compiled.shared_bytes},
                                              {"log", llvm::json::fixUTF8(compiled.log)}});
  out.flush();
  return text + "\n" + std::string(compiled.cubin.begin(), compiled.cubin.end());
}

std::optional<Compiled> read_entry(const std::string &entry) {
  std::size_t end = entry.find('\n');
  if (end == std::string::npos)
    return std::nullopt;
  llvm::Expected<llvm::json::Value> value = llvm::json::parse(llvm::StringRef(entry).substr(0, end));
  if (!value) {
    llvm::consumeError(value.takeError());
    return std::nullopt;
  }
  Compiled compiled;
  std::string arch;
  llvm::json::Path::Root root;
  llvm::json::ObjectMapper object(*value, root);
  if (!object || !object.map("kernel", compiled.kernel_name) || !object.map("arch", arch) ||
      !object.map("registers", compiled.registers) || !object.map("spill_stores", compiled.spill_stores) ||
      !object.map("spill_loads", compiled.spill_loads) || !object.map("stack_bytes", compiled.stack_bytes) ||
      !object.map("shared_bytes", compiled.shared_bytes) || !object.map("log", compiled.log))
    return std::nullopt;
  std::optional<Arch> parsed = Arch::parse(arch);
  if (!parsed)
    return std::nullopt;
  compiled.arch = *parsed;
  compiled.cubin.assign(entry.begin() + static_cast<std::ptrdiff_t>(end) + 1, entry.end());
  return compiled;
}

} // namespace nestsmith::cuda
