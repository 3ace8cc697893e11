#include "schedules/kernels/kernel_table.h"

#include "dsl/expr/error.h"
#include "dsl/expr/outside.h"
#include "dsl/schedule/extents.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <llvm/Support/JSON.h>
#include <optional>

namespace nestsmith::records {

namespace json = llvm::json;

namespace {

constexpr int table_version = 3;
constexpr JsonLimits table_limits = {.bytes = 4 << 20, .depth = 10, .values = 200'000};
constexpr std::int64_t most_parts = 1024, most_resident = 64, most_warps = 32, most_sms = 4096,
                       most_bytes = std::int64_t{1} << 40;

[[noreturn]] void refuse(const std::string &where, const std::string &message) {
  throw UserError(ExitCode::usage, fmt::format("{}: {}", where, message));
}

std::string text_of(const Extents &extents) { return extents_text({extents.begin(), extents.end()}); }

json::Value json_of(const KernelForm &form) {
  json::Array times;
  for (const KernelTime &time : form.times)
    times.push_back(json::Array{text_of(time.extents), std::round(time.ms * 1e6) / 1e6});
  json::Object object{{"rows", name(form.rows)},
                      {"parts", form.parts},
                      {"with", form.with},
                      {"resident", form.resident},
                      {"times", std::move(times)}};
  if (const double any_size = std::round(form.any_size * 1e3) / 1e3; any_size != 1)
    object["any_size"] = any_size;
  return object;
}

json::Value json_of(const KernelPoint &point) {
  json::Array forms;
  for (const KernelForm &form : point.forms)
    forms.push_back(json_of(form));
  json::Object object{
      {"knobs", to_string(point.knobs)}, {"tile", text_of(point.tile)}, {"forms", std::move(forms)}};
  if (point.warps > 0)
    object["warps"] = point.warps;
  return object;
}

std::string line_of(const json::Value &value) { return llvm::formatv("{0}", value).str(); }

/// Reads the attributes of one object, and refuses a missing or malformed one by its name.
class Reader {
public:
  Reader(const json::Value &value, std::string where) : where_(std::move(where)), object_(value.getAsObject()) {
    if (!object_)
      refuse(where_, "is not an object");
  }

  const std::string &where() const { return where_; }

  std::string text(const char *name) const {
    auto value = object_->getString(name);
    return value ? value->str() : malformed(name, "a string");
  }
  std::int64_t number(const char *name, std::int64_t most) const {
    auto value = object_->getInteger(name);
    if (!value || *value < 1 || *value > most)
      malformed(name, fmt::format("a number from 1 to {}", most));
    return *value;
  }
  std::int64_t number_or_0(const char *name, std::int64_t most) const {
    return object_->get(name) ? number(name, most) : 0;
  }
  /// 1 if it is missing.
  double factor(const char *name) const {
    if (!object_->get(name))
      return 1;
    auto value = object_->getNumber(name);
    if (!value || !(*value >= 1 / most_any_size && *value <= most_any_size))
      malformed(name, fmt::format("a number from {} to {}", 1 / most_any_size, most_any_size));
    return *value;
  }
  const json::Array &list(const char *name) const {
    const json::Array *value = object_->getArray(name);
    if (!value || value->empty())
      malformed(name, "a list that is not empty");
    return *value;
  }
  Extents extents(const char *name) const {
    auto value = object_->getString(name);
    auto extents = value ? read_extents(value->str()) : std::nullopt;
    if (!extents)
      malformed(name, "three extents such as 64x128x16");
    return *extents;
  }
  static std::optional<Extents> read_extents(const std::string &text) {
    std::string ignored;
    std::vector<std::int64_t> list = parse_extents(text, ignored);
    if (list.size() != 3)
      return std::nullopt;
    return Extents{list[0], list[1], list[2]};
  }
  /// The values of knobs, as --set takes them. An empty text has none.
  KnobValues knobs(const char *name) const {
    std::string list = text(name);
    try {
      return list.empty() ? KnobValues{} : parse_knobs(list);
    } catch (const UserError &) {
      malformed(name, "values of knobs such as bk=16,warps=2x4");
    }
  }
  [[noreturn]] std::string malformed(const char *name, const std::string &expected) const {
    refuse(where_, fmt::format("'{}' is missing or malformed, expected {}", name, expected));
  }

private:
  std::string where_;
  const json::Object *object_;
};

KernelTime read_time(const json::Value &value, const Reader &form) {
  const json::Array *pair = value.getAsArray();
  auto text = pair && pair->size() == 2 ? (*pair)[0].getAsString() : decltype(value.getAsString())();
  auto ms = pair && pair->size() == 2 ? (*pair)[1].getAsNumber() : decltype(value.getAsNumber())();
  auto extents = text ? Reader::read_extents(text->str()) : std::nullopt;
  if (!extents || !ms || !(*ms > 0))
    form.malformed("times", "pairs of three extents and a time above 0 in ms");
  return {*extents, *ms};
}

KernelForm read_form(const json::Value &value, const std::string &where) {
  Reader reader(value, where);
  reader.knobs("with"); // they are legal
  const std::string rows_text = reader.text("rows");
  const auto *rows = std::ranges::find(all_rows, rows_text, [](Rows rows) { return std::string(name(rows)); });
  if (rows == all_rows.end())
    reader.malformed("rows", "'any', 'vectors' or 'lines'");
  KernelForm form{.rows = *rows,
                  .parts = reader.number("parts", most_parts),
                  .with = reader.text("with"),
                  .resident = reader.number("resident", most_resident),
                  .times = {},
                  .any_size = reader.factor("any_size")};
  for (const json::Value &time : reader.list("times"))
    form.times.push_back(read_time(time, reader));
  return form;
}

KernelPoint read_point(const json::Value &value, const std::string &where) {
  Reader reader(value, where);
  KernelPoint point{reader.knobs("knobs"), reader.extents("tile"), {}, reader.number_or_0("warps", most_warps)};
  for (const json::Value &form : reader.list("forms"))
    point.forms.push_back(read_form(form, where));
  return point;
}

} // namespace

const char *name(Rows rows) {
  switch (rows) {
  case Rows::any:
    return "any";
  case Rows::vectors:
    return "vectors";
  case Rows::lines:
    return "lines";
  }
  return "";
}

bool is_kernel_table(const std::string &text) {
  return text.substr(0, text.find('[')).find("\"nestsmith_kernels\"") != std::string::npos;
}

std::string to_text(const KernelTable &table) {
  json::Object head{{"rung", table.rung},
                    {"parts_knob", table.parts_knob},
                    {"even_knob", table.even_knob},
                    {"dtype", table.dtype},
                    {"gpu", table.gpu},
                    {"sms", table.sms},
                    {"elements", table.elements},
                    {"l2_bytes", table.l2_bytes},
                    {"bytes_per_ms", static_cast<std::int64_t>(table.bytes_per_ms)},
                    {"driver", table.driver},
                    {"nvrtc", table.nvrtc},
                    {"launch", table.launch},
                    {"nestsmith", table.nestsmith},
                    {"measured_at", table.measured_at}};
  std::string text = fmt::format("{{\n  \"nestsmith_kernels\": {},\n  \"machine\": {},\n  \"points\": [",
                                 table_version, line_of(std::move(head)));
  for (const KernelPoint &point : table.points)
    text += (&point == &table.points.front() ? "\n    " : ",\n    ") + line_of(json_of(point));
  return text + "\n  ]\n}\n";
}

KernelTable parse_kernel_table(const std::string &text, const std::string &where) {
  std::string why;
  auto parsed = parse_outside(text, table_limits, why);
  if (!parsed)
    refuse(where, why);
  const json::Object *root = parsed->getAsObject();
  auto version = root ? root->getInteger("nestsmith_kernels") : decltype(root->getInteger(""))();
  if (!version)
    refuse(where, "not a kernel table; expected an object with 'nestsmith_kernels', as tune --table writes it");
  if (*version != table_version)
    refuse(where, fmt::format("the version of the kernel table is {}, expected {}; make it again with "
                              "tune --table",
                              *version, table_version));
  Reader whole(*parsed, where);
  const json::Value *machine = root->get("machine");
  if (!machine || !machine->getAsObject())
    whole.malformed("machine", "an object");
  Reader head(*machine, where);
  KernelTable table{.rung = head.text("rung"),
                    .parts_knob = head.text("parts_knob"),
                    .even_knob = head.text("even_knob"),
                    .dtype = head.text("dtype"),
                    .gpu = head.text("gpu"),
                    .sms = head.number("sms", most_sms),
                    .elements = head.number("elements", 16),
                    .l2_bytes = head.number("l2_bytes", most_bytes),
                    .bytes_per_ms = static_cast<double>(head.number("bytes_per_ms", most_bytes)),
                    .driver = head.text("driver"),
                    .nvrtc = head.text("nvrtc"),
                    .launch = head.text("launch"),
                    .nestsmith = head.text("nestsmith"),
                    .measured_at = head.text("measured_at"),
                    .points = {}};
  for (const json::Value &point : whole.list("points"))
    table.points.push_back(read_point(point, fmt::format("{}: point {}", where, table.points.size() + 1)));
  return table;
}

} // namespace nestsmith::records
