#include "runtime/check/blame.h"

#include "dsl/expr/error.h"
#include "dsl/ir/interpret.h"
#include "dsl/ir/printer.h"
#include "dsl/ir/specialise.h"
#include "dsl/ir/workload_info.h"
#include "dsl/schedule/trace.h"
#include "lowering/one_launch.h"
#include "runtime/check/runnable.h"
#include "runtime/check/sim_executor.h"
#include "runtime/check/stored_array.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <utility>

namespace nestsmith {

namespace {

/// Rows of the matrices of a computation with sizes are this much further apart than they are long.
constexpr std::int64_t gap = 3;

/// Whether the interpreter does the same for both: they differ in what loops are annotated with, if at all.
bool runs_alike(const Stmt &a, const Stmt &b) {
  if (a == b)
    return true;
  const auto *loop = as<For>(a), *other = as<For>(b);
  if (loop && other)
    return loop->var == other->var && same(loop->extent, other->extent) && runs_alike(loop->body, other->body);
  const auto *seq = as<Seq>(a), *sequence = as<Seq>(b);
  return seq && sequence && std::ranges::equal(seq->stmts, sequence->stmts, runs_alike);
}

std::vector<std::int64_t> packed_sizes(const Schedule &schedule, const BlameOptions &options) {
  return schedule.source().sizes.empty() ? std::vector<std::int64_t>{}
                                         : sizes_for(schedule.source(), options.extents, 0);
}

/// Steps whose programs the interpreter does the same for. A run of the first stands for all.
struct StepGroup {
  std::size_t first, end;
  Program program;
  double instances = 0; ///< interpreted on all inputs
  bool chosen = true;
};

/// From the computation to the last directive.
std::vector<StepGroup> parts_of(const Schedule &schedule, const BlameOptions &options) {
  std::vector<std::int64_t> sizes = packed_sizes(schedule, options);
  bool floats = std::ranges::any_of(written_params(schedule.source()),
                                    [](const Buffer &buffer) { return is_float(buffer->dtype); });
  double runs = (floats ? (options.exact_only ? 3 : 4) : 1) + (switched_read(schedule.source()) ? 1 : 0);
  std::vector<StepGroup> parts;
  for (std::size_t n = 0; n <= schedule.trace().size(); ++n) {
    const Program &program = schedule.step(n);
    if (n > 0 && runs_alike(parts.back().program.body, program.body))
      ++parts.back().end;
    else
      parts.push_back({n, n + 1, program, runs * block_instances(specialise(program, sizes).body)});
  }
  return parts;
}

/// Two of the passes up to `extract` change the program that is interpreted. Each leaves about as many block
/// instances as the last program has.
constexpr double passes_of_programs = 2;

/// The computation and what the last of those passes leaves.
double never_left_out(const std::vector<StepGroup> &parts) {
  return parts.front().instances + parts.back().instances;
}

/// Chooses parts until they take `most` instances: the last program, the passes, then what is between the
/// computation and the last program, evenly along the trace. Gives whether there is time for all passes.
bool thin_out(std::vector<StepGroup> &parts, double most) {
  double left = most - never_left_out(parts), last = parts.back().instances, between = 0, credit = 0;
  if (parts.size() > 1) {
    parts.back().chosen = left >= last;
    left -= last;
  }
  bool passes = left >= (passes_of_programs - 1) * last;
  left = std::max(left - (passes_of_programs - 1) * last, 0.0);
  for (std::size_t n = 1; n + 1 < parts.size(); ++n)
    between += parts[n].instances;
  if (between <= left)
    return passes;
  for (std::size_t n = 1; n + 1 < parts.size(); ++n) {
    credit += parts[n].instances * left / between;
    parts[n].chosen = credit >= parts[n].instances;
    if (parts[n].chosen)
      credit -= parts[n].instances;
  }
  return passes;
}

class Inquiry {
public:
  Inquiry(const Schedule &schedule, const BlameOptions &options)
      : schedule_(schedule),
        options_(options), check_{.seed = options.seed, .exact_only = options.exact_only, .infinite = true},
        sizes_(packed_sizes(schedule, options)), source_(specialise(schedule.source(), sizes_)),
        parts_(parts_of(schedule, options)), all_passes_(thin_out(parts_, options.most_instances)) {}

  Blame run() {
    add(BlamedStep::Kind::computation, "the computation", print(schedule_.source()));
    for (std::size_t n = 1; n <= schedule_.trace().size(); ++n)
      add(BlamedStep::Kind::directive, to_cpp(schedule_.trace()[n - 1]), print(schedule_.step(n)));
    for (std::size_t n = 0; n < parts_.size() && !blame_.fault; ++n)
      if (parts_[n].chosen)
        examine(n);
    if (!blame_.fault)
      lower();
    if (blame_.fault) {
      blame_.steps.resize(blame_.fault->step + 1);
      blame_.not_compared.clear();
    }
    return std::move(blame_);
  }

private:
  /// A step that is left out until it is run.
  void add(BlamedStep::Kind kind, std::string name, std::string text) {
    blame_.steps.push_back({kind, std::move(name), std::move(text), true});
  }

  /// Runs a part. If it is wrong, the first at fault may be one of those that were left out before it.
  void examine(std::size_t part) {
    if (!is_right(parts_[part]))
      while (not_run_ < part && is_right(parts_[not_run_]))
        ++not_run_;
    not_run_ = part + 1;
  }

  /// Runs the last program before others build on it.
  void settle() {
    if (not_run_ < parts_.size())
      examine(parts_.size() - 1);
  }

  bool is_right(const StepGroup &part) {
    about_to_run(blame_.steps[part.first]);
    std::optional<Fault> fault =
        fault_of(checker_.check(source_, as_computation(specialise(part.program, sizes_)), check_), part.first);
    for (std::size_t n = part.first; n < part.end; ++n)
      blame_.steps[n].left_out = false;
    if (!fault)
      return true;
    blame_.fault = std::move(fault);
    return false;
  }

  void about_to_run(const BlamedStep &step) const {
    if (options_.about_to_run)
      options_.about_to_run(step);
  }

  void lower() {
    Lowering lowering(schedule_, options_.passes);
    while (!lowering.done() && !blame_.fault) {
      const Pass &pass = options_.passes[lowering.next()];
      if (pass.form != Form::program)
        settle();
      if (blame_.fault)
        return;
      try {
        lowering.step();
      } catch (const UserError &error) {
        settle();
        blame_.refusal = blame_.fault ? "" : error.what();
        return;
      }
      std::optional<std::string> breach = lowering.breach();
      if (breach)
        settle();
      if (blame_.fault)
        return;
      add(BlamedStep::Kind::pass, std::string(pass.name), lowering.text());
      std::size_t step = blame_.steps.size() - 1;
      if (breach)
        blame_.fault = Fault{step, "", "the pass produced malformed IR: " + *breach, {}};
      else if (pass.form == Form::program)
        add_part(lowering.program(), step);
      else
        run_kernels(lowering, step);
    }
    settle();
  }

  /// Adds the program that a pass leaves.
  void add_part(Program program, std::size_t step) {
    blame_.steps[step].text = print(program);
    if (runs_alike(parts_.back().program.body, program.body)) {
      ++parts_.back().end;
      blame_.steps[step].left_out = not_run_ < parts_.size();
      return;
    }
    parts_.push_back({step, step + 1, std::move(program)});
    if (all_passes_)
      settle();
  }

  /// Until they share a launch, the kernels that `extract` makes of one nest (`ShortenedLoop` of
  /// dsl/ir/skip_tiles.h) count their arrivals together.
  static void join_counting(std::vector<kernel::Kernel> &kernels) {
    for (std::size_t n = kernels.size(); n-- > 1;) {
      const std::vector<Buffer> before = counters_of(kernels[n - 1]), counters = counters_of(kernels[n]);
      if (std::ranges::find_first_of(counters, before) == counters.end())
        continue;
      kernels[n - 1] = kernel::in_one_launch(std::move(kernels[n - 1]), kernels[n]);
      kernels.erase(kernels.begin() + static_cast<std::ptrdiff_t>(n));
    }
  }

  void run_kernels(const Lowering &lowering, std::size_t step) {
    about_to_run(blame_.steps[step]);
    blame_.steps[step].left_out = false;
    kernel::Plan plan = lowering.plan();
    for (kernel::Kernel &kernel : plan.kernels)
      kernel = runnable(kernel, lowering.form());
    join_counting(plan.kernels);
    if (!plan.sizes.empty())
      plan = with_sizes(plan, sizes_for(schedule_.source(), options_.extents, gap));
    SimExecutor simulator;
    blame_.fault = fault_of(checker_.check(schedule_.source(), plan, simulator, check_), step);
  }

  std::optional<Fault> fault_of(const CheckResult &result, std::size_t step) {
    if (blame_.runs.empty())
      for (const RunResult &run : result.runs)
        blame_.runs.push_back(run.label);
    if (result.outcome() == CheckOutcome::not_compared)
      blame_.not_compared = result.messages();
    auto wrong = std::ranges::find(result.runs, false, &RunResult::passed);
    if (wrong == result.runs.end())
      return std::nullopt;
    return Fault{step, wrong->label, wrong->messages.empty() ? "the result differs" : wrong->messages.front(),
                 wrong->first_wrong};
  }

  const Schedule &schedule_;
  const BlameOptions &options_;
  CheckOptions check_;
  Checker checker_;
  std::vector<std::int64_t> sizes_;
  Program source_;
  std::vector<StepGroup> parts_;
  std::size_t not_run_ = 0; ///< the part after the last that was right
  bool all_passes_;
  Blame blame_;
};

} // namespace

std::size_t Blame::steps_run() const {
  return static_cast<std::size_t>(std::ranges::count(steps, false, &BlamedStep::left_out));
}

Blame find_blame(const Schedule &schedule, const BlameOptions &options) {
  return Inquiry(schedule, options).run();
}

std::string to_string(const Blame &blame) {
  std::size_t run = blame.steps_run(), all = blame.steps.size();
  if (!blame.fault && !blame.not_compared.empty())
    return fmt::format("no step is wrong where it was compared, but {}", blame.not_compared.front());
  if (!blame.fault && run == all)
    return fmt::format("the result is the same after {} steps", all);
  if (!blame.fault) {
    std::string text = fmt::format("the result is the same after {} of {} steps", run, all);
    if (!blame.refusal.empty())
      return text;
    auto last_left_out =
        std::ranges::find(blame.steps.rbegin(), blame.steps.rend(), true, &BlamedStep::left_out);
    if (last_left_out->kind != BlamedStep::Kind::pass)
      return text + ", including every pass";
    return text +
           fmt::format("; {} and every later pass are among the {}", std::prev(last_left_out)->name, run);
  }
  return fmt::format("{} changed the result{}{}: {}", blame.at_fault().name,
                     blame.fault->run.empty() ? "" : " in ", blame.fault->run, blame.fault->message);
}

std::vector<BlamedCase> find_blame(const Build &build, const std::vector<std::vector<std::int64_t>> &shapes,
                                   const std::vector<DType> &dtypes, const BlameOptions &options,
                                   const CaseLimits &limits) {
  std::vector<BlamedCase> cases;
  bool first = true;
  for (const std::vector<std::int64_t> &extents : shapes)
    for (DType dtype : dtypes) {
      BlamedCase &blamed = cases.emplace_back(BlamedCase{extents, dtype, {}, {}, ""});
      BlameOptions own = options;
      own.extents = extents;
      try {
        blamed.schedule = build(extents, dtype);
      } catch (const UserError &error) {
        blamed.left_out = error.what();
        continue;
      }
      if (!std::exchange(first, false)) {
        own.most_instances = std::min(own.most_instances, limits.thinned);
        if (double least = least_instances(*blamed.schedule, own); least > limits.left_out) {
          blamed.left_out = fmt::format("the interpreter would run {:.1e} block instances", least);
          continue;
        }
      }
      blamed.blame = find_blame(*blamed.schedule, own);
      if (blamed.blame.fault)
        return cases;
    }
  return cases;
}

std::string replay_command(const std::string &file, const BlamedCase &blamed) {
  return fmt::format("nestsmith check {} --each-step --shape {} --dtype {}", file,
                     fmt::join(blamed.extents, "x"), name(blamed.dtype));
}

double interpreted_instances(const Schedule &schedule, const BlameOptions &options) {
  std::vector<StepGroup> parts = parts_of(schedule, options);
  double total = passes_of_programs * parts.back().instances;
  for (const StepGroup &part : parts)
    total += part.instances;
  return total;
}

double least_instances(const Schedule &schedule, const BlameOptions &options) {
  return never_left_out(parts_of(schedule, options));
}

Checker::Compute as_computation(const Program &program) {
  return [program](std::vector<Array> &arrays, const std::vector<Scalar> &scalars) {
    try {
      interpret(program, arrays, scalars);
    } catch (const UserError &error) {
      return Execution{{error.what()}};
    }
    return Execution{};
  };
}

double block_instances(const Stmt &stmt) {
  return visit(stmt, Overloaded{
                         [](const For &loop) {
                           return static_cast<double>(as_int(loop.extent).value_or(1)) *
                                  block_instances(loop.body);
                         },
                         [](const Seq &seq) {
                           double sum = 0;
                           for (const Stmt &child : seq.stmts)
                             sum += block_instances(child);
                           return sum;
                         },
                         [](const Block &) { return 1.0; },
                     });
}

std::vector<std::vector<std::int64_t>> hostile_shapes(const std::vector<std::int64_t> &tile) {
  using Extents = std::vector<std::int64_t>;
  static constexpr std::int64_t primes[] = {13, 7, 5, 3, 2};
  std::size_t rank = tile.size();
  const bool many = rank > 4; // so many extents take long, so fewer of them have more than one tile
  Extents ragged = tile, ones(rank, 1), prime(rank), over = tile, under = tile, fours = tile, odd = tile;
  for (std::size_t n = 0; n < rank; ++n) {
    ragged[n] = n == 0 || n + 1 == rank ? tile[n] + 1 : std::min<std::int64_t>(tile[n], 7);
    prime[n] = primes[n % std::size(primes)];
    over[n] = n % 2 == 0 ? tile[n] - 1 : tile[n] + 1;
    under[n] = n % 2 == 0 ? tile[n] + 1 : 1;
    std::size_t from_last = rank - 1 - n; // of a product: k, j, i, and what there may be before them
    odd[n] = from_last == 0 ? (many ? 1 : 3) * tile[n] + 1 : tile[n] - static_cast<std::int64_t>(from_last);
    fours[n] = from_last == 0   ? (many ? 1 : 3) * tile[n] + 4
               : from_last == 1 ? (many ? 1 : 2) * tile[n] - 4
               : from_last == 2 ? tile[n] - 4
                                : tile[n] + (many ? 0 : 1);
    if (from_last <= 2)
      fours[n] = (std::max<std::int64_t>(fours[n], 1) + 3) / 4 * 4;
  }
  std::vector<Extents> shapes;
  for (Extents shape : {ragged, ones, prime, over, under, fours, odd, tile}) {
    for (std::int64_t &extent : shape)
      extent = std::max<std::int64_t>(extent, 1);
    if (std::ranges::find(shapes, shape) == shapes.end())
      shapes.push_back(shape);
  }
  return shapes;
}

} // namespace nestsmith
