#include "tools/pages/line_costs.h"
#include "tools/pages/pictures.h"
#include "tools/tables/heatmap.h"

#include <fmt/format.h>

namespace nestsmith::cli::report {

namespace {

/// The accesses of this kernel, in the order of the text.
std::vector<AccessName> names(const PicturedKernel &kernel) {
  std::vector<AccessName> all = accesses(kernel.model.analysis);
  std::erase_if(all, [&](const AccessName &name) { return name.kernel != kernel.number; });
  return all;
}

/// Addresses as differences: first address, then difference and count of each run.
llvm::json::Value addresses_json(const model::WarpRequest &request) {
  std::vector<std::int64_t> differences, counts;
  std::int64_t first = -1, before = 0;
  for (std::size_t lane = 0; lane < request.address.size(); ++lane) {
    std::int64_t now = request.mask >> lane & 1 ? request.address[lane] : before;
    if (lane == 0) {
      first = now;
    } else if (!differences.empty() && differences.back() == now - before) {
      ++counts.back();
    } else {
      differences.push_back(now - before);
      counts.push_back(1);
    }
    before = now;
  }
  llvm::json::Array flat{first};
  for (std::size_t n = 0; n < differences.size(); ++n) {
    flat.push_back(differences[n]);
    flat.push_back(counts[n]);
  }
  return flat;
}

/// The line of an access. The script selects it in the pane with the CUDA text.
Html line_of(const PicturedKernel &kernel, const TextLine &line) {
  Html text = element("span", {{"class", "quiet"}}, {fmt::format("{}:", line.number)});
  text += " ";
  text += element("code", {line.text});
  std::size_t number =
      line.number == 0 || line.number > kernel.pane_lines.size() ? 0 : kernel.pane_lines[line.number - 1];
  return number == 0
             ? text
             : element(
                   "a",
                   {{"class", "of-line"}, {"href", "#" + kernel.pane}, {"data-line", std::to_string(number)}},
                   {text});
}

} // namespace

Html access_picture(const PicturedKernel &kernel) {
  Language language = kernel.language;
  Html items;
  for (const AccessName &name : names(kernel)) {
    const auto &request = kernel.block.requests[name.access];
    const model::AccessCounts &access = kernel.kernel().counters.accesses[name.access];
    const TextLine &line = kernel.kernel().lines[name.access];
    Html cost = request ? prose("span", cost_text(*request, access), language, "cost")
                        : element("span", {{"class", "cost"}}, {say(Label::not_executed, language)});
    std::string left = merged_text(access);
    Html merged = left.empty() ? Html()
                               : element("span", {{"class", "quiet merged"}},
                                         {say(Label::merged_access, language, left)});
    items +=
        element("li", {{"value", std::to_string(name.number)}, {"class", request ? "access" : "unused"}},
                {element("span", {{"class", "pick"}}, {element("b", {{"lang", "en"}}, {name.text}), " ", cost}),
                 " ", merged, line_of(kernel, line)});
  }
  if (items.empty())
    return {};
  return element("div", {{"class", "accesses"}},
                 {element("h4", {say(Label::accesses, language)}),
                  element("p", {say(Label::accesses_text, language)}),
                  element("div", {{"class", "access-box"}},
                          {element("ol", {{"class", "access-list"}}, {items}),
                           element("div", {{"class", "access-table"}}, {})}),
                  element("p", {{"class", "access-line"}, {"role", "status"}}, {})});
}

llvm::json::Value accesses_json(const PicturedKernel &kernel) {
  llvm::json::Array all;
  for (const AccessName &name : names(kernel)) {
    const auto &request = kernel.block.requests[name.access];
    if (!request)
      continue;
    const model::AccessCounts &access = kernel.kernel().counters.accesses[name.access];
    bool shared = access.buffer->scope == Scope::shared;
    all.push_back(llvm::json::Object{{"bytes", access.bytes},
                                     {"mask", static_cast<std::int64_t>(request->mask)},
                                     {"each", shared ? lanes_at_once(*request, access.bytes) : 0},
                                     {"addresses", addresses_json(*request)}});
  }
  return all;
}

} // namespace nestsmith::cli::report
