#pragma once
/// Expressions, shared by programs (dsl/ir/program.h) and kernels (lowering/kernel.h).
///
///   expr := int | float | var | expr op expr | not expr | select(expr, expr, expr)
///         | branch(expr, expr, expr) | cast<dtype>(expr) | buffer[expr, …] where mask else fill
///         | function(expr, …)                        of dsl/expr/math.h or of a reducer; others in kernels
///         only | (name: expr, …) | expr.name              a tuple, and a part of one, in programs only |
///         var.lane | pack(expr, …)                 in kernels only
///
/// Nodes are immutable and shared. The set of node kinds is closed: a call of `Expr::visit` compiles only if it
/// handles every kind. If a rewrite changes nothing, it returns the same node.

#include "dsl/expr/buffer.h"
#include "dsl/expr/dtype.h"
#include "dsl/expr/function_ref.h"
#include "dsl/expr/ops.h"

#include <atomic>
#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>
#if __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h>
#endif

namespace nestsmith {

/// The stated range of a *size*: an extent or a leading dimension that is known only at launch. The launcher
/// checks that the value is in this range. The default maximum is 2^30, so that a size that is rounded up to a
/// tile still fits in 32 bits.
struct Size {
  std::int64_t min = 1, max = std::int64_t{1} << 30, multiple_of = 1;
  std::int64_t usual =
      0; ///< of a size that no array has: its value in a run that states none; 0: the least one
  bool operator==(const Size &) const = default;
};

/// A variable: of a loop, of a block, a thread index, a scalar parameter, or a size. Two variables are the same
/// if they have the same address; names are not compared.
struct Symbol {
  std::string name;
  DType dtype;                             ///< dtype of one lane
  int lanes = 1;                           ///< more than 1: a vector, in kernels only
  std::optional<Size> size = std::nullopt; ///< set exactly for sizes, whose value is fixed for a launch
  bool data = false; ///< a scalar parameter or a loaded value: integer arithmetic on it wraps
  SerialNumber serial = {};
  std::string brief = {}; ///< in a derived name: what `name_in_kernel` gives if `name` is long
};
using Var = std::shared_ptr<const Symbol>;
/// Orders symbols by the order in which they were made, null first, so that maps and sets of symbols have the
/// same order in every run.
inline std::strong_ordering operator<=>(const Var &a, const Var &b) {
  return a && b ? a->serial <=> b->serial : (a != nullptr) <=> (b != nullptr);
}
Var make_var(std::string name, DType dtype = DType::i64, int lanes = 1);
/// A variable whose name a directive derived from others, with a brief name for kernels.
Var make_derived_var(std::string name, std::string brief);
/// A new variable with the names of `var`.
Var make_var_like(const Symbol &var);
/// A derived name of at most this many letters is used in kernels as it is.
inline constexpr std::size_t longest_name_in_kernel = 13;
/// The name of the variable in kernels: the brief name in place of a long derived name.
const std::string &name_in_kernel(const Symbol &var);
Var make_size(std::string name, Size size, DType dtype = DType::i64);
Var make_data(std::string name, DType dtype, int lanes = 1); ///< with `Symbol::data`

struct ExprNode;
struct Function;

class Expr;
Expr logical_not(Expr a);
Expr operator&&(Expr a, Expr b);
Expr operator||(Expr a, Expr b);

class Expr {
public:
  Expr() = default; ///< null: only for an absent mask
  Expr(const Expr &other) noexcept : node_(other.node_) { retain(); }
  Expr(Expr &&other) noexcept : node_(std::exchange(other.node_, nullptr)) {}
  Expr &operator=(const Expr &other) noexcept {
    Expr(other).swap(*this);
    return *this;
  }
  Expr &operator=(Expr &&other) noexcept {
    Expr(std::move(other)).swap(*this);
    return *this;
  }
  ~Expr() { release(); }
  /// A C++ number is a constant: an integer becomes i64, a floating-point number the nearest f32, `true` and
  /// `false` boolean. As an operand of an operator, it takes the dtype of the other operand (see `binary`);
  /// beside an f64, a floating-point number keeps all of its digits. Throws UserError (usage) if a
  /// floating-point number is out of the range of f32, or an unsigned number is out of the range of i64.
  template <class T>
  requires std::is_arithmetic_v<T> Expr(T value) {
    if constexpr (std::is_same_v<T, bool>)
      *this = from_bool(value);
    else if constexpr (std::is_floating_point_v<T>)
      *this = from_double(static_cast<double>(value));
    else if constexpr (std::is_unsigned_v<T>)
      *this = from_unsigned(value);
    else
      *this = from_integer(value);
  }
  Expr(Var var);
  /// The first owner of a node that was made by `new`.
  explicit Expr(const ExprNode *node) noexcept : node_(node) { retain(); }

  bool exists() const { return node_ != nullptr; } ///< false for the null expression
  /// Makes `if (i < n)`, `i < n ? a : b` and std::max(a, b) compile errors, because they need a value that is
  /// known only in the kernel.
  template <std::same_as<bool> T> explicit operator T() const {
    static_assert(!std::same_as<T, bool>,
                  "the value of an expression is known only when the kernel runs: use select(condition, a, b), "
                  "branch(condition, a, b), and nestsmith's min and max");
    return false;
  }
  /// `node`, `visit` and `dtype` throw UserError (usage) for the null expression.
  const ExprNode &node() const { return node_ ? *node_ : refuse_null(); }
  const ExprNode *get() const { return node_; }
  /// Whether the node has operands and more than one owner, so that a walk may meet it again.
  bool may_recur() const;
  DType dtype() const; ///< of one lane
  int lanes() const;   ///< 1 except for vectors

  /// Calls the overload of `cases` (see `Overloaded`) for the kind of this node.
  template <class Cases> decltype(auto) visit(Cases &&cases) const;
  /// The node as kind T, or null.
  template <class T> const T *as() const;

  // Hidden friends: overload resolution considers them only for an Expr. A Var is a shared_ptr, so `!var` still
  // tests for null.
  friend Expr operator!(Expr a) { return logical_not(std::move(a)); }
  friend Expr operator&&(Expr a, bool b) { return std::move(a) && Expr(b); }
  friend Expr operator&&(bool a, Expr b) { return Expr(a) && std::move(b); }
  friend Expr operator||(Expr a, bool b) { return std::move(a) || Expr(b); }
  friend Expr operator||(bool a, Expr b) { return Expr(a) || std::move(b); }

private:
  friend struct ExprNode;
  [[noreturn]] static const ExprNode &refuse_null();
  static Expr from_bool(bool value);
  static Expr from_integer(std::int64_t value);
  static Expr from_unsigned(std::uint64_t value);
  static Expr from_double(double value);
  void swap(Expr &other) noexcept { std::swap(node_, other.node_); }
  [[gnu::always_inline]] void retain() const noexcept;
  [[gnu::always_inline]] void release() const noexcept;
  static void release(const ExprNode &node) noexcept;
  const ExprNode *node_ = nullptr;
};

struct IntImm { ///< also boolean (0 or 1) and unsigned; a u64 as the i64 of the same bits
  DType dtype;
  std::int64_t value;
};
struct FloatImm {
  DType dtype;
  double value;
  double written = value; ///< what the user wrote, before it was rounded to f32: an f64 takes this
};
struct Binary { ///< operands have one dtype; comparisons and logic yield boolean
  BinaryOp op;
  Expr a, b;
};
struct Not {
  Expr a;
};
/// The loads of both values must be in bounds, whatever the condition is, even if `branches` is set: only the
/// mask of a Load protects an address.
struct Select {
  Expr condition, when_true, when_false;
  bool branches = false; ///< evaluate only the selected value: an if/else in the kernel
};
struct Cast {
  DType dtype;
  Expr a;
};
/// `buffer[indices]` if `mask` is true, otherwise `fill`. If the mask is false, memory is not accessed, and the
/// indices may be out of bounds. A null mask is always true. In a kernel after the pass `flatten`, a Load has
/// one index: an offset in elements. A Load with more than one lane is the vector of consecutive elements from
/// this offset. If its mask is false, each lane is `fill`.
struct Load {
  Buffer buffer;
  std::vector<Expr> indices;
  Expr mask, fill;
  int lanes = 1;
};
struct Lane { ///< one element of a vector variable
  Var vector;
  int index;
};
struct Pack { ///< a vector of scalars
  std::vector<Expr> lanes;
};
/// A call of a function, which has no side effects. The meaning of the function defines the
/// result.
struct Call {
  const Function *function;
  std::vector<Expr> arguments;
};

/// A value of a tuple type, from its parts.
struct Tuple {
  DType dtype;
  std::vector<Expr> parts;
};
/// A part of a tuple, which is a load or a variable: `part` resolves all others.
struct Part {
  Expr a;
  int index;
};

struct ExprNode {
  std::variant<IntImm, FloatImm, Var, Binary, Not, Select, Cast, Load, Lane, Pack, Call, Tuple, Part> kind;
  // Facts that follow from the kind. They are stored because they are used very often.
  DType dtype;             ///< of one lane
  std::uint32_t depth = 1; ///< nodes on the longest path to a leaf
  std::uint64_t size = 1;  ///< nodes of the tree, where a shared node counts at each use; at most 2^62
  /// Whether the value depends on data: a load, a scalar parameter, a conversion or a call. Integer arithmetic
  /// on data wraps around. Arithmetic on loop variables, sizes and constants alone is index arithmetic, which
  /// does not overflow.
  bool data = false;
  bool sizes = false;     ///< whether a size is among the variables
  std::uint64_t vars = 0; ///< the bits of the variables, see `SerialNumber::bit`; 0 if there is none
  mutable std::atomic<std::uint32_t> owners = 0; ///< counted here, so that an Expr is one pointer

  template <class Kind> explicit ExprNode(Kind node) : kind(std::in_place_type<Kind>, std::move(node)) {
    measure();
  }
  ExprNode(const ExprNode &) = delete;
  ExprNode &operator=(const ExprNode &) = delete;
  ~ExprNode();
  static void *operator new(std::size_t bytes);
  static void operator delete(void *memory) noexcept;

private:
  void measure();
  void release(std::vector<Expr> &children); ///< moves the children there
};

inline DType Expr::dtype() const { return node().dtype; }
inline bool Expr::may_recur() const {
  return node_ && node_->depth > 1 && node_->owners.load(std::memory_order_relaxed) > 1;
}
/// Whether the process has one thread, so that counting needs no atomic operation. std::shared_ptr asks the
/// same.
inline bool is_single_threaded() {
#if __has_include(<sys/single_threaded.h>)
  return __libc_single_threaded != 0;
#else
  return false;
#endif
}
inline void Expr::retain() const noexcept {
  if (!node_)
    return;
  if (is_single_threaded())
    node_->owners.store(node_->owners.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  else
    node_->owners.fetch_add(1, std::memory_order_relaxed);
}
inline void Expr::release() const noexcept {
  if (node_)
    release(*node_);
}

/// Builds a visitor from one lambda per kind: Overloaded{[](const IntImm &) …, [](const Binary &) …}.
template <class... Ts> struct Overloaded : Ts... { using Ts::operator()...; };
template <class... Ts> Overloaded(Ts...) -> Overloaded<Ts...>;

/// std::visit for the kinds of a node, as a chain of comparisons: the compiler turns it into a switch, and can
/// put the cases in line.
template <std::size_t n = 0, class Cases, class Kind> decltype(auto) visit_kind(Cases &&cases, Kind &kind) {
  if constexpr (n + 1 < std::variant_size_v<std::remove_const_t<Kind>>)
    if (kind.index() != n)
      return visit_kind<n + 1>(cases, kind);
  return cases(*std::get_if<n>(&kind));
}

template <class Cases> decltype(auto) Expr::visit(Cases &&cases) const {
  return visit_kind(cases, node().kind);
}
template <class T> const T *Expr::as() const { return node_ ? std::get_if<T>(&node_->kind) : nullptr; }

/// Constructors. They fold constants and the identities of `identity` in expr.cpp, such as x+0 and x*1, and
/// nothing else.
Expr int_imm(std::int64_t value, DType dtype = DType::i64);
Expr float_imm(double value, DType dtype = DType::f32);
/// A constant of any dtype, such as `constant(dtype, 0)`. An integer is exact in the integer dtypes; if it is
/// out of their range, it keeps its low bits. A floating-point number is rounded towards zero for them.
Expr constant(DType dtype, double value);
Expr constant_of_bits(DType dtype, std::uint64_t value, bool negative);
template <std::integral T> Expr constant(DType dtype, T value) {
  return constant_of_bits(dtype, static_cast<std::uint64_t>(value), value < T{});
}
Expr boolean(bool value);
/// A constant takes the dtype of the other operand if that dtype can represent its value: an integer converts
/// to any numeric dtype (u32 and u64 wrap), a float to a narrower float or to f64. Throws UserError (usage) if
/// the value is not representable, or if the operator is not defined on the operands.
Expr binary(BinaryOp op, Expr a, Expr b);
Expr logical_not(Expr a);
Expr select(Expr condition, Expr when_true, Expr when_false);
/// The same value as `select`, but the kernel evaluates only the selected operand, with an if/else. If the
/// condition differs between the threads of a warp, the warp executes both sides, one after the other. The
/// loads of both operands must be in bounds all the same: only the mask of a load protects it.
Expr branch(Expr condition, Expr when_true, Expr when_false);
/// Converts by the rules of dsl/expr/numbers.h. Conversions between a narrow float and any type but f32 go
/// through f32.
Expr cast(DType dtype, Expr a);
Expr load(Buffer buffer, std::vector<Expr> indices, Expr mask = {}, Expr fill = {}, int lanes = 1);
Expr lane(Var vector, int index);
Expr pack(std::vector<Expr> lanes);
Expr call(const Function &function, std::vector<Expr> arguments);
/// A tuple of named parts: tuple({{"value", x}, {"index", k}}).
Expr tuple(const std::vector<std::pair<std::string, Expr>> &parts);
/// A tuple of this type. Throws UserError (usage) if the parts have other dtypes; a constant is converted.
Expr tuple(DType type, std::vector<Expr> parts);
/// A part of a tuple, by its number or its name. Throws UserError (usage) if the tuple has no such part.
Expr part(const Expr &e, std::size_t index);
Expr part(const Expr &e, std::string_view name);
/// The parts of a tuple, or the value itself if it is no tuple.
std::vector<Expr> parts_of(const Expr &e);
/// Replaces each call of the function of a reducer (dsl/ir/reducer.h) by the meaning of the function.
Expr without_reducer_calls(const Expr &e);

struct MathFunction;
/// A function that an expression calls. It is a row of dsl/expr/math_functions.h, or a function of kernels
/// only: then CUDA defines it, or a *prelude* does, which is CUDA C++ text that codegen prints before the
/// kernel, and the simulator evaluates its meaning.
struct Function {
  std::string name;
  DType result;                ///< dtype of the result: a scalar, or a tuple if a reducer has the function
  std::vector<Var> parameters; ///< an operand for a vector parameter consists of consecutive elements
  /// The result as an expression of the parameters, without side effects; null if `math` has it.
  Expr meaning;
  std::string prelude; ///< definition of the function in CUDA C++; empty: CUDA has it
  const MathFunction *math = nullptr;
};

/// Whether the elements are bytes that fill a register of 4 bytes. One instruction loads them, and a function
/// takes them as one operand.
constexpr bool is_packed_word(DType dtype, std::int64_t lanes) {
  return (dtype == DType::i8 || dtype == DType::u8) && lanes == 4;
}

/// The operators of C++. On integers / is floordiv and % is floormod, which agree with C++ for non-negative
/// operands. && and || evaluate the right operand only if the left operand does not determine the result.
/// On i32, i64, u32 and u64 data, +, - and * wrap around (two's complement), x / 0 is 0, x % 0 is x, and the
/// smallest integer divided by -1 is itself.
Expr operator+(Expr a, Expr b);
Expr operator-(Expr a, Expr b);
Expr operator*(Expr a, Expr b);
Expr operator/(Expr a, Expr b);
Expr operator%(Expr a, Expr b); ///< defined on integers only
Expr operator-(Expr a);         ///< changes the sign, also of 0.0 and infinities
Expr operator+(Expr a);
inline Expr &operator+=(Expr &a, Expr b) { return a = a + std::move(b); }
inline Expr &operator-=(Expr &a, Expr b) { return a = a - std::move(b); }
inline Expr &operator*=(Expr &a, Expr b) { return a = a * std::move(b); }
inline Expr &operator/=(Expr &a, Expr b) { return a = a / std::move(b); }
/// The operators on bits are defined on i32, i64, u32 and u64. Signed integers have the bits of two's
/// complement. << drops the high bits, so data wraps around; on index arithmetic, a << b is a * 2^b, which does
/// not overflow. >> of a negative number rounds down: a >> b is a / 2^b. An amount of another type than `a` is
/// converted to the type of `a`, which keeps its low bits. A shift by a negative amount, or by the width of the
/// type or more, shifts out all bits: the result is 0, and -1 for >> of a negative number. Throws UserError
/// (usage) for floating-point numbers and conditions, which have &&, || and !, and for a constant amount that
/// is out of range.
Expr operator&(Expr a, Expr b);
Expr operator|(Expr a, Expr b);
Expr operator^(Expr a, Expr b);
Expr operator~(Expr a); ///< a ^ -1
Expr operator<<(Expr a, Expr b);
Expr operator>>(Expr a, Expr b);
inline Expr &operator&=(Expr &a, Expr b) { return a = a & std::move(b); }
inline Expr &operator|=(Expr &a, Expr b) { return a = a | std::move(b); }
inline Expr &operator^=(Expr &a, Expr b) { return a = a ^ std::move(b); }
inline Expr &operator<<=(Expr &a, Expr b) { return a = a << std::move(b); }
inline Expr &operator>>=(Expr &a, Expr b) { return a = a >> std::move(b); }
Expr operator<(Expr a, Expr b);
Expr operator<=(Expr a, Expr b);
Expr operator>(Expr a, Expr b);
Expr operator>=(Expr a, Expr b);
Expr operator==(Expr a, Expr b);
Expr operator!=(Expr a, Expr b);
Expr equal(Expr a, Expr b);
Expr not_equal(Expr a, Expr b);
Expr floordiv(Expr a, Expr b);
Expr floormod(Expr a, Expr b);
Expr ceildiv(Expr a, Expr b); ///< floordiv(a + b - 1, b)
Expr min(Expr a, Expr b);
Expr max(Expr a, Expr b);
Expr bit_and(Expr a, Expr b);     ///< a & b
Expr bit_or(Expr a, Expr b);      ///< a | b
Expr bit_xor(Expr a, Expr b);     ///< a ^ b
Expr bit_not(Expr a);             ///< ~a
Expr shift_left(Expr a, Expr b);  ///< a << b
Expr shift_right(Expr a, Expr b); ///< a >> b

// Functions of <cmath>. With these declarations, exp(x) gets a short error of the compiler where
// dsl/expr/math.h is not included, and tan(x) everywhere.
template <class> inline constexpr bool in_language = false;
#define NESTSMITH_NOT_IN_LANGUAGE(f)                                                                           \
  template <class T>                                                                                           \
  requires std::is_same_v<T, Expr> Expr f(const T &x) {                                                        \
    static_assert(in_language<T>, "the functions of expressions are declared in dsl/expr/math.h: include it, " \
                                  "or make " #f " of those that it has");                                      \
    return x;                                                                                                  \
  }
NESTSMITH_NOT_IN_LANGUAGE(exp)
NESTSMITH_NOT_IN_LANGUAGE(exp2)
NESTSMITH_NOT_IN_LANGUAGE(exp10)
NESTSMITH_NOT_IN_LANGUAGE(expm1)
NESTSMITH_NOT_IN_LANGUAGE(log)
NESTSMITH_NOT_IN_LANGUAGE(log2)
NESTSMITH_NOT_IN_LANGUAGE(log10)
NESTSMITH_NOT_IN_LANGUAGE(log1p)
NESTSMITH_NOT_IN_LANGUAGE(sqrt)
NESTSMITH_NOT_IN_LANGUAGE(rsqrt)
NESTSMITH_NOT_IN_LANGUAGE(cbrt)
NESTSMITH_NOT_IN_LANGUAGE(sin)
NESTSMITH_NOT_IN_LANGUAGE(cos)
NESTSMITH_NOT_IN_LANGUAGE(tan)
NESTSMITH_NOT_IN_LANGUAGE(asin)
NESTSMITH_NOT_IN_LANGUAGE(acos)
NESTSMITH_NOT_IN_LANGUAGE(atan)
NESTSMITH_NOT_IN_LANGUAGE(sinh)
NESTSMITH_NOT_IN_LANGUAGE(cosh)
NESTSMITH_NOT_IN_LANGUAGE(tanh)
NESTSMITH_NOT_IN_LANGUAGE(erf)
NESTSMITH_NOT_IN_LANGUAGE(erfc)
NESTSMITH_NOT_IN_LANGUAGE(abs)
NESTSMITH_NOT_IN_LANGUAGE(fabs)
NESTSMITH_NOT_IN_LANGUAGE(floor)
NESTSMITH_NOT_IN_LANGUAGE(ceil)
NESTSMITH_NOT_IN_LANGUAGE(round)
NESTSMITH_NOT_IN_LANGUAGE(trunc)
#undef NESTSMITH_NOT_IN_LANGUAGE

/// The value of an integer constant; none for other expressions.
[[gnu::always_inline]] inline std::optional<std::int64_t> as_int(const Expr &e) {
  const auto *imm = e.as<IntImm>();
  return imm ? std::optional(imm->value) : std::nullopt;
}
bool is_true(const Expr &e); ///< the boolean constant true, or a null mask
/// If `e` is -0.0 - x, the representation of a floating-point negation, returns x; otherwise null.
const Expr *negated(const Binary &e);
/// If `e` is x ^ -1, the representation of ~x, returns x; otherwise null.
const Expr *complemented(const Binary &e);

/// Structural equality. Symbols and buffers compare by identity.
bool same(const Expr &a, const Expr &b);
/// A total order of trees, null first, in which symbols and buffers stand in the order in which they were made.
/// Returns `equal` exactly if `same(a, b)`.
std::strong_ordering order(const Expr &a, const Expr &b);

/// Rebuilds `e` with `f` applied to its direct children. If nothing changes, returns the same node.
Expr map_children(const Expr &e, FunctionRef<Expr(const Expr &)> f);
void for_each_child(const Expr &e, FunctionRef<void(const Expr &)> f);

// An expression is a graph: a node may be the operand of several others. The functions below, like `order` and
// `same`, visit a shared node once, and rewrites keep it shared. Their time is linear in the number of nodes.

/// Visits each node before its operands.
void walk(const Expr &e, FunctionRef<void(const Expr &)> f);
/// Visits each node after its operands.
void walk_up(const Expr &e, FunctionRef<void(const Expr &)> f);
/// Whether `f` holds for a node.
bool any_node(const Expr &e, FunctionRef<bool(const Expr &)> f);
bool reads_memory(const Expr &e); ///< whether the expression contains a load
/// Replaces nodes: `f` returns the replacement, or null to continue with the operands. Null stays null.
Expr replace_nodes(const Expr &e, FunctionRef<Expr(const Expr &)> f);
/// Rebuilds from the operands up: `f` receives each node with its new operands. Null stays null.
Expr rebuild(const Expr &e, FunctionRef<Expr(const Expr &)> f);
/// Replaces variables: `f` returns the replacement, or null to keep the variable.
Expr substitute(const Expr &e, FunctionRef<Expr(const Var &)> f);
/// Replaces the variables that have an entry in `values`.
Expr substitute(const Expr &e, const std::map<Var, Expr> &values);
bool uses(const Expr &e, const Var &var);
bool uses_size(const Expr &e); ///< whether it contains a size, so that its value is known only at launch

/// The condition, if it compares two i64 that are no data, so that their difference does not wrap around;
/// otherwise null. `order_of_indices`: only for `<` and `<=`.
const Binary *comparison_of_indices(const Expr &condition);
const Binary *order_of_indices(const Expr &condition);

/// The condition that `guard` and `mask` hold. A mask that does not exist holds. A mask that reads memory is
/// evaluated only where the guard holds, because it may read past the end of an array elsewhere.
Expr under_guard(const Expr &guard, const Expr &mask);

} // namespace nestsmith
