#pragma once
/// Exercises: a schedule with a blank, or a kernel with a barrier or a wait to correct. An answer is applied,
/// checked on the simulator and counted. No answer is stored: any answer that reaches the goal solves the
/// exercise.

#include "lowering/plan.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace nestsmith {

/// A figure of the answer, and the goal.
struct Measured {
  std::string what; ///< "sectors of a request to B"
  double got = 0;
  std::string goal; ///< "at most 4"
  bool reached = false;
};

struct ExerciseResult {
  std::string refused;            ///< the diagnostic of the directive that was refused; empty: none was
  std::vector<std::string> wrong; ///< the diagnostics of the check on the simulator
  std::vector<Measured> measured;
  std::string kernel; ///< as CUDA; empty if a directive was refused

  bool solved() const;
};

struct Exercise {
  std::string name;               ///< "row"
  std::string title;              ///< one line
  std::string task;               ///< a paragraph: what is asked for, and the goal
  std::string example;            ///< an answer that is well-formed but does not solve the exercise
  std::vector<std::string> hints; ///< each says more than the one before
  /// The schedule with the blank `____`, or the kernel with numbers at its barriers or waits.
  std::function<std::string()> text;
  /// Throws UserError (usage) for an answer that cannot be read.
  std::function<ExerciseResult(const std::string &answer)> judge;
};

const std::vector<Exercise> &exercises();

namespace exercise {

inline constexpr const char *blank = "____";

/// A schedule with a blank, which stands for an argument or for directives.
struct BlankSchedule {
  std::vector<std::string> lines; ///< directives, as `parse_directives` reads them
  std::int64_t size = 64;         ///< of the product: size x size x size
  /// The figures of the plan, if the check passes.
  std::function<std::vector<Measured>(const Program &source, const kernel::Plan &plan)> measure;

  std::string text() const;
  ExerciseResult judge(const std::string &answer) const;
};

/// Two exercises about the statements of a kernel.
Exercise needless_barrier();
Exercise weak_wait();

/// A product, and its kernel.
struct ProductPlan {
  Program source;
  kernel::Plan plan;
};
/// The directives of a product by 32 x 32 tiles of A and B in shared memory, and 1024 threads.
std::vector<std::string> tiles32();
ProductPlan product_plan(const std::vector<std::string> &lines, const std::vector<std::int64_t> &shape);
/// Checks the plan on the simulator. Fills `wrong` and `kernel`.
ExerciseResult checked(const Program &source, const kernel::Plan &plan);

} // namespace exercise

} // namespace nestsmith
