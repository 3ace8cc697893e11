#pragma once
/// The checks that catch bugs: the verifier of kernels, the simulator, and the comparison with the reference.

#include "runtime/check/check.h"
#include "tests/mutation/subject.h"
#include "tests/mutation/terms.h"

#include <string>

namespace nestsmith::mutation {

struct Report {
  Errors errors; ///< empty: nothing was noticed
  std::string message;
};

/// Shows a subject's mutants to the net, each in a process of its own: what stops one stops no other.
class Net {
public:
  explicit Net(const Subject &subject);

  /// Why the subject itself is not let through, or empty.
  std::string wrong() const { return wrong_; }
  /// The same bug in the kernel of u32, and where that shows nothing in that of f32.
  Report judge(const Kind &kind, int site, std::string &where);
  /// Whether a mutant of f32 that nothing was noticed of gives the same terms (see terms.h).
  bool same_terms(const Kind &kind, int site);

private:
  Report judge(const Lowered &lowered, const Lowered::Mutant &mutant);
  Report apart(const Lowered &lowered, const Kind &kind, int site, std::string &where);

  const Subject &subject_;
  Checker checker_; ///< holds the references
  std::string wrong_;
  std::vector<std::optional<Terms>> terms_; ///< of each launch of the subject of f32, once asked for
};

} // namespace nestsmith::mutation
