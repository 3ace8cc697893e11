#include "schedules/choices.h"
#include "schedules/workloads.h"
#include "schedules/worklog/rungs.h"
#include "schedules/worklog/tiles.h"

#include <fmt/format.h>

namespace nestsmith::worklog {

/// Kernel 9: kernel 6 with the sizes of the tiles as knobs, under the names of the worklog. 16 x 16 threads
/// compute (16*tm) x (16*tn) results, and this as often as the tile of the block requires. The defaults are the
/// best values that the worklog found for an A6000.
Schedule autotuned(const Shape &shape, DType dtype, const Target &target, Knobs &knobs) {
  constexpr std::int64_t side = 16, threads = side * side;
  constexpr std::int64_t results = 128; ///< of a thread, so that they fit in registers
  auto [bm, bn, bk, tm, tn] =
      choose_fitting<5>(knobs,
                        {Choice{"bm", {128, 64, 256}},
                         {"bn", {128, 64, 256}},
                         {"bk", {16, 8, 32, 64}},
                         {"tm", {8, 4, 16}},
                         {"tn", {8, 4, 16}}},
                        [&](std::span<const std::int64_t> x) {
                          std::int64_t bm = x[0], bn = x[1], bk = x[2];
                          return bm % (side * x[3]) == 0 && bn % (side * x[4]) == 0 &&
                                 bm * bn <= results * threads && bm * bk % (4 * threads) == 0 &&
                                 bn * bk % (4 * threads) == 0 && fit_in_shared((bm + bn) * bk, dtype, target);
                        });
  Schedule s(gemm(shape, dtype), target);
  auto AB = s.block("AB");
  s.set_scope(AB, Scope::local);
  auto [i, j, k] = s.loops<3>(AB);
  auto [i_block, i_round, i_thread, i_result] = s.split(i, {infer, bm / (side * tm), side, tm});
  auto [j_block, j_round, j_thread, j_result] = s.split(j, {infer, bn / (side * tn), side, tn});
  auto [k_outer, k_inner] = s.split(k, {infer, bk});
  s.reorder({i_block, j_block, i_thread, j_thread, k_outer, i_round, j_round, k_inner, i_result, j_result});
  auto thread = s.fuse(i_thread, j_thread);
  // The groups of four columns of a thread are apart, so that no bank is accessed twice at a time.
  std::string b_layout = tn == 4 ? "k, j -> k, j" : fmt::format("k, j -> k, j//4%{}, j//{}, j%4", tn / 4, tn);
  use_tiles(s, {i_block, j_block, thread, k_outer, k_inner, {i_result, j_result}},
            {.threads = threads,
             .unrolled = 16,
             .vectors = !vectorized_variant(shape, dtype),
             .b_layout = b_layout.c_str()});
  s.unroll(i_round);
  s.unroll(j_round);
  if (!shape.stated && 2 * bm * bn <= results * threads) // index arithmetic in sizes takes too many registers
    s.launch_bounds(2);
  return s;
}

} // namespace nestsmith::worklog
