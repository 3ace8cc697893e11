#pragma once
/// Knobs: the choices that a schedule leaves open. A schedule function asks for each choice by name:
///
///   std::int64_t bk = knobs.choose("bk", {8, 16, 32});
///   auto [k_outer, k_inner] = s.split(k, {infer, bk});
///
/// The first candidate is the default. Each combination of candidates, a *point*, is an ordinary schedule. The
/// knobs that a schedule asks for, and their candidates, may depend on the shape and on earlier choices.

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace nestsmith {

/// The values of knobs as text, by name: {"bk", "16"}, {"tile", "2x4x4"}, {"order", "j i k"}, {"zigzag",
/// "true"}.
using KnobValues = std::map<std::string, std::string>;

struct Knob {
  std::string name;
  std::vector<std::string> candidates; ///< the first one is the default
  std::size_t chosen = 0;              ///< position in `candidates`
};

class Knobs {
public:
  /// Every knob has its default.
  Knobs() = default;
  /// The knobs in `values` have these values, all others their defaults.
  explicit Knobs(KnobValues values) : values_(std::move(values)) {}
  /// The knobs in `values` have these values. All others have random candidates, which depend only on `seed`
  /// and on the names and the candidates of the knobs.
  static Knobs random(std::uint64_t seed, KnobValues values = {});

  /// Sets the values of knobs that have no value yet.
  void fix(const KnobValues &values) { values_.insert(values.begin(), values.end()); }
  /// Sets the defaults of knobs. A knob for which the value is not a candidate keeps its first candidate as the
  /// default.
  void prefer(KnobValues values) { preferred_ = std::move(values); }

  /// Each function returns the chosen candidate. All throw UserError (usage) if the list of candidates is empty
  /// or contains a candidate twice, if a knob is asked for twice with different candidates, if its name is not
  /// an identifier, or if its value in `values` is not a candidate.
  std::int64_t choose(const std::string &name, const std::vector<std::int64_t> &candidates);
  std::string choose(const std::string &name, const std::vector<std::string> &candidates);
  bool flag(const std::string &name, bool otherwise = false);
  /// As many factors as `usual` has, with the same product, in all orders. Each factor is at most `largest`.
  /// `usual` is the default. The product is at most 2^40, and there are at most 64
  /// factors and 65,536 candidates.
  std::vector<std::int64_t> factors(const std::string &name, const std::vector<std::int64_t> &usual,
                                    std::int64_t largest = INT64_MAX);

  /// The knobs that were asked for, in this order.
  const std::vector<Knob> &asked() const { return asked_; }
  /// The chosen value of each knob that was asked for.
  KnobValues chosen() const;
  /// Throws UserError (usage) if `values` contains a knob that was not asked for.
  void refuse_unknown() const;

private:
  std::size_t choice(const std::string &name, std::vector<std::string> candidates);

  KnobValues values_, preferred_;
  std::optional<std::uint64_t> seed_;
  std::vector<Knob> asked_;
};

/// "bk=16, zigzag=true"; empty for no knobs.
std::string to_string(const KnobValues &values);
/// Parses "bk=16,order=j i k". Throws UserError (usage).
KnobValues parse_knobs(const std::string &text);

/// Enumerates the points of a space. The knobs of a point are known only after its schedule was built, so the
/// loop is:
///
///   for (KnobSpace space; space.has_point(); ) {
///     Knobs knobs = space.point();
///     … build the schedule with `knobs`; it may throw …
///     space.advance(knobs);
///   }
///
/// The last knob that a schedule asks for varies fastest. Points that differ only in knobs that were not asked
/// for are one point.
class KnobSpace {
public:
  /// The knobs in `fixed` have these values at all points.
  explicit KnobSpace(KnobValues fixed = {}) : fixed_(std::move(fixed)), next_(fixed_) {}
  bool has_point() const { return has_point_; }
  Knobs point() const { return Knobs(next_); }
  /// `built` are the knobs of this point after its schedule was built.
  void advance(const Knobs &built);

private:
  KnobValues fixed_, next_;
  bool has_point_ = true;
};

} // namespace nestsmith
