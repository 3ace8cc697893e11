#pragma once
/// Advice on a schedule. Each change of tools/advice/changes.h is applied to the schedule, and its kernel is
/// analysed for the same GPU and shape. Only a change with a gain in the model is given as advice.

#include "runtime/model/words.h"
#include "tools/results/analysed.h"

#include <optional>
#include <string>
#include <vector>

namespace llvm::json {
class OStream;
}

namespace nestsmith::cli {

/// A legal change, and the time of the changed schedule in the model.
struct Tried {
  Texts what; ///< "pad A_shared to rows of 33 words"
  double seconds = 0;
};

struct Advice {
  double seconds = 0; ///< of the schedule as it is
  /// The times are estimated times (runtime/model/estimate.h). If the kernel was not compiled, least times.
  bool estimated = false;
  std::vector<Tried> tried; ///< the fastest first

  /// A smaller gain is no advice, because the model is not more exact.
  static constexpr double least_gain = 1.05;
  /// The change with the largest gain; null: none of the changes gains.
  const Tried *best() const;
};

/// Tries the most promising legal changes. Reuses the advice of an earlier call of `results`, if it is not
/// null.
Advice advise(const Analysed &analysed, ResultCache *results = nullptr);

/// "To improve: pad A_shared to rows of 33 words: estimated 1.9 ms instead of 2.4 ms, 1.26 times less." If no
/// change gains, a sentence that says what was tried. Empty if nothing was tried.
std::string to_text(const Advice &advice, Language language = Language::en);
/// Writes the attribute `advice`.
void write_advice(llvm::json::OStream &json, const Advice &advice);

} // namespace nestsmith::cli
