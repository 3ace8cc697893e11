#pragma once
/// The choice by kernel tables: which table serves a product, and the order of its points. `fast/best`,
/// `library::product` and the first points of `tune` are chosen here, and `emit --dispatch` writes the same
/// formula (kernel_choice.inc) into its file.

#include "dsl/expr/dtype.h"
#include "dsl/hardware/target.h"
#include "schedules/kernels/kernel_model.h"

#include <cstdint>
#include <string>
#include <vector>

namespace nestsmith::records {

/// The model of the table in `text`. It is made once for each text, and lives as long as the program. `rung`
/// names the table in messages. Throws UserError (usage) as `parse_kernel_table` and `KernelModel`.
const KernelModel &kernel_model(const std::string &text, const std::string &rung);

/// Of the tables of `rung` in these texts, or of all of them if it is empty, the model of the one that serves
/// the dtype and the target: that of the GPU, otherwise that of the most similar one. For ring mode (u32) f32
/// serves, whose operations are the same, and for f16 bf16, if there is no table of f16: matrix units multiply
/// both at the same rate. Null: there is no table of the dtype. `user` names the texts in messages.
const KernelModel *serving_model(const std::vector<std::string> &texts, const std::string &rung, DType dtype,
                                 const Target &target, const std::string &user);

/// The multiprocessors of the GPU of the target; of that of the table, if it is not known.
std::int64_t multiprocessors_for(const KernelModel &model, const Target &target);

/// The points of the table for this product on the GPU of the target, the fastest first. If the GPU is not
/// known, on that of the table. A knob with the name of a feature, such as wgmma=true, asks for it: a target
/// without the feature does not have the point.
std::vector<KernelChoice> ranked(const KernelModel &model, const ProductSize &product, const Target &target);

/// Whether the point asks for no feature by this knob: a target without the feature does not have the knob.
bool asks_for_nothing(const std::string &knob, const std::string &value);

/// A point of a kernel table, with the time that its model predicts.
struct PredictedPoint {
  KnobValues knobs; ///< with the number of parts
  Extents tile = {};
  std::int64_t parts = 1; ///< blocks that share a tile
  std::int64_t even = 0;  ///< as in `KernelChoice`
  double ms = 0;
};
PredictedPoint point_of(const KernelTable &table, const KernelChoice &choice);

/// Points that are tried until one is legal.
inline constexpr std::size_t most_attempts = 64;

} // namespace nestsmith::records
