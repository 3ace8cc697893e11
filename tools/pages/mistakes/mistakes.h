#pragma once
/// Mistakes in the tutorials' posts. Each mistake has an example that nestsmith refuses or reports. The command
/// `lint` runs the examples. If a schedule can express the mistake, the example is a schedule. For an index
/// error, it is the handwritten kernel of the post. For a wrong figure, it is a count.

#include "dsl/schedule/schedule.h"
#include "lowering/kernel.h"

#include <functional>
#include <string>
#include <variant>
#include <vector>

namespace nestsmith {

/// A kernel as printed in a post, and the computation that it implements.
struct HandWritten {
  Program computation;
  kernel::Kernel kernel;
};

/// A figure of a post, and our count.
struct FigureClaim {
  double claimed = 0, counted = 0;
  std::string said;    ///< a sentence that states our count
  std::string example; ///< the kernel as CUDA
};

struct Mistake {
  std::string tutorial;   ///< "tvm_steps"
  std::string name;       ///< "thread_extents"
  std::string claim;      ///< the statement of the post
  std::string truth;      ///< the correct statement
  std::string rung;       ///< the rung without the mistake
  std::string diagnostic; ///< expected part of the diagnostic; other diagnostics do not count
  std::variant<std::function<Schedule()>, std::function<HandWritten()>, std::function<FigureClaim()>> example;

  std::string full_name() const { return tutorial + "/" + name; }
};

const std::vector<Mistake> &mistakes();

/// The result for a mistake:
///   refused   by a directive, or by lowering
///   reported  by the simulator, or by the check of the result
///   counted   by the counts of the kernel
///   passed    not noticed, or only with another diagnostic
enum class Verdict : std::uint8_t { refused, reported, counted, passed };
std::string_view name(Verdict verdict);

struct LintResult {
  Verdict verdict = Verdict::passed;
  std::vector<std::string> said; ///< diagnostics, the relevant ones first
  std::string example;           ///< the schedule with the culprit marked, or the kernel as CUDA
};
LintResult lint(const Mistake &mistake);

} // namespace nestsmith
