#include "runtime/tune/search.h"

#include "dsl/expr/error.h"

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <llvm/ADT/StringRef.h>
#include <llvm/Support/xxhash.h>
#include <numeric>

namespace nestsmith::tune {

namespace {

/// The random points before the first prediction, and the most measurements that a prediction uses: its time
/// grows with the third power of their number.
constexpr std::size_t first_random = 12, most_learned = 400;
/// The factor of the uncertainty in an optimistic time.
constexpr double optimism = 1.0;
/// The relative variance of a measurement.
constexpr double noise = 1e-3;

/// Similarity of two values of one knob, in (0, 1].
double similarity(const std::string &a, const std::string &b) {
  constexpr double of_different = 0.5;
  if (a == b)
    return 1;
  std::int64_t x = 0, y = 0;
  if (llvm::StringRef(a).getAsInteger(10, x) || llvm::StringRef(b).getAsInteger(10, y) || x <= 0 || y <= 0)
    return of_different;
  return std::exp(-0.35 * std::abs(std::log2(static_cast<double>(x) / static_cast<double>(y))));
}

double similarity(const KnobValues &a, const KnobValues &b) {
  double product = 1;
  for (const auto &[name, value] : a) {
    auto other = b.find(name);
    product *= other == b.end() ? 0.5 : similarity(value, other->second);
  }
  for (const auto &[name, value] : b)
    if (!a.contains(name))
      product *= 0.5;
  return product;
}

std::vector<double> ranks(const std::vector<double> &values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t n) { return values[n]; });
  std::vector<double> result(values.size());
  for (std::size_t begin = 0; begin < order.size();) {
    std::size_t end = begin;
    while (end < order.size() && values[order[end]] == values[order[begin]])
      ++end;
    for (std::size_t n = begin; n < end; ++n)
      result[order[n]] = static_cast<double>(begin + end - 1) / 2;
    begin = end;
  }
  return result;
}

} // namespace

Search::Search(std::vector<KnobValues> candidates, SearchMethod way, std::uint64_t seed)
    : candidates_(std::move(candidates)), way_(way), order_(candidates_.size()), proposed_(candidates_.size()) {
  std::iota(order_.begin(), order_.end(), std::size_t{0});
  if (way_ == SearchMethod::exhaustive || order_.empty())
    return;
  std::vector<std::uint64_t> keys;
  for (const KnobValues &knobs : candidates_)
    keys.push_back(random_key(knobs, seed));
  std::stable_sort(order_.begin() + 1, order_.end(),
                   [&](std::size_t a, std::size_t b) { return keys[a] < keys[b]; });
}

std::vector<std::size_t> Search::propose(std::size_t count) {
  std::vector<std::size_t> list;
  if (way_ == SearchMethod::learn && measured_.size() >= first_random && count > 0)
    list = suggested(count);
  for (std::size_t n = 0; n < order_.size() && list.size() < count; ++n)
    if (!proposed_[order_[n]] && std::ranges::find(list, order_[n]) == list.end())
      list.push_back(order_[n]);
  for (std::size_t candidate : list)
    proposed_[candidate] = true;
  return list;
}

void Search::add(KnobValues candidate) {
  order_.push_back(candidates_.size());
  candidates_.push_back(std::move(candidate));
  proposed_.push_back(false);
}

void Search::try_first(const std::vector<KnobValues> &points) {
  std::vector<std::size_t> first;
  for (const KnobValues &point : points) {
    auto known = std::ranges::find(candidates_, point);
    auto position = static_cast<std::size_t>(known - candidates_.begin());
    if (known == candidates_.end())
      add(point);
    if (std::ranges::find(first, position) == first.end() && (order_.empty() || position != order_.front()))
      first.push_back(position);
  }
  std::erase_if(order_, [&](std::size_t n) { return std::ranges::find(first, n) != first.end(); });
  order_.insert(order_.begin() + (order_.empty() ? 0 : 1), first.begin(), first.end());
}

void Search::learn(std::size_t candidate, std::optional<double> ms) {
  internal_check(candidate < candidates_.size(), "a candidate of the search");
  measured_[candidate] = ms;
  proposed_[candidate] = true;
}

std::vector<std::size_t> Search::best() const {
  std::vector<std::size_t> list;
  for (const auto &[candidate, ms] : measured_)
    if (ms)
      list.push_back(candidate);
  std::ranges::stable_sort(list, {}, [&](std::size_t n) { return *measured_.at(n); });
  return list;
}

/// All but one of `count` proposals are the best optimistic times; the last place is left for a random point.
std::vector<std::size_t> Search::suggested(std::size_t count) {
  std::vector<std::size_t> known = best();
  if (known.size() < 2)
    return {};
  double slowest = std::log(*measured_.at(known.back()));
  std::vector<double> logs;
  for (std::size_t n : known)
    logs.push_back(std::log(*measured_.at(n)));
  for (const auto &[candidate, ms] : measured_) // a removed point counts as slow
    if (!ms && known.size() < most_learned) {
      known.push_back(candidate);
      logs.push_back(slowest);
    }
  std::size_t used = std::min(known.size(), most_learned);
  known.resize(used), logs.resize(used);

  double mean = std::accumulate(logs.begin(), logs.end(), 0.0) / static_cast<double>(used), variance = 0;
  for (double log : logs)
    variance += (log - mean) * (log - mean) / static_cast<double>(used);
  auto size = static_cast<Eigen::Index>(used);
  Eigen::MatrixXd covariance(size, size);
  Eigen::VectorXd centred(size);
  for (Eigen::Index i = 0; i < size; ++i) {
    auto at = static_cast<std::size_t>(i);
    centred(i) = logs[at] - mean;
    for (Eigen::Index j = 0; j <= i; ++j)
      covariance(i, j) = covariance(j, i) =
          similarity(candidates_[known[at]], candidates_[known[static_cast<std::size_t>(j)]]) +
          (i == j ? noise : 0);
  }
  Eigen::LLT<Eigen::MatrixXd> factor(covariance);
  if (factor.info() != Eigen::Success)
    return {};
  Eigen::VectorXd weights = factor.solve(centred);

  std::vector<std::pair<double, std::size_t>> optimistic;
  Eigen::VectorXd row(size);
  for (std::size_t n = 0; n < candidates_.size(); ++n) {
    if (proposed_[n])
      continue;
    for (Eigen::Index i = 0; i < size; ++i)
      row(i) = similarity(candidates_[n], candidates_[known[static_cast<std::size_t>(i)]]);
    double uncertainty = std::max(0.0, 1 - row.dot(factor.solve(row)));
    optimistic.emplace_back(row.dot(weights) - optimism * std::sqrt(variance * uncertainty), n);
  }
  std::ranges::sort(optimistic);
  std::vector<std::size_t> list;
  for (std::size_t n = 0; n < optimistic.size() && list.size() + 1 < std::max<std::size_t>(count, 2); ++n)
    list.push_back(optimistic[n].second);
  return list;
}

std::uint64_t random_key(const KnobValues &point, std::uint64_t seed) {
  return llvm::xxHash64(fmt::format("{} {}", seed, to_string(point)));
}

double rank_correlation(const std::vector<double> &a, const std::vector<double> &b) {
  internal_check(a.size() == b.size(), "two lists of the same length");
  std::vector<double> x = ranks(a), y = ranks(b);
  auto count = static_cast<double>(x.size());
  double mean = (count - 1) / 2, xy = 0, xx = 0, yy = 0;
  for (std::size_t n = 0; n < x.size(); ++n) {
    xy += (x[n] - mean) * (y[n] - mean);
    xx += (x[n] - mean) * (x[n] - mean);
    yy += (y[n] - mean) * (y[n] - mean);
  }
  return xx == 0 || yy == 0 ? 0 : xy / std::sqrt(xx * yy);
}

} // namespace nestsmith::tune
