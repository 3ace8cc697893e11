/// Compiles and runs the blocks of a page (docs/guide.md, docs/one_directive.md), so that they stay correct:
///
///   nestsmith_guide program GUIDE.md OUT.cpp         writes the cpp blocks, in order, as one program
///   nestsmith_guide run GUIDE.md README.md PROGRAM   runs the sh blocks in a folder that has PROGRAM
///
///   ```cpp    a part of the program                ```sh    commands; all of them succeed
///   ```text   the output of the sh block before it, of both streams; a line of … matches any number of lines
///   ```cmake  a block of README.md, with another program's name
///
/// Any other block is an error. NESTSMITH_REWRITE_GOLDENS=1 rewrites the text blocks that do not match.

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace {

namespace fs = std::filesystem;
using Lines = std::vector<std::string>;

struct Block {
  std::string kind;
  std::size_t line; ///< the number of its first line, counted from 1
  Lines lines;
};

[[noreturn]] void fail(const std::string &message) { throw std::runtime_error(message); }

std::string read(const fs::path &path) {
  std::ifstream file(path, std::ios::binary);
  if (!file)
    fail("cannot read " + path.string());
  return {std::istreambuf_iterator<char>(file), {}};
}

void write(const fs::path &path, const std::string &text) {
  std::ofstream file(path, std::ios::binary);
  if (!(file << text).flush())
    fail("cannot write " + path.string());
}

Lines lines_of(const std::string &text) {
  Lines lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);)
    lines.push_back(line);
  return lines;
}

std::string text_of(const Lines &lines) {
  std::string text;
  for (const std::string &line : lines)
    text += line + "\n";
  return text;
}

std::vector<Block> blocks_of(const Lines &guide) {
  std::vector<Block> blocks;
  bool inside = false;
  for (std::size_t n = 0; n < guide.size(); ++n) {
    if (!guide[n].starts_with("```")) {
      if (inside)
        blocks.back().lines.push_back(guide[n]);
      continue;
    }
    std::string kind = guide[n].substr(3), where = "line " + std::to_string(n + 1);
    if (!inside && kind != "cpp" && kind != "sh" && kind != "text" && kind != "cmake")
      fail(where + ": a block of the kind '" + kind + "', expected cpp, sh, text or cmake");
    if (!inside && kind == "text" && (blocks.empty() || blocks.back().kind != "sh"))
      fail(where + ": a text block shows what the sh block before it prints, but there is none");
    if (inside && !kind.empty())
      fail(where + ": a block begins inside of another");
    if (!inside)
      blocks.push_back({kind, n + 2, {}});
    inside = !inside;
  }
  if (inside)
    fail("the last block has no end");
  return blocks;
}

/// Returns whether `got` matches `expected`. A line of … in `expected` matches any number of lines.
bool matches(const Lines &expected, std::size_t e, const Lines &got, std::size_t g) {
  if (e == expected.size())
    return g == got.size();
  if (expected[e] == "…") {
    for (std::size_t rest = g; rest <= got.size(); ++rest)
      if (matches(expected, e + 1, got, rest))
        return true;
    return false;
  }
  return g < got.size() && expected[e] == got[g] && matches(expected, e + 1, got, g + 1);
}

/// Runs a shell script. Returns the output of both streams and the exit status.
std::pair<std::string, int> run(const std::string &script, const fs::path &folder) {
  write(folder / "commands.sh", "set -e\n" + script);
  std::string command =
      "cd '" + folder.string() + "' && NO_COLOR=1 TERM=dumb COLUMNS=80 sh commands.sh 2>&1 </dev/null";
  FILE *pipe = popen(command.c_str(), "r");
  if (!pipe)
    fail("cannot run a shell");
  std::string output;
  for (int c; (c = std::fgetc(pipe)) != EOF;)
    output += static_cast<char>(c);
  int status = pclose(pipe);
  // Removes lines of progress, which a terminal overwrites.
  Lines lines = lines_of(output);
  std::erase_if(lines, [](const std::string &line) { return line.ends_with(" …") && !line.starts_with(" "); });
  return {text_of(lines), status};
}

void make_program(const fs::path &guide, const fs::path &out) {
  std::string program;
  for (const Block &block : blocks_of(lines_of(read(guide))))
    if (block.kind == "cpp")
      program += "#line " + std::to_string(block.line) + " \"" + guide.string() + "\"\n" + text_of(block.lines);
  if (program.empty())
    fail("the guide has no cpp block");
  write(out, program);
}

/// Returns whether README.md has this cmake block with the name of its own program.
bool is_in_readme(const Block &block, std::string readme) {
  std::string ours = "my_kernels", theirs = "my_schedule";
  for (std::size_t at; (at = readme.find(theirs)) != std::string::npos;)
    readme.replace(at, theirs.size(), ours);
  return readme.find("```cmake\n" + text_of(block.lines) + "```") != std::string::npos;
}

int run_guide(const fs::path &path, const fs::path &readme, const fs::path &program) {
  Lines guide = lines_of(read(path));
  std::vector<Block> blocks = blocks_of(guide);
  fs::path folder = program.parent_path() / "commands";
  fs::remove_all(folder);
  fs::create_directories(folder);
  fs::create_symlink(fs::absolute(program), folder / program.filename());
  const char *asked = std::getenv("NESTSMITH_REWRITE_GOLDENS");
  bool rewrite = asked && std::string_view(asked) == "1";
  int wrong = 0, ran = 0, compared = 0;
  std::string output;
  // Commands may use files of earlier ones, so the blocks run in order. The page is changed after the loop,
  // from the last block to the first, so that line numbers stay valid.
  std::vector<std::pair<const Block *, Lines>> changed;
  for (std::size_t n = 0; n < blocks.size(); ++n) {
    const Block &block = blocks[n];
    std::string where = path.string() + ":" + std::to_string(block.line) + ": ";
    if (block.kind == "cmake" && !is_in_readme(block, read(readme)))
      ++wrong, std::cout << where << "README.md has no such cmake block\n";
    if (block.kind == "sh") {
      auto [text, status] = run(text_of(block.lines), folder);
      output = text;
      ++ran;
      if (status != 0)
        ++wrong, std::cout << where << "the commands fail with status " << status << ":\n" << text;
    }
    if (block.kind != "text")
      continue;
    Lines got = lines_of(output);
    ++compared;
    if (matches(block.lines, 0, got, 0))
      continue;
    ++wrong;
    std::cout << where << "expected\n" << text_of(block.lines) << "got\n" << output;
    changed.emplace_back(&block, got);
  }
  std::cout << ran << " blocks of commands run, " << compared << " outputs compared, " << wrong << " wrong\n";
  if (rewrite && !changed.empty()) {
    for (auto it = changed.rbegin(); it != changed.rend(); ++it) {
      auto at = guide.begin() + static_cast<std::ptrdiff_t>(it->first->line) - 1;
      at = guide.erase(at, at + static_cast<std::ptrdiff_t>(it->first->lines.size()));
      guide.insert(at, it->second.begin(), it->second.end());
    }
    write(path, text_of(guide));
    std::cout << "wrote " << changed.size() << " outputs to " << path.string() << "\n";
  }
  return wrong == 0 || (rewrite && wrong == static_cast<int>(changed.size())) ? 0 : 1;
}

} // namespace

int main(int argc, char **argv) {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  try {
    if (arguments.size() == 3 && arguments[0] == "program")
      return make_program(arguments[1], arguments[2]), 0;
    if (arguments.size() == 4 && arguments[0] == "run")
      return run_guide(arguments[1], arguments[2], arguments[3]);
    fail("usage: nestsmith_guide program GUIDE.md OUT.cpp | run GUIDE.md README.md PROGRAM");
  } catch (const std::exception &error) {
    std::cerr << "nestsmith_guide: " << error.what() << "\n";
    return 2;
  }
}
