#include "lowering/notes.h"
#include "tools/pages/pictures.h"

#include <algorithm>
#include <fmt/format.h>

namespace nestsmith::cli::report {

namespace {

constexpr std::int64_t lanes = lanes_per_warp;

/// The size of an element. Elements of a flat grid are tall, and those of a narrow grid are wide.
struct Scale {
  double pixels = 1; ///< of the unit of length, where there is room
  std::int64_t wide = 1, tall = 1;

  explicit Scale(const OwnerGrid &grid) {
    double side = grid.scope == Scope::warp ? 480 : 360;
    pixels = std::clamp(side / static_cast<double>(std::max(grid.rows, grid.columns)), 1.5, 30.0);
    auto stretched = [&](std::int64_t elements, std::int64_t most) {
      return std::clamp<std::int64_t>(static_cast<std::int64_t>(120 / pixels) / elements, 1, most);
    };
    wide = stretched(grid.columns, grid.rows > 64 ? 16 : 1);
    tall = stretched(grid.rows, 4);
  }

  std::string path(const std::vector<Rectangle> &rectangles) const {
    std::string text;
    for (const Rectangle &it : rectangles)
      text += fmt::format("M{} {}h{}v{}h-{}z", wide * it.column, tall * it.row, wide * it.columns,
                          tall * it.rows, wide * it.columns);
    return text;
  }
};

/// The number of a warp in the largest of its rectangles, if it has room there.
Html warp_number(std::int64_t warp, const std::vector<Rectangle> &rectangles, const Scale &scale) {
  const Rectangle &it = *std::ranges::max_element(
      rectangles, {}, [](const Rectangle &r) { return std::min(r.rows, r.columns) * 1000 + r.columns; });
  double height = static_cast<double>(scale.tall * it.rows) * scale.pixels;
  if (height < 9 || static_cast<double>(scale.wide * it.columns) * scale.pixels < 14)
    return {};
  auto middle = [](std::int64_t from, std::int64_t length) {
    return decimal(static_cast<double>(from) + static_cast<double>(length) / 2);
  };
  return element("text",
                 {{"x", middle(scale.wide * it.column, scale.wide * it.columns)},
                  {"y", middle(scale.tall * it.row, scale.tall * it.rows)},
                  {"dy", "0.35em"},
                  {"text-anchor", "middle"},
                  {"font-size", decimal(std::min(11.0, height) / scale.pixels)}},
                 {fmt::format("{}", warp)});
}

/// A grid whose colours are warps, or groups of four lanes of a fragment. The elements of thread 0 are marked.
Html drawing(const OwnerGrid &grid, const std::string &name) {
  bool fragment = grid.scope == Scope::warp;
  Scale scale(grid);
  Html parts;
  for (const auto &[group, rectangles] :
       groups(grid, [&](std::int64_t owner) { return fragment ? owner / 4 : owner / lanes; }))
    parts += element("path", {{"class", fmt::format("warp{}", group % 8)}, {"d", scale.path(rectangles)}});
  std::vector<Rectangle> owned = groups(grid, [](std::int64_t owner) { return owner == 0 ? 1 : 0; })[1];
  parts += element("path", {{"class", "owned"}, {"d", scale.path(owned)}});
  if (!fragment)
    for (const auto &[warp, rectangles] : groups(grid, [](std::int64_t owner) { return owner / lanes; }))
      parts += warp_number(warp, rectangles, scale);
  auto length = [&](std::int64_t elements) { return decimal(static_cast<double>(elements) * scale.pixels); };
  Html svg = element("svg",
                     {{"viewBox", fmt::format("0 0 {} {}", scale.wide * grid.columns, scale.tall * grid.rows)},
                      {"width", length(scale.wide * grid.columns)},
                      {"height", length(scale.tall * grid.rows)},
                      {"aria-hidden", "true"}},
                     {parts});
  return element("div", {{"class", "cells"}, {"role", "img"}, {"aria-label", name}}, {svg});
}

OwnerGrid threads_grid(const FirstBlock &block) {
  OwnerGrid grid{.rows = (block.threads + lanes - 1) / lanes, .columns = std::min(lanes, block.threads)};
  for (std::int64_t thread = 0; thread < grid.rows * grid.columns; ++thread)
    grid.owners.push_back(thread < block.threads ? thread : -1);
  return grid;
}

std::string caption(const OwnerGrid &grid, const KernelAnalysis &kernel, Language language) {
  std::string text = say(grid.scope == Scope::global   ? Label::stored_by
                         : grid.scope == Scope::shared ? Label::copied_by
                                                       : Label::held_by,
                         language, grid.name);
  text += fmt::format("; {} x {}", grid.tile_rows, grid.tile_columns);
  if (grid.in_part())
    text +=
        fmt::format(", {}", say(Label::first_part, language, fmt::format("{} x {}", grid.rows, grid.columns)));
  if (!grid.replicas.empty())
    text += fmt::format("; {}", say(Label::copies, language, std::to_string(grid.replicas.size() + 1)));
  for (const kernel::Allocation &tile : kernel.kernel.shared)
    if (std::string note = note_of(tile); tile.buffer->name == grid.name && !note.empty())
      text += " (" + note + ")";
  return text;
}

std::string first_line(const FirstBlock &block, Language language) {
  std::string text = fmt::format("{} 0, {} 0, {} 0", say(Label::thread, language), say(Label::warp, language),
                                 say(Label::lane, language));
  std::string counts;
  for (const OwnerGrid &grid : block.grids)
    if (auto count = std::ranges::count(grid.owners, 0); count > 0)
      counts +=
          fmt::format("{}{}: {}{}", counts.empty() ? "" : ", ", grid.name, count, grid.in_part() ? "+" : "");
  return counts.empty() ? text : fmt::format("{}; {}: {}", text, say(Label::elements, language), counts);
}

} // namespace

Html ownership_picture(const PicturedKernel &kernel) {
  const FirstBlock &block = kernel.block;
  if (block.grids.empty())
    return {};
  Language language = kernel.language;
  auto figure = [&](const OwnerGrid &grid, const std::string &name) {
    return element("figure", {{"class", grid.scope == Scope::warp ? "tile fragment" : "tile"}},
                   {element("figcaption", {name}), drawing(grid, name)});
  };
  Html grids = figure(threads_grid(block), std::string(say(Label::threads, language)));
  for (const OwnerGrid &grid : block.grids)
    grids += figure(grid, caption(grid, kernel.kernel(), language));
  return element("div", {{"class", "ownership"}},
                 {element("h4", {say(Label::owners, language)}),
                  element("p", {say(Label::owners_text, language)}),
                  element("p", {{"class", "owner-line"}, {"role", "status"}}, {first_line(block, language)}),
                  element("div", {{"class", "tiles"}}, {grids})});
}

llvm::json::Value owners_json(const FirstBlock &block) {
  llvm::json::Array grids;
  for (const OwnerGrid &grid : block.grids) {
    llvm::json::Object it{{"name", grid.name},
                          {"rows", grid.rows},
                          {"columns", grid.columns},
                          {"part", grid.in_part()},
                          {"first", llvm::json::Array{grid.first_row, grid.first_column}},
                          {"owners", packed(grid.owners, grid.columns)}};
    if (grid.scope == Scope::global)
      it["extents"] = llvm::json::Array(grid.extents);
    if (grid.folded)
      it["folded"] = true;
    if (!grid.replicas.empty())
      it["replicas"] = llvm::json::Array(grid.replicas);
    if (!grid.registers.empty())
      it["registers"] = packed(grid.registers, grid.columns);
    grids.push_back(std::move(it));
  }
  llvm::json::Array shape;
  for (std::int64_t extent : block.shape)
    shape.push_back(extent);
  return llvm::json::Object{
      {"threads", block.threads}, {"shape", std::move(shape)}, {"grids", std::move(grids)}};
}

} // namespace nestsmith::cli::report
