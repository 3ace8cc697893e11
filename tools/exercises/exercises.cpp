#include "tools/exercises/exercise.h"

#include "runtime/model/analyse.h"

#include <algorithm>
#include <fmt/format.h>

namespace nestsmith {

namespace exercise {

namespace {

/// The GPU of the counts. Registers are unknown: the kernels are not compiled.
const Gpu &counted_gpu() { return find_gpu("RTX 3090"); }

PlanAnalysis counted(const Program &source, const kernel::Plan &plan) {
  return analyse(source, plan, counted_gpu(), {});
}

std::string access_name(const model::AccessCounts &access) {
  return fmt::format("{} of {}", access.is_store() ? "a store" : "a load", access.buffer->name);
}

/// A figure of each access in the scope, which must be at most `most`.
std::vector<Measured> of_accesses(const PlanAnalysis &analysis, Scope scope, const std::string &unit,
                                  double (model::RequestSums::*figure)() const, double most) {
  std::vector<Measured> result;
  for (const model::AccessCounts &access : analysis.kernels.front().counters.accesses)
    if (access.buffer->scope == scope && access.requests > 0) {
      double got = (access.*figure)();
      result.push_back({fmt::format("{} for {}", unit, access_name(access)), got,
                        fmt::format("at most {}", most), got <= most});
    }
  return result;
}

std::vector<std::string> joined(std::vector<std::string> first, const std::vector<std::string> &rest) {
  first.insert(first.end(), rest.begin(), rest.end());
  return first;
}

Exercise from(const BlankSchedule &schedule, Exercise about) {
  about.text = [schedule] { return schedule.text(); };
  about.judge = [schedule](const std::string &answer) { return schedule.judge(answer); };
  return about;
}

Exercise row() {
  BlankSchedule schedule{
      .lines = {"s.set_scope(AB, Scope::local);", "auto [i_block, i_thread] = s.split(i, {infer, 32});",
                "auto [j_block, j_thread] = s.split(j, {infer, 32});",
                "s.reorder({i_block, j_block, i_thread, j_thread});", "s.reverse_compute_at(C, j_thread);",
                "s.bind(i_block, Axis::block_y);", "s.bind(j_block, Axis::block_x);", blank},
      .measure = [](const Program &source, const kernel::Plan &plan) {
        PlanAnalysis analysis = counted(source, plan);
        std::vector<Measured> result = of_accesses(analysis, Scope::global, "sectors of a request",
                                                   &model::RequestSums::sectors_per_request, 4);
        auto threads = static_cast<double>(analysis.kernels.front().kernel.threads());
        result.push_back({"threads of a block", threads, "1024", threads == 1024});
        return result;
      }};
  return from(
      schedule,
      {.name = "row",
       .title = "a warp along a row",
       .task = "Give each of the 32 x 32 results of a block to a thread, so that no request to global memory "
               "takes more than 4 sectors. The answer is one or more directives.",
       .example = "s.bind(i_thread, Axis::thread_x); s.bind(j_thread, Axis::thread_y);",
       .hints = {"A warp is 32 threads with consecutive threadIdx.x. A request takes a sector of 32 bytes "
                 "for each 8 consecutive floats that its lanes access.",
                 "B[k, j] and C[i, j] are contiguous along j. The lanes must count j, so that 32 lanes "
                 "access 128 consecutive bytes: 4 sectors.",
                 "Bind j_thread to threadIdx.x, and i_thread to threadIdx.y."},
       .text = {},
       .judge = {}});
}

Exercise wavefront() {
  BlankSchedule schedule{.lines = joined(tiles32(), {"s.transform_layout(B_shared, \"k, j -> j, k\");", blank}),
                         .measure = [](const Program &source, const kernel::Plan &plan) {
                           return of_accesses(counted(source, plan), Scope::shared, "wavefronts of a request",
                                              &model::RequestSums::wavefronts_per_request, 1);
                         }};
  return from(
      schedule,
      {.name = "wavefront",
       .title = "one wavefront",
       .task = "The tile of B is stored transposed, so that 32 lanes access one bank. Change how the tile is "
               "stored, so that each request to shared memory takes one wavefront. The answer is one or "
               "more directives.",
       .example = "s.storage_align(B_shared, 0, 32, 2);",
       .hints =
           {"Shared memory has 32 banks of 4 bytes. Element e of an array of floats is in bank e % 32. A "
            "row of 32 floats ends where the next row starts in the same bank.",
            "storage_align(B_shared, dim, factor, offset) makes the stride of a dimension equal to "
            "offset modulo factor. swizzle(B_shared, bits, base, shift) permutes the elements of each row.",
            "With a stride of 33 floats, the elements of a column are in 32 banks: factor 32, offset 1."},
       .text = {},
       .judge = {}});
}

/// 64 x 64 results by 256 threads of 4 x 4, and a tile of a chosen length along k.
Exercise occupied() {
  BlankSchedule schedule{
      .lines = {"s.set_scope(AB, Scope::local);",
                "auto [i_block, i_thread, i_result] = s.split(i, {infer, 16, 4});",
                "auto [j_block, j_thread, j_result] = s.split(j, {infer, 16, 4});",
                "auto [k_outer, k_inner] = s.split(k, {infer, ____});",
                "s.reorder({i_block, j_block, i_thread, j_thread, k_outer, k_inner, i_result, j_result});",
                "auto thread = s.fuse(i_thread, j_thread);",
                "s.reverse_compute_at(C, thread);",
                "s.bind(i_block, Axis::block_y);",
                "s.bind(j_block, Axis::block_x);",
                "s.bind(thread, Axis::thread_x);",
                "auto A_shared = s.cache_read(AB, \"A\", Scope::shared);",
                "s.compute_at(A_shared, k_outer);",
                "auto A_element = s.fuse(ax_A_i, ax_A_k);",
                "auto [A_round, A_thread] = s.split(A_element, {infer, 256});",
                "s.bind(A_thread, Axis::thread_x);",
                "auto B_shared = s.cache_read(AB, \"B\", Scope::shared);",
                "s.compute_at(B_shared, k_outer);",
                "auto B_element = s.fuse(ax_B_k, ax_B_j);",
                "auto [B_round, B_thread] = s.split(B_element, {infer, 256});",
                "s.bind(B_thread, Axis::thread_x);"},
      .size = 128,
      .measure = [](const Program &source, const kernel::Plan &plan) {
        PlanAnalysis analysis = counted(source, plan);
        const KernelAnalysis &kernel = analysis.kernels.front();
        auto blocks = static_cast<double>(kernel.occupancy.blocks);
        double barriers = static_cast<double>(kernel.counters.barriers.threads) /
                          static_cast<double>(kernel.kernel.threads() * kernel.waves.blocks);
        return std::vector<Measured>{{"blocks on an SM", blocks, "at least 2", blocks >= 2},
                                     {"barriers of a thread", barriers, "at most 4", barriers <= 4}};
      }};
  return from(
      schedule,
      {.name = "blocks",
       .title = "two blocks on an SM",
       .task =
           "The tiles of A and B have 64 rows or columns, and a length along k. Choose the length, so that two "
           "blocks fit on an SM of an RTX 3090, with as few barriers as possible: at most 4 for each thread at "
           "K = 128. The answer is a number.",
       .example = "128",
       .hints =
           {"An SM of the RTX 3090 has 100 KiB of shared memory. Each block also takes 1 KiB for the system.",
            "A tile of length k takes 2 * 64 * k * 4 bytes. Two blocks leave 49 KiB for each.",
            "There are two barriers for each tile, and K / k tiles. With k = 64, there are two tiles."},
       .text = {},
       .judge = {}});
}

} // namespace

std::vector<std::string> tiles32() {
  return {"s.set_scope(AB, Scope::local);",
          "auto [i_block, i_thread] = s.split(i, {infer, 32});",
          "auto [j_block, j_thread] = s.split(j, {infer, 32});",
          "auto [k_outer, k_inner] = s.split(k, {infer, 32});",
          "s.reorder({i_block, j_block, i_thread, j_thread});",
          "auto thread = s.fuse(i_thread, j_thread);",
          "s.reverse_compute_at(C, thread);",
          "s.bind(i_block, Axis::block_y);",
          "s.bind(j_block, Axis::block_x);",
          "s.bind(thread, Axis::thread_x);",
          "auto A_shared = s.cache_read(AB, \"A\", Scope::shared);",
          "s.compute_at(A_shared, k_outer);",
          "auto A_thread = s.fuse(ax_A_i, ax_A_k);",
          "s.bind(A_thread, Axis::thread_x);",
          "auto B_shared = s.cache_read(AB, \"B\", Scope::shared);",
          "s.compute_at(B_shared, k_outer);",
          "auto B_thread = s.fuse(ax_B_k, ax_B_j);",
          "s.bind(B_thread, Axis::thread_x);"};
}

} // namespace exercise

const std::vector<Exercise> &exercises() {
  static const std::vector<Exercise> all = {exercise::row(), exercise::needless_barrier(),
                                            exercise::wavefront(), exercise::occupied(), exercise::weak_wait()};
  return all;
}

} // namespace nestsmith
