#pragma once
/// The examples, one file each. The default value of a parameter is the value in the post. With another value,
/// the example is correct.

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

namespace mistake {

HandWritten row_modulo_n(std::int64_t M = 64);
HandWritten inner_row_b(bool mended = false);
HandWritten narrow_tile(std::int64_t WID = 16);
Schedule thread_extents();
Schedule vector_rows();
Schedule writeback_in_pipeline();
Schedule column_of_b();
Schedule consecutive_elements();

/// Wrong figures in posts.
std::vector<Mistake> wrong_figures();

} // namespace mistake

} // namespace nestsmith
