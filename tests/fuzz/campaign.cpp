/// Runs batches of random schedules in child processes, counts the verdicts, and shrinks and reports failures.

#include "tests/fuzz/campaign.h"

#include "dsl/schedule/primitives/registry.h"
#include "tests/files.h"
#include "tests/fuzz/commands.h"
#include "tests/fuzz/features.h"
#include "tests/fuzz/isolated.h"
#include "tests/fuzz/judge_all.h"
#include "tests/fuzz/note.h"
#include "tests/fuzz/shrink.h"

#include <algorithm>
#include <bitset>
#include <chrono>
#include <fmt/format.h>
#include <functional>
#include <numeric>
#include <set>
#include <utility>

namespace nestsmith::fuzz {

namespace {

/// The memory that the processes of a campaign share.
struct Shared {
  CampaignCounts tally;
  std::bitset<std::size_t{1} << 20> drawn; ///< generated computations that were drawn, by a hash of the name
  std::uint64_t next = 0;                  ///< the seed being judged, or the next one
  std::uint64_t seed = 0;                  ///< the seed whose schedule broke a promise
  Kind kind = Kind::exact;
  bool launched = false; ///< the device executes the schedule of this seed
};

Thoroughness thoroughness_of(std::uint64_t seed, const Plan &plan) {
  bool everything = plan.everything != 0 && seed % plan.everything == 0;
  bool compile = plan.everything == 0 && plan.compile != 0 && seed % plan.compile == 0;
  return {.random = seed % 4 == 0,
          .infinite = seed % 2 == 1,
          .compile = compile,
          .turn = compile ? std::optional(seed / plan.compile) : std::nullopt,
          .everything = everything,
          .report = everything && seed / plan.everything % 4 == 0,
          .sample = everything};
}

std::size_t number_of(const std::string &op) {
  return static_cast<std::size_t>(find_primitive(op) - all_primitives().data());
}

void count_computation(const Draft &made, const Verdict &verdict, Shared &shared) {
  if (made.setting.computation)
    return;
  CampaignCounts &tally = shared.tally;
  std::uint64_t has = features_of(made.setting.source);
  auto drawn = shared.drawn[std::hash<std::string>()(made.setting.source.name) % shared.drawn.size()];
  bool exact = verdict.kind == Kind::exact;
  ++tally.generated;
  tally.generated_exact += exact;
  tally.computations += !drawn;
  for (std::size_t n = 0; n < features().size(); ++n) {
    tally.with_feature[n] += !drawn && has >> n & 1;
    tally.exact_with_feature[n] += exact && has >> n & 1;
  }
  drawn = true;
}

void count_traits(const Verdict &verdict, CampaignCounts &tally) {
  tally.executed += verdict.executed;
  for (std::size_t n = 0; n < trait_count; ++n) {
    tally.traits[n] += verdict.traits[n];
    tally.executed_traits[n] += verdict.traits[n] && verdict.executed;
  }
}

void count(const Draft &made, const Verdict &verdict, CampaignCounts &tally) {
  tally.directives += made.schedule.trace().size();
  tally.with_bulk_stores += verdict.stores_in_bulk;
  for (const auto &[op, attempts] : made.attempts) {
    tally.tried[number_of(op)] += attempts.tried;
    tally.refused[number_of(op)] += attempts.refused;
  }
  if (verdict.kind != Kind::exact)
    return;
  count_traits(verdict, tally);
  tally.shared += verdict.shared;
  tally.pipeline += verdict.pipeline;
  tally.vector += verdict.vector;
  tally.narrow_vector += verdict.narrow_vector;
  tally.intrinsic += verdict.intrinsic;
  tally.several_kernels += verdict.kernels > 1;
  tally.infinite += verdict.infinite;
  tally.warps += verdict.warps;
  tally.fragment += verdict.fragment;
  tally.call += verdict.call;
  tally.warp_barrier += verdict.warp_barrier;
  tally.texts[std::min(verdict.architecture, CampaignCounts::most_architectures - 1)] += verdict.texts;
  std::set<std::size_t> parts;
  for (const Directive &directive : made.schedule.trace())
    parts.insert(number_of(directive.op));
  for (std::size_t part : parts)
    ++tally.took_part[part];
}

/// Whether the device found it. All schedules are compiled for it, and none by the judge.
bool is_of_device(Kind kind, const Plan &plan) {
  return kind == Kind::wrong_device || (kind == Kind::not_compiled && plan.open_device);
}

/// Judges seeds until a schedule breaks a promise or `stop` returns true.
void work(Shared &shared, const Plan &plan, const std::function<bool(std::uint64_t)> &stop) {
  if (plan.everything != 0)
    use_no_libraries();
  std::unique_ptr<Device> device = plan.open_device ? plan.open_device() : nullptr;
  for (; !stop(shared.next); ++shared.next) {
    shared.launched = false;
    if (plan.only_warps && !is_for_warps(shared.next))
      continue;
    rearm();
    Kind kind = Kind::threw;
    try {
      Draft made = draft(shared.next, plan.computations, {}, plan.arch);
      Thoroughness thoroughness = thoroughness_of(shared.next, plan);
      thoroughness.device = device.get();
      if (device)
        device->launching = [&] {
          if (!std::exchange(shared.launched, true) && !plan.launched.empty())
            test::write_file(plan.launched, to_json(trace_of(made.setting)));
        };
      Verdict verdict = thoroughness.everything ? judge_all(made.setting, made.schedule, thoroughness)
                                                : judge(made.schedule, made.setting.shape, thoroughness);
      count(made, verdict, shared.tally);
      count_computation(made, verdict, shared);
      kind = verdict.kind;
      if (is_of_device(kind, plan))
        note().write(verdict.message); // a launch may leave the device unusable, so it is not repeated
    } catch (const std::exception &) { // the message is computed again in `examine`
    }
    ++shared.tally.schedules;
    ++shared.tally.kinds[static_cast<std::size_t>(kind)];
    if (breaks_promise(kind)) {
      shared.seed = shared.next++;
      shared.kind = kind;
      return;
    }
  }
}

Failure examine(std::uint64_t seed, Kind kind, const Plan &plan) {
  Thoroughness thoroughness = thoroughness_of(seed, plan);
  const std::string said = note().read();
  Case test_case = draft_apart(seed, plan.computations, plan.arch);
  if (is_of_device(kind, plan))
    return {seed, std::move(test_case), {.kind = kind, .message = said}};
  if (plan.shrink && judge_apart(test_case, thoroughness).kind == kind)
    test_case = shrink(std::move(test_case), kind, thoroughness);
  Verdict verdict = judge_apart(test_case, thoroughness);
  return {seed, std::move(test_case), std::move(verdict)};
}

} // namespace

std::uint64_t CampaignCounts::broken() const {
  return std::accumulate(kinds.begin() + static_cast<std::ptrdiff_t>(Kind::wrong_program), kinds.end(),
                         std::uint64_t{0});
}

std::uint64_t CampaignCounts::compiled() const {
  return std::accumulate(texts.begin(), texts.end(), std::uint64_t{0});
}

Outcome run(const Plan &plan) {
  using Clock = std::chrono::steady_clock;
  prepare_commands();
  Shared &shared = shared_object<Shared>();
  note(); // shared before the fork
  shared.next = plan.first_seed;
  auto start = Clock::now();
  auto over = [&] {
    return plan.seconds > 0 && std::chrono::duration<double>(Clock::now() - start).count() > plan.seconds;
  };
  auto done = [&](std::uint64_t seed) {
    return (plan.count != 0 && seed >= plan.first_seed + plan.count) || over();
  };
  Outcome outcome;
  const std::uint64_t batch = plan.open_device ? 500 : 2000; // schedules that one process judges at most
  while (!done(shared.next) && outcome.failures.size() < plan.failures) {
    std::uint64_t end = shared.next + batch;
    shared.kind = Kind::exact;
    Ending ending =
        isolated([&] { work(shared, plan, [&](std::uint64_t seed) { return seed >= end || done(seed); }); });
    if (ending.crashed || ending.hung) {
      shared.kind = ending.hung ? Kind::hung : Kind::crashed;
      if (shared.launched) { // on the device: it does not end, or takes this process with it
        note().write(fmt::format("{}\n{}",
                                 ending.alarmed ? "the launch does not end"
                                 : ending.hung  ? "a check after the launch does not end"
                                                : "the launch crashed",
                                 ending.said));
        shared.kind = Kind::wrong_device;
      }
      shared.seed = shared.next++;
      ++shared.tally.schedules;
      ++shared.tally.kinds[static_cast<std::size_t>(shared.kind)];
    }
    if (shared.kind != Kind::exact) {
      outcome.failures.push_back(examine(shared.seed, shared.kind, plan));
      if (plan.found)
        plan.found(outcome.failures.back());
    }
    if (plan.progress)
      plan.progress(shared.next, shared.tally);
  }
  if (!plan.launched.empty())
    std::filesystem::remove(plan.launched);
  outcome.tally = shared.tally;
  outcome.next_seed = shared.next;
  return outcome;
}

std::string report(const CampaignCounts &tally) {
  auto share = [](std::uint64_t part, std::uint64_t whole) {
    return whole == 0 ? 0.0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
  };
  std::uint64_t tried = std::accumulate(tally.tried.begin(), tally.tried.end(), std::uint64_t{0});
  std::uint64_t refused = std::accumulate(tally.refused.begin(), tally.refused.end(), std::uint64_t{0});
  std::uint64_t exact = tally.of(Kind::exact);
  std::string text = fmt::format("{} schedules, {:.1f} directives each\n", tally.schedules,
                                 tally.schedules == 0 ? 0.0
                                                      : static_cast<double>(tally.directives) /
                                                            static_cast<double>(tally.schedules));
  text += fmt::format("directives refused   {:>9} of {} ({:.1f} %)\n", refused, tried, share(refused, tried));
  for (std::size_t n = 0; n <= static_cast<std::size_t>(Kind::hung); ++n)
    text += fmt::format("{:<20} {:>9} ({:.1f} %)\n", name(static_cast<Kind>(n)), tally.kinds[n],
                        share(tally.kinds[n], tally.schedules));
  text += fmt::format("of the exact ones, with\n");
  for (auto [what, part] : {std::pair{"shared memory", tally.shared},
                            {"a pipeline", tally.pipeline},
                            {"vectors", tally.vector},
                            {"narrow vectors", tally.narrow_vector},
                            {"an intrinsic", tally.intrinsic},
                            {"several kernels", tally.several_kernels},
                            {"infinities", tally.infinite},
                            {"warps or lanes", tally.warps},
                            {"fragments", tally.fragment},
                            {"calls of a warp", tally.call},
                            {"__syncwarp", tally.warp_barrier}})
    text += fmt::format("  {:<18} {:>9} ({:.1f} %)\n", what, part, share(part, exact));
  for (std::size_t n = 0; n < trait_count; ++n)
    text += fmt::format("  {:<18} {:>9} ({:.1f} %)\n", name(static_cast<Trait>(n)), tally.traits[n],
                        share(tally.traits[n], exact));
  text +=
      fmt::format("{} schedules have bulk stores, {:.1f} % of them are exact\n", tally.with_bulk_stores,
                  share(tally.traits[static_cast<std::size_t>(Trait::bulk_stores)], tally.with_bulk_stores));
  text += fmt::format("{} of the exact ones executed by the device, too\n", tally.executed);
  for (std::size_t n = 0; n < trait_count && tally.executed != 0; ++n)
    text += fmt::format("  with {:<13} {:>9}\n", name(static_cast<Trait>(n)), tally.executed_traits[n]);
  text += fmt::format("{} texts compiled for {} architectures in turn\n", tally.compiled(),
                      tally.texts.size() - static_cast<std::size_t>(std::ranges::count(tally.texts, 0U)));
  text += fmt::format("{:<24} {:>9} {:>9} {:>24}\n", "primitive", "tried", "refused", "in exact schedules");
  const std::vector<Primitive> &primitives = all_primitives();
  for (std::size_t n = 0; n < primitives.size(); ++n)
    text += fmt::format("  {:<22} {:>9} {:>7.1f} % {:>15} ({:.1f} %)\n", primitives[n].name, tally.tried[n],
                        share(tally.refused[n], tally.tried[n]), tally.took_part[n],
                        share(tally.took_part[n], exact));
  text += fmt::format("{} schedules of {} generated computations, {} of them exact\n", tally.generated,
                      tally.computations, tally.generated_exact);
  text += fmt::format("{:<26} {:>12} {:>24}\n", "feature", "computations", "in exact schedules");
  for (std::size_t n = 0; n < features().size(); ++n)
    text += fmt::format("  {:<24} {:>12} {:>15} ({:.1f} %)\n", features()[n].name, tally.with_feature[n],
                        tally.exact_with_feature[n], share(tally.exact_with_feature[n], tally.generated_exact));
  return text;
}

std::string report(const Failure &failure) {
  return fmt::format("seed {}: {}\n{}\n{}\n{}", failure.seed, name(failure.verdict.kind),
                     failure.verdict.message, to_cpp(failure.shrunk), to_json(trace_of(failure.shrunk)));
}

} // namespace nestsmith::fuzz
