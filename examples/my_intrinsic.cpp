// An instruction of your own: its meaning, its CUDA C++, and a schedule that uses it.
//
//   my_intrinsic show | emit | run | check …      (see my_intrinsic --help)

#include <nestsmith/nestsmith.h>

using namespace nestsmith;

// total = total + the sum of |a[k] - b[k]| over four bytes. `check` simulates the meaning, and a GPU executes
// the CUDA function.
void register_sad4() {
  Buffer a = formal_buffer("a", DType::u8, {4}), b = formal_buffer("b", DType::u8, {4}),
         total = formal_buffer("total", DType::u32, {});
  Var k = make_var("k");
  Expr x = cast(DType::u32, load(a, {k})), y = cast(DType::u32, load(b, {k}));
  Intrinsic sad4;
  sad4.name = "sad4";
  sad4.operands = {{a}, {b}, {total}};
  sad4.meaning = {{{k, 4}}, {total, {}, load(total, {}) + (max(x, y) - min(x, y))}};
  sad4.prelude = R"(/// total + the sum of absolute differences of the bytes of a and b
static __device__ __forceinline__ unsigned int sad4(unsigned int a, unsigned int b, unsigned int total) {
  return total + __vsadu4(a, b);
}
)";
  register_intrinsic(sad4);
}

// D[i, j] is the distance of row i of X and row j of Y, in steps of four bytes.
Schedule distances(const Shape &shape, DType, const Target &target) {
  Expr M = shape.at(0), N = shape.at(1), K = shape.at(2);
  Workload w("distances");
  Tensor X = w.placeholder("X", {M, K}, DType::u8), Y = w.placeholder("Y", {N, K}, DType::u8);
  Reduce k = reduce_axis("k", K);
  Tensor D = w.compute("D", {M, N}, {"i", "j"}, [&](Expr i, Expr j) {
    Expr x = cast(DType::u32, X(i, k)), y = cast(DType::u32, Y(j, k));
    return sum(max(x, y) - min(x, y), k);
  });

  Schedule s(w.output({D}), target);
  auto sums = s.block("D");
  auto writeback = s.cache_write(sums, Scope::local);
  auto [i, j, all] = s.loops<3>(sums);
  auto [i_block, i_thread] = s.split(i, {infer, 8});
  auto [j_block, j_thread] = s.split(j, {infer, 32});
  auto [steps, bytes] = s.split(all, {infer, 4});
  s.reorder({i_block, j_block, i_thread, j_thread, steps, bytes});
  s.reverse_compute_at(writeback, j_thread);
  s.bind(i_block, Axis::block_y);
  s.bind(j_block, Axis::block_x);
  s.bind(i_thread, Axis::thread_y);
  s.bind(j_thread, Axis::thread_x);
  s.tensorize(bytes, "sad4");
  return s;
}

int main(int argc, char **argv) {
  register_sad4();
  return cli_main(argc, argv, {{"", "distances", "four bytes in one call", distances, {8, 32, 4}}});
}
