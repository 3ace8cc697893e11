#include "tools/pages/figures/measure.h"
#include "tools/pages/figures/posts.h"

namespace nestsmith::figure {

namespace {

/// The loads of A and B from global or from shared memory for each result.
double loads_for_a_result(const RungCounts &counts, Scope scope) {
  double threads = 0;
  for (const char *operand : {"A", "B"})
    threads += static_cast<double>(
        counts.access(scope == Scope::global ? operand : std::string(operand) + "_shared").threads);
  return threads / counts.results;
}

/// The mean number of sectors of a request for A or B.
double sectors_in_the_mean(const RungCounts &counts) {
  model::RequestSums both = counts.access("A");
  both += counts.access("B");
  return both.sectors_per_request();
}

} // namespace

std::vector<Figure> of_deep_dive() {
  constexpr double K = 1024;
  const Shape shape = {1024, 1024, 1024};
  const Gpu &gpu = find_gpu("RTX 5090");
  RungCounts naive = measure("deep_dive/naive", shape, gpu.arch),
             coalesced = measure("deep_dive/coalesced", shape, gpu.arch);
  RungCounts shared = measure("deep_dive/shared", shape, gpu.arch),
             tile1d = measure("deep_dive/tile1d", shape, gpu.arch);
  std::vector<Figure> list;
  auto add = [&](const std::string &what, double published, double ours, const std::string &note = "") {
    list.push_back({"deep_dive", what, published, published, ours, FigureSource::counted, 0, note});
  };
  add("blocks of naive", 4096, static_cast<double>(naive.counters.blocks));
  const char *requests = "the post calls them DRAM accesses; they are requests";
  add("shared: global loads a result, K/16", K / 16, loads_for_a_result(shared, Scope::global), requests);
  add("shared: shared loads a result, 2K", 2 * K, loads_for_a_result(shared, Scope::shared));
  add("tile1d: global loads a result, K/32", K / 32, loads_for_a_result(tile1d, Scope::global), requests);
  add("tile1d: shared loads a result, 9K/8", 9 * K / 8, loads_for_a_result(tile1d, Scope::shared));
  add("naive: sectors of a request for A", 32, naive.access("A").sectors_per_request());
  add("coalesced: sectors of a request for A", 1, coalesced.access("A").sectors_per_request());
  add("naive: sectors of a request for B", 1, naive.access("B").sectors_per_request());
  add("coalesced: sectors of a request for B", 4, coalesced.access("B").sectors_per_request());
  add("naive: sectors of a request, mean of A and B", 16.5, sectors_in_the_mean(naive));
  add("coalesced: sectors of a request, mean of A and B", 2.5, sectors_in_the_mean(coalesced));
  // 18.07 GB/s in 0.518 ms against 2.40 GB/s in 3.944 ms.
  double bytes_naive = analyse_rung("deep_dive/naive", shape, gpu).dram_bytes();
  double bytes_coalesced = analyse_rung("deep_dive/coalesced", shape, gpu).dram_bytes();
  list.push_back(
      {"deep_dive", "DRAM bytes of coalesced over those of naive", 18.07 / 2.40, 18.07 * 0.518 / (2.40 * 3.944),
       bytes_coalesced / bytes_naive, FigureSource::modelled, 0.1,
       "the post compares the rates of kernels that take different times; rate x time is 9.4 and 9.5 MB"});
  // The memory of a V100 has 4096 bits at 877 MHz, on both edges of the clock; its 80 SMs have 32 banks of 4
  // bytes.
  auto v100 = [&](const char *what, double published, double ours, double tolerance, const char *note) {
    list.push_back({"deep_dive", what, published, published, ours, FigureSource::data, tolerance, note});
  };
  v100("V100: GB/s of DRAM", 900, 4096.0 / 8 * 2 * 0.877, 0.01, "HBM2 of 4096 bits at 877 MHz");
  v100("V100: GB/s of shared memory", 13'800, 80.0 * 32 * 4 * 1.38, 0.03,
       "the post quotes a measurement; 80 SMs deliver at most 128 bytes per clock each, at 1380 MHz");
  return list;
}

} // namespace nestsmith::figure
