#include "tools/exercises/directive_text.h"

#include "dsl/expr/error.h"
#include "dsl/expr/identifier.h"
#include "dsl/schedule/primitives/registry.h"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>

namespace nestsmith {

namespace {

/// Reads the text of directives from the left to the right.
class DirectiveReader {
public:
  explicit DirectiveReader(const std::string &text) : text_(text) {}

  std::vector<Directive> all() {
    std::vector<Directive> result;
    while (skip_blank(), at_ < text_.size())
      if (!take(";"))
        result.push_back(directive());
    return result;
  }

private:
  [[noreturn]] void fail(const std::string &expected) const {
    std::string got = at_ >= text_.size() ? "the end" : fmt::format("'{}'", text_.substr(at_, 12));
    throw UserError(ExitCode::usage,
                    fmt::format("cannot read the directive '{}' at {}: expected {}; a directive "
                                "is written as in C++, such as 's.bind(j, Axis::thread_x);'",
                                text_, got, expected));
  }

  void skip_blank() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])))
      ++at_;
  }
  bool take(const std::string &token) {
    skip_blank();
    if (text_.compare(at_, token.size(), token) != 0)
      return false;
    at_ += token.size();
    return true;
  }
  void expect(const std::string &token) {
    if (!take(token))
      fail("'" + token + "'");
  }

  std::string word(const std::string &expected) {
    skip_blank();
    std::size_t begin = at_;
    while (at_ < text_.size() && in_identifier(text_[at_]))
      ++at_;
    if (begin == at_)
      fail(expected);
    return text_.substr(begin, at_ - begin);
  }

  /// A word with the parts of a C++ name or of a CUDA name: Axis::thread_x, threadIdx.x, "A".
  std::string name(const std::string &expected) {
    if (take("\"")) {
      std::size_t end = text_.find('"', at_);
      if (end == std::string::npos)
        fail("'\"' at the end of the text");
      std::string quoted = text_.substr(at_, end - at_);
      at_ = end + 1;
      return quoted;
    }
    std::string result = word(expected);
    while (at_ < text_.size() && (text_[at_] == '.' || text_[at_] == ':'))
      result += text_[at_++] == '.' ? "." + word(expected) : (expect(":"), "::" + word(expected));
    return result;
  }

  std::int64_t integer() {
    if (take("infer"))
      return infer;
    skip_blank();
    std::int64_t value = 0;
    auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (error != std::errc())
      fail("an integer or infer");
    at_ = static_cast<std::size_t>(end - text_.data());
    return value;
  }

  template <class Element> auto list(const Element &element) {
    std::vector<decltype(element())> result;
    expect("{");
    while (!take("}")) {
      result.push_back(element());
      if (!take(",")) {
        expect("}");
        break;
      }
    }
    return result;
  }

  static std::string axis(const std::string &text) {
    for (Axis each : all_axes) {
      std::string cuda(nestsmith::name(each)), cpp = cuda;
      if (std::size_t dot = cuda.find("Idx."); dot != std::string::npos)
        cpp = cuda.substr(0, dot) + "_" + cuda.back();
      if (text == cpp || text == "Axis::" + cpp)
        return cuda;
    }
    return text;
  }

  Argument argument(ParameterKind kind) {
    switch (kind) {
    case ParameterKind::loops:
      return list([&] { return LoopName{word("a loop")}; });
    case ParameterKind::blocks:
      return list([&] { return BlockName{word("a block")}; });
    case ParameterKind::factors:
    case ParameterKind::points:
      return list([&] { return integer(); });
    case ParameterKind::stages:
      return list([&] {
        expect("{");
        StageName stage{word("a block"), 0, 0};
        expect(",");
        stage.stage = integer();
        expect(",");
        stage.order = integer();
        expect("}");
        return stage;
      });
    case ParameterKind::block:
      return BlockName{word("a block")};
    case ParameterKind::integer:
      return integer();
    case ParameterKind::axis:
      return Word{axis(name("an axis, such as Axis::thread_x"))};
    case ParameterKind::scope: {
      std::string scope = name("a scope, such as Scope::shared");
      return Word{scope.starts_with("Scope::") ? scope.substr(7) : scope};
    }
    case ParameterKind::size:
    case ParameterKind::buffer:
    case ParameterKind::intrinsic:
    case ParameterKind::index_map:
      return Word{name("a text in quotes")};
    default:
      return LoopName{word("a loop")};
    }
  }

  Directive directive() {
    Directive result;
    if (take("auto")) {
      if (take("[")) {
        do
          result.named.push_back(word("the name of a result"));
        while (take(","));
        expect("]");
      } else {
        result.named.push_back(word("the name of a result"));
      }
      expect("=");
    }
    if (text_.compare(at_, 1, " ") == 0)
      skip_blank();
    take("s.");
    result.op = word("a primitive");
    const Primitive *primitive = find_primitive(result.op);
    if (!primitive)
      throw UserError(ExitCode::usage,
                      fmt::format("there is no primitive '{}'; docs/language.md lists them, such "
                                  "as split, reorder, bind, cache_read and storage_align",
                                  result.op));
    if (primitive->gives_list && take("<")) { // the number of results
      integer();
      expect(">");
    }
    expect("(");
    for (const primitives::Parameter &parameter : primitive->parameters()) {
      if (!result.arguments.empty())
        expect(",");
      result.arguments.push_back(argument(parameter.kind));
    }
    expect(")");
    skip_blank();
    if (at_ < text_.size())
      expect(";");
    return result;
  }

  const std::string &text_;
  std::size_t at_ = 0;
};

} // namespace

std::vector<Directive> parse_directives(const std::string &text) { return DirectiveReader(text).all(); }

} // namespace nestsmith
