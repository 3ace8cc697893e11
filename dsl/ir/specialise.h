#pragma once
/// Specialisation: replaces sizes by constants.

#include "dsl/ir/program.h"

#include <cstdint>
#include <map>
#include <span>

namespace nestsmith {

/// Substitutes constants for sizes in expressions and in the shapes and strides of buffers.
class Specialiser {
public:
  void set(const Var &size, std::int64_t value) { values_[size] = int_imm(value, size->dtype); }
  Expr operator()(const Expr &e);
  /// The buffer with constant shape and strides. Repeated calls return the same node.
  Buffer operator()(const Buffer &buffer);

private:
  std::map<Var, Expr> values_;
  std::map<Buffer, Buffer> buffers_;
};

/// The program for the given values of `program.sizes`, in order. The result has no sizes.
Program specialise(const Program &program, std::span<const std::int64_t> sizes);

} // namespace nestsmith
