#pragma once
/// Splits a trace as JSON into parts. Each part has a kind and the names that it may use.

#include <functional>
#include <llvm/Support/JSON.h>
#include <string>
#include <vector>

namespace nestsmith::fuzz {

/// A tensor or a stage that a stage may read, or a scalar.
struct KnownBuffer {
  std::string name, dtype; ///< empty: unknown
  std::size_t rank = 0;
};

/// The names of a stage: axes and sizes, scalars, and buffers that it may read.
struct StageScope {
  std::vector<std::string> names;
  std::vector<KnownBuffer> scalars, buffers;
  std::vector<std::string> values; ///< dtypes of the entries of the list "values" of the stage
};

struct Part {
  llvm::json::Value *at;
  std::string kind;
  StageScope scope = {};  ///< of an expression or of an extent
  std::string dtype = {}; ///< of an expression; empty: unknown
};

/// Returns the dtype of an expression, or "" if it is unknown.
std::string dtype_of(const llvm::json::Value &expression, const StageScope &scope);

/// Returns all parts of a trace in pre-order. A pointer is valid until an enclosing part changes.
std::vector<Part> parts_of(llvm::json::Value &trace);
/// Returns the names of loops and blocks in the trace.
std::vector<std::string> names_in(const llvm::json::Value &trace);
/// Calls `f` for each node of an expression in pre-order.
void walk_nodes(llvm::json::Value &expression, const std::function<void(llvm::json::Value &)> &f);

} // namespace nestsmith::fuzz
