#pragma once
/// Constants in the place of sizes: what was made for all of them, for some of them.

#include "dsl/program.h"

#include <cstdint>
#include <map>
#include <span>

namespace nestsmith {

/// Puts values in the place of sizes, in expressions and in the shapes of buffers.
class Specialiser {
public:
  void set(const Var &size, std::int64_t value) { values_[size] = int_imm(value, size->dtype); }
  Expr operator()(const Expr &e);
  /// The buffer with its shape made constant; the same one each time.
  Buffer operator()(const Buffer &buffer);

private:
  std::map<Var, Expr> values_;
  std::map<Buffer, Buffer> buffers_;
};

/// The program for these values of its sizes, in their order.
Program specialise(const Program &program, std::span<const std::int64_t> sizes);

} // namespace nestsmith
