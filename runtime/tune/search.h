#pragma once
/// The order in which the points of a space are tried.

#include "dsl/schedule/knobs.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace nestsmith::tune {

enum class SearchMethod : std::uint8_t {
  exhaustive, ///< in the order of the candidates
  random,     ///< in a random order, which depends only on the seed
  learn       ///< points that the measured ones suggest
};

/// Proposes candidates for measurement. With `SearchMethod::learn`, the first points are random. After that, a
/// Gaussian process over the logarithms of the measured times predicts the time of each other candidate, with
/// its uncertainty, and the candidates with the lowest optimistic time are proposed. Two points are similar if
/// most of their knobs are equal, or have numbers of a similar size.
class Search {
public:
  Search(std::vector<KnobValues> candidates, SearchMethod way, std::uint64_t seed);

  /// Positions of up to `count` candidates that were not proposed before; empty if all were. The first
  /// candidate is always in the first proposal.
  std::vector<std::size_t> propose(std::size_t count);
  /// The median time of a candidate in ms. None: it is not legal, or was removed. The candidate is not proposed
  /// afterwards.
  void learn(std::size_t candidate, std::optional<double> ms);

  /// Adds a candidate that the search does not have.
  void add(KnobValues candidate);
  /// Proposes these points, in this order, before all others but the first candidate. Adds those that the
  /// search does not have.
  void try_first(const std::vector<KnobValues> &points);

  std::size_t size() const { return candidates_.size(); }
  const KnobValues &candidate(std::size_t position) const { return candidates_[position]; }
  /// The measured candidates, the fastest first.
  std::vector<std::size_t> best() const;

private:
  std::vector<std::size_t> suggested(std::size_t count);

  std::vector<KnobValues> candidates_;
  SearchMethod way_;
  std::vector<std::size_t> order_; ///< the first candidate, and the others in random or in their own order
  std::vector<bool> proposed_;
  std::map<std::size_t, std::optional<double>> measured_;
};

/// A random number for a point, which depends only on the seed: for a random order that is the same with every
/// standard library.
std::uint64_t random_key(const KnobValues &point, std::uint64_t seed);

/// Spearman's rank correlation of two lists of the same length: 1 for the same order, -1 for the reverse order.
/// Equal values share the mean of their ranks. 0 if a list has fewer than two different values.
double rank_correlation(const std::vector<double> &a, const std::vector<double> &b);

} // namespace nestsmith::tune
