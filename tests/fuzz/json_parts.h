#pragma once
/// The parts of a trace as JSON, each with its kind and with the names that it may use.

#include <functional>
#include <llvm/Support/JSON.h>
#include <string>
#include <vector>

namespace nestsmith::fuzz {

/// A tensor or a stage that a stage may read, or a scalar.
struct KnownBuffer {
  std::string name, dtype; ///< empty: not known
  std::size_t rank = 0;
};

/// The names of a stage: axes and sizes, scalars, and what it may read.
struct StageScope {
  std::vector<std::string> names;
  std::vector<KnownBuffer> scalars, buffers;
  std::vector<std::string> values; ///< dtypes of the entries of its list "values"
};

struct Part {
  llvm::json::Value *at;
  std::string kind;
  StageScope scope = {};  ///< of an expression or of an extent
  std::string dtype = {}; ///< of an expression; empty: not known
};

/// The dtype of an expression; empty if it is not known.
std::string dtype_of(const llvm::json::Value &expression, const StageScope &scope);

/// All parts of a trace, outer ones first. A pointer is valid until a part around it changes.
std::vector<Part> parts_of(llvm::json::Value &trace);
/// The names of loops and blocks that occur in the trace.
std::vector<std::string> names_in(const llvm::json::Value &trace);
/// Calls f for each node of an expression, outer ones first.
void walk_nodes(llvm::json::Value &expression, const std::function<void(llvm::json::Value &)> &f);

} // namespace nestsmith::fuzz
