#pragma once
/// HTML and SVG that are escaped by type: a string becomes markup only by escaping. Tags and names of
/// attributes are literals of this program.

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace nestsmith::cli::report {

/// A string literal.
class Literal {
public:
  consteval Literal(const char *text) : text_(text) {}
  std::string_view text() const { return text_; }

private:
  std::string_view text_;
};

struct Attribute {
  Literal name;
  std::string value;
};

/// Markup. Text is escaped when it becomes markup.
class Html {
public:
  Html() = default;
  Html(std::string_view text);
  Html(const std::string &text) : Html(std::string_view(text)) {}
  Html(const char *text) : Html(std::string_view(text)) {}

  Html &operator+=(const Html &more) {
    markup_ += more.markup_;
    return *this;
  }
  bool empty() const { return markup_.empty(); }
  const std::string &markup() const { return markup_; }

private:
  friend Html element(Literal tag, const std::vector<Attribute> &attributes,
                      std::initializer_list<Html> children);
  friend Html svg_element(Literal tag, const std::vector<Attribute> &attributes,
                          std::initializer_list<Html> children);
  friend Html data_block(const std::string &id, std::string_view json);
  friend Html own_style(std::string_view text);
  friend Html own_script(std::string_view text);
  friend Html document(const Html &root);

  std::string markup_;
};

/// `<tag attributes>children</tag>`. The elements of HTML without content have no end tag.
Html element(Literal tag, const std::vector<Attribute> &attributes, std::initializer_list<Html> children = {});
inline Html element(Literal tag, std::initializer_list<Html> children) { return element(tag, {}, children); }

/// The same for a file of SVG: the element ends a line, and has no end tag if it has no content.
Html svg_element(Literal tag, const std::vector<Attribute> &attributes,
                 std::initializer_list<Html> children = {});

/// The name of a rung, in which a line can break after a slash.
Html with_breaks(std::string_view name);

/// `<script type="application/json">`, which no browser executes.
Html data_block(const std::string &id, std::string_view json);
/// The style sheet and the script of the page: files of this program (tools/pages/page.css, page.js).
Html own_style(std::string_view text);
Html own_script(std::string_view text);
/// The value of a Content-Security-Policy that allows exactly these two, and nothing from outside.
std::string security_policy(std::string_view style, std::string_view script);
/// The root element after the document type.
Html document(const Html &root);

/// A length or a position, with up to two decimals: "12.5".
std::string decimal(double value);
std::string percent(double ratio); ///< "12.5%"

} // namespace nestsmith::cli::report
