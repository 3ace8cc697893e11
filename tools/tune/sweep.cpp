#include "tools/tune/sweep.h"

#include "runtime/model/analyse.h"
#include "runtime/sim/workers.h"
#include "tools/output/failure.h"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <utility>

namespace nestsmith::cli {

namespace {

std::optional<std::int64_t> number_of(const std::string &text) {
  std::int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

/// Sorts candidates if all are numbers. `usual` is the default.
void in_order(Knob &knob, const std::string &usual) {
  if (std::ranges::all_of(knob.candidates, [](const std::string &text) { return number_of(text).has_value(); }))
    std::ranges::sort(knob.candidates, {}, [](const std::string &text) { return *number_of(text); });
  knob.chosen = static_cast<std::size_t>(std::ranges::find(knob.candidates, usual) - knob.candidates.begin());
}

/// Builds the points of a sweep.
class Sweeper {
public:
  Sweeper(const Context &context, const Tuning &tuning, std::vector<std::string> names)
      : context_(context), tuning_(tuning), names_(std::move(names)), found_(names_.size()) {}

  Sweep sweep() {
    Knobs usual = asked({});
    if (usual.asked().empty() && failure_.code != ExitCode::good)
      throw UserError(failure_.code, failure_.message);
    if (usual.asked().empty())
      refuse_without_knobs(tuning_.choice().name);
    usual_ = usual.chosen();
    vary({}, 0);
    for (std::size_t n = 0; n < names_.size(); ++n)
      if (!found_[n])
        refuse_unknown(usual, names_[n]);
    Sweep result;
    for (std::optional<Knob> &knob : found_) {
      auto usual_value = usual_.find(knob->name);
      in_order(*knob, usual_value == usual_.end() ? knob->candidates[knob->chosen] : usual_value->second);
      result.knobs.push_back(std::move(*knob));
    }
    auto place = [&](const SweptPoint &point) {
      std::vector<std::ptrdiff_t> places;
      for (std::size_t n = 0; n < point.values.size(); ++n)
        places.push_back(std::ranges::find(result.knobs[n].candidates, point.values[n]) -
                         result.knobs[n].candidates.begin());
      return places;
    };
    std::ranges::stable_sort(points_, {}, place);
    result.points = std::move(points_);
    return result;
  }

private:
  /// The knobs for which the schedule asks with these values and those of --set, up to a refusal.
  Knobs asked(const KnobValues &values) {
    Knobs knobs(values);
    failure_ = failure_of([&] { schedule_choice(context_, tuning_.choice(), tuning_.target(), knobs).plan(); });
    return knobs;
  }

  [[noreturn]] void refuse_unknown(const Knobs &usual, const std::string &name) const {
    std::vector<std::string> known;
    for (const Knob &knob : usual.asked())
      known.push_back(knob.name);
    std::vector<std::string> near = nearest(name, known);
    throw UserError(
        ExitCode::usage,
        fmt::format("'{}' has no knob '{}' with these values of the others, which --set changes; {}",
                    tuning_.choice().name, name,
                    near.empty() ? fmt::format("expected one of {}", fmt::join(known, ", "))
                                 : "did you mean " + quoted_list(near) + "?"));
  }

  /// Adds the points with these values of the first `next` knobs.
  void vary(const KnobValues &values, std::size_t next) {
    Knobs knobs = asked(values);
    if (next == names_.size())
      return add(values, knobs);
    auto knob = std::ranges::find(knobs.asked(), names_[next], &Knob::name);
    if (knob == knobs.asked().end())
      return;
    std::optional<Knob> &found = found_[next];
    if (!found)
      found = *knob;
    for (const std::string &candidate : knob->candidates) {
      if (std::ranges::find(found->candidates, candidate) == found->candidates.end())
        found->candidates.push_back(candidate);
      KnobValues more = values;
      more[knob->name] = candidate;
      vary(more, next + 1);
    }
  }

  void add(const KnobValues &values, const Knobs &knobs) {
    SweptPoint point{{}, values};
    for (const std::string &name : names_)
      point.values.push_back(values.at(name));
    if (failure_.code != ExitCode::good) {
      point.why = failure_.message;
    } else {
      point.knobs = knobs.chosen();
      KnobValues others;
      for (const auto &[name, value] : point.knobs)
        if (auto usual = usual_.find(name);
            !values.contains(name) && usual != usual_.end() && usual->second != value)
          others[name] = value;
      point.other = to_string(others);
    }
    points_.push_back(std::move(point));
  }

  const Context &context_;
  const Tuning &tuning_;
  std::vector<std::string> names_;
  KnobValues usual_;
  std::vector<std::optional<Knob>> found_; ///< one for each name
  std::vector<SweptPoint> points_;
  Failure failure_;
};

} // namespace

const SweptPoint *Sweep::find(const std::vector<std::string> &values) const {
  auto found = std::ranges::find(points, values, &SweptPoint::values);
  return found == points.end() ? nullptr : &*found;
}

const SweptPoint *Sweep::usual() const {
  std::vector<std::string> values;
  for (const Knob &knob : knobs)
    values.push_back(knob.candidates[knob.chosen]);
  return find(values);
}

Sweep swept(const Context &context, const Tuning &tuning, const std::string &names) {
  std::vector<std::string> words = words_of_list(names);
  bool twice = words.size() == 2 && words[0] == words[1];
  if (words.empty() || words.size() > 2 || twice || std::ranges::count(words, "") > 0)
    throw UserError(ExitCode::usage,
                    fmt::format("option '--sweep' must name one knob, or two different ones with a comma "
                                "between them, got '{}'",
                                names));
  for (const std::string &word : words)
    if (tuning.choice().knobs.contains(word))
      throw UserError(ExitCode::usage,
                      fmt::format("the knob '{}' is swept, and --set gives it one value; leave one out", word));
  return Sweeper(context, tuning, words).sweep();
}

void estimate(const Context &context, const Tuning &tuning, Sweep &sweep, const std::string &why) {
  const Gpu &gpu = tuning.gpu();
  std::vector<std::string> without_compiler(sweep.points.size());
  sim::for_each_index(0, sweep.points.size(), [&](std::size_t n) {
    SweptPoint &point = sweep.points[n];
    if (!point.why.empty())
      return;
    point.why = failure_of([&] {
                  Knobs knobs(point.knobs);
                  Scheduled scheduled = schedule_choice(context, tuning.choice(), tuning.target(), knobs);
                  kernel::Plan plan = scheduled.plan();
                  auto resources = resources_if_possible(plan, gpu, without_compiler[n]);
                  point.seconds =
                      nestsmith::analyse(scheduled.source(), plan, gpu, resources, {.host_threads = 1})
                          .estimated_seconds();
                }).message;
  });
  std::string note = without_compiler.empty() ? "" : *std::ranges::max_element(without_compiler);
  bool least = !note.empty() || gpu.arch.number < 80;
  sweep.source =
      fmt::format("{} for {} by the model of `explain`, not measured: {}{}{}",
                  least ? "the least time" : "estimated", gpu.product, why, note.empty() ? "" : "; " + note,
                  least ? ". The least time does not count latency, barriers and waves" : "");
}

void measure(Tuning &tuning, Sweep &sweep, TuneMeasurer &measurer, records::Database *database) {
  std::vector<KnobValues> points;
  std::vector<SweptPoint *> measured;
  for (SweptPoint &point : sweep.points)
    if (point.why.empty()) {
      points.push_back(point.knobs);
      measured.push_back(&point);
    }
  std::vector<records::Measurement> results = tuning.measure_points(points, measurer, database);
  for (std::size_t n = 0; n < results.size(); ++n)
    if (results[n].outcome == records::Outcome::measured) {
      measured[n]->seconds = results[n].median_ms * 1e-3;
    } else {
      measured[n]->why = fmt::format("{}: {}", records::name(results[n].outcome), results[n].message);
      measured[n]->wrong = results[n].outcome == records::Outcome::wrong;
    }
  sweep.measured = true;
  sweep.source = fmt::format("measured on {}, {}", measurer.machine().gpu, to_text(tuning.setting()));
}

} // namespace nestsmith::cli
