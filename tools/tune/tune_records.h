#pragma once
/// The database of `tune` on the command line: its file, its tables, and the commands show, export, import and
/// merge.

#include "runtime/records/database.h"
#include "tools/options/command.h"
#include "tools/output/json.h"
#include "tools/tune/shard.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace nestsmith::cli {

/// "$XDG_DATA_HOME/nestsmith/tune.db", for the help text.
std::string standard_database_text();
/// The database of --db, otherwise the standard one, which is created. None if there is no --db and neither
/// XDG_DATA_HOME nor HOME is set. Each shard has its own file.
std::optional<records::Database> open_given_database(const Context &context, const Shard &shard);

/// The records of the database of --db, or of the standard one, for all rungs that the arguments after the
/// first one name (otherwise all rungs), and for --shape and --dtype. Throws UserError (usage) if there is
/// none.
std::vector<records::Record> wanted_records(const Context &context);

/// The number of records that are printed without --best.
inline constexpr std::int64_t usual_best = 10;

/// The first `best` measured records as a table, and all failed ones with their reasons.
std::string records_text(const std::vector<records::Record> &records, std::size_t best, const Style &style);
void write_record(llvm::json::OStream &json, const records::Record &record);

/// The function of `tune show`, `export`, `import` or `merge`; null for any other word.
ExitCode (*find_records_command(const std::string &word))(const Context &context);

} // namespace nestsmith::cli
