#pragma once
/// Symbols as C++ identifiers: unique where they are visible, and none that C++ or CUDA takes.

#include "dsl/buffer.h"
#include "dsl/expr.h"

#include <map>
#include <set>
#include <string>
#include <vector>

namespace nestsmith {

/// `wanted` as an identifier that is no keyword and no name of CUDA's: other characters become `_`, and a
/// taken word gets the suffix `_`.
std::string identifier(std::string wanted);

/// A name that others link to: also none that a library of every program defines.
std::string linked_identifier(std::string wanted);

/// Why a kernel cannot have just this name, or nothing: "it is a keyword of C or C++".
std::string why_not_linked(const std::string &name);

class NameTable {
public:
  /// Opens a nested scope until it is destroyed: the names in it are free again after it.
  class Nested {
  public:
    explicit Nested(NameTable &table) : table_(table) { table_.scopes_.emplace_back(); }
    ~Nested();
    Nested(const Nested &) = delete;
    Nested &operator=(const Nested &) = delete;

  private:
    NameTable &table_;
  };

  /// `wanted`, or `wanted_1`, … where that is taken: no name hides another.
  std::string claim(const std::string &wanted);
  std::string declare(const Var &var);
  std::string declare(const Buffer &buffer);
  /// The name of what was declared in a scope that is still open.
  const std::string &operator[](const Var &var) const { return find(var.get()); }
  const std::string &operator[](const Buffer &buffer) const { return find(buffer.get()); }

private:
  std::string declare(const void *symbol, const std::string &wanted);
  const std::string &find(const void *symbol) const;

  struct Scope {
    std::vector<std::string> names;
    std::vector<const void *> symbols;
  };
  std::vector<Scope> scopes_{1};
  std::set<std::string> taken_;
  std::map<const void *, std::string> names_;
};

} // namespace nestsmith
