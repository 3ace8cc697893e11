#include "tools/command.h"
#include "tools/json.h"

#include <fmt/format.h>

namespace nestsmith::cli {

namespace {

ExitCode run(const Context &context) {
  if (context.json()) {
    out(json_text([&](llvm::json::OStream &json) {
      json.array([&] {
        for (const Rung &rung : context.rungs)
          json.object([&] {
            json.attribute("name", rung.full_name());
            json.attribute("tutorial", rung.tutorial);
            json.attribute("summary", rung.summary);
            json.attribute("default_shape", llvm::json::Array(rung.default_shape));
          });
      });
    }));
    return ExitCode::good;
  }
  Table table({{"rung"}, {"what it shows"}});
  for (const Rung &rung : context.rungs)
    table.add({context.style.bold(rung.full_name()), rung.summary});
  out(table.text(context.style));
  return ExitCode::good;
}

} // namespace

Command list_command() { return {"list", "the rungs of each tutorial, a line each", "", 0, 0, {}, "", run}; }

} // namespace nestsmith::cli
