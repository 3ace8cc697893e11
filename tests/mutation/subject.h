#pragma once
/// The programs in which bugs are seeded: the rungs, and schedules of computations with many dependences and of
/// integer data (tests/mutation/computations.h). Each is lowered for a few small shapes that often expose
/// errors.

#include "lowering/passes.h"
#include "schedules/rung.h"
#include "tests/mutation/catalogue.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace nestsmith::mutation {

/// A rung lowered for one shape and one element type.
class Lowered {
public:
  Lowered(const Rung &rung, const Shape &shape, DType dtype);
  Lowered(const Lowered &) = delete;

  const Schedule &schedule() const { return schedule_; }
  const kernel::Plan &plan() const { return plan_; }
  /// Returns the runs of a plan: one run for a fixed shape, and launches with several sizes for a symbolic
  /// shape.
  std::vector<kernel::Plan> launches(const kernel::Plan &plan) const;

  int sites(const Kind &kind) const;
  struct Mutant {
    kernel::Plan plan;
    std::string where;
    std::optional<std::string> breach;     ///< of a verifier during lowering; then the plan is empty
    std::optional<std::string> obligation; ///< the first one of the changed schedule; then the plan is empty
    sim::WeakArrivals weak = {};           ///< of the machine that executes the plan
  };
  Mutant mutant(const Kind &kind, int site) const;

private:
  struct Seed;
  Mutant final_mutant(const Kind &kind, Chooser &chooser) const;
  Mutant scheduled_mutant(const Kind &kind, Chooser &chooser) const;
  Schedule schedule_;
  std::vector<std::vector<std::int64_t>> sizes_; ///< of each launch of a symbolic shape
  std::shared_ptr<Seed> seed_;
  Lowering extracted_; ///< the lowering up to the pass that seeds a bug
  kernel::Plan plan_;
};

struct Subject {
  const Rung *rung;
  std::string label; ///< "edges", "odd", "sizes"
  Shape shape;
  std::unique_ptr<Lowered> ring, real; ///< of u32 and f32
  std::string name() const;
  /// Returns the number of places of a bug. Bugs in integer data are seeded only in computations of data that
  /// wraps around, and other bugs only in the others, because `terms_of` does not decide masks on data.
  int sites(const Kind &kind) const;
};

/// Returns the subjects of all rungs, or of the named ones. A subject whose kernels equal those of an earlier
/// one is left out. The labels are:
///     edges  a little more than a tile: rows of whole vectors; three tiles of k, the last one partial
///     odd    one more than a tile, except for the columns, which are one fewer; two tiles of k
///     sizes  known only at launch: those of `odd`, of the tile, and 1; there are gaps between the rows
std::vector<Subject> subjects(const std::vector<std::string> &rungs = {});

} // namespace nestsmith::mutation
