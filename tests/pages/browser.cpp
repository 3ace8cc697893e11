/// Starts Chromium and exchanges messages of the DevTools protocol with it.

#include "tests/pages/browser.h"

#include "tests/files.h"

#include <array>
#include <csignal>
#include <cstdint>
#include <fcntl.h>
#include <fmt/format.h>
#include <llvm/Support/FormatVariadic.h>
#include <llvm/Support/Program.h>
#include <map>
#include <poll.h>
#include <stdexcept>
#include <sys/wait.h>
#include <unistd.h>

namespace nestsmith::test {

namespace {

using llvm::json::Object;

/// The limit for one answer, which a slow machine may need.
constexpr int patience_ms = 60'000;

std::string program() {
  for (const char *name : {"chromium", "chromium-browser", "google-chrome"})
    if (auto path = llvm::sys::findProgramByName(name))
      return *path;
  return "";
}

std::string as_text(llvm::json::Value value) { return llvm::formatv("{0}", value).str(); }

void write_all(int file, const std::string &text) {
  for (std::size_t done = 0; done < text.size();) {
    ssize_t count = write(file, text.data() + done, text.size() - done);
    if (count <= 0)
      throw std::runtime_error("the browser closed its pipe");
    done += static_cast<std::size_t>(count);
  }
}

/// Returns the bytes of a base64 text. (LLVM 14 has only the encoder.)
std::string decoded(const std::string &text) {
  const std::string digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  std::uint32_t bits = 0;
  int count = 0;
  for (char c : text) {
    std::size_t digit = digits.find(c);
    if (digit == std::string::npos)
      continue; // padding
    bits = bits << 6 | static_cast<std::uint32_t>(digit);
    count += 6;
    if (count >= 8) {
      count -= 8;
      bytes += static_cast<char>(bits >> count & 0xFF);
    }
  }
  return bytes;
}

} // namespace

/// The browser process, which reads messages from its file descriptor 3 and writes messages to 4.
struct Browser::Process {
  TemporaryFolder folder; ///< the browser profile
  pid_t pid = -1;
  int to = -1, from = -1;

  Process() {
    signal(SIGPIPE, SIG_IGN);
    std::array<int, 2> commands{}, answers{};
    if (pipe2(commands.data(), O_CLOEXEC) != 0 || pipe2(answers.data(), O_CLOEXEC) != 0)
      throw std::runtime_error("no pipe for the browser");
    // A sandbox needs user namespaces, which a chroot does not provide. The pages are trusted.
    std::vector<std::string> words = {program(),
                                      "--headless",
                                      "--no-sandbox",
                                      "--remote-debugging-pipe",
                                      "--disable-gpu",
                                      "--no-first-run",
                                      "--disable-background-networking",
                                      "--disable-component-update",
                                      "--disable-dev-shm-usage",
                                      "--hide-scrollbars",
                                      "--user-data-dir=" + folder.string(),
                                      "about:blank"};
    std::vector<char *> arguments;
    for (std::string &word : words)
      arguments.push_back(word.data());
    arguments.push_back(nullptr);
    pid = fork();
    if (pid == 0) {
      setpgid(0, 0);
      int null = open("/dev/null", O_RDWR);
      dup2(null, 0), dup2(null, 1), dup2(null, 2);
      int in = fcntl(commands[0], F_DUPFD, 10), out = fcntl(answers[1], F_DUPFD, 10);
      dup2(in, 3), dup2(out, 4);
      close(in), close(out);
      execv(arguments[0], arguments.data());
      _exit(127);
    }
    close(commands[0]), close(answers[1]);
    to = commands[1], from = answers[0];
  }
  ~Process() {
    close(to), close(from);
    kill(-pid, SIGKILL); // the browser and its children are in one process group
    waitpid(pid, nullptr, 0);
  }
  Process(const Process &) = delete;
  Process &operator=(const Process &) = delete;
};

std::string Browser::why_not() {
  return program().empty() ? "there is no Chromium; on Debian: apt-get install chromium" : "";
}

Browser::Browser(const std::string &path, const Screen &screen)
    : process_(std::make_unique<Process>()), screen_(screen) {
  start();
  for (const char *domain : {"Page.enable", "Runtime.enable", "Log.enable", "Network.enable"})
    call(domain);
  call("Emulation.setDeviceMetricsOverride",
       Object{{"width", screen.width}, {"height", screen.height}, {"deviceScaleFactor", 1}, {"mobile", false}});
  emulate(screen.print);
  call("Emulation.setScriptExecutionDisabled", Object{{"value", !screen.script}});
  call("Page.navigate", Object{{"url", "file://" + path}});
  while (!loaded_)
    note(next_message());
}

Browser::~Browser() = default;

/// Opens a new tab and attaches to it.
void Browser::start() {
  Object made = call("Target.createTarget", Object{{"url", "about:blank"}});
  Object attached =
      call("Target.attachToTarget", Object{{"targetId", made.getString("targetId")->str()}, {"flatten", true}});
  session_ = attached.getString("sessionId")->str();
}

void Browser::emulate(bool print) {
  Object scheme{{"name", "prefers-color-scheme"}, {"value", screen_.dark ? "dark" : "light"}};
  call("Emulation.setEmulatedMedia",
       Object{{"media", print ? "print" : "screen"}, {"features", llvm::json::Array{std::move(scheme)}}});
}

Object Browser::next_message() {
  for (;;) {
    if (std::size_t end = received_.find('\0'); end != std::string::npos) {
      llvm::Expected<llvm::json::Value> message = llvm::json::parse(received_.substr(0, end));
      received_.erase(0, end + 1);
      if (!message)
        throw std::runtime_error("the browser answers with text that is not JSON");
      return *message->getAsObject();
    }
    pollfd waiting{process_->from, POLLIN, 0};
    std::array<char, 65536> buffer{};
    if (poll(&waiting, 1, patience_ms) != 1)
      throw std::runtime_error("the browser does not answer");
    ssize_t count = read(process_->from, buffer.data(), buffer.size());
    if (count <= 0)
      throw std::runtime_error("the browser ended");
    received_.append(buffer.data(), static_cast<std::size_t>(count));
  }
}

void Browser::note(const Object &event) {
  auto name = event.getString("method");
  llvm::StringRef method = name ? *name : llvm::StringRef();
  const Object *parameters = event.getObject("params");
  if (method == "Page.loadEventFired")
    loaded_ = true;
  else if (method == "Network.requestWillBeSent")
    requests_.push_back(parameters->getObject("request")->getString("url")->str());
  else if (method == "Runtime.exceptionThrown" || method == "Runtime.consoleAPICalled" ||
           method == "Log.entryAdded")
    complaints_.push_back(as_text(Object(*parameters)));
}

Object Browser::call(const std::string &method, Object parameters) {
  std::int64_t id = ++calls_;
  Object message{{"id", id}, {"method", method}, {"params", std::move(parameters)}};
  if (!session_.empty())
    message["sessionId"] = session_;
  write_all(process_->to, as_text(std::move(message)) + '\0');
  for (;;) {
    Object answer = next_message();
    if (answer.getInteger("id") != id) {
      note(answer);
      continue;
    }
    if (const Object *error = answer.getObject("error"))
      throw std::runtime_error(method + ": " + as_text(Object(*error)));
    return std::move(*answer.getObject("result"));
  }
}

llvm::json::Value Browser::evaluate(const std::string &expression) {
  Object result = call("Runtime.evaluate",
                       Object{{"expression", expression}, {"returnByValue", true}, {"awaitPromise", true}});
  if (const Object *exception = result.getObject("exceptionDetails"))
    throw std::runtime_error(expression + ": " + as_text(Object(*exception)));
  const llvm::json::Value *value = result.getObject("result")->get("value");
  return value ? *value : llvm::json::Value(nullptr);
}

std::string Browser::text(const std::string &expression) {
  llvm::json::Value value = evaluate(expression);
  auto text = value.getAsString();
  return text ? text->str() : "not a string: " + as_text(value);
}

std::int64_t Browser::number(const std::string &expression) {
  auto number = evaluate(expression).getAsInteger();
  if (!number)
    throw std::runtime_error(expression + " is not an integer");
  return *number;
}

bool Browser::holds(const std::string &expression) { return evaluate(expression).getAsBoolean() == true; }

void Browser::press(const std::string &key) {
  static const std::map<std::string, int> codes = {{"Tab", 9},      {"Enter", 13},      {" ", 32},
                                                   {"End", 35},     {"Home", 36},       {"ArrowLeft", 37},
                                                   {"ArrowUp", 38}, {"ArrowRight", 39}, {"ArrowDown", 40}};
  std::string typed = key == "Enter" ? "\r" : key == " " ? " " : "";
  Object down{{"type", typed.empty() ? "rawKeyDown" : "keyDown"},
              {"key", key},
              {"code", key == " " ? "Space" : key},
              {"windowsVirtualKeyCode", codes.at(key)}};
  Object up = down;
  up["type"] = "keyUp";
  if (!typed.empty())
    down["text"] = typed;
  call("Input.dispatchKeyEvent", std::move(down));
  call("Input.dispatchKeyEvent", std::move(up));
}

void Browser::mouse(const std::string &type, const std::string &selector) {
  std::string quoted = as_text(selector);
  std::string place = fmt::format("(() => {{ const it = document.querySelector({}); it.scrollIntoView({{block: "
                                  "'center', behavior: 'instant'}}); "
                                  "const box = it.getBoundingClientRect(); return [box.x + Math.min(box.width, "
                                  "60) / 2, box.y + box.height / 2]; "
                                  "}})()",
                                  quoted);
  llvm::json::Value at = evaluate(place);
  Object event{
      {"type", type}, {"x", *(*at.getAsArray())[0].getAsNumber()}, {"y", *(*at.getAsArray())[1].getAsNumber()}};
  if (type != "mouseMoved") {
    event["button"] = "left";
    event["clickCount"] = 1;
  }
  call("Input.dispatchMouseEvent", std::move(event));
}

void Browser::hover(const std::string &selector) { mouse("mouseMoved", selector); }

void Browser::click(const std::string &selector) {
  for (const char *type : {"mouseMoved", "mousePressed", "mouseReleased"})
    mouse(type, selector);
}

/// A print has the rules of the emulated medium, so the medium must be print for as long as it takes. In a PDF
/// of Chromium, the dictionaries of the pages are not compressed.
std::size_t Browser::printed_pages() {
  emulate(true);
  Object printed = call("Page.printToPDF", Object{{"paperWidth", 8.27}, {"paperHeight", 11.69}});
  emulate(screen_.print);
  const std::string pdf = decoded(printed.getString("data")->str()), page = "/Type /Page";
  std::size_t pages = 0;
  for (std::size_t at = pdf.find(page); at != std::string::npos; at = pdf.find(page, at + 1))
    pages += pdf.compare(at + page.size(), 1, "s") != 0; // the root of the tree is /Pages
  return pages;
}

void Browser::screenshot(const std::string &path) {
  Object picture = call("Page.captureScreenshot", Object{{"format", "png"}});
  write_file(path, decoded(picture.getString("data")->str()));
}

} // namespace nestsmith::test
