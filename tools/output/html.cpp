#include "tools/output/html.h"

#include "dsl/expr/error.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <llvm/ADT/ArrayRef.h>
#include <llvm/Support/Base64.h>
#include <llvm/Support/SHA256.h>

namespace nestsmith::cli::report {

namespace {

std::string escaped(std::string_view text) {
  std::string result;
  for (char c : text)
    switch (c) {
    case '&':
      result += "&amp;";
      break;
    case '<':
      result += "&lt;";
      break;
    case '>':
      result += "&gt;";
      break;
    case '"':
      result += "&quot;";
      break;
    case '\'':
      result += "&#39;";
      break;
    case '\0':
      result += "\xEF\xBF\xBD"; // HTML has no NUL
      break;
    default:
      result += c;
    }
  return result;
}

bool is_void(std::string_view tag) {
  constexpr std::array<std::string_view, 5> tags = {"meta", "input", "br", "link", "wbr"};
  return std::ranges::find(tags, tag) != tags.end();
}

/// "<tag name="value"", without its end.
std::string opened(Literal tag, const std::vector<Attribute> &attributes) {
  std::string markup = fmt::format("<{}", tag.text());
  for (const Attribute &attribute : attributes)
    markup += fmt::format(" {}=\"{}\"", attribute.name.text(), escaped(attribute.value));
  return markup;
}

std::string source_hash(std::string_view text) {
  llvm::ArrayRef<std::uint8_t> bytes(reinterpret_cast<const std::uint8_t *>(text.data()), text.size());
  return "'sha256-" + llvm::encodeBase64(llvm::SHA256::hash(bytes)) + "'";
}

} // namespace

Html::Html(std::string_view text) : markup_(escaped(text)) {}

Html element(Literal tag, const std::vector<Attribute> &attributes, std::initializer_list<Html> children) {
  Html result;
  result.markup_ = opened(tag, attributes) + ">";
  for (const Html &child : children)
    result.markup_ += child.markup_;
  if (is_void(tag.text()))
    internal_check(children.size() == 0, "an element without content");
  else
    result.markup_ += fmt::format("</{}>", tag.text());
  return result;
}

Html svg_element(Literal tag, const std::vector<Attribute> &attributes, std::initializer_list<Html> children) {
  Html result = element(tag, attributes, children);
  if (children.size() == 0)
    result.markup_ = opened(tag, attributes) + "/>";
  result.markup_ += "\n";
  return result;
}

Html with_breaks(std::string_view name) {
  Html text;
  for (std::size_t slash = name.find('/'); slash != std::string_view::npos; slash = name.find('/')) {
    text += name.substr(0, slash + 1);
    text += element("wbr", {});
    name.remove_prefix(slash + 1);
  }
  return text += name;
}

Html data_block(const std::string &id, std::string_view json) {
  Html result;
  result.markup_ = fmt::format("<script type=\"application/json\" id=\"{}\">", escaped(id));
  for (char c : json) // in JSON, `<` occurs in strings only
    result.markup_ += c == '<' ? "\\u003c" : std::string(1, c);
  result.markup_ += "</script>\n";
  return result;
}

Html own_style(std::string_view text) {
  internal_check(text.find("</") == std::string_view::npos, "an end tag in the style sheet");
  Html result;
  result.markup_ = fmt::format("<style>{}</style>\n", text);
  return result;
}

Html own_script(std::string_view text) {
  internal_check(text.find("</") == std::string_view::npos && text.find("<!--") == std::string_view::npos,
                 "a tag in the script");
  Html result;
  result.markup_ = fmt::format("<script>{}</script>\n", text);
  return result;
}

std::string security_policy(std::string_view style, std::string_view script) {
  return fmt::format("default-src 'none'; style-src {}; script-src {}; base-uri 'none'; form-action 'none'",
                     source_hash(style), source_hash(script));
}

Html document(const Html &root) {
  Html result;
  result.markup_ = "<!DOCTYPE html>\n" + root.markup_ + "\n";
  return result;
}

std::string decimal(double value) {
  std::string text = fmt::format("{:.2f}", value);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.')
    text.pop_back();
  return text == "-0" ? "0" : text;
}

std::string percent(double ratio) { return decimal(100 * ratio) + "%"; }

} // namespace nestsmith::cli::report
