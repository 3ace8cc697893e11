#include "tools/pages/links.h"

#include "dsl/expr/identifier.h"
#include "dsl/ir/printer.h"
#include "tools/output/text_diff.h"

#include <cctype>

namespace nestsmith::cli::report {

namespace {

std::string key(const OriginPart &part) {
  return std::visit(Overloaded{[](const Var &loop) { return "for " + loop->name; },
                               [](const BlockId &block) { return "block " + block->name; },
                               [](const InitOf &init) { return "init " + init.block->name; },
                               [](const Buffer &buffer) { return "buffer " + buffer->name; }},
                    part);
}

LinkedText linked(const TracedText &traced) {
  LinkedText lines;
  for (std::string &line : split_lines(traced.text)) {
    std::vector<std::string> keys;
    if (const Origin &origin = traced.lines.at(lines.size()))
      for (const OriginPart &part : *origin)
        keys.push_back(key(part));
    lines.push_back({std::move(line), std::move(keys)});
  }
  return lines;
}

} // namespace

std::string joined(const LinkedText &text) {
  std::string result;
  for (const LinkedLine &line : text)
    result += line.text + "\n";
  return result;
}

LinkedText linked_program(const Program &program) { return linked(print_traced(program)); }

LinkedText linked_kernels(const kernel::Plan &plan) { return linked(kernel::print_traced(plan)); }

LinkedText linked_cuda(const kernel::Plan &plan) { return linked(cuda_text(plan).traced); }

std::vector<std::size_t> same_lines(const std::string &text, const LinkedText &other) {
  auto without_numbers = [](const std::string &line) {
    std::string result;
    for (std::size_t n = 0; n < line.size(); ++n) {
      bool digit = std::isdigit(static_cast<unsigned char>(line[n])) != 0,
           in_name = n > 0 && in_identifier(line[n - 1]);
      if (!digit || (in_name && !result.ends_with('#')))
        result += line[n];
      else if (!result.ends_with('#'))
        result += '#';
    }
    return result + "\n";
  };
  std::string before, after;
  for (const std::string &line : split_lines(text))
    before += without_numbers(line);
  for (const LinkedLine &line : other)
    after += without_numbers(line.text);
  std::vector<std::size_t> numbers;
  std::size_t next = 1;
  for (const DiffLine &line : diff_lines(before, after)) {
    if (line.sign != DiffSign::added)
      numbers.push_back(line.sign == DiffSign::same ? next : 0);
    if (line.sign != DiffSign::removed)
      ++next;
  }
  return numbers;
}

} // namespace nestsmith::cli::report
