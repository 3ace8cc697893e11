#include "tools/tables/heatmap.h"

#include "dsl/expr/error.h"
#include "runtime/model/analyse.h"
#include "tools/output/json.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <set>

namespace nestsmith::cli {

namespace {

/// Lanes that perform the request, in order.
std::vector<int> lanes_of(const model::WarpRequest &request) {
  std::vector<int> lanes;
  for (int lane = 0; lane < 32; ++lane)
    if (request.mask >> lane & 1)
      lanes.push_back(lane);
  return lanes;
}

/// For each bank, its words with the lanes that request them, in the order of the lanes.
using Banks = std::map<std::int64_t, std::vector<std::pair<std::int64_t, std::vector<int>>>>;
Banks banks_of(const model::WarpRequest &request, const std::vector<int> &lanes, std::int64_t bytes) {
  Banks banks;
  for (int lane : lanes) {
    std::int64_t first = request.address[static_cast<std::size_t>(lane)];
    for (std::int64_t word = first / model::bank_bytes; word * model::bank_bytes < first + bytes; ++word) {
      auto &words = banks[word % model::banks];
      auto known = std::ranges::find(words, word, [](const auto &entry) { return entry.first; });
      if (known == words.end())
        words.push_back({word, {lane}});
      else
        known->second.push_back(lane);
    }
  }
  return banks;
}

std::string cell(const std::vector<int> &lanes, std::size_t wavefront, const Style &style) {
  std::string text = fmt::format("{:>2}{}", lanes.front(), lanes.size() > 1 ? "+" : " ");
  return wavefront > 0 ? style.red(text) : lanes.size() > 1 ? style.cyan(text) : text;
}

/// The banks from `first` to `end`.
std::string part_picture(const Banks &banks, std::int64_t first, std::int64_t end, const Style &style) {
  std::size_t wavefronts = 0;
  for (const auto &[bank, words] : banks)
    wavefronts = std::max(wavefronts, words.size());
  std::string text;
  for (std::size_t w = 0; w < wavefronts; ++w) {
    std::string line = fmt::format("{:>9} ", w + 1);
    for (std::int64_t bank = first; bank < end; ++bank) {
      auto words = banks.find(bank);
      bool used = words != banks.end() && w < words->second.size();
      line += used ? cell(words->second[w].second, w, style) : style.dim(" · ");
    }
    text += line + "\n";
  }
  return text;
}

std::string ranges(const std::vector<int> &lanes) {
  std::string text;
  for (std::size_t n = 0; n < lanes.size();) {
    std::size_t end = n;
    while (end + 1 < lanes.size() && lanes[end + 1] == lanes[end] + 1)
      ++end;
    text += fmt::format("{}{}", text.empty() ? "" : ", ", lanes[n]);
    if (end > n)
      text += fmt::format("-{}", lanes[end]);
    n = end + 1;
  }
  return (lanes.size() == 1 ? "lane " : "lanes ") + text;
}

/// The access that the user means.
AccessName find_access(const PlanAnalysis &analysis, const std::string &wanted) {
  std::vector<AccessName> hot = hottest(analysis);
  if (wanted.empty() && !hot.empty())
    return hot.front();
  for (const AccessName &name : hot)
    if (std::to_string(name.number) == wanted || name.text == wanted ||
        analysis.kernels[name.kernel].counters.accesses[name.access].buffer->name == wanted)
      return name;
  std::vector<std::string> list;
  for (const AccessName &name : accesses(analysis))
    list.push_back(fmt::format("{} {}", name.number, name.text));
  throw UserError(ExitCode::usage,
                  fmt::format("there is no access '{}'; name an access by its number or its buffer: {}", wanted,
                              fmt::join(list, ", ")));
}

void write_json(const Analysed &analysed, const AccessName &name, const model::WarpRequest &request,
                const model::RequestCost &cost) {
  const KernelAnalysis &kernel = analysed.analysis.kernels[name.kernel];
  const model::AccessCounts &access = kernel.counters.accesses[name.access];
  out(json_text([&](llvm::json::OStream &json) {
    json.object([&] {
      json.attribute("access", name.text);
      json.attribute("number", static_cast<std::int64_t>(name.number));
      json.attribute("memory", std::string(nestsmith::name(access.buffer->scope)));
      json.attribute("line", static_cast<std::int64_t>(kernel.lines[name.access].number));
      json.attribute("text", kernel.lines[name.access].text);
      json.attribute("bytes", access.bytes);
      json.attribute("sectors", cost.sectors);
      json.attribute("wavefronts", cost.wavefronts);
      json.attribute("conflicts", cost.conflicts);
      json.attributeArray("addresses", [&] {
        for (int lane = 0; lane < 32; ++lane)
          if (request.mask >> lane & 1)
            json.value(request.address[static_cast<std::size_t>(lane)]);
          else
            json.value(nullptr);
      });
    });
  }));
}

} // namespace

int lanes_at_once(const model::WarpRequest &request, std::int64_t bytes) {
  int each = bytes <= 4 ? 32 : bytes <= 8 ? 16 : 8;
  std::uint32_t apart = 0;
  for (int first = 0; first < 32; first += each) {
    model::WarpRequest part = request;
    part.mask &= static_cast<std::uint32_t>(((std::uint64_t{1} << each) - 1) << first);
    apart += model::cost(part, bytes, Scope::shared).wavefronts;
  }
  return model::cost(request, bytes, Scope::shared).wavefronts < apart ? 2 * each : each;
}

std::string cost_text(const model::WarpRequest &request, const model::AccessCounts &access) {
  model::RequestCost cost = model::cost(request, access.bytes, access.buffer->scope);
  auto lanes = static_cast<std::int64_t>(lanes_of(request).size());
  auto plural = [](std::uint32_t n) { return n == 1 ? "" : "s"; };
  std::string text = fmt::format("{} lanes of {} bytes, ", lanes, access.bytes);
  if (access.buffer->scope == Scope::shared)
    return text + fmt::format("{} wavefront{}, {} of them bank conflicts", cost.wavefronts,
                              plural(cost.wavefronts), cost.conflicts);
  return text + fmt::format("{} sector{}: {} bytes moved for {} requested", cost.sectors, plural(cost.sectors),
                            cost.sectors * model::sector_bytes, lanes * access.bytes);
}

std::string bank_picture(const model::WarpRequest &request, std::int64_t bytes, const Style &style,
                         std::size_t width) {
  std::vector<int> lanes = lanes_of(request);
  int each = lanes_at_once(request, bytes), parts = 32 / each;
  // The largest fraction of the banks that fits side by side: all, a half, a quarter, …
  std::int64_t shown = model::banks;
  while (shown > 4 && 10 + 3 * static_cast<std::size_t>(shown) > width)
    shown /= 2;
  std::string text;
  for (std::int64_t first = 0; first < model::banks; first += shown) {
    std::string heading = "     bank ";
    for (std::int64_t bank = first; bank < first + shown; ++bank)
      heading += fmt::format("{:>2} ", bank);
    text += (first > 0 ? "\n" : "") + style.dim(heading) + "\n" + style.dim("wavefront") + "\n";
    for (int part = 0; part < parts; ++part) {
      std::vector<int> of_part;
      for (int lane : lanes)
        if (lane / each == part)
          of_part.push_back(lane);
      if (of_part.empty())
        continue;
      if (parts > 1)
        text += style.dim(fmt::format("lanes {} to {}", part * each, part * each + each - 1)) + "\n";
      text += part_picture(banks_of(request, of_part, bytes), first, first + shown, style);
    }
  }
  return text;
}

std::string sector_picture(const model::WarpRequest &request, std::int64_t bytes, const Style &style) {
  std::map<std::int64_t, std::map<std::int64_t, std::set<int>>> lines; // line -> word -> lanes
  for (int lane : lanes_of(request)) {
    std::int64_t first = request.address[static_cast<std::size_t>(lane)];
    for (std::int64_t word = first / 4; word * 4 < first + bytes; ++word)
      lines[word * 4 / model::line_bytes][word % (model::line_bytes / 4)].insert(lane);
  }
  std::string text = style.dim("   at byte   sector of 32 bytes, one mark per word") + "\n";
  for (const auto &[line, words] : lines) {
    std::string row = fmt::format("{:>10} ", line * model::line_bytes);
    std::set<int> lanes;
    for (std::int64_t sector = 0; sector < 4; ++sector) {
      auto in = [&](std::int64_t n) { return words.find(sector * 8 + n); };
      bool moved = false;
      for (std::int64_t n = 0; n < 8; ++n)
        moved |= in(n) != words.end();
      row += "|";
      for (std::int64_t n = 0; n < 8; ++n) {
        bool used = in(n) != words.end();
        if (used)
          lanes.insert(in(n)->second.begin(), in(n)->second.end());
        row += used ? style.green("■") : moved ? style.red("·") : " ";
      }
    }
    row += "|  ";
    text += folded(ranges({lanes.begin(), lanes.end()}), std::string(display_width(row), ' '), row);
  }
  return text;
}

ExitCode show_heatmap(const Context &context, const Analysed &analysed, const std::string &wanted) {
  AccessName name = find_access(analysed.analysis, wanted);
  const KernelAnalysis &kernel = analysed.analysis.kernels[name.kernel];
  const model::AccessCounts &access = kernel.counters.accesses[name.access];
  auto request = model::first_request(kernel.kernel, ones(kernel.kernel), name.access);
  if (!request)
    throw UserError(ExitCode::usage,
                    fmt::format("the first warp does not execute {} {}, so there is no heatmap of it",
                                name.number, name.text));
  model::RequestCost cost = model::cost(*request, access.bytes, access.buffer->scope);
  if (context.json()) {
    write_json(analysed, name, *request, cost);
    return ExitCode::good;
  }
  const Style &style = context.style;
  bool shared = access.buffer->scope == Scope::shared;
  std::string text = style.bold(folded_lines(title(analysed.scheduled))) + "\n\n";
  text += folded(fmt::format("{}  line {}: {}", style.bold(fmt::format("{}: {}", name.number, name.text)),
                             kernel.lines[name.access].number, kernel.lines[name.access].text),
                 "   ", "");
  text += folded("first request of the first warp: " + cost_text(*request, access), "", "") + "\n";
  text += shared ? bank_picture(*request, access.bytes, style, output_width())
                 : sector_picture(*request, access.bytes, style);
  text += shared ? style.dim(folded_lines("\n"
                                          "a cell shows the lane that it serves, with + if the word serves "
                                          "several lanes: a broadcast is free\n"))
                 : style.dim("\n"
                             "■ a word that a lane requests, · a word that is moved but not requested\n");
  out(text);
  return ExitCode::good;
}

} // namespace nestsmith::cli
