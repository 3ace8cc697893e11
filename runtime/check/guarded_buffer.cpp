#include "runtime/check/guarded_buffer.h"

#include <cstring>

#include <fmt/format.h>

namespace nestsmith::cuda {
namespace {

/// A band: quiet NaNs as f32, and another word everywhere, so that copied data shows.
const std::vector<std::uint32_t> &band_words() {
  static const std::vector<std::uint32_t> words = [] {
    std::vector<std::uint32_t> w(GuardedBuffer::band / 4);
    for (std::size_t i = 0; i < w.size(); ++i)
      w[i] = 0xFFC00000u | static_cast<std::uint32_t>(i * 2654435761u) >> 10;
    return w;
  }();
  return words;
}

/// The offsets in bytes, in a band that starts at `content`, of the words that are no longer the band's.
std::vector<std::size_t> changed_words(const std::byte *content) {
  std::vector<std::size_t> changed;
  for (std::size_t i = 0; i < band_words().size(); ++i)
    if (std::memcmp(content + 4 * i, &band_words()[i], 4) != 0)
      changed.push_back(4 * i);
  return changed;
}

std::byte poison_byte(std::uint32_t poison, std::size_t i) {
  return static_cast<std::byte>(poison >> (8 * (i % 4)) & 0xFF);
}

} // namespace

GuardedBuffer::GuardedBuffer(const Device &device, std::string name, Role role, const Array &array)
    : name_(std::move(name)), role_(role), bytes_(array.bytes()), memory_(device, bytes_ + 2 * band) {}

void GuardedBuffer::reset(const Array &array, std::uint32_t poison) const {
  std::vector<std::byte> content(memory_.bytes());
  std::memcpy(content.data(), band_words().data(), band);
  std::memcpy(content.data() + band + bytes_, band_words().data(), band);
  if (role_ == Role::output)
    for (std::size_t i = 0; i < bytes_; ++i)
      content[band + i] = poison_byte(poison, i);
  else if (bytes_ > 0)
    std::memcpy(content.data() + band, array.data(), bytes_);
  memory_.write(0, content.data(), content.size());
}

void GuardedBuffer::check_bands(const std::vector<std::byte> &content,
                                std::vector<std::string> &problems) const {
  std::vector<std::size_t> before = changed_words(content.data());
  std::vector<std::size_t> after = changed_words(content.data() + band + bytes_);
  if (!before.empty())
    problems.push_back(
        fmt::format("buffer {}: written out of bounds, {} bytes before its start (32-bit words changed "
                    "within {} bytes before it: {})",
                    name_, band - before.back(), band, before.size()));
  if (!after.empty())
    problems.push_back(
        fmt::format("buffer {}: written out of bounds, at byte offset {} of its {} bytes (32-bit words "
                    "changed within {} bytes after its end: {})",
                    name_, bytes_ + after.front(), bytes_, band, after.size()));
}

Array GuardedBuffer::read(const Array &original, std::vector<std::string> &problems) const {
  std::vector<std::byte> content(memory_.bytes());
  memory_.read(0, content.data(), content.size());
  check_bands(content, problems);
  Array result = original;
  if (bytes_ > 0)
    std::memcpy(result.data(), content.data() + band, bytes_);
  if (role_ == Role::input && !(result == original))
    problems.push_back(fmt::format("buffer {}: written to, though it is an input", name_));
  return result;
}

std::vector<std::int64_t> poisoned_elements(const Array &array, std::uint32_t poison) {
  std::vector<std::int64_t> found;
  std::size_t width = static_cast<std::size_t>(byte_size(array.dtype()));
  for (std::size_t element = 0; element * width < array.bytes(); ++element) {
    bool same = true;
    for (std::size_t i = element * width; same && i < (element + 1) * width; ++i)
      same = array.data()[i] == poison_byte(poison, i);
    if (same)
      found.push_back(static_cast<std::int64_t>(element));
  }
  return found;
}

} // namespace nestsmith::cuda
