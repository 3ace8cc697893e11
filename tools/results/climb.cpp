#include "tools/results/climb.h"

#include "dsl/ir/workload_info.h"
#include "lowering/lower.h"
#include "runtime/model/analyse.h"
#include "tools/results/analysed.h"

#include <algorithm>
#include <fmt/format.h>

namespace nestsmith::cli {

namespace {

ChosenRung with_default_shape(ChosenRung choice, const Machine &machine) {
  if (!machine.simulated() && !choice.fixed_shape)
    choice.default_shape = choice.gpu_shape;
  return choice;
}

} // namespace

std::string Planned::problem() const {
  std::string type = scheduled ? dtype_name(scheduled->schedule.source(), dtype) : std::string(name(dtype));
  return type + " " + to_text(shape);
}

Planned Climb::plan(const ChosenRung &given) const {
  Planned planned;
  planned.choice = with_default_shape(given, machine_);
  planned.shape = chosen_shape(context_, planned.choice);
  planned.dtype = chosen_dtype(context_, planned.choice);
  planned.failure = failure_of([&] {
    Scheduled scheduled = schedule_choice(context_, planned.choice, machine_.target);
    check_memory(scheduled.source(), scheduled.shape);
    if (machine_.simulated())
      check_work(scheduled.source(), scheduled.shape);
    planned.scheduled = std::move(scheduled);
  });
  return planned;
}

std::vector<Planned> Climb::plan_all(const std::vector<ChosenRung> &choices) const {
  std::vector<Planned> planned;
  for (const ChosenRung &choice : choices)
    planned.push_back(plan(choice));
  if (std::ranges::all_of(planned, [](const Planned &rung) { return rung.failure.code == ExitCode::usage; }))
    throw UserError(ExitCode::usage, planned.front().failure.message);
  return planned;
}

Climbed Climb::run(const Planned &planned) {
  Climbed result;
  result.name = planned.choice.name;
  result.shape = planned.shape;
  result.dtype = std::string(name(planned.dtype));
  result.failure = planned.failure;
  if (planned.scheduled) {
    result.dtype = dtype_name(planned.scheduled->schedule.source(), planned.dtype);
    result.failure = failure_of([&] { run(*planned.scheduled, result); });
  }
  result.code = result.failure.code != ExitCode::good ? result.failure.code
                : result.check.passed                 ? ExitCode::good
                                                      : ExitCode::wrong_result;
  return result;
}

void Climb::run(const Scheduled &scheduled, Climbed &result) {
  result.variant = scheduled.variant;
  result.use = scheduled.use;
  result.knobs = scheduled.knobs;
  kernel::Plan lowered = lower(scheduled.schedule), plan = scheduled.at_shape(lowered, checked_gap),
               packed = scheduled.at_shape(lowered);
  warn_if_unbound(scheduled, plan);
  result.operations = operation_count(scheduled.source());
  result.shared_bytes = plan.shared_bytes();
  Arch arch = machine_.simulated() ? machine_.target.arch : machine_.device->info().arch();
  result.compiled = compile_if_possible(plan, arch, compiler_note_);
  analyse_plan(scheduled, packed, result);
  result.check = check(scheduled, plan);
  if (!machine_.simulated())
    measure(scheduled, packed, result);
}

/// A check on a GPU is never reused: the rung must run there anyway to be measured.
CheckResult Climb::check(const Scheduled &scheduled, const kernel::Plan &plan) {
  auto compute = [&] { return checker_.check(scheduled.schedule.source(), plan, *machine_.executor); };
  return results_ && machine_.simulated() ? results_->check(scheduled, plan, compute) : compute();
}

const Gpu *Climb::analysed_gpu() const {
  return !machine_.simulated() ? known_gpu(machine_.device->info().name)
         : machine_.assumed    ? &*machine_.assumed
         : machine_.arch_given ? gpu_of(machine_.target.arch)
                               : &find_gpu(assumed_gpu);
}

/// A rung that does not fit the GPU, or a GPU that is not listed, has no analysis; the climb continues.
void Climb::analyse_plan(const Scheduled &scheduled, const kernel::Plan &plan, Climbed &result) {
  const Gpu *gpu = analysed_gpu();
  if (!gpu)
    return;
  std::vector<KernelResources> resources(result.compiled.begin(), result.compiled.end());
  try {
    AnalysisOptions options{.max_blocks = 32, .max_requests = 2'000'000};
    result.analysis = results_ ? results_->analyse(scheduled, plan, *gpu, resources, options)
                               : nestsmith::analyse(scheduled.source(), plan, *gpu, resources, options);
  } catch (const UserError &error) {
    if (error.code() != ExitCode::usage)
      throw;
  }
}

void Climb::measure(const Scheduled &scheduled, const kernel::Plan &plan, Climbed &result) {
  CheckRun run = is_float(scheduled.dtype) ? CheckRun::random : CheckRun::ring;
  Inputs inputs = make_inputs(scheduled.source(), run, CheckOptions{}.seed);
  result.ms = machine_.gpu().time(plan, inputs.arrays, inputs.scalars);
  result.cublas_ms = cublas_ms(scheduled.source(), inputs);
}

std::optional<double> Climb::cublas_ms(const Program &source, const Inputs &inputs) {
  auto gemm = as_gemm(source);
  if (!gemm || gemm->product.x_type != gemm->product.y_type || gemm->c->dtype != DType::f32)
    return std::nullopt;
  const Contraction &p = gemm->product;
  std::string problem =
      fmt::format("{} {}x{}x{} {} {}", name(p.x_type), p.m, p.n, p.k, p.x_transposed, p.y_transposed);
  if (auto known = cublas_times_.find(problem); known != cublas_times_.end())
    return known->second;
  if (!cublas_ && cublas_note_.empty()) {
    try {
      cublas_ = cuda::Cublas::open(*machine_.device);
    } catch (const UserError &error) {
      cublas_note_ = fmt::format("no comparison with cuBLAS: {}", error.what());
    }
  }
  if (!cublas_)
    return std::nullopt;
  auto array = [&](const Buffer &buffer) -> const Array & {
    auto at = std::ranges::find(source.params, buffer) - source.params.begin();
    return inputs.arrays[static_cast<std::size_t>(at)];
  };
  auto scalar = [&](const Var &var, float absent) {
    if (!var)
      return absent;
    auto at = std::ranges::find(source.scalars, var) - source.scalars.begin();
    return inputs.scalars[static_cast<std::size_t>(at)].as<float>();
  };
  cuda::Cublas::Result timed =
      cublas_->run({p.m, p.n, p.k, p.x_transposed, p.y_transposed}, p.x_type, scalar(gemm->alpha, 1),
                   array(p.x), array(p.y), scalar(gemm->beta, gemm->reads_c ? 1 : 0), array(gemm->c));
  cublas_name_ = fmt::format("cuBLAS {}, {}", cublas_->version(), cuda::name(timed.mode));
  return cublas_times_[problem] = timed.ms.median;
}

std::vector<std::string> Climb::notes() const {
  std::vector<std::string> notes = {machine_.note, compiler_note_, cublas_note_};
  std::erase(notes, "");
  return notes;
}

} // namespace nestsmith::cli
