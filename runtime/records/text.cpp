#include "runtime/records/text.h"

#include "dsl/expr/error.h"
#include "dsl/expr/outside.h"
#include "runtime/records/fields.h"

#include <algorithm>
#include <fmt/format.h>
#include <llvm/Support/JSON.h>

namespace nestsmith::records {

namespace json = llvm::json;

namespace {

constexpr int text_version = 1;
/// A record contains the text of a trace, and messages of several lines.
constexpr JsonLimits text_limits = {.bytes = most_text_bytes,
                                    .depth = 8,
                                    .values = 4'000'000,
                                    .string_bytes = 4 << 20,
                                    .control_characters = true};

[[noreturn]] void refuse(const std::string &where, const std::string &message) {
  throw UserError(ExitCode::usage, fmt::format("{}: {}", where, message));
}

} // namespace

std::string to_text(const std::vector<Record> &records, bool sorted) {
  std::vector<std::string> lines;
  for (const Record &record : records) {
    json::Object object;
    for (const Field &field : fields())
      object[field.name] = to_json(field.get(record));
    lines.push_back(fmt::format("    {}", llvm::formatv("{0}", json::Value(std::move(object))).str()));
  }
  if (!sorted)
    std::ranges::sort(lines);
  std::string text = fmt::format("{{\n  \"nestsmith_records\": {},\n  \"records\": [", text_version);
  for (const std::string &line : lines)
    text += (&line == &lines.front() ? "\n" : ",\n") + line;
  return text + "\n  ]\n}\n";
}

std::vector<Record> parse_records(const std::string &text, const std::string &where) {
  std::string why;
  auto parsed = parse_outside(text, text_limits, why);
  if (!parsed)
    refuse(where, why);
  const json::Object *root = parsed->getAsObject();
  auto version = root ? root->getInteger("nestsmith_records") : decltype(root->getInteger(""))();
  if (!version)
    refuse(where,
           "not a file of records; expected an object with 'nestsmith_records', as tune export writes it");
  if (*version != text_version)
    refuse(where, fmt::format("the version of the records is {}, expected {}", *version, text_version));
  const json::Array *list = root->getArray("records");
  if (!list)
    refuse(where, "has no array 'records'");
  std::vector<Record> records;
  for (const json::Value &element : *list) {
    const json::Object *object = element.getAsObject();
    if (!object)
      refuse(where, fmt::format("record {} is not an object", records.size() + 1));
    Record record;
    for (const Field &field : fields())
      if (!field.set(record, from_json(object->get(field.name))))
        refuse(where,
               fmt::format("the '{}' of record {} is missing or malformed", field.name, records.size() + 1));
    if (std::string name = impossible_field(record); !name.empty())
      refuse(where, fmt::format("the '{}' of record {} is not above 0", name, records.size() + 1));
    records.push_back(std::move(record));
  }
  return records;
}

} // namespace nestsmith::records
