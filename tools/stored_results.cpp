#include "tools/stored_results.h"

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
    good &= number >= 0 && number <= static_cast<std::int64_t>(CheckRun::rising);
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

/// The fields of each structure, for both directions.
template <class A, class T> void fields(A &archive, T &value) { archive.field(value); }

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
  for (std::uint64_t *field : {&sums.requests, &sums.threads, &sums.asked, &sums.sectors, &sums.lines,
                               &sums.wavefronts, &sums.conflicts})
    archive.field(*field);
}

template <class A> void fields(A &archive, model::AccessCounts &access) {
  fields(archive, static_cast<model::RequestSums &>(access));
  fields(archive, access.merged);
}

template <class A> void fields(A &archive, model::OpCounts &counts) {
  archive.field(counts.warps);
  archive.field(counts.threads);
}

template <class A> void fields(A &archive, model::Counters &counters) {
  fields(archive, counters.accesses);
  for (model::OpCounts *counts :
       {&counters.multiply_adds, &counters.floating, &counters.integer, &counters.barriers, &counters.branches})
    fields(archive, *counts);
  std::vector<std::pair<const Intrinsic *, model::OpCounts>> matrix(counters.matrix.begin(),
                                                                    counters.matrix.end());
  fields(archive, matrix);
  counters.matrix = {matrix.begin(), matrix.end()};
  for (std::uint64_t *field : {&counters.divergent, &counters.blocks, &counters.counted})
    archive.field(*field);
  archive.field(counters.estimated);
}

template <class A> void fields(A &archive, std::pair<const Intrinsic *, model::OpCounts> &calls) {
  archive.field(calls.first);
  fields(archive, calls.second);
}

template <class A> void fields(A &archive, model::Traffic &traffic) {
  for (std::uint64_t *field : {&traffic.l1_sectors, &traffic.l1_hits, &traffic.l2_reads, &traffic.l2_read_hits,
                               &traffic.l2_writes, &traffic.dram_reads, &traffic.dram_writes})
    archive.field(*field);
}

template <class A> void fields(A &archive, KernelFigures &figures) {
  fields(archive, figures.counters);
  fields(archive, figures.lowered);
  fields(archive, figures.memory.traffic);
  fields(archive, figures.memory.accesses);
  archive.field(figures.memory.followed);
  archive.field(figures.memory.followed_blocks);
  archive.field(figures.estimated_seconds);
}

template <class A> void fields(A &archive, SkippedRun &run) {
  archive.field(run.label);
  archive.field(run.why);
}

template <class A> void fields(A &archive, ComparedOutput &output) {
  archive.field(output.buffer);
  archive.field(output.elements);
  archive.field(output.compared);
}

template <class A> void fields(A &archive, Coverage &output) {
  archive.field(output.buffer);
  archive.field(output.elements);
  archive.field(output.compared);
  archive.field(output.run);
}

template <class A> void fields(A &archive, RunResult &run) {
  archive.field(run.run);
  archive.field(run.label);
  archive.field(run.passed);
  archive.field(run.exact);
  archive.field(run.max_error);
  archive.field(run.max_error_over_bound);
  fields(archive, run.where);
  archive.field(run.wrong_elements);
  archive.field(run.without_bound);
  archive.field(run.wide_bound);
  fields(archive, run.outputs);
  fields(archive, run.messages);
}

template <class A> void fields(A &archive, CheckResult &check) {
  archive.field(check.passed);
  fields(archive, check.runs);
  fields(archive, check.skipped);
  fields(archive, check.outputs);
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
