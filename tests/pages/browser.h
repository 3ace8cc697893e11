#pragma once
/// A page in headless Chromium, driven over the DevTools protocol.

#include <llvm/Support/JSON.h>
#include <memory>
#include <string>
#include <vector>

namespace nestsmith::test {

/// The settings of the screen.
struct Screen {
  int width = 1600, height = 900;
  bool dark = false;
  bool script = true; ///< false: JavaScript is disabled
  bool print = false;
};

class Browser {
public:
  /// Returns the reason why no browser can be used, or "".
  static std::string why_not();

  /// Opens the file. Throws std::runtime_error if the browser does not answer.
  explicit Browser(const std::string &path, const Screen &screen = {});
  ~Browser();
  Browser(const Browser &) = delete;
  Browser &operator=(const Browser &) = delete;

  /// Returns the value of a JavaScript expression. Throws std::runtime_error if the expression throws.
  llvm::json::Value evaluate(const std::string &expression);
  std::string text(const std::string &expression); ///< the value of an expression of type string
  std::int64_t number(const std::string &expression);
  bool holds(const std::string &expression);

  /// Presses and releases a key: "ArrowRight", "Tab", " ".
  void press(const std::string &key);
  /// Moves the mouse to the centre of the first element that matches the CSS selector. `click` also clicks.
  void hover(const std::string &selector);
  void click(const std::string &selector);
  /// The number of pages of the document when a reader prints it on A4, by the rules of the page for print.
  std::size_t printed_pages();
  /// Writes a screenshot in PNG.
  void screenshot(const std::string &path);

  /// The messages of the console, the exceptions, and the violations of the page's policy so far.
  const std::vector<std::string> &complaints() const { return complaints_; }
  /// The addresses that the page has requested so far.
  const std::vector<std::string> &requests() const { return requests_; }

private:
  llvm::json::Object call(const std::string &method, llvm::json::Object parameters = {});
  llvm::json::Object next_message();
  void note(const llvm::json::Object &event);
  void mouse(const std::string &type, const std::string &selector);
  void start();
  void emulate(bool print);

  struct Process;
  std::unique_ptr<Process> process_;
  Screen screen_;
  std::string session_, received_;
  std::int64_t calls_ = 0;
  bool loaded_ = false;
  std::vector<std::string> complaints_, requests_;
};

} // namespace nestsmith::test
