#include "tools/advice/changes.h"

#include <algorithm>
#include <bit>
#include <fmt/format.h>
#include <map>

namespace nestsmith::cli {

namespace {

constexpr std::int64_t bytes_of_all_banks = 128, bytes_of_vector = 16, bytes_of_word = 4;

/// A shared buffer whose requests conflict, and the block that writes it.
struct Conflicted {
  std::string buffer;
  BlockRef writer;
  std::int64_t bytes = 4, row = 1; ///< of an element; elements of a row, as it is stored
};

/// The length of the rows of a buffer in a kernel.
std::int64_t row_of(const kernel::Kernel &kernel, const std::string &buffer) {
  for (const kernel::Allocation &tile : kernel.shared)
    if (tile.buffer->name == buffer && !tile.tile.empty())
      return tile.tile.back();
  return 1;
}

std::vector<Conflicted> conflicted(const Subject &subject) {
  const KernelAnalysis &kernel = subject.analysis.slowest();
  std::map<std::string, std::uint64_t> conflicts;
  for (const model::AccessCounts &access : kernel.counters.accesses)
    if (access.buffer->scope == Scope::shared)
      conflicts[access.buffer->name] += access.conflicts;
  std::vector<Conflicted> found;
  for (const Block *block : blocks_of(subject.scheduled.schedule.program().body)) {
    const Buffer &buffer = block->body.buffer;
    bool seen = std::ranges::find(found, buffer->name, &Conflicted::buffer) != found.end();
    if (!seen && conflicts.contains(buffer->name) && conflicts[buffer->name] > 0)
      found.push_back(
          {buffer->name, {block->id}, byte_size(buffer->dtype), row_of(kernel.kernel, buffer->name)});
  }
  return found;
}

/// The change of one buffer, or of all together.
using Storage = std::function<void(Schedule &, const Conflicted &)>;
Change of_buffers(const Subject &subject, Texts what, std::vector<Conflicted> buffers, Storage storage) {
  const Schedule &from = subject.scheduled.schedule;
  return {std::move(what), [&from, buffers = std::move(buffers), storage = std::move(storage)] {
            Schedule s = from;
            for (const Conflicted &each : buffers)
              storage(s, each);
            return s;
          }};
}

} // namespace

std::vector<Change> pad_rows(const Subject &subject) {
  std::vector<Change> changes;
  for (const Conflicted &each : conflicted(subject))
    for (std::int64_t bytes : {bytes_of_word, bytes_of_vector}) {
      if (bytes < each.bytes)
        continue;
      std::int64_t banks = bytes_of_all_banks / each.bytes, offset = bytes / each.bytes;
      std::int64_t row = each.row + ((offset - each.row) % banks + banks) % banks;
      changes.push_back(of_buffers(
          subject,
          each.bytes == bytes_of_word
              ? texts("pad {} to rows of {} words", "{}의 행을 워드 {}개로 패딩하기", each.buffer, row)
              : texts("pad {} to rows of {} elements", "{}의 행을 원소 {}개로 패딩하기", each.buffer, row),
          {each}, [=](Schedule &s, const Conflicted &of) { s.storage_align(of.writer, 0, banks, offset); }));
    }
  return changes;
}

std::vector<Change> swizzle_words(const Subject &subject) {
  auto log2_of = [](std::int64_t n) {
    return static_cast<std::int64_t>(std::bit_width(static_cast<std::uint64_t>(n))) - 1;
  };
  std::vector<Change> changes;
  for (const Conflicted &each : conflicted(subject)) {
    std::int64_t word = log2_of(std::max<std::int64_t>(1, bytes_of_word / each.bytes)),
                 vector = log2_of(bytes_of_vector / each.bytes), row = log2_of(each.row),
                 banks = log2_of(bytes_of_all_banks / each.bytes);
    for (auto [base, from] : {std::pair{word, row}, {vector, row}, {word, banks}, {vector, banks}}) {
      std::int64_t bits = std::min(banks - base, std::max<std::int64_t>(1, from - base));
      std::int64_t shift = std::max(from - base, bits);
      Texts known = texts("swizzle {} by ({}, {}, {})", "{}에 swizzle({}, {}, {}) 적용하기", each.buffer, bits,
                          base, shift);
      if (std::ranges::find(changes, known, &Change::what) == changes.end())
        changes.push_back(of_buffers(subject, known, {each}, [=](Schedule &s, const Conflicted &of) {
          s.swizzle(of.writer, bits, base, shift);
        }));
    }
  }
  return changes;
}

} // namespace nestsmith::cli
