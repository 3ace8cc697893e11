#pragma once
/// C++ identifiers for symbols, unique in their scope and not reserved by C++ or CUDA.

#include "dsl/expr/buffer.h"
#include "dsl/expr/expr.h"

#include <map>
#include <set>
#include <string>
#include <vector>

namespace nestsmith {

/// An identifier similar to `wanted`: invalid characters become `_`, and a keyword or a name of CUDA gets the
/// suffix `_`.
std::string identifier(std::string wanted);

/// Like `identifier`, for a name with external linkage. It also avoids the names of functions in the libraries
/// that every program links.
std::string linked_identifier(std::string wanted);

/// The reason why a kernel cannot have this name, such as "it is a keyword of C or C++". Empty if a kernel can
/// have this name.
std::string why_not_linked(const std::string &name);

/// The reason why an emitted file cannot define a function of this name, such as the function of an intrinsic.
/// Empty if it can.
std::string why_not_defined(const std::string &name);

class NameTable {
public:
  /// Opens a nested scope. The destructor frees the names that were declared in it.
  class Nested {
  public:
    explicit Nested(NameTable &table) : table_(table) { table_.scopes_.emplace_back(); }
    ~Nested();
    Nested(const Nested &) = delete;
    Nested &operator=(const Nested &) = delete;

  private:
    NameTable &table_;
  };

  /// Reserves and returns `wanted`. If this name is taken, reserves and returns `wanted_1`, `wanted_2` or the
  /// next free name. So no name hides another name.
  std::string claim(const std::string &wanted);
  std::string declare(const Var &var);
  std::string declare(const Buffer &buffer);
  /// The name of a symbol that was declared in a scope that is still open.
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
