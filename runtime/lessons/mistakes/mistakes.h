#pragma once
/// The printed mistakes of the tutorials' posts, each an example that nestsmith refuses or reports: `lint` runs
/// them. A mistake that a schedule can say is a schedule. An index error of a kernel that was written by hand
/// is that kernel. A figure that is wrong is counted.

#include "dsl/schedule.h"
#include "lowering/kernel.h"

#include <functional>
#include <string>
#include <variant>
#include <vector>

namespace nestsmith {

/// A kernel as a post prints it, and what it is to compute.
struct HandWritten {
  Program computation;
  kernel::Kernel kernel;
};

/// A figure of a post, and what is counted.
struct FigureClaim {
  double claimed = 0, counted = 0;
  std::string said;    ///< what was counted, in a sentence
  std::string example; ///< the kernel as CUDA
};

struct Mistake {
  std::string tutorial; ///< "tvm_steps"
  std::string name;     ///< "thread_extents"
  std::string claim;    ///< what the post says or prints
  std::string truth;
  std::string rung;    ///< the mended form
  std::string finding; ///< a part of what nestsmith says of it: no other finding counts
  std::variant<std::function<Schedule()>, std::function<HandWritten()>, std::function<FigureClaim()>> example;

  std::string full_name() const { return tutorial + "/" + name; }
};

const std::vector<Mistake> &mistakes();

/// What nestsmith makes of a mistake.
///   refused   by a directive, or when the schedule is lowered
///   reported  by the simulator, or by the check of the result
///   counted   by the figures of the kernel
///   passed    not noticed, or something else was found than the mistake
enum class Verdict : std::uint8_t { refused, reported, counted, passed };
std::string_view name(Verdict verdict);

struct LintResult {
  Verdict verdict = Verdict::passed;
  std::vector<std::string> said; ///< what is to the point first
  std::string example;           ///< the schedule with the culprit marked, or the kernel as CUDA
};
LintResult lint(const Mistake &mistake);

} // namespace nestsmith
