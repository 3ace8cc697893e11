#include "codegen/names.h"

#include "dsl/error.h"
#include "dsl/identifier.h"
#include "dsl/intrinsic.h"

#include <algorithm>
#include <cctype>

namespace nestsmith {

namespace {

/// What CUDA and its headers put into every translation unit, then what this room itself writes into one.
const std::set<std::string> &reserved_words() {
  static const std::set<std::string> words = {
      "threadIdx",    "blockIdx",     "blockDim",  "gridDim",   "warpSize",   "dim3",        "min",
      "max",          "floorf",       "fabs",      "std",       "NULL",       "assert",      "errno",
      "linux",        "unix",         "stdin",     "stdout",    "stderr",     "size_t",      "cudaStream_t",
      "cudaError_t",  "int32_t",      "int64_t",   "uint32_t",  "uintptr_t",  "min_f32",     "max_f32",
      "floordiv_f32", "floormod_f32", "floor_div", "floor_mod", "round_tf32", "rounded_f16", "rounded_bf16",
      "rounded_tf32", "overlap",      "stream",    "Real",      "EOF",        "NAN",         "INFINITY"};
  return words;
}

/// Functions of the C library that a kernel of the same name would redeclare.
const std::set<std::string> &library_functions() {
  static const std::set<std::string> words = {
      "abort",     "abs",    "acos",    "acosh",   "asin",    "asinh",  "atan",     "atan2",     "atanh",
      "atof",      "atoi",   "atol",    "cbrt",    "ceil",    "clock",  "copysign", "cos",       "cosh",
      "div",       "erf",    "erfc",    "exit",    "exp",     "exp2",   "expm1",    "fabs",      "fdim",
      "floor",     "fma",    "fmax",    "fmin",    "fmod",    "free",   "frexp",    "gamma",     "hypot",
      "ilogb",     "index",  "j0",      "j1",      "jn",      "labs",   "ldexp",    "ldiv",      "lgamma",
      "llabs",     "log",    "log10",   "log1p",   "log2",    "logb",   "lrint",    "lround",    "main",
      "malloc",    "memcmp", "memcpy",  "memmove", "memset",  "modf",   "nan",      "nearbyint", "norm",
      "nextafter", "pow",    "printf",  "puts",    "putchar", "qsort",  "rand",     "random",    "remainder",
      "remove",    "remquo", "rename",  "rint",    "round",   "rsqrt",  "scalbn",   "scanf",     "signal",
      "sin",       "sinh",   "sqrt",    "srand",   "strlen",  "system", "tan",      "tanh",      "tgamma",
      "time",      "trunc",  "vprintf", "y0",      "y1",      "yn"};
  return words;
}

/// INT_MAX, RAND_MAX, M_PI and the like: capitals around an underscore.
bool looks_like_a_macro(const std::string &name) {
  bool capitals = std::all_of(name.begin(), name.end(), [](unsigned char c) { return !std::islower(c); });
  return capitals && name.find('_') != std::string::npos && name.back() != '_';
}

/// float4, uint2, make_float4: a local of such a name would hide the type.
bool names_a_vector(std::string name) {
  static const std::set<std::string> elements = {"char", "uchar", "short",    "ushort",    "int",   "uint",
                                                 "long", "ulong", "longlong", "ulonglong", "float", "double"};
  if (name.starts_with("make_"))
    name.erase(0, 5);
  bool lanes = !name.empty() && name.back() >= '1' && name.back() <= '4';
  return lanes && elements.count(name.substr(0, name.size() - 1)) != 0;
}

bool is_taken(const std::string &name) {
  return is_cpp_keyword(name) || reserved_words().count(name) || names_a_vector(name) ||
         find_intrinsic(name, DType::f32) || find_intrinsic(name, DType::u32) || looks_like_a_macro(name);
}

} // namespace

std::string identifier(std::string wanted) {
  for (char &c : wanted)
    if (!std::isalnum(static_cast<unsigned char>(c)))
      c = '_';
  // A leading underscore and two in a row belong to the implementation; a digit cannot come first.
  while (wanted.find("__") != std::string::npos)
    wanted.erase(wanted.find("__"), 1);
  if (wanted.empty() || wanted.front() == '_' || std::isdigit(static_cast<unsigned char>(wanted.front())))
    wanted.insert(0, "v");
  return is_taken(wanted) ? wanted + "_" : wanted;
}

std::string linked_identifier(std::string wanted) {
  wanted = identifier(std::move(wanted));
  return library_functions().count(wanted) ? wanted + "_kernel" : wanted;
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
