#include "runtime/model/counters.h"

#include "dsl/hardware/gpus.h"
#include "dsl/hardware/intrinsics.h"

#include <algorithm>

namespace nestsmith::model {

namespace {

/// The number of distinct blocks of `size` bytes that the lanes touch.
std::uint32_t different(const WarpRequest &request, std::int64_t bytes, std::int64_t size) {
  std::array<std::int64_t, 64> touched;
  std::size_t count = 0;
  for (std::size_t lane = 0; lane < request.address.size(); ++lane) {
    if (!(request.mask >> lane & 1))
      continue;
    // An access is not wider than a block, so it touches at most two.
    touched[count++] = floor_div(request.address[lane], size);
    std::int64_t last = floor_div(request.address[lane] + bytes - 1, size);
    if (last != touched[count - 1])
      touched[count++] = last;
  }
  std::sort(touched.begin(), touched.begin() + count);
  return static_cast<std::uint32_t>(std::unique(touched.begin(), touched.begin() + count) - touched.begin());
}

/// The greatest number of distinct words that lanes [first, last) request from one bank. One word serves all
/// lanes that request it.
std::uint32_t wavefronts(const WarpRequest &request, std::int64_t bytes, std::size_t first, std::size_t last) {
  std::array<std::int64_t, 32 * 5> words;
  std::size_t count = 0;
  for (std::size_t lane = first; lane < last; ++lane) {
    if (!(request.mask >> lane & 1))
      continue;
    std::int64_t to = floor_div(request.address[lane] + bytes - 1, bank_bytes);
    for (std::int64_t word = floor_div(request.address[lane], bank_bytes); word <= to; ++word)
      words[count++] = word;
  }
  std::sort(words.begin(), words.begin() + count);
  auto end = std::unique(words.begin(), words.begin() + count);
  std::array<std::uint32_t, banks> wanted{};
  for (auto word = words.begin(); word != end; ++word)
    ++wanted[static_cast<std::size_t>(floor_mod(*word, banks))];
  return *std::max_element(wanted.begin(), wanted.end());
}

/// Whether, in every pair of active lanes whose numbers differ only in this bit, both lanes request the same
/// address.
bool pairs_share(const WarpRequest &request, std::size_t bit) {
  for (std::size_t lane = 0; lane < request.address.size(); ++lane) {
    bool both = (request.mask >> lane & 1) && (request.mask >> (lane ^ bit) & 1);
    if (both && request.address[lane] != request.address[lane ^ bit])
      return false;
  }
  return true;
}

} // namespace

RequestCost cost(const WarpRequest &request, std::int64_t bytes, Scope scope) {
  RequestCost result;
  if (scope == Scope::global) {
    result.sectors = different(request, bytes, sector_bytes);
    result.lines = different(request, bytes, line_bytes);
    return result;
  }
  std::size_t lanes = bytes <= 4 ? 32 : bytes <= 8 ? 16 : 8;
  if (bytes > 4 && (pairs_share(request, 1) || pairs_share(request, 2)))
    lanes *= 2;
  for (std::size_t first = 0; first < 32; first += lanes)
    if (std::uint32_t passes = wavefronts(request, bytes, first, first + lanes)) {
      result.wavefronts += passes;
      result.conflicts += passes - 1;
    }
  return result;
}

double RequestSums::sectors_per_request() const {
  return requests == 0 ? 0 : static_cast<double>(sectors) / static_cast<double>(requests);
}

double RequestSums::wavefronts_per_request() const {
  return requests == 0 ? 0 : static_cast<double>(wavefronts) / static_cast<double>(requests);
}

RequestSums &RequestSums::operator+=(const RequestSums &other) {
  requests += other.requests;
  threads += other.threads;
  asked += other.asked;
  sectors += other.sectors;
  lines += other.lines;
  wavefronts += other.wavefronts;
  conflicts += other.conflicts;
  return *this;
}

RequestSums RequestSums::operator*(std::uint64_t times) const {
  return {requests * times, threads * times,    asked * times,    sectors * times,
          lines * times,    wavefronts * times, conflicts * times};
}

RequestSums in_lines(const RequestSums &sums, Scope scope) {
  RequestSums result = sums;
  result.requests = (sums.asked + line_bytes - 1) / line_bytes;
  result.threads = result.requests * 32;
  result.conflicts = 0;
  if (scope == Scope::global && sums.threads == sums.requests) // one lane stands for it, an element at a time
    result.sectors = (sums.asked + sector_bytes - 1) / sector_bytes;
  (scope == Scope::global ? result.lines : result.wavefronts) = result.requests;
  return result;
}

OpCounts &OpCounts::operator+=(const OpCounts &other) {
  warps += other.warps;
  threads += other.threads;
  return *this;
}

RequestSums Counters::total(Scope scope, bool stores) const {
  RequestSums result;
  for (const AccessCounts &access : accesses)
    if (access.buffer->scope == scope && access.is_store() == stores)
      result += access;
  return result;
}

RequestSums Counters::ordinary(Scope scope, bool stores) const {
  RequestSums result;
  for (const AccessCounts &access : accesses)
    if (access.buffer->scope == scope && access.is_store() == stores && !access.is_async() &&
        !access.is_ldmatrix() && !access.is_tile())
      result += access;
  return result;
}

bool AccessCounts::is_tile() const {
  const auto *call = stmt ? kernel::as<kernel::Call>(stmt) : nullptr;
  return call && reads_tiles(call->intrinsic);
}

RequestSums Counters::tiles() const {
  RequestSums result;
  for (const AccessCounts &access : accesses)
    if (access.is_tile())
      result += access;
  return result;
}

RequestSums Counters::ldmatrix() const {
  RequestSums result;
  for (const AccessCounts &access : accesses)
    if (access.is_ldmatrix())
      result += access;
  return result;
}

RequestSums Counters::copied(Scope scope) const {
  RequestSums result;
  for (const AccessCounts &access : accesses)
    if (access.buffer->scope == scope && access.is_async())
      result += access;
  return result;
}

RequestSums Counters::merged(Scope scope, bool stores) const {
  RequestSums result;
  for (const AccessCounts &access : accesses)
    if (access.buffer->scope == scope && access.is_store() == stores)
      result += access.merged;
  return result;
}

OpCounts Counters::matrix_calls() const {
  OpCounts all;
  for (const auto &[intrinsic, calls] : matrix)
    all += calls;
  return all;
}

std::uint64_t Counters::matrix_multiply_adds() const {
  std::uint64_t all = 0;
  for (const auto &[intrinsic, calls] : matrix)
    all += calls.warps * multiply_adds_of(*intrinsic);
  return all;
}

OpCounts Counters::instructions() const {
  OpCounts all = matrix_calls();
  for (const OpCounts &ops : {multiply_adds, floating, integer, barriers, branches})
    all += ops;
  for (const AccessCounts &access : accesses)
    if (access.is_ldmatrix())
      all += {access.requests, access.requests * 32};
    else if (!(access.is_async() && access.is_store()) && !access.is_tile() && !access.is_bulk())
      all += {access.requests, access.threads};
  return all;
}

} // namespace nestsmith::model
