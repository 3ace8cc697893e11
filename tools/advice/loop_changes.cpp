#include "dsl/schedule/trace.h"
#include "tools/advice/changes.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <set>

namespace nestsmith::cli {

const std::string *loop_argument(const Directive &directive, std::size_t n) {
  const auto *loop = n < directive.arguments.size() ? std::get_if<LoopName>(&directive.arguments[n]) : nullptr;
  return loop ? &loop->name : nullptr;
}

bool is_bind(const Directive &directive, Axis axis) {
  const auto *word = directive.op == "bind" ? std::get_if<Word>(&directive.arguments.at(1)) : nullptr;
  return word && parse_axis(word->text) == axis;
}

Schedule replayed(const Schedule &from, const std::function<bool(Schedule &, const Directive &)> &replace) {
  Schedule s(from.source(), from.target());
  for (const Directive &directive : from.trace())
    if (!replace(s, directive))
      apply(s, directive, "the schedule");
  return s;
}

namespace {

using Factors = std::vector<std::int64_t>;

const Factors *factors_of(const Directive &directive) {
  return directive.op == "split" && directive.arguments.size() == 2 && loop_argument(directive)
             ? std::get_if<Factors>(&directive.arguments[1])
             : nullptr;
}

std::string factors_text(const Factors &factors) {
  std::vector<std::string> parts;
  for (std::int64_t factor : factors)
    parts.push_back(factor == infer ? "infer" : std::to_string(factor));
  return fmt::format("{{{}}}", fmt::join(parts, ", "));
}

/// A split with other factors: the position of its directive in the trace, and the factors.
struct OtherSplit {
  std::size_t at;
  Factors factors;
};

Change with_splits(const Subject &subject, std::vector<OtherSplit> splits) {
  const Schedule &from = subject.scheduled.schedule;
  std::vector<std::string> en, ko;
  for (const OtherSplit &split : splits) {
    const Directive &directive = from.trace()[split.at];
    Texts part = texts("{} by {} instead of {}", "{}: {}(현재 값: {})", *loop_argument(directive),
                       factors_text(split.factors), factors_text(*factors_of(directive)));
    en.push_back(part.en);
    ko.push_back(part.ko);
  }
  return {{fmt::format("split {}", fmt::join(en, " and ")),
           fmt::format("split의 크기 바꾸기: {}", fmt::join(ko, ", "))},
          [&from, splits = std::move(splits)] {
            std::size_t at = 0;
            return replayed(from, [&](Schedule &s, const Directive &directive) {
              auto split = std::ranges::find(splits, at++, &OtherSplit::at);
              if (split == splits.end())
                return false;
              s.split(s.loop(*loop_argument(directive)), split->factors, Caller({}, directive.named));
              return true;
            });
          }};
}

std::set<std::string> loops_in(const Program &program) {
  std::set<std::string> names;
  walk(program.body, [&](const Stmt &stmt) {
    if (const For *loop = as<For>(stmt))
      names.insert(loop->var->name);
    return true;
  });
  return names;
}

/// Whether a warp's requests to global memory take more sectors than their elements need.
bool wastes_sectors(const Subject &subject) {
  return std::ranges::any_of(subject.analysis.slowest().counters.accesses, [](const auto &access) {
    return access.buffer->scope == Scope::global && access.bytes_moved() > access.asked;
  });
}

/// The loops that `bind` binds to threadIdx.x, by name.
std::set<std::string> loops_over_threads(const Schedule &schedule) {
  std::set<std::string> names;
  for (const Directive &directive : schedule.trace())
    if (is_bind(directive, Axis::thread_x) && loop_argument(directive))
      names.insert(*loop_argument(directive));
  return names;
}

/// Gives a thread four consecutive elements where it copied one: the last loop of a split over threads.
bool split_by_four(Schedule &s, const Directive &directive, const std::set<std::string> &threads) {
  const Factors *factors = factors_of(directive);
  if (!factors || factors->size() != 2 || !threads.contains(directive.results.back()))
    return false;
  Factors four = {(*factors)[0], (*factors)[1], 4};
  std::vector<std::string> names = directive.results;
  names.push_back(names.back() + "_four");
  s.vectorize(s.split(s.loop(*loop_argument(directive)), four, Caller({}, names)).back());
  return true;
}

/// Vectorizes an unrolled loop, or parts of four.
bool vectorize_unrolled(Schedule &s, const Directive &directive) {
  Loop loop = s.loop(*loop_argument(directive));
  std::int64_t extent = s.extent(loop);
  if (extent > 4 && extent % 4 == 0) {
    auto parts = s.split(loop, {infer, 4});
    s.unroll(parts[0]);
    s.vectorize(parts[1]);
  } else {
    s.vectorize(loop);
  }
  return true;
}

} // namespace

std::vector<Change> resize_tiles(const Subject &subject) {
  const Schedule &from = subject.scheduled.schedule;
  std::set<std::string> loops = loops_in(from.source());
  std::vector<Change> changes;
  std::vector<OtherSplit> last[2]; // the last factor, doubled and halved
  for (std::size_t at = 0; at < from.trace().size(); ++at) {
    const Directive &directive = from.trace()[at];
    const Factors *factors = factors_of(directive);
    if (!factors || !loops.contains(*loop_argument(directive)))
      continue;
    for (std::size_t n = factors->size(); n-- > 1;)
      for (bool halved : {false, true}) {
        std::int64_t factor = (*factors)[n];
        if (factor <= 0 || (halved && factor % 2 != 0))
          continue;
        OtherSplit split{at, *factors};
        split.factors[n] = halved ? factor / 2 : factor * 2;
        if (n + 1 == factors->size() && last[halved].size() < 2)
          last[halved].push_back(split);
        changes.push_back(with_splits(subject, {split}));
      }
  }
  for (const std::vector<OtherSplit> &both : last)
    if (both.size() == 2)
      changes.insert(changes.begin(), with_splits(subject, both));
  return changes;
}

std::vector<Change> swap_lanes(const Subject &subject) {
  if (!wastes_sectors(subject))
    return {};
  const Schedule &from = subject.scheduled.schedule;
  auto swapped_axes = [&from] {
    return replayed(from, [](Schedule &s, const Directive &directive) {
      bool x = is_bind(directive, Axis::thread_x);
      if (!x && !is_bind(directive, Axis::thread_y))
        return false;
      s.bind(s.loop(*loop_argument(directive)), x ? Axis::thread_y : Axis::thread_x);
      return true;
    });
  };
  std::vector<Change> changes;
  if (std::ranges::any_of(from.trace(), [](const auto &each) { return is_bind(each, Axis::thread_y); }))
    changes.push_back({{"bind the loop of threadIdx.y to threadIdx.x, and the other way round",
                        "threadIdx.x와 threadIdx.y의 루프를 서로 바꾸어 bind하기"},
                       swapped_axes});
  for (const Directive &fused : from.trace()) {
    const std::string *outer = loop_argument(fused, 0), *inner = loop_argument(fused, 1);
    if (fused.op != "fuse" || !outer || !inner)
      continue;
    changes.push_back(
        {texts("fuse {0} and {1} in the other order, so that {0} counts neighbouring threads",
               "{0}, {1} 루프의 fuse 순서를 바꾸어 이웃한 스레드를 {0} 방향으로 늘어놓기", *outer, *inner),
         [&from, &fused, outer, inner] {
           return replayed(from, [&](Schedule &s, const Directive &directive) {
             if (!(directive == fused))
               return false;
             s.reorder({s.loop(*inner), s.loop(*outer)});
             s.fuse(s.loop(*inner), s.loop(*outer), Caller({}, directive.results));
             return true;
           });
         }});
  }
  return changes;
}

std::vector<Change> widen_accesses(const Subject &subject) {
  const Schedule &from = subject.scheduled.schedule;
  std::set<std::string> threads = loops_over_threads(from);
  std::vector<Change> changes;
  auto is_copy = [threads](const Directive &directive) {
    const Factors *factors = factors_of(directive);
    return factors && factors->size() == 2 && threads.contains(directive.results.back());
  };
  auto add = [&](Texts what, const std::function<bool(const Directive &)> &chosen) {
    changes.push_back({std::move(what), [&from, threads, chosen] {
                         return replayed(from, [&](Schedule &s, const Directive &directive) {
                           return chosen(directive) && split_by_four(s, directive, threads);
                         });
                       }});
  };
  if (std::ranges::count_if(from.trace(), is_copy) > 1)
    add({"copy by vectors of four elements", "원소 네 개짜리 벡터로 복사하기"}, is_copy);
  for (const Directive &each : from.trace()) {
    const std::string *loop = loop_argument(each);
    if (is_copy(each))
      add(texts("vectors of four elements along {}", "{} 방향으로 원소 네 개짜리 벡터 쓰기", *loop),
          [&each](const Directive &directive) { return directive == each; });
    if (each.op == "unroll" && loop)
      changes.push_back(
          {texts("vectors along {} instead of unrolling it", "{} 루프를 펼치는 대신 벡터로 만들기", *loop),
           [&from, &each] {
             return replayed(from, [&](Schedule &s, const Directive &directive) {
               return directive == each && vectorize_unrolled(s, directive);
             });
           }});
  }
  return changes;
}

} // namespace nestsmith::cli
