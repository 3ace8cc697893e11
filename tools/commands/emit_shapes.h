#pragma once
/// `emit --shapes LIST`: one file with a kernel for each listed shape and symbolic kernels for all other
/// shapes.

#include "codegen/dispatch.h"
#include "tools/options/scheduled.h"

#include <vector>

namespace nestsmith::cli {

struct EmittedShape {
  Shape shape;
  std::optional<Variant> variant;
  KnobValues knobs;
  std::optional<TableUse> use;
};

struct EmittedShapes {
  Dispatch dispatch;
  std::vector<EmittedShape> listed;    ///< in the order of `dispatch.shapes()`
  std::vector<CheckedLaunch> launches; ///< each listed shape, and another shape for each symbolic kernel
};

/// The schedules of the rung for --shapes. If the rung has no symbolic kernel, prints the reason on stderr.
/// Throws UserError (usage) if the list is malformed, or if another option contradicts it. `header` is the name
/// of the header that the file includes, or empty.
EmittedShapes emitted_shapes(const Context &context, const ChosenRung &choice, const Target &target,
                             const std::string &header);

} // namespace nestsmith::cli
