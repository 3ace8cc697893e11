#pragma once
/// Lines of C++: indentation, trailing comments, and breaking what is too long.

#include <string>
#include <string_view>
#include <vector>

namespace nestsmith {

class TextWriter {
public:
  static constexpr std::size_t width = 100; ///< columns

  /// One statement or the head of one, broken after its loosest operator where it is too long. The
  /// comment follows it, or stands above where it does not fit.
  void line(const std::string &text, const std::string &comment = {});
  void comment(const std::string &text); ///< `// text`, words wrapped
  void blank() { out_ += '\n'; }
  /// `head(a, b, …)tail` with the arguments aligned below each other.
  void call(const std::string &head, const std::vector<std::string> &arguments, const std::string &tail);
  /// Lines as they are, without indentation.
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
  std::size_t size() const { return out_.size(); } ///< of what has been written
  std::string take() { return std::move(out_); }

private:
  std::string out_;
  std::size_t depth_ = 0;
};

} // namespace nestsmith
