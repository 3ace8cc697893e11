#include "runtime/blame.h"

#include "dsl/error.h"
#include "dsl/interpret.h"
#include "dsl/printer.h"
#include "dsl/specialise.h"
#include "runtime/runnable.h"
#include "runtime/sim_executor.h"
#include "runtime/stored_array.h"
#include "runtime/workload_info.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

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

class Inquiry {
public:
  Inquiry(const Schedule &schedule, const BlameOptions &options)
      : schedule_(schedule), options_(options), check_{.seed = options.seed, .exact_only = options.exact_only} {
    if (!schedule.source().sizes.empty())
      sizes_ = sizes_for(schedule.source(), options.extents, 0);
    source_ = specialise(schedule.source(), sizes_);
  }

  Blame run() {
    for (std::size_t n = 0; n <= schedule_.trace().size() && !blame_.fault; ++n) {
      if (n == 0)
        begin(BlamedStep::Kind::computation, "the computation");
      else
        begin(BlamedStep::Kind::directive, to_cpp(schedule_.trace()[n - 1]));
      run_program(schedule_.step(n));
    }
    if (!blame_.fault)
      lower();
    return std::move(blame_);
  }

private:
  void begin(BlamedStep::Kind kind, std::string name) {
    blame_.steps.push_back({kind, std::move(name), ""});
    if (options_.about_to_run)
      options_.about_to_run(blame_.steps.back());
  }

  void lower() {
    Lowering lowering(schedule_, options_.passes);
    while (!lowering.done() && !blame_.fault) {
      begin(BlamedStep::Kind::pass, std::string(options_.passes[lowering.next()].name));
      try {
        lowering.step();
      } catch (const UserError &error) {
        blame_.steps.pop_back();
        blame_.refusal = error.what();
        return;
      }
      if (auto breach = lowering.breach()) {
        blame_.steps.back().text = lowering.text();
        blame_.fault = Fault{blame_.steps.size() - 1, "", "what it leaves is malformed: " + *breach, {}};
      } else if (lowering.form() == Form::program) {
        run_program(lowering.program());
      } else {
        run_kernels(lowering);
      }
    }
  }

  void run_program(const Program &program) {
    blame_.steps.back().text = print(program);
    bool known = last_ && runs_alike(last_, program.body);
    last_ = program.body;
    if (!known) // else the run before it stands for it
      note(checker_.check(source_, as_computation(specialise(program, sizes_)), check_));
  }

  void run_kernels(const Lowering &lowering) {
    blame_.steps.back().text = lowering.text();
    kernel::Plan plan = lowering.plan();
    for (kernel::Kernel &kernel : plan.kernels)
      kernel = runnable(kernel, lowering.form());
    if (!plan.sizes.empty())
      plan = with_sizes(plan, sizes_for(schedule_.source(), options_.extents, gap));
    SimExecutor simulator;
    note(checker_.check(schedule_, plan, simulator, check_));
  }

  void note(const CheckResult &result) {
    for (const RunResult &run : result.runs)
      if (!run.passed && !blame_.fault)
        blame_.fault =
            Fault{blame_.steps.size() - 1, run.label,
                  run.messages.empty() ? "the result differs" : run.messages.front(), run.first_wrong};
  }

  const Schedule &schedule_;
  const BlameOptions &options_;
  CheckOptions check_;
  Checker checker_;
  std::vector<std::int64_t> sizes_;
  Program source_;
  Stmt last_; ///< that was interpreted
  Blame blame_;
};

} // namespace

Blame find_blame(const Schedule &schedule, const BlameOptions &options) {
  return Inquiry(schedule, options).run();
}

std::string to_string(const Blame &blame) {
  if (!blame.fault)
    return fmt::format("the result is the same after each of {} steps", blame.steps.size());
  return fmt::format("{} changed the result{}{}: {}", blame.at_fault().name,
                     blame.fault->run.empty() ? "" : " in ", blame.fault->run, blame.fault->message);
}

std::vector<BlamedCase> find_blame(const Build &build, const std::vector<std::vector<std::int64_t>> &shapes,
                                   const std::vector<DType> &dtypes, const BlameOptions &options,
                                   double most_instances) {
  std::vector<BlamedCase> cases;
  for (const std::vector<std::int64_t> &extents : shapes)
    for (DType dtype : dtypes) {
      BlamedCase &it = cases.emplace_back(BlamedCase{extents, dtype, {}, {}, ""});
      BlameOptions own = options;
      own.extents = extents;
      try {
        it.schedule = build(extents, dtype);
      } catch (const UserError &error) {
        it.left_out = error.what();
        continue;
      }
      double instances = interpreted_instances(*it.schedule, own);
      if (cases.size() > 1 && instances > most_instances) {
        it.left_out = fmt::format("the interpreter would run {:.1e} block instances", instances);
        continue;
      }
      it.blame = find_blame(*it.schedule, own);
      if (it.blame.fault)
        return cases;
    }
  return cases;
}

std::string replay_command(const std::string &file, const BlamedCase &it) {
  return fmt::format("nestsmith check {} --each-step --shape {} --dtype {}", file, fmt::join(it.extents, "x"),
                     name(it.dtype));
}

double interpreted_instances(const Schedule &schedule, const BlameOptions &options) {
  std::vector<std::int64_t> sizes;
  if (!schedule.source().sizes.empty())
    sizes = sizes_for(schedule.source(), options.extents, 0);
  bool floats = std::ranges::all_of(written_params(schedule.source()),
                                    [](const Buffer &buffer) { return is_float(buffer->dtype); });
  double runs = (floats && !options.exact_only ? 2 : 1) + (switched_read(schedule.source()) ? 1 : 0), total = 0;
  for (std::size_t n = 0; n <= schedule.trace().size(); ++n)
    if (n == 0 || !runs_alike(schedule.step(n - 1).body, schedule.step(n).body))
      total += block_instances(specialise(schedule.step(n), sizes).body);
  total += 2 * block_instances(specialise(schedule.program(), sizes).body); // the passes up to `extract`
  return runs * total;
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
  Extents ragged = tile, ones(rank, 1), prime(rank), over = tile, under = tile;
  for (std::size_t n = 0; n < rank; ++n) {
    ragged[n] = n == 0 || n + 1 == rank ? tile[n] + 1 : std::min<std::int64_t>(tile[n], 7);
    prime[n] = primes[n % std::size(primes)];
    over[n] = n % 2 == 0 ? tile[n] - 1 : tile[n] + 1;
    under[n] = n % 2 == 0 ? tile[n] + 1 : 1;
    over[n] = std::max<std::int64_t>(over[n], 1);
  }
  std::vector<Extents> shapes;
  for (const Extents &shape : {ragged, ones, prime, over, under, tile})
    if (std::ranges::find(shapes, shape) == shapes.end())
      shapes.push_back(shape);
  return shapes;
}

} // namespace nestsmith
