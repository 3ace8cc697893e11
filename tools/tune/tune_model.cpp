#include "tools/tune/tune_model.h"

#include "runtime/tune/search.h"
#include "tools/output/json.h"
#include "tools/output/table.h"
#include "tools/tune/tune_records.h"
#include "tools/tune/tuning.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <tuple>

namespace nestsmith::cli {

namespace {

using records::Record;

/// The agreement of the model with the measurements at one shape.
struct Agreement {
  Record best; ///< the fastest point
  std::size_t points = 0;
  double correlation = 0;
  /// The part of the points that the model puts before the fastest one, and half of those with the same time.
  double place = 0;
  double loss = 0; ///< measured time of the point that the model puts first, relative to that of the fastest
};

/// At most `limit` records in a random order, which depends only on the seed. The fastest is among them.
std::vector<Record> chosen(std::vector<Record> found, std::size_t limit, std::uint64_t seed) {
  std::ranges::stable_sort(found, {}, &Record::median_ms);
  std::ranges::stable_sort(found.begin() + 1, found.end(), {},
                           [&](const Record &record) { return tune::random_key(record.knobs, seed); });
  found.resize(std::min(found.size(), limit));
  return found;
}

Agreement agreement(const Context &context, const std::vector<Record> &found, const Gpu &gpu) {
  const Record &first = found.front();
  ChosenRung choice = choose_rung(context.rungs, first.rung);
  Shape shape = parse_shape(first.shape, choice.gpu_shape.size());
  choice.default_shape = choice.gpu_shape = shape;
  DType dtype = parse_dtype(first.dtype).value_or(choice.default_dtype);
  choice.default_dtype = dtype;
  Tuning tuning(context, choice, shape, dtype, {gpu, ""}, {});
  std::vector<KnobValues> points;
  for (const Record &record : found)
    points.push_back(record.knobs);
  std::vector<std::optional<double>> seconds = tuning.predict(points);
  std::vector<double> predicted, measured;
  for (std::size_t n = 0; n < found.size(); ++n)
    if (seconds[n]) {
      predicted.push_back(*seconds[n]);
      measured.push_back(found[n].median_ms);
    }
  Agreement result{first, predicted.size(), tune::rank_correlation(predicted, measured), 0, 0};
  if (predicted.empty())
    return result;
  auto best = static_cast<std::size_t>(std::ranges::min_element(measured) - measured.begin());
  double before = 0;
  for (double time : predicted)
    before += time < predicted[best] ? 1 : time == predicted[best] ? 0.5 : 0;
  result.place = (before - 0.5) / static_cast<double>(predicted.size());
  auto proposed = static_cast<std::size_t>(std::ranges::min_element(predicted) - predicted.begin());
  result.loss = measured[proposed] / measured[best];
  return result;
}

void write_agreement(llvm::json::OStream &json, const Agreement &agreement) {
  json.object([&] {
    json.attribute("rung", agreement.best.rung);
    json.attribute("shape", agreement.best.shape);
    json.attribute("dtype", agreement.best.dtype);
    json.attribute("gpu", agreement.best.gpu);
    json.attribute("points", static_cast<std::int64_t>(agreement.points));
    json.attribute("rank_correlation", agreement.correlation);
    json.attribute("place_of_fastest", agreement.place);
    json.attribute("loss", agreement.loss);
  });
}

} // namespace

ExitCode compare_with_model(const Context &context) {
  std::map<std::tuple<std::string, std::string, std::string, std::string>, std::vector<Record>> groups;
  std::vector<std::string> notes;
  std::size_t symbolic = 0, estimated = 0;
  for (Record &record : wanted_records(context))
    if (record.symbolic)
      ++symbolic;
    else if (record.outcome == records::Outcome::estimated)
      ++estimated;
    else if (record.outcome == records::Outcome::measured)
      groups[{record.rung, record.gpu, record.dtype, record.shape}].push_back(std::move(record));
  if (estimated > 0)
    notes.push_back(fmt::format("{} of the model itself {} not compared",
                                estimated == 1 ? "1 estimate" : fmt::format("{} estimates", estimated),
                                estimated == 1 ? "is" : "are"));
  if (symbolic > 0)
    notes.push_back(fmt::format("{} of kernels for all shapes {} not compared",
                                symbolic == 1 ? "1 record" : fmt::format("{} records", symbolic),
                                symbolic == 1 ? "is" : "are"));
  std::vector<Agreement> agreements;
  for (auto &[key, group] : groups) {
    const Gpu *gpu = known_gpu(group.front().gpu);
    if (!gpu) {
      notes.push_back(
          fmt::format("{} is not compared: `explain` has no figures of this GPU", group.front().gpu));
      continue;
    }
    auto limit = static_cast<std::size_t>(context.arguments.number("trials").value_or(TuneOptions{}.trials));
    auto seed = static_cast<std::uint64_t>(context.arguments.number("seed").value_or(1));
    agreements.push_back(agreement(context, chosen(std::move(group), limit, seed), *gpu));
  }
  if (context.json()) {
    out(json_text([&](llvm::json::OStream &json) {
      json.array([&] {
        for (const Agreement &agreement : agreements)
          write_agreement(json, agreement);
      });
    }));
    return ExitCode::good;
  }
  Table table({{"rung"},
               {"shape"},
               {"GPU"},
               {"points", Align::right},
               {"rank corr.", Align::right},
               {"place", Align::right},
               {"loss", Align::right}});
  for (const Agreement &agreement : agreements)
    table.add({agreement.best.rung, agreement.best.dtype + " " + agreement.best.shape, agreement.best.gpu,
               std::to_string(agreement.points), fmt::format("{:.2f}", agreement.correlation),
               fmt::format("{:.1f} %", 100 * agreement.place), fmt::format("{:.3f}", agreement.loss)});
  std::string text = table.text(context.style) + "\n";
  notes.insert(notes.begin(),
               "place: the part of the points that the model puts before the fastest one. loss: the "
               "time of the point that the model puts first, relative to the fastest");
  for (const std::string &note : notes)
    text += context.style.dim(folded_lines(note)) + "\n";
  out(text);
  return ExitCode::good;
}

} // namespace nestsmith::cli
