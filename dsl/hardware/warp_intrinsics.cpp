#include "dsl/expr/error.h"
#include "dsl/hardware/intrinsic_table.h"
#include "dsl/hardware/intrinsics.h"

#include <fmt/format.h>

namespace nestsmith {

namespace {

/// "%4, %5, %6" for `each` = "%{}", 3 numbers from 4 on.
std::string listed(std::int64_t count, std::string_view each, std::int64_t first = 0) {
  std::string text;
  for (std::int64_t n = 0; n < count; ++n)
    text += (n == 0 ? "" : ", ") + fmt::format(fmt::runtime(each), first + n);
  return text;
}

// ---- the instruction `mma` (PTX ISA, "Matrix Fragments for mma.m16n8k16", and the same for k8 and k32)

/// The lanes and registers of the operands of one instruction. A register of 4 bytes holds `width` consecutive
/// elements along k.
struct OperandMaps {
  std::string a, b, b2; ///< 16 rows; 8 columns; 16 columns, for two instructions

  explicit OperandMaps(std::int64_t width) {
    std::int64_t half = 4 * width; // the first registers of all lanes hold this part of k
    std::string group = width == 1 ? "k%4" : fmt::format("k%{}//{}", half, width);
    std::string high = fmt::format("k//{}", half), in_word = width == 1 ? "" : fmt::format(" + k%{}", width);
    std::string times = width == 1 ? "" : fmt::format("*{}", width);
    a = fmt::format("i, k -> i%8*4 + {}, {}*{} + i//8{}{}", group, high, 2 * width, times, in_word);
    b = fmt::format("k, j -> j*4 + {}, {}{}{}", group, high, times, in_word);
    b2 = fmt::format("k, j -> j%8*4 + {}, j//8*{} + {}{}{}", group, 2 * width, high, times, in_word);
  }
};

/// The operands of a matrix product.
struct Factors {
  DType dtype;
  std::string_view type, suffix; ///< in CUDA C++ and in PTX
  DType sum;
  std::string_view sum_type;
  std::int64_t k, per_register;   ///< extent of the sum; elements in a register of 4 bytes
  std::optional<Feature> feature; ///< none: there is no such instruction

  std::int64_t words() const { return k / per_register / 2; } ///< registers of A in a lane; B has half
};

/// The registers of an operand as `unsigned int`. f32 is rounded to tf32 first.
std::string registers_text(const Factors &x, char to, char from, std::int64_t words) {
  if (x.dtype != DType::f32)
    return fmt::format("  const unsigned int *{} = reinterpret_cast<const unsigned int *>({});\n", to, from);
  std::string text = fmt::format("  unsigned int {}[{}];\n", to, words);
  for (std::int64_t n = 0; n < words; ++n)
    text +=
        fmt::format("  asm(\"cvt.rna.tf32.f32 %0, %1;\" : \"=r\"({0}[{2}]) : \"f\"({1}[{2}]));\n", to, from, n);
  return text;
}

std::string mma_text(const std::string &name, const Factors &x) {
  std::int64_t words = x.words();
  std::string_view sum = is_float(x.sum) ? "f32" : "s32";
  return fmt::format(
      "/// c += a*b, for the 16 x {0} and {0} x 8 elements in the registers of a warp.\n"
      "static __device__ __forceinline__ void {1}({2} *c, const {3} *a, const {3} *b) {{\n"
      "{4}{5}"
      "  asm volatile(\"mma.sync.aligned.m16n8k{0}.row.col.{6}.{7}.{7}.{6} {{{8}}}, {{{9}}}, {{{10}}}, \"\n"
      "               \"{{{8}}};\"\n"
      "               : {11}\n"
      "               : {12}, {13});\n"
      "}}\n",
      x.k, name, x.sum_type, x.type, registers_text(x, 'x', 'a', words), registers_text(x, 'y', 'b', words / 2),
      sum, x.suffix, listed(4, "%{}"), listed(words, "%{}", 4), listed(words / 2, "%{}", 4 + words),
      listed(4, is_float(x.sum) ? "\"+f\"(c[{}])" : "\"+r\"(c[{}])"), listed(words, "\"r\"(x[{}])"),
      listed(words / 2, "\"r\"(y[{}])"));
}

/// The same by shuffles, for integers that the matrix units do not multiply. So schedules for the units can be
/// checked in ring mode, in the layouts of 2 and of 4 bytes. Lane 4*g + t holds k of group t, as for the units.
std::string shuffled_mma_text(const std::string &name, const Factors &x) {
  return fmt::format(
      "/// c += a*b, for the 16 x {0} and {0} x 8 elements in the registers of a warp, by shuffles.\n"
      "static __device__ __forceinline__ void {1}({2} *c, const {3} *a, const {3} *b) {{\n"
      "  const int lane = threadIdx.x % 32;\n"
      "  #pragma unroll\n"
      "  for (int k = 0; k < {0}; ++k) {{\n"
      "    const int group = k % {4} / {5}, at = k % {5};\n"
      "    #pragma unroll\n"
      "    for (int n = 0; n < 4; ++n) {{\n"
      "      const {2} x = __shfl_sync(0xffffffffu, ({2})a[(k / {4} * 2 + n / 2) * {5} + at], lane / 4 * 4 + "
      "group);\n"
      "      const {2} y = __shfl_sync(0xffffffffu, ({2})b[k / {4} * {5} + at], (lane % 4 * 2 + n % 2) * 4 + "
      "group);\n"
      "      c[n] += x * y;\n"
      "    }}\n"
      "  }}\n"
      "}}\n",
      x.k, name, x.sum_type, x.type, 4 * x.per_register, x.per_register);
}

/// The PTX ISA leaves the order, the rounding and the subnormals of the sums unspecified. Measured units align
/// the products, which are exact, and the old value to the largest of them, and cut off what is below its last
/// bit. So each of the K + 1 terms of a call loses less than 2^-23 of the largest one, and the result less than
/// 2^-23 of the total. Relative to the sum S of the magnitudes, a sum of T terms in T/K calls is off by at most
/// (T/K)*(K + 2)*2^-23*S: by 2*T*(1 + 2/K) roundings of 2^-24, which is at most 3*T for K >= 8. If T < K, it is
/// one call with zeros, which lose nothing: 2*(T + 2) <= 3*(T + 2).
constexpr std::int64_t rounding_of_matrix_units = 3;

/// for i < 16, j < 8, k < K: c[i, j] = c[i, j] + a[i, k]*b[k, j]. Lane 4*g + t holds rows g and g + 8 of A and
/// C, and column g of B. A product in tf32 rounds its operands, which are f32, as its meaning says.
Intrinsic mma(const Factors &x) {
  std::string name = fmt::format("mma_m16n8k{}", x.k);
  Buffer c = formal_buffer("c", x.sum, {16, 8}), a = formal_buffer("a", x.dtype, {16, x.k}),
         b = formal_buffer("b", x.dtype, {x.k, 8});
  OperandMaps maps(x.per_register);
  InRegisters of_a{maps.a}, of_b{maps.b}, of_c{"i, j -> i%8*4 + j//2, i//8*2 + j%2"};
  auto factor = [&](const Expr &e) { return cast(x.sum, x.dtype == DType::f32 ? cast(DType::tf32, e) : e); };
  Var i = make_var("i"), j = make_var("j"), k = make_var("k");
  Expr product = factor(load(a, {i, k})) * factor(load(b, {k, j}));
  return {.name = name,
          .group = Group::warp,
          .operands = {{c, of_c}, {a, of_a, 4}, {b, of_b, 4}},
          .meaning = {{{i, 16}, {j, 8}, {k, x.k}}, {c, {i, j}, load(c, {i, j}) + product}},
          .feature = x.feature,
          .rounding_scale = is_float(x.sum) ? rounding_of_matrix_units : 1,
          .prelude = x.feature ? mma_text(name, x) : shuffled_mma_text(name, x)};
}

// ---- the instruction `wgmma` (PTX ISA, "Asynchronous Warpgroup Level Matrix Shared Memory Layout")

/// The two operands in tiles, and how they are stored.
struct Wgmma {
  DType dtype;
  std::string_view type, suffix; ///< in CUDA C++, and in the instruction
  DType sum;
  std::int64_t n;
  bool a_across, b_across;

  std::int64_t k() const { return 32 / byte_size(dtype); } ///< elements with 32 bytes
  std::string name() const {
    return fmt::format("wgmma_m64n{}k{}{}{}", n, k(), a_across ? "_a_across" : "", b_across ? "_b_across" : "");
  }
  std::string summary() const {
    auto stored = [](bool across) { return across ? "across k" : "along k"; };
    return fmt::format(
        "c += a*b, for 64 x {0} elements of a tile, stored {1}, and {0} x {2} of another one, stored {3}:\n"
        "/// the part of this warp has 16 rows.",
        k(), stored(a_across), n, stored(b_across));
  }
};

/// The call only starts the matrix units (`Begin`, `Commit` and `Wait` of lowering/sync.h). The descriptor of a
/// tile has the address without its last 4 bits, the distance of blocks of columns, 1024 bytes from 8 rows to
/// the next 8, and the swizzle of 128 bytes. A warp passes the rows of its own, or columns; those of the group
/// start up to 48 rows before, or 96 bytes.
std::string wgmma_text(const Wgmma &x) {
  const std::int64_t registers = x.n / 2;
  std::string slots;
  for (std::int64_t r = 0; r < registers; ++r)
    slots += (r == 0 ? "" : r % 16 == 0 ? ", \"\n               \"" : ", ") + fmt::format("%{}", r);
  auto blocks = [&](bool across) { return across ? columns_of_tile(x.dtype) * bytes_of_tile_row / 16 : 1; };
  return fmt::format(
      "/// Starts {0}\n"
      "static __device__ __forceinline__ void {1}(float *c, const {2} *a, const {2} *b) {{\n"
      "  auto descriptor = [](const {2} *from, int bytes_before, unsigned long long blocks) {{\n"
      "    const unsigned int at = (unsigned int)__cvta_generic_to_shared(from) - bytes_before;\n"
      "    const unsigned int start = __shfl_sync(0xffffffffu, at, 0);\n"
      "    return (unsigned long long)((start & 0x3ffff) >> 4) | blocks << 16 | 64ull << 32 | 1ull << 62;\n"
      "  }};\n"
      "  const unsigned long long of_a = descriptor(a, threadIdx.x / 32 % 4 * {8}, {9});\n"
      "  const unsigned long long of_b = descriptor(b, 0, {10});\n"
      "  asm volatile(\"wgmma.mma_async.sync.aligned.m64n{11}k16.f32.{3}.{3} \"\n"
      "               \"{{{4}}}, \"\n"
      "               \"%{5}, %{6}, 1, 1, 1, {12}, {13};\"\n"
      "               : {7}\n"
      "               : \"l\"(of_a), \"l\"(of_b));\n"
      "}}\n",
      x.summary(), x.name(), x.type, x.suffix, slots, registers, registers + 1,
      updated_registers("c", registers), x.a_across ? 16 * byte_size(x.dtype) : 16 * bytes_of_tile_row,
      blocks(x.a_across), blocks(x.b_across), x.n, int{x.a_across}, int{x.b_across});
}

/// The same by ordinary loads, for ring mode.
std::string loaded_wgmma_text(const Wgmma &x) {
  auto at = [](const char *tile, const char *row, bool across) {
    return across ? fmt::format("at({}, k, {})", tile, row) : fmt::format("at({}, {}, k)", tile, row);
  };
  return fmt::format(
      "/// {0}\n"
      "static __device__ __forceinline__ void {1}(unsigned int *c, const {2} *a, const {2} *b) {{\n"
      "  auto at = [](const {2} *tile, int row, int column) {{\n"
      "    const int start = (unsigned int)__cvta_generic_to_shared(tile) / 16 % 8, in_row = column % {3};\n"
      "    return (unsigned int)tile[column / {3} * {3} * {3} + row * {3} +\n"
      "                              (((start + in_row / {4}) ^ row % 8) - start) * {4} + in_row % {4}];\n"
      "  }};\n"
      "  const int lane = threadIdx.x % 32;\n"
      "  #pragma unroll\n"
      "  for (int r = 0; r < {5}; ++r) {{\n"
      "    const int i = r / 2 % 2 * 8 + lane / 4, j = r / 4 * 8 + lane % 4 * 2 + r % 2;\n"
      "    for (int k = 0; k < {6}; ++k) {{\n"
      "      c[r] += {7} * {8};\n"
      "    }}\n"
      "  }}\n"
      "}}\n",
      x.summary(), x.name(), x.type, columns_of_tile(x.dtype), 16 / byte_size(x.dtype), x.n / 2, x.k(),
      at("a", "i", x.a_across), at("b", "j", x.b_across));
}

/// for i < 16, j < N, k < K: c[i, j] = c[i, j] + a[i, k]*b[j, k], the part of one warp of four, where K
/// elements have 32 bytes. Across, the operand is a[k, i] or b[k, j]. A warp holds its results as `mma` does.
Intrinsic wgmma(const Wgmma &x) {
  auto formal = [&](const char *name, std::int64_t side, bool across) {
    return across ? formal_buffer(name, x.dtype, {x.k(), side}) : formal_buffer(name, x.dtype, {side, x.k()});
  };
  Buffer c = formal_buffer("c", x.sum, {16, x.n}), a = formal("a", 16, x.a_across),
         b = formal("b", x.n, x.b_across);
  Var i = make_var("i"), j = make_var("j"), k = make_var("k");
  auto element = [&](const Buffer &of, const Var &side, bool across) {
    return cast(x.sum, across ? load(of, {k, side}) : load(of, {side, k}));
  };
  const Expr product = element(a, i, x.a_across) * element(b, j, x.b_across);
  const bool units = is_float(x.sum);
  return {.name = x.name(),
          .group = Group::warp,
          .warps = 4,
          .operands = {{c, InRegisters{"i, j -> i%8*4 + j%8//2, j//8*4 + i//8*2 + j%2"}},
                       {a, InTile{.of_warp = true, .across = x.a_across}, tile_alignment},
                       {b, InTile{.across = x.b_across}, tile_alignment}},
          .meaning = {{{i, 16}, {j, x.n}, {k, x.k()}}, {c, {i, j}, load(c, {i, j}) + product}},
          .feature = units ? std::optional(Feature::wgmma) : std::nullopt,
          .rounding_scale = units ? rounding_of_matrix_units : 1,
          .prelude = units ? wgmma_text(x) : loaded_wgmma_text(x),
          .asynchronous = units};
}

// ---- the instructions `ldmatrix` and `stmatrix`

/// How ldmatrix reads a tile: the operand in registers, and the addresses of the 8 x 8 matrices of 16-bit
/// words. A row of such a matrix has 16 bytes, and a lane gets 4 of them. stmatrix writes it in the same way.
struct Matrices {
  const char *name;
  std::int64_t rows, columns; ///< of the tile
  std::string fragment;
  std::vector<Expr> start; ///< of the row that the lane supplies
  std::size_t along;       ///< the contiguous dimension of the tile
  bool transposed;
};

/// for i < R, j < C: tile[i, j] = rows[i, j]
Intrinsic ldmatrix(const Matrices &x, const Var &lane, DType dtype, std::string_view type) {
  Buffer tile = formal_buffer("tile", dtype, {x.rows, x.columns}),
         rows = formal_buffer("rows", dtype, {x.rows, x.columns});
  Var i = make_var("i"), j = make_var("j");
  std::int64_t words = x.rows * x.columns * byte_size(dtype) / 128;
  std::string slots = listed(words, "%{}"), outputs = listed(words, "\"=r\"(x[{}])");
  std::string prelude = fmt::format(
      "/// A tile of {0} x {1} elements to the registers of a warp. Each lane supplies the address of a row.\n"
      "static __device__ __forceinline__ void {2}({3} *tile, const {3} *row) {{\n"
      "  unsigned int *x = reinterpret_cast<unsigned int *>(tile);\n"
      "  asm volatile(\"ldmatrix.sync.aligned.m8n8.x{4}{5}.shared.b16 {{{6}}}, [%{4}];\"\n"
      "               : {7}\n"
      "               : \"r\"((unsigned int)__cvta_generic_to_shared(row))\n"
      "               : \"memory\");\n"
      "}}\n",
      x.rows, x.columns, x.name, type, words, x.transposed ? ".trans" : "", slots, outputs);
  return {.name = x.name,
          .group = Group::warp,
          .operands = {{tile, InRegisters{x.fragment}, 4},
                       {rows, Rows{lane, x.start, x.along, 16 / byte_size(dtype), 8 * words}, 16}},
          .meaning = {{{i, x.rows}, {j, x.columns}}, {tile, {i, j}, load(rows, {i, j})}},
          .feature = Feature::ldmatrix,
          .prelude = prelude};
}

/// The tiles for elements of which a register holds `width`. Elements that are contiguous across k can be
/// transposed only if they have 16 bits.
std::vector<Matrices> matrices(std::int64_t width, const Expr &lane) {
  std::int64_t k = 8 * width, half = 4 * width; // of a tile; in 16 bytes
  const auto &[a, b, b2] = OperandMaps(width);
  std::vector<Matrices> all = {
      {"ldmatrix_a", 16, k, a, {lane % 16, lane / 16 * half}, 1, false},
      {"ldmatrix_b_trans", k, 8, b, {lane / 8 % 2 * half, lane % 8}, 0, false},
      {"ldmatrix_b2_trans", k, 16, b2, {lane / 8 % 2 * half, lane % 8 + lane / 16 * 8}, 0, false},
  };
  if (width != 2)
    return all;
  all.push_back({"ldmatrix_a_trans", 16, 16, a, {lane / 8 % 2 * 8, lane % 8 + lane / 16 * 8}, 0, true});
  all.push_back({"ldmatrix_b", 16, 8, b, {lane % 16, 0}, 1, true});
  all.push_back({"ldmatrix_b2", 16, 16, b2, {lane % 16, lane / 16 * 8}, 1, true});
  return all;
}

/// for i < 16, j < 16: rows[i, j] = tile[i, j], for elements of 16 bits
Intrinsic stmatrix(const Matrices &x, const Var &lane, DType dtype, std::string_view type) {
  Buffer tile = formal_buffer("tile", dtype, {x.rows, x.columns}),
         rows = formal_buffer("rows", dtype, {x.rows, x.columns});
  Var i = make_var("i"), j = make_var("j");
  std::string prelude =
      fmt::format("/// A tile of {0} x {1} elements from the registers of a warp. Each lane supplies the "
                  "address of a row.\n"
                  "static __device__ __forceinline__ void {2}({3} *row, const {3} *tile) {{\n"
                  "  const unsigned int *x = reinterpret_cast<const unsigned int *>(tile);\n"
                  "  asm volatile(\"stmatrix.sync.aligned.m8n8.x4{4}.shared.b16 [%0], {{{5}}};\"\n"
                  "               :\n"
                  "               : \"r\"((unsigned int)__cvta_generic_to_shared(row)), {6}\n"
                  "               : \"memory\");\n"
                  "}}\n",
                  x.rows, x.columns, x.name, type, x.transposed ? ".trans" : "", listed(4, "%{}", 1),
                  listed(4, "\"r\"(x[{}])"));
  return {.name = x.name,
          .group = Group::warp,
          .operands = {{rows, Rows{lane, x.start, x.along, 8, lanes_per_warp}, 16},
                       {tile, InRegisters{x.fragment}, 4}},
          .meaning = {{{i, x.rows}, {j, x.columns}}, {rows, {i, j}, load(tile, {i, j})}},
          .feature = Feature::stmatrix,
          .prelude = prelude};
}

/// The tile is in the registers in which `ldmatrix_a` loads one, and `mma` and `wgmma` hold their sums, two
/// elements to a register.
std::vector<Matrices> stored_matrices(const Expr &lane) {
  const std::string fragment = OperandMaps(2).a;
  return {{"stmatrix", 16, 16, fragment, {lane % 16, lane / 16 * 8}, 1, false},
          {"stmatrix_trans", 16, 16, fragment, {lane / 8 % 2 * 8, lane % 8 + lane / 16 * 8}, 0, true}};
}

// ---- shuffles

/// "a + b", "fmaxf(a, b)" ("fmax" in f64): a reducer of two elements that are not NaN, in CUDA C++.
std::string combined(Reducer reducer, DType dtype, std::string_view a, std::string_view b) {
  auto wrapping = [&](char op) { // signed overflow is undefined in C++
    return dtype == DType::i32 ? fmt::format("(int)((unsigned int){} {} (unsigned int){})", a, op, b)
                               : fmt::format("{} {} {}", a, op, b);
  };
  switch (reducer.kind()) {
  case Reducer::sum:
    return wrapping('+');
  case Reducer::product:
    return wrapping('*');
  case Reducer::max:
  case Reducer::min:
    break;
  case Reducer::own:
    internal_error("a reducer without an operator");
  }
  std::string_view before = is_float(dtype) ? "f" : "", after = dtype == DType::f32 ? "f" : "";
  return fmt::format("{}{}{}({}, {})", before, name(reducer), after, a, b);
}

/// for i < 32: r = combine(r, x[i]), where lane i holds x[i] and every lane gets the result
Intrinsic warp_reduction(Reducer reducer, DType dtype, std::string_view type) {
  std::string result = std::string(name(reducer)), function = "warp_" + result;
  Buffer x = formal_buffer("x", dtype, {lanes_per_warp}), r = formal_buffer(result, dtype, {});
  Var i = make_var("i");
  return {.name = function,
          .group = Group::warp,
          .operands = {{x, InRegisters{"i -> i, 0"}}, {r, InRegisters{"r -> r, 0"}}},
          .meaning = {{{i, lanes_per_warp}}, {r, {}, combine(reducer, load(r, {}), load(x, {i}))}},
          .prelude = fmt::format(
              "/// *result = the {1} of *result and of *x over the lanes of the warp, in every lane\n"
              "static __device__ __forceinline__ void {2}(const {0} *x, {0} *result) {{\n"
              "  {0} total = *x;\n"
              "  for (int distance = 16; distance > 0; distance /= 2) {{\n"
              "    total = {3};\n"
              "  }}\n"
              "  *result = {4};\n"
              "}}\n",
              type, result, function,
              combined(reducer, dtype, "total", "__shfl_xor_sync(0xffffffffu, total, distance)"),
              combined(reducer, dtype, "*result", "total"))};
}

} // namespace

const std::map<DType, std::string_view> &cuda_types() {
  using enum DType;
  static const std::map<DType, std::string_view> names = {
      {i8, "signed char"},   {i16, "short"},          {i32, "int"},          {i64, "long long"},
      {u8, "unsigned char"}, {u16, "unsigned short"}, {u32, "unsigned int"}, {u64, "unsigned long long"},
      {f16, "__half"},       {bf16, "__nv_bfloat16"}, {f32, "float"},        {f64, "double"}};
  return names;
}

std::vector<Intrinsic> warp_intrinsics() {
  using enum DType;
  std::vector<Intrinsic> all = {
      mma({f16, "__half", "f16", f32, "float", 16, 2, Feature::mma_f16}),
      mma({bf16, "__nv_bfloat16", "bf16", f32, "float", 16, 2, Feature::mma_bf16}),
      mma({f32, "float", "tf32", f32, "float", 8, 1, Feature::mma_tf32}),
      mma({i8, "signed char", "s8", i32, "int", 32, 4, Feature::mma_i8}),
      mma({u8, "unsigned char", "u8", u32, "unsigned int", 32, 4, Feature::mma_i8}),
      mma({u16, "unsigned short", "", u32, "unsigned int", 16, 2, {}}),
      mma({u32, "unsigned int", "", u32, "unsigned int", 8, 1, {}}),
  };
  for (std::int64_t n : {64, 128, 192, 256})
    for (bool a_across : {false, true})
      for (bool b_across : {false, true}) {
        all.push_back(wgmma({f16, "__half", "f16", f32, n, a_across, b_across}));
        all.push_back(wgmma({bf16, "__nv_bfloat16", "bf16", f32, n, a_across, b_across}));
        all.push_back(wgmma({u16, "unsigned short", "", u32, n, a_across, b_across}));
        all.push_back(wgmma({u32, "unsigned int", "", u32, n, a_across, b_across}));
      }
  for (Reducer reducer : reducers)
    for (DType dtype : {f32, f64, i32, u32, i64, u64})
      all.push_back(warp_reduction(reducer, dtype, cuda_types().at(dtype)));
  for (DType dtype : {f16, bf16, f32, i8, u8, u16, u32}) {
    Var lane = make_var("lane");
    for (const Matrices &x : matrices(4 / byte_size(dtype), lane))
      all.push_back(ldmatrix(x, lane, dtype, cuda_types().at(dtype)));
    if (byte_size(dtype) == 2)
      for (const Matrices &x : stored_matrices(lane))
        all.push_back(stmatrix(x, lane, dtype, cuda_types().at(dtype)));
  }
  return all;
}

} // namespace nestsmith
