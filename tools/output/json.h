#pragma once
/// JSON results. Include this from .cpp files only: it needs LLVM's headers.

#include "dsl/schedule/knobs.h"
#include "runtime/check/check.h"

#include <cmath>
#include <functional>
#include <llvm/Support/JSON.h>
#include <llvm/Support/raw_ostream.h>
#include <string>

namespace nestsmith::cli {

/// The output of `write`, indented, with a final newline.
inline std::string json_text(const std::function<void(llvm::json::OStream &)> &write) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  llvm::json::OStream json(stream, 2);
  write(json);
  json.flush();
  return stream.str() + "\n";
}

/// The output of `write` on one line, without a newline.
inline std::string json_line(const std::function<void(llvm::json::OStream &)> &write) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  llvm::json::OStream json(stream);
  write(json);
  json.flush();
  return stream.str();
}

/// The number, or null for an infinity or NaN, which JSON cannot represent.
inline llvm::json::Value json_number(double value) {
  return std::isfinite(value) ? llvm::json::Value(value) : llvm::json::Value(nullptr);
}

/// Writes an object with the value of each knob.
inline void write_knobs(llvm::json::OStream &json, const KnobValues &knobs) {
  json.object([&] {
    for (const auto &[name, value] : knobs)
      json.attribute(name, value);
  });
}

/// Writes how many elements of each output a check compared, and in which run, as the attribute "outputs".
inline void write_outputs(llvm::json::OStream &json, const CheckResult &result) {
  json.attributeArray("outputs", [&] {
    for (const Coverage &output : result.outputs)
      json.object([&] {
        json.attribute("output", output.buffer);
        json.attribute("elements", output.elements);
        json.attribute("compared", output.compared);
        if (!output.run.empty())
          json.attribute("run", output.run);
      });
  });
}

/// Writes the comparisons that a check did not make, as the attribute "skipped".
inline void write_skipped(llvm::json::OStream &json, const CheckResult &result) {
  json.attributeArray("skipped", [&] {
    for (const SkippedRun &run : result.skipped)
      json.object([&] {
        json.attribute("run", run.label);
        json.attribute("why", run.why);
      });
  });
}

} // namespace nestsmith::cli
