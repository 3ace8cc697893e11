#include "codegen/names.h"

#include "codegen/library_names.h"
#include "codegen/spell.h"
#include "dsl/expr/error.h"
#include "dsl/expr/identifier.h"
#include "dsl/expr/math_functions.h"
#include "dsl/hardware/intrinsics.h"
#include "lowering/data_arithmetic.h"

#include <algorithm>
#include <cctype>
#include <fmt/format.h>

namespace nestsmith {

namespace {

/// Names that CUDA and its headers declare in every translation unit, followed by names that codegen declares.
const std::set<std::string> &reserved_words() {
  static const std::set<std::string> words = {"threadIdx",
                                              "blockIdx",
                                              "blockDim",
                                              "gridDim",
                                              "warpSize",
                                              "dim3",
                                              "min",
                                              "max",
                                              "floorf",
                                              "fabs",
                                              "std",
                                              "NULL",
                                              "assert",
                                              "errno",
                                              "linux",
                                              "unix",
                                              "stdin",
                                              "stdout",
                                              "stderr",
                                              "size_t",
                                              "FILE",
                                              "fpos_t",
                                              "time_t",
                                              "clock_t",
                                              "div_t",
                                              "ldiv_t",
                                              "lldiv_t",
                                              "wchar_t",
                                              "ptrdiff_t",
                                              "nullptr_t",
                                              "max_align_t",
                                              "va_list",
                                              "va_start",
                                              "va_end",
                                              "va_arg",
                                              "va_copy",
                                              "offsetof",
                                              "int8_t",
                                              "int16_t",
                                              "uint8_t",
                                              "uint16_t",
                                              "uint64_t",
                                              "intptr_t",
                                              "intmax_t",
                                              "uintmax_t",
                                              "uint",
                                              "ushort",
                                              "ulong",
                                              "uchar",
                                              "isnan",
                                              "isinf",
                                              "isfinite",
                                              "isnormal",
                                              "signbit",
                                              "fpclassify",
                                              "isgreater",
                                              "isless",
                                              "typeof",
                                              "int32_t",
                                              "int64_t",
                                              "uint32_t",
                                              "uintptr_t",
                                              "min_f32",
                                              "max_f32",
                                              "floordiv_f32",
                                              "floormod_f32",
                                              "round_tf32",
                                              "rounded_f16",
                                              "rounded_bf16",
                                              "rounded_tf32",
                                              "overlap",
                                              "stream",
                                              "Real",
                                              "Wide",
                                              "rounded_f32",
                                              "BUFSIZ",
                                              "L_ctermid",
                                              "L_cuserid",
                                              "L_tmpnam",
                                              "MAXFLOAT",
                                              "NFDBITS",
                                              "NZERO",
                                              "P_tmpdir",
                                              "SNAN",
                                              "SNANF",
                                              "SNANF32",
                                              "SNANF32X",
                                              "SNANF64",
                                              "SNANF64X",
                                              "SNANL",
                                              "WCONTINUED",
                                              "WEXITED",
                                              "WNOHANG",
                                              "WNOWAIT",
                                              "WSTOPPED",
                                              "WUNTRACED",
                                              "math_errhandling",
                                              "EOF",
                                              "NAN",
                                              "INFINITY",
                                              "count_arrival",
                                              "arrives_last",
                                              "role_arrives_last",
                                              "any_of_role",
                                              "sync_role",
                                              "fewer_registers",
                                              "more_registers",
                                              "begin_calls",
                                              "commit_calls",
                                              "wait_calls",
                                              "fence_tiles",
                                              "shared_address",
                                              "start_event",
                                              "start_channel",
                                              "arrive",
                                              "await_phase",
                                              "await_filled",
                                              "await_freed",
                                              "signal_filled",
                                              "signal_copies",
                                              "signal_freed",
                                              "signal_bulk",
                                              "copy_box",
                                              "store_box",
                                              "commit_stores",
                                              "wait_stores",
                                              "await_kernel",
                                              "launch_early",
                                              "TensorMap",
                                              "encode_map",
                                              "packed_word",
                                              "copy_async_4",
                                              "copy_async_8",
                                              "copy_async_16",
                                              "copy_async_part_4",
                                              "copy_async_part_8",
                                              "copy_async_part_16",
                                              "commit_copies",
                                              "wait_copies",
                                              "min_f64",
                                              "max_f64",
                                              "floordiv_f64",
                                              "floormod_f64",
                                              "atomicAdd",
                                              "atomicMax",
                                              "atomicMin",
                                              "atomicInc",
                                              "__trap"};
  return words;
}

/// Names that a standalone file defines in addition to the kernels.
bool is_of_standalone(const std::string &name) {
  static const std::set<std::string> words = {
      "Reference", "must",           "random_bits", "randomize",   "same",      "value_of",  "device_array",
      "read_back", "error_of",       "narrowed",    "packed",      "spread_of", "result_of", "reach_of",
      "sum_of",    "sum_of_ordered", "product_of",  "quotient_of", "is_less",   "widened",   "bound_of"};
  bool in_double = std::ranges::any_of(math_functions(), [&](const MathFunction &function) {
    return name == fmt::format("{}_of", function.name) || name == fmt::format("{}_error", function.name);
  });
  return in_double || words.count(name) != 0 || name.starts_with("reference_stage_");
}

/// Macros such as INT_MAX, RAND_MAX and M_PIf32: upper-case letters around an underscore, or M_ before one.
bool looks_like_a_macro(const std::string &name) {
  bool capitals = std::all_of(name.begin(), name.end(), [](unsigned char c) { return !std::islower(c); });
  bool of_math =
      name.size() > 2 && name.starts_with("M_") && !std::islower(static_cast<unsigned char>(name[2]));
  return of_math || (capitals && name.find('_') != std::string::npos && name.back() != '_');
}

/// The vector types of CUDA and of the emitted text, and the functions that make those of CUDA.
std::set<std::string, std::less<>> vector_names() {
  std::set<std::string, std::less<>> names;
  for (DType type : {DType::boolean, DType::i8, DType::i16, DType::u8, DType::u16, DType::f16, DType::bf16})
    for (int count : {2, 4, 8, 16})
      names.insert(vector_type(type, count));
  for (const char *element : {"char", "uchar", "short", "ushort", "int", "uint", "long", "ulong", "longlong",
                              "ulonglong", "float", "double"})
    for (int count : {1, 2, 3, 4}) {
      names.insert(fmt::format("{}{}", element, count));
      names.insert(fmt::format("make_{}{}", element, count));
    }
  return names;
}

/// float4, uint2, make_float4, f16x8: a local of such a name would hide the type.
bool names_a_vector(std::string_view name) {
  static const std::set<std::string, std::less<>> names = vector_names();
  return names.contains(name);
}

/// Names of the CUDA runtime and driver; some are macros.
bool has_prefix_of_cuda(const std::string &name) {
  bool driver = name.size() > 2 && name.starts_with("cu") && std::isupper(static_cast<unsigned char>(name[2]));
  return name.starts_with("cuda") || name.starts_with("CUDA") || driver;
}

/// expf, exp for f64, and exp_f32 and exp_f64 of a standalone file.
bool is_math_function(std::string_view name) {
  static const auto names = [] {
    std::set<std::string, std::less<>> all;
    for (const MathFunction &function : math_functions())
      all.insert({std::string(function.cuda), std::string(function.cuda_in(DType::f64)),
                  fmt::format("{}_f32", function.name), fmt::format("{}_f64", function.name)});
    return all;
  }();
  return names.contains(name);
}

bool is_taken(const std::string &name) {
  return is_cpp_keyword(name) || has_prefix_of_cuda(name) || reserved_words().count(name) ||
         names_a_vector(name) || is_intrinsic(name) || is_data_function(name) || is_math_function(name) ||
         name.starts_with("floor_div_") || name.starts_with("floor_mod_") || name.starts_with("left_shift_") ||
         name.starts_with("right_shift_") || looks_like_a_macro(name);
}

} // namespace

std::string identifier(std::string wanted) {
  for (char &c : wanted)
    if (!std::isalnum(static_cast<unsigned char>(c)))
      c = '_';
  // A leading underscore and double underscores are reserved; an identifier cannot start with a digit.
  while (wanted.find("__") != std::string::npos)
    wanted.erase(wanted.find("__"), 1);
  if (wanted.empty() || wanted.front() == '_' || std::isdigit(static_cast<unsigned char>(wanted.front())))
    wanted.insert(0, "v");
  return is_taken(wanted) ? wanted + "_" : wanted;
}

std::string linked_identifier(std::string wanted) {
  // A local may have the name expf_, but a kernel of a function of the library has `_kernel`.
  if (is_math_function(wanted) && is_library_function(wanted) && !reserved_words().count(wanted))
    return wanted + "_kernel";
  wanted = identifier(std::move(wanted));
  return is_library_function(wanted) || is_of_standalone(wanted) ? wanted + "_kernel" : wanted;
}

std::string why_not_linked(const std::string &name) {
  static const std::set<std::string> words_of_c = {"restrict", "typeof", "typeof_unqual"};
  if (!is_identifier(name))
    return "it is not a C identifier: letters, digits and '_', not starting with a digit";
  if (name.size() > most_identifier_length)
    return fmt::format("it has {} letters, expected at most {}", name.size(), most_identifier_length);
  if (name.front() == '_' || name.back() == '_' || name.find("__") != std::string::npos)
    return "names that start with '_', or that have '__' in NAME_launch, are reserved for the compiler";
  if (is_cpp_keyword(name) || words_of_c.count(name))
    return "it is a keyword of C or C++";
  if (has_prefix_of_cuda(name))
    return "CUDA reserves names with this prefix";
  if (is_library_function(name))
    return "a function of the C library or of CUDA has that name";
  if (looks_like_a_macro(name))
    return "capitals with '_' are reserved for macros, such as INT_MAX";
  return linked_identifier(name) == name ? "" : "C++, CUDA or the emitted file itself uses this name";
}

std::string why_not_defined(const std::string &name) {
  if (is_library_function(name) || has_prefix_of_cuda(name) || names_a_vector(name))
    return "the C library or CUDA has this name";
  bool of_codegen = reserved_words().count(name) || is_of_standalone(name) || is_data_function(name) ||
                    name.starts_with("floor_div_") || name.starts_with("floor_mod_");
  return of_codegen ? "C++, CUDA or the emitted file itself uses this name" : "";
}

NameTable::Nested::~Nested() {
  for (const std::string &name : table_.scopes_.back().names)
    table_.taken_.erase(name);
  for (const void *symbol : table_.scopes_.back().symbols)
    table_.names_.erase(symbol);
  table_.scopes_.pop_back();
}

std::string NameTable::claim(const std::string &wanted) {
  std::string base = identifier(wanted), name = base;
  for (int n = 1; !taken_.insert(name).second; ++n)
    name = base + (base.back() == '_' ? "" : "_") + std::to_string(n);
  scopes_.back().names.push_back(name);
  return name;
}

std::string NameTable::declare(const void *symbol, const std::string &wanted) {
  auto [at, fresh] = names_.try_emplace(symbol, "");
  internal_check(fresh, "a symbol is declared twice in one scope");
  scopes_.back().symbols.push_back(symbol);
  return at->second = claim(wanted);
}
std::string NameTable::declare(const Var &var) { return declare(var.get(), var->name); }
std::string NameTable::declare(const Buffer &buffer) { return declare(buffer.get(), buffer->name); }

const std::string &NameTable::find(const void *symbol) const {
  auto at = names_.find(symbol);
  internal_check(at != names_.end(), "a symbol is used outside of its scope");
  return at->second;
}

} // namespace nestsmith
