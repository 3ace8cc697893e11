#pragma once
/// Mutates traces as JSON (dsl/schedule/trace.h). The grammar of traces gives each part a kind. A mutation
/// replaces a part by another part of the same kind, or by a new part that is drawn from the grammar of
/// expressions (dsl/expr/expr_json.h). Mutations ignore the meaning of the computation and the legality of
/// directives, so most mutants are refused.

#include "tests/fuzz/random.h"

#include <llvm/Support/JSON.h>
#include <map>
#include <string>
#include <vector>

namespace nestsmith::fuzz {

/// Parts of traces, by kind: "expression", "extent", "directive split", "word bind", …
class Donors {
public:
  /// Adds the parts of a trace. Throws std::runtime_error for text that is not JSON.
  void add(const std::string &trace);
  /// Returns a random part of this kind, or null.
  const llvm::json::Value *any(const std::string &kind, Random &random) const;
  const std::vector<std::string> &directives() const { return directives_; }

private:
  std::map<std::string, std::vector<llvm::json::Value>> parts_;
  std::vector<std::string> directives_; ///< kinds of directives
};

/// Returns the text of `trace` after a few mutations.
std::string mutate(const std::string &trace, const Donors &donors, Random &random);

} // namespace nestsmith::fuzz
