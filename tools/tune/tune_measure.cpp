#include "tools/tune/tune_measure.h"

#include "runtime/cuda/nvrtc.h"
#include "runtime/records/fields.h"
#include "tools/output/json.h"

#include <algorithm>
#include <fmt/format.h>

namespace nestsmith::cli {

namespace json = llvm::json;

namespace {

/// The name of a point in the child: its position in the request.
constexpr const char *point_prefix = "point ";

KnobValues knobs_of(const json::Object &object) {
  KnobValues knobs;
  for (const auto &[name, value] : object)
    if (auto text = value.getAsString())
      knobs[llvm::StringRef(name).str()] = text->str();
  return knobs;
}

std::string text_of(const json::Object &object, const char *key) {
  auto text = object.getString(key);
  return text ? text->str() : "";
}

/// LLVM 14 returns llvm::Optional, and newer ones std::optional.
std::int64_t integer_of(const json::Object &object, const char *key, std::int64_t otherwise) {
  auto number = object.getInteger(key);
  return number ? *number : otherwise;
}

std::string request_text(const std::vector<KnobValues> &points, int rounds, const std::optional<Shape> &shape) {
  return json_line([&](json::OStream &stream) {
    stream.object([&] {
      stream.attribute("rounds", rounds);
      if (shape)
        stream.attribute("shape", json::Array(*shape));
      if (shape && shape->stated) { // one kernel for all sizes up to this one
        stream.attribute("max", shape->stated->max);
        stream.attribute("multiples", json::Array(shape->multiples));
        stream.attribute("parts", shape->parts_of_run);
      }
      stream.attributeArray("points", [&] {
        for (const KnobValues &knobs : points)
          write_knobs(stream, knobs);
      });
    });
  });
}

void write_result(json::OStream &stream, const records::Measurement &result) {
  records::Record record;
  static_cast<records::Measurement &>(record) = result;
  stream.object([&] {
    for (const records::Field &field : records::fields_of_measurement())
      stream.attribute(field.name, records::to_json(field.get(record)));
  });
}

records::Measurement result_of(const json::Object &object) {
  records::Record record;
  record.outcome = records::Outcome::crashed;
  for (const records::Field &field : records::fields_of_measurement())
    field.set(record, records::from_json(object.get(field.name)));
  return record;
}

/// The point that a step of the child works on.
std::optional<std::size_t> point_of(const std::string &step) {
  std::size_t at = step.find(point_prefix);
  std::size_t point = 0;
  if (at == std::string::npos ||
      llvm::StringRef(step).drop_front(at + std::string_view(point_prefix).size()).getAsInteger(10, point))
    return std::nullopt;
  return point;
}

} // namespace

tune::Child &TuneMeasurer::child() {
  if (child_)
    return *child_;
  child_ = start_();
  // The driver and the libraries may take a while to load.
  tune::Child::Received hello = child_->receive(std::max(timeout_seconds_, 120.0));
  auto parsed = json::parse(hello.line.value_or(""));
  const json::Object *object = parsed ? parsed->getAsObject() : nullptr;
  if (!parsed)
    llvm::consumeError(parsed.takeError());
  if (!object) {
    std::string how = child_->end();
    child_.reset();
    throw UserError(ExitCode::no_device,
                    fmt::format("the process that measures {}",
                                hello.timed_out ? "did not start in 2 minutes" : "ended with " + how));
  }
  if (auto error = object->getString("error")) {
    auto code = static_cast<ExitCode>(integer_of(*object, "code", 4));
    std::string message = error->str();
    child_.reset();
    throw UserError(code, message);
  }
  machine_ = TuneMachine{text_of(*object, "gpu"), text_of(*object, "driver"), text_of(*object, "nvrtc"),
                         text_of(*object, "peer")};
  return *child_;
}

const TuneMachine &TuneMeasurer::machine() {
  if (!machine_)
    child();
  return *machine_;
}

TuneMeasurer::Turn TuneMeasurer::turn(const std::vector<KnobValues> &points, int rounds,
                                      const std::optional<Shape> &shape) {
  Turn turn;
  child().send(request_text(points, rounds, shape));
  std::string step;
  while (true) {
    tune::Child::Received received = child_->receive(timeout_seconds_);
    if (!received.line) {
      turn.failed = true;
      turn.culprit = point_of(step);
      turn.failure.outcome = received.timed_out ? records::Outcome::hung : records::Outcome::crashed;
      std::string how = child_->end();
      turn.failure.message = received.timed_out ? fmt::format("no answer in {:g} s, {}", timeout_seconds_, step)
                                                : fmt::format("the process ended with {}, {}", how, step);
      child_.reset();
      return turn;
    }
    auto parsed = json::parse(*received.line);
    if (!parsed) {
      llvm::consumeError(parsed.takeError());
      continue;
    }
    const json::Object *object = parsed->getAsObject();
    if (!object)
      continue;
    if (auto said = object->getString("step")) {
      step = said->str();
      on_step(step);
    } else if (auto error = object->getString("error")) {
      turn.failed = true;
      turn.culprit = point_of(step);
      turn.failure.outcome = records::Outcome::crashed;
      turn.failure.message = error->str();
      child_.reset(); // its context is unusable
      return turn;
    } else if (const json::Array *rows = object->getArray("rows")) {
      for (const json::Value &row : *rows)
        if (const json::Object *fields = row.getAsObject())
          turn.done.push_back(result_of(*fields));
      turn.done.resize(points.size());
      return turn;
    }
  }
}

std::vector<records::Measurement> TuneMeasurer::measure(const std::vector<KnobValues> &points, int rounds,
                                                        const std::optional<Shape> &shape) {
  std::vector<records::Measurement> results(points.size());
  std::vector<std::size_t> left;
  for (std::size_t n = 0; n < points.size(); ++n)
    left.push_back(n);
  while (!left.empty()) {
    std::vector<KnobValues> request;
    for (std::size_t n : left)
      request.push_back(points[n]);
    Turn turn = this->turn(request, rounds, shape);
    if (!turn.failed) {
      for (std::size_t n = 0; n < left.size(); ++n)
        results[left[n]] = turn.done[n];
      return results;
    }
    if (left.size() == 1)
      turn.culprit = 0;
    if (turn.culprit && *turn.culprit < left.size()) {
      results[left[*turn.culprit]] = turn.failure;
      left.erase(left.begin() + static_cast<std::ptrdiff_t>(*turn.culprit));
      continue;
    }
    for (std::size_t n : left) // the process ended in a common turn, so each point gets its own
      results[n] = measure({points[n]}, rounds, shape).front();
    return results;
  }
  return results;
}

namespace {

/// The process that measures.
class Server {
public:
  Server(const Context &context, tune::Parent &parent, const ChosenRung &choice, const Shape &shape,
         const BenchSetting &setting)
      : context_(context), parent_(parent), choice_(choice), shape_(shape), device_(cuda::Device::open()),
        executor_(*device_) {
    options_.settings = {setting};
    options_.power_seconds = 0;
    try {
      libraries_.cublas = cuda::Cublas::open(*device_);
    } catch (const UserError &) { // without a library, points are compared with each other
    }
    std::string ignored;
    libraries_.nvml = cuda::Nvml::open(*device_, ignored);
  }

  void serve() {
    send([&](json::OStream &stream) {
      stream.attribute("gpu", device_->info().name);
      stream.attribute("driver", cuda::version_text(device_->info().driver_version));
      stream.attribute("nvrtc", cuda::Nvrtc::get().version());
      stream.attribute("peer", libraries_.cublas ? "cuBLAS " + libraries_.cublas->version() : "");
    });
    while (auto line = parent_.receive())
      answer(*line);
  }

private:
  template <class Write> void send(const Write &write) {
    parent_.send(json_line([&](json::OStream &stream) { stream.object([&] { write(stream); }); }));
  }

  void answer(const std::string &line) {
    auto parsed = json::parse(line);
    internal_check(static_cast<bool>(parsed) && parsed->getAsObject(), "a request of the parent");
    const json::Object &request = *parsed->getAsObject();
    options_.rounds = static_cast<int>(integer_of(request, "rounds", 1));
    Shape shape = shape_;
    if (const json::Array *extents = request.getArray("shape")) {
      shape.clear(); // not its stated limits
      for (const json::Value &extent : *extents)
        shape.push_back(*extent.getAsInteger());
    }
    if (auto max = request.getInteger("max")) {
      shape.stated = Size{.max = *max};
      for (const json::Value &multiple : *request.getArray("multiples"))
        shape.multiples.push_back(*multiple.getAsInteger());
      shape.parts_of_run = integer_of(request, "parts", 0);
    }
    std::vector<Planned> planned;
    for (const json::Value &point : *request.getArray("points"))
      planned.push_back(plan(knobs_of(*point.getAsObject()), shape, planned.size()));
    BenchShape measured =
        nestsmith::cli::bench(*device_, executor_, libraries_, planned, options_, [&](const std::string &step) {
          send([&](json::OStream &stream) { stream.attribute("step", step); });
        });
    std::optional<double> peer_ms;
    for (const BenchRow &row : measured.rows)
      if (row.peer && !row.times.empty())
        peer_ms = std::min(peer_ms.value_or(row.times[0].ms.median), row.times[0].ms.median);
    send([&](json::OStream &stream) {
      stream.attributeArray("rows", [&] {
        for (const Planned &rung : planned)
          write_result(stream, result(measured, rung.choice.name, peer_ms));
      });
    });
  }

  Planned plan(const KnobValues &knobs, const Shape &shape, std::size_t position) {
    Planned planned{choice_, shape, chosen_dtype(context_, choice_), std::nullopt, {}};
    planned.choice.name = point_prefix + std::to_string(position);
    planned.failure = failure_of([&] {
      Knobs chosen(knobs);
      planned.scheduled = schedule_at(planned.choice, shape, planned.dtype, device_->info().target(), chosen);
    });
    return planned;
  }

  static records::Measurement result(const BenchShape &measured, const std::string &name,
                                     std::optional<double> peer_ms) {
    auto row = std::ranges::find(measured.rows, name, &BenchRow::name);
    internal_check(row != measured.rows.end(), "a row for each point");
    records::Measurement result;
    if (row->failure.code != ExitCode::good || row->times.empty()) {
      result.outcome =
          row->failure.code == ExitCode::wrong_result ? records::Outcome::wrong : records::Outcome::refused;
      result.message = row->failure.message;
      return result;
    }
    const cuda::Spread &ms = row->times[0].ms;
    result.min_ms = ms.min, result.lower_quartile_ms = ms.lower_quartile, result.median_ms = ms.median;
    result.upper_quartile_ms = ms.upper_quartile, result.max_ms = ms.max;
    result.sm_mhz = row->times[0].sm_mhz;
    result.peer_ms = peer_ms;
    return result;
  }

  const Context &context_;
  tune::Parent &parent_;
  const ChosenRung &choice_;
  const Shape &shape_;
  std::unique_ptr<cuda::Device> device_;
  GpuExecutor executor_;
  BenchLibraries libraries_;
  BenchOptions options_;
};

} // namespace

ExitCode serve_measurements(const Context &context, tune::Parent &parent, const ChosenRung &choice,
                            const Shape &shape, const BenchSetting &setting) {
  try {
    Server(context, parent, choice, shape, setting).serve();
    return ExitCode::good;
  } catch (const UserError &error) {
    parent.send(json_line([&](json::OStream &stream) {
      stream.object([&] {
        stream.attribute("error", error.what());
        stream.attribute("code", static_cast<int>(error.code()));
      });
    }));
    return error.code();
  }
}

} // namespace nestsmith::cli
