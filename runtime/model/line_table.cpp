/// Reads the line table of a CUBIN: the section .debug_line, in the format of DWARF 2 or 3 ("DWARF Debugging
/// Information Format", section 6.2). Its only relocation is the address of the kernel.

#include "runtime/model/cubin_section.h"
#include "runtime/model/machine_code.h"

#include <algorithm>

namespace nestsmith::model {

namespace {

/// Reads a section from its begin. Past its end, all values are 0.
class LineReader {
public:
  LineReader(const std::vector<char> &file, Section section)
      : file_(file), at_(section.begin), end_(section.begin + section.size) {}
  bool more() const { return at_ < end_; }
  std::uint64_t position() const { return at_; }
  void go_to(std::uint64_t position) { at_ = std::min(position, end_); }
  template <class T> T next() {
    T value = at_ + sizeof(T) <= end_ ? at<T>(file_, at_) : T{};
    go_to(at_ + sizeof(T));
    return value;
  }
  std::uint64_t unsigned_leb() { return leb().first; }
  std::int64_t signed_leb() {
    auto [value, bits] = leb();
    bool negative = bits > 0 && bits < 64 && (value >> (bits - 1) & 1);
    return static_cast<std::int64_t>(negative ? value | ~std::uint64_t{0} << bits : value);
  }

private:
  std::pair<std::uint64_t, int> leb() {
    std::uint64_t value = 0;
    for (int bits = 0;; bits += 7) {
      auto byte = next<std::uint8_t>();
      if (bits < 64)
        value |= static_cast<std::uint64_t>(byte & 0x7F) << bits;
      if (!(byte & 0x80))
        return {value, bits + 7};
    }
  }

  const std::vector<char> &file_;
  std::uint64_t at_, end_;
};

/// The state of the program that makes the table.
struct LineProgram {
  std::int64_t line = 1;
  std::uint64_t address = 0;
  std::uint64_t minimum = 1, range = 1, opcodes = 1;
  std::int64_t base = 0;
  std::vector<std::uint8_t> operands; ///< of each standard opcode, from opcode 1
  std::vector<std::pair<std::uint64_t, std::int64_t>> rows;

  void row() { rows.emplace_back(address, line); }
  void advance(std::uint64_t operation) { address += operation * minimum; }
  void special(std::uint64_t opcode) {
    std::uint64_t adjusted = opcode - opcodes;
    advance(adjusted / range);
    line += base + static_cast<std::int64_t>(adjusted % range);
    row();
  }
  void extended(LineReader &reader) {
    constexpr std::uint8_t end_sequence = 1, set_address = 2;
    std::uint64_t size = reader.unsigned_leb(), begin = reader.position();
    auto opcode = reader.next<std::uint8_t>();
    if (opcode == end_sequence) {
      rows.emplace_back(address, 0);
      line = 1;
      address = 0;
    } else if (opcode == set_address) {
      address = reader.next<std::uint64_t>();
    }
    reader.go_to(begin + std::max<std::uint64_t>(size, 1));
  }
  void standard(std::uint8_t opcode, LineReader &reader) {
    switch (opcode) {
    case 1:
      row();
      return;
    case 2:
      advance(reader.unsigned_leb());
      return;
    case 3:
      line += reader.signed_leb();
      return;
    case 8:
      advance((255 - opcodes) / range);
      return;
    case 9:
      address += reader.next<std::uint16_t>();
      return;
    default:
      for (int n = 0; n < operands[opcode - 1U]; ++n)
        reader.unsigned_leb();
    }
  }
};

} // namespace

std::vector<int> source_lines(const std::vector<char> &cubin, const std::string &name) {
  constexpr std::uint64_t instruction_size = 16;
  Section table = section(cubin, ".debug_line"), text = section(cubin, ".text." + name);
  LineReader reader(cubin, table);
  auto size = reader.next<std::uint32_t>();
  auto version = reader.next<std::uint16_t>();
  auto header = reader.next<std::uint32_t>();
  std::uint64_t begin = reader.position() + header;
  LineProgram program;
  program.minimum = reader.next<std::uint8_t>();
  reader.next<std::uint8_t>(); // default of is_stmt
  program.base = reader.next<std::int8_t>();
  program.range = reader.next<std::uint8_t>();
  program.opcodes = reader.next<std::uint8_t>();
  bool known = version == 2 || version == 3; // with the same header
  if (!known || program.range == 0 || program.opcodes == 0 || size == 0)
    return {};
  for (std::uint64_t n = 1; n < program.opcodes; ++n)
    program.operands.push_back(reader.next<std::uint8_t>());
  reader.go_to(begin);
  while (reader.more()) {
    auto opcode = reader.next<std::uint8_t>();
    if (opcode >= program.opcodes)
      program.special(opcode);
    else if (opcode == 0)
      program.extended(reader);
    else
      program.standard(opcode, reader);
  }
  std::vector<int> lines(text.size / instruction_size);
  for (std::size_t n = 0; n < program.rows.size(); ++n) {
    std::uint64_t first = program.rows[n].first / instruction_size;
    std::uint64_t last =
        n + 1 < program.rows.size() ? program.rows[n + 1].first / instruction_size : lines.size();
    for (std::uint64_t k = first; k < std::min<std::uint64_t>(last, lines.size()); ++k)
      lines[k] = static_cast<int>(program.rows[n].second);
  }
  return lines;
}

} // namespace nestsmith::model
