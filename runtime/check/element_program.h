#pragma once
/// Expressions compiled to a flat list of instructions over registers, for evaluation at many points. Each
/// register holds a value, a bound on the error of a kernel that computes it in f32 or f64, and its
/// *magnitude*: the value of the same expression if all inputs are replaced by their absolute values.

#include "dsl/expr/shared_results.h"
#include "dsl/ir/residues.h"

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace nestsmith {

/// A register. Floating-point numbers are stored in `value`, `magnitude` and `error`. Integers and conditions
/// are stored in `integer`, extended to 64 bits with zeros or the sign, as the dtype says; u64 as the i64 of
/// the same bits. So are the bits of residues, if they stand for floating-point numbers.
///
/// An integer or a condition may depend on roundings: cast(i32, x * y), or x * y < z. Its `error` is 0 if it
/// does not; `no_bound` if any value is possible; otherwise 1, and the kernel has one of the integers in
/// [value, magnitude].
struct Cell {
  double value = 0, magnitude = 0;
  std::int64_t integer = 0;
  double error = 0;
  double low = 0; ///< of an f64, which is the double-double value + low
};

/// The content of a buffer: `value`, `magnitude` and `error` for a floating-point dtype, otherwise `integer`. A
/// double represents every floating-point element of a kernel exactly; the value of an f64 that is rounded in a
/// kernel is value + low. Integers are extended to 64 bits as in a `Cell`. If
/// one of them depends on roundings, `value`, `magnitude` and `error` are those of its cell.
struct Plane {
  Buffer buffer;
  std::vector<std::int64_t> shape;
  std::vector<double> value;
  std::vector<double> magnitude; ///< empty: the absolute values of `value`
  std::vector<std::int64_t> integer;
  std::vector<double> error; ///< empty: all elements are exact
  std::vector<double> low;   ///< empty: all 0
  bool residues = false;     ///< an element of a floating-point dtype is a residue, in `integer`

  bool is_real() const { return !residues && is_float(buffer->dtype); } ///< the elements are in `value`
  bool is_wide() const { return is_real() && buffer->dtype == DType::f64; }
  void set(std::size_t position, const Cell &cell);
  Cell get(std::size_t position) const;
};
/// A buffer of tuples has a plane for each of its `part_buffers`, and none of its own.
using Planes = std::map<const BufferNode *, Plane>;

/// "X out of bounds: the index of dimension 0 is 8, expected 0 to 7", for a position that is negative.
std::string outside(const Plane &plane, const Cell &position);

/// A division of floating-point numbers, after its executions.
struct Division {
  const ExprNode *node;
  double largest;    ///< magnitude of an operand
  int fraction_bits; ///< of a quotient; `endless_fraction` if one is not exact
};

class ElementProgram {
public:
  explicit ElementProgram(Arithmetic arithmetic = Arithmetic::floating) : arithmetic_(arithmetic) {}
  /// A register that the caller sets before each run.
  int variable(const Var &var);
  /// Compiles `e` and returns the register of its value. The planes of its buffers must exist and keep their
  /// addresses and sizes.
  int compile(const Expr &e, const Planes &planes);
  /// Compiles the row-major position of an element; its value is in `integer`.
  int compile_position(const Plane &plane, std::span<const Expr> indices, const Planes &planes);

  Cell &operator[](int reg) { return cells_[static_cast<std::size_t>(reg)]; }
  /// Executes the instructions in [begin, end).
  void run(std::size_t begin, std::size_t end);
  std::size_t size() const { return code_.size(); }
  std::vector<Division> divisions() const;

private:
  struct Instruction;
  using Run = void (*)(const Instruction &, Cell *);
  struct Instruction {
    Run run;
    int result;
    int a = 0, b = 0, c = 0;
    const Plane *plane = nullptr;
    std::int64_t extent = 0; ///< or a property of the operands
  };
  struct Operations;
  using Compiled = SharedResults<int>;
  int compile(const Expr &e, const Planes &planes, Compiled &compiled);
  int compile_node(const Expr &e, const Planes &planes, Compiled &compiled);
  int compile_position(const Plane &plane, std::span<const Expr> indices, const Planes &planes,
                       Compiled &compiled);
  int fresh(Cell cell = {});
  int emit(Instruction instruction);
  /// Whether values of this dtype are residues.
  bool residues(DType type) const { return arithmetic_ != Arithmetic::floating && is_float(type); }

  Arithmetic arithmetic_;

  std::vector<Instruction> code_;
  std::vector<Cell> cells_;
  std::map<const Symbol *, int> variables_;
  std::vector<std::pair<const ExprNode *, int>> divisions_; ///< with the register of the record
};

} // namespace nestsmith
