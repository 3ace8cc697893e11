#pragma once
/// Text of records, for files that are committed and compared.

#include "runtime/records/record.h"

#include <cstddef>
#include <string>
#include <vector>

namespace nestsmith::records {

/// Text of records: JSON with one line per record, so that it can be committed and compared. The order is
/// fixed, or that of `records` if they are `sorted`.
std::string to_text(const std::vector<Record> &records, bool sorted = false);
/// The bytes that the text of records may have.
inline constexpr std::size_t most_text_bytes = 64 << 20;
/// Throws UserError (usage) for malformed text. `where` names the file in messages.
std::vector<Record> parse_records(const std::string &text, const std::string &where);

} // namespace nestsmith::records
