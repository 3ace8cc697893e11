#include "tools/tables/fragment_picture.h"

#include "dsl/ir/interpret.h"
#include "tools/output/json.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace nestsmith::cli {

namespace {

constexpr std::int64_t most_rows = 16;

void write_json(const Spots &spots, const Buffer &fragment) {
  out(json_text([&](llvm::json::OStream &json) {
    json.object([&] {
      json.attribute("fragment", fragment->name);
      json.attribute("layout", to_string(*fragment->layout));
      json.attribute("replicas", spots.replicas());
      json.attributeArray("extents", [&] {
        for (std::int64_t extent : spots.box())
          json.value(extent);
      });
      json.attributeArray("elements", [&] { // in row-major order
        std::vector<std::int64_t> element(spots.box().size(), 0);
        for (bool more = true; more;) {
          json.object([&] {
            json.attribute("lane", spots.lane(element));
            json.attribute("register", spots.at(element));
          });
          more = false;
          for (std::size_t d = element.size(); d-- > 0 && !more;) {
            more = ++element[d] < spots.box()[d];
            if (!more)
              element[d] = 0;
          }
        }
      });
    });
  }));
}

} // namespace

Spots::Spots(const Placement &placement) : box_(placement.box()) {
  FragmentLayout layout(*placement.buffer, box_);
  replicas_ = layout.replicas();
  Bounds bounds;
  std::vector<Expr> element;
  for (std::int64_t extent : box_) {
    indices_.push_back(make_var(fmt::format("x{}", indices_.size()), DType::i64));
    bounds.set_extent(indices_.back(), Expr(extent));
    element.emplace_back(indices_.back());
  }
  lane_ = layout.lane(element, Expr(std::int64_t{0}));
  if (replicas_ > 1) {
    std::vector<std::int64_t> first(box_.size(), 0);
    replica_step_ = value(layout.lane(element, Expr(std::int64_t{1})), first) - lane(first);
  }
  register_ = PlacedLayout(*placement.buffer, box_).offset(element, bounds);
}

std::int64_t Spots::value(const Expr &e, const std::vector<std::int64_t> &element) const {
  std::map<Var, Scalar> environment;
  for (std::size_t d = 0; d < indices_.size(); ++d)
    environment.emplace(indices_[d], Scalar::of(DType::i64, element[d]));
  return evaluate(e, environment).as<std::int64_t>();
}

Buffer find_fragment(const Program &program, const std::string &name) {
  for (const Buffer &buffer : temporaries(program))
    if (buffer->name == name && is_fragment(*buffer))
      return buffer;
  return nullptr;
}

std::string fragment_picture(const Placement &placement, const Style &style, std::size_t width) {
  Spots spots(placement);
  std::vector<std::int64_t> element(spots.box().size(), 0);
  std::size_t rank = element.size();
  std::int64_t rows = rank > 1 ? std::min(spots.box()[rank - 2], most_rows) : 1;
  std::int64_t columns = rank > 0 ? spots.box().back() : 1;
  constexpr std::size_t cell = 7, margin = 4;
  std::int64_t fit = 1; // a power of two, so that the picture does not end in the middle of a tile
  while (2 * fit <= columns && margin + cell * static_cast<std::size_t>(2 * fit) <= width)
    fit *= 2;
  columns = std::min(columns, fit);
  std::string heading(margin, ' ');
  for (std::int64_t column = 0; column < columns; ++column)
    heading += fmt::format("{:>7}", column);
  std::string text = style.dim(heading) + "\n";
  for (std::int64_t row = 0; row < rows; ++row) {
    text += style.dim(fmt::format("{:>4}", row));
    for (std::int64_t column = 0; column < columns; ++column) {
      if (rank > 1)
        element[rank - 2] = row;
      if (rank > 0)
        element[rank - 1] = column;
      std::string spot = fmt::format("{}:{}", spots.lane(element), spots.at(element));
      std::string shown = fmt::format("{:>7}", spot);
      text += spots.lane(element) == 0 ? style.green(shown) : shown;
    }
    text += "\n";
  }
  return text;
}

ExitCode show_fragment(const Context &context, const Scheduled &scheduled, const Buffer &fragment) {
  Placement placement = place(scheduled.schedule.program(), fragment);
  Spots spots(placement);
  if (context.json()) {
    write_json(spots, fragment);
    return ExitCode::good;
  }
  const Style &style = context.style;
  std::string text = style.bold(folded_lines(title(scheduled))) + "\n\n";
  text += folded(fmt::format("{}: {} elements of {}, {} registers in each of {} lanes, {}",
                             style.bold(fragment->name), fmt::join(spots.box(), " x "), name(fragment->dtype),
                             placement.elements, lanes_per_warp, to_string(*fragment->layout)),
                 "  ", "") +
          "\n" + fragment_picture(placement, style, output_width());
  std::string legend = "\na cell shows lane:register of the element in this row and column";
  if (spots.replicas() > 1)
    legend += fmt::format("; {} lanes hold copies, and the cell shows the first", spots.replicas());
  out(text + style.dim(folded_lines(legend + "\n")));
  return ExitCode::good;
}

} // namespace nestsmith::cli
