#include "dsl/schedule/extents.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <limits>
#include <llvm/ADT/SmallVector.h>
#include <llvm/ADT/StringRef.h>

namespace nestsmith {

std::string extents_text(const std::vector<std::int64_t> &extents) {
  return fmt::format("{}", fmt::join(extents, "x"));
}

std::vector<std::int64_t> parse_extents(const std::string &text, std::string &why) {
  constexpr std::int64_t largest = std::numeric_limits<std::int32_t>::max();
  llvm::SmallVector<llvm::StringRef, 4> parts;
  llvm::StringRef(text).split(parts, 'x');
  std::vector<std::int64_t> extents;
  for (llvm::StringRef part : parts) {
    llvm::StringRef digits = part;
    digits.consume_front("-");
    std::int64_t extent = 0;
    if (digits.empty() || digits.find_first_not_of("0123456789") != llvm::StringRef::npos)
      why = fmt::format("'{}' is not a number", part.str());
    else if (digits.size() != part.size() || digits.ltrim('0').empty())
      why = fmt::format("an extent must be at least 1, got {}", part.str());
    else if (part.getAsInteger(10, extent) || extent > largest)
      why = fmt::format("an extent must be at most {}, got {}", largest, part.str());
    else {
      extents.push_back(extent);
      continue;
    }
    return {};
  }
  return extents;
}

} // namespace nestsmith
