#pragma once
/// JSON results. Included by .cpp files only: it needs LLVM's headers.

#include <cmath>
#include <functional>
#include <llvm/Support/JSON.h>
#include <llvm/Support/raw_ostream.h>
#include <string>

namespace nestsmith::cli {

/// What `write` writes, indented, with a line end.
inline std::string json_text(const std::function<void(llvm::json::OStream &)> &write) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  llvm::json::OStream json(stream, 2);
  write(json);
  json.flush();
  return stream.str() + "\n";
}

/// The same on one line, without a line end.
inline std::string json_line(const std::function<void(llvm::json::OStream &)> &write) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  llvm::json::OStream json(stream);
  write(json);
  json.flush();
  return stream.str();
}

/// JSON has no infinity and no NaN.
inline llvm::json::Value json_number(double value) {
  return std::isfinite(value) ? llvm::json::Value(value) : llvm::json::Value(nullptr);
}

} // namespace nestsmith::cli
