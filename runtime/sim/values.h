#pragma once
/// Translates expressions to registers, with value numbering: equal values are computed once. A value is
/// hoisted to the head of the innermost loop that it depends on. Values that depend only on the thread index
/// are computed before the block starts. Hoisting is sound because operators have a result for all operands and
/// no side effects. A value that depends on memory is *pinned*: it is computed in place.

#include "dsl/expr/math_functions.h"
#include "dsl/expr/ops.h"
#include "dsl/expr/simplify.h"
#include "runtime/sim/handlers.h"

#include <map>
#include <optional>
#include <unordered_map>

namespace nestsmith::sim {

using ValueId = std::uint32_t;
inline constexpr std::uint32_t no_register = ~std::uint32_t{0};

/// A linear combination of values, modulo 2^32 or 2^64. Integer sums and differences have this form, and so
/// have products of a constant and a sum. Other products are expanded if the result has few terms; each product
/// of two values is then one term. So an address separates into a part that all lanes share, a part that
/// depends only on the thread index, and a constant.
struct Sum {
  std::map<ValueId, std::int64_t> terms = {};
  std::int64_t constant = 0;
  auto operator<=>(const Sum &) const = default;
};

/// The way in which a value is computed.
enum class Recipe : std::uint8_t {
  given,
  constant,
  table,
  sum,
  alias,
  block_index,
  binary,
  complement,
  select,
  cast,
  splat,
  multiply_add,
  function
};

struct Value {
  DType dtype = DType::i64;
  bool uniform = true;   ///< the value is in a uniform register; otherwise in a lane register
  bool pinned = false;   ///< depends on memory, so it is not hoisted
  std::size_t scope = 0; ///< depth of the loop at whose head the value is computed
  std::optional<std::int64_t> constant = {}; ///< of a constant: the bits as stored in a uniform register
  std::vector<std::int64_t> table = {}; ///< if the value depends on the thread only: the value for each thread
  std::optional<Range> range = {};      ///< for integers: a range that contains every value
  std::int64_t multiple = 1;            ///< loop variables: every value is a multiple of this
  Recipe recipe = Recipe::given;
  BinaryOp op = BinaryOp::add;
  ValueId a = 0, b = 0, c = 0;
  std::int64_t imm = 0;
  Sum sum = {};
  std::uint32_t reg = no_register; ///< assigned when the computation is emitted
};

/// The code of one loop body, or of the whole kernel. `head` is the code that is hoisted to the start of it,
/// and `body` is the rest.
struct CodeScope {
  std::vector<Instr> head, body;
};

class Values {
public:
  Values(const HandlerTable &handlers, DecodedKernel &decoded);

  const Value &operator[](ValueId id) const { return values_[id]; }

  ValueId constant(DType dtype, std::int64_t bits);
  ValueId boolean(bool value) { return constant(DType::boolean, value); }
  ValueId thread_index(std::size_t dimension, DType dtype);
  ValueId block_index(std::size_t dimension, DType dtype);
  ValueId given(Value value); ///< a register that the caller sets
  ValueId binary(BinaryOp op, ValueId a, ValueId b);
  ValueId complement(ValueId a);
  ValueId select(ValueId condition, ValueId when_true, ValueId when_false);
  ValueId cast(DType dtype, ValueId a);
  ValueId multiply_add(ValueId x, ValueId a, ValueId b); ///< x + a*b, f32 or u32
  /// The function of mathematics on f32 operands.
  ValueId function(const MathFunction &function, std::vector<ValueId> operands);
  ValueId splat(ValueId a); ///< `a` in a lane register, whether or not it is uniform
  ValueId sum(DType dtype, Sum sum);

  bool is_constant(ValueId id, std::int64_t bits) const { return values_[id].constant == bits; }
  Sum as_sum(ValueId id) const; ///< the value must be an integer

  /// The register of a value. Emits its computation on first use.
  std::uint32_t reg(ValueId id);

  /// Allocates registers for the whole run.
  std::uint32_t allocate(std::uint32_t bytes);
  std::uint32_t allocate_array(std::uint32_t bytes);
  static std::uint32_t register_bytes(DType dtype, bool uniform);
  /// Allocates a register for a pinned value. `release` frees it after the statement.
  std::uint32_t allocate_temporary(DType dtype, bool uniform);
  std::size_t mark() const { return temporaries_.size(); }
  void release(std::size_t mark);

  std::vector<CodeScope> scopes;
  void emit(Instr instr) { scopes.back().body.push_back(instr); }

private:
  using Key = std::tuple<Recipe, BinaryOp, DType, ValueId, ValueId, ValueId, std::int64_t>;
  struct HashOfKey {
    std::size_t operator()(const Key &key) const {
      return std::apply(
          [](auto... parts) {
            std::size_t hash = 0;
            ((hash = (hash ^ static_cast<std::size_t>(parts)) * 0x9E3779B97F4A7C15u, hash ^= hash >> 32), ...);
            return hash;
          },
          key);
    }
  };
  ValueId add(Value value);
  ValueId table(DType dtype, std::vector<std::int64_t> content);
  ValueId make(Value value); ///< adds a value and derives its other fields from its operands
  ValueId fold(BinaryOp op, ValueId a, ValueId b);
  ValueId reduced(DType dtype, const Sum &sum);
  ValueId logical(BinaryOp op, ValueId a, ValueId b);
  std::int64_t at(ValueId id, std::size_t thread) const;
  ValueId add_up(const std::vector<std::pair<ValueId, std::int64_t>> &terms, DType dtype,
                 std::int64_t constant);
  ValueId spelled(ValueId id);
  std::optional<Range> range_of(const Sum &sum, DType dtype) const;
  std::optional<Range> range_of(BinaryOp op, const Value &a, const Value &b) const;
  void emit_recipe(ValueId id);
  void set_init(ValueId id);

  const HandlerTable &handlers_;
  DecodedKernel &decoded_;
  std::vector<Value> values_;
  std::unordered_map<Key, ValueId, HashOfKey> known_;
  std::map<std::pair<DType, Sum>, ValueId> sums_; ///< as they were asked for, and as they are after `reduced`
  std::map<std::pair<DType, std::vector<std::int64_t>>, ValueId> tables_;
  std::map<std::uint32_t, std::vector<std::uint32_t>> free_;         ///< free registers by size in bytes
  std::vector<std::pair<std::uint32_t, std::uint32_t>> temporaries_; ///< register, bytes
  std::uint32_t small_ = 0, small_end_ = 0; ///< unused part of a chunk of small registers
};

} // namespace nestsmith::sim
