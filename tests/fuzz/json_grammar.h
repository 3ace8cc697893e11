#pragma once
/// Draws new parts of traces from the grammar of expressions (dsl/expr/expr_json.h).

#include "tests/fuzz/json_parts.h"
#include "tests/fuzz/random.h"

#include <cstdint>
#include <initializer_list>

namespace nestsmith::fuzz {

/// Draws numbers near limits: of types, of tiles, and of the masks of the simulator.
std::int64_t any_number(Random &random);
llvm::json::Value list_of(std::initializer_list<llvm::json::Value> items);

/// Draws expressions over the names of a stage.
class Grammar {
public:
  Grammar(const StageScope &scope, Random &random) : scope_(scope), random_(random) {}

  llvm::json::Value name();
  llvm::json::Value index(int depth = 2);
  llvm::json::Value condition();
  llvm::json::Value extent();
  llvm::json::Value leading(); ///< a leading dimension
  llvm::json::Value zero(const std::string &dtype);
  /// Draws an expression of this dtype.
  llvm::json::Value of(const std::string &dtype, int depth);
  /// Draws an element of this dtype. If there is no tensor of this dtype, converts an element of another one.
  llvm::json::Value element(const std::string &dtype);
  /// Replaces the names in an expression of another stage by names of this stage.
  void adapt(llvm::json::Value &expression);

private:
  std::string any_buffer_dtype();
  llvm::json::Value load(const KnownBuffer &buffer);
  void adapt_load(llvm::json::Value &node, llvm::json::Array &array);

  const StageScope &scope_;
  Random &random_;
};

} // namespace nestsmith::fuzz
