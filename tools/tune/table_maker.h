#pragma once
/// `tune --table`: measures the points of a rung of matrix products at the sizes that a model of any size
/// needs, and keeps the points that this model chooses somewhere (schedules/kernels/kernel_model.h). Of each
/// form, it also measures the kernel for all sizes, at three sizes.

#include "runtime/records/database.h"
#include "schedules/kernels/kernel_model.h"
#include "tools/tune/tuning.h"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace nestsmith::cli {

/// Throws UserError (usage) if the rung has no points for a kernel table.
void check_has_points(const ChosenRung &choice);

class TableMaker {
public:
  /// Throws UserError (usage) if the rung has no points for a kernel table.
  TableMaker(const Context &context, ChosenRung choice, DType dtype, ChosenGpu gpu, TuneOptions options);

  /// Compiles and measures the points of this process. Stores each result in `database`, if it is not null, and
  /// takes results that it already has, also those of other processes. Two times are measured again if the one
  /// for fewer products is the greater one. Ctrl-C ends it; the same call continues.
  void measure(TuneMeasurer &measurer, records::Database *database);
  /// Compiles the kernels of this process into the cache of kernels and measures nothing, so that a later call
  /// with the same cache only measures. Needs no GPU. Returns the number of compiled kernels, each for one
  /// size. Ctrl-C ends it; the same call continues.
  std::size_t compile_only();
  bool interrupted() const { return interrupted_; }

  /// The points of which all times are known, and of these the ones that the model chooses for some size.
  /// Throws UserError (usage) if no point is complete.
  records::KernelTable table(const TuneMachine &machine);
  /// Sentences about points that are refused, wrong, or not measured completely.
  const std::vector<std::string> &notes() const { return notes_; }

private:
  /// A kernel that is measured: a point at a size.
  struct Job {
    std::size_t point = 0;
    records::Rows rows = records::Rows::vectors;
    records::Probe probe;
    KnobValues knobs; ///< the value of each knob at this size
    std::optional<double> ms = std::nullopt;
    bool any_size = false; ///< the kernel for all sizes, as `emit --dispatch` takes it
  };
  struct Candidate {
    KnobValues knobs; ///< of the point
    records::Extents tile = {};
    std::int64_t warps = 0;                         ///< of a block
    std::map<records::Rows, std::int64_t> resident; ///< blocks on a multiprocessor, of each form
  };

  Shape shape_of(const Job &job) const;
  Scheduled scheduled(Job &job) const;
  records::Record record_of(Job &job, const TuneMachine &machine) const;
  void add_candidates();
  void find_resident();
  void add_jobs();
  void add_jobs_of_any_size();
  std::size_t compile(const std::vector<std::size_t> &jobs); ///< the number that could be compiled
  void reuse(const TuneMachine &machine, const records::Database &database);
  void measure(const std::vector<std::size_t> &batch, TuneMeasurer &measurer, records::Database *database);
  void measure_in_batches(const std::vector<std::size_t> &jobs, TuneMeasurer &measurer,
                          records::Database *database);
  std::vector<std::size_t> doubtful() const;
  void set_any_size(std::size_t point, records::KernelForm &form) const;
  std::set<std::size_t> points_for_all_sizes(const records::KernelModel &model) const;
  void show(const std::string &step) { progress_.step(step); }

  const Context &context_;
  ChosenRung choice_;
  DType dtype_;
  ChosenGpu gpu_;
  TuneOptions options_;
  std::vector<Candidate> candidates_;
  std::vector<Job> jobs_;
  std::vector<std::string> notes_;
  Progress progress_;
  bool interrupted_ = false;
};

/// The points of a table without which the choice of the model would be slower by more than `loss` in the mean,
/// over sizes that are drawn by a fixed seed: their positions, the most useful first.
std::vector<std::size_t> useful_points(const records::KernelModel &model, double loss);

} // namespace nestsmith::cli
