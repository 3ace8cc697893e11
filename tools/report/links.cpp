#include "tools/report/links.h"

#include "dsl/error.h"
#include "dsl/printer.h"
#include "tools/text_diff.h"

#include <algorithm>
#include <fmt/format.h>

namespace nestsmith::cli::report {

namespace {

using Keys = std::vector<std::string>;

void add(Keys &keys, const std::string &key) {
  if (std::ranges::find(keys, key) == keys.end())
    keys.push_back(key);
}

std::string key(const For &loop) { return "for " + loop.var->name; }
std::string key(const Block &block) { return "block " + block.id->name; }
std::string init_key(const Block &block) { return "init " + block.id->name; }
std::string key(const Buffer &buffer) { return "buffer " + buffer->name; }

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

/// Whether `word` occurs in the line, not as a part of a longer name.
bool names(std::string_view line, std::string_view word) {
  for (std::size_t at = line.find(word); at != std::string_view::npos; at = line.find(word, at + 1)) {
    std::size_t end = at + word.size();
    if ((at == 0 || !is_word(line[at - 1])) && (end == line.size() || !is_word(line[end])))
      return true;
  }
  return false;
}

bool loads(const Expr &e, const std::string &buffer) {
  bool found = false;
  walk(e, [&](const Expr &part) {
    const auto *load = part.as<Load>();
    found = found || (load && (buffer.empty() || load->buffer->name == buffer));
  });
  return found;
}

/// The loops and blocks of a program by the names that its kernels keep.
class Origins {
public:
  explicit Origins(const Program &program)
      : blocks_(blocks_of(program.body)), temporaries_(temporaries(program)) {
    walk(program.body, [&](const Stmt &stmt) {
      if (const auto *loop = as<For>(stmt))
        loops_.push_back(loop);
      return true;
    });
  }

  Keys of(const kernel::Stmt &stmt) const {
    Keys keys;
    kernel::visit(stmt,
                  Overloaded{[&](const kernel::Declare &declare) { add_variable(keys, declare.var->name); },
                             [&](const kernel::Loop &loop) { add_loop(keys, loop.var->name); },
                             [&](const kernel::If &branch) { add_first_write(keys, branch.body); },
                             [&](const kernel::Seq &) {},
                             [&](const kernel::Store &store) { add_store(keys, store); },
                             [&](const kernel::Call &call) { add_writers(keys, call.result().buffer->name); },
                             [&](const kernel::Barrier &barrier) { add_hazards(keys, barrier.hazards); },
                             [&](const kernel::Commit &commit) { add_copies(keys, commit.note); },
                             [&](const kernel::Wait &wait) { add_hazards(keys, wait.hazards); },
                             [&](const kernel::Arrive &arrive) { add_last_blocks(keys, arrive.axis); }});
    return keys;
  }

  /// The keys of a line that declares the index of a thread or block, or an array.
  Keys of_declaration(std::string_view line) const {
    Keys keys;
    for (const For *loop : loops_)
      if (loop->axis() && names(line, name(is_part_of_warps(*loop->axis()) ? Axis::thread_x : *loop->axis())))
        add(keys, key(*loop));
    for (const Buffer &buffer : temporaries_)
      if (keys.empty() && names(line.substr(0, line.find_first_of("/#")), buffer->name))
        add(keys, key(buffer));
    return keys;
  }

private:
  void add_loop(Keys &keys, const std::string &name) const {
    for (const For *loop : loops_)
      if (loop->var->name == name)
        add(keys, key(*loop));
  }

  /// A declared variable is the value of an axis of a block, of a loop, or of the warp or the lane.
  void add_variable(Keys &keys, const std::string &variable) const {
    for (const Block *block : blocks_)
      for (const IterVar &iter : block->iters)
        if (iter.var->name == variable)
          add(keys, key(*block));
    add_loop(keys, variable);
    for (const For *loop : loops_)
      if (loop->axis() && is_part_of_warps(*loop->axis()) && name(*loop->axis()) == variable)
        add(keys, key(*loop));
  }

  void add_writers(Keys &keys, const std::string &buffer) const {
    for (const Block *block : blocks_)
      if (block->body.buffer->name == buffer)
        add(keys, key(*block));
  }

  /// If an init and an update write the buffer, the one that reads it as the store does.
  void add_store(Keys &keys, const kernel::Store &store) const {
    const std::string &buffer = store.buffer->name;
    bool initial = !loads(store.value, "");
    for (const Block *block : blocks_)
      if (block->body.buffer->name == buffer) {
        if (block->init && initial)
          add(keys, init_key(*block));
        else if (loads(block->body.value, buffer) == loads(store.value, buffer))
          add(keys, key(*block));
      }
    if (keys.empty())
      add_writers(keys, buffer);
  }

  void add_first_write(Keys &keys, const kernel::Stmt &body) const {
    kernel::walk(body, [&](const kernel::Stmt &stmt) {
      if (keys.empty() && kernel::written_by(stmt))
        keys = of(stmt);
    });
  }

  void add_hazards(Keys &keys, const std::vector<kernel::Hazard> &hazards) const {
    for (const kernel::Hazard &hazard : hazards) {
      add_writers(keys, hazard.buffer);
      add_writers(keys, hazard.reader);
    }
  }

  void add_copies(Keys &keys, const std::string &note) const {
    for (const Block *block : blocks_)
      if (block->async && names(note, block->body.buffer->name))
        add(keys, key(*block));
  }

  void add_last_blocks(Keys &keys, Axis axis) const {
    for (const For *loop : loops_)
      if (loop->last_block() && loop->axis() == axis)
        add(keys, key(*loop));
  }

  std::vector<const For *> loops_;
  std::vector<const Block *> blocks_;
  std::vector<Buffer> temporaries_;
};

/// The lines of a nest in the order of the printer: one for a loop, one for a block and one for each store.
void add_nest(const Stmt &stmt, std::vector<Keys> &lines) {
  visit(stmt, Overloaded{[&](const For &loop) {
                           lines.push_back({key(loop)});
                           add_nest(loop.body, lines);
                         },
                         [&](const Seq &seq) {
                           for (const Stmt &child : seq.stmts)
                             add_nest(child, lines);
                         },
                         [&](const Block &block) {
                           lines.push_back({key(block), init_key(block)});
                           if (block.init)
                             lines.push_back({init_key(block)});
                           lines.push_back({key(block)});
                         }});
}

/// The lines of a statement in the order of the printer of kernels.
void add_statement(const kernel::Stmt &stmt, const Origins &origins, std::vector<Keys> &lines) {
  if (const auto *seq = kernel::as<kernel::Seq>(stmt)) {
    for (const kernel::Stmt &child : seq->stmts)
      add_statement(child, origins, lines);
    if (seq->stmts.empty())
      lines.emplace_back();
    return;
  }
  lines.push_back(origins.of(stmt));
  if (const auto *loop = kernel::as<kernel::Loop>(stmt))
    add_statement(loop->body, origins, lines);
  if (const auto *branch = kernel::as<kernel::If>(stmt)) {
    add_statement(branch->body, origins, lines);
    if (branch->otherwise) {
      lines.emplace_back();
      add_statement(branch->otherwise, origins, lines);
    }
  }
}

LinkedText without_links(std::string_view text) {
  LinkedText lines;
  for (std::string &line : split_lines(text))
    lines.push_back({std::move(line), {}});
  return lines;
}

/// The last lines of the text get the keys; the lines before them declare.
void link_end(LinkedText &lines, std::size_t begin, const std::vector<Keys> &keys, const Origins &origins) {
  internal_check(lines.size() - begin >= keys.size(), "a text has a line for each statement");
  std::size_t first = lines.size() - keys.size();
  for (std::size_t n = begin; n < first; ++n)
    lines[n].keys = origins.of_declaration(lines[n].text);
  for (std::size_t n = 0; n < keys.size(); ++n)
    lines[first + n].keys = keys[n];
}

} // namespace

LinkedText linked_program(const Program &program) {
  LinkedText lines = without_links(print(program));
  std::vector<Keys> nest;
  add_nest(program.body, nest);
  link_end(lines, 1, nest, Origins(program));
  return lines;
}

LinkedText linked_kernels(const Program &program, const kernel::Plan &plan) {
  Origins origins(program);
  kernel::Plan only_workspaces = plan;
  only_workspaces.kernels.clear();
  LinkedText lines = without_links(kernel::print(only_workspaces));
  for (const kernel::Kernel &kernel : plan.kernels) {
    if (!lines.empty())
      lines.emplace_back();
    std::size_t begin = lines.size() + 1;
    std::ranges::move(without_links(kernel::print(kernel)), std::back_inserter(lines));
    std::vector<Keys> keys;
    add_statement(kernel.body, origins, keys);
    link_end(lines, begin, keys, origins);
  }
  return lines;
}

LinkedText linked_cuda(const Program &program, const kernel::Plan &plan) {
  CudaText text = cuda_text(plan);
  std::vector<std::pair<std::size_t, kernel::Stmt>> begins;
  for (const kernel::Kernel &kernel : plan.kernels)
    kernel::walk(kernel.body, [&](const kernel::Stmt &stmt) {
      if (auto found = text.begins.find(stmt.get());
          found != text.begins.end() && !kernel::as<kernel::Seq>(stmt))
        begins.emplace_back(found->second, stmt);
    });
  std::ranges::stable_sort(begins, {}, &std::pair<std::size_t, kernel::Stmt>::first);

  Origins origins(program);
  LinkedText lines = without_links(text.text);
  std::size_t offset = 0;
  auto next = begins.begin();
  kernel::Stmt current;
  bool declares = false; // between the head of a kernel and its first statement
  for (LinkedLine &line : lines) {
    if (line.text.starts_with("extern \"C\" __global__"))
      current = nullptr, declares = true;
    for (; next != begins.end() && next->first <= offset; ++next)
      current = next->second, declares = false;
    bool closes = line.text.find_first_not_of(" }") == std::string::npos || line.text.ends_with("} else {");
    if (current && !closes)
      line.keys = origins.of(current);
    else if (declares)
      line.keys = origins.of_declaration(line.text);
    offset += line.text.size() + 1;
  }
  return lines;
}

std::vector<std::size_t> same_lines(const std::string &text, const LinkedText &other) {
  auto without_numbers = [](const std::string &line) {
    std::string result;
    for (std::size_t n = 0; n < line.size(); ++n) {
      bool digit = std::isdigit(static_cast<unsigned char>(line[n])) != 0,
           in_name = n > 0 && is_word(line[n - 1]);
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
