#include "runtime/records/fields.h"

#include "dsl/expr/error.h"
#include "dsl/expr/printable.h"

#include <cmath>

namespace nestsmith::records {

namespace {

constexpr std::size_t most_line_bytes = 1000; ///< of a name, a version or a date

Field text(const char *name, std::string Record::*member, bool identity = false) {
  return {name, Field::Kind::text, identity, [=](const Record &record) -> Value { return record.*member; },
          [=](Record &record, const Value &value) {
            const auto *given = std::get_if<std::string>(&value);
            if (given)
              record.*member = *given;
            return given != nullptr;
          }};
}

/// A text of one line. It is printed in titles and tables, and others may have written it.
Field line(const char *name, std::string Record::*member, bool identity = false) {
  Field field = text(name, member, identity);
  field.set = [=](Record &record, const Value &value) {
    const auto *given = std::get_if<std::string>(&value);
    if (given)
      record.*member = printable(*given);
    return given != nullptr && given->size() <= most_line_bytes;
  };
  return field;
}

Field flag(const char *name, bool Record::*member) {
  return {name, Field::Kind::integer, true,
          [=](const Record &record) -> Value { return static_cast<std::int64_t>(record.*member); },
          [=](Record &record, const Value &value) {
            const auto *given = std::get_if<std::int64_t>(&value);
            if (given)
              record.*member = *given != 0;
            return given && (*given == 0 || *given == 1);
          }};
}

/// JSON and SQLite may store a whole number as an integer. An infinity is none: JSON cannot state it.
std::optional<double> number_of(const Value &value) {
  if (const auto *real = std::get_if<double>(&value))
    return std::isfinite(*real) ? std::optional(*real) : std::nullopt;
  if (const auto *integer = std::get_if<std::int64_t>(&value))
    return static_cast<double>(*integer);
  return std::nullopt;
}

Field real(const char *name, double Record::*member) {
  return {name, Field::Kind::real, false, [=](const Record &record) -> Value { return record.*member; },
          [=](Record &record, const Value &value) {
            std::optional<double> given = number_of(value);
            record.*member = given.value_or(0);
            return given.has_value();
          }};
}

Field real_or_none(const char *name, std::optional<double> Record::*member) {
  return {name, Field::Kind::real, false,
          [=](const Record &record) -> Value {
            return record.*member ? Value(*(record.*member)) : Value(std::monostate());
          },
          [=](Record &record, const Value &value) {
            record.*member = number_of(value);
            return (record.*member).has_value() || std::holds_alternative<std::monostate>(value);
          }};
}

Field knobs() {
  return {"knobs", Field::Kind::text, true,
          [](const Record &record) -> Value {
            std::string joined;
            for (const auto &[name, value] : record.knobs)
              joined += (joined.empty() ? "" : ",") + name + "=" + value;
            return joined;
          },
          [](Record &record, const Value &value) {
            const auto *given = std::get_if<std::string>(&value);
            try {
              record.knobs = !given || given->empty() ? KnobValues() : parse_knobs(printable(*given));
            } catch (const UserError &) {
              return false;
            }
            return given != nullptr;
          }};
}

Field samples() {
  return {"samples", Field::Kind::integer, false, [](const Record &record) -> Value { return record.samples; },
          [](Record &record, const Value &value) {
            const auto *given = std::get_if<std::int64_t>(&value);
            record.samples = given ? *given : 0;
            return given && *given >= 0;
          }};
}

Field outcome() {
  return {"outcome", Field::Kind::text, false,
          [](const Record &record) -> Value { return std::string(name(record.outcome)); },
          [](Record &record, const Value &value) {
            const auto *given = std::get_if<std::string>(&value);
            std::optional<Outcome> parsed = given ? parse_outcome(*given) : std::nullopt;
            record.outcome = parsed.value_or(Outcome::measured);
            return parsed.has_value();
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
  static const std::vector<Field> all = {
      line("rung", &Record::rung, true),
      knobs(),
      line("shape", &Record::shape, true),
      flag("symbolic", &Record::symbolic),
      line("dtype", &Record::dtype, true),
      line("gpu", &Record::gpu, true),
      line("driver", &Record::driver, true),
      line("nvrtc", &Record::nvrtc, true),
      line("launch", &Record::launch, true),
      flag("cold_l2", &Record::cold_l2),
      line("code", &Record::code, true),
      outcome(),
      text("message", &Record::message),
      real("min_ms", &Record::min_ms),
      real("lower_quartile_ms", &Record::lower_quartile_ms),
      real("median_ms", &Record::median_ms),
      real("upper_quartile_ms", &Record::upper_quartile_ms),
      real("max_ms", &Record::max_ms),
      samples(),
      real_or_none("sm_mhz", &Record::sm_mhz),
      real_or_none("peer_ms", &Record::peer_ms),
      line("peer", &Record::peer),
      real("operations", &Record::operations),
      text("trace", &Record::trace),
      line("nestsmith", &Record::nestsmith),
      line("measured_at", &Record::measured_at),
  };
  return all;
}

} // namespace nestsmith::records
