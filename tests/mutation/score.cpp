/// Computes the score and prints it as text and as Markdown.

#include "tests/mutation/score.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <sstream>
#include <tuple>

namespace nestsmith::mutation {

namespace {

std::vector<std::string> names(const Errors &errors) {
  std::vector<std::string> list;
  for (Error error : errors)
    list.emplace_back(name(error));
  return list;
}

bool right(const Errors &errors, const Kind &kind) {
  return std::any_of(errors.begin(), errors.end(), [&](Error error) { return kind.right.count(error) != 0; });
}

std::string plain(std::string text) {
  for (char &c : text)
    if (c == '\n' || c == '\t')
      c = ' ';
  return text;
}

constexpr const char *prose = R"(# Seeded bugs: a test of the checks

Made by `build/bin/nestsmith_mutate --jobs 2{2} --markdown docs/mutation.md`. A mutant is a schedule or its kernels with
one small bug at one place.{3} Result: {0}.

{4}

**The checks** under test are those that stand between a bug of a primitive or of the lowering and the user. Each has a
name in the tables:

- *obligation*: the obligations of a schedule;
- *breach*: the verifiers of programs and of kernels;
- *refused*: the checks inside the passes and the simulator;
- *race*, *out of bounds*, *unwritten read*, *in flight*, *misaligned*, *divergent barrier*, *counter left*: the diagnostics of
  the simulator;
- *wrong value*: the comparison with the reference, in ring mode, in integer mode, in floating point within the bound,
  with β = 0 and a C full of NaN, and with infinities.

Each kind of bug lists the right errors for it (`tests/mutation/`, one file per group). A mutant that causes only other
errors does not count as caught. If several of the right errors are reported, the table counts the first one in the order
above.

**The kernels** are those of every rung and of eight schedules that are not rungs (`tests/mutation/computations.cpp`), at three
shapes. *edges* is a few more than a tile, so rows are whole vectors and the third tile of k is partial. *odd* is one more
than a tile in all dimensions except the columns, of which there is one less. *sizes* has sizes that are known only at
launch, with leading dimensions larger than the rows. It is launched four times: for an odd shape, for the tile, for a tile
plus a remainder in each dimension, and for 1. A kernel that two rungs share is used once. A bug is first seeded in the u32
kernel. If no check reports it there, it is seeded in the f32 kernel. On matrix units, both are the f16 kernel.
The bugs of the group *extraction* are seeded before the later passes, which then insert barriers, join guards, lay out
shared memory and make vectors for the mutant.

**Forgotten dependences.** The bugs of the group *dependences* are seeded in the program after the last directive, so the
primitives do not check them. They are what a primitive without its check of dependences would do: statements in the wrong
order, loops that are wrongly shared, iterations that wrongly run in parallel. Four of the six schedules have dependences
through parameters, which no rung has: C = C*B in place, a tensor that is overwritten after a read, and an output that a later
stage reads.

**Fragments.** The bugs of the group *fragments* are seeded in kernels with calls of a warp: the lanes or the registers of an
operand are exchanged in pairs, a lane loads or stores the elements of its neighbour, or the accumulator is not initialised. The
kinds of the other groups treat the operands of calls like loads and stores.

**Data that wrap around.** The bugs of the group *wrapping* treat integer data as numbers without bounds. They are seeded in two
schedules on integer data, and the other bugs in all other schedules. Signed arithmetic on data, a division by data and a
conversion of data have results that C++ leaves undefined. The simulator defines these results, so of these checks only the
verifier of kernels reports such a bug.

**Bugs in the text.** `tests/schedules/host_faults_test.cpp` seeds bugs in emitted texts: lost barriers, other indices, signed
arithmetic, truncated divisions, conversions without saturation, lost leading dimensions. They are found by the compiler, or
when the text runs on the host under sanitizers. `tests/runtime/check/each_run_test.cpp` shows for each run of `check` a wrong
kernel that no other run finds.

**Reducers.** `tests/known_bugs/reducers_test.cpp` seeds bugs in reductions by tiles and across lanes: another number for an
identity, a minimum for a maximum, `<=` for `<` in an argmax. Terms do not decide conditions on data. So the kernels
reduce three elements, and a mutant is equivalent if it changes no row of all rows of nine numbers, which have each
order of the elements, the identities and 0. The check reports exactly the others.

**An equivalent mutant** is not a bug. The program decides this; there is no list of exceptions. If no check reports a
mutant, `tests/mutation/terms.h` executes it on symbolic terms instead of numbers. The mutant is equivalent if every
element of the result is the same term as without the bug, up to the order of a sum. Indices, extents and guards do not
depend on data, so this holds for all inputs. The simulator has already excluded races, accesses out of bounds and
unwritten reads. For kernels of unknown sizes, equivalence is decided for the four launches. Typical equivalent mutants
are:

- a weakened guard that no thread reaches;
- a barrier that moves past a statement without shared memory;
- an additional loop iteration that is masked;
- a store that is executed twice with the same value;
- a fill value that is only multiplied by zeros.
{1})";

} // namespace

Result judged(Net &net, const Subject &subject, const Kind &kind, std::size_t number, int site) {
  Result result{number, subject.name(), site, Outcome::caught, {}, {}, {}};
  Report report = net.judge(kind, site, result.where);
  result.errors = report.errors;
  result.message = report.message;
  if (report.errors.empty())
    result.outcome = net.same_terms(kind, site) ? Outcome::equivalent : Outcome::survived;
  else if (!right(report.errors, kind) || report.errors.count(errors::crash))
    result.outcome = Outcome::wrong_kind;
  return result;
}

std::string to_line(const Result &result) {
  constexpr std::size_t longest = 400;
  return fmt::format("{}\t{}\t{}\t{}\t{}\t{}\t{}", result.kind, plain(result.subject), result.site,
                     static_cast<int>(result.outcome), bits_of(result.errors), plain(result.where),
                     plain(result.message).substr(0, longest));
}

Result from_line(const std::string &line) {
  std::vector<std::string> parts(1);
  for (char c : line)
    if (c == '\t')
      parts.emplace_back();
    else
      parts.back() += c;
  parts.resize(7);
  return {std::stoul(parts[0]),
          parts[1],
          std::stoi(parts[2]),
          static_cast<Outcome>(std::stoi(parts[3])),
          errors_of(std::stoull(parts[4])),
          parts[5],
          parts[6]};
}

std::string describe(const Result &result) {
  static constexpr const char *outcomes[] = {"caught", "equivalent", "WRONG KIND", "SURVIVED"};
  return fmt::format("{} {}, place {}: {} [{}]\n    {}\n    {}", catalogue()[result.kind].name, result.subject,
                     result.site, outcomes[static_cast<std::size_t>(result.outcome)],
                     fmt::join(names(result.errors), ", "), result.where, result.message);
}

Score::Score(std::vector<Result> results, std::size_t subjects, unsigned every)
    : results_(std::move(results)), subjects_(subjects), every_(every) {}

std::size_t Score::count(Outcome outcome) const {
  return static_cast<std::size_t>(
      std::count_if(results_.begin(), results_.end(), [&](const Result &r) { return r.outcome == outcome; }));
}

bool Score::good() const {
  return !results_.empty() && count(Outcome::survived) == 0 && count(Outcome::wrong_kind) == 0;
}

std::string Score::summary() const {
  return fmt::format("{} kinds of bugs, {} of them caught at least once, at {} places of {} kernels: {} caught "
                     "by the right kind of error, {} equivalent, {} caught by another kind, {} survived",
                     catalogue().size() - kinds_without_a_site().size(), kinds_caught(), results_.size(),
                     subjects_, count(Outcome::caught), count(Outcome::equivalent), count(Outcome::wrong_kind),
                     count(Outcome::survived));
}

std::vector<std::string> Score::kinds_without_a_site() const {
  std::vector<std::string> list;
  for (std::size_t k = 0; k < catalogue().size(); ++k)
    if (std::none_of(results_.begin(), results_.end(), [&](const Result &r) { return r.kind == k; }))
      list.push_back(catalogue()[k].name);
  return list;
}

std::size_t Score::count(std::size_t kind, Outcome outcome) const {
  return static_cast<std::size_t>(
      std::ranges::count_if(results_, [&](const Result &r) { return r.kind == kind && r.outcome == outcome; }));
}

std::size_t Score::kinds_caught() const {
  std::size_t caught = 0;
  for (std::size_t k = 0; k < catalogue().size(); ++k)
    caught += count(k, Outcome::caught) != 0;
  return caught;
}

std::string Score::never_bugs() const {
  std::string list;
  for (std::size_t k = 0; k < catalogue().size(); ++k) {
    auto places = std::ranges::count(results_, k, &Result::kind);
    if (places != 0 && static_cast<std::size_t>(places) == count(k, Outcome::equivalent))
      list += fmt::format("- {}, {}: {} places\n", catalogue()[k].group, catalogue()[k].what, places);
  }
  if (list.empty())
    return "Every kind is a bug at some place.";
  list.pop_back();
  return "These kinds were equivalent at every place, so they do not test the checks:\n\n" + list;
}

std::string Score::markdown() const {
  std::string text;
  for (std::size_t k = 0; k < catalogue().size(); ++k) {
    const Kind &kind = catalogue()[k];
    std::map<Error, std::size_t> by;
    std::size_t sites = 0, equivalent = 0, left = 0;
    for (const Result &result : results_) {
      if (result.kind != k)
        continue;
      ++sites;
      equivalent += result.outcome == Outcome::equivalent;
      left += result.outcome == Outcome::survived || result.outcome == Outcome::wrong_kind;
      if (result.outcome == Outcome::caught)
        ++by[*std::find_if(result.errors.begin(), result.errors.end(),
                           [&](Error error) { return kind.right.count(error) != 0; })];
    }
    if (sites == 0)
      continue;
    if (k == 0 || catalogue()[k - 1].group != kind.group)
      text += fmt::format(
          "\n## {}\n\n| bug | places | caught by | equivalent | survived |\n|---|---:|---|---:|---:|\n",
          kind.group);
    std::vector<std::string> caught;
    for (const auto &[error, number] : by)
      caught.push_back(fmt::format("{} {}", name(error), number));
    text += fmt::format("| {} | {} | {} | {} | {} |\n", kind.what, sites, fmt::join(caught, ", "), equivalent,
                        left);
  }
  std::string survivors;
  for (const Result &result : results_)
    if (result.outcome == Outcome::survived || result.outcome == Outcome::wrong_kind)
      survivors += "- " + describe(result) + "\n";
  std::string part = every_ == 1 ? "" : fmt::format(" --every {}", every_);
  std::string tried =
      every_ == 1
          ? ""
          : fmt::format(" One place in {} of each kind was tried. Without `--every`, all places are tried.",
                        every_);
  return fmt::format(prose, summary(), text, part, tried, never_bugs()) +
         (survivors.empty() ? "" : "\n## Not caught\n\n" + survivors);
}

} // namespace nestsmith::mutation
