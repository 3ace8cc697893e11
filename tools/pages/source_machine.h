#pragma once
/// The GPU and the shape of the source of a tutorial. A page about the tutorial uses them, so that its figures
/// can be compared with those of the source.

#include "schedules/rung.h"

#include <optional>
#include <string>

namespace nestsmith {

struct SourceMachine {
  std::string tutorial;       ///< "deep_dive"
  std::string gpu;            ///< a name of `gpus()`; empty: the source does not name it
  std::optional<Shape> shape; ///< of the measurements; none: the rungs' own GPU shapes
};

/// Null if the tutorial has no source that measures or reasons about a GPU.
const SourceMachine *source_machine(const std::string &tutorial);

} // namespace nestsmith
