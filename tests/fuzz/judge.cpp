/// Judges a schedule: interprets the program, lowers it, simulates the kernel, and compares the results with
/// the reference.

#include "tests/fuzz/judge.h"

#include "codegen/cuda.h"
#include "dsl/expr/error.h"
#include "dsl/hardware/bulk_copy.h"
#include "dsl/ir/interpret.h"
#include "dsl/ir/intrinsic.h"
#include "dsl/ir/specialise.h"
#include "lowering/lower.h"
#include "runtime/check/blame.h"
#include "runtime/check/check.h"
#include "runtime/check/sim_executor.h"
#include "runtime/check/stored_array.h"
#include "runtime/cuda/nvrtc.h"
#include "tests/fuzz/judge_all.h"
#include "tests/fuzz/user_intrinsics.h"

#include <algorithm>
#include <fmt/format.h>
#include <set>

namespace nestsmith::fuzz {

namespace {

/// Limits of the block instances that are interpreted (0.01 seconds) and simulated (1 to 2 seconds).
constexpr double most_interpreted = 5e4, most_simulated = 1e6;
constexpr double most_elements = 4e6; ///< sum over all arrays
/// The number of unused elements between the rows of the matrices of a symbolic kernel.
constexpr std::int64_t gap = 3;
constexpr std::size_t longest_text = 200000; ///< characters of a kernel that is compiled

double elements_of(const Program &program) {
  std::set<Buffer> buffers(program.params.begin(), program.params.end());
  for (const Block *block : blocks_of(program.body))
    buffers.insert(block->body.buffer);
  double all = 0;
  for (const Buffer &buffer : buffers) {
    double elements = 1;
    for (const Expr &extent : buffer->shape)
      elements *= static_cast<double>(as_int(extent).value_or(1));
    if (buffer->strides) // the rows are not adjacent
      elements += static_cast<double>(as_int(buffer->strides->front()).value_or(1)) *
                  static_cast<double>(as_int(buffer->shape[0]).value_or(1));
    all += elements;
  }
  return all;
}

Kind wrong(const std::string &message, Kind kind, Verdict &verdict) {
  verdict.message = message;
  return kind;
}

std::string first_message(const CheckResult &result) {
  std::string text;
  for (const std::string &message : result.messages())
    text += message + "\n";
  return text;
}

Traits traits_of(const kernel::Plan &plan) {
  Traits traits{};
  auto note = [&](Trait trait, bool holds) { traits[static_cast<std::size_t>(trait)] |= holds; };
  note(Trait::counters, plan.has_counters());
  for (const kernel::Kernel &kernel : plan.kernels) {
    note(Trait::roles, !kernel.roles.empty());
    note(Trait::slots, std::ranges::any_of(kernel.channels, [](const auto &c) { return c.slots > 1; }));
    note(Trait::clusters, kernel.cluster > 1);
    note(Trait::early, kernel.launches_early);
    kernel::walk(kernel.body, [&](const kernel::Stmt &stmt) {
      const auto *copy = kernel::as<kernel::BulkCopy>(stmt);
      note(Trait::bulk_copies, copy && !copy->stores());
      note(Trait::bulk_stores, copy && copy->stores());
      const auto *call = kernel::as<kernel::Call>(stmt);
      note(Trait::units, call && call->intrinsic.get().name.starts_with("wgmma"));
    });
  }
  return traits;
}

/// Records the features of the kernels in the verdict.
void describe(const Schedule &schedule, const kernel::Plan &plan, Verdict &verdict) {
  verdict.kernels = plan.kernels.size();
  verdict.traits = traits_of(plan);
  walk(schedule.program().body, [&](const Stmt &stmt) {
    const auto *loop = as<For>(stmt);
    verdict.pipeline = verdict.pipeline || (loop && !loop->pipeline().empty());
    verdict.warps = verdict.warps || (loop && (loop->axis() == Axis::warp || loop->axis() == Axis::lane));
    return true;
  });
  for (const Block *block : blocks_of(schedule.program().body))
    verdict.fragment = verdict.fragment || block->body.buffer->scope == Scope::warp;
  for (const kernel::Kernel &kernel : plan.kernels) {
    verdict.shared = verdict.shared || !kernel.shared.empty();
    kernel::walk(kernel.body, [&](const kernel::Stmt &stmt) {
      const auto *store = kernel::as<kernel::Store>(stmt);
      verdict.vector = verdict.vector || (store && store->lanes > 1);
      const auto *barrier = kernel::as<kernel::Barrier>(stmt);
      verdict.warp_barrier = verdict.warp_barrier || (barrier && barrier->scope == kernel::SyncScope::warp);
      verdict.call = verdict.call || kernel::as<kernel::Call>(stmt);
    });
    kernel::walk_exprs(kernel.body, [&](const Expr &node) {
      verdict.vector = verdict.vector || (node.as<Load>() && node.lanes() > 1);
      verdict.narrow_vector = verdict.narrow_vector || (node.lanes() > 1 && byte_size(node.dtype()) < 4);
      verdict.intrinsic = verdict.intrinsic || node.as<Call>();
    });
  }
}

/// Executes the plan on the device, and compares the result with the reference as that of the simulator.
void execute(const Program &source, const kernel::Plan &plan, Checker &checker, const CheckOptions &options,
             Device &device, Verdict &verdict) {
  if (cuda_kernels(plan).size() > longest_text)
    return;
  try {
    CheckResult result = checker.check(source, plan, device, options);
    if (result.outcome() == CheckOutcome::wrong)
      verdict.kind = wrong(first_message(result), Kind::wrong_device, verdict);
    else
      verdict.executed = true;
  } catch (const cuda::CompileError &error) {
    verdict.kind = wrong(fmt::format("{}\n{}", error.what(), error.log()), Kind::not_compiled, verdict);
  } catch (const cuda::HeadersMissing &) { // the machine cannot compile this kernel
  } catch (const UserError &error) {       // of the driver
    verdict.kind = wrong(error.what(), Kind::wrong_device, verdict);
  }
}

/// Whether the architecture supports the statements of the kernels.
bool supports(Arch arch, const kernel::Plan &plan) {
  bool all = true;
  for (const kernel::Kernel &kernel : plan.kernels) {
    all = all && (!kernel.launches_early || arch.has(nestsmith::Feature::griddepcontrol));
    all = all && (kernel.maps.empty() || arch.has(nestsmith::Feature::tma));
    all = all && (kernel.channels.empty() || arch.has(nestsmith::Feature::mbarrier_expect));
    all = all && (kernel.cluster == 1 || arch.has(nestsmith::Feature::clusters));
    all = all && (std::ranges::all_of(kernel.roles, [](const auto &role) { return role.registers == 0; }) ||
                  arch.has(nestsmith::Feature::setmaxnreg));
    kernel::walk(kernel.body, [&](const kernel::Stmt &stmt) {
      const auto *call = kernel::as<kernel::Call>(stmt);
      if (kernel::as<kernel::Commit>(stmt))
        all = all && arch.has(nestsmith::Feature::cp_async);
      else if (call && call->intrinsic.get().feature)
        all = all && arch.has(*call->intrinsic.get().feature);
    });
  }
  return all;
}

/// Compiles the kernels with NVRTC for one architecture. A kernel has the same text for every architecture that
/// supports its instructions. The architecture of the schedule determines limits only.
void compile(const kernel::Plan &plan, Arch arch, std::optional<std::uint64_t> turn, Verdict &verdict) {
  if (cuda_kernels(plan).size() > longest_text)
    return;
  try {
    const cuda::Nvrtc &nvrtc = cuda::Nvrtc::get();
    std::vector<Arch> all = nvrtc.arches(), arches = all;
    std::erase_if(arches, [&](Arch each) { return !supports(each, plan); });
    if (turn)
      arch = arches[*turn % arches.size()];
    verdict.architecture = static_cast<std::size_t>(std::ranges::find(all, arch) - all.begin());
    for (const kernel::Kernel &kernel : plan.kernels)
      nvrtc.compile(cuda_kernel(kernel), entry_name(kernel), to_string(arch));
    verdict.texts = plan.kernels.size();
  } catch (const cuda::CompileError &error) {
    verdict.kind = wrong(fmt::format("for {}: {}\n{}", to_string(arch), error.what(), error.log()),
                         Kind::not_compiled, verdict);
  } catch (const UserError &error) {
    if (error.code() != ExitCode::no_device) // NVRTC is not installed, or it lacks the headers of narrow floats
      throw;
  }
}

} // namespace

const char *name(Kind kind) {
  static constexpr const char *names[] = {"refused",      "exact",       "too much",     "wrong program",
                                          "wrong kernel", "not lowered", "not compiled", "wrong on the device",
                                          "vacuous",      "command",     "threw",        "crashed",
                                          "hung"};
  return names[static_cast<std::size_t>(kind)];
}

const char *name(Trait trait) {
  static constexpr const char *names[trait_count] = {"roles", "slots",    "bulk copies", "bulk stores",
                                                     "wgmma", "clusters", "counters",    "early launches"};
  return names[static_cast<std::size_t>(trait)];
}

bool are_stated(const Program &source, const std::vector<std::int64_t> &sizes) {
  for (std::size_t n = 0; n < sizes.size(); ++n)
    if (const Size &stated = *source.sizes[n]->size;
        sizes[n] < stated.min || sizes[n] > stated.max || sizes[n] % stated.multiple_of != 0)
      return false;
  return true;
}

Verdict judge(const Schedule &schedule, const Shape &shape, const Thoroughness &thoroughness) {
  Verdict verdict;
  verdict.stores_in_bulk =
      std::ranges::any_of(blocks_of(schedule.program().body), [](const Block *b) { return is_bulk_store(*b); });
  bool symbolic = shape.stated.has_value();
  std::vector<std::int64_t> sizes, spread;
  for (std::size_t n = 0; symbolic && n < shape.size(); ++n)
    if (shape[n] % shape.stated->multiple_of != 0) { // a launch rejects this size
      verdict.kind = wrong("the kernel is for other sizes", Kind::refused, verdict);
      return verdict;
    }
  if (symbolic) {
    sizes = sizes_for(schedule.source(), shape, 0);
    spread = sizes_for(schedule.source(), shape, gap);
  }
  if (!are_stated(schedule.source(), sizes) || !are_stated(schedule.source(), spread)) {
    verdict.kind = wrong("the kernel is for other sizes", Kind::refused, verdict);
    return verdict;
  }
  Program program = specialise(schedule.program(), sizes), source = specialise(schedule.source(), sizes);
  double work = block_instances(program.body);
  CheckOptions options{.exact_only = !thoroughness.random, .infinite = thoroughness.infinite};
  Checker checker;
  bool small = elements_of(source) <= most_elements && elements_of(program) <= most_elements;
  if (work <= most_interpreted && small) {
    CheckResult result = checker.check(source, as_computation(program), options);
    if (result.outcome() == CheckOutcome::wrong) {
      verdict.kind = wrong(first_message(result), Kind::wrong_program, verdict);
      return verdict;
    }
  }
  bool owes = !schedule.obligations().empty();
  kernel::Plan plan;
  try {
    plan = lower(schedule);
  } catch (const ScheduleError &error) {
    verdict.kind = owes ? Kind::refused : Kind::not_lowered;
    verdict.message = owes ? error.message() : error.what();
    return verdict;
  } catch (const UserError &error) { // a documented limit of lowering, such as that of branch combinations
    verdict.kind = wrong(error.what(), Kind::refused, verdict);
    return verdict;
  }
  if (owes) {
    verdict.kind = wrong(schedule.obligations().front().message, Kind::not_lowered, verdict);
    return verdict;
  }
  describe(schedule, plan, verdict);
  if (work > most_simulated || !small) {
    verdict.kind = Kind::too_much;
    return verdict;
  }
  sim::Options single;
  single.host_threads = 1;
  SimExecutor simulator(single);
  const kernel::Plan launched = symbolic ? with_sizes(plan, spread) : plan;
  CheckResult result = checker.check(schedule.source(), launched, simulator, options);
  verdict.infinite = result.find(CheckRun::infinite) != nullptr;
  if (result.outcome() == CheckOutcome::wrong)
    verdict.kind = wrong(first_message(result), Kind::wrong_kernel, verdict);
  else if (thoroughness.compile)
    compile(plan, schedule.target().arch, thoroughness.turn, verdict);
  if (verdict.kind == Kind::exact && thoroughness.device)
    execute(schedule.source(), launched, checker, options, *thoroughness.device, verdict);
  return verdict;
}

Verdict judge(const Case &test_case, const Thoroughness &thoroughness, std::vector<Directive> *accepted) {
  try {
    provide_intrinsics(test_case.directives);
    Schedule schedule(test_case.source, make_target(test_case.arch));
    for (const Directive &directive : test_case.directives)
      try {
        apply(schedule, directive, "the case");
      } catch (const UserError &) { // refused, or uses a name that a skipped directive would have created
      }
    if (accepted)
      *accepted = schedule.trace();
    return thoroughness.everything ? judge_all(test_case, schedule, thoroughness)
                                   : judge(schedule, test_case.shape, thoroughness);
  } catch (const std::exception &error) {
    Verdict verdict;
    verdict.kind = wrong(error.what(), Kind::threw, verdict);
    return verdict;
  }
}

} // namespace nestsmith::fuzz
