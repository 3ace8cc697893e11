#include "runtime/records/fields.h"

#include "dsl/expr/error.h"
#include "dsl/expr/printable.h"

#include <algorithm>
#include <cmath>

namespace nestsmith::records {

namespace {

constexpr std::size_t most_line_bytes = 1000; ///< of a name, a version or a date

Value value_of(const std::string &text) { return text; }
Value value_of(double real) { return real; }
Value value_of(std::int64_t integer) { return integer; }
Value value_of(bool flag) { return std::int64_t{flag}; }
Value value_of(Outcome outcome) { return std::string(name(outcome)); }
Value value_of(const std::optional<double> &real) { return real ? Value(*real) : Value(); }
Value value_of(const KnobValues &knobs) {
  std::string joined;
  for (const auto &[name, value] : knobs)
    joined += (joined.empty() ? "" : ",") + name + "=" + value;
  return joined;
}

std::optional<std::string> text_of(const Value &value) {
  const auto *text = std::get_if<std::string>(&value);
  return text ? std::optional(*text) : std::nullopt;
}

/// A text of one line. It is printed in titles and tables, and others may have written it.
std::optional<std::string> line_of(const Value &value) {
  std::optional<std::string> text = text_of(value);
  return text && text->size() <= most_line_bytes ? std::optional(printable(*text)) : std::nullopt;
}

std::optional<std::int64_t> count_of(const Value &value) {
  const auto *integer = std::get_if<std::int64_t>(&value);
  return integer && *integer >= 0 ? std::optional(*integer) : std::nullopt;
}

std::optional<bool> flag_of(const Value &value) {
  std::optional<std::int64_t> number = count_of(value);
  return number && *number <= 1 ? std::optional(*number == 1) : std::nullopt;
}

/// JSON and SQLite may store a whole number as an integer. An infinity is none: JSON cannot state it.
std::optional<double> number_of(const Value &value) {
  if (const auto *real = std::get_if<double>(&value))
    return std::isfinite(*real) ? std::optional(*real) : std::nullopt;
  if (const auto *integer = std::get_if<std::int64_t>(&value))
    return static_cast<double>(*integer);
  return std::nullopt;
}

std::optional<std::optional<double>> number_or_none(const Value &value) {
  if (std::holds_alternative<std::monostate>(value))
    return std::make_optional(std::optional<double>());
  std::optional<double> number = number_of(value);
  return number ? std::make_optional(number) : std::nullopt;
}

std::optional<KnobValues> knobs_of(const Value &value) {
  std::optional<std::string> text = text_of(value);
  try {
    return !text ? std::nullopt : std::optional(text->empty() ? KnobValues() : parse_knobs(printable(*text)));
  } catch (const UserError &) {
    return std::nullopt;
  }
}

std::optional<Outcome> outcome_of(const Value &value) { return parse_outcome(text_of(value).value_or("")); }

/// A field that is a member of a record. `read` returns its value, or none if the stored value does not fit.
template <class Class, class T, class Read>
Field member(const char *name, Field::Kind kind, T Class::*place, Read read, bool identity = false) {
  return {name, kind, identity, [=](const Record &record) { return value_of(record.*place); },
          [=](Record &record, const Value &value) {
            std::optional<T> given = read(value);
            if (!given)
              return false;
            record.*place = *std::move(given);
            return true;
          }};
}

} // namespace

std::string impossible_field(const Record &record) {
  if (record.outcome != Outcome::measured)
    return "";
  auto is_time = [](double value) { return std::isfinite(value) && value > 0; };
  if (!is_time(record.median_ms)) // ratios and rates divide by it
    return "median_ms";
  if (record.peer_ms && !is_time(*record.peer_ms))
    return "peer_ms";
  return "";
}

std::span<const Field> fields() {
  using enum Field::Kind;
  static const std::vector<Field> all = {
      member("rung", text, &Record::rung, line_of, true),
      member("knobs", text, &Record::knobs, knobs_of, true),
      member("shape", text, &Record::shape, line_of, true),
      member("symbolic", integer, &Record::symbolic, flag_of, true),
      member("dtype", text, &Record::dtype, line_of, true),
      member("gpu", text, &Record::gpu, line_of, true),
      member("driver", text, &Record::driver, line_of, true),
      member("nvrtc", text, &Record::nvrtc, line_of, true),
      member("launch", text, &Record::launch, line_of, true),
      member("cold_l2", integer, &Record::cold_l2, flag_of, true),
      member("code", text, &Record::code, line_of, true),
      member("outcome", text, &Record::outcome, outcome_of),
      member("message", text, &Record::message, text_of),
      member("min_ms", real, &Record::min_ms, number_of),
      member("lower_quartile_ms", real, &Record::lower_quartile_ms, number_of),
      member("median_ms", real, &Record::median_ms, number_of),
      member("upper_quartile_ms", real, &Record::upper_quartile_ms, number_of),
      member("max_ms", real, &Record::max_ms, number_of),
      member("samples", integer, &Record::samples, count_of),
      member("sm_mhz", real, &Record::sm_mhz, number_or_none),
      member("peer_ms", real, &Record::peer_ms, number_or_none),
      member("peer", text, &Record::peer, line_of),
      member("operations", real, &Record::operations, number_of),
      member("trace", text, &Record::trace, text_of),
      member("nestsmith", text, &Record::nestsmith, line_of),
      member("measured_at", text, &Record::measured_at, line_of),
  };
  return all;
}

bool same_identity(const Record &a, const Record &b) {
  return std::ranges::all_of(
      fields(), [&](const Field &field) { return !field.identity || field.get(a) == field.get(b); });
}

const Field &field(std::string_view name) { return *std::ranges::find(fields(), name, &Field::name); }

std::span<const Field> fields_of_measurement() {
  const Field &first = field("outcome"), &last = field("peer_ms");
  return {&first, &last + 1};
}

llvm::json::Value to_json(const Value &value) {
  if (const auto *text = std::get_if<std::string>(&value))
    return *text;
  if (const auto *real = std::get_if<double>(&value))
    return *real;
  if (const auto *integer = std::get_if<std::int64_t>(&value))
    return *integer;
  return nullptr;
}

Value from_json(const llvm::json::Value *value) {
  if (!value)
    return std::monostate();
  if (auto text = value->getAsString())
    return text->str();
  if (auto integer = value->getAsInteger())
    return *integer;
  if (auto real = value->getAsNumber())
    return *real;
  return std::monostate();
}

} // namespace nestsmith::records
