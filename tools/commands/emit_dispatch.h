#pragma once
/// `emit --dispatch`: one file with a few kernels that serve every shape, and the choice among them.

#include "codegen/choice_file.h"
#include "schedules/kernels/kernel_selection.h"
#include "tools/options/command.h"
#include "tools/options/scheduled.h"

namespace nestsmith::cli {

struct EmittedDispatch {
  ChoiceFile file;
  std::string gpu; ///< of the kernel table
  Transposed transposed;
  records::KernelSelection selection;
  std::vector<KnobValues> knobs; ///< of each plan of the file
};

/// The option --transposed.
Option transposed_option();

/// Throws UserError (usage) if the rung has no kernel table for the target and the dtype, if it cannot store
/// the operands as --transposed says, or if another option contradicts --dispatch. `header` is the name of the
/// header that the file includes, or empty.
EmittedDispatch emitted_dispatch(const Context &context, const ChosenRung &choice, const Target &target,
                                 const std::string &header);

} // namespace nestsmith::cli
