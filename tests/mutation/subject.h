#pragma once
/// The programs in which bugs are seeded: the rungs, and schedules of computations with many dependences and
/// of integer data (tests/mutation/computations.h), each at a few small shapes that hurt.

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
  /// The runs of a plan: one for a fixed shape, and launches for several sizes for a symbolic shape.
  std::vector<kernel::Plan> launches(const kernel::Plan &plan) const;

  int sites(const Kind &kind) const;
  struct Mutant {
    kernel::Plan plan;
    std::string where;
    std::optional<std::string> breach;     ///< what a verifier said on the way; the plan is empty then
    std::optional<std::string> obligation; ///< the first that the changed schedule owes; the plan is empty then
  };
  Mutant mutant(const Kind &kind, int site) const;

private:
  struct Seed;
  Mutant scheduled_mutant(const Kind &kind, Chooser &chooser) const;
  Schedule schedule_;
  std::vector<std::vector<std::int64_t>> sizes_; ///< of each launch, where the shape is symbolic
  std::shared_ptr<Seed> seed_;
  Lowering extracted_; ///< the pass that seeds a bug is the next
  kernel::Plan plan_;
};

struct Subject {
  const Rung *rung;
  std::string label; ///< "edges", "odd", "sizes"
  Shape shape;
  std::unique_ptr<Lowered> ring, real; ///< of u32 and f32
  std::string name() const;
  /// The places of a bug. Bugs of data that wrap are seeded in computations on such data only, and other bugs
  /// in all others: `terms_of` does not decide masks on data.
  int sites(const Kind &kind) const;
};

/// All rungs, or those named, but for one whose kernels are those of an earlier one.
///   edges  a bit more than a tile: rows of whole vectors, three tiles of k, the last of them cut
///   odd    one more than a tile, but for the columns, of which there is one less; two tiles of k
///   sizes  known only at launch: as odd, as the tile, 1; rows lie further apart than they are long
std::vector<Subject> subjects(const std::vector<std::string> &rungs = {});

} // namespace nestsmith::mutation
