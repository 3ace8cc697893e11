#pragma once
/// The extents of a shape as text: "512x512x512".

#include <cstdint>
#include <string>
#include <vector>

namespace nestsmith {

std::string extents_text(const std::vector<std::int64_t> &extents);
/// The extents in `text`, each from 1 to 2^31 - 1. Empty with the reason in `why` if the text is malformed.
std::vector<std::int64_t> parse_extents(const std::string &text, std::string &why);

} // namespace nestsmith
