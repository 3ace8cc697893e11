/// Judges mutants of traces in child processes, and groups the failures by signature.

#include "tests/fuzz/mutate_traces.h"

#include "dsl/expr/error.h"
#include "schedules/rung.h"
#include "tests/files.h"
#include "tests/fuzz/author.h"
#include "tests/fuzz/commands.h"
#include "tests/fuzz/isolated.h"
#include "tests/fuzz/judge_all.h"
#include "tests/fuzz/mutate_json.h"
#include "tests/fuzz/note.h"
#include "tests/fuzz/shrink.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <sstream>
#include <sys/resource.h>

namespace nestsmith::fuzz {

namespace {

/// The limit of processor time for one mutant, in seconds. A mutant that ends takes about 0.01 seconds.
constexpr int most_seconds_of_mutant = 6;
constexpr std::uint64_t mutants_of_process = 500;
constexpr rlim_t most_memory = rlim_t{6} << 30;

struct Stock {
  std::vector<std::string> traces;
  Donors donors;
};

const Stock &stock() {
  static const Stock made = [] {
    Stock stock{trace_corpus(), {}};
    for (const std::string &trace : stock.traces)
      stock.donors.add(trace);
    for (std::uint64_t seed = 1; seed <= 100; ++seed)
      stock.donors.add(to_json(trace_of(case_of_generated(seed, "sm_80"))));
    return stock;
  }();
  return made;
}

/// Returns the trace of a rung at a random shape with random knobs.
std::string trace_of_rung(Random &random) {
  const Rung &rung = random.pick(builtin_rungs());
  Shape shape;
  while (shape.size() < rung.default_shape.size())
    shape.push_back(random.chance(95)
                        ? random.pick({1, 7, 16, 17, 32, 33, 48, 64, 65})
                        : random.pick({131, 4099, (1 << 24) + 1, INT32_MAX, std::int64_t{1} << 40}));
  if (random.chance(20)) {
    shape.stated = Size{.max = std::int64_t{1} << 15, .multiple_of = random.pick({1, 1, 4, 16})};
    for (std::int64_t &extent : shape)
      extent = (extent + shape.stated->multiple_of - 1) / shape.stated->multiple_of * shape.stated->multiple_of;
  }
  DType dtype = rung.dtype(random.pick(std::vector{DType::f32, DType::u32, DType::f16, DType::i8}));
  Knobs knobs = Knobs::random(random.below(1 << 20));
  Schedule schedule = rung.build(shape, dtype, make_target(random.chance(70) ? "sm_90a" : "sm_80"), knobs);
  return to_json(trace_file(schedule, shape, dtype, knobs.chosen()));
}

std::string base_of(std::uint64_t seed, Random &random) {
  if (random.chance(10))
    return trace_of_rung(random);
  if (random.chance(35))
    return random.pick(stock().traces);
  if (random.chance(20)) // their layouts contain many numbers
    while (!is_for_warps(seed))
      ++seed;
  return to_json(trace_of(draft(seed).setting));
}

/// Returns the mutant of a seed as a schedule. `note` receives the text, and then a trace before each
/// directive.
Draft mutant(std::uint64_t seed, Random &random, const std::function<void(const std::string &)> &note) {
  doing("draw");
  std::string base = base_of(seed, random);
  std::string text = random.chance(10) ? base : mutate(base, stock().donors, random);
  note(text);
  doing("parse");
  Case setting = case_of(parse_trace(text, "the mutant"), "the mutant");
  for (std::int64_t extent : setting.shape)
    if (extent < 1 || extent > std::int64_t{1} << 40)
      throw UserError(ExitCode::usage, "no shape of a run");
  doing("apply");
  Draft made{setting, Schedule(setting.source, make_target(setting.arch)), {}};
  std::function<void(const Draft &, const Directive &)> about_to;
  if (note)
    about_to = [&](const Draft &so_far, const Directive &next) {
      Case test_case = so_far.setting;
      test_case.directives = so_far.schedule.trace();
      test_case.directives.push_back(next);
      note(to_json(trace_of(test_case)));
    };
  for (const Directive &directive : setting.directives) {
    if (note)
      about_to(made, directive);
    try {
      apply(made.schedule, directive, "the mutant");
    } catch (const UserError &) { // the directive is refused, or it uses an unknown name
    }
  }
  go_on(made, random, random.chance(30) ? 1 + random.below(4) : 0, about_to);
  made.setting.directives = made.schedule.trace();
  if (note)
    note(to_json(trace_of(made.setting)));
  return made;
}

Thoroughness thoroughness_of_mutant(std::uint64_t seed) {
  return {.random = true, .infinite = true, .everything = true, .report = seed % 3 == 0, .sample = true};
}

struct SharedMutants {
  std::uint64_t next = 0, mutants = 0, not_read = 0;
  std::array<std::uint64_t, 16> kinds = {};
  double seconds = 0; ///< processor time of the child processes that have ended
  bool found = false;
  std::uint64_t seed = 0;
  Kind kind = Kind::exact;
  Note message;
};

Kind judge_mutant(std::uint64_t seed, SharedMutants &shared) {
  Random random(seed ^ 0x3c6ef372fe94f82bU);
  try {
    Draft made = mutant(seed, random, [](const std::string &) {});
    Verdict verdict = judge_all(made.setting, made.schedule, thoroughness_of_mutant(seed));
    shared.message.write(verdict.message);
    return verdict.kind;
  } catch (const UserError &) { // the text is no trace, or its computation is rejected
    shared.not_read += was_doing() == "parse";
    return Kind::refused;
  } catch (const std::exception &error) {
    shared.message.write(error.what());
    return Kind::threw;
  }
}

void work_on_mutants(SharedMutants &shared, std::uint64_t end, const MutationPlan &plan, double before) {
  use_no_libraries();
  rlimit memory{most_memory, most_memory};
  setrlimit(RLIMIT_AS, &memory);
  while (shared.next < end && !shared.found) {
    if (plan.seconds > 0 && before + processor_seconds() > plan.seconds)
      return;
    rearm(most_seconds_of_mutant);
    shared.seed = shared.next++;
    ++shared.mutants;
    shared.kind = judge_mutant(shared.seed, shared);
    ++shared.kinds[static_cast<std::size_t>(shared.kind)];
    shared.found = breaks_promise(shared.kind);
  }
}

/// Returns the end of the output of a process, without the request for a report.
std::string last_words(const std::string &said) {
  for (const char *marker : {"nestsmith: internal error", "terminate called"})
    if (std::size_t at = said.rfind(marker); at != std::string::npos)
      return said.substr(at, 20000);
  return said.size() > 2000 ? said.substr(said.size() - 2000) : said;
}

/// Returns the kind, the activity, and the plain words of the first line. Names, numbers and operators vary
/// between finds with the same cause, so they are left out.
std::string signature_of(const Find &find) {
  std::string text = fmt::format("{} in {}:", name(find.kind), find.doing);
  std::istringstream line(find.message.substr(0, find.message.find('\n')));
  for (std::string word; line >> word && text.size() < 160;) {
    while (!word.empty() && (word.back() == ',' || word.back() == ':' || word.back() == ';'))
      word.pop_back();
    if (word.size() > 1 && std::ranges::all_of(word, [](char c) { return c >= 'a' && c <= 'z'; }))
      text += " " + word;
  }
  return text;
}

std::string shrunk(const Find &find) {
  std::string text = mutant_apart(find.seed);
  if (find.kind == Kind::hung)
    return text;
  try {
    Case test_case = case_of(parse_trace(text, "the mutant"), "the mutant");
    Thoroughness thoroughness = thoroughness_of_mutant(find.seed);
    if (judge_apart(test_case, thoroughness).kind != find.kind)
      return text;
    return to_json(trace_of(shrink(std::move(test_case), find.kind, thoroughness)));
  } catch (const std::exception &) { // the text itself cannot be read
    return text;
  }
}

Find find_of(const SharedMutants &shared, const Ending &ending) {
  bool ended = ending.crashed || ending.hung;
  Find find{.seed = shared.seed,
            .kind = ending.hung      ? Kind::hung
                    : ending.crashed ? Kind::crashed
                                     : shared.kind,
            .doing = was_doing(),
            .message = ended ? last_words(ending.said) : shared.message.read(),
            .signature = {},
            .trace = {}};
  if (find.kind == Kind::command)
    find.message += "\n" + last_words(ending.said);
  if (find.kind == Kind::hung)
    find.message = "";
  find.signature = signature_of(find);
  return find;
}

} // namespace

std::vector<std::string> trace_corpus() {
  std::vector<std::string> traces;
  for (const Rung &rung : builtin_rungs())
    for (bool symbolic : {false, true}) {
      Shape shape = {33, 17, 40, 3};
      shape.resize(rung.default_shape.size());
      if (rung.needs)
        shape = {32, 16, 64};
      if (symbolic)
        shape.stated = Size{.max = std::int64_t{1} << 15, .multiple_of = rung.needs ? 16 : 1};
      DType dtype = rung.dtype();
      try {
        Target target = make_target(rung.needs ? "sm_90a" : "sm_80");
        traces.push_back(to_json(trace_file(rung.build(shape, dtype, target), shape, dtype)));
      } catch (const UserError &) { // the rung refuses the shape
      }
    }
  std::vector<std::filesystem::path> pinned;
  for (const auto &entry : std::filesystem::directory_iterator(NESTSMITH_SOURCE_DIR "/tests/pinned"))
    pinned.push_back(entry.path());
  std::ranges::sort(pinned);
  for (const std::filesystem::path &path : pinned)
    traces.push_back(test::read_file(path));
  return traces;
}

MutationOutcome mutate_traces(const MutationPlan &plan) {
  prepare_commands();
  stock();
  double begin = processor_seconds();
  SharedMutants &shared = shared_object<SharedMutants>();
  shared.next = plan.first_seed;
  MutationOutcome outcome;
  std::uint64_t last = plan.count == 0 ? UINT64_MAX : plan.first_seed + plan.count;
  while (shared.next < last && outcome.finds.size() < plan.finds) {
    double spent = processor_seconds() - begin;
    if (plan.seconds > 0 && spent >= plan.seconds)
      break;
    shared.found = false;
    Ending ending = isolated(
        [&] { work_on_mutants(shared, std::min(last, shared.next + mutants_of_process), plan, spent); });
    bool ended = ending.crashed || ending.hung;
    if (!ended && !shared.found)
      continue;
    Find find = find_of(shared, ending);
    if (ended)
      ++shared.kinds[static_cast<std::size_t>(find.kind)];
    find.seconds = processor_seconds() - begin;
    if (outcome.signatures[find.signature]++ > 0) {
      if (find.kind == Kind::hung) // otherwise hangs of the same command would take most of the time
        leave_out(find.doing);
      continue;
    }
    if (plan.shrink) {
      find.trace = shrunk(find);
      begin += processor_seconds() - begin - find.seconds; // do not count the time of shrinking
    }
    if (plan.found)
      plan.found(find);
    outcome.finds.push_back(std::move(find));
  }
  outcome.mutants = shared.mutants;
  outcome.kinds = shared.kinds;
  outcome.not_read = shared.not_read;
  outcome.next_seed = shared.next;
  return outcome;
}

std::string mutant_apart(std::uint64_t seed) {
  stock();
  note().write("");
  isolated([&] {
    Random random(seed ^ 0x3c6ef372fe94f82bU);
    try {
      mutant(seed, random, [](const std::string &text) { note().write(text); });
    } catch (const UserError &) { // return the text of the mutant
    }
  });
  return note().read();
}

std::string report(const MutationOutcome &outcome) {
  std::string text = fmt::format("{} mutants, {} of them no trace\n", outcome.mutants, outcome.not_read);
  for (std::size_t kind = 0; kind <= static_cast<std::size_t>(Kind::hung); ++kind)
    text += fmt::format("  {:<14} {:>8} ({:.1f} %)\n", name(static_cast<Kind>(kind)), outcome.kinds[kind],
                        100.0 * static_cast<double>(outcome.kinds[kind]) /
                            static_cast<double>(std::max<std::uint64_t>(outcome.mutants, 1)));
  for (const auto &[signature, finds] : outcome.signatures)
    text += fmt::format("  {:>6} x {}\n", finds, signature);
  return text;
}

std::string report(const Find &find) {
  return fmt::format("after {:.1f} s: mutant {}: {}\n{}\n{}", find.seconds, find.seed, find.signature,
                     find.message, find.trace);
}

} // namespace nestsmith::fuzz
