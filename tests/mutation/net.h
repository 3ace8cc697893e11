#pragma once
/// The checks that catch bugs: the verifier of kernels, the simulator, and the comparison with the reference.

#include "runtime/check/check.h"
#include "tests/mutation/subject.h"
#include "tests/mutation/terms.h"

#include <string>

namespace nestsmith::mutation {

struct Report {
  Errors errors; ///< empty: no error was reported
  std::string message;
};

/// Checks the mutants of a subject, each in its own child process, so that a crash affects one mutant only.
class Net {
public:
  explicit Net(const Subject &subject);

  /// Returns why the checks reject the unchanged subject, or "".
  std::string wrong() const { return wrong_; }
  /// Judges the bug in the kernel of u32. If no error is reported, judges it in the kernel of f32, too.
  Report judge(const Kind &kind, int site, std::string &where);
  /// Whether an unnoticed mutant of f32 gives the same terms as the unchanged kernel (tests/mutation/terms.h).
  bool same_terms(const Kind &kind, int site);

private:
  Report judge(const Lowered &lowered, const Lowered::Mutant &mutant);
  Report apart(const Lowered &lowered, const Kind &kind, int site, std::string &where);

  const Subject &subject_;
  Checker checker_; ///< caches the references
  std::string wrong_;
  std::vector<std::optional<Terms>> terms_; ///< of each launch of the f32 subject, computed on first use
};

} // namespace nestsmith::mutation
