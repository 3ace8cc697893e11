#include "tools/pages/pictures.h"

#include <fmt/format.h>
#include <llvm/Support/FormatVariadic.h>

namespace nestsmith::cli::report {

Html pictures(const Page &page, std::size_t n, Language language) {
  const PageRung &rung = page.rungs[n];
  if (!rung.model)
    return {};
  const std::vector<KernelAnalysis> &kernels = rung.model->analysis.kernels;
  const Scheduled &scheduled = rung.model->scheduled;
  std::vector<std::size_t> pane_lines =
      same_lines(cuda_text(scheduled.plan()).traced.text, rung.steps.back().cuda);
  std::string problem = dtype_name(scheduled.source(), scheduled.dtype) + " " + to_text(scheduled.shape);
  Html parts = element("h3", {{"id", anchor(n) + "-pictures"}},
                       {fmt::format("{}: {}", say(Label::pictures, language), problem)});
  for (std::size_t k = 0; k < kernels.size(); ++k) {
    FirstBlock block = first_block(kernels[k], scheduled.schedule.program());
    PicturedKernel kernel{*rung.model,  k,         block, fmt::format("pictures-{}-{}", n + 1, k + 1), language,
                          cuda_pane(n), pane_lines};
    llvm::json::Object data{{"owners", owners_json(block)}, {"accesses", accesses_json(kernel)}};
    Html heading = kernels.size() == 1 ? Html()
                                       : element("p", {element("b", {say(Label::kernel, language)}), " ",
                                                       element("code", {kernels[k].kernel.name})});
    parts += element("div", {{"class", "pictures"}, {"data-pictures", kernel.id}},
                     {heading, ownership_picture(kernel), access_picture(kernel), pipeline_picture(kernel),
                      occupancy_picture(kernel),
                      data_block(kernel.id, llvm::formatv("{0}", llvm::json::Value(std::move(data))).str())});
  }
  return parts;
}

Html picture_labels(Language language) {
  llvm::json::Object labels;
  auto add = [&](const char *name, Label label) { labels[name] = std::string(say(label, language)); };
  add("thread", Label::thread);
  add("warp", Label::warp);
  add("lane", Label::lane);
  add("lanes", Label::lanes);
  add("also_lanes", Label::also_lanes);
  add("register", Label::register_number);
  add("elements", Label::elements);
  add("nobody", Label::nobody);
  add("bank", Label::bank);
  add("banks_text", Label::banks_text);
  add("wavefront", Label::wavefront);
  add("conflict", Label::conflict);
  add("byte", Label::byte);
  add("sectors_text", Label::sectors_text);
  add("unused", Label::unused_word);
  return data_block("picture-labels", llvm::formatv("{0}", llvm::json::Value(std::move(labels))).str());
}

} // namespace nestsmith::cli::report
