#pragma once
/// Storage layouts of temporaries. A program uses logical indices, which do not depend on the layout of the
/// buffer. Layouts do not change the sequential meaning. Lowering applies the layout once, when it replaces the
/// indices of an access by an offset in elements. In this order:
///
///     -> index map: physical indices            (k, i)
///     -> row-major, each stride as aligned      k*33 + i
///     -> swizzle of the flat offset             x ^ (x >> shift & mask)

#include "dsl/expr/expr.h"
#include "dsl/expr/simplify.h"

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace nestsmith {

/// A map from logical to physical indices. A physical index is a sum of digits of logical indices
/// (`scale * (i // div % mod)`). This covers permutations, splits ("i, j -> i//4, j, i%4") and linearizations.
/// A map is given as text, the form in which a trace stores it, or as a lambda over Exprs:
///     [](Expr i, Expr k) { return std::vector<Expr>{k, i}; }
/// The constructor throws UserError (illegal_schedule) for any other map. It does not check that the map is
/// invertible: callers do this with `not_invertible` when the extents are known.
class IndexMap {
public:
  IndexMap(const char *text) : IndexMap(std::string(text)) {}
  IndexMap(const std::string &text);
  template <class F>
  requires std::invocable<F, Expr> || std::invocable<F, Expr, Expr> || std::invocable<F, Expr, Expr, Expr> ||
      std::invocable<F, Expr, Expr, Expr, Expr>
      IndexMap(const F &f) {
    if constexpr (std::invocable<F, Expr>)
      set(1, [&](auto &x) { return f(x[0]); });
    else if constexpr (std::invocable<F, Expr, Expr>)
      set(2, [&](auto &x) { return f(x[0], x[1]); });
    else if constexpr (std::invocable<F, Expr, Expr, Expr>)
      set(3, [&](auto &x) { return f(x[0], x[1], x[2]); });
    else
      set(4, [&](auto &x) { return f(x[0], x[1], x[2], x[3]); });
  }

  const std::vector<Var> &logical() const { return logical_; }
  const std::vector<Expr> &physical() const { return physical_; }
  std::vector<Expr> operator()(const std::vector<Expr> &indices) const;

private:
  void set(std::size_t rank, const std::function<std::vector<Expr>(const std::vector<Expr> &)> &f);
  void check() const;
  friend IndexMap compose(const IndexMap &first, const IndexMap &second);

  std::vector<Var> logical_;
  std::vector<Expr> physical_;
};

std::string to_string(const IndexMap &map); ///< "i, k -> k, i"; the constructor parses it
/// The map that applies `first`, then `second`.
IndexMap compose(const IndexMap &first, const IndexMap &second);
/// Checks that the map is injective on logical indices in [0, extents). Returns none if it is injective.
/// Otherwise returns two indices with the same physical index, as text ("(0, 4) and (4, 0) both lie at (0)"),
/// or a message that the check was not able to decide.
std::optional<std::string> not_invertible(const IndexMap &map, const std::vector<std::int64_t> &extents);

/// The requirement that (stride of physical dimension `dim`, in elements) % `factor` equals `offset`.
struct StrideAlignment {
  std::size_t dim;
  std::int64_t factor, offset;
};

/// CuTe's Swizzle<bits, base, shift>: a permutation of element offsets. It takes `bits` bits of the offset,
/// starting at bit base + shift, and XORs them into the bits that start at bit `base`. Groups of 2^base
/// consecutive elements stay consecutive.
struct Swizzle {
  std::int64_t bits, base, shift;
};

struct Layout {
  std::optional<IndexMap> map = std::nullopt; ///< none: the identity
  std::vector<StrideAlignment> strides = {};  ///< at most one element for each dimension
  std::optional<Swizzle> swizzle = std::nullopt;
};

/// The form in the printed IR: "stored i, k -> k, i, stride 0 padded to 1 mod 32, swizzled 3, 2, 3".
std::string to_string(const Layout &layout);
/// The form in comments of the CUDA text: "transposed, rows padded". Empty for a null layout.
std::string describe(const std::shared_ptr<const Layout> &layout);

/// Whether the buffer has a layout of lanes and registers (dsl/hardware/fragment.h).
bool is_fragment(const BufferNode &buffer);

/// The layout of a buffer, applied to the box that a kernel allocates. The layout of a fragment is that of the
/// registers of one lane.
class PlacedLayout {
public:
  /// `box` gives the logical extents. Indices count from the start of the box. The map must be invertible on
  /// the box.
  PlacedLayout(const BufferNode &buffer, const std::vector<std::int64_t> &box);

  /// Padding included. For a fragment, the number of registers of one lane.
  std::int64_t elements() const { return elements_; }
  /// The physical extents, including padding. If their product differs from `elements()`, one extent:
  /// `elements()`.
  std::vector<std::int64_t> extents() const;
  /// The element offset of logical indices, in canonical form. For a swizzled layout it is the sum
  ///     high*2^(base + bits) + (middle ^ source)*2^base + x % 2^base
  /// where x is the flat offset, `middle` its bits [base, base + bits), `source` its bits
  /// [base + shift, base + shift + bits), and `high` the bits above `middle`. So the 2^base
  /// consecutive offsets that start at a multiple of 2^base differ in the last term only.
  Expr offset(const std::vector<Expr> &indices, const Bounds &bounds) const;

private:
  std::vector<Expr> physical(const std::vector<Expr> &indices) const;

  Layout layout_;
  bool fragment_ = false;
  std::vector<std::int64_t> lows_, extents_, strides_;
  std::int64_t elements_ = 1;
};

} // namespace nestsmith
