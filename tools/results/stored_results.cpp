#include "tools/results/stored_results.h"

#include "dsl/expr/outside.h"
#include "dsl/hardware/intrinsics.h"

#include <algorithm>
#include <cmath>
#include <concepts>
#include <llvm/Support/FormatVariadic.h>
#include <llvm/Support/JSON.h>

namespace nestsmith::cli {

namespace {

namespace json = llvm::json;

/// Appends the fields of a result to an array.
class Writer {
public:
  bool good = true;
  json::Array values;

  void field(bool &value) { values.emplace_back(value); }
  template <std::integral T> void field(T &value) { values.emplace_back(static_cast<std::int64_t>(value)); }
  void field(double &value) {
    good &= std::isfinite(value); // JSON has no other numbers
    values.emplace_back(good ? value : 0);
  }
  void field(std::string &value) { values.emplace_back(value); }
  void field(CheckRun &value) { values.emplace_back(static_cast<std::int64_t>(value)); }
  void field(const Intrinsic *&value) { values.emplace_back(signature(*value)); }
};

/// Reads the same fields in the same order. `good` is false if the array has other fields.
class Reader {
public:
  explicit Reader(const json::Array &values) : values_(values) {}
  bool good = true;
  bool at_end() const { return next_ == values_.size(); }

  void field(bool &value) { assign(value, take().getAsBoolean()); }
  template <std::integral T> void field(T &value) { assign(value, take().getAsInteger()); }
  void field(double &value) { assign(value, take().getAsNumber()); }
  void field(std::string &value) {
    if (auto text = take().getAsString())
      value = text->str();
    else
      good = false;
  }
  void field(CheckRun &value) {
    std::int64_t number = 0;
    field(number);
    good &= number >= 0 && number <= static_cast<std::int64_t>(last_check_run);
    value = static_cast<CheckRun>(number);
  }
  void field(const Intrinsic *&value) {
    std::string wanted;
    field(wanted);
    for (const Intrinsic *intrinsic : all_intrinsics())
      if (signature(*intrinsic) == wanted) {
        good &= value == nullptr;
        value = intrinsic;
      }
    good &= value != nullptr;
  }

private:
  const json::Value &take() {
    static const json::Value none = nullptr;
    good &= next_ < values_.size();
    return good ? values_[next_++] : none;
  }
  template <class T, class Optional> void assign(T &to, const Optional &value) {
    if (value)
      to = static_cast<T>(*value);
    else
      good = false;
  }

  const json::Array &values_;
  std::size_t next_ = 0;
};

/// The fields of each structure, in one order for both directions.
template <class A, class T> void fields(A &archive, T &value) { archive.field(value); }

template <class A, class... T> void all(A &archive, T &...values) { (fields(archive, values), ...); }

template <class A, class T> void fields(A &archive, std::vector<T> &list) {
  std::size_t size = list.size();
  archive.field(size);
  constexpr bool reads = std::same_as<A, Reader>;
  for (std::size_t n = 0; n < size && archive.good; ++n) {
    if constexpr (reads)
      list.emplace_back();
    fields(archive, list[n]);
  }
}

template <class A, class T> void fields(A &archive, std::optional<T> &value) {
  bool exists = value.has_value();
  archive.field(exists);
  if (!exists || !archive.good)
    return;
  if (!value)
    value.emplace();
  fields(archive, *value);
}

template <class A> void fields(A &archive, model::RequestSums &sums) {
  all(archive, sums.requests, sums.threads, sums.asked, sums.sectors, sums.lines, sums.wavefronts,
      sums.conflicts);
}

template <class A> void fields(A &archive, model::AccessCounts &access) {
  all(archive, static_cast<model::RequestSums &>(access), access.merged);
}

template <class A> void fields(A &archive, model::OpCounts &counts) {
  all(archive, counts.warps, counts.threads);
}

template <class A> void fields(A &archive, model::Counters &counters) {
  std::vector<std::pair<const Intrinsic *, model::OpCounts>> matrix(counters.matrix.begin(),
                                                                    counters.matrix.end());
  all(archive, counters.accesses, counters.multiply_adds, counters.floating, counters.in_f64, counters.integer,
      counters.barriers, counters.branches, matrix, counters.divergent, counters.blocks, counters.counted,
      counters.largest_block, counters.estimated);
  counters.matrix = {matrix.begin(), matrix.end()};
}

template <class A> void fields(A &archive, std::pair<const Intrinsic *, model::OpCounts> &calls) {
  all(archive, calls.first, calls.second);
}

template <class A> void fields(A &archive, model::Traffic &traffic) {
  all(archive, traffic.l1_sectors, traffic.l1_hits, traffic.l2_reads, traffic.l2_read_hits, traffic.l2_writes,
      traffic.dram_reads, traffic.dram_writes);
}

template <class A> void fields(A &archive, Losses &losses) {
  for (Loss loss : all_losses)
    archive.field(losses.of(loss));
}

template <class A> void fields(A &archive, KernelFigures &figures) {
  all(archive, figures.counters, figures.lowered, figures.memory.traffic, figures.memory.accesses,
      figures.memory.followed, figures.memory.followed_blocks, figures.estimated_seconds, figures.losses);
}

template <class A> void fields(A &archive, SkippedRun &run) { all(archive, run.label, run.why); }

template <class A> void fields(A &archive, ComparedOutput &output) {
  all(archive, output.buffer, output.elements, output.compared);
}

template <class A> void fields(A &archive, Coverage &output) {
  all(archive, output.buffer, output.elements, output.compared, output.run);
}

template <class A> void fields(A &archive, RunResult &run) {
  all(archive, run.run, run.label, run.passed, run.exact, run.max_error, run.max_error_over_bound, run.where,
      run.wrong_elements, run.without_bound, run.wide_bound, run.outputs, run.messages);
}

template <class A> void fields(A &archive, CheckResult &check) {
  all(archive, check.passed, check.runs, check.skipped, check.outputs);
}

template <class T> std::optional<std::string> written(T value) {
  Writer writer;
  fields(writer, value);
  if (!writer.good)
    return std::nullopt;
  return llvm::formatv("{0}", json::Value(std::move(writer.values))).str();
}

template <class T> std::optional<T> read(const std::string &text) {
  constexpr JsonLimits limits = {
      .bytes = 64 << 20, .depth = 2, .values = 4'000'000, .string_bytes = 1 << 20, .control_characters = true};
  std::string why;
  std::optional<json::Value> parsed = parse_outside(text, limits, why);
  if (!parsed)
    return std::nullopt;
  const json::Array *values = parsed->getAsArray();
  if (!values)
    return std::nullopt;
  Reader reader(*values);
  T value;
  fields(reader, value);
  return reader.good && reader.at_end() ? std::optional(std::move(value)) : std::nullopt;
}

} // namespace

std::optional<std::string> check_text(const CheckResult &check) {
  bool wrong =
      std::ranges::any_of(check.runs, [](const RunResult &run) { return run.first_wrong.has_value(); });
  return wrong ? std::nullopt : written(check);
}
std::optional<std::string> figures_text(const std::vector<KernelFigures> &figures) { return written(figures); }

std::optional<CheckResult> read_check(const std::string &text) { return read<CheckResult>(text); }
std::optional<std::vector<KernelFigures>> read_figures(const std::string &text) {
  return read<std::vector<KernelFigures>>(text);
}

} // namespace nestsmith::cli
