/// nestsmith_mutate: seeds bugs in the kernels of the rungs, and reports which of them the checks catch.

#include "dsl/expr/error.h"
#include "tests/mutation/computations.h"
#include "tests/mutation/score.h"

#include <llvm/Support/CommandLine.h>
#include <llvm/Support/raw_ostream.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <fmt/format.h>
#include <new>
#include <optional>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using namespace nestsmith;
using namespace nestsmith::mutation;

llvm::cl::list<std::string> rung_names("rung", llvm::cl::desc("only this rung (repeatable)"));
llvm::cl::list<std::string> kind_names("kind", llvm::cl::desc("only this kind (repeatable)"));
llvm::cl::opt<bool> sample("sample", llvm::cl::desc("a few places for each kind in a few rungs"));
llvm::cl::opt<bool> list("list", llvm::cl::desc("list the kinds, and how many places there are"));
llvm::cl::opt<unsigned> every("every", llvm::cl::desc("only one place in so many, of each kind"),
                              llvm::cl::init(1));
llvm::cl::opt<bool> all("all", llvm::cl::desc("print a line for every mutant"));
llvm::cl::opt<unsigned> jobs("jobs", llvm::cl::desc("processes"), llvm::cl::init(1));
llvm::cl::opt<std::string> markdown("markdown", llvm::cl::desc("write the score to this file"));

/// Small rungs that together contain everything that bugs change: a pipeline, vectors, swizzled and padded
/// tiles, branches, two kernels, tails in each dimension, asynchronous copies, calls of warps, dependences
/// through parameters, a last block, a tile for each warp, tiles that share memory, those that matrix units
/// read, bulk copies, and clusters. A sample takes its places in this order: cheap kernels first, so that a
/// costly one is only executed for the kinds that need it.
const std::vector<std::string> sample_rungs = {
    "tvm_steps/step5",     "gemm/batched",        "principles/branch_free",
    "principles/uniform",  "principles/unfused",  "principles/fused",
    "tangled/in_place",    "tangled/overwrite",   "tangled/overwrite_fused",
    "tangled/output_read", "tangled/split_sum",   "tangled/own_tiles",
    "tangled/stages",      "wrapping/masks",      "wrapping/divisions",
    "reduce/atomics",      "principles/swizzled", "transposed/prefetch",
    "tensor/mma",          "tensor/swizzled",     "tensor/joined",
    "ladder/async",        "hopper/wgmma",        "hopper/roles",
    "hopper/tma",          "hopper/cluster",      "tangled/partial_copies"};
constexpr int sample_places = 6; ///< places per kind

/// The mutants of a kernel are divided into this many parts, so that the workers share the largest kernel.
constexpr std::size_t parts = 4;

/// For each subject and kind, the number of places in the preceding subjects. With it, `--every` selects the
/// same places for any number of processes.
using Before = std::vector<std::vector<int>>;
Before places_before(const std::vector<Subject> &all_subjects) {
  Before before(1, std::vector<int>(catalogue().size()));
  for (const Subject &subject : all_subjects) {
    before.push_back(before.back());
    for (std::size_t k = 0; k < catalogue().size(); ++k)
      before.back()[k] += subject.sites(catalogue()[k]);
  }
  return before;
}

/// Returns the selected places of one part of a kernel. `before` is the number of places in preceding kernels.
std::vector<int> places(int before, int sites, std::size_t part) {
  std::vector<int> chosen;
  std::size_t number = 0;
  for (int site = 0; site < sites; ++site)
    if ((before + site) % static_cast<int>(every) == 0 && number++ % parts == part)
      chosen.push_back(site);
  return chosen;
}

/// Returns one place for a sample, or none if the kind already has `sample_places` of them.
std::vector<int> sampled(std::size_t kind, int sites, int &tried) {
  return sites > 0 && tried++ < sample_places ? std::vector{static_cast<int>(kind) % sites}
                                              : std::vector<int>{};
}

/// Returns the subjects of a sample in the order of `sample_rungs`.
std::vector<Subject> sample_subjects() {
  std::vector<Subject> all = subjects(sample_rungs);
  std::ranges::stable_sort(all, {}, [](const Subject &subject) {
    return std::ranges::find(sample_rungs, subject.rung->full_name());
  });
  return all;
}

using Next = std::atomic<std::size_t>;
Next &shared_counter() {
  void *memory = mmap(nullptr, sizeof(Next), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  internal_check(memory != MAP_FAILED, "no memory for processes to share");
  return *new (memory) Next(0);
}

/// Judges mutants in one worker, and writes each result to `out` as one line. `next` is the next part to take.
/// Returns false if an unchanged kernel is rejected.
bool work(const std::vector<Subject> &all_subjects, const Before &before, Next &next, std::FILE *out) {
  bool good = true;
  std::size_t each = sample ? 1 : parts;
  std::vector<int> tried(catalogue().size());
  for (std::size_t unit = next++; unit < each * all_subjects.size(); unit = next++) {
    const Subject &subject = all_subjects[unit / each];
    std::optional<Net> net; // made only for a subject with a place, because it executes the unchanged kernels
    for (std::size_t k = 0; k < catalogue().size(); ++k) {
      const Kind &kind = catalogue()[k];
      if (!kind_names.empty() && std::find(kind_names.begin(), kind_names.end(), kind.name) == kind_names.end())
        continue;
      int sites = subject.sites(kind);
      for (int site :
           sample ? sampled(k, sites, tried[k]) : places(before[unit / each][k], sites, unit % each)) {
        if (!net)
          net.emplace(subject);
        if (net->wrong().empty())
          fmt::print(out, "{}\n", to_line(judged(*net, subject, kind, k, site)));
      }
    }
    if (net && !net->wrong().empty()) {
      fmt::print(stderr, "{} itself is wrong: {}\n", subject.name(), net->wrong());
      good = false;
    }
  }
  std::fflush(out);
  return good;
}

/// Returns none if a worker did not finish or rejected an unchanged kernel.
std::optional<std::vector<Result>> run(const std::vector<Subject> &all_subjects) {
  std::vector<std::FILE *> files;
  std::vector<pid_t> workers;
  Next &next = shared_counter();
  Before before = every > 1 ? places_before(all_subjects)
                            : Before(all_subjects.size(), std::vector<int>(catalogue().size()));
  for (unsigned n = 0; n < jobs; ++n) {
    files.push_back(std::tmpfile());
    workers.push_back(fork());
    if (workers.back() == 0) {
      bool good = work(all_subjects, before, next, files.back());
      _exit(good ? 0 : 1);
    }
  }
  std::vector<Result> results;
  bool good = true;
  for (unsigned n = 0; n < jobs; ++n) {
    int status = 0;
    waitpid(workers[n], &status, 0);
    good = good && status == 0;
    std::rewind(files[n]);
    std::string line;
    for (int c = std::fgetc(files[n]); c != EOF; c = std::fgetc(files[n]))
      if (c == '\n') {
        results.push_back(from_line(line));
        line.clear();
      } else {
        line += static_cast<char>(c);
      }
    std::fclose(files[n]);
  }
  return good ? std::optional(std::move(results)) : std::nullopt;
}

} // namespace

int main(int argc, char **argv) {
  llvm::cl::ParseCommandLineOptions(argc, argv, "seeds bugs in kernels and tells which of them are caught\n");
  if (sample && jobs > 1) {
    fmt::print(stderr, "a sample is taken by one process\n");
    return 2;
  }
  std::vector<std::string> names(rung_names.begin(), rung_names.end());
  for (const std::string &name : names)
    if (std::none_of(seeded_rungs().begin(), seeded_rungs().end(),
                     [&](const Rung &rung) { return rung.full_name() == name; })) {
      fmt::print(
          stderr,
          "there is no rung '{}', expected one of `nestsmith list` or of tests/mutation/computations.cpp\n",
          name);
      return 2;
    }
  for (const std::string &name : kind_names)
    if (std::none_of(catalogue().begin(), catalogue().end(),
                     [&](const Kind &kind) { return kind.name == name; })) {
      fmt::print(stderr, "there is no kind of bug '{}'; --list names them\n", name);
      return 2;
    }
  std::vector<Subject> chosen = sample && names.empty() ? sample_subjects() : subjects(names);
  if (list) {
    int all_places = 0;
    for (const Kind &kind : catalogue()) {
      int sites = 0;
      for (const Subject &subject : chosen)
        sites += subject.sites(kind);
      fmt::print("{:11} {:28} {:6}  {}\n", kind.group, kind.name, sites, kind.what);
      all_places += sites;
    }
    fmt::print("{} places in {} kernels\n", all_places, chosen.size());
    return 0;
  }
  std::optional<std::vector<Result>> run_results = run(chosen);
  if (!run_results)
    return 1;
  std::vector<Result> &results = *run_results;
  std::sort(results.begin(), results.end());
  for (const Result &result : results)
    if (all || result.outcome == Outcome::survived || result.outcome == Outcome::wrong_kind)
      fmt::print("{}\n", describe(result));
  Score score(results, chosen.size(), every);
  fmt::print("{}\n", score.summary());
  bool every_kind = !kind_names.empty() || !names.empty() || score.kinds_without_a_site().empty();
  for (const std::string &kind : score.kinds_without_a_site())
    if (kind_names.empty() && names.empty())
      fmt::print("{} fits nowhere\n", kind);
  if (!markdown.empty()) {
    std::error_code error;
    llvm::raw_fd_ostream file(markdown, error);
    file << score.markdown();
    file.close();
    if (error || file.has_error()) {
      fmt::print(stderr, "cannot write {}\n", markdown.getValue());
      return 2;
    }
  }
  return score.good() && every_kind ? 0 : 1;
}
