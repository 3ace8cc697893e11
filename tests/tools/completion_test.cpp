/// Tests the completion of bash: tools/completion.bash, and the candidates that the tool prints.

#include "tests/tools/run_binary.h"

#include <algorithm>
#include <gmock/gmock.h>
#include <set>
#include <vector>

namespace nestsmith {
namespace {

using test::TemporaryFolder;
using Words = std::vector<std::string>;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;

Words lines_of(const std::string &text) {
  Words lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);)
    lines.push_back(line);
  return lines;
}

/// Returns the lines below a heading, up to an empty line.
Words section(const std::string &text, const std::string &heading) {
  std::string below = text.substr(text.find(heading) + heading.size());
  return lines_of(below.substr(0, below.find("\n\n")));
}

/// Returns the candidates for the last of the words, which have the syntax of the shell, in the folder.
Words offered(const std::string &words, const std::string &folder = ".",
              const std::string &program = NESTSMITH_BINARY) {
  TemporaryFolder scratch;
  test::write_file(scratch / "ask", ". " NESTSMITH_SOURCE_DIR "/tools/completion.bash\ncd '" + folder +
                                        "'\nCOMP_WORDS=('" + program + "' " + words +
                                        ")\nCOMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n_nestsmith '" + program +
                                        "'\nprintf '%s\\n' \"${COMPREPLY[@]}\"\n");
  std::string command = "bash " + (scratch / "ask").string() + " >" + (scratch / "out").string() + " 2>&1";
  EXPECT_EQ(std::system(command.c_str()), 0);
  Words result = lines_of(test::read_file(scratch / "out"));
  std::erase(result, ""); // printed by printf if there is no candidate
  return result;
}

TEST(Completion, CommandsOfTheOverview) {
  Words commands = offered("''");
  ASSERT_THAT(commands, Contains("emit"));
  Words listed = test::commands();
  for (const std::string &command : listed)
    EXPECT_THAT(commands, Contains(command));
  EXPECT_EQ(listed.size() + 1, commands.size()) << "and help";
  EXPECT_THAT(offered("e"), ElementsAre("emit", "explain", "exercise"));
  EXPECT_THAT(offered("help com"), ElementsAre("compile", "compare"));
  EXPECT_THAT(offered("--ver"), ElementsAre("--version"));
  EXPECT_THAT(offered("x"), IsEmpty());
  EXPECT_THAT(offered("nothing ''"), IsEmpty());
}

/// A new option of a command must be offered without a change of the completion.
TEST(Completion, EveryOptionInTheHelpOfEachCommand) {
  for (const std::string &command : offered("''")) {
    if (command == "help")
      continue;
    std::string help = test::nestsmith(command + " --help").out;
    std::set<std::string> expected;
    for (const std::string &line : section(help, "options:\n"))
      if (std::size_t dashes = line.find("--"); line.starts_with("  ") && dashes == 6)
        expected.insert(line.substr(dashes, line.find(' ', dashes) - dashes));
    ASSERT_GE(expected.size(), 3U) << help;
    Words options = offered(command + " --");
    EXPECT_EQ(std::set<std::string>(options.begin(), options.end()), expected) << command;
  }
}

TEST(Completion, AnOptionIsOfferedOnce) {
  EXPECT_THAT(offered("emit --s"), ElementsAre("--standalone", "--shape", "--symbolic", "--set"));
  EXPECT_THAT(offered("emit --shape 8x8x8 --s"), ElementsAre("--standalone", "--symbolic", "--set"));
  EXPECT_THAT(offered("emit -o out.cu --o"), IsEmpty());
  EXPECT_THAT(offered("--d"), ElementsAre("--dtype", "--device")) << "without a command: run";
}

TEST(Completion, RungsAndTutorials) {
  EXPECT_THAT(offered("show deep_dive/c"), ElementsAre("deep_dive/coalesced"));
  EXPECT_THAT(offered("run tvm"), Contains("tvm_steps")) << "run takes tutorials";
  EXPECT_THAT(offered("show tvm"), Not(Contains("tvm_steps")));
  EXPECT_THAT(offered("figures tvm"), ElementsAre("tvm_steps"));
  EXPECT_THAT(offered("lint deep_dive/row"), ElementsAre("deep_dive/row_modulo_n"));
  EXPECT_THAT(offered("exercise wa"), ElementsAre("wavefront", "wait"));
  EXPECT_THAT(offered("compare ladder/naive ladder/wa"), ElementsAre("ladder/warps"));
  EXPECT_THAT(offered("explain ladder/warps --against ladder/na"), ElementsAre("ladder/naive"));
  EXPECT_THAT(offered("--dtype f32 ladder/na"), ElementsAre("ladder/naive"));
  EXPECT_THAT(offered("show ladder/naive ''"), Contains("--step")) << "show takes one rung";
  EXPECT_THAT(offered("doctor ''"), Contains("--json"));
}

TEST(Completion, ValuesOfOptions) {
  EXPECT_THAT(offered("run --dtype ''"), ElementsAre("f32", "f64", "f16", "bf16", "tf32", "i8", "u8", "u32"));
  EXPECT_THAT(offered("run --dtype = f"), ElementsAre("f32", "f64", "f16")) << "bash splits at =";
  EXPECT_THAT(offered("run --dtype ="), Contains("u32"));
  EXPECT_THAT(offered("run --device ''"), Contains("sim"));
  EXPECT_THAT(offered("show ladder/naive --trace ''"), ElementsAre("cpp", "json"));
  EXPECT_THAT(offered("explain ladder/naive --gpu RTX"),
              ElementsAre("RTX3090", "RTX5090", "RTXA500", "RTX4090", "RTXA6000"));
  EXPECT_THAT(offered("compile ladder/naive --arch sm_9"), ElementsAre("sm_90a", "sm_90"));
  EXPECT_THAT(offered("run --shape ''"), IsEmpty());
  EXPECT_THAT(offered("bench ladder --launch ''"), ElementsAre("single", "back-to-back", "graph"));
  EXPECT_THAT(offered("report ladder --lang ''"), ElementsAre("en", "ko"));
}

/// The candidates of --gpu and --arch must be accepted.
TEST(Completion, OfferedGpusAreKnown) {
  Words gpus = offered("explain ladder/naive --gpu ''");
  ASSERT_GE(gpus.size(), 8U);
  for (const std::string &gpu : gpus)
    EXPECT_EQ(test::nestsmith("explain ladder/naive --shape 64x64x64 --gpu " + gpu).code, 0) << gpu;
}

TEST(Completion, TraceFilesAndFolders) {
  TemporaryFolder folder;
  test::write_file(folder / "mine.json", "");
  test::write_file(folder / "of two words.json", "");
  test::write_file(folder / "mine.cu", "");
  std::filesystem::create_directory(folder / "minor");
  EXPECT_THAT(offered("report --site min", folder.string()), Contains("minor"));
  EXPECT_THAT(offered("show mi", folder.string()), testing::UnorderedElementsAre("mine.json", "minor"));
  EXPECT_THAT(offered("show of", folder.string()), ElementsAre("of two words.json"));
  EXPECT_THAT(offered("show ''", folder.string()), Contains("ladder/naive"));
  EXPECT_THAT(offered("show ''", folder.string()), Contains("mine.json"));
  EXPECT_THAT(offered("show ''", folder.string()), Not(Contains("mine.cu")));
  EXPECT_THAT(offered("emit ladder/naive -o mine", folder.string()),
              testing::UnorderedElementsAre("mine.json", "mine.cu"));
}

TEST(Completion, AProgramThatIsMissingOffersNothing) {
  EXPECT_THAT(offered("''", ".", "/nowhere/nestsmith"), IsEmpty());
}

} // namespace
} // namespace nestsmith
