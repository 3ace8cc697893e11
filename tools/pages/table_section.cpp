#include "tools/pages/sections.h"

namespace nestsmith::cli::report {

Html table_section(const Page &page, Language language) {
  Html head, body, notes;
  for (const std::string &title : page.table.titles)
    head += element("th", {{"scope", "col"}}, {title});
  for (std::size_t n = 0; n < page.table.rows.size(); ++n) {
    const std::vector<std::string> &cells = page.table.rows[n];
    Html row =
        element("th", {{"scope", "row"}},
                {n < page.rungs.size() ? element("a", {{"href", "#" + address(page, n)}}, {cells.front()})
                                       : Html(cells.front())});
    for (std::size_t m = 1; m < cells.size(); ++m)
      row += element("td", {cells[m]});
    body += element("tr", {row});
  }
  for (const std::string &note : page.notes)
    notes += element("li", {note});
  std::string title(say(Label::run_table, language));
  Html table = element("table", {element("caption", {page.where}), element("thead", {element("tr", {head})}),
                                 element("tbody", {body})});
  return section(
      "run", title,
      {element("div", {{"class", "wide"}, {"tabindex", "0"}, {"role", "region"}, {"aria-label", title}},
               {table}),
       notes.empty() ? Html() : element("ul", {{"class", "notes"}, {"lang", "en"}}, {notes})});
}

} // namespace nestsmith::cli::report
