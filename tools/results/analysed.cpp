#include "tools/results/analysed.h"

#include "runtime/cuda/driver.h"
#include "runtime/cuda/nvrtc.h"
#include "runtime/model/analyse.h"
#include "tools/options/machine.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <future>

namespace nestsmith::cli {

Option gpu_option(const std::string &otherwise) {
  std::vector<std::string> names;
  for (const Gpu &gpu : gpus())
    names.push_back(gpu.name);
  return {"gpu", "NAME", fmt::format("{}; default: {}", fmt::join(names, ", "), otherwise)};
}

namespace {

/// The GPU with the architecture that --arch names.
ChosenGpu compiled_for(const Gpu &gpu, Arch arch, const std::string &why) {
  ChosenGpu chosen{gpu, why};
  chosen.gpu.arch = arch;
  return chosen;
}

/// The choice with --arch: the GPU that --gpu names, the device of this machine, or the first listed GPU of
/// that architecture.
ChosenGpu gpu_for(Arch arch, const std::optional<std::string> &name) {
  auto fits = [&](const Gpu &gpu) { return gpu.arch.number == arch.number; };
  if (name) {
    const Gpu &gpu = find_gpu(*name);
    if (!fits(gpu))
      throw UserError(ExitCode::usage, fmt::format("--gpu {} is {}, but --arch is {}: leave one of them out",
                                                   *name, to_string(gpu.arch), to_string(arch)));
    return compiled_for(gpu, arch, "");
  }
  try {
    const Gpu *gpu = known_gpu(cuda::Device::open()->info().name);
    if (gpu && fits(*gpu))
      return compiled_for(*gpu, arch, "the GPU of this machine");
  } catch (const UserError &) { // no device
  }
  const Gpu *gpu = gpu_of(arch);
  if (!gpu)
    throw UserError(ExitCode::usage,
                    fmt::format("no listed GPU is {}; name a GPU with --gpu", to_string(arch)));
  return compiled_for(*gpu, arch,
                      fmt::format("the first listed GPU of {}; name another one with --gpu", to_string(arch)));
}

} // namespace

ChosenGpu choose_gpu(const Context &context) {
  auto name = context.arguments.value("gpu");
  if (auto arch = given_arch(context))
    return gpu_for(*arch, name);
  if (name)
    return {find_gpu(*name), ""};
  try {
    std::string product = cuda::Device::open()->info().name;
    if (const Gpu *gpu = known_gpu(product))
      return {*gpu, "the GPU of this machine"};
    return {find_gpu(assumed_gpu),
            fmt::format("the {} of this machine is not listed; assuming {}; select another GPU with --gpu",
                        product, assumed_gpu),
            true};
  } catch (const UserError &) {
    if (auto arch = arch_of_trace(context))
      return gpu_for(*arch, std::nullopt);
    return {find_gpu(assumed_gpu),
            fmt::format("no GPU found; assuming {}; select another with --gpu", assumed_gpu), true};
  }
}

Target chosen_target(const Context &context) {
  if (context.arguments.has("gpu"))
    return target_of(choose_gpu(context).gpu);
  if (given_arch(context))
    return simulated_target(context);
  try {
    return cuda::Device::open()->info().target();
  } catch (const UserError &) {
    return simulated_target(context);
  }
}

std::vector<KernelResources> resources_if_possible(const kernel::Plan &plan, const Gpu &gpu,
                                                   std::string &note) {
  std::vector<KernelResources> resources;
  try {
    std::vector<Arch> known = cuda::supported_arches();
    if (std::ranges::find(known, gpu.arch) == known.end()) {
      note = fmt::format("registers n/a: NVRTC {} does not know {}", cuda::Nvrtc::get().version(),
                         to_string(gpu.arch));
      return {};
    }
  } catch (const UserError &) { // no NVRTC: the next call reports it
  }
  for (const cuda::Compiled &compiled : compile_if_possible(plan, gpu.arch, note))
    resources.push_back(compiled);
  return resources;
}

Prepared prepare(const Context &context, ChosenRung choice, const Gpu &gpu) {
  if (!choice.fixed_shape)
    choice.default_shape = choice.gpu_shape;
  Scheduled scheduled = schedule_choice(context, choice, target_of(gpu));
  kernel::Plan plan = scheduled.plan();
  std::string note;
  std::vector<KernelResources> compiled = resources_if_possible(plan, gpu, note);
  MeasuredTimes measured = measured_times(context, scheduled, plan, gpu);
  return {std::move(scheduled), std::move(plan), std::move(compiled), note, std::move(measured)};
}

Analysed analyse(Prepared prepared, const Gpu &gpu, ResultCache *results) {
  PlanAnalysis analysis =
      results ? results->analyse(prepared.scheduled, prepared.plan, gpu, prepared.compiled)
              : nestsmith::analyse(prepared.scheduled.source(), prepared.plan, gpu, prepared.compiled);
  analysis.measured = deciding_time(prepared.measured);
  return {std::move(prepared.scheduled), std::move(analysis), std::move(prepared.note),
          std::move(prepared.measured)};
}

std::pair<Analysed, Analysed> analyse(Prepared a, Prepared b, const Gpu &gpu) {
  auto first = std::async(std::launch::async, [&] { return analyse(std::move(a), gpu); });
  Analysed second = analyse(std::move(b), gpu);
  return {first.get(), std::move(second)};
}

std::optional<ChosenRung> rung_before(const std::vector<Rung> &rungs, const ChosenRung &choice) {
  auto at = std::ranges::find_if(rungs, [&](const Rung &rung) { return rung.full_name() == choice.name; });
  if (at == rungs.end())
    return std::nullopt;
  if (!at->against.empty())
    return choose_rung(rungs, at->against);
  if (at == rungs.begin())
    return std::nullopt;
  auto before = std::prev(at);
  if (before->tutorial != at->tutorial || before->default_shape.size() != at->default_shape.size())
    return std::nullopt;
  return choose_rung(rungs, before->full_name());
}

const Rung *rung_of(const std::vector<Rung> &rungs, const ChosenRung &choice) {
  auto at = std::ranges::find(rungs, choice.name, &Rung::full_name);
  return at == rungs.end() ? nullptr : &*at;
}

bool comparable(const std::vector<Rung> &rungs, const Scheduled &before, const Scheduled &after) {
  const Rung *rung = rung_of(rungs, after.choice);
  bool stated = rung && rung->against == before.choice.name;
  return same_computation(before, after) ||
         (stated && before.shape == after.shape && before.dtype == after.dtype);
}

bool same_computation(const Scheduled &a, const Scheduled &b) {
  return a.source().name == b.source().name && a.shape == b.shape && a.dtype == b.dtype;
}

ChosenGpu gpu_and_shape(const Context &context, ChosenRung &choice) {
  const Rung *rung = rung_of(context.rungs, choice);
  bool free =
      !context.arguments.has("gpu") && !context.arguments.has("arch") && !context.arguments.has("shape");
  if (!rung || !rung->lesson || !free)
    return choose_gpu(context);
  choice.default_shape = choice.gpu_shape = rung->lesson->shape;
  return {find_gpu(rung->lesson->gpu), "the GPU and the shape at which the rung shows its effect"};
}

std::string lesson_note(const std::vector<Rung> &rungs, const Scheduled &scheduled, const Gpu &gpu) {
  const Rung *rung = rung_of(rungs, scheduled.choice);
  if (!rung || !rung->lesson || (rung->lesson->gpu == gpu.name && rung->lesson->shape == scheduled.shape))
    return "";
  return fmt::format("{} shows its effect at {} on {}: nestsmith explain {} --gpu '{}' --shape {}",
                     rung->full_name(), to_text(rung->lesson->shape), rung->lesson->gpu, rung->full_name(),
                     rung->lesson->gpu, to_text(rung->lesson->shape));
}

std::optional<Prepared> prepare_baseline(const Context &context, const Scheduled &scheduled, const Gpu &gpu,
                                         std::string &note) {
  auto named = context.arguments.value("against");
  std::optional<ChosenRung> choice =
      named ? std::optional(choose_rung(context.rungs, *named)) : rung_before(context.rungs, scheduled.choice);
  if (!choice)
    return std::nullopt;
  try {
    choice->default_shape = choice->gpu_shape = scheduled.shape;
    choice->default_dtype = scheduled.dtype;
    Prepared before = prepare(context, *choice, gpu);
    if (named || comparable(context.rungs, before.scheduled, scheduled))
      return before;
    note = fmt::format("not compared with {0}, which computes something else; use --against {0} to compare",
                       choice->name);
  } catch (const UserError &error) {
    if (named)
      throw;
    note = fmt::format("not compared with {}: {}", choice->name, error.what());
  }
  return std::nullopt;
}

} // namespace nestsmith::cli
