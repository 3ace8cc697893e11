#pragma once
/// Counts how often statements of a kernel execute, for all sizes. A count is a sum of polynomials under
/// conditions, so it holds for every thread and every iteration.
///
/// The iterations of a loop in which a guard holds are the first ones or the last ones. Z3 proves this, and a
/// loop with other guards cannot be counted.

#include "lowering/kernel.h"
#include "tests/proofs/translate.h"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace nestsmith::proofs {

/// A summand: `yes` where the condition holds, and `no` elsewhere.
struct PartOfCount {
  Formula condition;
  Poly yes, no;
};
using Count = std::vector<PartOfCount>;
using Counts = std::map<std::size_t, Count>; ///< for each thing that is counted, by its number
void add(Counts &sum, const Counts &more);

class Counter {
public:
  /// Returns the summand of each count for one execution of a statement without children.
  using Unit = std::function<std::map<std::size_t, std::int64_t>(const kernel::Stmt &)>;
  Counter(Translator &translator, Unit unit)
      : translator_(translator), prover_(translator.prover()), unit_(std::move(unit)) {}

  /// Whether anything in the statement counts.
  bool counts(const kernel::Stmt &stmt);
  /// Returns the summands for one execution of the statement. It gives values to the variables that are
  /// declared in it. A branch for roles adds what both sides do.
  Counts of(const kernel::Stmt &stmt);
  /// The summands of the iterations of a loop: of those before the current one, and of all.
  struct Iterations {
    Counts before, all;
  };
  Iterations iterations(const kernel::Loop &loop);
  /// The unknown for the current iteration. Loops that are nested equally deep and have the same extent share
  /// it, so that equal conditions of two roles are equal formulas.
  Poly variable(const kernel::Loop &loop);
  void assume_range(const kernel::Loop &loop);
  /// The loops around the statements that are counted.
  std::size_t depth = 0;

  Poly value(const Count &count); ///< under the current facts
  Poly value(const Counts &counts, std::size_t of);

  std::vector<std::string> uncounted; ///< loops that cannot be counted

private:
  /// How a condition changes from one iteration of a loop to the next: it keeps its value, holds until it ends,
  /// or from where it begins on.
  struct Course {
    enum class Kind : std::uint8_t { unknown, constant, ends, begins } kind = Kind::unknown;
    std::optional<Poly> change = {}; ///< the first iteration with the other value, if it is known
  };
  Course course_of(const Poly &variable, const PartOfCount &first, const PartOfCount &now,
                   const PartOfCount &next);
  /// The summand of the iterations before the current one, and that of all.
  struct Sum {
    PartOfCount before, all;
  };
  Sum sum_of(const Poly &variable, const Poly &extent, const Course &course, const PartOfCount &first,
             const Formula &condition);
  /// The iteration in which the condition changes. Equal conditions change in the same one.
  Poly limit(const Poly &variable, const Poly &extent, const Formula &condition);
  Poly extent_of(const kernel::Loop &loop);
  Poly clamped(const Poly &x, const Poly &most);
  Poly least_of(const Poly &x, const Poly &y);
  Poly chosen(const PartOfCount &part);

  Translator &translator_;
  Prover &prover_;
  Unit unit_;
  std::map<const kernel::StmtNode *, bool> counts_;
  std::map<std::pair<std::size_t, Poly>, Poly> variables_; ///< by the depth and the extent
  std::map<std::pair<Poly, Poly>, Poly> least_;
  struct Limit {
    Poly variable, extent;
    Formula condition;
    Poly value;
  };
  std::vector<Limit> limits_;
  std::vector<std::pair<PartOfCount, Poly>> chosen_;
};

} // namespace nestsmith::proofs
