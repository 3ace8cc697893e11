/// Tests the database of measurements: records, their identity, concurrent writers, damaged files, and the text
/// format.

#include "runtime/records/database.h"

#include "dsl/expr/error.h"
#include "runtime/records/fields.h"
#include "runtime/records/text.h"
#include "tests/dsl/support.h"
#include "tests/files.h"

#include <gmock/gmock.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace nestsmith::records {
namespace {

using test::expect_user_error;
using test::TemporaryFolder;
using testing::ElementsAre;

Record record(const std::string &bk, double ms, const std::string &shape = "512x512x512") {
  Record one;
  one.rung = "ladder/warps";
  one.knobs = {{"bk", bk}, {"lanes", "4x8"}};
  one.shape = shape;
  one.dtype = "f32";
  one.gpu = "NVIDIA H200";
  one.driver = "13.0";
  one.nvrtc = "13.1";
  one.launch = "back-to-back";
  one.code = "abc";
  one.min_ms = ms * 0.5;
  one.lower_quartile_ms = ms * 0.75;
  one.median_ms = ms;
  one.upper_quartile_ms = ms * 1.25;
  one.max_ms = ms * 2;
  one.samples = 15;
  one.operations = 2.0 * 512 * 512 * 512;
  one.trace = "{\"a\": \"\\\"ü\\n\"}";
  one.nestsmith = "0.2.0";
  one.measured_at = "2026-11-22T10:15:00Z";
  return one;
}

TEST(Database, ReturnsWhatWasAdded) {
  TemporaryFolder folder;
  Record full = record("8", 2.125), refused = record("16", 0);
  full.sm_mhz = 1980, full.peer_ms = 2.5, full.peer = "cuBLAS 13.0.2", full.symbolic = true,
  full.cold_l2 = true;
  refused.outcome = Outcome::refused, refused.message = "split.tail", refused.code = "", refused.knobs = {};
  {
    Database database = Database::open(folder / "deep/er/a.db");
    database.add({full, refused});
    EXPECT_THAT(database.find(), ElementsAre(refused, full));
  }
  EXPECT_THAT(Database::open(folder / "deep/er/a.db", true).find(), ElementsAre(refused, full));
}

TEST(Database, ReplacesARecordOfTheSamePoint) {
  TemporaryFolder folder;
  Database database = Database::open(folder / "a.db");
  database.add(record("8", 2));
  database.add(record("8", 3));
  EXPECT_THAT(database.find(), ElementsAre(record("8", 3)));
  Record other = record("8", 4);
  other.driver = "13.1";
  database.add(other);
  EXPECT_THAT(database.find(), ElementsAre(record("8", 3), other));
}

TEST(Database, FindsByCondition) {
  TemporaryFolder folder;
  Database database = Database::open(folder / "a.db");
  Record broken = record("4", 0);
  broken.outcome = Outcome::hung;
  database.add({record("8", 2), record("16", 1), record("8", 9, "1024x1024x1024"), broken});
  EXPECT_THAT(
      database.find({.rung = "ladder/warps", .shape = "512x512x512", .dtype = "f32", .gpu = "NVIDIA H200"}),
      ElementsAre(record("16", 1), record("8", 2), broken));
  EXPECT_TRUE(database.find({.rung = "", .shape = "", .dtype = "f16", .gpu = ""}).empty());
  EXPECT_THAT(best_of(database.find()), ElementsAre(record("8", 9, "1024x1024x1024"), record("16", 1)));
}

TEST(Database, StoresRecordsOfSeveralProcesses) {
  TemporaryFolder folder;
  constexpr int processes = 4, each = 25;
  for (int n = 0; n < processes; ++n)
    if (fork() == 0) {
      try {
        Database database = Database::open(folder / "a.db");
        for (int at = 0; at < each; ++at)
          database.add(record(std::to_string(n * each + at), 1));
        _exit(0);
      } catch (const std::exception &) {
        _exit(1);
      }
    }
  for (int n = 0; n < processes; ++n) {
    int status = 0;
    wait(&status);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(Database::open(folder / "a.db").find().size(), std::size_t{processes * each});
}

TEST(Database, AddsAllRecordsOrNone) {
  TemporaryFolder folder;
  Database database = Database::open(folder / "a.db");
  Record large = record("16", 1);
  large.trace = std::string(17 << 20, 'x');
  expect_user_error(
      [&] {
        database.add({record("8", 1), large});
      },
      ExitCode::usage, "cannot write to the database");
  EXPECT_TRUE(database.find().empty());
  database.add(record("8", 1));
  EXPECT_EQ(database.find().size(), 1U);
}

TEST(Database, RefusesOtherFiles) {
  TemporaryFolder folder;
  expect_user_error([&] { Database::open(folder / "none.db", true); }, ExitCode::usage,
                    "there is no database ");
  test::write_file(folder / "text.db", std::string(5000, 'x'));
  expect_user_error([&] { Database::open(folder / "text.db"); }, ExitCode::usage, "file is not a database");
  expect_user_error([&] { Database::open(folder.path()); }, ExitCode::usage, "cannot open the database");
  auto sql = [&](const char *file, const char *text) {
    sqlite3 *raw = nullptr;
    sqlite3_open((folder / file).c_str(), &raw);
    EXPECT_EQ(sqlite3_exec(raw, text, nullptr, nullptr, nullptr), SQLITE_OK);
    sqlite3_close(raw);
  };
  sql("other.db", "CREATE TABLE t (a)");
  expect_user_error([&] { Database::open(folder / "other.db"); }, ExitCode::usage,
                    "is a database of another program; name another file with --db");
  { Database::open(folder / "new.db"); }
  sql("new.db", "PRAGMA user_version = 2");
  expect_user_error([&] { Database::open(folder / "new.db"); }, ExitCode::usage,
                    "has the schema version 2, expected 1; export it with the nestsmith that wrote it");
  { Database::open(folder / "bad.db").add(record("8", 1)); }
  sql("bad.db", "UPDATE record SET outcome = 'lost'");
  expect_user_error([&] { Database::open(folder / "bad.db").find(); }, ExitCode::usage,
                    "has a record whose outcome is malformed");
}

/// Triggers, views and indices of another schema would run when the table is used, so the file must be
/// rejected.
TEST(Database, WithAnotherSchemaIsNoneOfOurs) {
  for (const char *text :
       {"CREATE TRIGGER t AFTER INSERT ON record BEGIN DELETE FROM record; END",
        "CREATE VIEW v AS SELECT * FROM record", "CREATE TABLE other (a)",
        "CREATE INDEX i ON record (abs(median_ms))", "ALTER TABLE record ADD COLUMN more",
        "ALTER TABLE record RENAME TO old; CREATE VIEW record AS SELECT * FROM old", "DROP TABLE record"}) {
    TemporaryFolder folder;
    { Database::open(folder / "a.db").add(record("8", 1)); }
    sqlite3 *raw = nullptr;
    sqlite3_open((folder / "a.db").c_str(), &raw);
    EXPECT_EQ(sqlite3_exec(raw, text, nullptr, nullptr, nullptr), SQLITE_OK) << text;
    sqlite3_close(raw);
    for (bool existing : {true, false})
      expect_user_error([&] { Database::open(folder / "a.db", existing); }, ExitCode::usage,
                        "a.db is not a database of nestsmith: it has other tables, views, indices or triggers");
  }
}

TEST(Database, IsARegularFile) {
  TemporaryFolder folder;
  ASSERT_EQ(::mkfifo((folder / "fifo").c_str(), 0600), 0);
  for (const std::string &path : {(folder / "fifo").string(), std::string("/dev/zero")})
    for (bool existing : {true, false})
      expect_user_error([&] { Database::open(path, existing); }, ExitCode::usage,
                        "cannot open the database '" + path + "': it is not a regular file");
}

TEST(Database, ATimeIsAbove0) {
  TemporaryFolder folder;
  for (double ms : {0.0, -1.0}) {
    Record wrong = record("8", 1), peer = record("8", 1);
    wrong.median_ms = ms, peer.peer_ms = ms;
    for (const auto &[one, name] : {std::pair(wrong, "median_ms"), {peer, "peer_ms"}}) {
      const std::string file = fmt::format("{}{}.db", name, ms);
      Database::open(folder / file).add(one);
      expect_user_error([&] { Database::open(folder / file).find(); }, ExitCode::usage,
                        fmt::format("has a record whose {} is not above 0", name));
      expect_user_error([&] { parse_records(to_text({one}), "t.json"); }, ExitCode::usage,
                        fmt::format("t.json: the '{}' of record 1 is not above 0", name));
    }
  }
}

TEST(Records, NamesArePrintableWhenTheyAreRead) {
  TemporaryFolder folder;
  Record evil = record("8", 1);
  evil.gpu = "H200\x1b[2J\nladder/naive", evil.peer = std::string("cu\0BLAS", 7), evil.shape = "8x8x8\x1b[31m";
  evil.knobs = {{"bk\r", "\x1b]0;x\x07"}};
  Database database = Database::open(folder / "a.db");
  database.add(evil);
  for (const std::vector<Record> &read : {database.find(), parse_records(to_text({evil}), "t.json")}) {
    ASSERT_EQ(read.size(), 1U);
    EXPECT_EQ(read[0].gpu, "H200\\u001b[2J\\u000aladder/naive");
    EXPECT_EQ(read[0].peer, "cu\\u0000BLAS");
    EXPECT_EQ(read[0].shape, "8x8x8\\u001b[31m");
    EXPECT_EQ(read[0].knobs, (KnobValues{{"bk\\u000d", "\\u001b]0;x\\u0007"}}));
  }
  evil.gpu = std::string(1001, 'g');
  expect_user_error([&] { parse_records(to_text({evil}), "t.json"); }, ExitCode::usage,
                    "the 'gpu' of record 1 is missing or malformed");
}

TEST(Records, DeepTextIsRefused) {
  expect_user_error([] { parse_records("{\"nestsmith_records\": " + std::string(300000, '['), "t.json"); },
                    ExitCode::usage, "t.json: its brackets nest more than 8 deep");
}

TEST(Records, AreTheSameAfterText) {
  Record other = record("16", 1.0 / 3);
  other.peer_ms = 1e-3, other.outcome = Outcome::wrong, other.message = "C[1] is 2, expected 3";
  std::string text = to_text({record("8", 2), other});
  EXPECT_EQ(text, to_text({other, record("8", 2)})) << "the order of the records does not matter";
  EXPECT_THAT(parse_records(text, "t.json"), testing::UnorderedElementsAre(record("8", 2), other));
  EXPECT_TRUE(parse_records(to_text({}), "t.json").empty());
}

TEST(Records, RefuseOtherText) {
  auto refused = [](const std::string &text, const std::string &message) {
    expect_user_error([&] { parse_records(text, "t.json"); }, ExitCode::usage, "t.json: " + message);
  };
  refused("{", "not JSON: ");
  refused("[]", "not a file of records");
  refused("{\"nestsmith_records\": 9, \"records\": []}", "the version of the records is 9, expected 1");
  refused("{\"nestsmith_records\": 1}", "has no array 'records'");
  refused("{\"nestsmith_records\": 1, \"records\": [4]}", "record 1 is not an object");
  std::string text = to_text({record("8", 2)});
  std::string part = "\"samples\":15";
  std::string damaged = text;
  refused(damaged.replace(damaged.find(part), part.size(), "\"samples\":-1"),
          "the 'samples' of record 1 is missing or malformed");
  damaged = text;
  refused(damaged.replace(damaged.find("\"shape\""), 7, "\"form\""),
          "the 'shape' of record 1 is missing or malformed");
  damaged = text;
  refused(damaged.replace(damaged.find("\"symbolic\":0"), 12, "\"symbolic\":2"),
          "the 'symbolic' of record 1 is missing or malformed");
  damaged = text;
  refused(damaged.replace(damaged.find("\"outcome\":\"measured\""), 20, "\"outcome\":\"good\""),
          "the 'outcome' of record 1 is missing or malformed");
}

TEST(Records, AFieldThatDoesNotFitLeavesTheRecordUnchanged) {
  Record one = record("8", 2);
  one.sm_mhz = 1980;
  const Record before = one;
  const std::string long_line(1001, 'x');
  for (const Field &each : fields()) {
    Value other = each.kind == Field::Kind::text ? Value(1.5) : Value(std::string("fast"));
    EXPECT_FALSE(each.set(one, other)) << each.name;
  }
  EXPECT_FALSE(field("gpu").set(one, long_line));
  EXPECT_FALSE(field("samples").set(one, std::int64_t{-1}));
  EXPECT_FALSE(field("median_ms").set(one, Value()));
  EXPECT_EQ(one, before);
  EXPECT_TRUE(field("sm_mhz").set(one, Value())) << "a rate that was not read";
  EXPECT_EQ(one.sm_mhz, std::nullopt);
}

TEST(Records, HaveTheIdentityOfTheKernelAndTheMachine) {
  Record one = record("8", 2), other = record("8", 3);
  EXPECT_TRUE(same_identity(one, other)) << "another time of the same kernel";
  other.cold_l2 = true;
  EXPECT_FALSE(same_identity(one, other));
  std::vector<std::string> names;
  for (const Field &each : fields_of_measurement())
    names.emplace_back(each.name);
  EXPECT_THAT(names, testing::ElementsAre("outcome", "message", "min_ms", "lower_quartile_ms", "median_ms",
                                          "upper_quartile_ms", "max_ms", "samples", "sm_mhz", "peer_ms"));
}

} // namespace
} // namespace nestsmith::records
