#include "tools/pages/pictures.h"
#include "tools/pages/pipeline_line.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace nestsmith::cli::report {

namespace {

/// A column of a step: a barrier, a wait or a nest; or nests that one step of a joined loop executes.
struct Column {
  std::size_t begin = 0, end = 0; ///< its events
};

/// The columns of a step. In a column, the nests execute from top to bottom.
std::vector<Column> columns_of(const PipelineLine &line, const LineStep &step) {
  std::vector<Column> columns;
  for (std::size_t n = step.begin; n < step.end; ++n) {
    const LineEvent &event = line.events[n];
    const LineEvent *before = n == step.begin ? nullptr : &line.events[n - 1];
    if (before && !before->sync && !event.sync && line.rows[event.row].joined &&
        line.rows[before->row].joined && event.row > before->row)
      columns.back().end = n + 1;
    else
      columns.push_back({n, n + 1});
  }
  return columns;
}

class Table {
public:
  Table(const PipelineLine &line, Language language) : line_(line), language_(language) {
    flights_.resize(line.rows.size(), std::vector<bool>(line.events.size() + 1));
    for (std::size_t n = 0; n < line.events.size(); ++n)
      for (std::size_t at = n + 1; at < line.events[n].arrives.value_or(0); ++at)
        flights_[line.events[n].row][at] = true;
  }

  Html html() const {
    Html body;
    for (std::size_t row = 0; row < line_.rows.size(); ++row)
      body += element("tr", {{"data-row", std::to_string(row)}}, {row_name(row), cells(row)});
    return element("table", {{"class", "time-line"}}, {element("thead", {heads()}), element("tbody", {body})});
  }

private:
  std::string phase(const LineStep &step) const {
    if (step.phase == LineStep::Phase::prologue)
      return std::string(say(Label::prologue, language_));
    return fmt::format("{} = {}", line_.loop, step.iteration);
  }

  /// The steps, and below them whether they are in the prologue, the steady state or the drain.
  Html heads() const {
    Html names = element("th", {}), phases = element("th", {});
    for (const LineStep &step : line_.steps) {
      if (step.phase == LineStep::Phase::skipped) {
        std::string text(say(Label::skipped, language_));
        names += element("th", {{"class", "skipped"}, {"title", text}}, {"…"});
        phases += element("th", {});
        continue;
      }
      std::vector<Attribute> wide = {{"colspan", std::to_string(columns_of(line_, step).size())},
                                     {"class", "step"}};
      names += element("th", wide, {phase(step)});
      phases += element("th", wide,
                        {!line_.pipelined || step.phase == LineStep::Phase::prologue ? std::string_view()
                         : step.phase == LineStep::Phase::drain ? say(Label::drain, language_)
                                                                : say(Label::steady, language_)});
    }
    Html rows = element("tr", {names});
    return line_.pipelined ? rows += element("tr", {phases}) : rows;
  }

  Html row_name(std::size_t n) const {
    const LineRow &row = line_.rows[n];
    std::string stage = row.inner ? fmt::format("{}, {}", row.stage, *row.inner) : std::to_string(row.stage);
    return element("th", {{"scope", "row"}},
                   {element("code", {fmt::format("{}", fmt::join(row.blocks, ", "))}),
                    line_.pipelined
                        ? element("span", {{"class", "quiet"}},
                                  {!line_.has_roles() ? say(Label::stage, language_, stage)
                                   : row.role > 0     ? say(Label::role, language_, std::to_string(row.role))
                                                      : say(Label::main_role, language_)})
                        : Html()});
  }

  Html cells(std::size_t row) const {
    Html all;
    for (const LineStep &step : line_.steps) {
      if (step.phase == LineStep::Phase::skipped)
        all += element("td", {{"class", "skipped"}}, {"…"});
      for (const Column &column : columns_of(line_, step))
        all += cell(row, column, column.begin == step.begin);
    }
    return all;
  }

  Html cell(std::size_t row, const Column &column, bool first) const {
    const LineEvent &event = line_.events[column.begin];
    std::string css = first ? "first " : "";
    if (event.sync) {
      if (row > 0)
        return {};
      const LineSync &sync = line_.syncs[*event.sync];
      std::string said = fmt::format("{} {}: {}", say(sync.wait ? Label::wait : Label::barrier, language_),
                                     sync.name, fmt::join(sync.hazards, "; "));
      return element("td", {{"class", css + "sync"}, {"rowspan", std::to_string(line_.rows.size())}},
                     {element("button",
                              {{"type", "button"},
                               {"class", sync.wait ? "wait" : "barrier"},
                               {"title", said},
                               {"data-rows", fmt::format("{}", fmt::join(sync.rows, " "))}},
                              {sync.name})});
    }
    for (std::size_t n = column.begin; n < column.end; ++n)
      if (const LineEvent &nest = line_.events[n]; nest.row == row)
        return element("td", {{"class", css + (nest.async ? "nest async" : "nest")}}, {nest.iteration});
    for (std::size_t n = column.begin; n < column.end; ++n)
      if (flights_[row][n])
        return element("td", {{"class", css + "flight"}}, {"→"});
    return css.empty() ? element("td", {}) : element("td", {{"class", "first"}});
  }

  const PipelineLine &line_;
  Language language_;
  std::vector<std::vector<bool>> flights_; ///< for each row and event: copies of the row are in flight
};

Html certificates(const PipelineLine &line, Language language) {
  Html items;
  for (const LineSync &sync : line.syncs) {
    Html hazards;
    for (const std::string &hazard : sync.hazards)
      hazards += element("li", {hazard});
    items +=
        element("li", {element("b", {sync.name}), " ", say(sync.wait ? Label::wait : Label::barrier, language),
                       element("ul", {{"lang", "en"}}, {hazards})});
  }
  return element("ul", {{"class", "certificates"}}, {items});
}

} // namespace

Html pipeline_picture(const PicturedKernel &kernel) {
  Language language = kernel.language;
  Html parts;
  for (const PipelineLine &line :
       pipeline_lines(kernel.kernel().kernel, kernel.model.scheduled.schedule.program())) {
    std::string title = say(Label::time_line, language, line.loop);
    std::string text(say(Label::time_line_text, language));
    if (std::ranges::any_of(line.rows, &LineRow::joined))
      text += fmt::format(" {}", say(Label::time_line_joined, language));
    if (std::ranges::any_of(line.rows, [](const LineRow &row) { return row.parts.has_value(); }))
      text += fmt::format(" {}", say(Label::time_line_parts, language));
    if (std::ranges::any_of(line.events, &LineEvent::async))
      text += fmt::format(" → {}.", say(Label::in_flight, language));
    parts += element(
        "div", {{"class", "pipeline"}},
        {element("h4", {title}), element("p", {text}),
         element("div", {{"class", "wide"}, {"tabindex", "0"}, {"role", "region"}, {"aria-label", title}},
                 {Table(line, language).html()}),
         element("p", {{"class", "hazard-line"}, {"role", "status"}}, {}), certificates(line, language)});
  }
  return parts;
}

} // namespace nestsmith::cli::report
