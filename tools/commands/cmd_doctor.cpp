#include "runtime/cuda/doctor.h"

#include "tools/options/command.h"
#include "tools/output/json.h"

#include <fmt/format.h>

namespace nestsmith::cli {

namespace {

ExitCode run_doctor(const Context &context) {
  DoctorReport report = examine_machine();
  if (context.json()) {
    out(json_text([&](llvm::json::OStream &json) {
      json.array([&] {
        for (const DoctorItem &item : report.items)
          json.object([&] {
            json.attribute("key", item.key);
            json.attribute("name", item.name);
            json.attribute("found", item.found);
            json.attribute("detail", item.detail);
            if (!item.advice.empty())
              json.attribute("advice", item.advice);
            json.attributeObject("facts", [&] {
              for (const auto &[fact, value] : item.facts)
                json.attribute(fact, value);
            });
          });
      });
    }));
    return ExitCode::good;
  }
  const Style &style = context.style;
  std::size_t width = 0;
  for (const DoctorItem &item : report.items)
    width = std::max(width, item.name.size());
  std::string text, indent(width + 5, ' ');
  for (const DoctorItem &item : report.items) {
    std::string mark = item.found ? style.green("✓") : style.yellow("–");
    text += folded(item.detail, indent, fmt::format(" {} {:<{}}  ", mark, item.name, width));
    if (!item.advice.empty())
      text += style.dim(folded(item.advice, indent, indent));
  }
  out(text);
  return ExitCode::good;
}

} // namespace

Command doctor_command() {
  return {"doctor", "report the libraries and devices of this machine, and how to get missing ones",
          "",       0,
          0,        {},
          "",       run_doctor};
}

} // namespace nestsmith::cli
