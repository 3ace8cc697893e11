#pragma once
/// Expressions of the tensor language as JSON, for traces (dsl/schedule/trace.h). The forms:
///
///   5                                       an i64
///   "i"                                     an axis, a scalar, or a size
///   true                                    a boolean
///   ["f32", 0.5], ["u64", "…"]              a constant of another dtype; a string where a JSON number is not
///                                         exact
///   ["load", "A", ["i", "k"]]               an element; with a mask and a fill: ["load", "A", […], mask, fill]
///   ["+", a, b], ["!", a], ["cast", "f32", a], ["select", condition, a, b], ["branch", condition, a, b]
///   ["tuple", ["value", "f32", a], …]        a tuple of named parts
///   ["part", ["load", "S", ["i"]], "value"] a part of a tuple
///   ["value", 0]                            entry 0 of the list `values` of the stage
///
/// `values` contains each shared operand once. It also contains parts of deep expressions, so that the brackets
/// of a file do not nest deeply.

#include "dsl/expr/expr.h"

#include <llvm/Support/JSON.h>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace nestsmith {

/// A whole number of magnitude below 2^62, or none: LLVM reads 9223372036854775807.5 as 2^63, and converts it
/// to an integer.
std::optional<std::int64_t> whole_number(const llvm::json::Value *value);

/// Writes the expressions of one stage.
class ExprWriter {
public:
  explicit ExprWriter(const std::vector<Expr> &exprs);
  llvm::json::Value operator()(const Expr &e);
  llvm::json::Array values; ///< to be stored beside the expressions
  bool complete = true;     ///< false after a node that the tensor language does not make, such as a vector

private:
  struct Written {
    llvm::json::Value text;
    int brackets = 0; ///< how deep they nest
  };
  Written write(const Expr &e);
  Written write_node(const Expr &e);

  std::unordered_map<const ExprNode *, int> uses_;
  std::unordered_map<const ExprNode *, std::int64_t> places_; ///< in `values`
};

/// Reads the expressions of one stage.
class ExprReader {
public:
  std::map<std::string, Expr> names;
  std::map<std::string, Buffer> buffers;
  std::vector<Expr> values = {};

  /// Throws UserError (usage) for text that is not an expression over these names.
  Expr operator()(const llvm::json::Value &value) const;

private:
  Expr read_list(const llvm::json::Array &list) const;
  Expr read_load(const llvm::json::Array &list) const;
  Expr read_tuple(const llvm::json::Array &list) const;
};

} // namespace nestsmith
