// A schedule of your own: the computation, how to run it, and every nestsmith command for it.
//
//   my_schedule show | emit | run | check …      (see my_schedule --help)

#include <nestsmith/nestsmith.h>

using namespace nestsmith;

Schedule product(const Shape &shape, DType dtype, const Target &target) {
  // What: Y = X * W.
  Expr M = shape.at(0), N = shape.at(1), K = shape.at(2);
  Workload w("product");
  Tensor X = w.placeholder("X", {M, K}, dtype), W = w.placeholder("W", {K, N}, dtype);
  Reduce k = reduce_axis("k", K);
  Tensor Y = w.compute("Y", {M, N}, {"i", "j"}, [&](Expr i, Expr j) { return sum(X(i, k) * W(k, j), k); });

  // How: 32 x 16 tiles, 16 x 16 threads, two results per thread, kept in registers until they are complete.
  Schedule s(w.output({Y}), target);
  auto sum_block = s.block("Y");
  auto writeback = s.cache_write(sum_block, Scope::local);
  auto [i, j, sum_loop] = s.loops<3>(sum_block);
  auto [i_block, i_thread, i_result] = s.split(i, {infer, 16, 2});
  auto [j_block, j_thread] = s.split(j, {infer, 16});
  s.reorder({i_block, j_block, i_thread, j_thread, sum_loop, i_result});
  s.reverse_compute_at(writeback, j_thread);
  s.bind(i_block, Axis::block_y);
  s.bind(j_block, Axis::block_x);
  s.bind(i_thread, Axis::thread_y);
  s.bind(j_thread, Axis::thread_x);
  return s;
}

int main(int argc, char **argv) {
  return cli_main(argc, argv, {{"", "product", "two results per thread, in registers", product, {32, 16, 1}}});
}
