#include "tools/tune/tune_records.h"

#include "dsl/expr/error.h"
#include "dsl/expr/outside.h"
#include "dsl/expr/printable.h"
#include "dsl/hardware/gpus.h"
#include "runtime/records/fields.h"
#include "runtime/records/text.h"
#include "tools/output/output_file.h"
#include "tools/output/table.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <functional>
#include <tuple>

namespace nestsmith::cli {

namespace {

using records::Database;
using records::Outcome;
using records::Record;

std::optional<std::filesystem::path> standard_database() {
  auto folder = [](const char *variable) -> std::optional<std::filesystem::path> {
    const char *value = std::getenv(variable);
    if (!value || !*value)
      return std::nullopt;
    return value;
  };
  if (auto data = folder("XDG_DATA_HOME"))
    return *data / "nestsmith" / "tune.db";
  if (auto home = folder("HOME"))
    return *home / ".local" / "share" / "nestsmith" / "tune.db";
  return std::nullopt;
}

/// The database for a command that needs one. With `existing`, a missing file is an error.
Database required_database(const Context &context, bool existing) {
  std::optional<std::filesystem::path> path = standard_database();
  if (auto given = context.arguments.value("db"))
    path = *given;
  if (!path)
    throw UserError(ExitCode::usage, "neither XDG_DATA_HOME nor HOME is set; name the database with --db");
  std::error_code ignored;
  if (existing && !std::filesystem::exists(*path, ignored))
    throw UserError(
        ExitCode::usage,
        fmt::format(
            "there is no database {}; `nestsmith tune RUNG` makes it, with measured times on a machine with a "
            "GPU and with estimates on others, `nestsmith tune import FILE` makes it from the text of `tune "
            "export`, and --db names another file",
            printable(path->string())));
  return Database::open(*path, existing);
}

/// The words after show, export, import or merge.
std::vector<std::string> operands(const Context &context) {
  const auto &words = context.arguments.positional();
  return {words.begin() + 1, words.end()};
}

/// The records that --shape, --dtype and --gpu select.
std::vector<Record> records_of(const Context &context, const Database &database) {
  const auto shape = context.arguments.value("shape"), dtype = context.arguments.value("dtype"),
             gpu = context.arguments.value("gpu");
  const std::string product =
      gpu ? find_gpu(*gpu).product : ""; // records have the name that the driver reports
  std::vector<std::string> rungs = operands(context);
  if (rungs.empty())
    rungs.emplace_back();
  std::vector<Record> found;
  for (const std::string &rung : rungs) {
    std::vector<Record> part =
        database.find({.rung = rung, .shape = shape.value_or(""), .dtype = dtype.value_or(""), .gpu = product});
    if (part.empty())
      throw UserError(ExitCode::usage,
                      fmt::format("{} has no record{}{}{}{}; {}", database.path().string(),
                                  rung.empty() ? "" : fmt::format(" of '{}'", printable(rung)),
                                  shape ? fmt::format(" with the shape {}", printable(*shape)) : "",
                                  dtype ? fmt::format(" in {}", *dtype) : "",
                                  gpu ? fmt::format(" on {}", *gpu) : "",
                                  shape || dtype || gpu ? "`nestsmith tune show` lists those that it has"
                                                        : "run `nestsmith tune RUNG` first"));
    found.insert(found.end(), part.begin(), part.end());
  }
  return found;
}

std::string spread_text(const Record &record) {
  return fmt::format("{:.1f} %",
                     100 * (record.upper_quartile_ms - record.lower_quartile_ms) / record.median_ms);
}

std::string ratio_text(const Record &record) {
  return record.peer_ms ? fmt::format("{:.3f}", *record.peer_ms / record.median_ms) : "-";
}

ExitCode show(const Context &context) {
  Database database = required_database(context, true);
  std::vector<Record> found = records_of(context, database);
  if (context.json()) {
    out(json_text([&](llvm::json::OStream &json) {
      json.array([&] {
        for (const Record &record : found)
          write_record(json, record);
      });
    }));
    return ExitCode::good;
  }
  auto best = static_cast<std::size_t>(context.arguments.number("best").value_or(usual_best));
  std::string text;
  for (std::size_t begin = 0; begin < found.size();) {
    auto same = [&](const Record &record) {
      return std::tie(record.rung, record.gpu, record.dtype, record.shape, record.symbolic) ==
             std::tie(found[begin].rung, found[begin].gpu, found[begin].dtype, found[begin].shape,
                      found[begin].symbolic);
    };
    std::size_t end = begin;
    while (end < found.size() && same(found[end]))
      ++end;
    text += context.style.bold(
                fmt::format("{}  {} {}{}  {}", found[begin].rung, found[begin].dtype, found[begin].shape,
                            found[begin].symbolic ? " by one kernel for all shapes" : "", found[begin].gpu)) +
            "\n\n" +
            records_text({found.begin() + static_cast<std::ptrdiff_t>(begin),
                          found.begin() + static_cast<std::ptrdiff_t>(end)},
                         best, context.style) +
            "\n";
    begin = end;
  }
  out(text);
  return ExitCode::good;
}

ExitCode export_records(const Context &context) {
  Database database = required_database(context, true);
  std::vector<Record> found = records_of(context, database);
  if (!context.arguments.has("all")) {
    found = records::best_of(found);
    if (found.empty())
      throw UserError(
          ExitCode::usage,
          fmt::format("{} has no measured record of this; `nestsmith tune RUNG` measures on a machine with a "
                      "GPU, and --all also exports estimates and failures",
                      database.path().string()));
    for (Record &record : found)
      record.trace.clear(); // the rung and its knobs determine it
  }
  std::string text = records::to_text(found);
  if (auto path = context.arguments.value("output"))
    write_file(*path, text);
  else
    out(text);
  return ExitCode::good;
}

/// Adds the records that `read` returns for each operand.
ExitCode add_records(const Context &context, const char *what,
                     const std::function<std::vector<Record>(const std::string &)> &read) {
  std::vector<std::string> files = operands(context);
  if (files.empty())
    throw UserError(ExitCode::usage, fmt::format("tune {} needs a FILE", what));
  std::vector<Record> all;
  for (const std::string &file : files) {
    std::vector<Record> part = read(file);
    all.insert(all.end(), part.begin(), part.end());
  }
  Database database = required_database(context, false);
  database.add(all);
  if (context.json())
    out(json_text([&](llvm::json::OStream &json) {
      json.object([&] {
        json.attribute("added", static_cast<std::int64_t>(all.size()));
        json.attribute("database", database.path().string());
      });
    }));
  else
    out(fmt::format("{} record{} added to {}\n", all.size(), all.size() == 1 ? "" : "s",
                    database.path().string()));
  return ExitCode::good;
}

ExitCode import_records(const Context &context) {
  return add_records(context, "import", [](const std::string &path) {
    return records::parse_records(read_outside(path, "file of records", records::most_text_bytes),
                                  printable(path));
  });
}

ExitCode merge_databases(const Context &context) {
  return add_records(context, "merge",
                     [](const std::string &path) { return Database::open(path, true).find(); });
}

} // namespace

std::vector<Record> wanted_records(const Context &context) {
  return records_of(context, required_database(context, true));
}

std::string standard_database_text() { return "$XDG_DATA_HOME/nestsmith/tune.db"; }

std::optional<Database> open_given_database(const Context &context, const Shard &shard) {
  if (auto path = context.arguments.value("db")) {
    const std::filesystem::path file = shard.file(*path);
    std::error_code error;
    if (file.has_parent_path() && !std::filesystem::exists(file.parent_path(), error))
      throw UserError(
          ExitCode::usage,
          fmt::format("there is no folder {} for the database {}; make it, or name another file with "
                      "--db",
                      printable(file.parent_path().string()), printable(file.string())));
    return Database::open(file);
  }
  if (auto path = standard_database())
    return Database::open(shard.file(*path));
  return std::nullopt;
}

std::string records_text(const std::vector<Record> &found, std::size_t best, const Style &style) {
  Table table({{"", Align::right},
               {"ms", Align::right},
               {"spread", Align::right},
               {"TFLOP/s", Align::right},
               {"ratio", Align::right},
               {"knobs"}});
  Table estimates({{"", Align::right}, {"estimated ms", Align::right}, {"knobs"}});
  std::size_t row = 0, estimated = 0;
  std::string failed, peer;
  for (const Record &record : found) {
    if (record.outcome == Outcome::estimated) {
      if (estimated < best)
        estimates.add(
            {std::to_string(estimated + 1), fmt::format("{:.4g}", record.median_ms), to_string(record.knobs)});
      ++estimated;
      continue;
    }
    if (record.outcome != Outcome::measured) {
      std::string message = record.message;
      std::ranges::replace(message, '\n', ' ');
      failed +=
          folded(fmt::format("{}: {}: {}", to_string(record.knobs), name(record.outcome), printable(message)),
                 "    ", "  ");
      continue;
    }
    if (record.peer_ms)
      peer = record.peer;
    if (row < best)
      table.add({std::to_string(++row), fmt::format("{:.4g}", record.median_ms), spread_text(record),
                 fmt::format("{:.2f}", record.operations / record.median_ms * 1e-9), ratio_text(record),
                 to_string(record.knobs)});
  }
  std::string text = row == 0 ? "no point was measured\n" : table.text(style);
  if (estimated > 0)
    text += fmt::format("\n{} estimated by the model of `explain`:\n",
                        estimated == 1 ? "1 point" : fmt::format("{} points", estimated)) +
            estimates.text(style);
  if (!peer.empty())
    text += style.dim(fmt::format("ratio: the speed relative to {} in the same turns", peer)) + "\n";
  if (!failed.empty())
    text += "\nfailed:\n" + failed;
  return text;
}

void write_record(llvm::json::OStream &json, const Record &record) {
  auto write = [&](std::initializer_list<const char *> names) {
    for (const char *name : names)
      json.attribute(name, records::to_json(records::field(name).get(record)));
  };
  json.object([&] {
    write({"rung"});
    json.attributeBegin("knobs");
    write_knobs(json, record.knobs);
    json.attributeEnd();
    write({"shape"});
    json.attribute("symbolic", record.symbolic);
    write({"dtype", "gpu", "driver", "nvrtc", "launch"});
    json.attribute("l2", record.cold_l2 ? "cold" : "warm");
    write({"outcome"});
    if (!record.message.empty())
      write({"message"});
    write({"min_ms", "lower_quartile_ms", "median_ms", "upper_quartile_ms", "max_ms", "samples", "sm_mhz",
           "peer", "peer_ms", "measured_at"});
  });
}

ExitCode (*find_records_command(const std::string &word))(const Context &context) {
  if (word == "show")
    return show;
  if (word == "export")
    return export_records;
  if (word == "import")
    return import_records;
  if (word == "merge")
    return merge_databases;
  return nullptr;
}

} // namespace nestsmith::cli
