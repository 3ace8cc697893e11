#include "runtime/model/host.h"

#include <algorithm>
#include <fmt/format.h>

namespace nestsmith {

std::optional<HostTime> host_limit(const PlanAnalysis &analysis) {
  if (analysis.kernels.size() < 2)
    return std::nullopt;
  HostTime host;
  double nodes = 0;
  for (const KernelAnalysis &kernel : analysis.kernels) {
    double seconds = std::max(kernel.estimated_seconds, kernel.seconds());
    host.enqueue += launch_seconds;
    host.gpu += seconds;
    nodes += std::max(seconds, graph_kernel_seconds);
  }
  if (host.gpu >= host.enqueue)
    return std::nullopt;
  host.one_by_one = std::max(host.enqueue, host.gpu);
  host.graph = std::max(graph_launch_seconds, nodes);
  return host;
}

Section host_section(const HostTime &host, std::size_t kernels) {
  return {
      "Host",
      {{"Launches", fmt::format("{} kernels, each enqueued in about {}", kernels, seconds_text(launch_seconds)),
        Quality::modelled},
       {"Time of the GPU", seconds_text(host.gpu) + ", less than the host takes to enqueue them",
        Quality::modelled},
       {"One by one", seconds_text(host.one_by_one) + ", limited by the host", Quality::modelled},
       {"As one CUDA graph",
        fmt::format("{}; the host takes {} for it", seconds_text(host.graph),
                    seconds_text(graph_launch_seconds)),
        Quality::modelled},
       {"Source", "typical times, from the manual of CUDA.jl; bench RUNG --launch back-to-back,graph measures "
                  "those of a machine"}}};
}

std::string host_in_words(const PlanAnalysis &analysis, Language language) {
  std::optional<HostTime> host = host_limit(analysis);
  if (!host)
    return "";
  return say(
      language,
      " The host is the limit: it takes about {} to enqueue the {} kernels one by one, and the GPU "
      "executes them in {}. As one CUDA graph, they take about {}.",
      " 호스트가 한계입니다: 커널 {1}개를 하나씩 큐에 넣는 데 약 {0} 걸리고, GPU는 이들을 {2}에 실행합니다. "
      "CUDA 그래프 하나로 실행하면 약 {3} 걸립니다.",
      seconds_text(host->enqueue), analysis.kernels.size(), seconds_text(host->gpu), seconds_text(host->graph));
}

std::string host_in_words(const PlanAnalysis &before, const PlanAnalysis &after, Language language) {
  std::size_t b = before.kernels.size(), a = after.kernels.size();
  if (a == b || (!host_limit(before) && !host_limit(after)))
    return "";
  auto enqueue = [](std::size_t kernels) {
    return seconds_text(static_cast<double>(kernels) * launch_seconds);
  };
  return say(language, " The host launches {0} kernel{1} instead of {2}, in about {3} instead of {4}.",
             " 호스트가 실행하는 커널이 {2}개에서 {0}개로 바뀌고, 걸리는 시간은 약 {4}에서 약 {3}로 바뀝니다.",
             a, a == 1 ? "" : "s", b, enqueue(a), enqueue(b));
}

} // namespace nestsmith
