#include "schedules/kernels/kernel_ranking.h"

#include "dsl/hardware/gpus.h"

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>

namespace nestsmith::records {

const KernelModel &kernel_model(const std::string &text, const std::string &rung) {
  static std::mutex mutex;
  static std::map<std::string, std::unique_ptr<const KernelModel>> models;
  std::lock_guard lock(mutex);
  auto &model = models[text];
  if (!model) {
    const std::string where = "a kernel table of " + rung;
    model = std::make_unique<KernelModel>(parse_kernel_table(text, where), where);
  }
  return *model;
}

static std::string dtype_of_table(const std::vector<const KernelModel *> &models, DType dtype) {
  std::string own(name(dtype));
  if (std::ranges::any_of(models, [&](const auto *model) { return model->table().dtype == own; }))
    return own;
  return std::string(dtype == DType::u32 ? name(DType::f32) : dtype == DType::f16 ? name(DType::bf16) : own);
}

const KernelModel *serving_model(const std::vector<std::string> &texts, const std::string &rung, DType dtype,
                                 const Target &target, const std::string &user) {
  std::vector<const KernelModel *> models;
  for (const std::string &text : texts)
    if (const KernelModel &model = kernel_model(text, user); rung.empty() || model.table().rung == rung)
      models.push_back(&model);
  const std::string type = dtype_of_table(models, dtype);
  std::erase_if(models, [&](const auto *model) { return model->table().dtype != type; });
  std::vector<std::string> gpus;
  for (const KernelModel *model : models)
    gpus.push_back(model->table().gpu);
  auto serving = std::ranges::find(gpus, serving_gpu(gpus, target));
  return serving == gpus.end() ? nullptr : models[static_cast<std::size_t>(serving - gpus.begin())];
}

/// The feature that a kernel with this knob needs: that of its name, to move registers between roles, or to
/// start before the kernel of the helpers ends.
static std::optional<Feature> feature_of_knob(const std::string &knob) {
  if (knob == "roles")
    return Feature::setmaxnreg;
  return knob == "helped" ? Feature::griddepcontrol : feature_of(knob);
}

bool asks_for_nothing(const std::string &knob, const std::string &value) {
  return feature_of_knob(knob) && value == "false";
}

static bool lacks_feature(const KnobValues &knobs, const Target &target) {
  return std::ranges::any_of(knobs, [&](const auto &knob) {
    const std::optional<Feature> feature = feature_of_knob(knob.first);
    return feature && knob.second == "true" && !target.arch.has(*feature);
  });
}

std::int64_t multiprocessors_for(const KernelModel &model, const Target &target) {
  const Gpu *gpu = known_gpu(target.gpu);
  return gpu ? gpu->sms : model.table().sms;
}

std::vector<KernelChoice> ranked(const KernelModel &model, const ProductSize &product, const Target &target) {
  std::vector<KernelChoice> choices = model.rank_products(product, multiprocessors_for(model, target));
  std::erase_if(choices, [&](const KernelChoice &choice) {
    return lacks_feature(model.table().points[choice.point].knobs, target);
  });
  return choices;
}

PredictedPoint point_of(const KernelTable &table, const KernelChoice &choice) {
  PredictedPoint point{table.points[choice.point].knobs, table.points[choice.point].tile, choice.parts,
                       choice.even, choice.ms};
  if (!table.parts_knob.empty())
    point.knobs[table.parts_knob] = std::to_string(choice.parts);
  if (!choice.with.empty())
    point.knobs.merge(parse_knobs(choice.with));
  if (choice.even > 0)
    point.knobs[table.even_knob] = std::to_string(choice.even);
  return point;
}

} // namespace nestsmith::records
