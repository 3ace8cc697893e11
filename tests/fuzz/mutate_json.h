#pragma once
/// Mutations of a trace as JSON (dsl/schedule/trace.h). The grammar of traces gives each part a kind; a
/// mutation replaces a part by another part of its kind, or by a new one that is drawn from the grammar of
/// expressions (dsl/expr/expr_json.h). It knows neither what a computation means nor which directives are
/// legal: most mutants are refused.

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
  /// A part of this kind, or null.
  const llvm::json::Value *any(const std::string &kind, Random &random) const;
  const std::vector<std::string> &directives() const { return directives_; }

private:
  std::map<std::string, std::vector<llvm::json::Value>> parts_;
  std::vector<std::string> directives_; ///< their kinds
};

/// `trace` after a few mutations, as text.
std::string mutate(const std::string &trace, const Donors &donors, Random &random);

} // namespace nestsmith::fuzz
