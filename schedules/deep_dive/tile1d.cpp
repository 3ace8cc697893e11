#include "schedules/choices.h"
#include "schedules/deep_dive/rungs.h"
#include "schedules/fetch.h"
#include "schedules/workloads.h"

namespace nestsmith::deep_dive {

/// A thread computes 8 elements of a column of a 64 x 64 tile. It reads each element of B from shared memory
/// once, and uses it 8 times from a register. BM = BN = 64, BK = TM = 8: 512 threads, one fetch of each
/// operand. The knobs have the names of the post. Each thread fetches the same number of elements.
Schedule tile1d(const Shape &shape, DType dtype, const Target &target, Knobs &knobs) {
  auto [bm, bn, bk, tm] = choose_fitting<4>(
      knobs,
      {Choice{"bm", {64, 32, 128}}, {"bn", {64, 32, 128}}, {"bk", {8, 4, 16, 32}}, {"tm", {8, 2, 4, 16}}},
      [&](std::span<const std::int64_t> x) {
        std::int64_t bm = x[0], bn = x[1], bk = x[2], threads = bm / x[3] * bn;
        return threads <= target.threads_per_block && bm * bk % threads == 0 && bk * bn % threads == 0 &&
               fit_in_shared((bm + bn) * bk, dtype, target);
      });
  Schedule s(gemm(shape, dtype), target);
  auto AB = s.block("AB"), C = s.block("C");
  s.set_scope(AB, Scope::local);
  auto [i, j, k] = s.loops<3>(AB);
  auto [i_block, i_thread, i_result] = s.split(i, {infer, bm / tm, tm});
  auto [j_block, j_thread] = s.split(j, {infer, bn});
  auto [k_outer, k_inner] = s.split(k, {infer, bk});
  s.reorder({i_block, j_block, i_thread, j_thread, k_outer, k_inner, i_result});
  auto thread = s.fuse(i_thread, j_thread);
  s.reverse_compute_at(C, thread);
  s.bind(i_block, Axis::block_y);
  s.bind(j_block, Axis::block_x);
  s.bind(thread, Axis::thread_x);
  auto B_shared = s.cache_read(AB, "B", Scope::shared), b = s.cache_read(AB, s.name(B_shared), Scope::local);
  s.compute_at(b, k_inner);
  fetch_tile(s, AB, "A", k_outer, bm / tm * bn);
  fetch_tile(s, B_shared, k_outer, bm / tm * bn);
  s.unroll(k_inner);
  s.unroll(i_result);
  auto results = s.loops(C);
  s.unroll(results[results.size() - 2]);
  return s;
}

} // namespace nestsmith::deep_dive
