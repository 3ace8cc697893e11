#include "runtime/guarded_buffer.h"

#include <cstring>

#include <fmt/format.h>

namespace nestsmith::cuda {
namespace {

/// Word `i` of a band: a quiet NaN as f32, and another word everywhere, so that copied data shows.
std::uint32_t band_word(std::size_t i) {
  return 0xFFC00000u | static_cast<std::uint32_t>(i * 2654435761u >> 10);
}

std::byte band_byte(std::size_t i) { return static_cast<std::byte>(band_word(i / 4) >> (8 * (i % 4)) & 0xFF); }

std::byte poison_byte(std::uint32_t poison, std::size_t i) {
  return static_cast<std::byte>(poison >> (8 * (i % 4)) & 0xFF);
}

} // namespace

GuardedBuffer::GuardedBuffer(const Device &device, std::string name, Role role, const Array &array)
    : name_(std::move(name)), role_(role), bytes_(array.bytes()), memory_(device, bytes_ + 2 * band) {}

void GuardedBuffer::reset(const Array &array, std::uint32_t poison) const {
  std::vector<std::byte> content(memory_.bytes());
  for (std::size_t i = 0; i < band; ++i) {
    content[i] = band_byte(i);
    content[band + bytes_ + i] = band_byte(i);
  }
  if (role_ == Role::output)
    for (std::size_t i = 0; i < bytes_; ++i)
      content[band + i] = poison_byte(poison, i);
  else if (bytes_ > 0)
    std::memcpy(content.data() + band, array.data(), bytes_);
  memory_.write(0, content.data(), content.size());
}

void GuardedBuffer::check_bands(const std::vector<std::byte> &content,
                                std::vector<std::string> &problems) const {
  std::size_t changed_before = 0, nearest_before = 0, changed_after = 0, nearest_after = 0;
  for (std::size_t i = 0; i < band; ++i) {
    if (content[i] != band_byte(i)) {
      ++changed_before;
      nearest_before = band - i;
    }
    if (content[band + bytes_ + i] != band_byte(i) && changed_after++ == 0)
      nearest_after = i;
  }
  if (changed_before)
    problems.push_back(fmt::format("buffer {}: written out of bounds, {} bytes within {} before its start, the "
                                   "nearest {} before it",
                                   name_, changed_before, band, nearest_before));
  if (changed_after)
    problems.push_back(fmt::format("buffer {}: written out of bounds, {} bytes within {} after its end, the "
                                   "nearest at byte offset {} of its {} bytes",
                                   name_, changed_after, band, bytes_ + nearest_after, bytes_));
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
