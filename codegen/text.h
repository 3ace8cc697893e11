#pragma once
/// Lines of C++: indentation, trailing comments, and line breaks.

#include <string>
#include <string_view>
#include <vector>

namespace nestsmith {

/// The text on one line that ends where a comment ends: control characters become spaces or their
/// escapes (dsl/expr/printable.h), and neither a backslash nor its trigraph is left at the end, which would
/// continue the comment on the next line.
std::string one_line(std::string text);

class TextWriter {
public:
  static constexpr std::size_t width = 100; ///< columns

  /// Writes a statement, or the head of a loop or an if. A long line is broken after the operator with the
  /// lowest precedence. The comment follows the code on the same line. If it does not fit, it precedes the code
  /// on a separate line.
  void line(const std::string &text, const std::string &comment = {});
  void comment(const std::string &text); ///< `// text`, wrapped between words
  /// `/// first text`, wrapped between words. Continuation lines are aligned behind `first`.
  void doc(const std::string &first, const std::string &text);
  void blank() { out_ += '\n'; }
  /// Writes `head(a, b, …)tail` with aligned arguments.
  void call(const std::string &head, const std::vector<std::string> &arguments, const std::string &tail);
  /// Appends text unchanged, without indentation.
  void verbatim(std::string_view text) { out_ += text; }

  void indent() { depth_ += 2; }
  void dedent() { depth_ -= 2; }
  void open(const std::string &head, const std::string &comment = {}) { ///< `head {`
    line(head + " {", comment);
    indent();
  }
  void otherwise() { ///< `} else {`
    dedent();
    line("} else {");
    indent();
  }
  void close(const std::string &tail = "}") {
    dedent();
    line(tail);
  }
  std::size_t size() const { return out_.size(); } ///< bytes of the text that has been written so far
  std::string take() { return std::move(out_); }   ///< leaves the writer without text

private:
  std::string out_;
  std::size_t depth_ = 0;
};

} // namespace nestsmith
