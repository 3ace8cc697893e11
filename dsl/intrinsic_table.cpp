#include "dsl/intrinsic_table.h"

#include <fmt/format.h>

namespace nestsmith {

namespace {

Buffer formal(std::string name, DType dtype, std::vector<Expr> shape, Scope scope = Scope::local) {
  return std::make_shared<const BufferNode>(
      BufferNode{std::move(name), dtype, std::move(shape), scope, Role::temporary});
}

/// for k < 4: sum = sum + a[k]*b[k]. The operands are converted to the dtype of the sum.
Intrinsic dot(std::string name, DType operand, Feature feature, std::string prelude) {
  DType dtype = arithmetic_type(operand);
  Buffer a = formal("a", operand, {4}), b = formal("b", operand, {4}), sum = formal("sum", dtype, {});
  Var k = make_var("k");
  Expr product = cast(dtype, load(a, {k})) * cast(dtype, load(b, {k}));
  return {.name = std::move(name),
          .operands = {{a}, {b}, {sum}},
          .meaning = {{{k, 4}}, {sum, {}, load(sum, {}) + product}},
          .feature = feature,
          .prelude = std::move(prelude)};
}

Intrinsic dot4(DType dtype, std::string_view scalar, std::string_view vector) {
  return dot("dot4", dtype, Feature::vector_access,
             fmt::format("/// sum + a.x*b.x + a.y*b.y + a.z*b.z + a.w*b.w\n"
                         "static __device__ __forceinline__ {0} dot4({1} a, {1} b, {0} sum) {{\n"
                         "  return sum + a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w;\n"
                         "}}\n",
                         scalar, vector));
}

/// The instruction DP4A, for operands of one byte.
Intrinsic dp4a(DType operand, std::string_view word) {
  return dot("dp4a", operand, Feature::dp4a,
             fmt::format("/// sum, plus the products of the bytes of a and b, modulo 2^32\n"
                         "static __device__ __forceinline__ {0} dp4a({0} a, {0} b, {0} sum) {{\n"
                         "  return __dp4a(a, b, sum);\n"
                         "}}\n",
                         word));
}

// ---- matrix units: PTX ISA, "Matrix Fragments for mma.m16n8k16 …"

/// An operand of the instruction `mma`: 4 bytes in a register hold consecutive elements along k.
struct Factor {
  DType dtype;
  std::string_view type;        ///< in CUDA C++
  std::string_view suffix;      ///< in PTX
  std::int64_t k, per_register; ///< extent of the sum; elements in a register
};

std::string asm_registers(char constraint, std::string_view array, std::int64_t count) {
  std::string text;
  for (std::int64_t n = 0; n < count; ++n)
    text += fmt::format("{}\"{}{}\"({}[{}])", n == 0 ? "" : ", ", constraint == '+' ? "+" : "",
                        constraint == '+' ? "f" : std::string(1, constraint), array, n);
  return text;
}

std::string mma_prelude(const std::string &name, const Factor &factor, bool integer) {
  std::string_view sum = integer ? "int" : "float", ptx = integer ? "s32" : "f32";
  std::int64_t words = factor.k / factor.per_register / 2; // of A in a lane: 16*k elements, 32 lanes
  std::string slots_a, slots_b;
  for (std::int64_t n = 0; n < words; ++n)
    slots_a += fmt::format("{}%{}", n == 0 ? "" : ", ", 4 + n);
  for (std::int64_t n = 0; n < words / 2; ++n)
    slots_b += fmt::format("{}%{}", n == 0 ? "" : ", ", 4 + words + n);
  std::string c =
      integer ? "\"+r\"(c[0]), \"+r\"(c[1]), \"+r\"(c[2]), \"+r\"(c[3])" : asm_registers('+', "c", 4);
  return fmt::format("/// c += a*b, for the 16 x {0} and {0} x 8 elements in the registers of a warp.\n"
                     "static __device__ __forceinline__ void {1}({2} *c, const {3} *a, const {3} *b) {{\n"
                     "  const unsigned int *x = reinterpret_cast<const unsigned int *>(a);\n"
                     "  const unsigned int *y = reinterpret_cast<const unsigned int *>(b);\n"
                     "  asm volatile(\"mma.sync.aligned.m16n8k{0}.row.col.{4}.{5}.{5}.{4} {{%0, %1, %2, %3}}, "
                     "{{{6}}}, {{{7}}}, \"\n"
                     "               \"{{%0, %1, %2, %3}};\"\n"
                     "               : {8}\n"
                     "               : {9}, {10});\n"
                     "}}\n",
                     factor.k, name, sum, factor.type, ptx, factor.suffix, slots_a, slots_b, c,
                     asm_registers('r', "x", words), asm_registers('r', "y", words / 2));
}

/// for i < 16, j < 8, k < K: c[i, j] = c[i, j] + a[i, k]*b[k, j]. Lane 4*g + t holds rows g and g + 8 of A and
/// C, and column g of B.
Intrinsic mma(std::string name, const Factor &factor, DType sum, Feature feature) {
  std::int64_t k = factor.k, n = factor.per_register, half = 4 * n; // k that the first registers hold
  Buffer c = formal("c", sum, {16, 8}), a = formal("a", factor.dtype, {16, k}),
         b = formal("b", factor.dtype, {k, 8});
  std::string in_lane = n == 1 ? "k%4" : fmt::format("k%{}//{}", half, n);
  std::string in_word = n == 1 ? "" : fmt::format(" + k%{}", n);
  auto times = [](std::int64_t factor) { return factor == 1 ? std::string() : fmt::format("*{}", factor); };
  InRegisters of_c{"i, j -> i%8*4 + j//2, i//8*2 + j%2"};
  InRegisters of_a{
      fmt::format("i, k -> i%8*4 + {}, k//{}*{} + i//8{}{}", in_lane, half, 2 * n, times(n), in_word)};
  InRegisters of_b{fmt::format("k, j -> j*4 + {}, k//{}{}{}", in_lane, half, times(n), in_word)};
  Var i = make_var("i"), j = make_var("j"), l = make_var("k");
  Expr product = cast(sum, load(a, {i, l})) * cast(sum, load(b, {l, j}));
  return {.name = name,
          .group = Group::warp,
          .operands = {{c, of_c}, {a, of_a, 4}, {b, of_b, 4}},
          .meaning = {{{i, 16}, {j, 8}, {l, k}}, {c, {i, j}, load(c, {i, j}) + product}},
          .feature = feature,
          .prelude = mma_prelude(name, factor, !is_float(sum))};
}

/// How ldmatrix reads a tile: the operand in registers, and the addresses of the 8 x 8 matrices.
struct Matrices {
  const char *name;
  std::int64_t rows, columns; ///< of the tile
  const char *fragment;
  std::vector<Expr> (*start)(const Expr &lane); ///< of the row that the lane supplies
  std::size_t along;                            ///< the contiguous dimension of the tile
  bool transposed;
};

/// for i < R, j < C: tile[i, j] = rows[i, j]
Intrinsic ldmatrix(const Matrices &x, DType dtype, std::string_view type) {
  Buffer tile = formal("tile", dtype, {x.rows, x.columns}), rows = formal("rows", dtype, {x.rows, x.columns});
  Var i = make_var("i"), j = make_var("j"), lane = make_var("lane");
  std::int64_t words = x.rows * x.columns / 64;
  std::string slots;
  for (std::int64_t n = 0; n < words; ++n)
    slots += fmt::format("{}%{}", n == 0 ? "" : ", ", n);
  std::string outputs;
  for (std::int64_t n = 0; n < words; ++n)
    outputs += fmt::format("{}\"=r\"(x[{}])", n == 0 ? "" : ", ", n);
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
                       {rows, Rows{lane, x.start(lane), x.along, 8, 8 * words}, 16}},
          .meaning = {{{i, x.rows}, {j, x.columns}}, {tile, {i, j}, load(rows, {i, j})}},
          .feature = Feature::ldmatrix,
          .prelude = prelude};
}

std::vector<Matrices> matrices() {
  constexpr const char *a = "i, k -> i%8*4 + k%8//2, k//8*4 + i//8*2 + k%2";
  constexpr const char *b = "k, j -> j*4 + k%8//2, k//8*2 + k%2";
  constexpr const char *b2 = "k, j -> j%8*4 + k%8//2, j//8*4 + k//8*2 + k%2";
  using Indices = std::vector<Expr>;
  return {
      {"ldmatrix_a", 16, 16, a,
       [](const Expr &lane) {
         return Indices{lane % 16, lane / 16 * 8};
       },
       1, false},
      {"ldmatrix_a_trans", 16, 16, a,
       [](const Expr &lane) {
         return Indices{lane / 8 % 2 * 8, lane % 8 + lane / 16 * 8};
       },
       0, true},
      {"ldmatrix_b", 16, 8, b,
       [](const Expr &lane) {
         return Indices{lane % 16, 0};
       },
       1, true},
      {"ldmatrix_b_trans", 16, 8, b,
       [](const Expr &lane) {
         return Indices{lane / 8 * 8, lane % 8};
       },
       0, false},
      {"ldmatrix_b2", 16, 16, b2,
       [](const Expr &lane) {
         return Indices{lane % 16, lane / 16 * 8};
       },
       1, true},
      {"ldmatrix_b2_trans", 16, 16, b2,
       [](const Expr &lane) {
         return Indices{lane / 8 % 2 * 8, lane % 8 + lane / 16 * 8};
       },
       0, false},
  };
}

/// for i < 32: sum = sum + x[i], where lane i holds x[i] and every lane gets the sum
Intrinsic warp_sum(DType dtype, std::string_view type) {
  Buffer x = formal("x", dtype, {lanes_per_warp}), sum = formal("sum", dtype, {});
  Var i = make_var("i");
  return {.name = "warp_sum",
          .group = Group::warp,
          .operands = {{x, InRegisters{"i -> i, 0"}}, {sum, InRegisters{"r -> r, 0"}}},
          .meaning = {{{i, lanes_per_warp}}, {sum, {}, load(sum, {}) + load(x, {i})}},
          .prelude = fmt::format("/// *sum += the sum of *x over the lanes of the warp, in every lane\n"
                                 "static __device__ __forceinline__ void warp_sum(const {0} *x, {0} *sum) {{\n"
                                 "  {0} total = *x;\n"
                                 "  for (int distance = 16; distance > 0; distance /= 2)\n"
                                 "    total += __shfl_xor_sync(0xffffffffu, total, distance);\n"
                                 "  *sum += total;\n"
                                 "}}\n",
                                 type)};
}

} // namespace

std::vector<Intrinsic> standard_intrinsics() {
  const Factor f16{DType::f16, "__half", "f16", 16, 2}, bf16{DType::bf16, "__nv_bfloat16", "bf16", 16, 2},
      tf32{DType::tf32, "float", "tf32", 8, 1}, i8{DType::i8, "signed char", "s8", 32, 4};
  std::vector<Intrinsic> all = {
      dot4(DType::f32, "float", "float4"),
      dot4(DType::u32, "unsigned int", "uint4"),
      dp4a(DType::i8, "int"),
      dp4a(DType::u8, "unsigned int"),
      mma("mma_m16n8k16", f16, DType::f32, Feature::mma_f16),
      mma("mma_m16n8k16", bf16, DType::f32, Feature::mma_bf16),
      mma("mma_m16n8k8", tf32, DType::f32, Feature::mma_tf32),
      mma("mma_m16n8k32", i8, DType::i32, Feature::mma_i8),
      warp_sum(DType::f32, "float"),
      warp_sum(DType::i32, "int"),
      warp_sum(DType::u32, "unsigned int"),
  };
  for (const Matrices &x : matrices()) {
    all.push_back(ldmatrix(x, DType::f16, "__half"));
    all.push_back(ldmatrix(x, DType::bf16, "__nv_bfloat16"));
  }
  return all;
}

} // namespace nestsmith
