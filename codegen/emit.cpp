#include "codegen/emit.h"

#include "codegen/cuda.h"
#include "codegen/names.h"
#include "codegen/spell.h"
#include "codegen/text.h"
#include "dsl/error.h"

#include <cctype>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <limits>

namespace nestsmith {

namespace {

std::vector<std::int64_t> extents(const Buffer &buffer) {
  std::vector<std::int64_t> result;
  for (const Expr &extent : buffer->shape) {
    internal_check(as_int(extent).has_value(), "the shape of a parameter is constant");
    result.push_back(*as_int(extent));
  }
  return result;
}

std::int64_t elements(const Buffer &buffer) {
  std::int64_t product = 1;
  for (std::int64_t extent : extents(buffer))
    product *= extent;
  return product;
}

std::string_view role_text(Role role) {
  switch (role) {
  case Role::input:
    return "read";
  case Role::output:
    return "written";
  case Role::inout:
    return "read and written";
  case Role::temporary:
    return "workspace";
  }
  internal_error("unknown role");
}

/// `{"A", "B"}` as `A op && B op`, each through `condition`.
template <class Range, class F>
std::string joined(const Range &range, std::string_view separator, const F &condition) {
  std::vector<std::string> parts;
  for (const auto &item : range)
    parts.push_back(condition(item));
  return fmt::format("{}", fmt::join(parts, separator));
}

/// The launcher's parameters by name.
struct Launcher {
  std::vector<Parameter> pointers, sizes, scalars;
  std::vector<std::int64_t> values; ///< of the sizes

  std::vector<std::string> declarations() const {
    std::vector<std::string> result;
    for (const auto *group : {&pointers, &sizes, &scalars})
      for (const Parameter &parameter : *group)
        result.push_back(parameter.declaration());
    result.push_back("cudaStream_t stream");
    return result;
  }
  std::string arguments() const { ///< of the kernel
    auto name = [](const Parameter &parameter) { return parameter.name; };
    std::string list = joined(pointers, ", ", name), rest = joined(scalars, ", ", name);
    return list + (list.empty() || rest.empty() ? "" : ", ") + rest;
  }
};

Launcher launcher_of(const EmitInfo &info, const kernel::Kernel &kernel) {
  Launcher result{pointer_parameters(kernel), {}, scalar_parameters(kernel), {}};
  NameTable names;
  names.claim(entry_name(kernel));
  for (const auto *group : {&result.pointers, &result.scalars})
    for (const Parameter &parameter : *group)
      names.claim(parameter.name);
  for (const NamedExtent &size : launcher_sizes(info, kernel)) {
    bool small = size.value <= std::numeric_limits<std::int32_t>::max();
    result.sizes.push_back({small ? "int" : "long long", names.claim(size.name)});
    result.values.push_back(size.value);
  }
  return result;
}

/// Pairs of arrays of which one is written: they must not overlap.
std::vector<std::string> overlaps(const kernel::Kernel &kernel, const Launcher &launcher) {
  std::vector<std::string> conditions;
  auto bytes = [&](std::size_t n) {
    const Buffer &buffer = kernel.params[n];
    return fmt::format("{}LL * sizeof({})", elements(buffer), c_type(buffer->dtype));
  };
  for (std::size_t a = 0; a < kernel.params.size(); ++a)
    for (std::size_t b = a + 1; b < kernel.params.size(); ++b)
      if (kernel.params[a]->role != Role::input || kernel.params[b]->role != Role::input)
        conditions.push_back(fmt::format("overlap({}, {}, {}, {})", launcher.pointers[a].name, bytes(a),
                                         launcher.pointers[b].name, bytes(b)));
  return conditions;
}

constexpr std::string_view overlap_function =
    R"(/// Whether two arrays share a byte.
static bool overlap(const void *a, size_t a_bytes, const void *b, size_t b_bytes) {
  const char *a_begin = (const char *)a, *b_begin = (const char *)b;
  return a_begin < b_begin + b_bytes && b_begin < a_begin + a_bytes;
}

)";

/// A CUDA extent list: "dim3(25, 32)", "512".
std::string dim3_text(const std::array<std::int64_t, 3> &extents) {
  if (extents[1] == 1 && extents[2] == 1)
    return std::to_string(extents[0]);
  std::string z = extents[2] == 1 ? "" : fmt::format(", {}", extents[2]);
  return fmt::format("dim3({}, {}{})", extents[0], extents[1], z);
}

} // namespace

std::string launcher_name(const kernel::Kernel &kernel) { return entry_name(kernel) + "_launch"; }

std::vector<NamedExtent> launcher_sizes(const EmitInfo &info, const kernel::Kernel &kernel) {
  std::vector<NamedExtent> sizes = info.shape;
  for (const Buffer &buffer : kernel.params) {
    std::vector<std::int64_t> shape = extents(buffer);
    if (info.shape.empty()) {
      for (std::size_t n = 0; n < shape.size(); ++n)
        sizes.push_back({fmt::format("{}_{}", buffer->name, n), shape[n]});
    } else if (shape.size() == 2) {
      std::string name = "ld" + buffer->name;
      for (char &c : name)
        c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      sizes.push_back({name, shape[1]});
    }
  }
  return sizes;
}

std::string emit_header_comment(const EmitInfo &info, const kernel::Kernel &kernel) {
  TextWriter out;
  out.comment(info.title.empty() ? entry_name(kernel) : info.title);
  out.comment("");
  for (const Buffer &buffer : kernel.params)
    out.comment(fmt::format("{}: {} [{}], row-major, {}", buffer->name, c_type(buffer->dtype),
                            fmt::join(extents(buffer), ", "), role_text(buffer->role)));
  for (const Var &scalar : kernel.scalars)
    out.comment(fmt::format("{}: {}", scalar->name, c_type(scalar->dtype)));
  out.comment("");
  std::string shared =
      kernel.shared_bytes ? fmt::format(", {} bytes of shared memory a block", kernel.shared_bytes) : "";
  out.comment(fmt::format("Launch: grid {}, block {}{}", extents_text(kernel.grid()),
                          extents_text(kernel.block()), shared));
  out.comment("Requires: exactly these shapes, rows without gaps, no written array overlapping another");
  if (!info.target.empty())
    out.comment("Target: " + info.target);
  for (const std::string &note : info.notes)
    out.comment(note);
  if (!info.trace.empty()) {
    out.comment("");
    out.comment("Schedule:");
    for (const std::string &line : info.trace)
      out.verbatim("//   " + line + "\n"); // never broken: it can be copied out and compiled
  }
  return out.take();
}

std::string emit_launcher(const EmitInfo &info, const kernel::Kernel &kernel) {
  Launcher launcher = launcher_of(info, kernel);
  std::vector<std::string> shared = overlaps(kernel, launcher);
  TextWriter out;
  if (!shared.empty())
    out.verbatim(overlap_function);
  out.verbatim(fmt::format("/// Launches {} on `stream` and does not wait. The kernel was generated for one\n"
                           "/// shape: returns cudaErrorInvalidValue for any other, for a null pointer{}.\n",
                           entry_name(kernel),
                           shared.empty() ? "" : ", and where an array\n/// that is written overlaps another"));
  out.call(fmt::format("extern \"C\" cudaError_t {}", launcher_name(kernel)), launcher.declarations(), " {");
  out.indent();
  auto refuse_if = [&](const std::string &condition) {
    if (condition.empty())
      return;
    out.open(fmt::format("if ({})", condition));
    out.line("return cudaErrorInvalidValue;");
    out.close();
  };
  std::vector<std::string> mismatches;
  for (std::size_t n = 0; n < launcher.sizes.size(); ++n)
    mismatches.push_back(fmt::format("{} != {}{}", launcher.sizes[n].name, launcher.values[n],
                                     launcher.sizes[n].type == "int" ? "" : "LL"));
  refuse_if(joined(launcher.pointers, " || ", [](const Parameter &p) { return p.name + " == nullptr"; }));
  refuse_if(fmt::format("{}", fmt::join(mismatches, " || ")));
  refuse_if(fmt::format("{}", fmt::join(shared, " || ")));
  out.line(fmt::format("{}<<<{}, {}, 0, stream>>>({});", entry_name(kernel), dim3_text(kernel.grid()),
                       dim3_text(kernel.block()), launcher.arguments()));
  out.line("return cudaGetLastError();");
  out.close();
  return out.take();
}

std::string emit(const EmitInfo &info, const kernel::Kernel &kernel) {
  return emit_header_comment(info, kernel) + "\n#include <cuda_runtime.h>\n\n" + cuda_kernel(kernel) + "\n" +
         emit_launcher(info, kernel);
}

} // namespace nestsmith
