#pragma once
/// C++ text that fills random inputs, calls a launcher, compares every element with plain loops, and measures
/// the time.

#include "dsl/ir/program.h"

#include <cstdint>
#include <string>
#include <vector>

namespace nestsmith {

/// The functions of an emitted file, and the arguments for one shape.
struct LauncherCalls {
  std::string name;                                   ///< name of the kernels in messages
  std::string launcher, requirement, workspace_bytes; ///< names of the functions
  std::vector<std::int64_t> sizes;                    ///< arguments of the first two functions
  bool workspace = false;                             ///< whether the launcher takes a workspace
  bool counters = false;                        ///< whether the workspace must be zero before the first launch
  std::vector<std::int64_t> of_workspace_bytes; ///< arguments of the third function
  double operations = 0;                        ///< floating-point operations per launch; 0: do not report
};

struct CheckText {
  std::string reference;   ///< `struct Reference` and the kernels that compute it on the device
  std::string comparisons; ///< functions that compare results; they use the text of `check_support`
  std::string body;        ///< the body of a function that returns 0 if the result is right, 1 if it is wrong,
                           ///< and 2 if a requirement of the launcher is violated
};

/// Functions for arrays and random numbers, which the text of a check calls.
std::string check_support(const Program &source);

/// The check of a launcher. `source` is the unscheduled program, with constant shapes. Throws UserError (usage)
/// if the program has a floating-point operation for which no error bound is known.
CheckText check_text(const LauncherCalls &calls, const Program &source);

} // namespace nestsmith
