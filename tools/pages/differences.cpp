#include "tools/pages/differences.h"

#include "tools/output/text_diff.h"

#include <algorithm>

namespace nestsmith::cli::report {

namespace {

std::int64_t indentation(const LinkedLine &line) {
  return static_cast<std::int64_t>(std::min(line.text.find_first_not_of(' '), line.text.size()));
}

std::string without_indentation(const LinkedLine &line) {
  return line.text.substr(static_cast<std::size_t>(indentation(line)));
}

/// Collects operations; equal operations become one.
class Script {
public:
  void keep(std::int64_t shift) {
    if (shift != shift_ || kept_ == 0)
      flush();
    shift_ = shift, ++kept_;
  }
  void remove() {
    if (removed_ == 0)
      flush();
    ++removed_;
  }
  void insert(std::int64_t indent, std::size_t line) {
    if (inserted_.empty()) {
      flush();
      inserted_.push_back(0);
    }
    inserted_.push_back(indent);
    inserted_.push_back(static_cast<std::int64_t>(line));
  }
  void relink(std::int64_t indent, std::size_t line) {
    flush();
    ops_.push_back(llvm::json::Array{-1, indent, static_cast<std::int64_t>(line)});
  }
  llvm::json::Array take() {
    flush();
    return std::move(ops_);
  }

private:
  void flush() {
    if (kept_ > 0 && shift_ == 0)
      ops_.push_back(kept_);
    else if (kept_ > 0)
      ops_.push_back(llvm::json::Array{kept_, shift_});
    if (removed_ > 0)
      ops_.push_back(-removed_);
    if (!inserted_.empty())
      ops_.push_back(std::move(inserted_));
    inserted_ = {};
    kept_ = removed_ = 0;
  }

  llvm::json::Array ops_, inserted_;
  std::int64_t kept_ = 0, shift_ = 0, removed_ = 0;
};

} // namespace

std::size_t LineTable::index(const LinkedLine &line) {
  std::string text = without_indentation(line);
  auto [at, fresh] = known_.try_emplace({text, line.keys}, lines_.size());
  if (!fresh)
    return at->second;
  if (line.keys.empty()) {
    lines_.emplace_back(text);
    return at->second;
  }
  llvm::json::Array entry{text};
  for (const std::string &key : line.keys) {
    auto [known, added] = keys_.try_emplace(key, key_names_.size());
    if (added)
      key_names_.push_back(key);
    entry.push_back(static_cast<std::int64_t>(known->second));
  }
  lines_.emplace_back(std::move(entry));
  return at->second;
}

llvm::json::Value LineTable::json() const {
  return llvm::json::Object{{"keys", llvm::json::Array(key_names_)}, {"lines", llvm::json::Array(lines_)}};
}

llvm::json::Array difference(const LinkedText &before, const LinkedText &after, LineTable &table) {
  Script script;
  std::size_t i = 0, j = 0;
  for (const DiffLine &line : diff_lines(joined(before), joined(after)))
    switch (line.sign) {
    case DiffSign::same:
      if (before[i].keys == after[j].keys)
        script.keep(indentation(after[j]) - indentation(before[i]));
      else
        script.relink(indentation(after[j]), table.index(after[j]));
      ++i, ++j;
      break;
    case DiffSign::removed:
      script.remove();
      ++i;
      break;
    case DiffSign::added:
      script.insert(indentation(after[j]), table.index(after[j]));
      ++j;
      break;
    }
  return script.take();
}

} // namespace nestsmith::cli::report
