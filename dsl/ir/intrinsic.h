#pragma once
/// Intrinsics: instructions of which one call replaces a nest. Each intrinsic is declared once, with its
/// meaning as a nest. `tensorize` compares a nest of the program with the meaning, the simulator executes the
/// meaning, and codegen prints a call of a function. CUDA defines the function, or a *prelude* does: CUDA C++
/// text that codegen prints before the kernel, and the only place for inline assembly.
///
/// dsl/hardware/intrinsics.h has the table of the intrinsics.

#include "dsl/ir/arch.h"
#include "dsl/ir/layout.h"
#include "dsl/ir/program.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace nestsmith {

struct NestLoop {
  Var var;
  std::int64_t extent;
};
/// Serial loops, outermost first, around one store.
struct Nest {
  std::vector<NestLoop> loops;
  Store body;
};
/// "for k < 4: sum = sum + a[k]*b[k]"
std::string to_string(const Nest &nest);

/// The indices with which the nest accesses the buffer, for a meaning: always the same ones.
std::vector<Expr> indices_of(const Nest &nest, const Buffer &buffer);

/// The threads that execute a call together.
enum class Group : std::uint8_t { thread, warp };

/// An operand that one thread passes by value: an element, or a vector of consecutive elements.
struct ByValue {};
/// An operand in the registers of a warp. The map goes from the indices of an element, and optionally the index
/// of its replica, to the lane and to the register of this lane.
struct InRegisters {
  IndexMap map;
};
/// An operand in shared memory. Each of the first `lanes` lanes passes the address of the element `start`,
/// which depends on `lane`. The call reads `count` consecutive elements from there, along the dimension
/// `along`. The addresses of the other lanes are ignored, but they are valid too.
struct Rows {
  Var lane;
  std::vector<Expr> start;
  std::size_t along;
  std::int64_t count;
  std::int64_t lanes = lanes_per_warp;
};

/// A buffer that stands for an operand in a meaning: a constant shape, or no dimension for one element.
Buffer formal_buffer(std::string name, DType dtype, std::vector<Expr> shape);

struct Operand {
  Buffer formal; ///< constant shape: the elements that one call accesses
  std::variant<ByValue, InRegisters, Rows> place = ByValue{};
  /// Bytes, of the address that a thread passes; 0: the alignment of one element is sufficient.
  std::int64_t alignment = 0;

  template <class T> const T *as() const { return std::get_if<T>(&place); }
};

struct Intrinsic {
  std::string name; ///< the name of the function, and the argument of `tensorize`
  Group group = Group::thread;
  /// In the order of the parameters of the function. For a thread, the function returns the value that the
  /// meaning stores. For a warp, it has one pointer for each operand.
  std::vector<Operand> operands;
  Nest meaning; ///< over the formal buffers
  /// The feature that an architecture must have for the function. None: all architectures have it.
  std::optional<Feature> feature = {};
  /// The error of floating-point sums: a sum of T terms counts as up to `rounding_scale`*(T + 2) roundings of
  /// 2^-24, relative to the sum of the magnitudes of its terms. 1: each addition rounds to nearest.
  std::int64_t rounding_scale = 1;
  std::string prelude = {};             ///< definition of the function in CUDA C++; empty: CUDA has it
  const OwnReducer *combines = nullptr; ///< of a `lane_reduction` (dsl/hardware/lane_reductions.h)
  /// Group thread: the function with its meaning as an expression. `register_intrinsic` sets it.
  Function function = {};

  const Operand &operand(const Buffer &formal) const;
  const Operand &result() const { return operand(meaning.body.buffer); }
};

/// The name and the dtypes of the operands: "dp4a (i8, i32)".
std::string signature(const Intrinsic &intrinsic);

} // namespace nestsmith
