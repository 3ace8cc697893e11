#pragma once
/// The texts of all steps as differences, for the slider of the page.

#include "tools/pages/links.h"

#include <llvm/Support/JSON.h>
#include <map>
#include <string>
#include <vector>

namespace nestsmith::cli::report {

/// The lines and the keys of a page, each once and without indentation. An index stands for a line in a script,
/// or for the message of an obligation, which many steps have.
class LineTable {
public:
  std::size_t index(const LinkedLine &line);
  /// `{"keys": ["for i", …], "lines": ["text", ["text", KEY, …], …]}`
  llvm::json::Value json() const;

private:
  std::map<std::string, std::size_t> keys_;
  std::vector<std::string> key_names_;
  std::map<std::pair<std::string, std::vector<std::string>>, std::size_t> known_;
  std::vector<llvm::json::Value> lines_;
};

/// The script that turns the lines of `before` into those of `after`. Its operations, in order:
///
///   N                        keep N lines
///   -N                       remove N lines
///   [N, D]                   keep N lines, and indent them by D more columns
///   [0, INDENT, LINE, …]     insert lines
///   [-1, INDENT, LINE]       keep a line, which has other links
llvm::json::Array difference(const LinkedText &before, const LinkedText &after, LineTable &table);

} // namespace nestsmith::cli::report
