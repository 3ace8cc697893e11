/// Replays the inputs in the corpus of the fuzzers. Each must be read or refused. tests/fuzz_inputs.sh searches
/// for more.

#include "tests/tools/inputs/targets.h"
#include "tests/tools/run_binary.h"

namespace nestsmith {
namespace {

void replay(const char *folder, void (*target)(const std::string &), std::size_t at_least) {
  std::size_t count = 0;
  for (const auto &entry : std::filesystem::directory_iterator(
           NESTSMITH_SOURCE_DIR "/tests/tools/inputs/corpus/" + std::string(folder))) {
    SCOPED_TRACE(entry.path().string());
    EXPECT_NO_THROW(target(test::read_file(entry.path())));
    ++count;
  }
  EXPECT_GE(count, at_least);
}

TEST(Inputs, TracesAreReadOrRefused) { replay("trace", inputs::trace, 5); }
TEST(Inputs, RecordsAreReadOrRefused) { replay("records", inputs::records, 5); }
TEST(Inputs, TablesAreReadOrRefused) { replay("table", inputs::table, 5); }
TEST(Inputs, EntriesOfCachesAreReadOrRefused) { replay("entry", inputs::entry, 5); }
TEST(Inputs, CommandLinesAreReadOrRefused) { replay("command_line", inputs::command_line, 5); }

} // namespace
} // namespace nestsmith
